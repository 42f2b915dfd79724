"""What happens to the examples memcached, config-monitor and redis from kubectl apply to the end. A story as in
example_stories.py; for the further tests of each there are test_memcached.py, test_config_monitor.py and test_redis.py."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cluster import Cluster
from example import Example, Kubelet
from process import Child, free_port
from workloads import Object

DEPLOYMENT = ("apps/v1", "deployments")


class Memcacheds(Example):
    KIND = ("cache.example.com/v1alpha1", "memcacheds")

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        super().__init__(cluster, namespace, "memcached")

    def put(self, size: int, name: str = "sessions") -> None:
        metadata = {"name": name, "namespace": self.namespace}
        self.cluster.apply({"apiVersion": self.KIND[0], "kind": "Memcached", "metadata": metadata, "spec": {"size": size}})

    def has(self, kubelet: Kubelet, size: int, name: str = "sessions") -> bool:
        """The Deployment is of that size and image, so many pods run, and just these stand in the status."""
        found, deployment = self.get(*self.KIND, name), self.get(*DEPLOYMENT, name)
        assert found and deployment, "not there yet"
        assert deployment["spec"]["replicas"] == size
        pods = kubelet.pods(f"cache.example.com/memcached={name}")
        assert [(pod["status"]["phase"], pod["metadata"].get("deletionTimestamp")) for pod in pods] == [("Running", None)] * size
        assert {pod["spec"]["containers"][0]["image"] for pod in pods} <= {"docker.io/library/memcached:1.6-alpine"}
        assert found.get("status", {}).get("nodes") == sorted(pod["metadata"]["name"] for pod in pods)
        return True


def memcached(world: Any) -> Iterator[None]:
    example = Memcacheds(world.cluster, world.namespace)
    world.at_end(example.close)
    kubelet = Kubelet(world.cluster, world.namespace, world.make_node())
    world.hooks = example.folder
    yield
    example.put(3)
    example.put(1, "other")
    yield
    kubelet.until(lambda: example.has(kubelet, 3) and example.has(kubelet, 1, "other"), 60, "three nodes and one")
    for size in (5, 1, 0, 2):
        example.put(size)
        yield
        kubelet.until(lambda size=size: example.has(kubelet, size), 60, f"{size} nodes")
    example.kubectl("scale", "deployment/sessions", "--replicas=4")
    yield
    kubelet.until(lambda: example.has(kubelet, 2), 60, "the size put right")
    example.kubectl("set", "image", "deployment/sessions", "memcached=example.com/other:1")
    yield
    kubelet.until(lambda: example.has(kubelet, 2), 60, "the image put right")
    example.kubectl("delete", "deployment/sessions")
    yield
    kubelet.until(lambda: example.has(kubelet, 2), 60, "the Deployment made anew")
    example.kubectl("delete", "memcached/sessions")
    yield
    kubelet.until(lambda: example.get(*DEPLOYMENT, "sessions") is None, 60, "the Deployment gone")
    kubelet.until(lambda: not kubelet.pods("cache.example.com/memcached=sessions"), 60, "its pods gone")
    assert example.has(kubelet, 1, "other")


# --- config-monitor --------------------------------------------------------------------------------------------------


class PodRepository:
    """A git repository with the spec of a pod in a file."""

    def __init__(self, folder: Path, file: str = "pod.yaml") -> None:
        self.folder, self.file = folder, folder / file
        self.file.parent.mkdir(parents=True)
        self._git("init", "--initial-branch", "main")

    @property
    def url(self) -> str:
        return f"file://{self.folder}"

    def commit(self, image: str) -> str:
        """The file's git id afterwards."""
        return self.commit_text(f"containers:\n  - name: web\n    image: {image}\n")

    def commit_text(self, text: str) -> str:
        self.file.write_text(text)
        self._git("add", "--all")
        self._git("commit", "--allow-empty", "--message", "config")
        return self._git("rev-parse", f"HEAD:{self.file.relative_to(self.folder)}")

    def _git(self, *words: str) -> str:
        person = {f"GIT_{who}_{what}": "ann@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        done = subprocess.run(["git", "-C", str(self.folder), *words], check=True, env={**os.environ, **person}, capture_output=True, text=True)
        return done.stdout.strip()


class MonitoredServices(Example):
    KIND = ("config.example.com/v1", "monitoredservices")

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        super().__init__(cluster, namespace, "config-monitor")

    def hooks(self, folder: Path) -> Path:
        """Looks every two seconds; an ssh that never answers."""
        ssh = '      GIT_SSH_COMMAND: "sleep 1000; true"\n'
        return self.changed(folder, {"resync: 30s": "resync: 2s", "      GIT_TERMINAL_PROMPT:": f"{ssh}      GIT_TERMINAL_PROMPT:"})

    def put(self, name: str, size: int, repo: str, **more: Any) -> None:
        metadata = {"name": name, "namespace": self.namespace}
        spec = {"size": size, "configRepo": repo, **more}
        self.cluster.apply({"apiVersion": self.KIND[0], "kind": "MonitoredService", "metadata": metadata, "spec": spec})

    def status(self, name: str) -> Object:
        return (self.get(*self.KIND, name) or {}).get("status", {})

    def runs(self, kubelet: Kubelet, name: str, size: int, image: str) -> bool:
        """All is through: `size` pods of that image run, no others do, and the status says so."""
        status = self.status(name)
        pods = kubelet.pods(f"config.example.com/service={name}")
        assert [pod["spec"]["containers"][0]["image"] for pod in pods] == [image] * size
        assert all(pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"] for pod in pods)
        assert status.get("configChanged") is False and status.get("ready") == size, status
        assert status["podSpec"]["containers"][0]["image"] == image
        return True


def config_monitor(world: Any) -> Iterator[None]:
    example = MonitoredServices(world.cluster, world.namespace)
    world.at_end(example.close)
    kubelet = Kubelet(world.cluster, world.namespace, world.make_node())
    shop, search = PodRepository(world.folder / "shop"), PodRepository(world.folder / "search", "conf/web.yaml")
    shop.commit("shop:1")
    search.commit("search:1")
    world.hooks = example.hooks(world.folder / "hooks")
    yield
    example.put("nowhere", 1, f"file://{world.folder}/nowhere")
    example.put("shop", 2, shop.url)
    example.put("search", 1, search.url, configFile="conf/web.yaml")
    yield
    kubelet.until(lambda: example.runs(kubelet, "shop", 2, "shop:1"), 60, "the first config")
    kubelet.until(lambda: example.runs(kubelet, "search", 1, "search:1"), 60, "the other service's")
    shop.commit("shop:2")
    search.commit("search:2")
    yield
    world.wait(lambda: example.status("shop")["podSpec"]["containers"][0]["image"] == "shop:2", 30, "the change seen")
    yield
    kubelet.until(lambda: example.runs(kubelet, "shop", 2, "shop:2") and example.runs(kubelet, "search", 1, "search:2"), 60, "rolled")
    example.put("shop", 4, shop.url)
    yield
    kubelet.until(lambda: example.runs(kubelet, "shop", 4, "shop:2"), 60, "four of them")
    example.kubectl("scale", "deployment/shop", "--replicas=1")
    yield
    kubelet.until(lambda: example.runs(kubelet, "shop", 4, "shop:2"), 60, "its size kept")
    example.kubectl("delete", "monitoredservice/shop")
    yield
    kubelet.until(lambda: example.get(*DEPLOYMENT, "shop") is None, 60, "the Deployment gone")
    kubelet.until(lambda: not kubelet.pods("config.example.com/service=shop"), 60, "its pods gone")
    assert example.runs(kubelet, "search", 1, "search:2")
    assert example.get(*DEPLOYMENT, "nowhere") is None


# --- redis -----------------------------------------------------------------------------------------------------------


def loopback(pod: str) -> str:
    """web-0 has 127.0.0.10, web-1 127.0.0.11, …"""
    return f"127.0.0.{10 + int(pod.rsplit('-', 1)[1])}"


class RedisServers:
    """redis-servers as the containers of the pods would start them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.children: dict[int, Child] = {}

    def start(self, number: int, password: str) -> None:
        home = self.folder / f"redis-{number}"
        home.mkdir(exist_ok=True)
        settings = f'port {self.port}\nbind {loopback(f"x-{number}")}\nsave ""\ndir {home}\nrepl-diskless-sync-delay 0\n'
        settings += f'requirepass "{password}"\nmasterauth "{password}"\n'
        if number:
            settings += f"replicaof {loopback('x-0')} {self.port}\n"
        (home / "redis.conf").write_text(settings)
        self.children[number] = Child(["redis-server", home / "redis.conf"], self.folder / f"redis-{number}.log")

    def kill(self, number: int) -> None:
        self.children.pop(number).kill()

    def close(self) -> None:
        for number in list(self.children):
            self.kill(number)


class Redises(Example):
    KIND = ("cache.example.com/v1", "redises")
    SET = ("apps/v1", "statefulsets")
    SERVICE = ("v1", "services")
    CHECK = 20  # seconds between two checks, as the hook says

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        super().__init__(cluster, namespace, "redis")

    def put(self, name: str = "cache", **spec: Any) -> None:
        metadata = {"name": name, "namespace": self.namespace}
        spec = {"replicas": 1, "passwordSecret": f"{name}-password", **spec}
        self.cluster.apply({"apiVersion": self.KIND[0], "kind": "Redis", "metadata": metadata, "spec": spec})

    def status(self, name: str = "cache") -> Object:
        return (self.get(*self.KIND, name) or {}).get("status", {})

    def states(self) -> list[str]:
        return [one["state"] for one in self.status().get("instances", [])]

    def password(self, secret: str = "cache-password") -> str | None:
        found = self.get("v1", "secrets", secret)
        return base64.b64decode(found["data"]["password"]).decode() if found else None

    def replicas(self, name: str = "cache") -> int | None:
        """Of the StatefulSet; None = there is none."""
        found = self.get(*self.SET, name)
        return found["spec"]["replicas"] if found else None


def redis(world: Any) -> Iterator[None]:
    example = Redises(world.cluster, world.namespace)
    world.at_end(example.close)
    kubelet = Kubelet(world.cluster, world.namespace, world.make_node(), loopback)
    servers = RedisServers(world.folder)
    world.at_end(servers.close)
    world.hooks = example.folder
    yield
    example.put(replicas=2, port=servers.port)
    yield
    secret = kubelet.until(example.password, 30, "the Secret made")
    assert secret and len(secret) == 32
    world.wait(lambda: example.status().get("health") == "Starting", 30, "the first look")
    servers.start(0, secret)
    servers.start(1, secret)
    yield
    kubelet.until(lambda: example.states() == ["master", "replica"], 3 * example.CHECK, "both instances seen")
    assert example.status()["health"] == "Healthy" and example.status()["up"] == 2
    servers.kill(1)
    yield
    world.wait(lambda: example.status()["health"] == "Degraded", example.CHECK + 10, "one instance missed")
    assert example.status()["why"] == "cache-1 is unreachable"
    example.kubectl("scale", "statefulset/cache", "--replicas=3")
    example.kubectl("delete", "service/cache")
    yield
    kubelet.until(lambda: example.replicas() == 2 and example.get(*example.SERVICE, "cache"), 60, "put right")
    example.put(replicas=1, port=servers.port, image="redis:8")
    yield
    kubelet.until(lambda: example.states() == ["master"] and len(kubelet.pods("cache.example.com/redis=cache")) == 1, 60, "one instance")
    assert example.password() == secret
    example.kubectl("delete", "redis/cache")
    yield
    kubelet.until(lambda: example.replicas() is None and not example.get(*example.SERVICE, "cache"), 60, "what was made gone")
    kubelet.until(lambda: example.password() is None and not kubelet.pods(), 60, "the Secret and the pods gone")
    assert world.daemon and secret not in world.daemon.log.read_text(), "the password is in the log"
