"""hooks-examples/statefulset-force-delete without a daemon: objects -> call, as hook.yaml says -> script -> operations.

`when`, `since`, `for` and `value` of the real hook.yaml are applied here by the jq program, so that a wrong expression fails
too. The call has the form of product.md section 2: with `keep: value` a snapshot holds identities and values only.
"""

from __future__ import annotations

import datetime
import functools
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

Object = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "hooks-examples/statefulset-force-delete"
NOW = datetime.datetime(2026, 1, 31, 12, 0, 0, tzinfo=datetime.timezone.utc)
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-01-31T11:50:00Z"}
SERVER_STRINGS = ['web"0', "we'b", "$(reboot)", "a b\nc", "-n", "\u00fc\u4e16", "%s\\", "; rm -rf ."]


class Variant:
    def __init__(self, name: str) -> None:
        self.file = FOLDER / name / "hook.yaml"
        self.spec = yaml.safe_load(self.file.read_text())["spec"]
        self.watch = {binding["name"]: binding for binding in self.spec["watch"]}
        self.script = (self.file.parent / self.spec["run"]["command"][0]).resolve()


EVENT_DRIVEN, SWEEP = Variant("event-driven"), Variant("sweep")


@functools.cache  # the same few objects come again and again, and starting jq is what takes time here
def jq(expression: str, lines: str) -> list[Any]:
    """The first output for each line's object."""
    done = subprocess.run(["jq", "-c", f"[{expression}] | first"], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def owner(kind: str = "StatefulSet", api_version: str = "apps/v1", controller: bool | None = True, name: str = "web") -> Object:
    reference = {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-of-{name}"}
    return reference if controller is None else {**reference, "controller": controller}


def pod(
    name: str = "web-0", *, past: float | None = 40, node: str | None = "n1", owners: list[Object] | None = None, grace: int = 30, **metadata: Any
) -> Object:
    """`past`: seconds since the end of the grace period; None = it is not being deleted."""
    body = {"name": name, "namespace": "a", "uid": f"uid-{name}", "ownerReferences": [owner()] if owners is None else owners, **metadata}
    if past is not None:
        body["deletionTimestamp"] = (NOW - datetime.timedelta(seconds=past)).strftime("%Y-%m-%dT%H:%M:%SZ")
        body["deletionGracePeriodSeconds"] = grace
    return {"apiVersion": "v1", "kind": "Pod", "metadata": body, "spec": {} if node is None else {"nodeName": node}, "status": {"phase": "Running"}}


def node(name: str = "n1", *taints: Object) -> Object:
    spec = {"taints": list(taints)} if taints else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}


def identity(thing: Object) -> Object:
    names = ("name", "namespace", "uid")
    return {**{k: thing[k] for k in ("apiVersion", "kind")}, "metadata": {k: thing["metadata"][k] for k in names if k in thing["metadata"]}}


def snapshot(binding: Object, objects: list[Object]) -> list[Object]:
    """What hookd would hand over: taking part for `for` since `since`, with the value, as `keep` says."""
    assert binding["keep"] == "value"
    parts = ", ".join(f"{key}: ([{binding.get(key, default)}] | first)" for key, default in (("when", "true"), ("since", "null"), ("value", "null")))
    entries = []
    for thing, found in zip(objects, jq(f"{{{parts}}}", "\n".join(map(json.dumps, objects))) if objects else []):
        if found["when"] in (None, False):
            continue
        if "for" in binding:
            begin = datetime.datetime.fromisoformat(found["since"].replace("Z", "+00:00"))
            if (NOW - begin).total_seconds() < float(binding["for"].removesuffix("s")):
                continue
        entries.append({"object": identity(thing), "value": found["value"]})
    return entries


def call(variant: Variant, events: list[Object], pods: list[Object], nodes: list[Object], reason: str = "watch") -> Object:
    objects = {"stuck": snapshot(variant.watch["stuck"], pods), "nodes": snapshot(variant.watch["nodes"], nodes)}
    return {"hook": "h", "id": "c1", "attempt": 1, "reason": reason, "time": "2026-01-31T12:00:00.004Z", "events": events, "objects": objects}


def stuck_event(thing: Object) -> Object:
    """With the whole object, as an event has it, and an old value: what the script must not go by."""
    return {"binding": "stuck", "type": "Added", "object": thing, "value": {"node": "n1", "end": "x", "grace": 30, "owners": [owner()]}}


def node_event(thing: Object, kind: str = "Modified") -> Object:
    return {"binding": "nodes", "type": kind, "object": thing, "value": []}


def run(variant: Variant, document: Any, text: str | None = None) -> subprocess.CompletedProcess[str]:
    given = json.dumps(document, ensure_ascii=False) if text is None else text
    return subprocess.run([variant.script], input=given, capture_output=True, text=True, cwd=variant.file.parent, env={"PATH": "/usr/bin:/bin"}, timeout=30)


def operations(variant: Variant, document: Object) -> list[Object]:
    done = run(variant, document)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def deleted(answer: list[Object]) -> list[str]:
    return [operation["name"] for operation in answer if operation["operation"] == "Delete"]


# --- the rule, the same for both variants ---

RULE: dict[str, tuple[Object, list[Object], bool]] = {
    "stuck on a tainted node": (pod(), [node("n1", UNREACHABLE)], True),
    "stuck on a node that is gone": (pod(), [node("n2")], True),
    "stuck where no node is left": (pod(), [], True),
    "exactly 30 s past": (pod(past=30), [node("n1", UNREACHABLE)], True),
    "any NoExecute taint counts": (pod(), [node("n1", {"key": "node.kubernetes.io/out-of-service", "value": "x", "effect": "NoExecute"})], True),
    "one of several taints is NoExecute": (pod(), [node("n1", {"key": "a", "effect": "NoSchedule"}, UNREACHABLE)], True),
    "with finalizers": (pod(finalizers=["example.com/wait"]), [node("n1", UNREACHABLE)], True),
    "the controller is not the first owner": (pod(owners=[owner("ConfigMap", "v1", None), owner()]), [node("n1", UNREACHABLE)], True),
    "an older version of the group apps": (pod(owners=[owner(api_version="apps/v1beta2")]), [node("n1", UNREACHABLE)], True),
    "5 s past": (pod(past=5), [node("n1", UNREACHABLE)], False),
    "29 s past": (pod(past=29), [node("n1", UNREACHABLE)], False),
    "grace period not over": (pod(past=-20), [node("n1", UNREACHABLE)], False),
    "not being deleted": (pod(past=None), [node("n1", UNREACHABLE)], False),
    "healthy node": (pod(), [node()], False),
    "only another node is tainted": (pod(), [node("n1"), node("n2", UNREACHABLE)], False),
    "NoSchedule taint": (pod(), [node("n1", {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"})], False),
    "PreferNoSchedule taint": (pod(), [node("n1", {"key": "x", "effect": "PreferNoSchedule"})], False),
    "no node yet": (pod(node=None), [node("n1", UNREACHABLE)], False),
    "empty node name": (pod(node=""), [node("n1", UNREACHABLE)], False),
    "forced already, waits for finalizers": (pod(grace=0, finalizers=["example.com/wait"]), [node("n1", UNREACHABLE)], False),
    "bare pod": (pod(owners=[]), [node("n1", UNREACHABLE)], False),
    "pod of a DaemonSet": (pod(owners=[owner("DaemonSet")]), [node("n1", UNREACHABLE)], False),
    "pod of a Job": (pod(owners=[owner("Job", "batch/v1")]), [node("n1", UNREACHABLE)], False),
    "pod of a ReplicaSet": (pod(owners=[owner("ReplicaSet")]), [node("n1", UNREACHABLE)], False),
    "a StatefulSet of another group": (pod(owners=[owner(api_version="apps.example.com/v1")]), [node("n1", UNREACHABLE)], False),
    "owned by a StatefulSet, not controlled": (pod(owners=[owner(controller=False)]), [node("n1", UNREACHABLE)], False),
    "owned by a StatefulSet, controlled by another": (pod(owners=[owner(controller=None), owner("Job", "batch/v1")]), [node("n1", UNREACHABLE)], False),
}


@pytest.mark.parametrize("case", RULE)
def test_event_of_the_pod(case: str) -> None:
    thing, nodes, dies = RULE[case]
    document = call(EVENT_DRIVEN, [stuck_event(thing)], [thing], nodes)
    assert deleted(operations(EVENT_DRIVEN, document)) == (["web-0"] if dies else [])


@pytest.mark.parametrize("case", RULE)
def test_event_of_the_node(case: str) -> None:
    thing, nodes, dies = RULE[case]
    present = [n for n in nodes if n["metadata"]["name"] == "n1"]
    event = node_event(present[0]) if present else node_event(node("n1"), "Deleted")
    assert deleted(operations(EVENT_DRIVEN, call(EVENT_DRIVEN, [event], [thing], nodes))) == (["web-0"] if dies else [])


@pytest.mark.parametrize("case", RULE)
def test_sweep(case: str) -> None:
    thing, nodes, dies = RULE[case]
    others = [pod("other-0", past=None), pod("other-1", node="n9", past=3), pod("other-2", owners=[])]
    document = call(SWEEP, [{"binding": "sweep", "type": "Schedule"}], [*others, thing], nodes, "schedule")
    assert deleted(operations(SWEEP, document)) == (["web-0"] if dies else [])


# --- which pods a call is about ---


def test_pod_event_is_about_its_pod_alone() -> None:
    pods = [pod("web-0"), pod("web-1")]
    assert deleted(operations(EVENT_DRIVEN, call(EVENT_DRIVEN, [stuck_event(pods[1])], pods, []))) == ["web-1"]


def test_node_event_is_about_all_its_pods() -> None:
    pods = [pod("web-0"), pod("web-1", node="n2"), pod("web-2")]
    document = call(EVENT_DRIVEN, [node_event(node("n1"))], pods, [node("n1", UNREACHABLE), node("n2", UNREACHABLE)])
    assert deleted(operations(EVENT_DRIVEN, document)) == ["web-0", "web-2"]


def test_several_events_name_a_pod_once() -> None:
    thing = pod()
    events = [stuck_event(thing), node_event(node("n1")), stuck_event(thing)]
    assert deleted(operations(EVENT_DRIVEN, call(EVENT_DRIVEN, events, [thing], [node("n1", UNREACHABLE)]))) == ["web-0"]


def test_pod_that_went_while_the_call_waited() -> None:
    assert operations(EVENT_DRIVEN, call(EVENT_DRIVEN, [stuck_event(pod())], [], [node("n1", UNREACHABLE)])) == []


def test_namesake_of_the_event_is_not_meant() -> None:
    namesake = pod(uid="uid-new")
    assert operations(EVENT_DRIVEN, call(EVENT_DRIVEN, [stuck_event(pod())], [namesake], [node("n1", UNREACHABLE)])) == []


def test_node_healed_while_the_call_waited() -> None:
    event = {**node_event(node("n1", UNREACHABLE)), "value": [UNREACHABLE["key"]]}
    assert operations(EVENT_DRIVEN, call(EVENT_DRIVEN, [event], [pod()], [node("n1")])) == []


def test_node_deleted_and_made_anew_while_the_call_waited() -> None:
    assert operations(EVENT_DRIVEN, call(EVENT_DRIVEN, [node_event(node("n1"), "Deleted")], [pod()], [node("n1")])) == []


def test_a_node_whose_value_failed_counts_as_healthy() -> None:
    document = call(EVENT_DRIVEN, [stuck_event(pod())], [pod()], [node("n1", UNREACHABLE)])
    document["objects"]["nodes"][0]["value"] = None
    assert operations(EVENT_DRIVEN, document) == []


def test_a_pod_whose_value_failed_is_left_alone() -> None:
    document = call(EVENT_DRIVEN, [stuck_event(pod())], [pod()], [])
    document["objects"]["stuck"][0]["value"] = None
    assert operations(EVENT_DRIVEN, document) == []


def test_nothing_stuck() -> None:
    assert operations(SWEEP, call(SWEEP, [{"binding": "sweep", "type": "Schedule"}], [], [node("n1", UNREACHABLE)])) == []


# --- the answer ---


def test_answer_in_full() -> None:
    document = call(EVENT_DRIVEN, [stuck_event(pod())], [pod()], [node("n1", UNREACHABLE, {"key": "b", "effect": "NoExecute"})])
    assert operations(EVENT_DRIVEN, document) == [
        {"operation": "Delete", "apiVersion": "v1", "kind": "Pod", "namespace": "a", "name": "web-0", "uid": "uid-web-0", "gracePeriodSeconds": 0},
        {
            "operation": "Event",
            "type": "Warning",
            "reason": "ForceDeleted",
            "about": {"apiVersion": "apps/v1", "kind": "StatefulSet", "namespace": "a", "name": "web", "uid": "uid-of-web"},
            "message": "Force-deleted pod web-0 (uid uid-web-0), which should have ended by 2026-01-31T11:59:20Z: its node n1 has the taint "
            "node.kubernetes.io/unreachable:NoExecute, b:NoExecute",
        },
    ]


def test_message_of_a_node_that_is_gone() -> None:
    answer = operations(SWEEP, call(SWEEP, [{"binding": "sweep", "type": "Schedule"}], [pod()], []))
    assert answer[1]["message"].endswith(": its node n1 does not exist any more")


def test_each_pod_has_its_event_behind_it() -> None:
    pods = [pod(f"web-{number}") for number in range(3)]
    answer = operations(SWEEP, call(SWEEP, [{"binding": "sweep", "type": "Schedule"}], pods, []))
    assert [operation["operation"] for operation in answer] == ["Delete", "Event"] * 3
    for delete, event in zip(answer[::2], answer[1::2]):
        assert f"pod {delete['name']} " in event["message"]


@pytest.mark.parametrize("text", SERVER_STRINGS)
def test_text_is_only_text(text: str) -> None:
    thing = pod(text, node=text, owners=[owner(name=text)], namespace=text, uid=text)
    answer = operations(SWEEP, call(SWEEP, [{"binding": "sweep", "type": "Schedule"}], [thing], []))
    assert [answer[0][key] for key in ("namespace", "name", "uid")] == [text] * 3
    assert answer[1]["about"]["name"] == text


def test_ten_thousand_stuck_pods() -> None:
    pods = [pod(f"web-{number}", node=f"n{number % 100}") for number in range(10_000)]
    nodes = [node(f"n{number}", *([UNREACHABLE] if number % 2 else [])) for number in range(100)]
    answer = operations(SWEEP, call(SWEEP, [{"binding": "sweep", "type": "Schedule"}], pods, nodes))
    assert len(deleted(answer)) == 5_000


# --- bad input: nothing is answered, and the exit code says so ---


@pytest.mark.parametrize("missing", ["stuck", "nodes"])
def test_a_snapshot_that_was_not_handed_over_is_not_an_empty_one(missing: str) -> None:
    document = call(EVENT_DRIVEN, [stuck_event(pod())], [pod()], [node("n1", UNREACHABLE)])
    del document["objects"][missing]
    done = run(EVENT_DRIVEN, document)
    assert (done.returncode, done.stdout) == (78, "")
    assert f'no snapshot "{missing}"' in done.stderr and "include" in done.stderr


@pytest.mark.parametrize("text", ["", "\n", "{", '{"events":[],"objects":', "null", "[]", "reboot", '{"objects":{"stuck":[],"nodes":[]}}'])
def test_no_call(text: str) -> None:
    done = run(EVENT_DRIVEN, None, text)
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr != ""


# --- the two variants ---


def test_variants_select_alike_and_may_the_same() -> None:
    for name in ("stuck", "nodes"):
        for key in ("apiVersion", "kind", "when", "since", "for", "value", "keep"):
            assert EVENT_DRIVEN.watch[name].get(key) == SWEEP.watch[name].get(key), f"{name}.{key}"
    assert EVENT_DRIVEN.spec["allow"] == SWEEP.spec["allow"]
    assert EVENT_DRIVEN.script == SWEEP.script
    assert EVENT_DRIVEN.watch["stuck"]["for"] == "30s"


def test_every_call_gets_both_snapshots() -> None:
    includes = [binding["include"] for binding in EVENT_DRIVEN.spec["watch"]] + [SWEEP.spec["schedule"][0]["include"]]
    assert all(set(include) == {"stuck", "nodes"} for include in includes)


def test_sample_call_is_one() -> None:
    done = run(EVENT_DRIVEN, None, (FOLDER / "sample-call.json").read_text())
    assert deleted([json.loads(line) for line in done.stdout.splitlines()]) == ["db-0"]
