"""`hookd rbac` as people call it, with the built program (HOOKD_BIN); and the manifests in this repository that it made.

A file whose first line is "# Made by `hookd rbac …`" is what that command prints in the top folder; documents that people added
stand behind it, the first one with a comment at its head. After a change of a hook:
    /usr/bin/python3 tests/examples/rbac_test.py --fix
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from built import ROOT, hookd

MARK = "# Made by `hookd rbac "
BY_HAND = "\n---\n# "  # the command prints no comment there


def made_files() -> list[Path]:
    files = sorted(file for folder in ("deploy", "hooks-examples") for file in (ROOT / folder).rglob("*.yaml"))
    return [file.relative_to(ROOT) for file in files if file.read_text().startswith(MARK)]


def wanted(file: Path) -> str:
    text = (ROOT / file).read_text()
    command = shlex.split(text.split("\n", 1)[0].removeprefix("# Made by `").split("`")[0])
    made, _ = hookd(ROOT, *command[1:])
    _, mark, added = text.partition(BY_HAND)
    return made.removesuffix("\n") + mark + added if mark else made


def rbac(folder: Path, *words: str, code: int = 0) -> tuple[str, str]:
    """Standard output and standard error."""
    return hookd(folder, "rbac", *words, code=code)


HOOK = """
apiVersion: hookd/v1
kind: Hook
metadata: {name: probe}
spec:
  run: {command: [cat]}
  watch: [{apiVersion: v1, kind: Pod, namespaces: {names: [a]}}]
"""


@pytest.fixture(name="folder")
def make_folder(tmp_path: Path) -> Path:
    (tmp_path / "hook.yaml").write_text(HOOK + "  allow: [{apiVersion: v1, kind: Pod, verbs: [evict], namespaces: [b]}]\n")
    return tmp_path


@pytest.mark.parametrize("file", made_files(), ids=str)
def test_manifest_is_what_the_command_prints(file: Path) -> None:
    assert (ROOT / file).read_text() == wanted(file), f"run {Path(__file__).relative_to(ROOT)} --fix"


def test_the_deployments_have_such_manifests() -> None:
    assert {Path("deploy/kubernetes/rbac.yaml"), Path("deploy/sidecar/rbac.yaml"), Path("hooks-examples/crd-watch/rbac.yaml")} <= set(made_files())


@pytest.mark.parametrize("example", sorted(folder.name for folder in (ROOT / "hooks-examples").iterdir() if folder.is_dir()))
def test_every_example_can_be_given_its_rights(example: str) -> None:
    assert "kind: ServiceAccount" in rbac(ROOT / "hooks-examples", example)[0]


def test_roles_where_the_hook_says(folder: Path) -> None:
    output, errors = rbac(folder, ".")
    documents = list(yaml.safe_load_all(output))
    assert [(one["kind"], one["metadata"].get("namespace")) for one in documents] == [
        ("ServiceAccount", "hookd"), ("Role", "a"), ("RoleBinding", "a"), ("Role", "b"), ("RoleBinding", "b"),
    ]  # fmt: skip
    assert documents[1]["rules"] == [
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    ]
    assert documents[3]["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    ]
    assert documents[4]["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "hookd"}
    assert documents[4]["subjects"] == [{"kind": "ServiceAccount", "name": "hookd", "namespace": "hookd"}]
    assert errors == ""
    assert output.startswith("# Made by `hookd rbac .`")
    assert "  # probe: allow evict\n" in output


def test_a_hook_that_reconciles(folder: Path) -> None:
    (folder / "hook.yaml").write_text("""
apiVersion: hookd/v1
kind: Hook
metadata: {name: pair}
spec:
  run: {command: [cat]}
  allow: []
  reconcile:
    for: {apiVersion: apps/v1, kind: Deployment, namespaces: {names: [a]}}
    children: [{apiVersion: v1, kind: ConfigMap}]
    finalizer: true
""")
    output, errors = rbac(folder, ".")
    assert errors == ""
    documents = list(yaml.safe_load_all(output))
    assert [(one["kind"], one["metadata"].get("namespace")) for one in documents] == [("ServiceAccount", "hookd"), ("Role", "a"), ("RoleBinding", "a")]
    assert "  # pair: owner of children\n  - {apiGroups: [apps], resources: [deployments/finalizers], verbs: [update]}" in output
    assert "  # pair: for, its finalizer\n  - {apiGroups: [apps], resources: [deployments], verbs: [get, list, watch, patch]}" in output


def test_json_has_the_same_objects(folder: Path) -> None:
    objects = list(yaml.safe_load_all(rbac(folder, "--service-account", "x/y", "hook.yaml")[0]))
    assert json.loads(rbac(folder, "-o", "json", "--service-account", "x/y", "hook.yaml")[0]) == {"apiVersion": "v1", "kind": "List", "items": objects}
    assert objects[0]["metadata"] == {"name": "y", "namespace": "x"}
    assert objects[1]["metadata"]["name"] == "y"


def test_names_of_what_is_made(folder: Path) -> None:
    objects = list(yaml.safe_load_all(rbac(folder, "--name", "mine", "--no-service-account", ".")[0]))
    assert {one["metadata"]["name"] for one in objects} == {"mine"}
    assert {one["kind"] for one in objects} == {"Role", "RoleBinding"}


def test_a_hook_without_allow_is_named(folder: Path) -> None:
    (folder / "hook.yaml").write_text(HOOK)
    output, errors = rbac(folder, ".")
    assert "verbs: [get, list, watch]" in output
    assert f"{folder}/hook.yaml:4:" in errors and 'hook "probe"' in errors and "`allow`" in errors
    assert rbac(folder, "--strict", ".", code=1) == (output, errors)


def test_definitions_beside_the_hook_and_elsewhere(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    crds = ROOT / "hooks-examples/crd-watch/crds"
    (folder / "hook.yaml").write_text(HOOK.replace("apiVersion: v1, kind: Pod", "apiVersion: example.com/v1alpha1, kind: Backup") + "  allow: []\n")
    output, errors = rbac(folder, ".", code=1)
    assert output == "" and 'kind "Backup" in example.com/v1alpha1 is not known' in errors and "--crds" in errors
    assert "resources: [backups]" in rbac(folder, "--crds", str(crds), ".")[0]
    assert "resources: [backups]" in rbac(folder, "--crds", str(crds / "backups.yaml"), ".")[0]
    (folder / "crd.yaml").write_text((crds / "backups.yaml").read_text())
    assert "resources: [backups]" in rbac(folder, ".")[0]
    assert "resources: [backups]" in rbac(folder, "hook.yaml")[0]
    assert "none.yaml" in rbac(folder, "--crds", "none.yaml", ".", code=1)[1]


def test_rights_for_the_state_and_for_secrets(folder: Path) -> None:
    (folder / "hookd.yaml").write_text("state: {configMap: ops/memory}\n")
    (folder / "hook.yaml").write_text(
        (folder / "hook.yaml").read_text() + "  source: [{name: push, http: /push, secretFrom: {secret: web/token, key: k}}]\n"
    )
    output, _ = rbac(folder, "--config", "hookd.yaml", ".")
    assert rbac(folder, "--state-config-map", "ops/memory", ".")[0].split("\n", 1)[1] == output.split("\n", 1)[1]
    assert "  # hookd itself: its state\n  - {apiGroups: [\"\"], resources: [configmaps], resourceNames: [memory], verbs: [get, patch]}" in output
    assert "  # probe: source push\n  - {apiGroups: [\"\"], resources: [secrets], resourceNames: [token], verbs: [get]}" in output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--service-account", "hookd", "."], "NAMESPACE/NAME"),
        (["--service-account", "a/b/c", "."], "NAMESPACE/NAME"),
        (["--service-account", "A/b", "."], "NAMESPACE/NAME"),
        (["--name", "a b", "."], "--name"),
        (["--kubeconfig", "none", "."], "none"),
        (["--config", "none", "."], "none"),
        (["--state-config-map", "memory", "."], "NAMESPACE/NAME"),
        (["nowhere"], "nowhere"),
        (["empty"], "no hook was found"),
    ],
)
def test_what_cannot_be_done_prints_nothing(folder: Path, words: list[str], told: str) -> None:
    (folder / "empty").mkdir()
    output, errors = rbac(folder, *words, code=1)
    assert output == "" and told in errors


def test_a_broken_hook_prints_nothing(folder: Path) -> None:
    (folder / "hook.yaml").write_text(HOOK + "  alow: []\n")
    output, errors = rbac(folder, ".", code=1)
    assert output == "" and 'unknown key "alow"' in errors


if __name__ == "__main__":
    if "--fix" not in sys.argv:
        sys.exit(__doc__)
    for made in made_files():
        (ROOT / made).write_text(wanted(made))
