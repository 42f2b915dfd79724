"""What keeps a hook from doing harm: guard, `ownWrites: ignore`, loops slowed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from cluster import Cluster
from hookd import Hookd, binary
from hooks import lines, watch, write_hook
from workloads import MERGE_PATCH, expect

StartHookd = Callable[..., Hookd]


def set_data(cluster: Cluster, namespace: str, name: str, **data: str) -> None:
    expect(cluster.api("PATCH", f"/api/v1/namespaces/{namespace}/configmaps/{name}", {"data": data}, MERGE_PATCH))


def annotation(cluster: Cluster, namespace: str, name: str, key: str) -> str | None:
    thing = cluster.config_map(namespace, name)
    return thing["metadata"].get("annotations", {}).get(key) if thing else None


def test_the_guard_stops_a_hook_that_deletes_too_much_until_a_person_has_looked(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd
) -> None:
    write_hook(
        tmp_path / "hooks",
        """
        jq -c '.objects.all[] | .object.metadata | select(.name | startswith("c")) |
          {operation: "Delete", apiVersion: "v1", kind: "ConfigMap", namespace, name}'
        """,
        {
            "guard": {"deletes": "3/1m", "writes": "100/1m"},
            "watch": [watch("ConfigMap", namespace, name="all", events=[]), watch("Secret", namespace, name="order", include=["all"])],
        },
    )
    for number in range(4):
        cluster.make_config_map(namespace, f"c{number}")
    control, state = tmp_path / "control", tmp_path / "state"
    flags = ["--control", str(control), "--state-dir", str(state)]
    daemon = hookd(tmp_path / "hooks", flags=flags).wait_ready()
    expect(cluster.api("POST", f"/api/v1/namespaces/{namespace}/secrets", {"metadata": {"name": "go"}}))
    tripped = daemon.wait_log(lambda line: "guard of the hook tripped" in line.get("msg", ""), what="the guard")
    assert tripped["guard"] == "4 deletes within 1m (limit 3/1m)"
    time.sleep(1)
    assert all(cluster.config_map(namespace, f"c{number}") for number in range(4)), "nothing of the answer was sent"
    code, text = daemon.get("/readyz")
    assert code == 200 and "by its guard: 4 deletes within 1m (limit 3/1m); look at `hookd runs probe`, then `hookd resume probe`" in text
    assert daemon.metrics()['hookd_guard_tripped_total{hook="probe",limit="deletes"}'] == 1
    cluster.wait_for(lambda: cluster.events(namespace, "HookGuardTripped"), 15, "the Event")

    daemon.kill()  # a crash lifts nothing
    daemon.start().wait_ready()
    time.sleep(1)
    assert cluster.config_map(namespace, "c0")
    assert "by its guard" in daemon.get("/readyz")[1]

    expect(cluster.api("DELETE", f"/api/v1/namespaces/{namespace}/configmaps/c3"))
    subprocess.run([binary(), "resume", "probe"], check=True, timeout=20, env={**os.environ, "HOOKD_CONTROL": str(control)})
    daemon.wait_for(lambda: not any(cluster.config_map(namespace, f"c{number}") for number in range(4)), 20, "the rest deleted")
    assert "guard" not in daemon.get("/readyz")[1]


# Marks what it handled with what it saw; counts its calls.
MARK = """
call=$(cat)
jq -r '.events[] | [.type, .object.metadata.name, (.object.data.n // "")] | @tsv' <<< "$call" >> "$OUT"
jq -c '.events[] | select(.type != "Deleted") | .object | {operation: "Annotate", apiVersion: "v1", kind: "ConfigMap",
  namespace: .metadata.namespace, name: .metadata.name, annotations: {handled: (.data.n // "")}}' <<< "$call"
"""


def test_own_writes_are_not_delivered_and_those_of_others_are(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    out = tmp_path / "out"
    spec = {"watch": [watch("ConfigMap", namespace, names=["a", "b"], ownWrites="ignore")]}
    write_hook(tmp_path / "hooks", MARK, spec, run={"env": {"OUT": str(out)}})
    daemon = hookd(tmp_path / "hooks").wait_ready()
    cluster.make_config_map(namespace, "a", n="0")
    daemon.wait_for(lambda: annotation(cluster, namespace, "a", "handled") == "0", 20, "handled")
    time.sleep(1)
    assert lines(out) == ["Added\ta\t0"]
    set_data(cluster, namespace, "a", n="1")
    daemon.wait_for(lambda: annotation(cluster, namespace, "a", "handled") == "1", 20, "handled again")
    # Its next write changes nothing: what it answers with is the version of whoever came before.
    expect(cluster.api("PATCH", f"/api/v1/namespaces/{namespace}/configmaps/a", {"metadata": {"labels": {"x": "1"}}}, MERGE_PATCH))
    daemon.wait_for(lambda: lines(out) == ["Added\ta\t0", "Modified\ta\t1", "Modified\ta\t1"], 20, "the label told")
    time.sleep(1)
    assert len(lines(out)) == 3
    assert daemon.metrics()['hookd_own_events_ignored_total{binding="configmap",hook="probe"}'] == 2


def test_changes_of_others_in_between_own_writes_are_never_lost(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    out = tmp_path / "out"
    spec = {"watch": [watch("ConfigMap", namespace, names=["a"], ownWrites="ignore")]}
    write_hook(tmp_path / "hooks", MARK, spec, run={"env": {"OUT": str(out)}})
    daemon = hookd(tmp_path / "hooks").wait_ready()
    cluster.make_config_map(namespace, "a", n="0")
    for number in range(1, 60):
        set_data(cluster, namespace, "a", n=str(number))
        time.sleep(0.02 * (number % 4))
    daemon.wait_for(lambda: annotation(cluster, namespace, "a", "handled") == "59", 20, "the last state handled")
    time.sleep(1)
    assert lines(out)[-1] == "Modified\ta\t59"
    assert len(lines(out)) <= 60


def test_own_deletions_are_not_delivered(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    out = tmp_path / "out"
    write_hook(
        tmp_path / "hooks",
        f"""
        call=$(cat)
        jq -r '.events[] | [.type, .object.metadata.name] | @tsv' <<< "$call" >> {out}
        jq -c '.events[] | select(.type != "Deleted") | .object.metadata | select(.name != "stays") |
          {{operation: "Delete", apiVersion: "v1", kind: "Pod", namespace, name}}' <<< "$call"
        """,
        {"watch": [watch("Pod", namespace, ownWrites="ignore")]},
    )
    daemon = hookd(tmp_path / "hooks").wait_ready()
    for name in ("at-once", "stays"):
        cluster.make_pod(namespace, name)
    daemon.wait_for(lambda: cluster.get_pod(namespace, "at-once") is None, 20, "deleted")
    cluster.delete_pod(namespace, "stays", grace=0)
    daemon.wait_for(lambda: "Deleted\tstays" in lines(out), 20, "the other deletion told")
    time.sleep(1)
    assert "Deleted\tat-once" not in lines(out)


def test_a_hook_that_keeps_changing_what_calls_it_is_slowed_and_named(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd
) -> None:
    out = tmp_path / "out"
    write_hook(
        tmp_path / "hooks",
        f"""
        echo call >> {out}
        jq -c --arg now "$(date +%s.%N)" '.events[] | .object.metadata |
          {{operation: "Annotate", apiVersion: "v1", kind: "ConfigMap", namespace, name, annotations: {{now: $now}}}}'
        """,
        {"watch": [watch("ConfigMap", namespace, names=["a"])]},
    )
    daemon = hookd(tmp_path / "hooks").wait_ready()
    cluster.make_config_map(namespace, "a")
    told = daemon.wait_log(lambda line: "a loop, its calls are slowed" in line.get("msg", ""), what="the loop")
    assert ".metadata.annotations.now of ConfigMap" in told["msg"] and "ownWrites: ignore" in told["msg"]
    time.sleep(5)
    assert 12 <= len(lines(out)) <= 17
    assert "slowed: it keeps changing what calls it: .metadata.annotations.now" in daemon.get("/readyz")[1]
    assert daemon.metrics()['hookd_loops{hook="probe"}'] == 1
    cluster.wait_for(lambda: cluster.events(namespace, "HookLoop"), 15, "the Event")
    calls = len(lines(out))
    set_data(cluster, namespace, "a", n="somebody else's")
    daemon.wait_for(lambda: len(lines(out)) > calls, 5, "somebody else's change told at once")
