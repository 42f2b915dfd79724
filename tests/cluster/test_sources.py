"""Events from outside: real Redis, real git, files on a mount like a ConfigMap's, POSTs by curl, and programs that misbehave."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from hookd import ROOT, Hookd
from hooks import lines, write_hook
from process import Child, free_port, wait_for

StartHookd = Callable[..., Hookd]
EXAMPLES = ROOT / "hooks-examples"
# One jq a call: each event's data on a line of its own.
NOTE = "exec jq -c '.events[].data' >> {out}"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def source(tmp_path: Path, out: Path, hookd: StartHookd) -> Callable[..., Hookd]:
    """source(binding, script=…) -> hookd with a hook that has this one source and notes the data of its events."""

    def start(binding: dict[str, Any], script: str = NOTE, wait: bool = True, **run: Any) -> Hookd:
        write_hook(tmp_path / "hooks", script.format(out=out), {"source": [{"name": "in", **binding}]}, run=run)
        daemon = hookd(tmp_path / "hooks")
        return daemon.wait_ready() if wait else daemon

    return start


def program(folder: Path, text: str, name: str = "source.sh") -> Path:
    path = folder / name
    path.write_text("#!/bin/bash\n" + text)
    path.chmod(0o755)
    return path


def data(out: Path) -> list[Any]:
    return [json.loads(line) for line in lines(out)]


def metric(daemon: Hookd, name: str, **labels: str) -> float:
    inside = ",".join(f'{key}="{value}"' for key, value in sorted({"binding": "in", "hook": "probe", **labels}.items()))
    return daemon.metrics().get(f"{name}{{{inside}}}", 0)


# --- programs ------------------------------------------------------------------------------------------------------


def test_lines_are_json_text_or_binary(source: Callable, out: Path, tmp_path: Path) -> None:
    path = program(tmp_path, r"""printf '{"n": 1}\nplain text\n\n\xff\xfe\x00\n[2]\r\n'; exec sleep 1000""")
    daemon = source({"command": [str(path)]})
    daemon.wait_for(lambda: len(lines(out)) == 4, 20, "four events")
    assert data(out) == [{"n": 1}, "plain text", {"base64": "//4A"}, [2]]


def test_a_line_of_100_mb_is_skipped_without_being_kept(source: Callable, out: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    path = program(tmp_path, f"echo before; read -r _ < {go}; head -c 100M /dev/zero | tr '\\0' x; echo; echo after; exec sleep 1000")
    daemon = source({"command": [str(path)]})
    daemon.wait_for(lambda: len(lines(out)) == 1, 20, "the line before it")
    before = daemon.peak_memory()
    go.write_text("\n")
    daemon.wait_for(lambda: len(lines(out)) == 2, 60, "the lines around it")
    assert data(out) == ["before", "after"]
    assert metric(daemon, "hookd_source_dropped_total", why="too long") == 1
    assert daemon.peak_memory() - before < 40e6
    assert daemon.wait_log(lambda entry: "too long" in entry.get("msg", ""), 5)["bytes"] == 100 << 20


def test_a_flood_is_slowed_and_nothing_is_lost_nor_reordered(source: Callable, out: Path, tmp_path: Path) -> None:
    path = program(tmp_path, """seq 0 2999 | awk '{printf "{\\"n\\":%d,\\"pad\\":\\"%01000d\\"}\\n", $1, 0}'; exec sleep 1000""")
    script = "exec jq -c '.events[].data.n' >> {out}"
    daemon = source({"command": [str(path)], "buffer": 64}, script)
    waiting = []
    daemon.wait_for(lambda: waiting.append(metric(daemon, "hookd_source_waiting")) or metric(daemon, "hookd_source_paused") == 1, 20, "paused")
    daemon.wait_for(lambda: waiting.append(metric(daemon, "hookd_source_waiting")) or len(lines(out)) >= 3000, 240, "all of them")
    assert data(out) == list(range(3000))
    assert max(waiting) <= 64
    assert metric(daemon, "hookd_source_events_total") == 3000


def test_a_hook_that_stands_still_stops_an_endless_source(source: Callable, tmp_path: Path) -> None:
    path = program(tmp_path, "exec yes '{\"some\": \"line that never ends\"}'")
    daemon = source({"command": [str(path)]}, "exec sleep 1000", timeout="10m")
    daemon.wait_for(lambda: metric(daemon, "hookd_source_paused") == 1, 20, "paused")
    time.sleep(1)
    before = daemon.peak_memory()
    time.sleep(3)  # `yes` would write gigabytes in this time
    assert metric(daemon, "hookd_source_events_total") == 1024
    assert daemon.peak_memory() - before < 10e6


def test_a_program_that_dies_at_once_is_started_later_and_later(source: Callable, tmp_path: Path) -> None:
    stamps = tmp_path / "stamps"
    path = program(tmp_path, f"date +%s.%N >> {stamps}; echo 'cannot connect to the bus' >&2; exit 3")
    daemon = source({"command": [str(path)]})
    daemon.wait_for(lambda: len(lines(stamps)) >= 4, 30, "three more starts")
    times = [float(line) for line in lines(stamps)]
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    assert gaps[0] >= 0.9 and gaps[1] >= 1.8 and gaps[2] >= 3.6
    code, text = daemon.get("/readyz")
    assert code == 200 and "degraded: probe/in" in text and "exit code 3" in text and "cannot connect to the bus" in text


def test_the_program_ends_with_the_daemon_and_on_reload(source: Callable, out: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    path = program(tmp_path, f"echo $$ >> {pids}; trap 'echo bye; exit 0' TERM; echo hello; while :; do sleep 0.1; done")
    daemon = source({"command": [str(path)]})
    daemon.wait_for(lambda: lines(out) == ['"hello"'], 20, "its first line")
    hook = tmp_path / "hooks" / "probe" / "hook.yaml"
    hook.write_text(hook.read_text().replace('"in"', '"in", "buffer": 10'))
    daemon.wait_for(lambda: len(lines(pids)) == 2, 20, "the new version's program")
    # What it said at its end was handed over.
    daemon.wait_for(lambda: sorted(lines(out)) == ['"bye"', '"hello"', '"hello"'], 20, "its last words")
    first, second = map(int, lines(pids))
    assert not Path(f"/proc/{first}").exists()
    assert daemon.stop() == 0
    wait_for(lambda: not Path(f"/proc/{second}").exists(), 5, "the program gone", lambda: None)


# --- Redis ---------------------------------------------------------------------------------------------------------


class Redis:
    def __init__(self, folder: Path) -> None:
        self.port, self.folder = free_port(), folder
        self.child: Child | None = None

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)]
        self.child = Child(command, self.folder / "redis.log")
        wait_for(lambda: self.ask("ping") == "PONG", 20, "redis up", self.child.check_alive)

    def ask(self, *words: str) -> str:
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, check=False).stdout.strip()

    def publish(self, **user: Any) -> None:
        """Until somebody heard it: Redis forgets what it tells nobody."""
        wait_for(lambda: self.ask("publish", "users", json.dumps(user)) == "1", 30, "a listener", lambda: None)

    def kill(self) -> None:
        if self.child:
            self.child.kill()


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    assert shutil.which("redis-server"), "redis-server is needed: .ci/install-packages.sh"
    server = Redis(tmp_path)
    server.start()
    yield server
    server.kill()


def test_user_identity_survives_the_death_of_redis(cluster: Cluster, namespace: str, hookd: StartHookd, redis: Redis) -> None:
    cluster.kubectl("apply", "-f", str(EXAMPLES / "user-identity" / "crds"))
    env = {"REDIS_HOST": "127.0.0.1", "REDIS_PORT": str(redis.port)}
    daemon = hookd(EXAMPLES / "user-identity", env=env).wait_ready()

    def identity(name: str) -> Any:
        code, body = cluster.api("GET", f"/apis/identity.example.com/v1/useridentities/{name}")
        return body["spec"] if code == 200 else None

    def bound(name: str) -> bool:
        return all(
            cluster.api("GET", path)[0] == 200
            for path in (
                f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}",
                f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/user-{name}",
                f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/user-{name}",
            )
        )

    redis.publish(name="ann", team=namespace, access="read", email="ann@example.com")
    daemon.wait_for(lambda: bound("ann"), 30, "ann's rights")
    assert identity("ann") == {"team": namespace, "access": "read", "email": "ann@example.com"}

    redis.kill()
    daemon.wait_for(lambda: "degraded: user-identity/users" in daemon.get("/readyz")[1], 20, "the trouble told")
    assert daemon.get("/readyz")[0] == 200
    redis.start()
    redis.publish(name="ben", team=namespace, access="write")
    daemon.wait_for(lambda: bound("ben"), 40, "ben's rights")
    daemon.wait_for(lambda: "degraded" not in daemon.get("/readyz")[1], 30, "no trouble any more")

    redis.publish(name="ann", deleted=True)
    daemon.wait_for(lambda: identity("ann") is None and not bound("ann"), 30, "ann gone")
    assert bound("ben")
    redis.publish(name="ben", deleted=True)
    daemon.wait_for(lambda: identity("ben") is None, 30, "ben gone")


# --- git -----------------------------------------------------------------------------------------------------------


def test_config_watch_follows_a_repository(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    repo = tmp_path / "repo"
    author = {**os.environ, "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "a@example.com"}

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(repo), *words], check=True, env=author, capture_output=True)

    def commit(subject: str, **files: str) -> None:
        for name, text in files.items():
            (repo / name.replace("_", ".")).write_text(text)
        git("add", ".")
        git("commit", "-m", subject)

    repo.mkdir()
    git("init", "-b", "main")
    commit("first", config_yaml="replicas: 2\nlog: info\n")

    home = tmp_path / "hooks" / "config-watch"
    shutil.copytree(EXAMPLES / "config-watch", home)
    text = (home / "hook.yaml").read_text()
    for old, new in (
        ("https://git.example.com/shop/config.git", str(repo)),
        ('CONFIG_EVERY: "30"', 'CONFIG_EVERY: "1"'),
        ("CONFIG_MAP: default/", f"CONFIG_MAP: {namespace}/"),
        ("names: [default]", f"names: [{namespace}]"),
        ("namespaces: [default]", f"namespaces: [{namespace}]"),
    ):
        assert old in text
        text = text.replace(old, new)
    (home / "hook.yaml").write_text(text)
    daemon = hookd(home).wait_ready()

    def state() -> tuple[str, str, str] | None:
        code, found = cluster.api("GET", f"/api/v1/namespaces/{namespace}/configmaps/app-config")
        if code != 200:
            return None
        notes = found["metadata"]["annotations"]
        return found["data"]["config.yaml"], notes["config-watch/subject"], notes["config-watch/changed"]

    daemon.wait_for(lambda: state() == ("replicas: 2\nlog: info\n", "first", "+replicas: 2\n+log: info"), 30, "the first state")
    commit("more of it", config_yaml="replicas: 3\nlog: info\n")
    daemon.wait_for(lambda: state() == ("replicas: 3\nlog: info\n", "more of it", "-replicas: 2\n+replicas: 3"), 30, "the change")
    calls = len(daemon.logs(hook="config-watch", result="ok"))
    commit("something else", other_txt="x")
    time.sleep(3)
    assert len(daemon.logs(hook="config-watch", result="ok")) == calls, "a commit that did not touch the file called the hook"
    # While hookd is away the file changes: the snapshot tells what was before.
    daemon.stop()
    commit("meanwhile", config_yaml="replicas: 3\nlog: debug\n")
    daemon.start().wait_ready()
    daemon.wait_for(lambda: state() == ("replicas: 3\nlog: debug\n", "meanwhile", "-log: info\n+log: debug"), 30, "what was missed")


# --- files ---------------------------------------------------------------------------------------------------------


class Mount:
    """A folder as the kubelet keeps it for a ConfigMap: links through ..data, which is swapped."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.version = folder, 0
        folder.mkdir()

    def swap(self, **files: str) -> None:
        self.version += 1
        home = self.folder / f"..v{self.version}"
        home.mkdir()
        for name, text in files.items():
            (home / f"{name}.yaml").write_text(text)
        (self.folder / "..tmp").symlink_to(home.name)
        (self.folder / "..tmp").rename(self.folder / "..data")
        for name in files:
            link = self.folder / f"{name}.yaml"
            if not link.is_symlink():
                link.symlink_to(f"..data/{name}.yaml")
        for link in self.folder.glob("*.yaml"):
            if link.stem not in files:
                link.unlink()
        old = self.folder / f"..v{self.version - 1}"
        if old.exists():
            shutil.rmtree(old)


def test_a_file_on_a_configmap_mount(source: Callable, out: Path, tmp_path: Path) -> None:
    mount = Mount(tmp_path / "mount")
    mount.swap(app="one")
    path = str(tmp_path / "mount" / "app.yaml")
    script = "exec jq -c '.events[] | [.data.content, .oldData.content]' >> {out}"
    daemon = source({"file": path, "settle": "100ms"}, script)
    daemon.wait_for(lambda: data(out) == [["one", None]], 20, "what was there")
    mount.swap(app="two")
    daemon.wait_for(lambda: data(out)[1:] == [["two", "one"]], 20, "the swap")
    mount.swap(app="two")  # another version of the same content
    mount.swap(app="three")
    daemon.wait_for(lambda: data(out)[2:] == [["three", "two"]], 20, "the next swap")
    assert metric(daemon, "hookd_source_events_total") == 3


def test_a_folder_on_a_configmap_mount(source: Callable, out: Path, tmp_path: Path) -> None:
    mount = Mount(tmp_path / "mount")
    mount.swap(a="1", b="2")
    script = "exec jq -c '.events[].data | [.exists, (.files // {{}} | map_values(.content))]' >> {out}"
    daemon = source({"file": str(tmp_path / "mount"), "settle": "100ms"}, script)
    daemon.wait_for(lambda: data(out)[-1:] == [[True, {"a.yaml": "1", "b.yaml": "2"}]], 20, "what was there")
    mount.swap(a="1", c="3")
    daemon.wait_for(lambda: data(out)[-1:] == [[True, {"a.yaml": "1", "c.yaml": "3"}]], 20, "the swap")
    (tmp_path / "mount").rename(tmp_path / "away")
    daemon.wait_for(lambda: data(out)[-1:] == [[False, {}]], 20, "the folder gone")
    (tmp_path / "away").rename(tmp_path / "mount")
    daemon.wait_for(lambda: data(out)[-1:] == [[True, {"a.yaml": "1", "c.yaml": "3"}]], 20, "the folder back")


# --- POSTs ---------------------------------------------------------------------------------------------------------


class Poster:
    def __init__(self, daemon: Hookd, folder: Path, path: str = "/github") -> None:
        self.url, self.folder = f"http://127.0.0.1:{daemon.port}{path}", folder

    def __call__(self, body: bytes, *flags: str) -> int:
        file = self.folder / "body"
        file.write_bytes(body)
        command = ["curl", "-sS", "-o", str(self.folder / "answer"), "-w", "%{http_code}", "-H", "Expect:", "--data-binary", f"@{file}", *flags, self.url]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def signed(self, secret: str, body: bytes, *flags: str) -> int:
        signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        return self(body, "-H", f"X-Hub-Signature-256: sha256={signature}", *flags)


def test_posts_signed_as_github_signs(source: Callable, out: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("one\n")
    script = "exec jq -c '.events[].data | [.body, .query, .headers[\"x-github-event\"], .headers[\"x-hub-signature-256\"]]' >> {out}"
    daemon = source({"http": "/github", "secretFrom": {"file": str(secret)}}, script)
    post = Poster(daemon, tmp_path)
    event = ("-H", "X-GitHub-Event: push", "-H", "Content-Type: application/json")
    body = b'{"ref": "refs/heads/main",\n "n": 1}'
    assert post(body) == 401
    assert post.signed("other", body) == 401
    assert post.signed("one", body, *event, "-H", "X-GitHub-Delivery: d-1") == 202
    assert post.signed("one", body, *event, "-H", "X-GitHub-Delivery: d-1") == 409
    assert post.signed("one", body, *event, "-H", "X-GitHub-Delivery: d-2") == 409
    assert post.signed("one", b"{", *event) == 400
    assert post.signed("one", b"\xff\xfe") == 415
    assert post.signed("one", b"x" * 1_100_000) == 413
    assert post.signed("one", b"x" * 6_000_000) == 413
    assert post(b"", "-X", "GET") == 405
    secret.write_text("two")
    assert post.signed("one", b"2") == 401
    assert post.signed("two", b"2") == 202
    daemon.wait_for(lambda: len(lines(out)) == 2, 20, "two events")
    assert data(out) == [[{"ref": "refs/heads/main", "n": 1}, "", "push", None], [2, "", None, None]]
    assert daemon.get("/metrics")[0] == 200 and daemon.get("/nowhere")[0] == 404


def test_posts_checked_with_a_secret_of_the_cluster(cluster: Cluster, namespace: str, source: Callable, out: Path, tmp_path: Path) -> None:
    path = f"/api/v1/namespaces/{namespace}/secrets"
    binding = {"http": "/hand", "check": "bearer", "secretFrom": {"secret": f"{namespace}/push", "key": "token"}}
    daemon = source(binding, wait=False)
    daemon.wait_for(lambda: daemon.get("/healthz")[0] == 200, 20, "hookd up")
    post = Poster(daemon, tmp_path, "/hand")
    daemon.wait_for(lambda: f"{namespace}/push" in daemon.get("/readyz")[1], 20, "the missing Secret told")
    assert post(b"1", "-H", "Authorization: Bearer one") == 503
    assert cluster.api("POST", path, {"metadata": {"name": "push"}, "stringData": {"token": "one"}})[0] == 201
    daemon.wait_for(lambda: post(b"1", "-H", "Authorization: Bearer one") == 202, 30, "the Secret read")
    assert post(b"1", "-H", "Authorization: Bearer two") == 401
    cluster.kubectl("patch", "secret", "push", "-n", namespace, "--type=merge", "-p", '{"stringData":{"token":"two"}}')
    daemon.wait_for(lambda: post(b"2", "-H", "Authorization: Bearer two") == 202, 30, "the new Secret read")
    assert post(b"2", "-H", "Authorization: Bearer one") == 401
    daemon.wait_for(lambda: len(lines(out)) == 2, 20, "two events")


def test_posts_are_refused_while_too_many_wait(source: Callable, tmp_path: Path) -> None:
    daemon = source({"http": "/open", "check": "none", "buffer": 3}, "exec sleep 1000", timeout="10m")
    post = Poster(daemon, tmp_path, "/open")
    assert [post(str(number).encode()) for number in range(5)] == [202, 202, 202, 429, 429]
    assert daemon.get("/healthz")[0] == 200


def test_posts_are_answered_when_their_call_is_over(source: Callable, out: Path, tmp_path: Path) -> None:
    script = "body=$(jq -c '.events[].data.body'); echo $body >> {out}; [[ $body != 2 ]] || exit 65; [[ $body != 3 ]] || exec sleep 1000"
    daemon = source({"http": "/open", "check": "none", "reply": "handled", "replyTimeout": "1s"}, script, timeout="10m")
    post = Poster(daemon, tmp_path, "/open")
    assert [post(b"1"), post(b"2"), post(b"3")] == [200, 500, 504]
    assert data(out) == [1, 2, 3]
    assert daemon.get("/healthz")[0] == 200


def test_events_that_wait_are_handed_to_the_next_version(source: Callable, out: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    daemon = source({"http": "/open", "check": "none"}, f"while [[ ! -e {gate} ]]; do sleep 0.1; done; exec jq -c '.events[].data.body' >> {{out}}")
    post = Poster(daemon, tmp_path, "/open")
    assert [post(str(number).encode()) for number in range(3)] == [202] * 3
    hook = tmp_path / "hooks" / "probe" / "hook.yaml"
    hook.write_text(hook.read_text().replace('"command"', '"grace": "3s", "command"'))
    daemon.wait_log(lambda entry: "hook changed" in json.dumps(entry), 20)
    assert post(b"3") == 202  # while the old version's call still runs
    gate.touch()
    daemon.wait_for(lambda: data(out) == [0, 1, 2, 3], 20, "every event, in order")
    daemon.stop(signal.SIGTERM)
