"""CompositeControllers and DecoratorControllers, a fact each: what Metacontroller's own integration tests show, and the
edges of reference/controllers.md 1.4 and 1.5. Webhooks are functions of these tests.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from controllers import FINALIZER, GROUP, LAST_APPLIED, Controllers, crds
from endpoint import Answer
from hookd import Hookd
from workloads import Object

SETTINGS = [{}, {"applyStrategy": "server-side-apply"}]


@pytest.fixture(scope="session")
def metacontroller(cluster: Cluster) -> None:
    for one in crds():
        cluster.apply(one)


@pytest.fixture(params=SETTINGS, ids=["dynamic-apply", "server-side-apply"])
def meta(metacontroller: None, cluster: Cluster, tmp_path: Path, hookd: Callable[..., Hookd], namespace: str, request: pytest.FixtureRequest) -> Iterator[Controllers]:
    controllers = Controllers(cluster, tmp_path, hookd, namespace, request.param)
    yield controllers
    controllers.end()


@pytest.fixture
def one(metacontroller: None, cluster: Cluster, tmp_path: Path, hookd: Callable[..., Hookd], namespace: str) -> Iterator[Controllers]:
    """Where the way in which children are written makes no difference."""
    controllers = Controllers(cluster, tmp_path, hookd, namespace, {})
    yield controllers
    controllers.end()


def config_map(name: str, data: Object, **metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data}


def copies(request: Object) -> Object:
    """A ConfigMap for each entry of spec.maps."""
    maps = request["parent"]["spec"].get("maps", {})
    labels = request["parent"]["spec"].get("selector", {}).get("matchLabels", {})
    return {
        "status": {"seen": len(request["children"]["ConfigMap.v1"])},
        "children": [config_map(name, {"v": value}, **({"labels": labels} if labels else {})) for name, value in maps.items()],
    }


def data(meta: Controllers) -> dict[str, Any]:
    return {name: one.get("data") for name, one in meta.list("configmaps").items()}


def test_children_are_made_changed_and_deleted(meta: Controllers) -> None:
    meta.kind("Copy", "copies")
    name = meta.composite("copy", "copies", [("v1", "configmaps", "InPlace")], sync=copies, generateSelector=True)
    meta.start().wait_ready()
    parent = meta.make("copies", "p", {"maps": {"a": "1", "b": "1"}})
    meta.wait_for(lambda: data(meta) == {"a": {"v": "1"}, "b": {"v": "1"}}, "two children")
    child = meta.list("configmaps")["a"]
    (owner,) = child["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": f"{GROUP}/v1", "kind": "Copy", "name": "p", "uid": parent["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    assert child["metadata"]["labels"]["controller-uid"] == parent["metadata"]["uid"]
    if meta.settings:
        assert LAST_APPLIED not in child["metadata"].get("annotations", {})
    else:
        assert json.loads(child["metadata"]["annotations"][LAST_APPLIED])["data"] == {"v": "1"}
    meta.wait_for(lambda: meta.get("copies", "p")["status"] == {"seen": 2, "observedGeneration": 1}, "status")
    request = meta.webhooks.requests["copy-sync"][-1]
    assert set(request) == {"controller", "parent", "children", "related", "finalizing"}
    assert request["controller"]["metadata"]["name"] == name and request["finalizing"] is False and request["related"] == {}
    assert set(request["children"]["ConfigMap.v1"]) == {"a", "b"}

    # Somebody adds a key of his own, which stays; drift of ours is put back; what the hook leaves out goes.
    meta.patch("configmaps", "a", {"data": {"theirs": "x", "v": "drift"}, "metadata": {"labels": {"their": "label"}}}, "v1")
    meta.wait_for(lambda: data(meta)["a"] == {"v": "1", "theirs": "x"}, "drift repaired")
    meta.patch("copies", "p", {"spec": {"maps": {"a": "2", "b": None}}})
    meta.wait_for(lambda: data(meta) == {"a": {"v": "2", "theirs": "x"}}, "changed and deleted")
    meta.wait_for(lambda: meta.get("copies", "p")["status"] == {"seen": 1, "observedGeneration": 2}, "status of generation 2")
    assert meta.list("configmaps")["a"]["metadata"]["labels"]["their"] == "label"
    meta.quiet()
    meta.delete("copies", "p")
    meta.wait_for(lambda: not data(meta), "children collected with their parent", 120)  # it looks for new kinds each 30 s


def test_a_label_that_somebody_takes_away_comes_back(meta: Controllers) -> None:
    """No change of generation tells of it (controllers.md 1.5, I#1177)."""
    meta.kind("Copy", "copies")
    meta.composite(
        "copy", "copies", [("v1", "configmaps", "InPlace")], generateSelector=True,
        sync=lambda request: {"status": {}, "children": [config_map("a", {"v": "1"}, labels={"ours": "1"}, annotations={"ours": "1"})]},
    )  # fmt: skip
    meta.start().wait_ready()
    meta.make("copies", "p", {})
    meta.wait_for(lambda: data(meta) == {"a": {"v": "1"}}, "a child")
    meta.patch("configmaps", "a", {"metadata": {"labels": {"ours": None}, "annotations": {"ours": "2"}}}, "v1")

    def repaired() -> bool:
        metadata = meta.list("configmaps")["a"]["metadata"]
        return metadata["labels"].get("ours") == "1" and metadata["annotations"].get("ours") == "1"

    meta.wait_for(repaired, "label and annotation put back")


def test_v2_has_namespaces_in_its_keys(one: Controllers) -> None:
    one.kind("Copy", "copies")
    one.composite("copy", "copies", [("v1", "configmaps", "InPlace")], sync=copies, version="v2", generateSelector=True)
    one.start().wait_ready()
    one.make("copies", "p", {"maps": {"a": "1"}})
    one.wait_for(
        lambda: set(one.webhooks.requests["copy-sync"][-1:][0]["children"]["ConfigMap.v1"]) == {f"{one.namespace}/a"}
        if one.webhooks.requests["copy-sync"]
        else False,
        "a key with its namespace",
    )


def test_jobs_go_with_their_pods(meta: Controllers) -> None:
    """Deleted in the background: the default of a Job would leave its pods behind."""
    meta.kind("Runner", "runners")

    def sync(request: Object) -> Object:
        job = {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
            "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}},
        }  # fmt: skip
        return {"status": {}, "children": [job] if request["parent"]["spec"]["run"] else []}

    meta.composite("runner", "runners", [("batch/v1", "jobs", "InPlace")], sync=sync, generateSelector=True)
    meta.start().wait_ready()
    meta.make("runners", "p", {"run": True})
    meta.wait_for(lambda: meta.list("jobs", "batch/v1"), "a job")
    job = meta.list("jobs", "batch/v1")["j"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": job["metadata"]["uid"], "controller": True}
    meta.make(
        "pods", "of-the-job", {"containers": [{"name": "c", "image": "x"}]}, api="v1", metadata={"ownerReferences": [owner]}
    )
    meta.patch("runners", "p", {"spec": {"run": False}})
    meta.wait_for(lambda: not meta.list("jobs", "batch/v1"), "the job gone")
    meta.wait_for(lambda: not meta.list("pods"), "its pod gone", 60)


def test_resync_after_a_fraction_of_a_second(one: Controllers) -> None:
    one.kind("Copy", "copies")
    times: list[float] = []

    def sync(request: Object) -> Object:
        times.append(time.monotonic())
        return {"status": {}, "children": [], **({"resyncAfterSeconds": 0.1} if len(times) < 6 else {})}

    one.composite("copy", "copies", sync=sync, generateSelector=True)
    one.start().wait_ready()
    one.make("copies", "p", {})
    one.wait_for(lambda: len(times) >= 6, "six calls of a quiet object", 10)
    assert all(0.09 <= later - earlier < 1 for earlier, later in zip(times[1:], times[2:]))
    one.quiet()
    assert len(times) == 6


def test_resync_period(one: Controllers) -> None:
    one.kind("Copy", "copies")
    one.composite("copy", "copies", sync=lambda request: {"status": {}, "children": []}, generateSelector=True, resyncPeriodSeconds=1)
    one.start().wait_ready()
    one.make("copies", "p", {})
    one.wait_for(lambda: len(one.webhooks.requests["copy-sync"]) >= 5, "calls of a quiet object", 20)


def test_a_parent_without_status_subresource_is_told(one: Controllers) -> None:
    one.kind("Bare", "bares", status=False)
    name = one.composite("bare", "bares", sync=lambda request: {"status": {}, "children": []}, generateSelector=True)
    one.start()
    one.wait_for(
        lambda: any("does not have subresource 'Status' enabled" in message for message in one.sync_errors(name, "default")),
        "an event of the controller",
    )
    one.make("bares", "p", {})
    one.quiet()
    assert not one.webhooks.calls


def test_an_orphan_is_claimed_and_released(meta: Controllers) -> None:
    meta.kind("Copy", "copies")
    meta.composite("copy", "copies", [("v1", "configmaps", "InPlace")], sync=copies)
    meta.start().wait_ready()
    labels = {"app": "claimed"}
    before = meta.make("configmaps", "a", api="v1", metadata={"labels": labels}, data={"v": "0"})
    stranger = meta.make("configmaps", "stranger", api="v1", metadata={"labels": {"app": "other"}}, data={"v": "0"})
    parent = meta.make("copies", "p", {"selector": {"matchLabels": labels}, "maps": {"a": "1"}})
    meta.wait_for(lambda: data(meta)["a"] == {"v": "1"}, "the orphan taken and changed")
    found = meta.list("configmaps")["a"]
    assert found["metadata"]["uid"] == before["metadata"]["uid"]
    assert found["metadata"]["ownerReferences"][0]["uid"] == parent["metadata"]["uid"]
    # An orphan that comes later calls the parents that select it, and goes as the hook does not want it.
    meta.make("configmaps", "late", api="v1", metadata={"labels": labels}, data={"v": "0"})
    meta.wait_for(lambda: "late" not in data(meta), "the late orphan taken and deleted")
    # Its labels drift: it is let go of, with its data. The hook wants one of that name still, which is told.
    meta.patch("configmaps", "a", {"metadata": {"labels": {"app": "released"}}}, "v1")
    meta.wait_for(lambda: not meta.list("configmaps")["a"]["metadata"].get("ownerReferences"), "released")
    meta.wait_for(lambda: any("ConfigMap" in message and "exists already" in message for message in meta.sync_errors("p")), "an event")
    meta.patch("copies", "p", {"spec": {"maps": {"a": None}}})
    meta.quiet()
    assert meta.list("configmaps")["a"]["metadata"]["uid"] == before["metadata"]["uid"]
    assert meta.list("configmaps")["stranger"]["metadata"]["resourceVersion"] == stranger["metadata"]["resourceVersion"]


def test_a_foreign_object_of_the_childs_name_is_left_alone(meta: Controllers) -> None:
    meta.kind("Copy", "copies")
    meta.composite("copy", "copies", [("v1", "configmaps", "InPlace")], sync=copies, generateSelector=True)
    meta.start().wait_ready()
    foreign = meta.make("configmaps", "a", api="v1", data={"v": "theirs"})
    meta.make("copies", "p", {"maps": {"a": "1", "b": "1"}})
    meta.wait_for(lambda: any("ConfigMap" in one and "exists already" in one for one in meta.sync_errors("p")), "an event")
    assert data(meta) == {"a": {"v": "theirs"}, "b": {"v": "1"}}
    assert meta.list("configmaps")["a"]["metadata"]["resourceVersion"] == foreign["metadata"]["resourceVersion"]
    # Gone: the child is made.
    meta.delete("configmaps", "a", "v1")
    meta.wait_for(lambda: data(meta) == {"a": {"v": "1"}, "b": {"v": "1"}}, "made after all", 60)


def test_a_finalize_hook_holds_the_parent(meta: Controllers) -> None:
    meta.kind("Copy", "copies")

    def finalize(request: Object) -> Object:
        assert request["finalizing"] is True
        left = len(request["children"]["ConfigMap.v1"])
        # One after another; the parent may go when all are gone.
        names = sorted(request["children"]["ConfigMap.v1"])[1:]
        return {"status": {"left": left}, "children": [config_map(name, {"v": "1"}) for name in names], "finalized": left == 0}

    name = meta.composite("copy", "copies", [("v1", "configmaps", "InPlace")], sync=copies, finalize=finalize, generateSelector=True)
    meta.start().wait_ready()
    meta.make("copies", "p", {"maps": {"a": "1", "b": "1"}})
    meta.wait_for(lambda: len(data(meta)) == 2, "two children")
    finalizer = FINALIZER.format(kind="composite", name=name)
    assert meta.get("copies", "p")["metadata"]["finalizers"] == [finalizer]
    meta.patch("copies", "p", {"metadata": {"finalizers": [finalizer, "example.com/test"]}})
    meta.delete("copies", "p")
    meta.wait_for(lambda: meta.get("copies", "p")["metadata"].get("finalizers") == ["example.com/test"], "only the foreign finalizer left")
    assert not data(meta)
    meta.patch("copies", "p", {"metadata": {"finalizers": None}})
    meta.wait_for(lambda: meta.get("copies", "p") is None, "gone")


def test_a_parent_that_no_longer_matches_is_finalized(one: Controllers) -> None:
    one.kind("Copy", "copies")
    name = one.composite(
        "copy", "copies", [("v1", "configmaps", "InPlace")], sync=copies, generateSelector=True,
        parent_more={"labelSelector": {"matchLabels": {"take": "part"}}},
        finalize=lambda request: {"status": {}, "children": [], "finalized": not request["children"]["ConfigMap.v1"]},
    )  # fmt: skip
    one.start().wait_ready()
    one.make("copies", "out", {"maps": {"out": "1"}})
    one.make("copies", "p", {"maps": {"a": "1"}}, metadata={"labels": {"take": "part"}})
    one.wait_for(lambda: set(data(one)) == {"a"}, "a child of the one that takes part")
    assert one.get("copies", "p")["metadata"]["finalizers"] == [FINALIZER.format(kind="composite", name=name)]
    one.patch("copies", "p", {"metadata": {"labels": {"take": None}}})
    one.wait_for(lambda: not data(one) and not one.get("copies", "p")["metadata"].get("finalizers"), "finalized")
    one.quiet()
    one.patch("copies", "p", {"metadata": {"labels": {"take": "part"}}})
    one.wait_for(lambda: set(data(one)) == {"a"}, "a child again")


def test_a_finalizer_without_its_hook_is_taken_away(one: Controllers) -> None:
    one.kind("Copy", "copies")
    name = one.composite("copy", "copies", sync=lambda request: {"status": {}, "children": []}, generateSelector=True)
    one.make("copies", "p", {}, metadata={"finalizers": [FINALIZER.format(kind="composite", name=name), "example.com/test"]})
    one.start().wait_ready()
    one.wait_for(lambda: one.get("copies", "p")["metadata"]["finalizers"] == ["example.com/test"], "ours taken, theirs kept")


def test_labels_that_do_not_match_the_selector_write_nothing(one: Controllers) -> None:
    one.kind("Copy", "copies")

    def sync(request: Object) -> Object:
        return {"status": {}, "children": [config_map("good", {}, labels={"app": "x"}), config_map("bad", {}, labels={"app": "y"})]}

    one.composite("copy", "copies", [("v1", "configmaps", "InPlace")], sync=sync)
    one.start().wait_ready()
    one.make("copies", "p", {"selector": {"matchLabels": {"app": "x"}}})
    one.wait_for(lambda: any("ConfigMap bad do not match" in message for message in one.sync_errors("p")), "an event")
    assert not data(one)
    one.make("copies", "everything", {"selector": {}})
    one.wait_for(lambda: any("never taken for" in message for message in one.sync_errors("everything")), "an event for an empty selector")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"status": {}, "childs": []}, "childs"),
        ({"status": {}, "children": [None]}, "children[0]"),
        ({"status": {}, "children": [config_map("a", {}), config_map("a", {})]}, "twice"),
        ({"status": {}, "children": [config_map("a", {}, namespace="default")]}, "namespace default"),
        ({"status": {}, "children": {"a": 1}}, "children"),
        (Answer(body=b""), ""),
        (Answer(500, b"out of order"), "500"),
        (Answer(204, b""), "204"),
    ],
    ids=["misspelt", "null", "twice", "foreign-namespace", "wrong-type", "empty", "500", "204"],
)
def test_a_bad_answer_touches_nothing_and_is_told(one: Controllers, answer: Any, told: str) -> None:
    one.kind("Copy", "copies")
    one.composite("copy", "copies", [("v1", "configmaps", "InPlace")], sync=copies, generateSelector=True)
    one.start().wait_ready()
    one.make("copies", "p", {"maps": {"a": "1", "b": "1"}})
    one.wait_for(lambda: len(data(one)) == 2, "two children")
    one.quiet()
    one.webhooks.hooks["copy-sync"] = lambda request: answer
    one.patch("copies", "p", {"spec": {"touch": 1}})
    one.wait_for(lambda: any(message.startswith("Sync error: ") and told in message for message in one.sync_errors("p")), "an event")
    assert len(data(one)) == 2
    one.webhooks.hooks["copy-sync"] = copies
    one.patch("copies", "p", {"spec": {"maps": {"a": "2"}}})
    one.wait_for(lambda: data(one)["a"] == {"v": "2"}, "as before", 60)


def test_an_answer_without_children_deletes_them_in_v1(one: Controllers) -> None:
    """As upstream: missing and null mean "no children"; only a misspelt key is refused."""
    one.kind("Copy", "copies")
    one.composite("copy", "copies", [("v1", "configmaps", "InPlace")], sync=copies, generateSelector=True)
    one.start().wait_ready()
    one.make("copies", "p", {"maps": {"a": "1"}})
    one.wait_for(lambda: len(data(one)) == 1, "a child")
    one.webhooks.hooks["copy-sync"] = lambda request: {"status": None, "children": None}
    one.patch("copies", "p", {"spec": {"touch": 1}})
    one.wait_for(lambda: not data(one), "none")
    one.wait_for(lambda: one.get("copies", "p")["status"] == {"observedGeneration": 2}, "null wipes the status")


def test_429_is_tried_again_when_it_says_without_an_event(one: Controllers) -> None:
    one.kind("Copy", "copies")
    times: list[float] = []

    def sync(request: Object) -> Any:
        times.append(time.monotonic())
        return Answer(429, b"", {"Retry-After": "1"}) if len(times) == 1 else {"status": {}, "children": []}

    one.composite("copy", "copies", sync=sync, generateSelector=True)
    one.start().wait_ready()
    one.make("copies", "p", {})
    one.wait_for(lambda: len(times) >= 2, "asked again", 10)
    assert 0.95 <= times[1] - times[0] < 3
    assert not one.sync_errors("p")


def test_changes_of_status_can_be_ignored(one: Controllers) -> None:
    one.kind("Copy", "copies")
    one.composite(
        "copy", "copies", sync=lambda request: {"status": {}, "children": []}, generateSelector=True,
        parent_more={"ignoreStatusChanges": True},
    )  # fmt: skip
    one.start().wait_ready()
    one.make("copies", "p", {})
    before = one.quiet()
    one.patch("copies", "p", {"status": {"by": "somebody"}}, sub="/status")
    one.quiet()
    assert len(one.webhooks.calls) == before
    one.patch("copies", "p", {"metadata": {"annotations": {"a": "1"}}})
    one.wait_for(lambda: one.get("copies", "p").get("status") == {"observedGeneration": 1}, "called, and the status is ours again")


def test_recreate_and_on_delete(meta: Controllers) -> None:
    """Their example update-strategy."""
    meta.kind("Copy", "copies")
    meta.kind("Keep", "keeps")
    meta.composite("copy", "copies", [("v1", "configmaps", "Recreate")], sync=copies, generateSelector=True)
    meta.composite("keep", "keeps", [("v1", "configmaps", "OnDelete")], sync=copies, generateSelector=True)
    meta.start().wait_ready()
    meta.make("copies", "p", {"maps": {"a": "1"}})
    meta.make("keeps", "p", {"maps": {"k": "1"}})
    meta.wait_for(lambda: data(meta) == {"a": {"v": "1"}, "k": {"v": "1"}}, "children")
    uid = meta.list("configmaps")["a"]["metadata"]["uid"]
    # What somebody adds is no reason to make it anew.
    meta.patch("configmaps", "a", {"data": {"theirs": "x"}}, "v1")
    meta.quiet(1.5)
    assert meta.list("configmaps")["a"]["metadata"]["uid"] == uid
    meta.patch("copies", "p", {"spec": {"maps": {"a": "2"}}})
    meta.wait_for(lambda: data(meta).get("a") == {"v": "2"}, "made anew, without what was added")
    assert meta.list("configmaps")["a"]["metadata"]["uid"] != uid
    uid = meta.list("configmaps")["a"]["metadata"]["uid"]
    meta.quiet(1.5)
    assert meta.list("configmaps")["a"]["metadata"]["uid"] == uid, "no loop"
    meta.patch("keeps", "p", {"spec": {"maps": {"k": "2"}}})
    meta.quiet()
    assert data(meta)["k"] == {"v": "1"}
    meta.delete("configmaps", "k", "v1")
    meta.wait_for(lambda: data(meta).get("k") == {"v": "2"}, "made anew after somebody deleted it")


def test_kinds_that_are_not_declared_are_made_and_never_deleted(one: Controllers) -> None:
    one.kind("Copy", "copies")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "extra"}, "stringData": {"k": "v"}}
    one.composite(
        "copy", "copies", [("v1", "configmaps", "InPlace")], generateSelector=True,
        sync=lambda request: {"status": {}, "children": [secret] if request["parent"]["spec"]["make"] else []},
    )  # fmt: skip
    one.start().wait_ready()
    one.make("copies", "p", {"make": True})
    one.wait_for(lambda: "extra" in one.list("secrets"), "the secret")
    one.patch("copies", "p", {"spec": {"make": False}})
    one.wait_for(lambda: (one.get("copies", "p").get("status") or {}).get("observedGeneration") == 2, "the second sync")
    one.quiet()
    assert "extra" in one.list("secrets")


def test_customize_v1_keeps_to_the_parents_namespace(one: Controllers, cluster: Cluster) -> None:
    one.kind("Copy", "copies")
    rules: list[Object] = [{"apiVersion": "v1", "resource": "secrets", "names": ["wanted"]}]
    one.composite(
        "copy", "copies", generateSelector=True,
        sync=lambda request: {"status": {"related": sorted(request["related"].get("Secret.v1", {}))}, "children": []},
        customize=lambda request: {"relatedResources": rules},
    )  # fmt: skip
    one.start().wait_ready()
    one.make("copies", "p", {})
    one.wait_for(lambda: (one.get("copies", "p").get("status") or {}).get("related") == [], "no related object yet")
    assert set(one.webhooks.requests["copy-customize"][0]) == {"controller", "parent"}
    one.make("secrets", "wanted", api="v1")
    one.make("secrets", "other", api="v1")
    one.wait_for(lambda: one.get("copies", "p")["status"]["related"] == ["wanted"], "the related object")
    one.delete("secrets", "wanted", "v1")
    one.wait_for(lambda: one.get("copies", "p")["status"]["related"] == [], "gone again")
    # The answer is asked for again when the parent is another.
    rules[0] = {"apiVersion": "v1", "resource": "secrets", "namespace": "default"}
    one.patch("copies", "p", {"spec": {"touch": 1}})
    one.wait_for(lambda: any("relatedResources[0]" in message for message in one.sync_errors("p")), "an event: not in v1")


def test_a_related_object_of_a_kind_without_generation(one: Controllers) -> None:
    """The parent is a ConfigMap-like kind for upstream's cache: what customize answers follows its labels."""
    one.decorator(
        "deco", [{"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": {"deco": "rated"}}}],
        sync=lambda request: {"annotations": {"related": ",".join(sorted(request["related"].get("Secret.v1", {})))}, "attachments": []},
        customize=lambda request: {"relatedResources": [
            {"apiVersion": "v1", "resource": "secrets", "names": [request["parent"]["data"]["want"]]}]},
    )  # fmt: skip
    one.make("secrets", "s1", api="v1")
    one.make("secrets", "s2", api="v1")
    one.start().wait_ready()
    one.make("configmaps", "p", api="v1", metadata={"labels": {"deco": "rated"}}, data={"want": "s1"})

    def related() -> str | None:
        return one.list("configmaps")["p"]["metadata"].get("annotations", {}).get("related")

    one.wait_for(lambda: related() == "s1", "the first")
    one.patch("configmaps", "p", {"data": {"want": "s2"}}, "v1")
    one.wait_for(lambda: related() == "s2", "asked again although there is no generation")


def test_a_decorator_patches_only_its_keys(meta: Controllers) -> None:
    name = meta.decorator(
        "deco", [{"apiVersion": "v1", "resource": "configmaps", "annotationSelector": {"matchAnnotations": {"deco": "rate"}}}],
        [("v1", "secrets", "InPlace")],
        sync=lambda request: {
            "labels": {"ours": "1", "gone": None}, "annotations": {"note": request["object"]["data"]["v"]}, "status": None,
            "attachments": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "att"}, "stringData": {}}],
        },
        finalize=lambda request: {"attachments": [], "labels": {"ours": None}, "finalized": not request["attachments"]["Secret.v1"]},
    )  # fmt: skip
    meta.start().wait_ready()
    meta.make("configmaps", "p", api="v1", metadata={"annotations": {"deco": "rate"}, "labels": {"theirs": "1", "gone": "x"}}, data={"v": "1"})
    meta.make("configmaps", "not", api="v1", metadata={"labels": {"theirs": "1"}}, data={"v": "1"})

    def metadata(of: str = "p") -> Object:
        return meta.list("configmaps")[of]["metadata"]

    meta.wait_for(lambda: metadata().get("labels") == {"theirs": "1", "ours": "1"}, "labels")
    meta.wait_for(lambda: "att" in meta.list("secrets"), "the attachment")
    assert metadata()["annotations"] == {"deco": "rate", "note": "1"}
    assert metadata()["finalizers"] == [FINALIZER.format(kind="decorator", name=name)]
    assert meta.list("secrets")["att"]["metadata"]["annotations"]["metacontroller.k8s.io/decorator-controller"] == name
    assert metadata("not").get("labels") == {"theirs": "1"}
    request = meta.webhooks.requests["deco-sync"][-1]
    assert set(request) == {"controller", "object", "attachments", "related", "finalizing"}
    # It leaves: finalized, and what the hook takes away goes.
    meta.patch("configmaps", "p", {"metadata": {"annotations": {"deco": None}}}, "v1")
    meta.wait_for(lambda: not metadata().get("finalizers") and metadata()["labels"] == {"theirs": "1"}, "finalized")
    assert "att" not in meta.list("secrets")


def test_an_answer_that_flips_is_slowed_and_told(one: Controllers) -> None:
    one.kind("Copy", "copies")
    count = [0]

    def sync(request: Object) -> Object:
        count[0] += 1
        return {"status": {}, "children": [config_map("a", {"v": str(count[0])})]}

    one.composite("copy", "copies", [("v1", "configmaps", "InPlace")], sync=sync, generateSelector=True)
    one.start().wait_ready()
    one.make("copies", "p", {})
    one.wait_for(lambda: one.cluster.events(one.namespace, "RepeatedWrites"), "an event that names the path")
    (event,) = one.cluster.events(one.namespace, "RepeatedWrites")
    assert "data.v" in event["message"] and "ConfigMap" in event["message"]
    before = count[0]
    time.sleep(2)
    assert count[0] - before <= 4


def test_a_restart_changes_nothing(meta: Controllers) -> None:
    meta.kind("Copy", "copies")
    meta.composite("copy", "copies", [("v1", "configmaps", "InPlace")], sync=copies, generateSelector=True)
    daemon = meta.start().wait_ready()
    meta.make("copies", "p", {"maps": {"a": "1", "b": "1"}})
    meta.wait_for(lambda: (meta.get("copies", "p").get("status") or {}).get("seen") == 2, "two children")
    meta.quiet()
    versions = {name: one["metadata"]["resourceVersion"] for name, one in meta.list("configmaps").items()}
    version = meta.get("copies", "p")["metadata"]["resourceVersion"]
    before = len(meta.webhooks.calls)
    daemon.kill()
    daemon.start().wait_ready()
    meta.wait_for(lambda: len(meta.webhooks.calls) > before, "called after the restart")
    meta.quiet()
    assert {name: one["metadata"]["resourceVersion"] for name, one in meta.list("configmaps").items()} == versions
    assert meta.get("copies", "p")["metadata"]["resourceVersion"] == version
