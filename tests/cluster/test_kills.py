"""SIGKILL at random moments, of hooks, workers, the daemon, the API server and a source: afterwards the last state of every
object was handled, no namesake was deleted in the place of another, and no process is left.

HOOKD_KILL_ROUNDS: kills in each test (default 12; the full test is 200). HOOKD_KILL_SEED: to repeat a run; it is printed.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from hookd import Hookd
from hooks import lines, watch, write_hook
from process import Child, free_port, wait_for
from workloads import MERGE_PATCH, expect

StartHookd = Callable[..., Hookd]
ROUNDS = int(os.environ.get("HOOKD_KILL_ROUNDS", "12"))

# Writes down its pid and what it saw, marks what it handled, deletes what is doomed. Without uid: hookd must know which one is meant.
HOOK = """
import json, os, sys, time
def note(name, text):
    with open(os.path.join(os.environ["OUT"], name), "a") as out:
        out.write(text + "\\n")
def answer(call):
    operations = []
    for event in call["events"]:
        thing = event.get("object") or {}
        meta, data = thing.get("metadata", {}), thing.get("data") or {}
        if event["type"] == "Deleted" or not data:
            continue
        about = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": meta["namespace"], "name": meta["name"]}
        if data.get("doomed") == "yes":
            operations.append({"operation": "Delete", **about})
        elif data.get("n") != (meta.get("annotations") or {}).get("handled"):
            operations.append({"operation": "Annotate", **about, "annotations": {"handled": data["n"]}, "uid": meta["uid"]})
    time.sleep(float(os.environ["TAKES"]))
    return operations
note("pids", str(os.getpid()))
if os.environ.get("WORKER"):
    for line in sys.stdin:
        call = json.loads(line)
        print(json.dumps({"id": call["id"], "operations": answer(call)}), flush=True)
else:
    for operation in answer(json.load(sys.stdin)):
        print(json.dumps(operation))
"""


def seed() -> random.Random:
    number = int(os.environ.get("HOOKD_KILL_SEED") or random.randrange(1 << 32))
    print(f"HOOKD_KILL_SEED={number}")
    return random.Random(number)


def is_ours(pid: int, folder: Path) -> bool:
    """Does it run, and is it one of this test's? A number may be a stranger's by now."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return f"OUT={folder}".encode() in environment.split(b"\0") and state not in "ZX"


def left_over(folder: Path) -> list[int]:
    return [pid for pid in {int(line) for line in lines(folder / "pids") if line.isdigit()} if is_ours(pid, folder)]


class Story:
    """Objects that change while things are killed, and what must be true afterwards."""

    def __init__(self, cluster: Cluster, namespace: str, chance: random.Random) -> None:
        self.cluster, self.namespace, self.chance = cluster, namespace, chance
        self.path = f"/api/v1/namespaces/{namespace}/configmaps"
        self.names = [f"c{number}" for number in range(8)]
        self.n = 0
        self.doomed: set[str] = set()
        self.keep: dict[str, str] = {}  # names that were doomed -> uid of the namesake that must live
        for name in self.names:
            cluster.make_config_map(namespace, name, n="0")

    def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> tuple[int, Any]:
        """The server may be killed at the moment."""
        with contextlib.suppress(OSError):
            return self.cluster.api(method, path, body, content_type)
        return 0, None

    def go_on(self) -> None:
        self.n += 1
        for name in self.chance.sample(self.names, 3):
            self.call("PATCH", f"{self.path}/{name}", {"data": {"n": str(self.n)}}, MERGE_PATCH)
        if self.chance.random() < 0.3:  # deleted and made anew
            name = self.chance.choice(self.names)
            self.call("DELETE", f"{self.path}/{name}")
            self.make(name, {"n": str(self.n)})
        name = f"d{self.n}"
        if self.make(name, {"doomed": "yes"}):
            self.doomed.add(name)
        self.bring_namesakes()

    def make(self, name: str, data: dict[str, str]) -> str | None:
        code, made = self.call("POST", self.path, {"metadata": {"name": name}, "data": data})
        return made["metadata"]["uid"] if code == 201 else None

    def bring_namesakes(self) -> None:
        for name in sorted(self.doomed):
            if self.call("GET", f"{self.path}/{name}")[0] != 404:
                continue
            if uid := self.make(name, {"n": "0"}):
                self.doomed.discard(name)
                self.keep[name] = uid

    def all_is_well(self) -> bool:
        self.bring_namesakes()
        assert not self.doomed, f"not deleted yet: {self.doomed}"
        items = {one["metadata"]["name"]: one for one in expect(self.cluster.api("GET", self.path))["items"]}
        for name in self.names:
            if name not in items:  # its second half was lost with the server
                assert self.make(name, {"n": str(self.n)}), f"{name} could not be made"
                raise AssertionError(f"{name} was just made")
        for name, one in items.items():
            if name == "kube-root-ca.crt":
                continue
            handled = one["metadata"].get("annotations", {}).get("handled")
            assert handled == one["data"].get("n"), f"{name} is at {one['data']}, handled was {handled}"
        return True

    def check_namesakes(self) -> None:
        items = {one["metadata"]["name"]: one["metadata"]["uid"] for one in expect(self.cluster.api("GET", self.path))["items"]}
        assert self.keep, "the story had no namesakes"
        for name, uid in self.keep.items():
            assert items.get(name) == uid, f"the namesake {name} ({uid}) was deleted in the place of the one before it"


def write_kill_hook(tmp_path: Path, namespace: str, **more: Any) -> Path:
    out = tmp_path / "out"
    out.mkdir()
    run = {"command": ["python3", "./hook.py"], "env": {"OUT": str(out), "TAKES": "0.02"}, "timeout": "10s"}
    for key, value in more.pop("run", {}).items():
        run[key] = {**run[key], **value} if key == "env" else value
    spec = {"concurrency": 4, "watch": [watch("ConfigMap", namespace)], "retry": {"initial": "50ms", "max": "1s"}, **more}
    home = write_hook(tmp_path / "hooks", "", spec, "killed", run)
    (home / "hook.py").write_text(HOOK)
    return out


def end_well(story: Story, daemon: Hookd, out: Path) -> None:
    daemon.wait_for(story.all_is_well, 60, "the last state of every object handled")
    time.sleep(1)  # what would still come
    assert story.all_is_well()
    story.check_namesakes()
    assert daemon.stop() == 0
    wait_for(lambda: not left_over(out), 15, "no process left over")


@pytest.mark.parametrize("mode", ["once", "worker"])
@pytest.mark.parametrize("own_writes", ["deliver", "ignore"])
def test_hooks_killed(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd, mode: str, own_writes: str) -> None:
    chance = seed()
    worker = {"mode": "worker", "workers": 2, "env": {"WORKER": "1"}} if mode == "worker" else {}
    out = write_kill_hook(tmp_path, namespace, run=worker, watch=[watch("ConfigMap", namespace, ownWrites=own_writes)])
    story = Story(cluster, namespace, chance)
    daemon = hookd(tmp_path / "hooks").wait_ready()
    kills = 0
    for _ in range(20 * ROUNDS):
        if kills >= ROUNDS:
            break
        story.go_on()
        time.sleep(chance.uniform(0, 0.15))
        running = left_over(out)
        if running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(running), signal.SIGKILL)
                kills += 1
    assert kills >= ROUNDS
    end_well(story, daemon, out)


@pytest.mark.parametrize("state", ["forgetful", "with-stateDir"])
def test_the_daemon_killed(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd, state: str) -> None:
    chance = seed()
    out = write_kill_hook(tmp_path, namespace, watch=[watch("ConfigMap", namespace, ownWrites=chance.choice(["deliver", "ignore"]))])
    flags = ["--state-dir", str(tmp_path / "state")] if state == "with-stateDir" else []
    story = Story(cluster, namespace, chance)
    daemon = hookd(tmp_path / "hooks", flags=flags).wait_ready()
    for _ in range(ROUNDS):
        for _ in range(chance.randrange(1, 4)):
            story.go_on()
        time.sleep(chance.uniform(0, 0.5))
        daemon.kill()
        story.go_on()  # while it is down
        time.sleep(chance.uniform(0, 0.1))
        daemon.start()
    end_well(story, daemon, out)


def test_the_api_server_killed(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    chance = seed()
    out = write_kill_hook(tmp_path, namespace, watch=[watch("ConfigMap", namespace, ownWrites=chance.choice(["deliver", "ignore"]))])
    story = Story(cluster, namespace, chance)
    daemon = hookd(tmp_path / "hooks").wait_ready()
    for _ in range(max(2, ROUNDS // 10)):  # the real one takes 10 s to be back
        for _ in range(3):
            story.go_on()
        time.sleep(chance.uniform(0, 0.3))
        cluster.kill_apiserver()
        story.go_on()
        cluster.start_apiserver()
    end_well(story, daemon, out)


def test_a_daemon_that_is_killed_leaves_no_worker_behind(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    """A hook of mode once ends by itself, at the latest when it writes: there is nobody who could end it."""
    out = write_kill_hook(tmp_path, namespace, run={"mode": "worker", "workers": 2, "env": {"WORKER": "1", "TAKES": "1"}})
    cluster.make_config_map(namespace, "a", n="1")
    daemon = hookd(tmp_path / "hooks").wait_ready()
    daemon.wait_for(lambda: left_over(out), 10, "a worker")
    daemon.kill()
    wait_for(lambda: not left_over(out), 10, "the workers gone with their daemon")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Callable[[], Child]]:
    if not (shutil.which("redis-server") and shutil.which("redis-cli")):
        pytest.skip("there is no redis-server (Debian: redis-server, redis-tools)")
    port, started = free_port(), []

    def start() -> Child:
        log = tmp_path / "redis.log"
        started.append(
            Child(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(tmp_path)], log)
        )
        started[-1].port = port  # type: ignore[attr-defined]
        return started[-1]

    yield start
    for one in started:
        one.kill()


def test_a_source_killed(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd, redis: Callable[[], Child]) -> None:
    """What Redis took for a subscriber is handled, however often Redis and the subscriber die."""
    chance = seed()
    server = redis()
    port = str(server.port)  # type: ignore[attr-defined]
    out = tmp_path / "out"
    script = f"jq -r '.events[] | select(.type == \"Source\") | .data | tostring' >> {out}"
    subscribe = f"exec redis-cli -p {port} --csv SUBSCRIBE words"
    spec = {
        "source": [{"name": "words", "command": ["bash", "-c", subscribe]}],
        "retry": {"initial": "50ms", "max": "1s"},
    }
    write_hook(tmp_path / "hooks", script, spec, "words")
    daemon = hookd(tmp_path / "hooks").wait_ready()
    sent: list[str] = []

    def publish(word: str) -> bool:
        done = subprocess.run(["redis-cli", "-p", port, "PUBLISH", "words", word], capture_output=True, text=True, timeout=10, check=False)
        return done.stdout.strip() == "1"

    def publish_until_taken(word: str) -> None:
        wait_for(lambda: publish(word), 60, "a subscriber")
        sent.append(word)

    for number in range(max(3, ROUNDS // 5)):
        for part in range(3):
            publish_until_taken(f"w{number}-{part}")
        time.sleep(chance.uniform(0, 0.1))
        server.kill()
        server = redis()

    def all_told() -> bool:
        told = "\n".join(lines(out))
        missing = [word for word in sent if word not in told]
        assert not missing, f"not handled: {missing}"
        return True

    daemon.wait_for(all_told, 30, "every word handled")
