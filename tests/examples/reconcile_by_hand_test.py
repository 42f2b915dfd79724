"""A hook that reconciles, asked by hand and rehearsed: `hookd check`, `call`, `test` and `play`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from built import hookd

HOOK = """
apiVersion: hookd/v1
kind: Hook
metadata: {name: pair}
spec:
  run: {command: [./pair.sh]}
  allow: []
  source: [{name: push, http: /push, check: none}]
  reconcile:
    for: {apiVersion: example.com/v1, kind: Pair, when: .spec.paused != true}
    children: [{apiVersion: v1, kind: ConfigMap}]
    related: [{name: settings, apiVersion: v1, kind: Secret, select: '{"pair": .metadata.name}'}]
    sources: [{name: push}]
    finalizer: FINALIZER
"""
SCRIPT = r"""#!/usr/bin/env bash
tee -a calls | jq -c 'if .object == null then {} elif .finalizing then {children: [], finalized: (.children["ConfigMap.v1"] == {})} else .object as $o | {
  children: [range($o.spec.size) | {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "\($o.metadata.name)-\(.)"}, data: {of: $o.metadata.name}}],
  status: {made: (.children["ConfigMap.v1"] | length)}} end'
"""
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pairs.example.com}
spec:
  group: example.com
  names: {kind: Pair, plural: pairs, singular: pair, listKind: PairList}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
PAIR = "{apiVersion: example.com/v1, kind: Pair, metadata: {name: one, namespace: shop}, spec: {size: SIZE}}"
TEST = f"""
apiVersion: hookd/v1
kind: HookTest
metadata: {{name: a pair and its config maps}}
given: [crd.yaml, {{apiVersion: v1, kind: Namespace, metadata: {{name: shop}}}}]
steps:
  - apply: {PAIR.replace("SIZE", "2")}
  - expect:
      calls: [{{hook: pair, kind: Pair, object: shop/one, binding: for, type: Added}}, {{binding: children, cause: ConfigMap.v1 shop/one-1}}]
      objects:
        - {{kind: ConfigMap, namespace: shop, name: one-0, data: {{of: one}}, metadata: {{ownerReferences: [{{kind: Pair, name: one, controller: true}}]}}}}
        - {{kind: ConfigMap, namespace: shop, name: one-1}}
        - {{kind: Pair, namespace: shop, name: one, status: {{made: 2}}}}
  - delete: {{kind: ConfigMap, namespace: shop, name: one-1}}
  - expect: {{objects: [{{kind: ConfigMap, namespace: shop, name: one-1}}]}}
  - apply: {PAIR.replace("SIZE", "1")}
  - expect: {{operations: [{{operation: Delete, kind: ConfigMap, name: one-1}}], absent: [{{kind: ConfigMap, namespace: shop, name: one-1}}]}}
  - source: {{hook: pair, binding: push, data: {{}}}}
  - expect: {{calls: [{{object: shop/one, binding: push, type: Source}}]}}
  - delete: {{kind: Pair, namespace: shop, name: one}}
  - expect: {{absent: [{{kind: ConfigMap, namespace: shop, name: one-0}}, {{kind: Pair, name: one}}]}}
"""


@pytest.fixture(name="folder")
def make_folder(tmp_path: Path) -> Path:
    write_hook(tmp_path, finalizer=True)
    return tmp_path


def write_hook(folder: Path, finalizer: bool) -> None:
    (folder / "hook.yaml").write_text(HOOK.replace("FINALIZER", str(finalizer).lower()))
    (folder / "pair.sh").write_text(SCRIPT)
    (folder / "pair.sh").chmod(0o755)
    (folder / "crd.yaml").write_text(CRD)


def asked(folder: Path) -> dict:  # type: ignore[type-arg]
    """What the script was last called with."""
    return json.loads((folder / "calls").read_text().splitlines()[-1])


def test_check_says_what_is_followed(folder: Path) -> None:
    assert hookd(folder, "check", ".")[0] == (
        f"pair: ok ({folder}/hook.yaml; source push; reconcile Pair; children ConfigMap; related settings (Secret); finalizer hookd.dev/pair)\n"
    )


def test_a_call_out_of_files(folder: Path) -> None:
    (folder / "pair.yaml").write_text(PAIR.replace("SIZE", "2"))
    (folder / "rest.yaml").write_text("""
{apiVersion: v1, kind: ConfigMap, metadata: {name: one-0, namespace: shop}, data: {of: somebody}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: one-7, namespace: shop, ownerReferences: [{apiVersion: example.com/v1, kind: Pair, name: one, controller: true}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: one-1, namespace: shop, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u, controller: true}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop, labels: {pair: one}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: shop, labels: {pair: two}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: far, namespace: elsewhere, labels: {pair: one}}}
""")
    output, notes = hookd(folder, "call", "hook.yaml", "--object", "pair.yaml", "--object", "rest.yaml")
    call = asked(folder)
    assert (call["reason"], call["finalizing"], call["object"]["spec"]) == ("reconcile", False, {"size": 2})
    assert call["key"]["kind"] == "Pair" and call["causes"][0]["type"] == "Added"
    assert sorted(call["children"]["ConfigMap.v1"]) == ["one-0", "one-7"]
    assert list(call["related"]["settings"]) == ["s"]
    assert "Delete ConfigMap shop/one-7 uid=" in output
    assert "Apply ConfigMap shop/one-0" in output
    assert "conflict: ConfigMap shop/one-1: it belongs to Pod p" in output
    assert "status of the object\n  {\"made\":2}" in output
    assert "ConfigMap shop/one-1 is controlled by Pod p" in notes
    assert "Secret shop/other is neither a child nor related" in notes and "Secret elsewhere/far" in notes
    # The very call once more, from standard input.
    assert "Apply ConfigMap shop/one-1" in hookd(folder, "call", "hook.yaml", text=json.dumps(call))[0]
    assert asked(folder) == call


def test_a_call_of_one_that_ends_or_is_gone(folder: Path) -> None:
    ends = PAIR.replace("SIZE", "2, paused: true").replace("namespace: shop", 'namespace: shop, deletionTimestamp: "2026-01-01T00:00:00Z"')
    (folder / "pair.yaml").write_text(ends)
    output, notes = hookd(folder, "call", "hook.yaml", "--object", "pair.yaml")
    assert asked(folder)["finalizing"] is True
    assert "finalized: the object may go" in output and "`when` does not hold" in notes
    output, _ = hookd(folder, "call", "hook.yaml", "--object", "pair.yaml", "--event", "Deleted")
    assert asked(folder)["object"] is None
    assert "the object is gone" in output


def test_calls_that_cannot_be_made(folder: Path) -> None:
    (folder / "other.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: shop}}")
    assert "reconciles Pair (example.com/v1): none is in other.yaml" in hookd(folder, "call", "hook.yaml", "--object", "other.yaml", code=1)[1]
    assert "neither an `object` nor a `key`" in hookd(folder, "call", "hook.yaml", text="{}", code=1)[1]
    (folder / "pair.yaml").write_text(PAIR.replace("SIZE", "1"))
    (folder / "pair.sh").write_text('#!/bin/sh\necho \'{"children": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}]}\'\n')
    assert "the answer was not understood" in hookd(folder, "call", "hook.yaml", "--object", "pair.yaml", code=1)[1]
    (folder / "pair.sh").write_text('#!/bin/sh\necho \'{"operation": "Delete", "apiVersion": "v1", "kind": "Pod", "name": "x", "namespace": "shop"}\'\n')
    output, errors = hookd(folder, "call", "hook.yaml", "--object", "pair.yaml", code=1)
    assert "Delete Pod shop/x" in output and "none is touched" in output and "not allowed to this hook" in errors


@pytest.mark.parametrize("finalizer", [True, False])
def test_rehearsed(folder: Path, finalizer: bool) -> None:
    write_hook(folder, finalizer)  # without one the garbage collector of the server takes the children
    (folder / "pair.test.yaml").write_text(TEST)
    assert "1 passed, 0 failed" in hookd(folder, "test", "-v", ".")[0]


def test_played(folder: Path) -> None:
    (folder / "scenario.yaml").write_text(f"""
apiVersion: hookd/v1
kind: Scenario
sources: false
steps:
  - apply: [crd.yaml, {{apiVersion: v1, kind: Namespace, metadata: {{name: shop}}}}]
  - apply: {PAIR.replace("SIZE", "1")}
  - wait: {{object: {{kind: Pair, namespace: shop, name: one, status: {{made: 1}}}}}}
  - delete: {{kind: Pair, namespace: shop, name: one}}
  - wait: {{absent: {{kind: ConfigMap, namespace: shop, name: one-0}}}}
  - wait: {{idle: true}}
""")
    output, _ = hookd(folder, "play", "--exit", ".")
    assert "pair is called: Pair shop/one: Added ConfigMap.v1 shop/one-0 (children)" in output
    assert "Delete ConfigMap shop/one-0" in output and "Pair shop/one is gone" in output
