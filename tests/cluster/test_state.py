"""What outlives a restart: state of answers, deletions while the daemon was down, in stateDir and in a ConfigMap."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from hookd import Hookd
from hooks import lines, watch, write_hook

StartHookd = Callable[..., Hookd]

# Appends each call; the answer counts how many calls there were.
COUNTING = """
    call=$(cat)
    echo "$call" >> {seen}
    n=$(sed -n 's/.*"state":{{"calls":\\([0-9]*\\)}}.*/\\1/p' <<< "$call")
    echo "{{\\"state\\":{{\\"calls\\":$((${{n:-0}} + 1))}}}}"
"""


def calls(path: Path) -> list[dict[str, Any]]:
    """Those that were read whole: a daemon that is killed leaves its hook half a call, or none, on stdin."""
    found = []
    for line in lines(path):
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


def deleted(path: Path) -> list[str]:
    return [event["object"]["metadata"]["name"] for call in calls(path) for event in call["events"] if event["type"] == "Deleted"]


def config_map(cluster: Cluster, namespace: str, name: str, data: str = "1") -> None:
    cluster.kubectl("create", "configmap", name, f"--from-literal=n={data}", "-n", namespace)


def folder_of(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_state_survives_sigkill_at_any_moment(cluster: Cluster, namespace: str, hookd: StartHookd, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    hooks = tmp_path / "hooks"
    write_hook(hooks, COUNTING.format(seen=seen), {"state": {}, "watch": [watch("ConfigMap", namespace, labelSelector="probe=1")]})
    daemon = hookd(hooks, flags=["--state-dir", str(folder_of(tmp_path))]).wait_ready()
    generator = random.Random(7)
    for number in range(8):
        config_map(cluster, namespace, f"c{number}")
        cluster.kubectl("label", "configmap", f"c{number}", "probe=1", "-n", namespace)
        time.sleep(generator.uniform(0, 0.15))
        daemon.kill()
        daemon.start()
    daemon.wait_ready()
    names = {f"c{number}" for number in range(8)}
    daemon.wait_for(
        lambda: names <= {e["object"]["metadata"]["name"] for c in calls(seen) for e in c["events"]}, 30, "every object was told"
    )
    config_map(cluster, namespace, "last")
    before = len(calls(seen))
    cluster.kubectl("label", "configmap", "last", "probe=1", "-n", namespace)
    daemon.wait_for(lambda: len(calls(seen)) > before, 30, "one more call")
    counts = [call["state"]["calls"] for call in calls(seen) if "state" in call]
    # A call that was cut off is made again with the state of before; none is lost and none skipped.
    assert counts[0] == 1
    assert all(after - before in (0, 1) for before, after in zip(counts, counts[1:])), counts
    assert counts[-1] >= len(names) - 1
    assert (folder_of(tmp_path).stat().st_mode & 0o777, (folder_of(tmp_path) / "hookd.db").stat().st_mode & 0o777) == (0o700, 0o600)


def test_deletions_while_down_are_told_once_handled_never_again(
    cluster: Cluster, namespace: str, hookd: StartHookd, tmp_path: Path
) -> None:
    seen, broken = tmp_path / "seen", tmp_path / "broken"
    hooks = tmp_path / "hooks"
    write_hook(
        hooks,
        f"""
        cat >> {seen}
        ! [ -e {broken} ]
        """,
        {"watch": [watch("ConfigMap", namespace, names=["x", "y", "z"])], "retry": {"initial": "10m", "max": "10m"}},
    )
    for name in "xyz":
        config_map(cluster, namespace, name)
    daemon = hookd(hooks, flags=["--state-dir", str(folder_of(tmp_path))]).wait_ready()
    daemon.wait_for(lambda: len(calls(seen)) == 3, 30, "three objects")
    daemon.kill()
    cluster.kubectl("delete", "configmap", "x", "y", "-n", namespace)
    config_map(cluster, namespace, "y", "anew")
    seen.unlink()
    broken.touch()
    daemon.start().wait_ready()
    daemon.wait_for(lambda: sorted(deleted(seen)) == ["x", "y"], 30, "both deletions")
    event = next(e for c in calls(seen) for e in c["events"] if e["type"] == "Deleted")
    assert event["finalStateUnknown"] is True
    assert set(event["object"]) == {"apiVersion", "kind", "metadata"}
    # Not handled: the calls failed. Killed now, they are told again.
    daemon.kill()
    seen.unlink()
    broken.unlink()
    daemon.start().wait_ready()
    daemon.wait_for(lambda: sorted(deleted(seen)) == ["x", "y"], 30, "both deletions again")

    def of_y() -> list[str]:
        return [e["type"] for c in calls(seen) for e in c["events"] if e["object"]["metadata"]["name"] == "y"]

    daemon.wait_for(lambda: of_y() == ["Deleted", "Added"], 30, "the one before goes first, then its namesake")
    daemon.stop()
    seen.unlink()
    daemon.start().wait_ready()
    daemon.wait_for(lambda: len(calls(seen)) == 2, 30, "y and z")
    assert deleted(seen) == []
    daemon.stop()


def test_a_broken_file_is_set_aside_and_a_second_daemon_refused(
    cluster: Cluster, namespace: str, hookd: StartHookd, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    hooks = tmp_path / "hooks"
    folder = folder_of(tmp_path)
    folder.mkdir()
    (folder / "hookd.db").write_bytes(os.urandom(20_000))
    write_hook(hooks, COUNTING.format(seen=seen), {"state": {}, "schedule": [{"every": "1s"}]})
    daemon = hookd(hooks, flags=["--state-dir", str(folder)]).wait_ready()
    assert daemon.wait_log(lambda entry: "set aside" in entry.get("msg", ""))["level"] == "error"
    assert len(list(folder.glob("hookd.db.broken-*Z"))) == 1
    daemon.wait_for(lambda: len(calls(seen)) >= 2, 30, "calls go on")
    second = hookd(hooks, flags=["--state-dir", str(folder)])
    assert second.wait_exit() == 1
    assert any(f"used by another hookd (process {daemon.child.pid})" in str(entry) for entry in second.logs())
    daemon.stop()


def test_state_in_a_config_map(cluster: Cluster, namespace: str, hookd: StartHookd, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    hooks = tmp_path / "hooks"
    write_hook(hooks, COUNTING.format(seen=seen), {"state": {}, "schedule": [{"every": "1s"}]})
    env = {"HOOKD_STATE_CONFIG_MAP": f"{namespace}/kept"}
    daemon = hookd(hooks, env=env).wait_ready()
    daemon.wait_for(lambda: len(calls(seen)) >= 3, 30, "three calls")
    daemon.stop()
    count = len(calls(seen))
    kept = json.loads(cluster.kubectl("get", "configmap", "kept", "-n", namespace, "-o", "json"))
    assert kept["data"]["state"] == f'"probe": {{"calls":{count}}}\n'
    daemon.start().wait_ready()
    daemon.wait_for(lambda: len(calls(seen)) > count, 30, "one more")
    assert calls(seen)[count]["state"] == {"calls": count}
    # The one that starts last has it; the other goes on in memory and says so.
    other_hooks = tmp_path / "other"
    shutil.copytree(hooks, other_hooks)
    other = hookd(other_hooks, env=env).wait_ready()

    def told() -> bool:
        return any("held by another hookd" in line for line in daemon.get("/readyz")[1].splitlines())

    daemon.wait_for(told, 30, "the first one says so")
    assert not any("held by another" in line for line in other.get("/readyz")[1].splitlines())
    other.stop()
    daemon.stop(signal.SIGTERM)


def test_no_hook_starts_before_the_config_map_is_read(cluster: Cluster, namespace: str, hookd: StartHookd, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    hooks = tmp_path / "hooks"
    write_hook(hooks, COUNTING.format(seen=seen), {"state": {}, "startup": {}})
    daemon = hookd(hooks, env={"HOOKD_STATE_CONFIG_MAP": "no-such-namespace/kept"})
    # The namespace is missing: there is nothing to read, so that is known; only writing fails.
    daemon.wait_for(lambda: len(calls(seen)) == 1, 30, "start-up")
    daemon.wait_for(lambda: "degraded: state" in daemon.get("/readyz")[1], 30, "told")
    daemon.stop()


@pytest.mark.parametrize("flags", [["--state-dir", "/proc/nowhere"], ["--state-dir", "/dev/null/x"]])
def test_a_folder_that_cannot_be_made_ends_the_start(hookd: StartHookd, tmp_path: Path, flags: list[str]) -> None:
    hooks = tmp_path / "hooks"
    write_hook(hooks, "true", {"startup": {}})
    daemon = hookd(hooks, flags=flags)
    assert daemon.wait_exit() == 1
    assert any("give hookd a folder that it may write" in str(entry) for entry in daemon.logs())


def test_what_was_kept_of_another_cluster_waits_for_it(cluster: Cluster, namespace: str, hookd: StartHookd, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    state = folder_of(tmp_path)
    hooks = tmp_path / "hooks"
    write_hook(hooks, COUNTING.format(seen=seen), {"state": {}, "watch": [watch("ConfigMap", namespace, labelSelector="probe=1")]})
    config_map(cluster, namespace, "c")
    cluster.kubectl("label", "configmap", "c", "probe=1", "-n", namespace)
    daemon = hookd(hooks, flags=["--state-dir", str(state)]).wait_ready()
    daemon.wait_for(lambda: len(calls(seen)) == 1, 20, "the first call")
    daemon.stop()
    rows = sqlite3.connect(state / "hookd.db")
    uid = cluster.api("GET", "/api/v1/namespaces/kube-system")[1]["metadata"]["uid"]
    assert rows.execute("SELECT value FROM rows WHERE tab = CAST('cluster' AS BLOB)").fetchall() == [(uid.encode(),)]
    rows.execute("UPDATE rows SET value = CAST('0000-of-another' AS BLOB) WHERE tab = CAST('cluster' AS BLOB)")
    rows.commit()
    rows.close()
    daemon.start().wait_ready()
    daemon.wait_for(lambda: len(calls(seen)) == 2, 20, "a call")
    assert "state" not in calls(seen)[1]
    assert daemon.logs(msg="another cluster than before: an empty state is begun")
    assert (state / "hookd.db.cluster-0000-of-another").exists()
