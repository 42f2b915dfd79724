"""Every operation a hook can answer, on a real API server, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cluster import Cluster
from hookd import Hookd
from hooks import lines, watch, write_hook

StartHookd = Callable[..., Hookd]


@pytest.fixture
def answer(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> Callable[..., Hookd]:
    """answer(documents, ...) -> hookd --once with a hook that answers that about the ConfigMap "about"; it has ended."""

    def run(*documents: object, code: int = 0, spec: dict | None = None, flags: tuple[str, ...] = ()) -> Hookd:
        if not cluster.config_map(namespace, "about"):
            cluster.make_config_map(namespace, "about", a="1", b="2")
        text = "\n".join(document if isinstance(document, str) else json.dumps(document) for document in documents)
        (tmp_path / "answer").write_text(text + "\n")
        write_hook(tmp_path / "hooks", f"cat {tmp_path / 'answer'}", {
            "watch": [watch("ConfigMap", namespace, names=["about"], events=["added"])],
            "retry": {"initial": "50ms", "attempts": 2},
            **(spec or {}),
        })  # fmt: skip
        daemon = hookd(tmp_path / "hooks", flags=["--once", *flags])
        assert daemon.wait_exit() == code, daemon.logs()[-8:]
        return daemon

    return run


def op(operation: str, namespace: str, name: str = "about", kind: str = "ConfigMap", **more: object) -> dict:
    return {"operation": operation, "apiVersion": "v1", "kind": kind, "namespace": namespace, "name": name, **more}


def config_map(namespace: str, name: str, **data: str) -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def data(cluster: Cluster, namespace: str, name: str) -> dict | None:
    found = cluster.config_map(namespace, name)
    return found and found.get("data")


def test_a_manifest_is_applied_by_server_side_apply(cluster: Cluster, namespace: str, answer: Callable[..., Hookd]) -> None:
    answer(config_map(namespace, "made", x="1"))
    made = cluster.config_map(namespace, "made")
    assert made and made["data"] == {"x": "1"}
    assert [(field["manager"], field["operation"]) for field in made["metadata"]["managedFields"]] == [("hookd-probe", "Apply")]
    answer(config_map(namespace, "made", y="2"))
    assert data(cluster, namespace, "made") == {"y": "2"}, "a field no longer in the manifest goes"


def test_yaml_documents_and_chatty_text_between_them(cluster: Cluster, namespace: str, answer: Callable[..., Hookd]) -> None:
    daemon = answer(
        'pod "x" deleted',
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: one, namespace: {namespace}}}\ndata: {{a: \"on\"}}\n---",
        "another line of text",
        config_map(namespace, "two", b="1"),
    )
    assert data(cluster, namespace, "one") == {"a": "on"} and data(cluster, namespace, "two") == {"b": "1"}
    assert daemon.logs(msg='pod "x" deleted') and daemon.logs(msg="another line of text")
    assert len([line for line in daemon.logs() if "HOOKD_ANSWER" in line.get("msg", "")]) == 1, "the hint comes once"


def test_the_three_creates(cluster: Cluster, namespace: str, answer: Callable[..., Hookd]) -> None:
    def create(verb: str, name: str, **content: str) -> dict:
        return {"operation": verb, "object": config_map(namespace, name, **content)}

    answer(create("Create", "new", a="1"), create("CreateIfNotExists", "new2", a="1"), create("CreateOrUpdate", "new3", a="1"))
    assert all(data(cluster, namespace, name) == {"a": "1"} for name in ("new", "new2", "new3"))
    answer(create("CreateIfNotExists", "new2", a="2"), create("CreateOrUpdate", "new3", b="2"))
    assert data(cluster, namespace, "new2") == {"a": "1"} and data(cluster, namespace, "new3") == {"b": "2"}
    daemon = answer(create("Create", "new", a="2"), code=1)
    assert data(cluster, namespace, "new") == {"a": "1"}
    assert daemon.logs(operation="Create", outcome="refused")


def test_the_patches(cluster: Cluster, namespace: str, answer: Callable[..., Hookd]) -> None:
    answer(
        op("MergePatch", namespace, patch={"data": {"a": "merged"}}),
        op("StrategicMergePatch", namespace, patch={"metadata": {"labels": {"strategic": "yes"}}}),
        op("JSONPatch", namespace, patch=[{"op": "add", "path": "/data/json", "value": "1"}]),
        op("JQPatch", namespace, jqFilter='.data.jq = (.data.a + "!")'),
        op("Label", namespace, labels={"l": "1"}),
        op("Annotate", namespace, annotations={"example.com/a": "1"}),
    )
    about = cluster.config_map(namespace, "about")
    assert about and about["data"] == {"a": "merged", "b": "2", "json": "1", "jq": "merged!"}
    assert about["metadata"]["labels"] == {"strategic": "yes", "l": "1"}
    assert about["metadata"]["annotations"] == {"example.com/a": "1"}
    answer(op("Label", namespace, labels={"l": None}))
    about = cluster.config_map(namespace, "about")
    assert about and about["metadata"]["labels"] == {"strategic": "yes"}


@pytest.mark.real_only("the StatefulSet controller makes the pod")
def test_scale_status_evict(cluster: Cluster, namespace: str, answer: Callable[..., Hookd], make_node: Callable[..., str]) -> None:
    cluster.make_statefulset(namespace, "web", 1, grace=1)
    cluster.bind_and_run(namespace, "web-0", make_node())
    answer(
        {"operation": "Scale", "apiVersion": "apps/v1", "kind": "StatefulSet", "namespace": namespace, "name": "web", "replicas": 2},
        op("Status", namespace, "web-0", "Pod", status={"message": "told by a hook"}),
        op("Evict", namespace, "web-0", "Pod"),
    )
    found = cluster.api("GET", f"/apis/apps/v1/namespaces/{namespace}/statefulsets/web")[1]
    assert found["spec"]["replicas"] == 2
    pod = cluster.get_pod(namespace, "web-0")
    assert pod and pod["status"]["message"] == "told by a hook" and pod["metadata"]["deletionTimestamp"]


def test_deletes_with_preconditions(cluster: Cluster, namespace: str, answer: Callable[..., Hookd]) -> None:
    for name in ("gone", "kept", "versioned"):
        cluster.make_config_map(namespace, name)
    version = cluster.config_map(namespace, "versioned")["metadata"]["resourceVersion"]
    daemon = answer(
        op("Delete", namespace, "gone"),
        op("DeleteInBackground", namespace, "never-there"),
        op("Delete", namespace, "kept", uid="00000000-0000-0000-0000-000000000000"),
        op("DeleteNonCascading", namespace, "versioned", resourceVersion=version),
    )
    assert cluster.config_map(namespace, "gone") is None and cluster.config_map(namespace, "versioned") is None
    assert cluster.config_map(namespace, "kept")
    outcomes = [line["outcome"] for line in daemon.logs() if str(line.get("operation", "")).startswith("Delete")]
    assert sorted(outcomes) == ["done", "done", "not needed", "not needed"]


def test_a_kubernetes_event_about_an_object(cluster: Cluster, namespace: str, answer: Callable[..., Hookd]) -> None:
    uid = cluster.make_config_map(namespace, "about")["metadata"]["uid"]
    answer({
        "operation": "Event", "reason": "Seen", "message": "it is there", "type": "Normal",
        "about": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": "about"},
    })  # fmt: skip
    event = cluster.wait_for(lambda: cluster.events(namespace, "Seen"), 10, "the Event")[0]
    assert event["message"] == "it is there" and event["involvedObject"]["uid"] == uid


def test_what_is_not_allowed_is_not_sent_and_neither_is_the_rest(cluster: Cluster, namespace: str, answer: Callable[..., Hookd]) -> None:
    rule = {"apiVersion": "v1", "kind": "ConfigMap", "verbs": ["apply"], "namespaces": [namespace]}
    daemon = answer(config_map(namespace, "fine", a="1"), op("Delete", namespace), code=1, spec={"allow": [rule]})
    assert cluster.config_map(namespace, "fine") is None and cluster.config_map(namespace, "about")
    assert any("delete" in str(line) and "allow" in str(line) for line in daemon.logs(level="error"))


def test_half_an_answer_changes_nothing(cluster: Cluster, namespace: str, answer: Callable[..., Hookd]) -> None:
    whole = json.dumps(config_map(namespace, "second", a="1"))
    daemon = answer(config_map(namespace, "first", a="1"), whole[: len(whole) // 2], code=1)
    assert cluster.config_map(namespace, "first") is None
    assert any("line 2" in line.get("error", "") and "cut off" in line["error"] for line in daemon.logs())


def test_one_refused_operation_does_not_stop_those_on_other_objects(
    cluster: Cluster, namespace: str, answer: Callable[..., Hookd]
) -> None:
    bad = config_map(namespace, "bad", a="1")
    bad["data"]["a"] = 5
    daemon = answer(bad, config_map(namespace, "good", a="1"), code=1)
    assert data(cluster, namespace, "good") == {"a": "1"}
    assert daemon.logs(outcome="refused") and not daemon.logs(outcome="retry"), "content is refused for good, also where the server says 500"


def test_an_answer_with_an_unknown_kind_sends_nothing_yet(cluster: Cluster, namespace: str, answer: Callable[..., Hookd]) -> None:
    missing = {"apiVersion": "example.com/v1", "kind": "NotThere", "metadata": {"name": "x", "namespace": namespace}}
    daemon = answer({"operation": "Create", "object": config_map(namespace, "once", a="1")}, missing, code=1)
    assert cluster.config_map(namespace, "once") is None, "an unknown kind: nothing is sent, it may come"
    assert any("NotThere" in line.get("error", "") for line in daemon.logs())


def test_dry_run_changes_nothing_and_tells_the_difference(cluster: Cluster, namespace: str, answer: Callable[..., Hookd]) -> None:
    daemon = answer(op("MergePatch", namespace, patch={"data": {"a": "9"}}), op("Delete", namespace), flags=("--dry-run",))
    assert data(cluster, namespace, "about") == {"a": "1", "b": "2"}
    assert any(".data.a" in line.get("msg", "") and '"9"' in line["msg"] for line in daemon.logs())
    assert any("what their programs do themselves" in line.get("msg", "") for line in daemon.logs()), "kubectl inside a hook is no dry run"


def test_status_and_requeue_in_a_result(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    calls = tmp_path / "calls"
    write_hook(
        tmp_path / "hooks",
        f"""
        jq -r .reason >> {calls}
        [ "$(wc -l < {calls})" -ge 2 ] || echo '{{"requeueAfter":"300ms","message":"again soon","status":{{"message":"seen"}}}}'
        """,
        {"watch": [watch("Pod", namespace, events=["added"])]},
    )
    cluster.make_pod(namespace, "p", grace=0)
    daemon = hookd(tmp_path / "hooks").wait_ready()
    daemon.wait_for(lambda: lines(calls) == ["watch", "requeue"], 10, "the second call")
    pod = cluster.get_pod(namespace, "p")
    assert pod and pod["status"]["message"] == "seen"
