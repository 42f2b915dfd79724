"""Every example end to end, under exactly the rights of its rbac.yaml: from `kubectl apply` to the stated end, undisturbed and
with a SIGKILL of hookd at every step. The stories are in example_stories*.py.

HOOKD_KILL_SEED repeats the moments of the kills; it is printed.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from cluster import Cluster
from example_stories import STORIES, World
from hookd import ROOT, Hookd
from workloads import Object, rights_for_state_dir

EXAMPLES = ROOT / "hooks-examples"
ROLES, BINDINGS = ("Role", "ClusterRole"), ("RoleBinding", "ClusterRoleBinding")
REAL = pytest.mark.real_only("controllers of workloads play a part")


def folders() -> list[str]:
    """Every folder that has a hook and its rights."""
    return sorted(str(file.parent.relative_to(EXAMPLES)) for file in EXAMPLES.rglob("rbac.yaml"))


def rights_of(example: str, namespace: str) -> list[Object]:
    """The documents of its rbac.yaml, and what a state folder needs, for an account of this test's own."""
    account = {"kind": "ServiceAccount", "name": "bot", "namespace": namespace}
    text = (EXAMPLES / example / "rbac.yaml").read_text()
    documents = [one for one in yaml.safe_load_all(text) if one]
    for one in documents:
        assert one["kind"] in ROLES + BINDINGS, one["kind"]
        one["metadata"]["name"] += f"-{namespace}"
        if STORIES[example].moved and "namespace" in one["metadata"]:
            one["metadata"]["namespace"] = namespace
        if one["kind"] in BINDINGS:
            one["roleRef"]["name"] += f"-{namespace}"
            one["subjects"] = [account]
    return documents + rights_for_state_dir(f"state-{namespace}", account)


@pytest.fixture
def world(cluster: Cluster, namespace: str, tmp_path: Path, make_node: Callable[..., str]) -> Iterator[World]:
    here = World(cluster, namespace, tmp_path, make_node)
    yield here
    here.clean_up()


@pytest.mark.parametrize("kills", ["undisturbed", "killed-at-every-step"])
@pytest.mark.parametrize("example", [pytest.param(name, marks=REAL) if story.real_only else name for name, story in STORIES.items()])
def test_example(example: str, kills: str, cluster: Cluster, namespace: str, tmp_path: Path, hookd: Callable[..., Hookd], world: World) -> None:
    seed = int(os.environ.get("HOOKD_KILL_SEED") or random.randrange(1 << 32))
    print(f"HOOKD_KILL_SEED={seed}")
    chance = random.Random(seed)
    documents = rights_of(example, namespace)
    for one in documents:
        cluster.apply(one)
        world.later("delete", one["kind"], one["metadata"]["name"], *(["-n", one["metadata"]["namespace"]] if "namespace" in one["metadata"] else []))
    user = f"system:serviceaccount:{namespace}:bot"
    kubeconfig = cluster.write_kubeconfig(f"bot-{namespace}", f"token: {cluster.token()}\n    as: {user}")

    daemon: Hookd | None = None
    steps = 0
    for steps, _ in enumerate(STORIES[example].tell(world), start=1):
        if daemon is None:
            daemon = hookd(world.hooks, kubeconfig=kubeconfig, env=world.env, flags=["--state-dir", str(tmp_path / "state"), *world.flags])
            world.daemon = daemon.wait_ready(60)
        elif kills != "undisturbed":
            time.sleep(chance.uniform(0, 0.4))  # the step is under way, done, or not seen yet
            daemon.kill()
            daemon.start()
    assert daemon is not None and steps > 1
    daemon.wait_ready(60)
    # Not: "forbidden: … because it is being terminated", of a namespace of the test before.
    forbidden = [line for line in daemon.log.read_text().splitlines() if "forbidden: User" in line]
    assert not forbidden, forbidden[:5]
    assert daemon.stop() == 0


def test_every_example_has_a_story() -> None:
    assert set(folders()) == set(STORIES)


def test_every_hook_has_its_rights() -> None:
    """rbac.yaml stands in the hook's folder or above it."""
    for file in EXAMPLES.rglob("*hook.yaml"):
        assert any((folder / "rbac.yaml").exists() for folder in (file.parent, file.parent.parent)), file
