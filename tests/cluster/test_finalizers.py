"""Finalizers that a hook left on its objects: told by `hookd status`, taken off by `hookd finalizers drop`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cluster import Cluster
from hookd import Hookd
from hooks import write_hook
from test_control import Control, make, start
from workloads import expect

StartHookd = Callable[..., Hookd]
FINALIZER = "hookd.dev/keeper"


@pytest.fixture
def control(tmp_path: Path) -> Control:
    return Control(tmp_path / "c.sock")


def keeper(folder: Path, *namespaces: str) -> Path:
    """Puts its finalizer on ConfigMaps, and never lets one go."""
    reconcile = {"for": {"apiVersion": "v1", "kind": "ConfigMap", "namespaces": {"names": [*namespaces]}, "labelSelector": "keep=yes"}, "finalizer": True}
    return write_hook(folder, "cat > /dev/null; echo '{}'", {"reconcile": reconcile}, name="keeper")


def finalizers(cluster: Cluster, namespace: str, name: str) -> list[str] | None:
    code, found = cluster.api("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}")
    return found["metadata"].get("finalizers", []) if code == 200 else None


@pytest.mark.parametrize("durable", [True, False], ids=["state-dir", "in-memory"])
def test_left_by_a_removed_hook(
    cluster: Cluster, namespace: str, hookd: StartHookd, control: Control, tmp_path: Path, durable: bool
) -> None:
    flags = ["--state-dir", str(tmp_path / "state")] if durable else []
    home = keeper(tmp_path / "hooks", namespace)
    for name in ("one", "two"):
        make(cluster, namespace, "configmaps", name, metadata={"labels": {"keep": "yes"}})
    daemon = start(hookd, control, tmp_path, flags=flags)
    daemon.wait_for(lambda: all(finalizers(cluster, namespace, name) == [FINALIZER] for name in ("one", "two")), 20, "the finalizers")
    assert control.json("finalizers") == {"finalizers": []}
    assert "runs and puts hookd.dev/keeper on objects" in control.refused("finalizers", "drop", "keeper", "--yes")

    # The hook goes, an object is deleted: it hangs, and status says why.
    shutil.rmtree(home)
    if durable:
        daemon.kill()
        write_hook(tmp_path / "hooks", "true", {"schedule": [{"name": "tick", "every": "1h"}]}, name="other")
        daemon = start(hookd, control, tmp_path, flags=flags)
    else:
        daemon.wait_for(lambda: not control.json("status")["hooks"], 20, "the hook gone")
    expect(cluster.api("DELETE", f"/api/v1/namespaces/{namespace}/configmaps/one"))
    assert finalizers(cluster, namespace, "one") == [FINALIZER]
    (left,) = control.json("finalizers")["finalizers"]
    assert (left["hook"], left["finalizer"], left["kind"]) == ("keeper", FINALIZER, "ConfigMap")
    assert (left["objects"], left["ending"], left["whole"]) == (2, 1, True)
    assert left["names"] == [f"{namespace}/one", f"{namespace}/two"]
    table = control.text("status")
    assert "left behind on objects that no hook looks after" in table and "ConfigMap (v1)" in table

    # Taken off: one, then the rest.
    assert "say --yes" in control.refused("finalizers", "drop", "keeper")
    assert 'did you mean "keeper"' in control.refused("finalizers", "drop", "keper", "--yes")
    assert "carries a finalizer" in control.refused("finalizers", "drop", "keeper", "--object", f"{namespace}/none", "--yes")
    assert control.text("finalizers", "drop", "keeper", "--object", f"{namespace}/one", "--yes") == "taken off 1 object(s)\n"
    cluster.wait_for(lambda: finalizers(cluster, namespace, "one") is None, 20, "the deleted object gone")
    assert finalizers(cluster, namespace, "two") == [FINALIZER]
    assert control.text("finalizers", "drop", "keeper", "--yes") == "taken off 1 object(s)\n"
    assert finalizers(cluster, namespace, "two") == []
    assert control.json("finalizers") == {"finalizers": []}
    assert "left behind" not in control.text("status")
    assert control.run("finalizers", "list", "keeper").returncode == 2
    assert control.run("finalizers", "drop").returncode == 2


def test_left_where_the_hook_does_not_look_any_more(cluster: Cluster, namespace: str, hookd: StartHookd, control: Control, tmp_path: Path) -> None:
    make(cluster, namespace, "configmaps", "kept", metadata={"labels": {"keep": "yes"}})
    keeper(tmp_path / "hooks", namespace, "default")
    daemon = start(hookd, control, tmp_path)
    daemon.wait_for(lambda: finalizers(cluster, namespace, "kept") == [FINALIZER], 20, "the finalizer")
    keeper(tmp_path / "hooks", "default")
    daemon.wait_for(lambda: control.json("finalizers")["finalizers"], 20, "what was left")
    (left,) = control.json("finalizers")["finalizers"]
    assert (left["hook"], left["objects"], left["names"]) == ("keeper", 1, [f"{namespace}/kept"])
    assert "left behind" in control.text("status")
    assert control.text("finalizers", "drop", "keeper", "--yes") == "taken off 1 object(s)\n"
    assert finalizers(cluster, namespace, "kept") == []
    assert "runs and puts hookd.dev/keeper on objects" in control.refused("finalizers", "drop", "keeper", "--yes")


def test_not_dropped_while_the_file_is_broken(cluster: Cluster, namespace: str, hookd: StartHookd, control: Control, tmp_path: Path) -> None:
    flags = ["--state-dir", str(tmp_path / "state")]
    home = keeper(tmp_path / "hooks", namespace)
    make(cluster, namespace, "configmaps", "kept", metadata={"labels": {"keep": "yes"}})
    daemon = start(hookd, control, tmp_path, flags=flags)
    daemon.wait_for(lambda: finalizers(cluster, namespace, "kept") == [FINALIZER], 20, "the finalizer")
    daemon.kill()
    (home / "hook.yaml").write_text("spec: [")
    write_hook(tmp_path / "hooks", "true", {"schedule": [{"name": "tick", "every": "1h"}]}, name="other")
    daemon = start(hookd, control, tmp_path, flags=flags)
    assert control.json("finalizers") == {"finalizers": []}
    assert "left behind" not in control.text("status")
    said = control.refused("finalizers", "drop", "keeper", "--yes")
    assert "is broken now" in said and "hook.yaml" in said
    shutil.rmtree(home)
    daemon.wait_for(lambda: control.json("finalizers")["finalizers"], 20, "what was left")
    assert control.text("finalizers", "drop", "keeper", "--yes") == "taken off 1 object(s)\n"
    assert finalizers(cluster, namespace, "kept") == []
