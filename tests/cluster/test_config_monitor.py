"""hooks-examples/config-monitor on the real cluster, with real repositories, besides its story: repositories that hang, files
that are no config, and SIGKILL of hookd at random moments."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cluster import Cluster
from example import ROUNDS, Kubelet, dice
from example_stories_operators import DEPLOYMENT, MonitoredServices, PodRepository
from hookd import Hookd

pytestmark = pytest.mark.real_only("the Deployment controller moves the pods")
StartHookd = Callable[..., Hookd]


@pytest.fixture
def example(cluster: Cluster, namespace: str) -> Iterator[MonitoredServices]:
    made = MonitoredServices(cluster, namespace)
    yield made.give_rights()
    made.close()


@pytest.fixture
def kubelet(cluster: Cluster, namespace: str, make_node: Callable[..., str]) -> Kubelet:
    return Kubelet(cluster, namespace, make_node())


def test_the_ticks_reach_all_whoever_hangs(example: MonitoredServices, kubelet: Kubelet, hookd: StartHookd, tmp_path: Path) -> None:
    names = [f"shop-{number}" for number in range(5)]
    repositories = {name: PodRepository(tmp_path / name) for name in names}
    for name in names:
        repositories[name].commit(f"{name}:1")
        example.put(name, 1, repositories[name].url)
    for number in range(3):
        example.put(f"hangs-{number}", 1, "ssh://git.example.com/never/answers.git")
    daemon = hookd(example.hooks(tmp_path / "hooks"), kubeconfig=example.kubeconfig()).wait_ready()
    kubelet.until(lambda: all(example.runs(kubelet, name, 1, f"{name}:1") for name in names), 60, "all configured")
    ids = {name: repositories[name].commit(f"{name}:2") for name in names}
    begin = time.monotonic()
    kubelet.until(lambda: all(example.status(name)["config"] == ids[name] for name in names), 30, "all changes seen")
    assert time.monotonic() - begin < 15, "those that hang hold up the others"
    kubelet.until(lambda: all(example.runs(kubelet, name, 1, f"{name}:2") for name in names), 60, "all rolled")
    told = {event["involvedObject"]["name"] for event in example.cluster.events(example.namespace, "ConfigChanged")}
    assert told == set(names)
    # Pods were moved by the Deployment: it was changed, not made anew.
    assert all((example.get(*DEPLOYMENT, name) or {})["metadata"]["generation"] == 2 for name in names)
    assert all(example.get(*DEPLOYMENT, f"hangs-{number}") is None for number in range(3))
    assert not example.forbidden(daemon)


def test_a_file_that_is_no_config_changes_nothing(example: MonitoredServices, kubelet: Kubelet, hookd: StartHookd, tmp_path: Path) -> None:
    shop = PodRepository(tmp_path / "shop")
    shop.commit("shop:1")
    example.put("shop", 1, shop.url)
    daemon = hookd(example.hooks(tmp_path / "hooks"), kubeconfig=example.kubeconfig()).wait_ready()
    kubelet.until(lambda: example.runs(kubelet, "shop", 1, "shop:1"), 60, "the first config")
    for text, hook in (("containers: [", "config-follow"), ("- a\n- list\n", "config-follow"), ("contianers: []\n", "config-roll")):
        before = len(daemon.logs())
        shop.commit_text(text)
        daemon.wait_for(
            lambda before=before, hook=hook: [line for line in daemon.logs()[before:] if line.get("hook") == hook and line.get("level") in ("warn", "error")],
            20,
            f"told: {text!r}",
        )
        kubelet.step()
        deployment = example.get(*DEPLOYMENT, "shop")
        assert deployment and deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "shop:1"
    shop.commit("shop:2")
    kubelet.until(lambda: example.runs(kubelet, "shop", 1, "shop:2"), 90, "mended")


def test_killed_at_random_moments(example: MonitoredServices, kubelet: Kubelet, hookd: StartHookd, tmp_path: Path) -> None:
    chance = dice()
    shop = PodRepository(tmp_path / "shop")
    shop.commit("shop:0")
    daemon = hookd(example.hooks(tmp_path / "hooks"), kubeconfig=example.kubeconfig()).wait_ready()
    size = 1
    for number in range(1, ROUNDS + 1):
        shop.commit(f"shop:{number}")
        size = chance.randrange(1, 4)
        example.put("shop", size, shop.url)
        kubelet.step()
        time.sleep(chance.uniform(0, 1.5))
        daemon.kill()
        if chance.random() < 0.5:
            example.take_away("deployment/shop")
        kubelet.step()
        daemon.start()
    kubelet.until(lambda: example.runs(kubelet, "shop", size, f"shop:{ROUNDS}"), 90, "the last config in the last size")
    assert not example.forbidden(daemon)
