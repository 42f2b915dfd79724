"""Controllers of Metacontroller in `hookd test` and `hookd play`: no cluster, no web server, time flies."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from built import ROOT, binary  # first: it makes the modules of tests/cluster known
from controllers import crd

PROGRAM = """#!/usr/bin/env python3
import json, sys
request = json.load(sys.stdin)
parent = request["parent"]
print(json.dumps({
    "status": {"seen": len(request["children"]["ConfigMap.v1"])},
    "children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": parent["metadata"]["name"] + "-note"},
                  "data": {"text": parent["spec"]["text"]}}]}))
"""
CONTROLLER = {
    "apiVersion": "metacontroller.k8s.io/v1alpha1",
    "kind": "CompositeController",
    "metadata": {"name": "note"},
    "spec": {
        "parentResource": {"apiVersion": "ctl.example.com/v1", "resource": "notes"},
        "childResources": [{"apiVersion": "v1", "resource": "configmaps", "updateStrategy": {"method": "InPlace"}}],
        "generateSelector": True,
        "hooks": {"sync": {"exec": {"command": ["sync.py"]}}},
    },
}
NOTE = {"apiVersion": "ctl.example.com/v1", "kind": "Note", "metadata": {"name": "n", "namespace": "default"}, "spec": {"text": "hello"}}
TEST = """
apiVersion: hookd/v1
kind: HookTest
metadata: {name: a note has its ConfigMap}
given: [crds.yaml, controller.yaml, note.yaml]
steps:
  - expect:
      objects:
        - {kind: ConfigMap, name: n-note, namespace: default, data: {text: hello}}
        - {kind: Note, name: n, namespace: default, status: {seen: 1, observedGeneration: 1}}
  - patch: {kind: Note, name: n, namespace: default, merge: {spec: {text: other}}}
  - expect:
      objects: [{kind: ConfigMap, name: n-note, namespace: default, data: {text: other}}]
  - delete: {kind: ConfigMap, name: n-note, namespace: default}
  - expect:
      objects: [{kind: ConfigMap, name: n-note, namespace: default, data: {text: other}}]
  - advance: 1h
  - expect: {operations: []}
"""
SCENARIO = """
apiVersion: hookd/v1
kind: Scenario
steps:
  - wait: {object: {kind: ConfigMap, name: n-note, namespace: default, data: {text: hello}}}
"""


@pytest.fixture(name="folder")
def make_folder(tmp_path: Path) -> Path:
    program = tmp_path / "sync.py"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    theirs = [path.read_text() for path in sorted((ROOT / "deploy" / "metacontroller").glob("*s.yaml"))]
    (tmp_path / "crds.yaml").write_text("\n---\n".join([*theirs, json.dumps(crd("Note", "notes"))]))
    (tmp_path / "controller.yaml").write_text(json.dumps(CONTROLLER))
    (tmp_path / "note.yaml").write_text(json.dumps(NOTE))
    return tmp_path


def test_in_hookd_test(folder: Path) -> None:
    (folder / "note.test.yaml").write_text(TEST)
    done = subprocess.run([binary(), "test", folder], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_in_hookd_play(folder: Path) -> None:
    (folder / "scenario.yaml").write_text(SCENARIO)
    done = subprocess.run([binary(), "play", folder, "--exit"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the controllers among the objects" in done.stdout + done.stderr
