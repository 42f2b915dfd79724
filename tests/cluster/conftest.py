"""One real cluster for all tests of a run; a namespace, nodes and hookd processes for each test."""

from __future__ import annotations

import itertools
import os
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


EMBEDDED = os.environ.get("HOOKD_SERVER", "real") == "embedded"  # the switch: hookd's own API server or the real one


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_only(reason): needs what only the real cluster has, as controllers of workloads")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not EMBEDDED:
        return
    left_out = [item for item in items if item.get_closest_marker("real_only")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    subprocess.run([HERE / "build.sh"], check=True)  # kubectl is needed with either server
    if EMBEDDED:
        from embedded import EmbeddedCluster

        with EmbeddedCluster() as running:
            yield running
        return
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
