"""deploy/: the manifests pass the real server's checks, and the rights are enough (test_force_delete runs under them)."""

from __future__ import annotations

import pytest
from cluster import Cluster
from hookd import ROOT

DEPLOY = ROOT / "deploy"


@pytest.mark.parametrize("folder", ["kubernetes", "metacontroller", "sidecar"])
def test_manifests_pass_a_server_side_dry_run(folder: str, cluster: Cluster) -> None:
    rendered = cluster.kubectl("kustomize", str(DEPLOY / folder)) if (DEPLOY / folder / "kustomization.yaml").exists() else "\n---\n".join(
        file.read_text() for file in sorted((DEPLOY / folder).glob("*.yaml"))
    )  # fmt: skip
    # A dry run does not make the namespace that the others stand in.
    namespaces = {line.split(":")[1].strip() for line in rendered.splitlines() if line.strip().startswith("namespace:")}
    for name in namespaces - {"default", "kube-system"}:
        cluster.api("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    told = cluster.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "--force-conflicts", "-f", "-", input=rendered)
    assert told.count("serverside-applied") >= rendered.count("\nkind:") > 2
