"""hooks-examples/crd-watch without a daemon: calls as hookd writes them -> script -> Backup manifests."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

Object = dict[str, Any]
FOLDER = Path(__file__).resolve().parents[2] / "hooks-examples/crd-watch"
HOOK = yaml.safe_load((FOLDER / "hook.yaml").read_text())["spec"]


def deployment(name: str, namespace: str = "a", value: str | None = None) -> Object:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    return {"object": {"apiVersion": "machinelearning.seldon.io/v1", "kind": "SeldonDeployment", "metadata": metadata}, "value": value}


def event(binding: str, name: str, kind: str = "Added", namespace: str | None = "a") -> Object:
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"binding": binding, "type": kind, "object": {"metadata": metadata}}


def answer(events: list[Object], deployments: list[Object], policy: Object | None = None) -> list[Object]:
    policies = [] if policy is None else [{"object": {"metadata": {"name": "default"}}, "value": policy}]
    call = {"events": events, "objects": {"deployments": deployments, "policies": policies}}
    done = subprocess.run([FOLDER / "plan-backups.sh"], input=json.dumps(call), capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def names(manifests: list[Object]) -> list[str]:
    return [f"{m['metadata']['namespace']}/{m['metadata']['name']}" for m in manifests]


def test_backup_of_a_deployment() -> None:
    (backup,) = answer([event("deployments", "iris")], [deployment("iris"), deployment("other")], {"schedule": "30 2 * * *", "keep": 14})
    source = {"apiVersion": "machinelearning.seldon.io/v1", "kind": "SeldonDeployment", "name": "iris"}
    owner = {**source, "uid": "uid-iris", "controller": True}
    assert backup == {
        "apiVersion": "example.com/v1alpha1",
        "kind": "Backup",
        "metadata": {"name": "iris", "namespace": "a", "ownerReferences": [owner]},
        "spec": {"source": source, "schedule": "30 2 * * *", "keep": 14},
    }


def test_without_a_policy_there_are_defaults() -> None:
    (backup,) = answer([event("deployments", "iris", "Modified")], [deployment("iris")])
    assert (backup["spec"]["schedule"], backup["spec"]["keep"]) == ("0 3 * * *", 7)


@pytest.mark.parametrize("kind", ["Added", "Modified", "Deleted"])
def test_policy_is_about_all(kind: str) -> None:
    manifests = answer([event("policies", "default", kind, None)], [deployment("x"), deployment("y", "b"), deployment("z", value="no")], {"keep": 1})
    assert names(manifests) == ["a/x", "b/y"]


def test_deleted_backup_is_made_anew() -> None:
    assert names(answer([event("backups", "x", "Deleted")], [deployment("x"), deployment("x", "b")])) == ["a/x"]


def test_backup_of_a_deployment_that_is_gone_is_not() -> None:
    assert answer([event("backups", "x", "Deleted")], [deployment("y")]) == []


def test_none_wanted() -> None:
    assert answer([event("deployments", "x")], [deployment("x", value="no")]) == []


def test_manifests_fit_their_definition_and_allow() -> None:
    (backup,) = answer([event("deployments", "x")], [deployment("x")])
    definition = yaml.safe_load((FOLDER / "crds/backups.yaml").read_text())["spec"]
    version = definition["versions"][0]
    assert backup["apiVersion"] == f"{definition['group']}/{version['name']}"
    assert set(version["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"]) == set(backup["spec"])
    assert HOOK["allow"] == [{"apiVersion": backup["apiVersion"], "kind": backup["kind"], "verbs": ["apply"]}]


def test_watched_kinds_are_those_of_the_definitions() -> None:
    served = set()
    for file in (FOLDER / "crds").glob("*.yaml"):
        definition = yaml.safe_load(file.read_text())
        spec = definition["spec"]
        assert definition["metadata"]["name"] == f"{spec['names']['plural']}.{spec['group']}"
        served |= {f"{spec['names']['plural']}.{version['name']}.{spec['group']}" for version in spec["versions"] if version["served"]}
    assert {watch["kind"] for watch in HOOK["watch"]} <= served
