"""What `hookd rbac` prints is taken by kubectl, and is enough for the hook: it runs under exactly these rights."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from hookd import ROOT, Hookd, binary
from hooks import watch, write_hook
from workloads import UNREACHABLE, Object, expect

EXAMPLES = ROOT / "hooks-examples"
StartHookd = Callable[..., Hookd]


class Rights:
    """A service account in the test's namespace that has what `hookd rbac` printed, and nothing else."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace
        self.user = f"system:serviceaccount:{namespace}:bot"

    def give(self, *words: str | Path) -> str:
        """The output, after kubectl has applied it."""
        command = [binary(), "rbac", "--service-account", f"{self.namespace}/bot", "--name", self.namespace, *words]
        printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
        self.cluster.kubectl("apply", "-f", "-", input=printed)
        return printed

    def kubeconfig(self) -> Path:
        return self.cluster.write_kubeconfig(f"bot-{self.namespace}", f"token: {self.cluster.token()}\n    as: {self.user}")

    def may(self, verb: str, resource: str, namespace: str = "", name: str = "", group: str = "") -> bool:
        plural, _, subresource = resource.partition("/")
        asked = {"verb": verb, "group": group, "resource": plural, "subresource": subresource, "namespace": namespace, "name": name}
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{self.namespace}", "system:authenticated"]
        review = {"spec": {"user": self.user, "groups": groups, "resourceAttributes": asked}}
        return expect(self.cluster.api("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review), 201)["status"]["allowed"]


@pytest.fixture
def rights(cluster: Cluster, namespace: str) -> Iterator[Rights]:
    yield Rights(cluster, namespace)
    for kind in ("clusterrolebinding", "clusterrole"):
        cluster.kubectl("delete", kind, namespace, "--ignore-not-found")


def op(operation: str, name: str, kind: str = "ConfigMap", version: str = "v1", **more: object) -> Object:
    return {"operation": operation, "apiVersion": version, "kind": kind, "namespace": "NS", "name": name, **more}


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "NS"}, "data": data}


def rule(*verbs: str, kind: str = "ConfigMap", version: str = "v1", **more: object) -> Object:
    return {"apiVersion": version, "kind": kind, "verbs": list(verbs), "namespaces": ["NS"], **more}


APPS = {"kind": "Deployment", "version": "apps/v1"}
ABOUT = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "NS", "name": "web"}
READY = {"type": "Ready", "status": "True", "reason": "Test", "message": "m"}
# What `allow` says, and operations that need all that it lets through.
CASES: dict[str, tuple[list[Object], list[Object]]] = {
    "create": ([rule("create")], [{"operation": "Create", "object": config_map("new")}, {"operation": "CreateIfNotExists", "object": config_map("other")}]),
    "create or update": ([rule("create", "update")], [{"operation": "CreateOrUpdate", "object": config_map(name, x="1")} for name in ("other", "new")]),
    "create with patch": ([rule("create", "patch")], [{"operation": "CreateOrUpdate", "object": config_map("other", x="1")}]),
    "patch": ([rule("patch")], [op("MergePatch", "other", patch={"data": {"x": "1"}}), op("JQPatch", "other", jqFilter='.data.y = "1"'), op("Label", "other", labels={"a": "b"})]),
    "apply": ([rule("apply")], [config_map("new", x="1"), config_map("other", y="1")]),
    "apply by name": ([rule("apply", names=["new", "other"])], [config_map("new", x="1"), config_map("other", y="1")]),
    "delete": ([rule("delete")], [op("Delete", "other")]),
    "delete by name": ([rule("delete", names=["other"])], [op("Delete", "other")]),
    "evict": ([rule("evict", kind="Pod")], [op("Evict", "idle", "Pod")]),
    "evict by name": ([rule("evict", kind="Pod", names=["idle"])], [op("Evict", "idle", "Pod")]),
    "scale": ([rule("scale", **APPS)], [op("Scale", "web", "Deployment", "apps/v1", replicas=0)]),
    "status": ([rule("status", **APPS)], [op("Status", "web", "Deployment", "apps/v1", status={"observedGeneration": 7}), op("Condition", "web", "Deployment", "apps/v1", **READY)]),
    "event": ([rule("event", **APPS)], [{"operation": "Event", "about": ABOUT, "reason": "Tested", "message": "m", "type": "Normal"}]),
}  # fmt: skip


def test_a_hook_that_reconciles_runs_under_its_rights(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd, rights: Rights) -> None:
    answer = (
        'if .finalizing then {children: [], finalized: (.children["Secret.v1"] == {})} else '
        '{children: [range(.object.data.size // "0" | tonumber) | {apiVersion: "v1", kind: "Secret", metadata: {name: "s-\\(.)"}}]} end'
    )
    reconcile = {
        "for": {"apiVersion": "v1", "kind": "ConfigMap", "namespaces": {"names": [namespace]}, "labelSelector": "size"},
        "children": [{"apiVersion": "v1", "kind": "Secret"}],
        "related": [{"name": "accounts", "apiVersion": "v1", "kind": "ServiceAccount", "namespaces": {"names": [namespace]}}],
        "finalizer": True,
    }
    home = write_hook(tmp_path / "hooks", f"jq -c 'if .object == null then {{}} el{answer}'", {"reconcile": reconcile, "allow": []})
    printed = rights.give(home)
    assert "kind: ClusterRole\n" not in printed, "everything is in one namespace"
    daemon = hookd(tmp_path / "hooks", kubeconfig=rights.kubeconfig()).wait_ready()
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    expect(cluster.api("POST", path, {"metadata": {"name": "parent", "labels": {"size": "yes"}}, "data": {"size": "2"}}), 201)

    def secrets() -> list[str]:
        listed = expect(cluster.api("GET", f"/api/v1/namespaces/{namespace}/secrets"))["items"]
        return sorted(one["metadata"]["name"] for one in listed if one["metadata"]["name"].startswith("s-"))

    daemon.wait_for(lambda: secrets() == ["s-0", "s-1"], 20, "two children")
    expect(cluster.api("PATCH", f"{path}/parent", {"data": {"size": "1"}}, "application/merge-patch+json"))
    daemon.wait_for(lambda: secrets() == ["s-0"], 20, "one child")
    expect(cluster.api("DELETE", f"{path}/parent"))
    daemon.wait_for(lambda: cluster.api("GET", f"{path}/parent")[0] == 404, 20, "the parent gone")
    assert secrets() == []
    assert "forbidden" not in daemon.log.read_text().lower()


@pytest.mark.parametrize("case", CASES)
def test_what_allow_lets_through_is_within_the_rights(
    case: str, cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd, rights: Rights
) -> None:
    allow, operations = json.loads(json.dumps(CASES[case]).replace('"NS"', f'"{namespace}"'))
    cluster.make_config_map(namespace, "about")
    cluster.make_config_map(namespace, "other")
    cluster.make_pod(namespace, "idle")
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    deployment = {"metadata": {"name": "web"}, "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}}
    expect(cluster.api("POST", f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment), 201)

    (tmp_path / "answer").write_text("\n".join(map(json.dumps, operations)) + "\n")
    spec = {"watch": [watch("ConfigMap", namespace, names=["about"], events=["added"])], "retry": {"initial": "50ms", "attempts": 1}, "allow": allow}
    home = write_hook(tmp_path / "hooks", f"cat {tmp_path / 'answer'}", spec)
    rights.give(home)
    daemon = hookd(tmp_path / "hooks", kubeconfig=rights.kubeconfig(), flags=["--once"])
    assert daemon.wait_exit() == 0, daemon.logs()[-8:]
    told = [line for line in daemon.logs() if "outcome" in line]
    assert len(told) == len(operations) and all(line["outcome"] in ("done", "not needed") for line in told), told
    assert "forbidden" not in daemon.log.read_text()
    if case == "event":
        assert cluster.events(namespace, "Tested")

    assert rights.may("watch", "configmaps", namespace, "about")
    assert not rights.may("list", "configmaps", namespace), "the watch is of one name"
    for verb, resource, where in [("list", "secrets", namespace), ("list", "configmaps", "default"), ("delete", "pods", namespace), ("create", "events", "default")]:
        assert not rights.may(verb, resource, where), (verb, resource, where)


def test_names_limit_what_the_server_can_limit(cluster: Cluster, namespace: str, tmp_path: Path, rights: Rights) -> None:
    spec = {"watch": [watch("ConfigMap", namespace, names=["a", "b"])], "allow": [json.loads(json.dumps(rule("create", "apply", names=["a"])).replace('"NS"', f'"{namespace}"'))]}
    rights.give(write_hook(tmp_path, "true", spec))
    assert rights.may("list", "configmaps", namespace), "a list of several names is a list of all"
    assert rights.may("create", "configmaps", namespace), "a POST names nobody"
    assert rights.may("patch", "configmaps", namespace, "a") and not rights.may("patch", "configmaps", namespace, "b")
    assert rights.may("get", "configmaps", namespace, "a") and not rights.may("get", "configmaps", namespace, "c")


@pytest.mark.real_only("the StatefulSet controller makes the pods")
def test_the_force_delete_example_has_what_it_needs(
    cluster: Cluster, namespace: str, make_node: Callable[..., str], hookd: StartHookd, rights: Rights
) -> None:
    folder = EXAMPLES / "statefulset-force-delete" / "event-driven"
    rights.give(folder)
    cluster.make_statefulset(namespace, "web", 1, grace=1)
    node = make_node()
    old = cluster.bind_and_run(namespace, "web-0", node)["metadata"]["uid"]
    cluster.set_taints(node, [UNREACHABLE])
    daemon = hookd(folder, kubeconfig=rights.kubeconfig()).wait_ready()
    begin = time.monotonic()
    cluster.delete_pod(namespace, "web-0")
    cluster.wait_for_pod(namespace, "web-0", other_than=old, timeout=45)
    assert time.monotonic() - begin > 30
    cluster.wait_for(lambda: cluster.events(namespace, "ForceDeleted"), 10, "the Event")
    assert "forbidden" not in daemon.log.read_text()
    assert rights.may("delete", "pods", "kube-system") and not rights.may("update", "pods", namespace)
    assert not rights.may("create", "pods/eviction", namespace)


def test_kinds_are_those_of_the_cluster(cluster: Cluster, namespace: str, tmp_path: Path, rights: Rights) -> None:
    names: dict[str, Any] = {"plural": "oxen", "singular": "ox", "kind": "Ox"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "oxen.rbac.example.com"},
        "spec": {"group": "rbac.example.com", "scope": "Cluster", "names": names, "versions": [version]},
    }
    spec = {"watch": [{"apiVersion": "rbac.example.com/v1", "kind": "Ox"}], "allow": []}
    home = write_hook(tmp_path, "true", spec)
    without = subprocess.run([binary(), "rbac", home], check=False, capture_output=True, text=True, timeout=60)
    assert without.returncode == 1 and without.stdout == ""
    assert 'kind "Ox" in rbac.example.com/v1 is not known' in without.stderr and "--crds" in without.stderr
    cluster.apply(crd)
    try:
        cluster.kubectl("wait", "--for=condition=Established", "crd/oxen.rbac.example.com")
        cluster.wait_for(lambda: cluster.api("GET", "/apis/rbac.example.com/v1/oxen")[0] == 200, 20, "oxen served")
        printed = rights.give("--kubeconfig", cluster.kubeconfig(), home)
        assert "{apiGroups: [rbac.example.com], resources: [oxen], verbs: [get, list, watch]}" in printed
        assert rights.may("watch", "oxen", group="rbac.example.com")
    finally:
        cluster.kubectl("delete", "crd", "oxen.rbac.example.com")
