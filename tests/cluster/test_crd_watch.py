"""CRDs that appear after the start and are deleted while hookd runs; the example crd-watch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cluster import Cluster
from hookd import ROOT, Hookd
from hooks import lines, write_hook
from workloads import Object, expect

StartHookd = Callable[..., Hookd]
EXAMPLE = ROOT / "hooks-examples" / "crd-watch"


def crd(plural: str, kind: str) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.test.example.com"},
        "spec": {
            "group": "test.example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [{
                "name": "v1", "served": True, "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }],
        },
    }  # fmt: skip


def make(cluster: Cluster, namespace: str, plural: str, kind: str, name: str) -> None:
    path = f"/apis/test.example.com/v1/namespaces/{namespace}/{plural}"
    body = {"apiVersion": "test.example.com/v1", "kind": kind, "metadata": {"name": name}}
    cluster.wait_for(lambda: cluster.api("POST", path, body)[0] in (201, 409), 20, f"{kind} {name} created")


def test_a_crd_that_comes_goes_and_comes_again(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    out = tmp_path / "out"
    write_hook(
        tmp_path / "hooks",
        f"""jq -r '.events[] | "\\(.type) \\(.object.metadata.name) \\(.object.metadata.uid)"' >> {out}""",
        {"watch": [{"name": "gadgets", "kind": "gadgets.v1.test.example.com"}]},
    )
    daemon = hookd(tmp_path / "hooks")
    daemon.wait_for(lambda: "gadgets.v1.test.example.com" in daemon.get("/readyz")[1], 20, "the missing CRD told")
    cluster.apply(crd("gadgets", "Gadget"))
    make(cluster, namespace, "gadgets", "Gadget", "first")
    daemon.wait_for(lambda: [line.split()[:2] for line in lines(out)] == [["Added", "first"]], 20, "the first CR")
    cluster.kubectl("delete", "crd", "gadgets.test.example.com")
    daemon.wait_for(lambda: [line.split()[:2] for line in lines(out)][1:] == [["Deleted", "first"]], 30, "its end")
    cluster.apply(crd("gadgets", "Gadget"))
    make(cluster, namespace, "gadgets", "Gadget", "first")
    daemon.wait_for(lambda: len(lines(out)) == 3, 60, "the CR made anew")
    kind, name, uid = lines(out)[2].split()
    assert (kind, name) == ("Added", "first") and uid != lines(out)[0].split()[2]
    cluster.kubectl("delete", "crd", "gadgets.test.example.com")


def test_the_example_creates_its_custom_resources(cluster: Cluster, namespace: str, hookd: StartHookd) -> None:
    for file in sorted((EXAMPLE / "crds").glob("*.yaml")):
        cluster.kubectl("apply", "-f", str(file))
    hookd(EXAMPLE).wait_ready(60)
    body = {
        "apiVersion": "machinelearning.seldon.io/v1",
        "kind": "SeldonDeployment",
        "metadata": {"name": "iris"},
        "spec": {"predictors": [{"name": "default", "replicas": 1}]},
    }
    path = f"/apis/machinelearning.seldon.io/v1/namespaces/{namespace}/seldondeployments"
    cluster.wait_for(lambda: cluster.api("POST", path, body)[0] in (201, 409), 20, "SeldonDeployment created")

    def made() -> list[Object]:
        code, found = cluster.api("GET", f"/apis/example.com/v1alpha1/namespaces/{namespace}/backups")
        return expect((code, found))["items"] if code == 200 else []

    backup = cluster.wait_for(made, 30, "the Backup that the hook makes")[0]
    assert "iris" in json.dumps(backup)
