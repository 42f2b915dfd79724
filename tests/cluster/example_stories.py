"""What happens to each example of hooks-examples, step by step, as people and controllers do it.

A story is a generator. It makes what must be there before, sets `world.hooks`, and yields: hookd is started. Each further
yield stands between a cause and what must follow: there hookd may be killed and started anew.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import controllers
import example_stories_operators as operators
import yaml
from cluster import Cluster
from hookd import ROOT, Hookd
from process import Child, free_port, wait_for
from workloads import UNREACHABLE, Object, expect, pods

T = TypeVar("T")
EXAMPLES = ROOT / "hooks-examples"


class World:
    def __init__(self, cluster: Cluster, namespace: str, folder: Path, make_node: Callable[..., str]) -> None:
        self.cluster, self.namespace, self.folder, self.make_node = cluster, namespace, folder, make_node
        self.hooks = EXAMPLES
        self.flags: list[str] = []
        self.env: dict[str, str] = {}
        self.daemon: Hookd | None = None
        self._later: list[Callable[[], object]] = []

    # --- what was put there for the story goes afterwards, the last first ---

    def later(self, *kubectl: str) -> None:
        self.at_end(lambda: self.cluster.kubectl(*kubectl, "--ignore-not-found", "--wait=false"))

    def at_end(self, what: Callable[[], object]) -> None:
        self._later.append(what)

    def clean_up(self) -> None:
        for what in reversed(self._later):
            with contextlib.suppress(Exception):
                what()

    # --- the example's files ---

    def example(self, name: str, *replaced: tuple[str, str]) -> Path:
        """A copy of the folder, in which hook.yaml says what a person would have put in."""
        home = self.folder / "hooks" / name
        shutil.copytree(EXAMPLES / name, home)
        file = home / "hook.yaml"
        text = file.read_text()
        for old, new in replaced:
            assert old in text, old
            text = text.replace(old, new)
        file.write_text(text)
        return home

    def definitions(self, *files: Path) -> None:
        """CustomResourceDefinitions, which stay until the story is over."""
        for file in files:
            self.cluster.kubectl("apply", "-f", str(file))
            self.cluster.kubectl("wait", "--for=condition=Established", "-f", str(file))
            self.later("delete", "-f", str(file))

    # --- the cluster ---

    def apply(self, manifest: Object) -> None:
        def sent() -> bool:
            try:
                self.cluster.apply(manifest)
            except RuntimeError as error:  # a kind that was defined a moment ago may not be served yet
                raise AssertionError(str(error)) from error
            return True

        self.wait(sent, 20, f"{manifest['kind']} applied")

    def get(self, path: str) -> Any:
        """The object or list, None = there is none."""
        code, found = self.cluster.api("GET", path)
        return None if code == 404 else expect((code, found))

    def patch(self, path: str, body: Object, content_type: str = "application/merge-patch+json") -> Object:
        return expect(self.cluster.api("PATCH", path, body, content_type))

    def delete(self, path: str) -> None:
        assert self.cluster.api("DELETE", path)[0] in (200, 202, 404)

    def wait(self, predicate: Callable[[], T], timeout: float, what: str) -> T:
        return self.daemon.wait_for(predicate, timeout, what) if self.daemon else self.cluster.wait_for(predicate, timeout, what)

    def calls(self, hook: str, result: str = "ok") -> int:
        assert self.daemon
        return len(self.daemon.logs(hook=hook, result=result))


@dataclass
class Story:
    tell: Callable[[World], Iterator[None]]
    real_only: bool = False  # kube-controller-manager plays a part
    moved: bool = False  # the story puts its own namespace in the place of the example's, so the Roles are there


def named(found: Object | None, *path: str) -> Any:
    """A field below; None where there is none."""
    value: Any = found
    for name in path:
        value = (value or {}).get(name)
    return value


def crd_watch(world: World) -> Iterator[None]:
    world.hooks = EXAMPLES / "crd-watch"
    world.definitions(*sorted((world.hooks / "crds").glob("*.yaml")))
    backups = f"/apis/example.com/v1alpha1/namespaces/{world.namespace}/backups"
    deployments = f"/apis/machinelearning.seldon.io/v1/namespaces/{world.namespace}/seldondeployments"

    def deployment(name: str, **annotations: str) -> Object:
        return {
            "apiVersion": "machinelearning.seldon.io/v1",
            "kind": "SeldonDeployment",
            "metadata": {"name": name, "namespace": world.namespace, "annotations": annotations},
            "spec": {"predictors": [{"name": "main", "replicas": 1}]},
        }

    def keep() -> Any:
        return named(world.get(f"{backups}/iris"), "spec", "keep")

    policy = {"apiVersion": "example.com/v1", "kind": "BackupPolicy", "metadata": {"name": "default"}, "spec": {"schedule": "30 2 * * *", "keep": 14}}
    world.apply(policy)
    world.later("delete", "backuppolicies.example.com", "default")
    yield
    world.apply(deployment("iris"))
    world.apply(deployment("scratch", **{"example.com/backup": "no"}))
    yield
    backup = world.wait(lambda: world.get(f"{backups}/iris"), 30, "the backup of iris")
    assert backup["spec"]["keep"] == 14 and backup["spec"]["source"]["name"] == "iris"
    world.apply({**policy, "spec": {"schedule": "30 2 * * *", "keep": 30}})
    yield
    # hookd was away while the policy changed: at its start each deployment has a call, so nothing is missed.
    world.wait(lambda: keep() == 30, 30, "the backup as the new policy says")
    uid = world.get(f"{backups}/iris")["metadata"]["uid"]
    world.delete(f"{backups}/iris")
    yield
    world.wait(lambda: named(world.get(f"{backups}/iris"), "metadata", "uid") not in (None, uid), 30, "the backup made anew")
    assert world.get(f"{backups}/scratch") is None
    world.delete(f"{deployments}/iris")
    yield
    world.wait(lambda: world.get(f"{backups}/iris") is None, 60, "the backup gone with its deployment")


def workers(language: str) -> Callable[[World], Iterator[None]]:
    def tell(world: World) -> Iterator[None]:
        world.hooks = EXAMPLES / "workers" / language
        path = f"/api/v1/namespaces/{world.namespace}"

        def owner() -> Any:
            return named(world.get(path), "metadata", "labels", "owner")

        yield
        world.wait(lambda: owner() == "unassigned", 60, "the namespace labelled")
        world.patch(path, {"metadata": {"labels": {"owner": None}}})
        yield
        world.wait(lambda: owner() == "unassigned", 30, "the label anew")

    return tell


def force_delete(variant: str) -> Callable[[World], Iterator[None]]:
    def tell(world: World) -> Iterator[None]:
        world.hooks = EXAMPLES / "statefulset-force-delete" / variant
        cluster, namespace = world.cluster, world.namespace
        lost, healthy = world.make_node(), world.make_node()
        uids = {}
        for name, node in (("lost", lost), ("healthy", healthy)):
            cluster.make_statefulset(namespace, name, 1, grace=1)
            uids[name] = cluster.bind_and_run(namespace, f"{name}-0", node)["metadata"]["uid"]
        yield
        cluster.set_taints(lost, [UNREACHABLE])
        yield
        begin = time.monotonic()
        for name in uids:
            cluster.delete_pod(namespace, f"{name}-0")
        yield
        time.sleep(max(0.0, begin + 20 - time.monotonic()))  # the rule is about real seconds
        yield
        cluster.wait_for_pod(namespace, "lost-0", other_than=uids["lost"], timeout=40)
        assert time.monotonic() - begin > 30, "too early"
        world.wait(lambda: cluster.events(namespace, "ForceDeleted"), 10, "the Event")
        yield
        time.sleep(2)
        assert cluster.wait_for_pod(namespace, "healthy-0")["metadata"]["uid"] == uids["healthy"]

    return tell


def config_watch(world: World) -> Iterator[None]:
    repo = Repository(world.folder / "repo")
    repo.commit("first", config_yaml="replicas: 2\nlog: info\n")
    world.hooks = world.example(
        "config-watch",
        ("https://git.example.com/shop/config.git", str(repo.folder)),
        ('CONFIG_EVERY: "30"', 'CONFIG_EVERY: "1"'),
        ("CONFIG_MAP: default/", f"CONFIG_MAP: {world.namespace}/"),
        ("names: [default]", f"names: [{world.namespace}]"),
        ("namespaces: [default]", f"namespaces: [{world.namespace}]"),
    )

    def state() -> Any:
        found = world.cluster.config_map(world.namespace, "app-config")
        return found and (found["data"]["config.yaml"], found["metadata"]["annotations"]["config-watch/subject"])

    yield
    world.wait(lambda: state() == ("replicas: 2\nlog: info\n", "first"), 30, "the first state")
    repo.commit("more of it", config_yaml="replicas: 3\nlog: info\n")
    yield
    world.wait(lambda: state() == ("replicas: 3\nlog: info\n", "more of it"), 30, "the change")
    world.cluster.kubectl("delete", "configmap", "app-config", "-n", world.namespace)
    repo.commit("and more", config_yaml="replicas: 4\n")
    yield
    world.wait(lambda: state() == ("replicas: 4\n", "and more"), 30, "what came last")


class Repository:
    """A git repository that people commit to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._git("init", "-b", "main")

    def commit(self, subject: str, **files: str) -> None:
        """`config_yaml="…"` is config.yaml."""
        for name, text in files.items():
            (self.folder / name.replace("_", ".")).write_text(text)
        self._git("add", ".")
        self._git("commit", "-m", subject)

    def _git(self, *words: str) -> None:
        person = {"NAME": "Ann", "EMAIL": "a@example.com"}
        env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in person.items()}
        subprocess.run(["git", "-C", str(self.folder), *words], check=True, env={**os.environ, **env}, capture_output=True)


def evictor(world: World) -> Iterator[None]:
    """A Deployment of two pods, of which one leaks, behind a budget; what metrics-server would say is put there by hand."""
    cluster, namespace = world.cluster, world.namespace
    world.hooks = world.example("evictor", ("every: 30s", "every: 1s"), ("retry: {initial: 5s, max: 1m}", "retry: {initial: 500ms, max: 1s}"))
    world.definitions(EXAMPLES / "evictor" / "metrics-stub.yaml")
    labels = {"app": "web", "example.com/evict-on-leak": "true"}
    container = {"name": "main", "image": "registry.invalid/web:1", "resources": {"limits": {"memory": "1Gi"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    world.apply({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": namespace},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    })  # fmt: skip
    budget = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/web"
    world.apply({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": namespace},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    })  # fmt: skip
    found = world.wait(lambda: (items := expect(cluster.api("GET", pods(namespace)))["items"]) and len(items) == 2 and items, 30, "two pods")
    node = world.make_node()
    leaky, steady = (cluster.bind_and_run(namespace, pod["metadata"]["name"], node) for pod in found)
    world.wait(lambda: named(world.get(budget), "status", "currentHealthy") == 2, 30, "both pods healthy")
    begin = datetime.datetime.fromisoformat(leaky["metadata"]["creationTimestamp"].replace("Z", "+00:00"))

    def samples(minute: int, **mebibytes: float) -> None:
        for name, memory in mebibytes.items():
            world.apply({
                "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
                "metadata": {"name": name, "namespace": namespace, "labels": labels},
                "timestamp": (begin + datetime.timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ"), "window": "15s",
                "containers": [{"name": "main", "usage": {"memory": f"{memory}Mi"}}],
            })  # fmt: skip

    def mark(pod: Object) -> Any:
        return named(cluster.get_pod(namespace, pod["metadata"]["name"]), "metadata", "annotations", "example.com/memory-leak")

    yield
    for minute in range(1, 11):
        samples(minute, **{leaky["metadata"]["name"]: 700 + 6 * minute, steady["metadata"]["name"]: 760 + 40 * (minute % 2)})
        yield
        seen = world.calls("leak-finder") + 2  # one may have begun before the samples came
        world.wait(lambda seen=seen: world.calls("leak-finder") >= seen, 30, "the samples read")
    world.wait(lambda: mark(leaky), 30, "the leak found")
    yield
    assert world.daemon
    world.daemon.wait_log(lambda line: "allows no disruption now" in line.get("msg", ""), 30, "the budget respected")
    world.wait(lambda: cluster.events(namespace, "MemoryLeak"), 10, "the Event")
    assert "deletionTimestamp" not in cluster.wait_for_pod(namespace, leaky["metadata"]["name"])["metadata"]
    world.patch(budget, {"spec": {"minAvailable": 1}})
    yield

    def evicted() -> bool:
        pod = cluster.get_pod(namespace, leaky["metadata"]["name"])
        return pod is None or "deletionTimestamp" in pod["metadata"]

    world.wait(evicted, 30, "the eviction")
    cluster.delete_pod(namespace, leaky["metadata"]["name"], grace=0)  # the kubelet says that it has ended
    yield
    names = {pod["metadata"]["name"] for pod in (leaky, steady)}
    new = world.wait(
        lambda: {pod["metadata"]["name"] for pod in expect(cluster.api("GET", pods(namespace)))["items"]} - names, 30, "a new pod in its place"
    )
    assert len(new) == 1 and mark(steady) is None


def projects(world: World) -> Iterator[None]:
    """The same for both variants of project-namespace."""
    name = f"p{time.monotonic_ns() % 10**9}"
    project, namespace = f"/apis/example.com/v1/projects/{name}", f"/api/v1/namespaces/proj-{name}"
    world.later("delete", "projects.example.com", name)
    world.later("delete", "namespace", f"proj-{name}")

    def annotations() -> Any:
        notes = named(world.get(namespace), "metadata", "annotations") or {}
        return notes.get("example.com/description"), notes.get("example.com/license")

    yield
    manifest = {"apiVersion": "example.com/v1", "kind": "Project", "metadata": {"name": name}, "spec": {"description": "Maps", "license": "MIT"}}
    world.apply(manifest)
    yield
    world.wait(lambda: annotations() == ("Maps", "MIT"), 30, "the namespace")
    world.wait(lambda: named(world.get(project), "status", "phase") == "Active", 30, "the status")
    assert named(world.get(project), "status", "namespace") == f"proj-{name}"
    world.apply({**manifest, "spec": {"description": "Maps for everyone", "license": "MIT"}})
    yield
    world.wait(lambda: annotations() == ("Maps for everyone", "MIT"), 30, "the new description")
    world.patch(namespace, {"metadata": {"annotations": {"example.com/license": "none", "a.person/says": "hello"}}})
    yield
    world.wait(lambda: annotations() == ("Maps for everyone", "MIT"), 30, "what a person changed taken back")
    assert world.get(namespace)["metadata"]["annotations"]["a.person/says"] == "hello"
    world.delete(project)
    yield
    world.wait(lambda: world.get(project) is None and world.get(namespace) is None, 60, "all gone")


def project_namespace_native(world: World) -> Iterator[None]:
    world.hooks = EXAMPLES / "project-namespace" / "native"
    world.definitions(EXAMPLES / "project-namespace" / "crds" / "projects.yaml")
    yield from projects(world)


def project_namespace_composite(world: World) -> Iterator[None]:
    """hookd has no hook: the CompositeController in the cluster is one. Its webhook runs as it is."""
    folder = EXAMPLES / "project-namespace"
    for one in controllers.crds():
        world.apply(one)
        world.cluster.kubectl("wait", "--for=condition=Established", f"crd/{one['metadata']['name']}")
    world.definitions(folder / "crds" / "projects.yaml")
    port = free_port()
    webhook = Child(["python3", folder / "composite" / "webhook.py", str(port)], world.folder / "webhook.log", {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    world.at_end(webhook.kill)
    resource = yaml.safe_load((folder / "composite" / "controller.yaml").read_text())
    # Others in this cluster may have controllers too.
    resource["metadata"] = {"name": world.namespace, "labels": {"hookd-test": world.namespace}}
    resource["spec"]["hooks"]["sync"]["webhook"]["url"] = f"http://127.0.0.1:{port}/sync"
    world.later("delete", "compositecontrollers.metacontroller.k8s.io", world.namespace)
    world.hooks = world.folder / "none"
    world.hooks.mkdir()
    config = world.folder / "hookd.yaml"
    config.write_text(json.dumps({"metacontroller": {"targetLabelSelector": f"hookd-test={world.namespace}"}}))
    world.flags = ["--config", str(config)]
    world.apply(resource)
    yield from projects(world)


def user_identity(world: World) -> Iterator[None]:
    redis = Redis(world.folder)
    world.at_end(redis.kill)
    redis.start()
    world.hooks = EXAMPLES / "user-identity"
    world.env = {"REDIS_HOST": "127.0.0.1", "REDIS_PORT": str(redis.port)}
    world.definitions(EXAMPLES / "user-identity" / "crds" / "useridentities.yaml")
    other = world.cluster.make_namespace(f"{world.namespace}-2")
    world.at_end(lambda: world.cluster.delete_namespace(other))
    ann, ben = (f"{name}{time.monotonic_ns() % 10**9}" for name in ("ann", "ben"))
    for name in (ann, ben):
        world.later("delete", "useridentities.identity.example.com", name)

    def identity(name: str) -> Any:
        return world.get(f"/apis/identity.example.com/v1/useridentities/{name}")

    def has(namespace: str, name: str) -> list[bool]:
        """Account, role, binding: are they there?"""
        rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
        paths = (f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}", f"{rbac}/roles/user-{name}", f"{rbac}/rolebindings/user-{name}")
        return [world.get(path) is not None for path in paths]

    yield
    # Redis forgets what it has told: where hookd was killed, the redis-cli that it left behind may have heard it in vain. So the
    # sender says it until it is so, which README.md asks of those to whom every message counts.
    redis.publish_until(lambda: identity(ann) is not None, name=ann, team=world.namespace, access="read", email="ann@example.com")
    yield
    world.wait(lambda: all(has(world.namespace, ann)), 30, "ann's rights")
    world.apply({"apiVersion": "identity.example.com/v1", "kind": "UserIdentity", "metadata": {"name": ben}, "spec": {"team": other, "access": "write"}})
    yield
    world.wait(lambda: all(has(other, ben)), 30, "ben's rights, whom a person made")
    redis.publish_until(lambda: identity(ann)["spec"]["team"] == other, name=ann, team=other, access="write")
    yield
    world.wait(lambda: all(has(other, ann)) and not any(has(world.namespace, ann)), 30, "ann and all she has in the other team")
    world.wait(lambda: identity(ann)["status"]["account"] == f"{other}/{ann}", 10, "her status")
    world.cluster.kubectl("delete", "rolebinding", f"user-{ann}", "-n", other)
    yield
    world.wait(lambda: all(has(other, ann)), 30, "the binding anew")
    redis.publish_until(lambda: identity(ann) is None, name=ann, deleted=True)
    yield
    world.wait(lambda: not any(has(other, ann)), 60, "nothing left")
    assert all(has(other, ben))


class Redis:
    def __init__(self, folder: Path) -> None:
        self.port, self.folder = free_port(), folder
        self._child: Child | None = None

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)]
        self._child = Child(command, self.folder / "redis.log")
        wait_for(lambda: self.ask("ping") == "PONG", 20, "redis up", self._child.check_alive)

    def ask(self, *words: str) -> str:
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, check=False).stdout.strip()

    def publish_until(self, so: Callable[[], bool], **user: Any) -> None:
        def said() -> bool:
            if not so():
                self.ask("publish", "users", json.dumps(user))
                time.sleep(0.5)
            return so()

        wait_for(said, 60, f"what was published of {user}", lambda: None)

    def kill(self) -> None:
        if self._child:
            self._child.kill()


STORIES: dict[str, Story] = {
    "config-monitor": Story(operators.config_monitor, real_only=True),
    "config-watch": Story(config_watch, moved=True),
    "crd-watch": Story(crd_watch),
    "evictor": Story(evictor, real_only=True),
    "memcached": Story(operators.memcached, real_only=True),
    "redis": Story(operators.redis, real_only=True),
    "project-namespace/composite": Story(project_namespace_composite),
    "project-namespace/native": Story(project_namespace_native),
    "statefulset-force-delete/event-driven": Story(force_delete("event-driven"), real_only=True),
    "statefulset-force-delete/sweep": Story(force_delete("sweep"), real_only=True),
    "user-identity": Story(user_identity),
    **{f"workers/{language}": Story(workers(language)) for language in ("bash", "c", "python")},
}
