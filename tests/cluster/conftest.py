"""One real cluster for all tests of a run; a namespace, nodes and hookd processes for each test."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cluster import HERE, Cluster
from hookd import Hookd
from workloads import Object

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    subprocess.run([HERE / "build.sh"], check=True)
    # The pod garbage collector force-deletes the pods of vanished nodes by itself after 40 s: that would hide what a hook does.
    with Cluster(controller_manager=True, controllers=("*", "-pod-garbage-collector-controller")) as running:
        # When no node at all is healthy the node controller thinks that it is itself cut off, and takes every taint away.
        for number in range(5):
            running.make_node(f"always-healthy-{number}")
        yield running


def _name(request: pytest.FixtureRequest) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))[:40].strip("-")
    return f"{words}-{next(_numbers)}"


@pytest.fixture
def namespace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    name = cluster.make_namespace(_name(request))
    yield name
    cluster.delete_namespace(name)


@pytest.fixture
def make_node(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Callable[..., str]]:
    """make_node(taints=[...]) -> name of a new node, gone after the test."""
    made: list[str] = []

    def make(taints: Sequence[Object] = ()) -> str:
        name = f"{_name(request)}-node"
        made.append(name)
        cluster.make_node(name, taints)
        return name

    yield make
    for name in made:
        cluster.delete_node(name)


@pytest.fixture
def hookd(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[..., Hookd]]:
    """hookd(hooks_folder, user="admin", flags=[...]) -> a started Hookd, ended after the test."""
    started: list[Hookd] = []

    def start(hooks: Path, user: str = "admin", kubeconfig: Path | None = None, **more: Any) -> Hookd:
        daemon = Hookd(hooks, kubeconfig or cluster.kubeconfig(user), tmp_path, **more)
        started.append(daemon)
        return daemon.start()

    yield start
    for daemon in started:
        daemon.kill()
        print(f"--- the end of {daemon.log}\n{daemon.child.log_tail(40)}")  # pytest shows it for a test that failed
