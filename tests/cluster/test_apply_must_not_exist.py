"""What children are made with: an apply whose metadata.resourceVersion no object ever has makes an object that is not
there, and changes none that is."""

from __future__ import annotations

from typing import Any

import pytest
from cluster import Cluster

APPLY = "application/apply-patch+yaml"
NOBODY = "00000000-0000-0000-0000-000000000000"
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ConfigMap": ("v1", "/api/v1/namespaces/{}/configmaps", {"data": {"colour": "blue"}}),
    "Secret": ("v1", "/api/v1/namespaces/{}/secrets", {"stringData": {"colour": "blue"}}),
    "Service": ("v1", "/api/v1/namespaces/{}/services", {"spec": {"ports": [{"port": 80}]}}),
    "Deployment": (
        "apps/v1",
        "/apis/apps/v1/namespaces/{}/deployments",
        {
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "x"}},
                "template": {
                    "metadata": {"labels": {"app": "x"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            }
        },
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("force", ["", "&force=true"])
def test_an_apply_that_must_not_find_an_object(cluster: Cluster, namespace: str, kind: str, force: str) -> None:
    api_version, path, content = KINDS[kind]
    collection = path.format(namespace)

    def manifest(name: str, **meta: Any) -> dict[str, Any]:
        return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **meta}, **content}

    def apply(body: dict[str, Any]) -> tuple[int, Any]:
        url = f"{collection}/{body['metadata']['name']}?fieldManager=hookd-test{force}"
        return cluster.api("PATCH", url, body, APPLY)

    def get(name: str) -> tuple[int, Any]:
        return cluster.api("GET", f"{collection}/{name}")

    def untouched() -> bool:  # by us: a controller of its kind may write
        metadata = get("theirs")[1]["metadata"]
        return "labels" not in metadata and all(e["manager"] != "hookd-test" for e in metadata["managedFields"])

    code, made = apply(manifest("new", resourceVersion="1"))
    assert code == 201, made
    assert [entry["operation"] for entry in made["metadata"]["managedFields"]] == ["Apply"]
    code, again = apply(manifest("new", resourceVersion="1"))
    assert (code, again["reason"]) == (409, "Conflict"), again

    code, theirs = cluster.api("POST", collection, manifest("theirs"))
    assert code == 201, theirs
    code, refused = apply(manifest("theirs", resourceVersion="1", labels={"taken": "yes"}))
    assert (code, refused["reason"]) == (409, "Conflict"), refused
    assert untouched()

    # With a uid it is the other way round.
    code, refused = apply(manifest("gone", uid=NOBODY))
    assert code == 409 and "uid mismatch:" in refused["message"], refused
    code, refused = apply(manifest("theirs", uid=NOBODY, labels={"taken": "yes"}))
    assert code in (409, 422) and ("metadata.uid:" in refused["message"] or "UID in" in refused["message"]), refused
    assert get("gone")[0] == 404
    assert untouched()
