"""mode: worker with real processes: killed, hung, talking rubbish; nothing is lost, and what is wrong is named."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster import Cluster
from hookd import Hookd
from hooks import lines, watch, write_hook
from process import wait_for
from workloads import MERGE_PATCH, expect

StartHookd = Callable[..., Hookd]

# Writes down what it is told, then answers.
RECORD = """
import json, os, sys, time
out = open(os.environ["OUT"], "a", buffering=1)
for line in sys.stdin:
    call = json.loads(line)
    for event in call["events"]:
        thing = event["object"]
        print(f'{os.getpid()}\\t{thing["metadata"]["name"]}\\t{thing.get("data", {}).get("n", "")}', file=out)
    time.sleep(float(os.environ.get("TAKES", "0")))
    print(json.dumps({"id": call["id"]}), flush=True)
"""


def write_worker(folder: Path, script: str, spec: dict[str, Any], name: str = "probe", **run: Any) -> Path:
    """A hook whose worker is a Python script."""
    home = write_hook(folder, "", spec, name, {"mode": "worker", "command": ["python3", "./worker.py"], **run})
    (home / "worker.py").write_text(textwrap.dedent(script))
    return home


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def workers(daemon: Hookd) -> list[int]:
    """Those that run."""
    return [pid for pid in (line["pid"] for line in daemon.logs(msg="worker started")) if alive(pid)]


def change(cluster: Cluster, namespace: str, name: str, n: int) -> None:
    expect(cluster.api("PATCH", f"/api/v1/namespaces/{namespace}/configmaps/{name}", {"data": {"n": str(n)}}, MERGE_PATCH))


def last_states(out: Path) -> dict[str, str]:
    return {name: n for _, name, n in (line.split("\t") for line in lines(out)) if name != "kube-root-ca.crt"}


def test_workers_killed_at_random_moments_lose_no_last_state(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    out = tmp_path / "out"
    spec = {"watch": [watch("ConfigMap", namespace)], "retry": {"initial": "50ms", "max": "1s"}}
    write_worker(tmp_path / "hooks", RECORD, spec, workers=3, callsAtOnce=4, env={"OUT": str(out), "TAKES": "0.01"})
    daemon = hookd(tmp_path / "hooks").wait_ready()
    names = [f"c{number}" for number in range(12)]
    for name in names:
        cluster.make_config_map(namespace, name, n="0")
    chance = random.Random(4)
    kills, n = 0, 0
    while kills < 60:
        n += 1
        for name in chance.sample(names, 4):
            change(cluster, namespace, name, n)
        running = workers(daemon)
        if running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(running), signal.SIGKILL)
                kills += 1
        time.sleep(chance.uniform(0, 0.3))  # the moment of the kill, not a wait for something
    for name in names:
        change(cluster, namespace, name, n + 1)

    wanted = dict.fromkeys(names, str(n + 1))
    daemon.wait_for(lambda: last_states(out) == wanted, 60, f"the last state of every object handled: {last_states(out)}")
    seen: dict[str, int] = {}
    for line in lines(out):
        _, name, told = line.split("\t")
        if told:
            assert int(told) >= seen.get(name, 0), f"{name} went back to {told}: two of its calls overlapped"
            seen[name] = int(told)
    assert daemon.metrics()['hookd_worker_restarts_total{hook="probe",reason="died"}'] >= 50
    died = daemon.logs(msg="worker ended")[0]
    assert died["hook"] == "probe" and "killed by SIGKILL" in died["why"]


def test_rubbish_is_named_and_stops_nothing(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    script = """
    import json, sys
    for line in sys.stdin:
        call = json.loads(line)
        name = call["events"][0]["object"]["metadata"]["name"]
        answer = json.dumps({"id": call["id"], "operations": [{"operation": "Label", "apiVersion": "v1", "kind": "ConfigMap",
                             "namespace": call["events"][0]["object"]["metadata"]["namespace"], "name": name, "labels": {"seen": "yes"}}]})
        if name == "text":
            print("deleting nothing at all")
        if name == "unknown":
            print('{"id":"zzz"}')
        if name == "twice":
            print(answer)
        if name == "broken":
            print('{"id":"%s","operations":[{' % call["id"], flush=True)
            continue
        if name == "binary":
            sys.stdout.flush()
            sys.stdout.buffer.write(bytes(range(256)) + b"\\n")
        if name == "flood":
            print("noise\\n" * 200_000, file=sys.stderr, flush=True)
        print(answer, flush=True)
    """
    spec = {"watch": [watch("ConfigMap", namespace, events=["added"])], "retry": {"initial": "1m"}}
    write_worker(tmp_path / "hooks", script, spec, callsAtOnce=1)
    daemon = hookd(tmp_path / "hooks").wait_ready()
    good = ["text", "unknown", "twice", "binary", "flood", "last"]
    for name in [*good[:3], "broken", *good[3:]]:
        cluster.make_config_map(namespace, name)

    def labelled(name: str) -> bool:
        found = cluster.config_map(namespace, name)
        return found is not None and found["metadata"].get("labels", {}).get("seen") == "yes"

    daemon.wait_for(lambda: all(map(labelled, good)), 30, "every other call answered and applied")
    assert not labelled("broken")
    assert len(workers(daemon)) == 1 and len(daemon.logs(msg="worker started")) == 1, "rubbish ends no worker"
    pid = workers(daemon)[0]
    assert daemon.logs(msg="deleting nothing at all", hook="probe")
    (stranger,) = daemon.logs(msg="a worker answered a call that it was not given, or has not open any more")
    assert (stranger["hook"], stranger["pid"], stranger["id"]) == ("probe", pid, "zzz")
    (second,) = daemon.logs(msg="a worker answered a call twice, only the first answer counts")
    assert (second["hook"], second["pid"]) == ("probe", pid)
    failed = daemon.wait_log(lambda line: line.get("object") == f"{namespace}/broken" and "error" in line, what="the broken answer")
    assert "the answer was not understood, nothing was applied" in failed["error"]
    left_out = daemon.wait_log(lambda line: "lines were left out" in line.get("msg", ""), what="the count of the flood")
    assert left_out["lines"] > 100_000
    assert len(daemon.logs(msg="noise")) < 2000


def test_a_hung_worker_that_ignores_sigterm_is_ended_and_the_others_calls_go_on(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd
) -> None:
    out = tmp_path / "out"
    script = """
    import json, os, signal, sys, threading, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    def work(call):
        name = call["events"][0]["object"]["metadata"]["name"]
        if name == "hangs":
            return
        time.sleep(0.2)
        with open(os.environ["OUT"], "a") as out:
            out.write(f"{os.getpid()}\\t{name}\\t\\n")
        print(json.dumps({"id": call["id"]}), flush=True)
    for line in sys.stdin:
        threading.Thread(target=work, args=(json.loads(line),)).start()
    """
    spec = {"watch": [watch("ConfigMap", namespace, events=["added"])], "retry": {"initial": "1m"}}
    write_worker(tmp_path / "hooks", script, spec, timeout="1s", grace="500ms", env={"OUT": str(out)})
    daemon = hookd(tmp_path / "hooks").wait_ready()
    cluster.make_config_map(namespace, "hangs")
    failed = daemon.wait_log(lambda line: line.get("object") == f"{namespace}/hangs" and "error" in line, what="the failure")
    first = daemon.logs(msg="worker started")[0]["pid"]
    assert failed["result"] == "timeout"
    assert f"worker {first}: no answer within 1s, it is taken for hung (killed by SIGKILL)" in failed["error"]
    assert not alive(first), "the call fails when nothing of it is left"
    for number in range(5):
        cluster.make_config_map(namespace, f"good-{number}")
    daemon.wait_for(lambda: {f"good-{number}" for number in range(5)} <= last_states(out).keys(), 20, "the others handled")


def test_one_that_dies_at_its_start_is_told_and_works_when_it_is_mended(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd
) -> None:
    out = tmp_path / "out"
    spec = {"watch": [watch("ConfigMap", namespace)], "retry": {"initial": "100ms", "max": "1s"}}
    home = write_worker(tmp_path / "hooks", "import no_such_module\n", spec, env={"OUT": str(out)})
    daemon = hookd(tmp_path / "hooks")
    cluster.make_config_map(namespace, "c", n="1")
    ended = daemon.wait_log(lambda line: line.get("msg") == "worker ended", what="its end")
    assert ended["hook"] == "probe" and "exit code 1; its last words: ModuleNotFoundError: No module named 'no_such_module'" in ended["why"]
    daemon.wait_for(lambda: "probe: worker " in daemon.get("/readyz")[1], 20, "the trouble in /readyz")
    starts = len(daemon.logs(msg="worker started"))
    assert starts < 20, "it is not started without end"
    (home / "worker.py").write_text(RECORD)
    daemon.wait_for(lambda: last_states(out) == {"c": "1"}, 40, "the call made by a mended worker")
    daemon.wait_for(lambda: "probe: worker " not in daemon.get("/readyz")[1], 20, "the trouble over")


def test_replaced_by_calls_and_by_memory_without_a_lost_call(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    out = tmp_path / "out"
    eats = RECORD.replace("for line in sys.stdin:\n", "hoard = []\nfor line in sys.stdin:\n    hoard.append(bytearray(40 << 20))\n")
    spec = {"watch": [watch("ConfigMap", namespace)]}
    write_worker(tmp_path / "hooks", RECORD, spec, "by-calls", maxCalls=5, env={"OUT": str(out)})
    write_worker(tmp_path / "hooks", eats, spec, "by-memory", maxMemory="150Mi", env={"OUT": str(tmp_path / "eats")})
    daemon = hookd(tmp_path / "hooks").wait_ready()
    for number in range(20):
        cluster.make_config_map(namespace, f"c{number}", n="1")
        if number == 10:
            daemon.wait_for(lambda: len(last_states(tmp_path / "eats")) == 11, 30, "the first half")
            time.sleep(1.1)  # memory is looked at once a second
    wanted = {f"c{number}": "1" for number in range(20)}
    daemon.wait_for(lambda: last_states(out) == wanted and last_states(tmp_path / "eats") == wanted, 60, "every object handled")
    assert not [line for line in daemon.logs() if line.get("result") in ("failed", "timeout")]
    by_calls: dict[str, int] = {}
    for line in lines(out):
        by_calls[line.split("\t")[0]] = by_calls.get(line.split("\t")[0], 0) + 1
    assert max(by_calls.values()) <= 5
    assert [line for line in daemon.logs(msg="a worker is replaced", hook="by-memory") if "(maxMemory)" in line["why"]]
    daemon.wait_for(lambda: len(workers(daemon)) == 2, 20, "the replaced ones gone")


def test_workers_end_with_a_reload_and_with_hookd(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    out = tmp_path / "out"
    spec = {"watch": [watch("ConfigMap", namespace)]}
    home = write_worker(tmp_path / "hooks", RECORD, spec, workers=2, env={"OUT": str(out)})
    daemon = hookd(tmp_path / "hooks").wait_ready()
    cluster.make_config_map(namespace, "c", n="1")
    daemon.wait_for(lambda: last_states(out) == {"c": "1"}, 20, "the call")
    before = set(workers(daemon))
    assert len(before) == 2
    assert daemon.metrics()['hookd_workers{hook="probe",state="ready"}'] == 2

    hook = json.loads((home / "hook.yaml").read_text())
    hook["spec"]["run"]["workers"] = 3
    (home / "hook.yaml").write_text(json.dumps(hook))
    daemon.child.signal(signal.SIGHUP)
    daemon.wait_for(lambda: len(set(workers(daemon)) - before) == 3 and not any(map(alive, before)), 20, "the old ones gone, the new ones there")
    change(cluster, namespace, "c", 2)
    daemon.wait_for(lambda: last_states(out) == {"c": "2"}, 20, "a call after the reload")

    after = workers(daemon)
    started = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - started < 5, "idle workers end with their stdin"
    wait_for(lambda: not any(map(alive, after)), 5, "no worker left")
    ends = daemon.logs(msg="worker ended")
    assert [line["why"] for line in ends] == ["exit code 0"] * 5


def test_hookd_killed_leaves_no_worker(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    write_worker(tmp_path / "hooks", RECORD, {"watch": [watch("ConfigMap", namespace)]}, workers=2, env={"OUT": str(tmp_path / "out")})
    daemon = hookd(tmp_path / "hooks").wait_ready()
    running = workers(daemon)
    assert len(running) == 2
    daemon.kill()
    wait_for(lambda: not any(map(alive, running)), 10, "the workers end with their stdin")
