"""hooks-examples/redis on the real cluster, with real redis-servers behind its pods, besides its story: what it leaves alone,
deletions that are seen late, and SIGKILL of hookd at random moments."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cluster import Cluster
from example import ROUNDS, Kubelet, dice
from example_stories_operators import Redises, RedisServers, loopback
from hookd import Hookd, binary
from workloads import expect

pytestmark = pytest.mark.real_only("the StatefulSet controller makes the pods")
StartHookd = Callable[..., Hookd]


@pytest.fixture
def example(cluster: Cluster, namespace: str) -> Iterator[Redises]:
    made = Redises(cluster, namespace)
    yield made.give_rights()
    made.close()


@pytest.fixture
def kubelet(cluster: Cluster, namespace: str, make_node: Callable[..., str]) -> Kubelet:
    return Kubelet(cluster, namespace, make_node(), loopback)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[RedisServers]:
    assert shutil.which("redis-server"), "redis-server is needed: .ci/install-packages.sh"
    made = RedisServers(tmp_path)
    yield made
    made.close()


def calls(daemon: Hookd, hook: str) -> float:
    return sum(value for name, value in daemon.metrics().items() if name.startswith("hookd_calls_total{") and f'hook="{hook}"' in name)


def test_the_instances_themselves_are_asked(
    example: Redises, kubelet: Kubelet, hookd: StartHookd, servers: RedisServers, tmp_path: Path
) -> None:
    socket = tmp_path / "s"
    hooks = example.changed(tmp_path / "hooks", {"resync: 10m": "resync: 0s"})  # its look of every ten minutes would count as a call
    daemon = hookd(hooks, kubeconfig=example.kubeconfig(), flags=["--control", str(socket)]).wait_ready()
    example.put(replicas=2, port=servers.port)
    secret = kubelet.until(example.password, 30, "the Secret made")
    assert secret
    servers.start(0, secret)
    servers.start(1, secret)
    kubelet.until(lambda: example.states() == ["master", "replica"], 3 * example.CHECK, "both instances seen")
    assert example.status()["health"] == "Healthy" and example.status()["why"] == ""
    time.sleep(1)

    # The instances die one after the other, which no event of Kubernetes tells.
    before = calls(daemon, "redis")
    servers.kill(1)
    daemon.wait_for(lambda: example.status()["health"] == "Degraded", example.CHECK + 10, "one instance missed")
    servers.kill(0)
    daemon.wait_for(lambda: example.status()["health"] == "Down", example.CHECK + 10, "all missed")
    servers.start(0, secret)
    servers.start(1, "another password")
    daemon.wait_for(lambda: example.states() == ["master", "locked"], 2 * example.CHECK + 10, "back again")
    assert calls(daemon, "redis") == before, "a status called the hook that makes things"
    assert calls(daemon, "redis-health") >= 4
    for reason in ("Healthy", "Degraded", "Down"):
        assert example.cluster.events(example.namespace, reason), f"no Event {reason}"
    # Neither the log nor those who ask the daemon get to see it: not in the answer that made the Secret, not in the calls.
    assert secret not in daemon.log.read_text(), "the password is in the log"
    ask = [binary(), "runs", "-o", "json", "--socket", str(socket)]
    ids = [run["id"] for run in json.loads(subprocess.run(ask, check=True, capture_output=True, text=True).stdout)["runs"]]
    assert ids
    for shown in ([*ask, one, *more] for one in ids for more in ([], ["--input"])):
        text = subprocess.run(shown, check=False, capture_output=True, text=True).stdout
        assert text or "--input" in shown
        assert secret not in text and base64.b64encode(secret.encode()).decode() not in text, shown


def test_what_is_somebody_elses_is_left_alone(example: Redises, kubelet: Kubelet, hookd: StartHookd) -> None:
    example.cluster.make_statefulset(example.namespace, "cache", 1)
    mine = example.get(*example.SET, "cache")
    secret = {"metadata": {"name": "cache-password"}, "stringData": {"password": "mine"}}
    expect(example.cluster.api("POST", example.path("v1", "secrets"), secret), 201)
    daemon = hookd(example.folder, kubeconfig=example.kubeconfig()).wait_ready()
    example.put(replicas=3)
    daemon.wait_for(lambda: example.cluster.events(example.namespace, "ChildConflict"), 30, "the conflict told")
    time.sleep(2)
    now = example.get(*example.SET, "cache")
    assert mine and now and now["metadata"]["uid"] == mine["metadata"]["uid"] and now["spec"] == mine["spec"]
    assert "ownerReferences" not in now["metadata"] and example.password() == "mine"
    assert example.get(*example.SERVICE, "cache"), "what is free is made all the same"
    # When it goes, the own one comes.
    example.kubectl("delete", "statefulset/cache")
    kubelet.until(lambda: example.replicas() == 3, 60, "the own one")
    example.kubectl("delete", "redis/cache")
    kubelet.until(lambda: example.replicas() is None, 60, "the own one gone")
    assert example.password() == "mine"
    assert not example.forbidden(daemon)


@pytest.mark.parametrize("kept", ["forgetful", "with-stateDir"])
def test_a_delete_that_is_seen_late(example: Redises, kubelet: Kubelet, hookd: StartHookd, tmp_path: Path, kept: str) -> None:
    """Deleted while hookd is away, and one of them made again: the last state of the first one is known to nobody."""
    flags = ["--state-dir", str(tmp_path / "state")] if kept == "with-stateDir" else []
    daemon = hookd(example.folder, kubeconfig=example.kubeconfig(), flags=flags).wait_ready()
    example.put()
    example.put("other")
    old = kubelet.until(example.password, 30, "the Secret made")
    kubelet.until(lambda: example.replicas() == example.replicas("other") == 1, 30, "both there")
    daemon.kill()
    example.kubectl("delete", "redis/cache", "redis/other")
    kubelet.until(lambda: example.replicas() is None and example.replicas("other") is None and example.password() is None, 60, "collected")
    example.put()
    daemon.start().wait_ready()
    kubelet.until(lambda: example.replicas() == 1, 30, "the namesake's")
    new = kubelet.until(example.password, 30, "its Secret")
    time.sleep(1)
    assert new != old and example.replicas("other") is None and example.password("other-password") is None
    assert not [entry for entry in daemon.logs() if entry.get("level") == "error"], daemon.child.log_tail()
    code, text = daemon.get("/readyz")
    assert code == 200 and "degraded" not in text, text


def test_killed_at_random_moments(example: Redises, kubelet: Kubelet, hookd: StartHookd) -> None:
    chance = dice()
    daemon = hookd(example.folder, kubeconfig=example.kubeconfig()).wait_ready()
    replicas, passwords = 1, set()
    for _ in range(ROUNDS):
        replicas = chance.randrange(1, 4)
        example.put(replicas=replicas, port=1)  # nobody listens there
        kubelet.step()
        time.sleep(chance.uniform(0, 0.6))
        daemon.kill()
        passwords |= {example.password()} - {None}
        if chance.random() < 0.3:
            example.take_away("statefulset/cache")
        kubelet.step()
        daemon.start()

    def settled() -> bool:
        assert example.replicas() == replicas
        pods = kubelet.pods("cache.example.com/redis=cache")
        assert [pod["status"]["phase"] for pod in pods] == ["Running"] * replicas
        assert example.get(*example.SERVICE, "cache") and example.states() == ["unreachable"] * replicas
        return True

    kubelet.until(settled, 60, "what was wanted last")
    assert len(passwords | {example.password()}) == 1, "the password changed"
    daemon.kill()
    example.kubectl("delete", "redis/cache")
    daemon.start().wait_ready()
    kubelet.until(lambda: example.replicas() is None and example.password() is None and not kubelet.pods(), 60, "all gone")
    time.sleep(1)
    assert example.replicas() is None and example.password() is None, "it was made again"
    assert not example.forbidden(daemon)
