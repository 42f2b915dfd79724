"""What the other tests take for granted about the real cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import seed
from cluster import HERE, Cluster
from process import wait_for
from workloads import UNREACHABLE, expect, pods


@pytest.mark.real_only("the StatefulSet controller makes the pod anew")
def test_pod_on_an_unreachable_node_stays_until_it_is_force_deleted(
    cluster: Cluster, namespace: str, make_node: Callable[..., str]
) -> None:
    node = make_node()
    cluster.make_statefulset(namespace, "web", 1, grace=1)
    pod = cluster.bind_and_run(namespace, "web-0", node)
    uid = pod["metadata"]["uid"]
    assert pod["status"]["phase"] == "Running"
    cluster.set_taints(node, [UNREACHABLE])

    expect(cluster.delete_pod(namespace, "web-0"))
    time.sleep(4)  # well past the grace period: nobody else takes it away
    old = cluster.get_pod(namespace, "web-0")
    assert old and old["metadata"]["uid"] == uid and old["metadata"]["deletionTimestamp"]
    taints = expect(cluster.api("GET", f"/api/v1/nodes/{node}"))["spec"]["taints"]
    assert [t for t in taints if t["key"] == UNREACHABLE["key"] and t["effect"] == "NoExecute"]

    code, answer = cluster.delete_pod(namespace, "web-0", grace=0, uid="00000000-0000-0000-0000-000000000000")
    assert (code, answer["reason"]) == (409, "Conflict")
    expect(cluster.delete_pod(namespace, "web-0", grace=0, uid=uid))
    new = cluster.wait_for_pod(namespace, "web-0", other_than=uid)
    assert "deletionTimestamp" not in new["metadata"]
    assert cluster.delete_pod(namespace, "web-0", grace=0, uid=uid)[0] == 409  # the old uid is no danger to the namesake


def test_healed_node_keeps_its_pods(cluster: Cluster, namespace: str, make_node: Callable[..., str]) -> None:
    node = make_node()
    cluster.make_pod(namespace, "calm")
    pod = cluster.bind_and_run(namespace, "calm", node)
    assert {c["type"]: c["status"] for c in pod["status"]["conditions"]}["Ready"] == "True"
    cluster.set_taints(node, [UNREACHABLE])
    cluster.set_taints(node, [])
    path = f"/api/v1/nodes/{node}"  # the controller's own NoSchedule taint goes a moment later
    cluster.wait_for(lambda: not expect(cluster.api("GET", path))["spec"].get("taints"), 20, f"{node} without taints")
    kept = cluster.get_pod(namespace, "calm")
    assert kept and "deletionTimestamp" not in kept["metadata"]


def test_users_have_no_rights_until_given(cluster: Cluster, namespace: str) -> None:
    path = pods(namespace)
    assert cluster.api_of("alice")("GET", path)[0] == 403
    cluster.kubectl("create", "rolebinding", "view", "--clusterrole=view", "--group=team-a", "--namespace", namespace)
    cluster.wait_for(lambda: cluster.api_of("alice")("GET", path)[0] == 200, 10, "alice may list pods")
    assert cluster.api_of("bob")("GET", path)[0] == 403


def test_kubectl_takes_the_server_for_its_own_version(cluster: Cluster) -> None:
    versions = json.loads(cluster.kubectl("version", "--output=json"))
    assert versions["clientVersion"]["gitVersion"] == versions["serverVersion"]["gitVersion"]


@pytest.mark.real_only("signed by a CA of ours")
def test_client_certificate(cluster: Cluster) -> None:
    config = cluster.client_certificate_kubeconfig("carol", ["system:masters"])
    assert '"carol"' in cluster.kubectl(f"--kubeconfig={config}", "auth", "whoami", "--output=json")


def test_api_server_killed_and_started_again(cluster: Cluster, namespace: str) -> None:
    cluster.make_pod(namespace, "kept")
    before, url = cluster.get_pod(namespace, "kept"), cluster.url
    cluster.kill_apiserver()
    with pytest.raises(OSError):
        cluster.api("GET", "/readyz")
    cluster.start_apiserver()
    assert cluster.url == url
    assert cluster.get_pod(namespace, "kept") == before


@pytest.mark.real_only("a volume with a token in each pod")
def test_seeded_pods_have_the_size_of_real_ones(cluster: Cluster) -> None:
    namespaces = seed.seed(cluster, 20, nodes=2, prefix="size")
    lists = [cluster.api_of().raw("GET", pods(name))[1] for name in namespaces]
    seed.remove(cluster, nodes=2, prefix="size")
    assert 6800 < sum(map(len, lists)) / 20 < 7500


def test_children_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    script = f"import sys; sys.path.insert(0, {str(HERE)!r}); from pathlib import Path; from process import Child; import time\n"
    script += "print(Child(['sleep', '600'], Path('log')).pid, flush=True); time.sleep(600)"
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert parent.stdout
    pid = int(parent.stdout.readline())
    # The promise to end with its parent is made just before the program itself starts.
    wait_for(lambda: Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep"), 30, f"process {pid} at work")
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    wait_for(lambda: not runs(pid), 5, f"the end of process {pid}")


def runs(pid: int) -> bool:
    """A zombie that nobody has reaped yet does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_kubectl_that_hangs_tells_where(cluster: Cluster, namespace: str) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)did not end in 2 s.*goroutine "):
        cluster.kubectl("-n", namespace, "get", "pods", "--watch", timeout=2)
