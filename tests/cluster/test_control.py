"""A running daemon asked and told over its unix socket: every command, tables and JSON, masks, bad readers, reload."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from hookd import Hookd, binary
from hooks import lines, watch, write_hook

StartHookd = Callable[..., Hookd]
SECRET, TOKEN = "hunter2hunter2", "tok-4711-4711"


class Control:
    """Commands to one daemon. Everything that they print is kept in `seen`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen = ""

    def run(self, *words: str, env: dict[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
        base = {name: value for name, value in os.environ.items() if not name.startswith("HOOKD_")}
        done = subprocess.run(
            [binary(), *words], capture_output=True, text=True, timeout=60, env={**base, "HOOKD_CONTROL": str(self.path), **(env or {})}, **more
        )
        self.seen += done.stdout + done.stderr
        return done

    def text(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, f"hookd {' '.join(words)}: {done.stderr}"
        return done.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.text(*words, "-o", "json"))

    def refused(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 1, done.stdout
        assert not done.stdout
        return done.stderr


@pytest.fixture
def control(tmp_path: Path) -> Control:
    return Control(tmp_path / "c.sock")


def start(hookd: StartHookd, control: Control, tmp_path: Path, **more: Any) -> Hookd:
    flags = ["--control", str(control.path), *more.pop("flags", [])]
    return hookd(tmp_path / "hooks", flags=flags, **more).wait_ready()


def make(cluster: Cluster, namespace: str, kind: str, name: str, **more: Any) -> None:
    code, answer = cluster.api("POST", f"/api/v1/namespaces/{namespace}/{kind}", {"metadata": {"name": name, **more.pop("metadata", {})}, **more})
    assert code == 201, answer


def test_every_command(cluster: Cluster, namespace: str, hookd: StartHookd, control: Control, tmp_path: Path) -> None:
    go = tmp_path / "go"
    write_hook(
        tmp_path / "hooks",
        f'echo "working with $API_TOKEN, Authorization: Bearer abcdef123456" >&2\n[ -e {go} ] || exit 1\n'
        "echo '{\"operation\":\"Label\",\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"namespace\":\"%s\",\"name\":\"one\",\"labels\":{\"a\":\"b\"}}'" % namespace,
        {"watch": [watch("ConfigMap", namespace, name="maps", labelSelector="check=x", include=["secrets"]), watch("Secret", namespace, name="secrets", events=[])],
         "retry": {"attempts": 1}},
        name="alpha",
        run={"env": {"API_TOKEN": TOKEN}},
    )  # fmt: skip
    write_hook(tmp_path / "hooks", "true", {"schedule": [{"name": "tick", "every": "1h"}]}, name="beta")
    (tmp_path / "hooks/broken").mkdir()
    (tmp_path / "hooks/broken/hook.yaml").write_text("apiVersion: hookd/v1\nkind: Hook\nmetadata: {name: broken}\nspec: {runn: 1}\n")
    make(cluster, namespace, "secrets", "s", stringData={"p": SECRET})
    daemon = start(hookd, control, tmp_path)
    make(cluster, namespace, "configmaps", "one", metadata={"labels": {"check": "x"}})
    daemon.wait_for(lambda: control.json("status", "alpha")["parked"] == 1, 20, "the call given up")

    # status
    status = control.json("status")
    hooks = {hook["name"]: hook for hook in status["hooks"]}
    assert hooks.keys() == {"alpha", "beta"}
    assert hooks["alpha"]["calls"]["failed"] == 1
    assert status["ready"]
    assert status["pid"] == daemon.child.pid
    assert status["broken"][0]["file"].endswith("broken/hook.yaml")
    assert status["broken"][0]["line"] == 4
    table = control.text("status")
    assert re.search(r"^alpha +once +\w+ +0 +0 +0 +1 +0/1 ", table, re.MULTILINE), table
    assert "hooks/broken/hook.yaml:4:" in table
    assert "tick" in control.text("status", "beta")
    bindings = {binding["name"]: binding for binding in control.json("status", "beta")["bindings"]}
    assert "next" in bindings["tick"]

    # queue
    row = control.json("queue", "alpha")["rows"][0]
    assert (row["state"], row["hook"]) == ("parked", "alpha")
    assert row["id"] in control.text("queue")

    # runs
    run = control.json("runs", "alpha", "--failed")["runs"][0]
    assert run["result"] == "failed"
    full = control.json("runs", run["id"])
    assert "working with (masked)" in full["stderr"]
    assert full["input"]["objects"]["secrets"][0]["object"]["data"]["p"] == "(masked)"
    for part in ("working with (masked)", "exit code 1", "Added maps"):
        assert part in control.text("runs", run["id"])
    assert run["id"] in control.text("runs", "-n", "5")

    # snapshot
    assert [entry["object"]["metadata"]["name"] for entry in control.json("snapshot", "alpha", "maps")] == ["one"]
    assert re.search(rf"^ConfigMap +{namespace} +one", control.text("snapshot", "alpha", "maps"), re.MULTILINE)
    assert "s" in [entry["object"]["metadata"]["name"] for entry in control.json("snapshot", "alpha", "secrets")]

    # pause, retry, resume, drop
    assert "lunch" in control.text("pause", "alpha", "--reason", "lunch")
    assert control.json("status", "alpha")["state"] == "paused"
    go.touch()
    control.text("resume", "alpha")
    assert control.text("retry", "alpha", row["id"]).strip() == "1 retried"
    daemon.wait_for(lambda: control.json("status", "alpha")["calls"]["ok"] >= 1, 20, "the retried call")
    done = next(run for run in control.json("runs", "alpha")["runs"] if run["result"] == "ok")
    outcomes = control.json("runs", done["id"])["outcomes"]
    assert [outcome["outcome"] for outcome in outcomes] == ["done"]
    assert control.text("drop", "alpha", "--all").strip() == "0 dropped"

    # logs, reload
    assert "call failed" in control.text("logs", "alpha")
    assert all(json.loads(line)["hook"] == "alpha" for line in control.text("logs", "alpha", "-o", "json").splitlines())
    assert control.run("reload").returncode == 1  # one is broken
    daemon.wait_log(lambda entry: entry.get("why") == "hookd reload", what="the reload")

    # what is wrong
    assert 'did you mean "alpha"' in control.refused("status", "alpa")
    assert "broken/hook.yaml:4" in control.refused("status", "broken")
    which = control.run("retry", "alpha")
    assert (which.returncode, "which?" in which.stderr) == (2, True)
    assert "it has: maps, secrets" in control.refused("snapshot", "alpha", "none")
    assert "is not paused" in control.refused("resume", "alpha")
    assert control.run("queue", "-n", "0").returncode == 2
    assert control.run("retry").returncode == 2

    for secret in (SECRET, TOKEN, "abcdef123456", "aHVudGVyMmh1bnRlcjI"):
        assert secret not in control.seen

    # It takes its socket away.
    daemon.stop()
    assert not control.path.exists()
    assert "no hookd runs here" in control.refused("status")


def test_a_call_repeated_by_hand(cluster: Cluster, namespace: str, hookd: StartHookd, control: Control, tmp_path: Path) -> None:
    out = tmp_path / "out"
    home = write_hook(tmp_path / "hooks", f"jq -c . >> {out}", {"watch": [watch("ConfigMap", namespace, labelSelector="check=x")]})
    daemon = start(hookd, control, tmp_path)
    make(cluster, namespace, "configmaps", "one", metadata={"labels": {"check": "x"}})
    daemon.wait_for(lambda: control.json("status", "probe")["calls"]["ok"] == 1, 20, "the call")
    document = control.text("runs", control.json("runs")["runs"][0]["id"], "--input")
    called = control.run("call", str(home / "hook.yaml"), input=document)
    assert called.returncode == 0, called.stderr
    first, second = map(json.loads, lines(out))
    assert first == second


def test_the_log_is_followed_and_a_slow_reader_is_cut(hookd: StartHookd, control: Control, tmp_path: Path) -> None:
    write_hook(tmp_path / "hooks", "for i in $(seq 500); do printf '%01000d\\n' $i >&2; done", {"schedule": [{"name": "tick", "every": "1s"}]}, name="loud")
    daemon = start(hookd, control, tmp_path)
    with subprocess.Popen([binary(), "logs", "-f", "-n", "0", "loud", "--socket", control.path], stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout
        assert "hook=loud" in follower.stdout.readline()
        follower.send_signal(signal.SIGTERM)

    slow = socket.socket(socket.AF_UNIX)
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(str(control.path))
    slow.sendall(b"GET /v1/logs?follow=1&lines=0 HTTP/1.1\r\nHost: x\r\n\r\n")
    daemon.wait_log(lambda entry: "reader of the log is too slow" in entry.get("msg", ""), 60, "the slow reader cut off")
    before = time.monotonic()
    control.json("status")
    assert time.monotonic() - before < 5
    slow.close()


def test_another_user(hookd: StartHookd, control: Control, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    write_hook(tmp_path / "hooks", "true", {"schedule": [{"name": "tick", "every": "1h"}]})
    control.path = Path("/tmp") / f"hookd-test-{os.getpid()}.sock"
    start(hookd, control, tmp_path)
    assert control.path.stat().st_mode & 0o777 == 0o600
    program = tmp_path / "hookd"
    ask = ["setpriv", "--reuid", "65534", "--clear-groups", "curl", "-s", "--unix-socket", control.path, "http://x/v1/status"]
    assert subprocess.run(ask, capture_output=True).returncode == 7  # cannot connect
    control.path.chmod(0o666)
    assert "not uid 65534" in json.loads(subprocess.run(ask, capture_output=True, check=True).stdout)["error"]
    assert not program.exists()


def test_a_socket_that_is_taken(hookd: StartHookd, control: Control, tmp_path: Path) -> None:
    write_hook(tmp_path / "hooks", "true", {"schedule": [{"name": "tick", "every": "1h"}]})
    first = start(hookd, control, tmp_path)
    second = hookd(tmp_path / "hooks", flags=["--control", str(control.path)])
    assert second.wait_exit() == 1
    assert "another process listens there" in second.log.read_text()
    first.stop(signal.SIGKILL)
    assert control.path.exists()
    start(hookd, control, tmp_path)  # what a killed one left behind is replaced
    control.json("status")


def test_finding_a_daemon(hookd: StartHookd, control: Control, tmp_path: Path) -> None:
    """At the default places, whichever can be written; with several it asks which."""
    write_hook(tmp_path / "hooks", "true", {"schedule": [{"name": "tick", "every": "1h"}]})
    run = tmp_path / "run"
    run.mkdir()
    mine = {"XDG_RUNTIME_DIR": str(run)}
    first = hookd(tmp_path / "hooks", env=mine).wait_ready()
    assert (run / "hookd/hookd.sock").exists()
    second = hookd(tmp_path / "hooks", env=mine).wait_ready()
    several = control.run("status", env={**mine, "HOOKD_CONTROL": ""})
    assert several.returncode == 1
    for path in ("hookd/hookd.sock", f"hookd/hookd-{second.child.pid}.sock"):
        assert path in several.stderr
    found = control.run("status", "-o", "json", "--socket", str(run / "hookd/hookd.sock"), env=mine)
    assert json.loads(found.stdout)["pid"] == first.child.pid


def test_the_config_changes(cluster: Cluster, namespace: str, hookd: StartHookd, control: Control, tmp_path: Path) -> None:
    """As a ConfigMap mount does it: the link `..data` is swapped."""
    for name in ("hooks", "more"):
        write_hook(tmp_path / name, "true", {"watch": [watch("ConfigMap", namespace)]}, name=name)
    mount = tmp_path / "mount"
    mount.mkdir()
    version = 0

    def put(text: str) -> None:
        nonlocal version
        version += 1
        (mount / f"..{version}").mkdir()
        (mount / f"..{version}" / "hookd.yaml").write_text(text)
        (mount / "..new").symlink_to(f"..{version}")
        (mount / "..new").rename(mount / "..data")

    put(f"hooks: [{tmp_path}/hooks]\n")
    (mount / "hookd.yaml").symlink_to("..data/hookd.yaml")
    # Without --hooks, which would be stronger than the file.
    daemon = Hookd(tmp_path / "hooks", cluster.kubeconfig("admin"), tmp_path)
    hooks = daemon._command.index("--hooks")
    del daemon._command[hooks : hooks + 2]
    level = daemon._command.index("--log-level")
    del daemon._command[level : level + 2]
    daemon._command += ["--config", str(mount / "hookd.yaml"), "--control", str(control.path), "--grace", "7s"]
    try:
        daemon.start().wait_ready()
        opened = {watch["collection"]: watch["watchesOpened"] for watch in control.json("status")["watches"]}
        put(f"hooks: [{tmp_path}/hooks, {tmp_path}/more]\nlog: {{level: debug}}\nconcurrency: 3\nkube: {{qps: 7}}\ngrace: 9s\n")
        daemon.wait_for(lambda: len(control.json("status")["hooks"]) == 2, 20, "the second folder's hook")
        status = control.json("status")
        assert status["config"]["needsRestart"] == ["kube.qps"]
        assert {watch["collection"]: watch["watchesOpened"] for watch in status["watches"]} == opened  # no stream was opened anew
        changed = daemon.wait_log(lambda entry: entry.get("msg") == "the config changed", what="the change")
        assert changed["keys"] == "hooks, log.level, concurrency"  # grace: the flag is stronger

        put("hooks: 7\n")
        daemon.wait_for(lambda: control.json("status")["config"].get("problem"), 20, "the broken config")
        assert "degraded: the changed config is broken" in daemon.get("/readyz")[1]
        assert len(control.json("status")["hooks"]) == 2
        put(f"hooks: [{tmp_path}/more]\n")
        daemon.wait_for(lambda: [hook["name"] for hook in control.json("status")["hooks"]] == ["more"], 20, "the first folder's hook gone")
        assert "problem" not in control.json("status")["config"]

        (mount / "..data/hookd.yaml").write_text(f"hooks: [{tmp_path}/hooks]\n")
        daemon.child.signal(signal.SIGHUP)
        daemon.wait_for(lambda: [hook["name"] for hook in control.json("status")["hooks"]] == ["hooks"], 20, "the config after SIGHUP")
    finally:
        daemon.kill()
