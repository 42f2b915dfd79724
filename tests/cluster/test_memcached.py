"""hooks-examples/memcached on the real cluster, besides its story: what it leaves alone, and SIGKILL of hookd at random
moments."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cluster import Cluster
from example import ROUNDS, Kubelet, dice
from example_stories_operators import DEPLOYMENT, Memcacheds
from hookd import Hookd
from workloads import Object, expect

pytestmark = pytest.mark.real_only("the Deployment controller makes the pods")
StartHookd = Callable[..., Hookd]


@pytest.fixture
def example(cluster: Cluster, namespace: str) -> Iterator[Memcacheds]:
    made = Memcacheds(cluster, namespace)
    yield made.give_rights()
    made.close()


@pytest.fixture
def kubelet(cluster: Cluster, namespace: str, make_node: Callable[..., str]) -> Kubelet:
    return Kubelet(cluster, namespace, make_node())


def test_where_all_is_well_nothing_is_written(example: Memcacheds, kubelet: Kubelet, hookd: StartHookd) -> None:
    daemon = hookd(example.folder, kubeconfig=example.kubeconfig()).wait_ready()
    example.put(2)
    kubelet.until(lambda: example.has(kubelet, 2), 60, "two nodes")
    time.sleep(1)
    before, deployment, mine = len(daemon.logs()), example.get(*DEPLOYMENT, "sessions"), example.get(*example.KIND, "sessions")
    assert deployment and mine
    example.kubectl("annotate", "memcached/sessions", "a=b")
    daemon.wait_for(lambda: [line for line in daemon.logs()[before:] if line.get("result") == "ok"], 20, "a call")
    time.sleep(1)
    assert not [line for line in daemon.logs()[before:] if "outcome" in line], "it writes although nothing is to be done"
    before = len(daemon.logs())
    daemon.restart().wait_ready()
    daemon.wait_for(lambda: [line for line in daemon.logs()[before:] if line.get("result") == "ok"], 20, "the call of the start")
    time.sleep(1)
    now, status = example.get(*DEPLOYMENT, "sessions"), (example.get(*example.KIND, "sessions") or {}).get("status")
    assert now and now["metadata"]["resourceVersion"] == deployment["metadata"]["resourceVersion"], "the Deployment was changed"
    assert status == mine["status"]


def deployment_of_somebody_else() -> Object:
    labels = {"app": "mine"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "mine", "image": "mine:1"}]}}
    return {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}


def twin(example: Memcacheds, daemon: Hookd) -> Object:
    """Just the spec that the hook would make, so that no field is in dispute."""
    example.put(3)
    made = daemon.wait_for(lambda: example.get(*DEPLOYMENT, "sessions"), 30, "the Deployment")
    example.kubectl("delete", "memcached/sessions")
    daemon.wait_for(lambda: example.get(*DEPLOYMENT, "sessions") is None, 60, "its end")
    return made["spec"]


@pytest.mark.parametrize("labelled", [False, True], ids=["not-followed", "followed"])
@pytest.mark.parametrize("what", ["something-else", "a-twin"])
def test_a_deployment_of_somebody_else_is_left_alone(example: Memcacheds, hookd: StartHookd, what: str, labelled: bool) -> None:
    """Also where the hook's labelSelector hides it from hookd."""
    daemon = hookd(example.folder, kubeconfig=example.kubeconfig()).wait_ready()
    labels = {"cache.example.com/memcached": "sessions"} if labelled else {}
    spec = twin(example, daemon) if what == "a-twin" else deployment_of_somebody_else()
    made = expect(example.cluster.api("POST", example.path(*DEPLOYMENT), {"metadata": {"name": "sessions", "labels": labels}, "spec": spec}), 201)
    example.put(3)
    daemon.wait_for(lambda: example.cluster.events(example.namespace, "ChildConflict"), 30, "the conflict told")

    def untouched() -> bool:
        time.sleep(2)
        now = example.get(*DEPLOYMENT, "sessions")
        return bool(now and now["metadata"]["uid"] == made["metadata"]["uid"] and now["spec"] == made["spec"] and "ownerReferences" not in now["metadata"])

    assert untouched()
    assert "degraded" in daemon.get("/readyz")[1] or [line for line in daemon.logs() if "ChildConflict" in str(line) or line.get("result") == "conflict"]
    example.kubectl("delete", "memcached/sessions")
    assert untouched(), "the end of the Memcached took it along"
    assert not example.forbidden(daemon)


@pytest.mark.parametrize("state", ["forgetful", "with-stateDir"])
def test_killed_at_random_moments(example: Memcacheds, kubelet: Kubelet, hookd: StartHookd, tmp_path: Path, state: str) -> None:
    chance = dice()
    flags = ["--state-dir", str(tmp_path / "state")] if state == "with-stateDir" else []
    daemon = hookd(example.folder, kubeconfig=example.kubeconfig(), flags=flags).wait_ready()
    size = 1
    for _ in range(ROUNDS):
        size = chance.choice([n for n in range(5) if n != size])
        example.put(size)
        if chance.random() < 0.3:
            example.take_away("deployment/sessions")
        kubelet.step()
        time.sleep(chance.uniform(0, 0.6))
        daemon.kill()
        kubelet.step()
        daemon.start()
    kubelet.until(lambda: example.has(kubelet, size), 60, "what was wanted last")
    daemon.kill()
    example.kubectl("delete", "memcached/sessions")
    daemon.start().wait_ready()
    kubelet.until(lambda: example.get(*DEPLOYMENT, "sessions") is None and not kubelet.pods(), 60, "all gone")
    time.sleep(1)
    assert example.get(*DEPLOYMENT, "sessions") is None, "it was made again"
    assert not example.forbidden(daemon)
