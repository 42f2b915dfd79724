"""The first job: StatefulSet pods stuck on lost nodes are force-deleted, and nothing else ever is."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cluster import Cluster
from hookd import ROOT, Hookd
from hooks import watch, write_hook
from workloads import NOT_READY, UNREACHABLE

EXAMPLE = ROOT / "hooks-examples" / "statefulset-force-delete"
GRACE = 1  # seconds, so that deletionTimestamp lies one second after the request
HOLD = 30  # seconds past deletionTimestamp, as the hooks say
SWEEP = 10  # seconds between sweeps, as the hook says

variants = pytest.mark.parametrize("variant", ["event-driven", "sweep"])
StartHookd = Callable[..., Hookd]
MakeNode = Callable[..., str]


def late(variant: str) -> float:
    """How long after the 30 s the pod may still be there."""
    return 6 + (SWEEP if variant == "sweep" else 0)


@pytest.fixture
def rights(cluster: Cluster) -> str:
    """The user hookd with just the rights that deploy/ gives to the example."""
    cluster.kubectl("apply", "-f", str(ROOT / "deploy" / "kubernetes" / "namespace.yaml"))
    cluster.kubectl("apply", "-f", str(ROOT / "deploy" / "kubernetes" / "rbac.yaml"))
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "hookd-under-test"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "hookd"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "hookd"}],
    }
    cluster.apply(binding)
    return "hookd"


def stuck_pod(cluster: Cluster, namespace: str, name: str, node: str, owned: bool = True) -> str:
    """A running pod on that node, not yet deleted; its uid."""
    if owned:
        cluster.make_statefulset(namespace, name, 1, grace=GRACE)
        pod = f"{name}-0"
    else:
        cluster.make_pod(namespace, name, grace=GRACE)
        pod = name
    return cluster.bind_and_run(namespace, pod, node)["metadata"]["uid"]


def uid_now(cluster: Cluster, namespace: str, pod: str) -> str | None:
    found = cluster.get_pod(namespace, pod)
    return found["metadata"]["uid"] if found else None


def until(moment: float) -> None:
    """The rule under test is about real seconds on a real server, so these tests have to let them pass."""
    time.sleep(max(0.0, moment - time.monotonic()))


@pytest.mark.real_only("the StatefulSet controller makes the pods")
@variants
def test_exactly_the_right_pods_are_force_deleted(
    variant: str, cluster: Cluster, namespace: str, make_node: MakeNode, hookd: StartHookd, rights: str
) -> None:
    lost, healthy, gone = make_node(), make_node(), make_node()
    old = {}  # pod name -> uid
    for owned in (True, False):
        for node, where in ((lost, "lost"), (healthy, "healthy"), (gone, "gone")):
            for age in ("late", "early"):
                name = f"{'set' if owned else 'bare'}-{where}-{age}"
                old[f"{name}-0" if owned else name] = stuck_pod(cluster, namespace, name, node, owned)
    kept = stuck_pod(cluster, namespace, "not-deleted", lost)
    daemon = hookd(EXAMPLE / variant, user=rights).wait_ready()

    cluster.set_taints(lost, [UNREACHABLE])
    begin = time.monotonic()
    for pod in (name for name in old if "late" in name):
        cluster.delete_pod(namespace, pod)
    cluster.delete_node(gone)
    until(begin + HOLD - 1)
    assert {pod: uid_now(cluster, namespace, pod) for pod in old} == old, "nothing may happen before its time"
    for pod in (name for name in old if "early" in name):
        cluster.delete_pod(namespace, pod)

    right = {"set-lost-late-0", "set-gone-late-0"}
    for pod in right:  # the StatefulSet makes them anew
        cluster.wait_for_pod(namespace, pod, other_than=old[pod], timeout=late(variant))
    assert time.monotonic() - begin > HOLD, "a pod was force-deleted too early"
    until(begin + HOLD + late(variant))
    now = {pod: uid_now(cluster, namespace, pod) for pod in old}
    assert {pod for pod in old if now[pod] != old[pod]} == right
    assert uid_now(cluster, namespace, "not-deleted-0") == kept

    events = cluster.events(namespace, reason="ForceDeleted")
    assert {event["involvedObject"]["name"] for event in events} == {"set-lost-late", "set-gone-late"}
    assert all(event["involvedObject"]["kind"] == "StatefulSet" and event["involvedObject"]["uid"] for event in events)
    deletes = [line for line in daemon.logs(operation="Delete", outcome="done")]
    assert len(deletes) == len(right), "each of them once"


@pytest.mark.real_only("the StatefulSet controller makes the pods")
@variants
def test_a_taint_after_the_deletion_counts_and_one_taken_away_in_time_does_not(
    variant: str, cluster: Cluster, namespace: str, make_node: MakeNode, hookd: StartHookd, rights: str
) -> None:
    late_taint, spared = make_node(), make_node()
    wanted = stuck_pod(cluster, namespace, "late-taint", late_taint)
    lucky = stuck_pod(cluster, namespace, "spared", spared)
    hookd(EXAMPLE / variant, user=rights).wait_ready()
    cluster.set_taints(spared, [NOT_READY])
    begin = time.monotonic()
    cluster.delete_pod(namespace, "late-taint-0")
    cluster.delete_pod(namespace, "spared-0")
    until(begin + 20)
    cluster.set_taints(spared, [])
    until(begin + HOLD + 5)  # past its time, and the node is fine so far
    assert uid_now(cluster, namespace, "late-taint-0") == wanted
    cluster.set_taints(late_taint, [UNREACHABLE])
    cluster.wait_for_pod(namespace, "late-taint-0", other_than=wanted, timeout=late(variant))
    assert uid_now(cluster, namespace, "spared-0") == lucky


@pytest.mark.real_only("the StatefulSet controller makes the pods")
@variants
def test_a_restart_does_not_start_the_thirty_seconds_anew(
    variant: str, cluster: Cluster, namespace: str, make_node: MakeNode, hookd: StartHookd, rights: str
) -> None:
    node = make_node()
    old = stuck_pod(cluster, namespace, "web", node)
    daemon = hookd(EXAMPLE / variant, user=rights).wait_ready()
    cluster.set_taints(node, [UNREACHABLE])
    cluster.delete_pod(namespace, "web-0")
    begin = time.monotonic()
    until(begin + 20)
    daemon.kill()
    daemon.start().wait_ready()
    cluster.wait_for_pod(namespace, "web-0", other_than=old, timeout=HOLD - 20 + 2 + late(variant))
    assert time.monotonic() - begin > HOLD


def test_a_namesake_made_meanwhile_is_not_killed(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd
) -> None:
    """The hook names no uid and answers only after the object it was called for is gone and another has its name."""
    answered, called = tmp_path / "answered", tmp_path / "called"
    write_hook(
        tmp_path / "hooks",
        f"""
        [ ! -e {called} ] || exit 0  # the namesake's own event
        touch {called}
        while [ ! -e {answered} ]; do sleep 0.05; done
        echo '{{"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"{namespace}","name":"web","gracePeriodSeconds":0}}'
        """,
        {"watch": [watch("Pod", namespace, events=["added"])]},
    )
    cluster.make_pod(namespace, "web")
    daemon = hookd(tmp_path / "hooks").wait_ready()
    cluster.wait_for(called.exists, 10, "the hook called")
    cluster.delete_pod(namespace, "web", grace=0)
    cluster.make_pod(namespace, "web")
    namesake = uid_now(cluster, namespace, "web")
    answered.touch()
    daemon.wait_log(lambda line: line.get("operation") == "Delete" and line.get("outcome") == "not needed", what="the refused delete")
    assert uid_now(cluster, namespace, "web") == namesake
