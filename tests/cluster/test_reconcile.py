"""`reconcile` of native hooks: one key = one object, its children made to match the answer (product.md section 6)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from hookd import Hookd
from hooks import lines, write_hook
from test_control import Control, start
from workloads import Object, expect

StartHookd = Callable[..., Hookd]
GROUP = "reconcile.example.com"

# Keeps a ConfigMap for each number up to spec.size; tells of each call in one line of OUT.
SCRIPT = """
    call=$(cat)
    jq -c '{name: .key.name, attempt, finalizing, object: (.object != null), causes: [.causes[] | "\\(.binding)/\\(.type)"],
            children: (.children | map_values(keys)), related: (.related | map_values(keys)), status: .object.status,
            data: [.children["ConfigMap.v1"][]? | .data.v]}' <<<"$call" >> OUT
    jq -c 'ANSWER' <<<"$call"
"""
ANSWER = """
    if .object == null then {} else .object as $o | {
      children: [range($o.spec.size // 0) | {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "\\($o.metadata.name)-\\(.)"},
                                              data: {v: ($o.spec.colour // "red")}}],
      status: {made: (.children["ConfigMap.v1"] | length)}} end"""
CONFIG_MAPS: list[Object] = [{"apiVersion": "v1", "kind": "ConfigMap"}]


def crd(kind: str, status: bool = True) -> Object:
    plural = kind.lower() + "s"
    version: Object = {
        "name": "v1", "served": True, "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }  # fmt: skip
    if status:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": {"plural": plural, "singular": kind.lower(), "kind": kind}, "versions": [version]},
    }


class Widgets:
    """The parents of one kind in one namespace."""

    def __init__(self, cluster: Cluster, namespace: str, kind: str = "Widget") -> None:
        self.cluster, self.namespace, self.kind = cluster, namespace, kind
        self.path = f"/apis/{GROUP}/v1/namespaces/{namespace}/{kind.lower()}s"

    def make(self, name: str, **spec: Any) -> Object:
        body = {"apiVersion": f"{GROUP}/v1", "kind": self.kind, "metadata": {"name": name}, "spec": spec}
        made: list[Object] = []

        def done() -> bool:
            code, answer = self.cluster.api("POST", self.path, body)
            made.append(answer)
            return code == 201

        self.cluster.wait_for(done, 20, f"{self.kind} {name} made")
        return made[-1]

    def get(self, name: str) -> Object | None:
        code, found = self.cluster.api("GET", f"{self.path}/{name}")
        return found if code == 200 else None

    def patch(self, name: str, patch: Object, sub: str = "") -> Object:
        return expect(self.cluster.api("PATCH", f"{self.path}/{name}{sub}", patch, "application/merge-patch+json"))

    def delete(self, name: str) -> None:
        expect(self.cluster.api("DELETE", f"{self.path}/{name}"))

    def status(self, name: str) -> Any:
        return (self.get(name) or {}).get("status")

    def config_maps(self) -> dict[str, Object]:
        found = expect(self.cluster.api("GET", f"/api/v1/namespaces/{self.namespace}/configmaps"))
        return {one["metadata"]["name"]: one for one in found["items"] if one["metadata"]["name"] != "kube-root-ca.crt"}


@pytest.fixture(scope="session")
def widget_kind(cluster: Cluster) -> Iterator[None]:
    cluster.apply(crd("Widget"))
    yield
    cluster.kubectl("delete", "crd", f"widgets.{GROUP}", "--wait=false")


@pytest.fixture
def widgets(cluster: Cluster, namespace: str, widget_kind: None) -> Widgets:
    return Widgets(cluster, namespace)


def write_reconcile(tmp_path: Path, widgets: Widgets, answer: str = ANSWER, name: str = "keeper", more: Object | None = None, **rule: Any) -> Path:
    """A hook on `widgets`; what it was called with is in calls(tmp_path)."""
    out = tmp_path / "out"
    script = SCRIPT.replace("ANSWER", answer.replace("'", "'\\''")).replace("OUT", str(out))
    reconcile = {
        "for": {"apiVersion": f"{GROUP}/v1", "kind": widgets.kind, "namespaces": {"names": [widgets.namespace]}},
        "children": CONFIG_MAPS,
        **rule,
    }
    write_hook(tmp_path / "hooks", script, {"reconcile": reconcile, **(more or {})}, name)
    return tmp_path / "hooks"


def calls(tmp_path: Path) -> list[Object]:
    return [json.loads(line) for line in lines(tmp_path / "out")]


def settle(tmp_path: Path, quiet: float = 1.0, timeout: float = 30) -> list[Object]:
    """The calls, once there was none for a while."""
    end = time.monotonic() + timeout
    known, since = len(calls(tmp_path)), time.monotonic()
    while time.monotonic() - since < quiet:
        assert time.monotonic() < end, "the hook is called again and again"
        time.sleep(0.05)
        if len(calls(tmp_path)) != known:
            known, since = len(calls(tmp_path)), time.monotonic()
    return calls(tmp_path)


def values(widgets: Widgets) -> dict[str, str]:
    return {name: one["data"].get("v") for name, one in widgets.config_maps().items() if "data" in one}


def test_children_are_made_changed_repaired_and_taken_away(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    daemon = hookd(write_reconcile(tmp_path, widgets)).wait_ready()
    parent = widgets.make("w", size=2)
    daemon.wait_for(lambda: values(widgets) == {"w-0": "red", "w-1": "red"}, 20, "two children")
    (owner,) = widgets.config_maps()["w-0"]["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Widget", "w", parent["metadata"]["uid"])
    assert owner["controller"] is True and owner["blockOwnerDeletion"] is True
    daemon.wait_for(lambda: widgets.status("w") == {"made": 2}, 20, "the status")

    widgets.patch("w", {"spec": {"size": 3, "colour": "blue"}})
    daemon.wait_for(lambda: values(widgets) == {f"w-{i}": "blue" for i in range(3)}, 20, "scaled up and changed")
    widgets.patch("w", {"spec": {"size": 1}})
    daemon.wait_for(lambda: values(widgets) == {"w-0": "blue"}, 20, "scaled down")

    path = f"/api/v1/namespaces/{widgets.namespace}/configmaps/w-0"
    expect(widgets.cluster.api("PATCH", path, {"data": {"v": "pink"}}, "application/merge-patch+json"))
    daemon.wait_for(lambda: values(widgets) == {"w-0": "blue"}, 20, "drift repaired")
    uid = widgets.config_maps()["w-0"]["metadata"]["uid"]
    expect(widgets.cluster.api("DELETE", path))
    daemon.wait_for(lambda: widgets.config_maps().get("w-0", {}).get("metadata", {}).get("uid", uid) != uid, 20, "made anew")

    settle(tmp_path)
    expect(widgets.cluster.api("DELETE", f"{widgets.path}/w"))
    daemon.wait_for(lambda: not widgets.config_maps(), 120, "the garbage collector took them")  # it looks for new kinds each 30 s
    assert settle(tmp_path)[-1]["object"] is False  # told that it is gone


def test_own_status_and_own_writes_do_not_call_again_and_are_seen(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    daemon = hookd(write_reconcile(tmp_path, widgets)).wait_ready()
    widgets.make("w", size=4)
    daemon.wait_for(lambda: widgets.status("w") == {"made": 4}, 20, "the status")
    seen = settle(tmp_path)
    # Whatever was written before is in the next call: never one of the four missing behind the first.
    assert [len(call["children"]["ConfigMap.v1"]) for call in seen][0] == 0
    assert all(len(call["children"]["ConfigMap.v1"]) == 4 for call in seen[1:])
    version = (widgets.get("w") or {})["metadata"]["resourceVersion"]
    widgets.patch("w", {"status": {"other": "x"}}, "/status")
    assert len(settle(tmp_path)) == len(seen)  # a status alone calls nobody
    expect(widgets.cluster.api("DELETE", f"/api/v1/namespaces/{widgets.namespace}/configmaps/w-1"))
    daemon.wait_for(lambda: "w-1" in widgets.config_maps(), 20, "made again")
    settle(tmp_path)
    assert widgets.status("w") == {"made": 4, "other": "x"}  # keys of others stay
    assert (widgets.get("w") or {})["metadata"]["resourceVersion"] != version


def test_status_is_written_only_when_it_differs(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    answer = '{children: [], status: (if .object.spec.short then {a: 1} else {a: 1, b: {c: "x"}, n: null} end), requeueAfter: "200ms"}'
    daemon = hookd(write_reconcile(tmp_path, widgets, answer)).wait_ready()
    widgets.make("w")
    daemon.wait_for(lambda: widgets.status("w") == {"a": 1, "b": {"c": "x"}}, 20, "the status")
    version = (widgets.get("w") or {})["metadata"]["resourceVersion"]
    count = len(calls(tmp_path))
    daemon.wait_for(lambda: len(calls(tmp_path)) >= count + 4, 20, "some more calls")
    assert (widgets.get("w") or {})["metadata"]["resourceVersion"] == version
    written = [entry for entry in daemon.logs(operation="Apply") if "Widget" in entry.get("msg", entry.get("message", ""))]
    assert len(written) <= 1
    widgets.patch("w", {"spec": {"short": True}})  # a key that the hook set and sets no more goes
    daemon.wait_for(lambda: widgets.status("w") == {"a": 1}, 20, "the key taken away")


def test_requeue_after_is_kept_and_goes_on(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    daemon = hookd(write_reconcile(tmp_path, widgets, '{requeueAfter: "300ms"}')).wait_ready()
    widgets.make("w")
    daemon.wait_for(lambda: len(calls(tmp_path)) >= 4, 20, "calls asked for")
    assert calls(tmp_path)[-1]["causes"] == ["requeue/Requeue"]


def test_the_finalizer_holds_the_object_until_the_hook_is_done(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    gate = tmp_path / "gate"
    answer = f"""
        if .object == null then {{}}
        elif .finalizing then {{children: [], finalized: (.children["ConfigMap.v1"] == {{}} and $ENV.GATE == "open"), requeueAfter: "200ms"}}
        else {{children: [{{apiVersion: "v1", kind: "ConfigMap", metadata: {{name: .object.metadata.name}}, data: {{v: "red"}}}}]}} end"""
    hooks = write_reconcile(tmp_path, widgets, answer, finalizer=True)
    script = hooks / "keeper" / "hook.sh"
    script.write_text(script.read_text().replace("call=$(cat)", f"call=$(cat); export GATE=$(cat {gate} 2>/dev/null)"))
    daemon = hookd(hooks).wait_ready()
    widgets.make("w")
    daemon.wait_for(lambda: "w" in widgets.config_maps(), 20, "the child")
    assert (widgets.get("w") or {})["metadata"]["finalizers"] == ["hookd.dev/keeper"]
    assert all(not call["finalizing"] for call in calls(tmp_path))
    widgets.delete("w")
    daemon.wait_for(lambda: "w" not in widgets.config_maps(), 20, "the child taken away while the parent is held")
    assert widgets.get("w") is not None
    daemon.wait_for(lambda: calls(tmp_path)[-1]["finalizing"], 20, "finalizing calls")
    gate.write_text("open")
    daemon.wait_for(lambda: widgets.get("w") is None, 20, "let go")
    assert settle(tmp_path)[-1]["finalizing"]  # it said itself that the object may go: nothing more is told


def test_a_finalizer_that_is_no_longer_wanted_is_taken_off(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    daemon = hookd(write_reconcile(tmp_path, widgets, finalizer=True)).wait_ready()
    widgets.make("w", size=1)
    daemon.wait_for(lambda: (widgets.get("w") or {})["metadata"].get("finalizers"), 20, "the finalizer")
    write_reconcile(tmp_path, widgets)
    daemon.wait_for(lambda: not (widgets.get("w") or {})["metadata"].get("finalizers"), 20, "the finalizer off after the reload")
    daemon.stop()


def test_a_hook_removed_leaves_its_finalizer(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    hooks = write_reconcile(tmp_path, widgets, finalizer=True)
    daemon = hookd(hooks).wait_ready()
    widgets.make("w", size=1)
    daemon.wait_for(lambda: "w-0" in widgets.config_maps(), 20, "the child")
    (hooks / "keeper" / "hook.yaml").unlink()
    daemon.wait_log(lambda entry: entry.get("msg") == "hook removed", 20, "the reload")
    daemon.wait_log(lambda entry: "1 object(s) still carry the finalizer hookd.dev/keeper" in entry.get("msg", ""), 20, "what it leaves is told")
    widgets.make("later", size=1)
    time.sleep(2)
    assert "later-0" not in widgets.config_maps()
    assert (widgets.get("w") or {})["metadata"]["finalizers"] == ["hookd.dev/keeper"]
    assert "w-0" in widgets.config_maps()
    widgets.patch("w", {"metadata": {"finalizers": None}})


def test_a_foreign_object_is_a_conflict_and_never_taken(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    daemon = hookd(write_reconcile(tmp_path, widgets)).wait_ready()
    widgets.cluster.make_config_map(widgets.namespace, "w-0", v="mine")
    widgets.make("w", size=2)
    event = daemon.wait_for(lambda: widgets.cluster.events(widgets.namespace, "ChildConflict"), 20, "the Event")[0]
    assert event["type"] == "Warning" and event["involvedObject"]["name"] == "w" and "w-0" in event["message"]
    daemon.wait_for(lambda: values(widgets) == {"w-0": "mine", "w-1": "red"}, 20, "the other child made all the same")
    assert "ownerReferences" not in widgets.config_maps()["w-0"]["metadata"]
    daemon.wait_for(lambda: widgets.status("w") is not None, 20, "the status written all the same")
    expect(widgets.cluster.api("DELETE", f"/api/v1/namespaces/{widgets.namespace}/configmaps/w-0"))
    daemon.wait_for(lambda: values(widgets) == {"w-0": "red", "w-1": "red"}, 10, "made once the place is free")


def test_a_child_that_the_server_refuses_does_not_stop_the_others(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    answer = """{children: ["bad", "good"] | map({apiVersion: "v1", kind: "ConfigMap", metadata: {name: .},
        data: (if . == "bad" then {"no/such key": "x"} else {v: "red"} end)}), status: {ok: true}}"""
    daemon = hookd(write_reconcile(tmp_path, widgets, answer)).wait_ready()
    widgets.make("w")
    daemon.wait_for(lambda: values(widgets) == {"good": "red"}, 20, "the good one")
    daemon.wait_for(lambda: widgets.cluster.events(widgets.namespace, "ChildRefused"), 20, "the Event")
    daemon.wait_for(lambda: widgets.status("w") == {"ok": True}, 20, "the status")


def test_a_hook_that_flips_a_field_for_ever_is_slowed_and_told(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    answer = """{children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: "w"},
        data: {v: (if .children["ConfigMap.v1"].w.data.v == "tick" then "tock" else "tick" end), same: "x"}}]}"""
    daemon = hookd(write_reconcile(tmp_path, widgets, answer)).wait_ready()
    widgets.make("w")
    event = daemon.wait_for(lambda: widgets.cluster.events(widgets.namespace, "RepeatedWrites"), 40, "the Event")[0]
    assert "data.v" in event["message"] and event["type"] == "Warning"
    assert "data.v" in daemon.get("/readyz")[1]
    time.sleep(2)
    before = len(calls(tmp_path))
    time.sleep(4)
    assert len(calls(tmp_path)) - before <= 4


def test_a_kind_without_status_subresource_is_told(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    cluster.apply(crd("Plain", status=False))
    plain = Widgets(cluster, namespace, "Plain")
    plain.make("p", size=1)
    daemon = hookd(write_reconcile(tmp_path, plain)).wait_ready()
    event = daemon.wait_for(lambda: cluster.events(namespace, "NoStatus"), 20, "the Event")[0]
    assert "subresources" in event["message"]
    daemon.wait_for(lambda: values(plain) == {"p-0": "red"}, 20, "the child")
    settle(tmp_path)
    cluster.kubectl("delete", "crd", f"plains.{GROUP}", "--wait=false")


def test_a_child_kind_that_vanishes_and_comes_back(cluster: Cluster, widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    cluster.apply(crd("Part"))
    parts = Widgets(cluster, widgets.namespace, "Part")
    answer = f"""{{children: [{{apiVersion: "{GROUP}/v1", kind: "Part", metadata: {{name: .key.name}}, spec: {{v: 1}}}}]}}"""
    kinds = [{"apiVersion": f"{GROUP}/v1", "kind": "Part"}]
    daemon = hookd(write_reconcile(tmp_path, widgets, answer, children=kinds)).wait_ready()
    widgets.make("w")
    daemon.wait_for(lambda: parts.get("w"), 20, "the child")
    before = len(settle(tmp_path))
    cluster.kubectl("delete", "crd", f"parts.{GROUP}")
    widgets.patch("w", {"spec": {"more": 1}})
    # The objects went before the kind did, so that the hook was told; what it answers cannot be made for now. Once the
    # kind is known to be gone nobody is called with a list that nobody knows.
    daemon.wait_for(lambda: f"Part.{GROUP}" in daemon.get("/readyz")[1] or "Part" in daemon.get("/readyz")[1], 30, "told that the kind is gone")
    assert before < len(settle(tmp_path, 3)) <= before + 8
    cluster.apply(crd("Part"))
    daemon.wait_for(lambda: parts.get("w"), 60, "made again")
    cluster.kubectl("delete", "crd", f"parts.{GROUP}", "--wait=false")


def test_a_roll_out_goes_one_by_one_waits_for_a_check_and_survives_a_restart(
    cluster: Cluster, widgets: Widgets, tmp_path: Path, hookd: StartHookd
) -> None:
    cluster.apply(crd("Part"))
    parts = Widgets(cluster, widgets.namespace, "Part")
    answer = f"""
        if .object == null then {{}} else .object as $o | {{children: [range(3) | {{apiVersion: "{GROUP}/v1", kind: "Part",
        metadata: {{name: "p\\(.)"}}, spec: {{v: $o.spec.v}}}}]}} end"""
    kinds = [{"apiVersion": f"{GROUP}/v1", "kind": "Part", "update": "rolling", "checks": {"conditions": [{"type": "Ready", "status": "True"}]}}]
    control = Control(tmp_path / "c.sock")
    write_reconcile(tmp_path, widgets, answer, children=kinds)
    daemon = start(hookd, control, tmp_path)
    widgets.make("w", v=1)

    def versions() -> list[int]:
        found = [parts.get(f"p{i}") for i in range(3)]
        return [one["spec"]["v"] for one in found if one]

    def ready(name: str, status: str) -> None:
        parts.patch(name, {"status": {"conditions": [{"type": "Ready", "status": status}]}}, "/status")

    daemon.wait_for(lambda: versions() == [1, 1, 1], 20, "the parts")
    for i in range(3):
        ready(f"p{i}", "False")  # of those that were not moved yet nobody asks
    settle(tmp_path)
    widgets.patch("w", {"spec": {"v": 2}})
    for moved in (1, 2):
        daemon.wait_for(lambda: versions().count(2) == moved, 20, f"number {moved} moves")  # noqa: B023
        settle(tmp_path)
        assert versions().count(2) == moved  # the others wait for its check
        assert "degraded" not in daemon.get("/readyz")[1]  # it is as it should be
        assert "waits " in control.text("status", "keeper") and "Ready" in control.json("status", "keeper")["waits"][0]
        assert control.json("status", "keeper")["state"] == "ready"
        daemon.kill()
        daemon.start().wait_ready()
        settle(tmp_path)
        assert versions().count(2) == moved
        for i in range(3):
            if versions()[i] == 2:
                ready(f"p{i}", "True")
    daemon.wait_for(lambda: versions() == [2, 2, 2], 30, "all moved")
    cluster.kubectl("delete", "crd", f"parts.{GROUP}", "--wait=false")


def test_a_sigkill_in_the_middle_loses_nothing(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    hooks = write_reconcile(tmp_path, widgets)
    daemon = hookd(hooks).wait_ready()
    for i in range(6):
        widgets.make(f"w{i}", size=5)
    for _ in range(3):
        time.sleep(0.15)
        daemon.kill()
        daemon.start()
    wanted = {f"w{i}-{j}" for i in range(6) for j in range(5)}
    daemon.wait_ready()
    daemon.wait_for(lambda: set(widgets.config_maps()) == wanted, 30, "all children")
    daemon.wait_for(lambda: all(widgets.status(f"w{i}") == {"made": 5} for i in range(6)), 20, "all statuses")


def test_related_objects_are_in_the_call_and_call(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    related = [{"name": "config", "apiVersion": "v1", "kind": "Secret", "namespaces": {"names": [widgets.namespace]},
                "map": '.metadata.annotations["example.com/used-by"]'}]  # fmt: skip
    daemon = hookd(write_reconcile(tmp_path, widgets, related=related)).wait_ready()
    widgets.make("w", size=1)
    widgets.make("other", size=1)
    daemon.wait_for(lambda: widgets.status("w") and widgets.status("other"), 20, "both")
    before = len(settle(tmp_path))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": {"example.com/used-by": "w"}}}
    expect(widgets.cluster.api("POST", f"/api/v1/namespaces/{widgets.namespace}/secrets", secret))
    daemon.wait_for(lambda: len(calls(tmp_path)) > before, 20, "a call")
    new = settle(tmp_path)[before:]
    assert [(call["name"], call["causes"], call["related"]) for call in new] == [("w", ["config/Added"], {"config": ["s"]})]


def test_once_ends_when_all_is_done(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    widgets.make("w", size=3)
    daemon = hookd(write_reconcile(tmp_path, widgets), flags=["--once"])
    assert daemon.wait_exit() == 0
    assert set(widgets.config_maps()) == {"w-0", "w-1", "w-2"}


def test_a_dry_run_changes_nothing(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    widgets.make("w", size=2)
    daemon = hookd(write_reconcile(tmp_path, widgets, finalizer=True), flags=["--once", "--dry-run"])
    assert daemon.wait_exit() == 0
    assert not widgets.config_maps() and widgets.status("w") is None
    assert "finalizers" not in (widgets.get("w") or {})["metadata"]
    assert calls(tmp_path)


MANIFEST = '{apiVersion: "v1", kind: "ConfigMap", metadata: {name: "w"}, data: {v: "red"}}'


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("{childrens: []}", '"childrens" (did you mean "children"?)'),
        ("{childs: []}", '"childs"; a result has children'),
        ("{children: null}", '"children" must be a list'),
        ("{children: {}}", '"children" must be a list'),
        ("{children: [null]}", "children[0]"),
        (f"{{children: [{MANIFEST}, {MANIFEST}]}}", "same object"),
        ('{children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: "w", namespace: "default"}}]}', "namespace"),
        ('{children: [{apiVersion: "v1", kind: "Secret", metadata: {name: "w"}}]}', "not declared"),
        ('{children: [], status: "ready"}', '"status" must be an object'),
        ('{children: [], finalized: "yes"}', '"finalized" must be true or false'),
        ('{children: [], requeueAfter: "soon"}', "requeueAfter"),
        ('"{\\"children\\": ["', ""),
    ],
)
def test_a_bad_answer_touches_nothing_and_is_told(widgets: Widgets, tmp_path: Path, hookd: StartHookd, answer: str, said: str) -> None:
    hooks = write_reconcile(tmp_path, widgets, "{children: [" + MANIFEST + "], status: {a: 1}}")
    daemon = hookd(hooks).wait_ready()
    widgets.make("w")
    daemon.wait_for(lambda: widgets.status("w") == {"a": 1}, 20, "the first state")
    settle(tmp_path, 0.5)
    raw = "-r" if answer.startswith('"') else "-c"
    script = hooks / "keeper" / "hook.sh"
    text = script.read_text()
    script.write_text(text[: text.rindex("jq -c")] + f"jq {raw} '{answer}' <<<\"$call\"\n")
    widgets.patch("w", {"spec": {"x": 1}})
    event = daemon.wait_for(lambda: widgets.cluster.events(widgets.namespace, "BadAnswer"), 20, "the Event")[0]
    assert said in event["message"]
    assert values(widgets) == {"w": "red"} and widgets.status("w") == {"a": 1}


@pytest.mark.parametrize("answer", ["{}", "{status: null}", "empty", '{message: "nothing to do"}'])
def test_an_answer_without_children_touches_none(widgets: Widgets, tmp_path: Path, hookd: StartHookd, answer: str) -> None:
    first = f"if .object.spec.x then {answer} else {{children: [{MANIFEST}], status: {{a: 1}}}} end"
    daemon = hookd(write_reconcile(tmp_path, widgets, first)).wait_ready()
    widgets.make("w")
    daemon.wait_for(lambda: widgets.status("w") == {"a": 1}, 20, "the first state")
    before = len(settle(tmp_path, 0.5))
    widgets.patch("w", {"spec": {"x": 1}})
    daemon.wait_for(lambda: len(calls(tmp_path)) > before, 20, "a call")
    settle(tmp_path, 0.5)
    assert values(widgets) == {"w": "red"} and widgets.status("w") == {"a": 1}


def test_a_hook_that_gives_up_waits_for_the_next_change(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    hooks = write_reconcile(tmp_path, widgets)
    script = hooks / "keeper" / "hook.sh"
    script.write_text(script.read_text() + "exit 65\n")
    daemon = hookd(hooks).wait_ready()
    widgets.make("w", size=1)
    daemon.wait_for(lambda: widgets.cluster.events(widgets.namespace, "GivenUp"), 20, "the Event")
    assert len(settle(tmp_path)) == 1 and not widgets.config_maps()
    widgets.patch("w", {"spec": {"size": 2}})
    daemon.wait_for(lambda: len(calls(tmp_path)) == 2, 20, "called for the change")


def test_snapshots_name_children_by_their_kind(widgets: Widgets, tmp_path: Path, hookd: StartHookd) -> None:
    control = Control(tmp_path / "c.sock")
    write_reconcile(tmp_path, widgets, children=[*CONFIG_MAPS, {"apiVersion": "apps/v1", "kind": "Deployment"}])
    daemon = start(hookd, control, tmp_path)
    widgets.make("w", size=1)
    daemon.wait_for(lambda: widgets.status("w") == {"made": 1}, 20, "a child that is known")
    assert "it has: for, ConfigMap, Deployment" in control.refused("snapshot", "keeper", "children")
    for name in ("ConfigMap", "ConfigMap.v1"):
        assert "w-0" in control.text("snapshot", "keeper", name)
    assert "w-0" not in control.text("snapshot", "keeper", "Deployment.apps/v1")
    before = len(settle(tmp_path, 0.5))
    widgets.patch("w", {"metadata": {"labels": {"a": "b"}}})  # calls, and changes nothing
    daemon.wait_for(lambda: len(calls(tmp_path)) > before, 20, "a call")
    settle(tmp_path, 0.5)
    assert "nothing to write" in control.text("runs", control.json("runs", "keeper")["runs"][0]["id"])
