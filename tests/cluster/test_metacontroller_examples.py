"""Metacontroller's own examples, written from their description (reference/controllers.md 1.10): the same resources, the
same steps, the same ends. Their scripts are functions here. What is left out, and why, stands in README.md.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from conftest import EMBEDDED
from controllers import FINALIZER, GROUP, Controllers, condition, crds
from hookd import Hookd
from workloads import Object, now

SETTINGS = [{}, {"applyStrategy": "server-side-apply"}]
CONTAINER: Object = {"name": "main", "image": "registry.invalid/app:1"}


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
def spaces(cluster: Cluster, namespace: str) -> Iterator[list[str]]:
    """Two more namespaces."""
    names = [cluster.make_namespace(f"{namespace}-{word}") for word in ("one", "two")]
    yield names
    for name in names:
        cluster.delete_namespace(name)


# ---------------------------------------------------------------- bluegreen


def bluegreen(request: Object) -> Object:
    """Two ReplicaSets; the Service follows the one that has the parent's template once all of it is there."""
    spec, status = request["parent"]["spec"], request["parent"].get("status") or {}
    sets = request["children"]["ReplicaSet.apps/v1"]
    name = request["parent"]["metadata"]["name"]
    active = status.get("activeColor", "blue")

    def template_of(color: str) -> Any:
        found = sets.get(f"{name}-{color}")
        return json.loads(found["metadata"]["annotations"]["example.com/template"]) if found else None

    def available(color: str) -> int:
        return sets.get(f"{name}-{color}", {}).get("status", {}).get("availableReplicas", 0)

    passive = "green" if active == "blue" else "blue"
    templates = {active: template_of(active) or spec["template"], passive: template_of(passive) or spec["template"]}
    sizes = {active: spec["replicas"], passive: 0}
    if templates[active] != spec["template"]:
        templates[passive] = spec["template"]
        sizes[passive] = spec["replicas"]
        if template_of(passive) == spec["template"] and available(passive) == spec["replicas"]:
            active, passive = passive, active
            sizes = {active: spec["replicas"], passive: 0}

    def replica_set(color: str) -> Object:
        template = copy.deepcopy(templates[color])
        template["metadata"]["labels"]["color"] = color
        labels = {**spec["selector"]["matchLabels"], "color": color}
        return {
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": f"{name}-{color}", "labels": labels, "annotations": {"example.com/template": json.dumps(templates[color], sort_keys=True)}},
            "spec": {"replicas": sizes[color], "selector": {"matchLabels": labels}, "template": template},
        }  # fmt: skip

    service = {
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "labels": spec["selector"]["matchLabels"]},
        "spec": {"selector": {**spec["selector"]["matchLabels"], "color": active}, "ports": [{"port": 80}]},
    }  # fmt: skip
    return {
        "status": {"activeColor": active, "active": {"availableReplicas": available(active)}},
        "children": [service, replica_set("blue"), replica_set("green")],
    }


def play_replica_sets(meta: Controllers) -> None:
    """All pods that are asked for are ready at once. Without a controller of ReplicaSets their status is told by us."""
    if not EMBEDDED:
        run_pods(meta)
        return
    for name, one in meta.list("replicasets", "apps/v1").items():
        wanted = one["spec"]["replicas"]
        status = {"replicas": wanted, "readyReplicas": wanted, "availableReplicas": wanted, "observedGeneration": one["metadata"]["generation"]}
        if {key: one.get("status", {}).get(key, 0) for key in status} != status:
            meta.patch("replicasets", name, {"status": status}, "apps/v1", sub="/status")


def template(image: str) -> Object:
    return {"metadata": {"labels": {"app": "nginx"}}, "spec": {"containers": [{"name": "nginx", "image": image}]}}


def test_bluegreen(meta: Controllers) -> None:
    meta.kind("BlueGreenDeployment", "bluegreendeployments")
    meta.composite(
        "bluegreen", "bluegreendeployments", [("v1", "services", "InPlace"), ("apps/v1", "replicasets", "InPlace")], sync=bluegreen,
    )  # fmt: skip
    meta.start().wait_ready()
    meta.make("bluegreendeployments", "nginx", {
        "replicas": 3, "selector": {"matchLabels": {"app": "nginx"}}, "template": template("nginx:1.14"),
    })  # fmt: skip

    def settled(color: str, generation: int) -> bool:
        play_replica_sets(meta)
        parent = meta.get("bluegreendeployments", "nginx") or {}
        status = parent.get("status") or {}
        sets = {name: one["spec"]["replicas"] for name, one in meta.list("replicasets", "apps/v1").items()}
        other = "green" if color == "blue" else "blue"
        return (
            status == {"activeColor": color, "active": {"availableReplicas": 3}, "observedGeneration": generation}
            and sets == {f"nginx-{color}": 3, f"nginx-{other}": 0}
            and meta.list("services")["nginx"]["spec"]["selector"]["color"] == color
        )

    meta.wait_for(lambda: settled("blue", 1), "blue active")
    address = meta.list("services")["nginx"]["spec"].get("clusterIP")
    for color, image, generation in (("green", "nginx:1.15", 2), ("blue", "nginx:1.16", 3)):
        meta.patch("bluegreendeployments", "nginx", {"spec": {"template": template(image)}})
        meta.wait_for(lambda: settled(color, generation), f"{color} active")
    assert meta.list("services")["nginx"]["spec"].get("clusterIP") == address, "what the server set stays"


# ---------------------------------------------------------------- catset


def catset(request: Object) -> Object:
    """A StatefulSet: pods with ordinals and a claim each, made one after another."""
    parent, spec = request["parent"], request["parent"]["spec"]
    name = parent["metadata"]["name"]
    pods = request["children"]["Pod.v1"]
    ready = {one: condition(pods[one], "Ready").get("status") == "True" for one in pods}
    if request["finalizing"]:
        spec = {**spec, "replicas": max(0, len(pods) - 1)}
    labels = spec["template"]["metadata"]["labels"]

    def pod(ordinal: int) -> Object:
        own = {**spec["template"]["spec"], "hostname": f"{name}-{ordinal}"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{ordinal}", "labels": labels}, "spec": own}

    def claim(of: str) -> Object:
        own = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": of, "labels": labels}, "spec": own}

    children, held = [], False
    for ordinal in range(spec["replicas"]):
        there = f"{name}-{ordinal}" in pods
        # A new one only when those before it are ready; those that are there stay.
        if there or not held:
            children.append(pod(ordinal))
        held = held or not ready.get(f"{name}-{ordinal}") or request["finalizing"]
    wanted_claims = {f"data-{one['metadata']['name']}" for one in children} | set(request["children"]["PersistentVolumeClaim.v1"])
    claims = [claim(one) for one in sorted(wanted_claims)]
    return {
        "status": {"replicas": len(pods), "readyReplicas": sum(ready.values())},
        "children": children + claims,
        **({"finalized": not pods} if request["finalizing"] else {}),
    }


READY = [{"type": "Ready", "status": "True"}]


def make_catset_controller(meta: Controllers) -> str:
    meta.kind("CatSet", "catsets")
    return meta.composite(
        "catset", "catsets",
        [("v1", "pods", "RollingRecreate", READY), ("v1", "persistentvolumeclaims", "OnDelete")],
        sync=catset, finalize=catset, parent_more={"revisionHistory": {"fieldPaths": ["spec.template"]}},
    )  # fmt: skip


def cat_template(image: str) -> Object:
    return {"metadata": {"labels": {"app": "cats"}}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": image}]}}


def make_catset(meta: Controllers, replicas: int, **more: Any) -> Object:
    return meta.make(
        "catsets", "cats", {"replicas": replicas, "selector": {"matchLabels": {"app": "cats"}}, "template": cat_template("app:1")}, **more
    )


def run_pods(meta: Controllers, but: str = "") -> dict[str, Object]:
    """Each pod that is there runs, as kubelets would have it."""
    pods = meta.list("pods")
    for name, one in pods.items():
        if name != but and condition(one, "Ready").get("status") != "True" and "deletionTimestamp" not in one["metadata"]:
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now()}]}
            meta.cluster.api("PATCH", meta.path("v1", "pods", name) + "/status", {"status": status}, "application/merge-patch+json")
    return pods


def images(meta: Controllers) -> dict[str, str]:
    return {name: one["spec"]["containers"][0]["image"] for name, one in meta.list("pods").items() if "deletionTimestamp" not in one["metadata"]}


def updated(meta: Controllers) -> Object:
    return condition(meta.get("catsets", "cats") or {}, "Updated")


def catset_ready(meta: Controllers, replicas: int) -> Callable[[], bool]:
    def ready() -> bool:
        run_pods(meta)
        status = (meta.get("catsets", "cats") or {}).get("status") or {}
        return len(meta.list("pods")) == replicas and status.get("readyReplicas") == replicas

    return ready


def test_catset_scales_and_goes(meta: Controllers) -> None:
    name = make_catset_controller(meta)
    meta.start().wait_ready()
    parent = make_catset(meta, 3)
    meta.wait_for(catset_ready(meta, 3), "3 ready")
    assert meta.get("catsets", "cats")["metadata"]["finalizers"] == [FINALIZER.format(kind="composite", name=name)]
    for replicas in (4, 2):
        meta.patch("catsets", "cats", {"spec": {"replicas": replicas}})
        meta.wait_for(catset_ready(meta, replicas), f"{replicas} ready")
    assert set(meta.list("persistentvolumeclaims")) == {f"data-cats-{n}" for n in range(4)}, "claims outlive their pods"
    (revision,) = meta.list("controllerrevisions", "metacontroller.k8s.io/v1alpha1").values()
    assert revision["parentPatch"] == {"spec": {"template": cat_template("app:1")}}
    assert revision["children"] == [{"apiGroup": "", "kind": "Pod", "names": ["cats-0", "cats-1"]}]
    assert revision["metadata"]["ownerReferences"][0]["uid"] == parent["metadata"]["uid"]
    assert revision["metadata"]["labels"] == {"app": "cats", "metacontroller.k8s.io/apiGroup": GROUP, "metacontroller.k8s.io/resource": "catsets"}
    assert (updated(meta)["status"], updated(meta)["reason"]) == ("True", "OnLatestRevision")
    meta.patch("catsets", "cats", {"metadata": {"finalizers": [FINALIZER.format(kind="composite", name=name), "example.com/test"]}})
    meta.delete("catsets", "cats")
    meta.wait_for(lambda: meta.get("catsets", "cats")["metadata"]["finalizers"] == ["example.com/test"], "only the foreign finalizer left")
    assert not meta.list("pods")


def test_catset_rolls_a_new_template_pod_by_pod(meta: Controllers) -> None:
    make_catset_controller(meta)
    meta.start().wait_ready()
    make_catset(meta, 3)
    meta.wait_for(catset_ready(meta, 3), "3 ready")
    meta.patch("catsets", "cats", {"spec": {"template": cat_template("app:2")}})
    seen: list[int] = []

    def rolled() -> bool:
        run_pods(meta)
        now_there = images(meta)
        moved = sum(image == "app:2" for image in now_there.values())
        not_ready = sum(condition(one, "Ready").get("status") != "True" for one in meta.list("pods").values())
        seen.append(moved)
        # At most one is missing or new at a time.
        assert len(now_there) >= 2, now_there
        assert not_ready <= 1
        return moved == 3 and len(now_there) == 3 and updated(meta).get("reason") == "OnLatestRevision"

    meta.wait_for(rolled, "all three on the new template", 60)
    assert seen == sorted(seen)
    (revision,) = meta.list("controllerrevisions", "metacontroller.k8s.io/v1alpha1").values()
    assert revision["parentPatch"] == {"spec": {"template": cat_template("app:2")}}
    # The hook was asked for the old revision, too, with the parent as it was then.
    asked = [one["parent"]["spec"]["template"]["spec"]["containers"][0]["image"] for one in meta.webhooks.requests["catset-sync"]]
    first_new = asked.index("app:2")
    assert "app:1" in asked[first_new:]
    meta.quiet()


def test_catset_waits_for_a_check_and_goes_on_after_a_restart(meta: Controllers) -> None:
    make_catset_controller(meta)
    daemon = meta.start().wait_ready()
    make_catset(meta, 3)
    meta.wait_for(catset_ready(meta, 3), "3 ready")
    meta.patch("catsets", "cats", {"spec": {"template": cat_template("app:2")}})

    def first_moved() -> bool:
        return images(meta).get("cats-0") == "app:2" and len(images(meta)) == 3

    meta.wait_for(first_moved, "the first moved")

    def waits() -> bool:
        return updated(meta).get("reason") == "RolloutWaiting" and "Ready" in updated(meta).get("message", "")

    meta.wait_for(waits, "the roll-out says why it waits")
    meta.quiet()
    before = images(meta)
    assert before == {"cats-0": "app:2", "cats-1": "app:1", "cats-2": "app:1"}
    revisions = meta.list("controllerrevisions", "metacontroller.k8s.io/v1alpha1")
    assert sorted(len(one["children"][0]["names"]) for one in revisions.values()) == [1, 2]
    # The daemon goes in the middle of it, and another takes over from what stands in the cluster.
    daemon.kill()
    daemon.start().wait_ready()
    meta.quiet()
    assert images(meta) == before
    assert waits()
    assert set(meta.list("controllerrevisions", "metacontroller.k8s.io/v1alpha1")) == set(revisions)

    def rolled() -> bool:
        run_pods(meta)
        return set(images(meta).values()) == {"app:2"} and len(images(meta)) == 3 and updated(meta).get("reason") == "OnLatestRevision"

    meta.wait_for(rolled, "rolled to the end", 60)
    assert len(meta.list("controllerrevisions", "metacontroller.k8s.io/v1alpha1")) == 1


def test_a_roll_out_in_place(meta: Controllers) -> None:
    """With a null status, which takes upstream down, an `Updated` of the hook's own, and a rule without checks."""
    meta.kind("Row", "rows")

    def sync(request: Object) -> Object:
        spec = request["parent"]["spec"]
        children = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"row": "1"}}, "data": {"v": spec["template"]["v"]}} for name in spec["names"]]
        return {"status": None if spec["template"]["v"] == "2" else {"conditions": [{"type": "Updated", "status": "Unknown"}]}, "children": children}

    meta.composite(
        "row", "rows", [("v1", "configmaps", "RollingInPlace")], sync=sync, parent_more={"revisionHistory": {"fieldPaths": ["spec.template"]}}
    )
    meta.start().wait_ready()
    meta.make("rows", "r", {"selector": {"matchLabels": {"row": "1"}}, "names": ["c", "a", "b"], "template": {"v": "1"}})

    def values() -> dict[str, str]:
        return {name: one["data"]["v"] for name, one in meta.list("configmaps").items()}

    def is_at(version: str, names: str) -> Callable[[], bool]:
        def there() -> bool:
            found = condition(meta.get("rows", "r") or {}, "Updated")
            return values() == dict.fromkeys(names, version) and (found.get("status"), found.get("reason")) == ("True", "OnLatestRevision")

        return there

    meta.wait_for(is_at("1", "abc"), "made")
    uids = {name: one["metadata"]["uid"] for name, one in meta.list("configmaps").items()}
    meta.patch("rows", "r", {"spec": {"template": {"v": "2"}}})
    meta.wait_for(is_at("2", "abc"), "rolled in place")
    assert {name: one["metadata"]["uid"] for name, one in meta.list("configmaps").items()} == uids
    # What is no longer wanted goes although an old revision claims it, and does not hold the roll-out.
    meta.patch("rows", "r", {"spec": {"template": {"v": "3"}, "names": ["b", "d"]}})
    meta.wait_for(is_at("3", "bd"), "rolled and scaled at once")
    meta.quiet()
    assert len(meta.list("controllerrevisions", "metacontroller.k8s.io/v1alpha1")) == 1


def test_a_cluster_scoped_parent_does_not_roll_and_says_so(meta: Controllers, spaces: list[str]) -> None:
    meta.kind("Wide", "wides", scope="Cluster")

    def sync(request: Object) -> Object:
        value = request["parent"]["spec"]["v"]
        return {"status": {}, "children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "w", "namespace": space}, "data": {"v": value}} for space in spaces]}

    meta.composite("wide", "wides", [("v1", "configmaps", "RollingInPlace")], sync=sync, generateSelector=True)
    meta.start().wait_ready()
    name = meta.whole("wide")
    meta.make("wides", name, {"v": "1"}, namespace="")

    def all_at(value: str) -> bool:
        return all(meta.list("configmaps", namespace=space).get("w", {}).get("data") == {"v": value} for space in spaces)

    meta.wait_for(lambda: all_at("1"), "made")
    meta.patch("wides", name, {"spec": {"v": "2"}}, namespace="")
    meta.wait_for(lambda: all_at("2"), "changed at once")
    meta.wait_for(lambda: [one for one in meta.cluster.events("default", "NoRollOut") if one["involvedObject"]["name"] == name], "an event")


# ---------------------------------------------------------------- copies into namespaces


def in_namespaces(namespaces: list[str], name: str, data: Object) -> list[Object]:
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": one}, "data": data} for one in namespaces]


def test_configmappropagation(meta: Controllers, spaces: list[str]) -> None:
    meta.kind("ConfigMapPropagation", "configmappropagations", scope="Cluster")
    source_of: Callable[[Object], tuple[str, str]] = lambda parent: (parent["spec"]["sourceNamespace"], parent["spec"]["sourceName"])

    def sync(request: Object) -> Object:
        place, name = source_of(request["parent"])
        source = request["related"]["ConfigMap.v1"].get(f"{place}/{name}")
        targets = request["parent"]["spec"]["targetNamespaces"]
        children = in_namespaces(targets, name, source["data"]) if source else []
        return {"status": {"expected_copies": len(targets), "actual_copies": len(request["children"]["ConfigMap.v1"])}, "children": children}

    def customize(request: Object) -> Object:
        place, name = source_of(request["parent"])
        return {"relatedResources": [{"apiVersion": "v1", "resource": "configmaps", "namespace": place, "names": [name]}]}

    meta.composite("propagation", "configmappropagations", [("v1", "configmaps", "InPlace")], sync=sync, customize=customize, generateSelector=True)
    meta.start().wait_ready()
    name = meta.whole("settings")
    meta.make("configmaps", "settings", api="v1", data={"v": "1"})
    meta.make("configmappropagations", name, {"sourceNamespace": meta.namespace, "sourceName": "settings", "targetNamespaces": spaces}, namespace="")

    def copied(value: str, places: list[str]) -> bool:
        return all(meta.list("configmaps", namespace=one).get("settings", {}).get("data") == {"v": value} for one in places)

    meta.wait_for(lambda: copied("1", spaces), "copies")
    meta.wait_for(
        lambda: meta.get("configmappropagations", name, namespace="").get("status") == {"expected_copies": 2, "actual_copies": 2, "observedGeneration": 1},
        "status",
    )
    meta.patch("configmaps", "settings", {"data": {"v": "2"}}, "v1")
    meta.wait_for(lambda: copied("2", spaces), "the change copied")
    meta.patch("configmappropagations", name, {"spec": {"targetNamespaces": spaces[:1]}}, namespace="")
    meta.wait_for(lambda: "settings" not in meta.list("configmaps", namespace=spaces[1]), "only where it is wanted")
    assert copied("2", spaces[:1])


@pytest.mark.parametrize("secret", [False, True], ids=["globalconfigmap", "secretpropagation"])
def test_propagation_to_namespaces(meta: Controllers, spaces: list[str], secret: bool) -> None:
    """globalconfigmap: into all Namespaces; secretpropagation: into those with a label."""
    kind, plural, child, related = (
        ("SecretPropagation", "secretpropagations", "Secret", "secrets") if secret else ("GlobalConfigMap", "globalconfigmaps", "ConfigMap", "configmaps")
    )
    meta.kind(kind, plural, scope="Cluster")
    mark = {"propagate": meta.namespace}

    def sync(request: Object) -> Object:
        spec = request["parent"]["spec"]
        source = request["related"][f"{child}.v1"].get(f"{meta.namespace}/{spec['sourceName']}")
        # Other tests' namespaces are left alone.
        targets = [one for one in request["related"]["Namespace.v1"] if one in spaces]
        children = [
            {"apiVersion": "v1", "kind": child, "metadata": {"name": spec["sourceName"], "namespace": one}, "data": source["data"]}
            for one in targets
            if source
        ]
        return {"status": {"expected_copies": len(targets), "actual_copies": len(request["children"][f"{child}.v1"])}, "children": children}

    def customize(request: Object) -> Object:
        namespaces = {"labelSelector": {"matchLabels": mark}} if secret else {"labelSelector": {}}
        return {"relatedResources": [
            {"apiVersion": "v1", "resource": related, "namespace": meta.namespace, "names": [request["parent"]["spec"]["sourceName"]]},
            {"apiVersion": "v1", "resource": "namespaces", **namespaces},
        ]}  # fmt: skip

    meta.composite("global", plural, [("v1", related, "InPlace")], sync=sync, customize=customize, generateSelector=True,
                   parent_more={"labelSelector": {"matchLabels": mark}})  # fmt: skip
    meta.start().wait_ready()
    name = meta.whole("source")
    meta.make(related, "source", api="v1", data={"k": "dg=="})
    meta.make(plural, meta.whole("ignored"), {"sourceName": "source"}, namespace="")
    meta.make(plural, name, {"sourceName": "source"}, namespace="", metadata={"labels": mark})

    def places() -> list[str]:
        return [one for one in spaces if "source" in meta.list(related, namespace=one)]

    if secret:
        meta.wait_for(lambda: (meta.get(plural, name, namespace="").get("status") or {}).get("expected_copies") == 0, "no namespace has the label")
        assert places() == []
        meta.patch("namespaces", spaces[0], {"metadata": {"labels": mark}}, "v1", namespace="")
        meta.wait_for(lambda: places() == spaces[:1], "in the one with the label")
        meta.patch("namespaces", spaces[1], {"metadata": {"labels": mark}}, "v1", namespace="")
    meta.wait_for(lambda: places() == spaces, "in all of them")
    meta.wait_for(lambda: meta.get(plural, name, namespace="")["status"].get("actual_copies") == 2, "status")
    assert not (meta.get(plural, meta.whole("ignored"), namespace="").get("status"))


@pytest.mark.parametrize("what", ["configmap-list-v2", "namespace-list-v2"])
def test_lists_v2(meta: Controllers, spaces: list[str], what: str) -> None:
    """A namespaced parent whose related objects are of another namespace, or cluster-scoped."""
    meta.kind("Lister", "listers")
    mark = {"listed": meta.namespace}
    rule = (
        {"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": mark}, "namespace": spaces[0]}
        if what == "configmap-list-v2"
        else {"apiVersion": "v1", "resource": "namespaces", "labelSelector": {"matchLabels": mark}}
    )
    key = "ConfigMap.v1" if what == "configmap-list-v2" else "Namespace.v1"

    def sync(request: Object) -> Object:
        text = "\n".join(sorted(request["related"].get(key, {})))
        return {"status": {}, "children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "list"}, "data": {"list": text}}]}

    meta.composite("lister", "listers", [("v1", "configmaps", "InPlace")], sync=sync, version="v2", generateSelector=True,
                   customize=lambda request: {"relatedResources": [rule]})  # fmt: skip
    if what == "configmap-list-v2":
        for name in ("b", "a"):
            meta.make("configmaps", name, api="v1", namespace=spaces[0], metadata={"labels": mark}, data={})
        meta.make("configmaps", "else", api="v1", namespace=spaces[1], metadata={"labels": mark}, data={})
        expected = f"{spaces[0]}/a\n{spaces[0]}/b"
    else:
        for one in spaces:
            meta.patch("namespaces", one, {"metadata": {"labels": mark}}, "v1", namespace="")
        expected = "\n".join(sorted(spaces))
    meta.start().wait_ready()
    meta.make("listers", "l", {})
    meta.wait_for(lambda: meta.list("configmaps").get("list", {}).get("data") == {"list": expected}, "the sorted list")


# ---------------------------------------------------------------- decorators


def test_clusteredparent(meta: Controllers) -> None:
    """A ClusterRole gets a RoleBinding in a namespace; the garbage collector takes it along."""
    name = meta.whole("viewer")

    def sync(request: Object) -> Object:
        role = request["object"]["metadata"]["name"]
        return {"attachments": [{
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": role, "namespace": "default"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
        }]}  # fmt: skip

    rbac = "rbac.authorization.k8s.io/v1"
    meta.decorator(
        "clustered", [{"apiVersion": rbac, "resource": "clusterroles", "annotationSelector": {"matchAnnotations": {"default-binding": meta.namespace}}}],
        [(rbac, "rolebindings", None)], sync=sync,
    )  # fmt: skip
    meta.start().wait_ready()
    meta.make("clusterroles", name, api=rbac, namespace="", metadata={"annotations": {"default-binding": meta.namespace}}, rules=[])
    meta.wait_for(lambda: meta.get("rolebindings", name, rbac, "default"), "the binding")
    uid = meta.get("rolebindings", name, rbac, "default")["metadata"]["uid"]
    meta.delete("rolebindings", name, rbac, "default")

    def made_again() -> bool:
        found = meta.get("rolebindings", name, rbac, "default")
        return bool(found) and found["metadata"]["uid"] != uid

    meta.wait_for(made_again, "the binding made again")
    meta.delete("clusterroles", name, rbac, "")
    meta.wait_for(lambda: meta.get("rolebindings", name, rbac, "default") is None, "collected with its parent", 90)


def test_crd_roles(meta: Controllers) -> None:
    rbac, extensions = "rbac.authorization.k8s.io/v1", "apiextensions.k8s.io/v1"

    def sync(request: Object) -> Object:
        spec = request["object"]["spec"]
        rules = [{"apiGroups": [spec["group"]], "resources": [spec["names"]["plural"]], "verbs": ["*"]}]
        return {"attachments": [{"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": request["object"]["metadata"]["name"] + "-admin"}, "rules": rules}]}

    meta.decorator(
        "crd-roles", [{"apiVersion": extensions, "resource": "customresourcedefinitions", "annotationSelector": {"matchAnnotations": {"roles": meta.namespace}}}],
        [(rbac, "clusterroles", None)], sync=sync,
    )  # fmt: skip
    meta.start().wait_ready()
    meta.kind("Roled", "roleds")
    meta.patch("customresourcedefinitions", f"roleds.{GROUP}", {"metadata": {"annotations": {"roles": meta.namespace}}}, extensions, "")
    meta.wait_for(lambda: meta.get("clusterroles", f"roleds.{GROUP}-admin", rbac, ""), "the role")
    assert meta.get("clusterroles", f"roleds.{GROUP}-admin", rbac, "")["rules"][0]["resources"] == ["roleds"]
    meta.cluster.kubectl("delete", "crd", f"roleds.{GROUP}", "--wait=false")
    meta.wait_for(lambda: meta.get("clusterroles", f"roleds.{GROUP}-admin", rbac, "") is None, "gone with it", 90)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_service_per_pod(meta: Controllers, version: str) -> None:
    """A StatefulSet with an annotation gets a Service for each of its pods; a second decorator labels the pods."""
    key = "service-per-pod"
    apps = "apps/v1"

    def services(request: Object) -> Object:
        parent = request["object"]
        label = parent["metadata"]["annotations"][f"{key}-label"]
        name = parent["metadata"]["name"]
        return {"attachments": [
            {
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": f"{name}-{ordinal}", "labels": {"app": "service-per-pod"}},
                "spec": {"selector": {label: f"{name}-{ordinal}"}, "ports": [{"name": "p", "port": 80, "targetPort": 80}]},
            }
            for ordinal in range(parent["spec"]["replicas"])
        ]}  # fmt: skip

    def finalize(request: Object) -> Object:
        keys = list(request["attachments"]["Service.v1"])
        assert all(("/" in one) == (version == "v2") for one in keys), keys
        return {"attachments": [], "finalized": not keys}

    def label_pods(request: Object) -> Object:
        return {"labels": {"pod-name": request["object"]["metadata"]["name"]}, "attachments": []}

    name = meta.decorator(
        "services", [{"apiVersion": apps, "resource": "statefulsets", "annotationSelector": {
            "matchExpressions": [{"key": f"{key}-label", "operator": "Exists"}, {"key": f"{key}-of", "operator": "In", "values": [meta.namespace]}]}}],
        [("v1", "services", None)], sync=services, finalize=finalize, version=version,
    )  # fmt: skip
    meta.decorator(
        "pod-name", [{"apiVersion": "v1", "resource": "pods", "labelSelector": {"matchExpressions": [{"key": "pod-name", "operator": "DoesNotExist"}, {"key": "set-of", "operator": "In", "values": [meta.namespace]}]}}],
        sync=label_pods, version=version,
    )  # fmt: skip
    meta.start().wait_ready()
    annotations = {f"{key}-label": "pod-name", f"{key}-of": meta.namespace}
    labels = {"app": "nginx", "set-of": meta.namespace}
    meta.make(
        "statefulsets", "nginx",
        {"serviceName": "nginx", "replicas": 3, "podManagementPolicy": "Parallel", "selector": {"matchLabels": labels},
         "template": {"metadata": {"labels": labels}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [CONTAINER]}}},
        api=apps, metadata={"annotations": annotations},
    )  # fmt: skip
    if EMBEDDED:  # nobody makes its pods
        meta.make("pods", "nginx-0", {"containers": [CONTAINER]}, api="v1", metadata={"labels": labels})
    three = {f"nginx-{n}" for n in range(3)}
    meta.wait_for(lambda: set(meta.list("services")) == three, "a service for each pod")
    meta.wait_for(lambda: meta.list("pods").get("nginx-0", {"metadata": {}})["metadata"].get("labels", {}).get("pod-name") == "nginx-0", "labelled pods")
    finalizer = FINALIZER.format(kind="decorator", name=name)
    assert meta.get("statefulsets", "nginx", apps)["metadata"]["finalizers"] == [finalizer]

    def annotate(value: str | None) -> None:
        meta.patch("statefulsets", "nginx", {"metadata": {"annotations": {f"{key}-label": value}}}, apps)

    annotate(None)
    meta.wait_for(lambda: not meta.list("services") and not meta.get("statefulsets", "nginx", apps)["metadata"].get("finalizers"), "opted out")
    annotate("pod-name")
    meta.wait_for(lambda: set(meta.list("services")) == three, "opted in again")
    meta.patch("statefulsets", "nginx", {"metadata": {"finalizers": [finalizer, "example.com/test"]}}, apps)
    meta.delete("statefulsets", "nginx", apps)
    meta.wait_for(lambda: meta.get("statefulsets", "nginx", apps)["metadata"]["finalizers"] == ["example.com/test"], "services first, then the finalizer")
    assert not meta.list("services")


# ---------------------------------------------------------------- jobs


def test_daemonjob(meta: Controllers) -> None:
    """A DaemonSet that runs once everywhere: the condition says so, then it goes."""
    meta.kind("DaemonJob", "daemonjobs")

    def sync(request: Object) -> Object:
        parent = request["parent"]
        name = parent["metadata"]["name"]
        daemons = request["children"]["DaemonSet.apps/v1"]
        done = condition(parent, "Complete").get("status") == "True"
        status = daemons.get(f"{name}-dj", {}).get("status", {})
        if not done and status.get("desiredNumberScheduled", 0) > 0 and status.get("numberReady") == status["desiredNumberScheduled"]:
            done = True
        labels = {"job": name}
        daemon = {
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": f"{name}-dj"},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {"nodeSelector": {"no": "node"}, "containers": [CONTAINER]}}},
        }  # fmt: skip
        return {"status": {"conditions": [{"type": "Complete", "status": "True" if done else "False"}]}, "children": [] if done else [daemon]}

    meta.composite("daemonjob", "daemonjobs", [("apps/v1", "daemonsets", None)], sync=sync, generateSelector=True)
    meta.start().wait_ready()
    meta.make("daemonjobs", "hello", {})
    meta.wait_for(lambda: meta.list("daemonsets", "apps/v1"), "the DaemonSet")

    def ran() -> bool:  # no kubelet: its status is told by us, again if its controller undid that
        if meta.list("daemonsets", "apps/v1"):
            status = {"currentNumberScheduled": 2, "desiredNumberScheduled": 2, "numberMisscheduled": 0, "numberReady": 2}
            path = meta.path("apps/v1", "daemonsets", "hello-dj") + "/status"
            meta.cluster.api("PATCH", path, {"status": status}, "application/merge-patch+json")
        return meta.get("daemonjobs", "hello")["status"]["conditions"][0]["status"] == "True"

    meta.wait_for(ran, "the condition True")
    meta.wait_for(lambda: not meta.list("daemonsets", "apps/v1"), "the DaemonSet gone")
    meta.quiet()
    assert not meta.list("daemonsets", "apps/v1")


def test_indexedjob(meta: Controllers) -> None:
    """Ten pods with an index each; succeeded counts to ten. (The log of index 9 takes a kubelet.)"""
    meta.kind("IndexedJob", "indexedjobs")

    def sync(request: Object) -> Object:
        parent, spec = request["parent"], request["parent"]["spec"]
        pods = request["children"]["Pod.v1"]
        phases = [one.get("status", {}).get("phase") for one in pods.values()]
        done = {name for name, one in pods.items() if one.get("status", {}).get("phase") == "Succeeded"}
        children, running = [], 0
        for index in range(spec["completions"]):
            name = f"{parent['metadata']['name']}-{index}"
            if name not in done:
                if running == spec["parallelism"]:
                    continue
                running += 1
            pod = json.loads(json.dumps(spec["template"]))
            pod["spec"]["containers"][0]["env"] = [{"name": "JOB_INDEX", "value": str(index)}]
            children.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": pod["metadata"]["labels"]}, "spec": pod["spec"]})
        succeeded = phases.count("Succeeded")
        return {"status": {"active": len(phases) - succeeded, "succeeded": succeeded}, "children": children}

    meta.composite("indexedjob", "indexedjobs", [("v1", "pods", None)], sync=sync, generateSelector=True)
    meta.start().wait_ready()
    pod = {"metadata": {"labels": {"job": "ten"}}, "spec": {"restartPolicy": "Never", "containers": [dict(CONTAINER)]}}
    meta.make("indexedjobs", "ten", {"completions": 10, "parallelism": 2, "template": pod})
    most = [0]

    def succeeded() -> bool:
        pods = meta.list("pods")
        most[0] = max(most[0], sum(one.get("status", {}).get("phase") != "Succeeded" for one in pods.values()))
        for name, one in pods.items():
            if one.get("status", {}).get("phase") != "Succeeded":
                meta.patch("pods", name, {"status": {"phase": "Succeeded"}}, "v1", sub="/status")
        return (meta.get("indexedjobs", "ten").get("status") or {}).get("succeeded") == 10

    meta.wait_for(succeeded, "ten succeeded", 60)
    assert most[0] <= 2
    assert {one["spec"]["containers"][0]["env"][0]["value"] for one in meta.list("pods").values()} == {str(n) for n in range(10)}


# ---------------------------------------------------------------- operations


def test_target_label_selector(meta: Controllers) -> None:
    """Only controllers with the label are run; one that loses it stops."""
    meta.kind("Picked", "pickeds")

    def sync(mark: str) -> Callable[[Object], Object]:
        return lambda request: {"status": {mark: True}, "children": []}

    name = meta.composite("picked", "pickeds", sync=sync("picked"), generateSelector=True)
    other = meta.composite("other", "pickeds", sync=sync("other"), generateSelector=True)
    path = f"/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers/{other}"
    meta.cluster.api("PATCH", path, {"metadata": {"labels": {"hookd-test": None}}}, "application/merge-patch+json")
    meta.start().wait_ready()
    meta.make("pickeds", "p", {})
    meta.wait_for(lambda: meta.get("pickeds", "p").get("status") == {"picked": True, "observedGeneration": 1}, "the picked one")
    meta.quiet()
    assert not meta.webhooks.requests["other-sync"]
    path = f"/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers/{name}"
    meta.cluster.api("PATCH", path, {"metadata": {"labels": {"hookd-test": None}}}, "application/merge-patch+json")
    meta.quiet()
    before = len(meta.webhooks.calls)
    meta.patch("pickeds", "p", {"spec": {"touch": 1}})
    meta.quiet()
    assert len(meta.webhooks.calls) == before
