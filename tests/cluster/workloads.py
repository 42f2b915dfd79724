"""What has to be in a cluster for tests: nodes without kubelets, and pods that run because somebody says so."""

from __future__ import annotations

import json
import time
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Object = dict[str, Any]
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
UNREACHABLE: Object = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
NOT_READY: Object = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
READINESS = {UNREACHABLE["key"]: "Unknown", NOT_READY["key"]: "False"}


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def pods(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/pods" + (f"/{name}" if name else "")


def expect(answer: tuple[int, Any], *codes: int) -> Any:
    code, body = answer
    if code not in (codes or (200, 201, 202)):
        raise RuntimeError(f"the API server answered {code}: {body.get('message') if isinstance(body, dict) else body}")
    return body


class Workloads:
    """Mixed into Cluster."""

    api: Callable[..., tuple[int, Any]]
    wait_for: Callable[[Callable[[], T], float, str], T]
    controller_manager: bool
    kubectl: Callable[..., str]

    def make_namespace(self, name: str) -> str:
        expect(self.api("POST", "/api/v1/namespaces", {"metadata": {"name": name}}))
        self.need_service_account(name)
        return name

    def need_service_account(self, namespace: str) -> None:
        """No pod is admitted without. The controller manager makes it, which also tells that it is at work."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        if self.controller_manager:
            self.wait_for(lambda: self.api("GET", f"{path}/default")[0] == 200, 60, f"default service account of {namespace}")
        else:
            expect(self.api("POST", path, {"metadata": {"name": "default"}}))

    def delete_namespace(self, name: str) -> None:
        """Does not wait, but leaves no pod behind that would wait for a kubelet for ever."""
        self.api("DELETE", f"/api/v1/namespaces/{name}")  # first: from here on nobody can make new pods in it
        self.api("DELETE", pods(name), {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})

    def apply(self, manifest: Object) -> None:
        """As kubectl does, whatever the kind."""
        self.kubectl("apply", "-f", "-", input=json.dumps(manifest))

    def events(self, namespace: str, reason: str) -> list[Object]:
        selector = urllib.parse.quote(f"reason={reason}")
        return expect(self.api("GET", f"/api/v1/namespaces/{namespace}/events?fieldSelector={selector}"))["items"]

    def config_map(self, namespace: str, name: str) -> Object | None:
        code, found = self.api("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        return None if code == 404 else expect((code, found))

    def make_config_map(self, namespace: str, name: str, **data: str) -> Object:
        return expect(self.api("POST", f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": name}, "data": data}))

    def make_node(self, name: str, taints: Sequence[Object] = ()) -> Object:
        """A node that says it is ready. The node controller keeps it so: its grace periods outlast any run of the tests."""
        expect(self.api("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}))
        room = {"cpu": "64", "memory": "256Gi", "pods": "10000"}
        patch = {"status": {"capacity": room, "allocatable": room}}
        expect(self.api("PATCH", f"/api/v1/nodes/{name}/status", patch, STRATEGIC_PATCH))
        return self.set_taints(name, taints)

    def set_taints(self, name: str, taints: Sequence[Object]) -> Object:
        """These, with the condition Ready that belongs to them: the node controller keeps the two in step."""
        readiness = [READINESS[taint["key"]] for taint in taints if taint["key"] in READINESS]
        self._set_ready(name, readiness[0] if readiness else "True")
        patch = {"spec": {"taints": list(taints) or None}}
        return expect(self.api("PATCH", f"/api/v1/nodes/{name}", patch, MERGE_PATCH))

    def delete_node(self, name: str) -> None:
        self.api("DELETE", f"/api/v1/nodes/{name}")

    def make_statefulset(self, namespace: str, name: str, replicas: int, grace: int = 30) -> Object:
        """Waits until its pods are there. They come all at once, not one after the other is ready."""
        made = expect(self.api("POST", f"/apis/apps/v1/namespaces/{namespace}/statefulsets", {
            "metadata": {"name": name},
            "spec": {
                "replicas": replicas,
                "serviceName": name,
                "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec(grace)},
            },
        }))  # fmt: skip
        for number in range(replicas):
            self.wait_for_pod(namespace, f"{name}-{number}")
        return made

    def make_pod(self, namespace: str, name: str, grace: int = 30) -> Object:
        body = {"metadata": {"name": name, "labels": {"app": name}}, "spec": pod_spec(grace)}
        return expect(self.api("POST", pods(namespace), body))

    def bind_and_run(self, namespace: str, name: str, node: str) -> Object:
        """What a scheduler and a kubelet would do."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        expect(self.api("POST", pods(namespace, name) + "/binding", {"metadata": {"name": name}, "target": target}))
        pod = self.get_pod(namespace, name)
        assert pod is not None
        return expect(self.api("PATCH", pods(namespace, name) + "/status", {"status": running(pod["spec"])}, STRATEGIC_PATCH))

    def get_pod(self, namespace: str, name: str) -> Object | None:
        code, pod = self.api("GET", pods(namespace, name))
        return None if code == 404 else expect((code, pod))

    def delete_pod(self, namespace: str, name: str, grace: int | None = None, uid: str | None = None) -> tuple[int, Any]:
        options: Object = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        return self.api("DELETE", pods(namespace, name), options)

    def wait_for_pod(self, namespace: str, name: str, other_than: str | None = None, timeout: float = 30) -> Object:
        """The pod of that name, or, given the uid of an old one, its namesake."""

        def seen() -> Object | None:
            pod = self.get_pod(namespace, name)
            return pod if pod and pod["metadata"]["uid"] != other_than else None

        pod = self.wait_for(seen, timeout, f"pod {namespace}/{name}" + (f" other than {other_than}" if other_than else ""))
        assert pod is not None
        return pod

    def _set_ready(self, node: str, status: str) -> None:
        condition = {"type": "Ready", "status": status, "reason": "Test", "lastHeartbeatTime": now(), "lastTransitionTime": now()}
        patch = {"status": {"conditions": [condition]}}
        expect(self.api("PATCH", f"/api/v1/nodes/{node}/status", patch, STRATEGIC_PATCH))


def pod_spec(grace: int) -> Object:
    return {
        "terminationGracePeriodSeconds": grace,
        "containers": [{"name": "main", "image": "registry.invalid/app:1"}],
    }


def running(spec: Object) -> Object:
    """The status that a kubelet gives a pod all of whose containers run."""
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "phase": "Running",
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": now()} for kind in conditions],
        "hostIP": "192.0.2.1",
        "hostIPs": [{"ip": "192.0.2.1"}],
        "podIP": "10.1.0.1",
        "podIPs": [{"ip": "10.1.0.1"}],
        "startTime": now(),
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": container["image"].split(":")[0] + "@sha256:" + "5e" * 32,
                "containerID": "containerd://" + "c0" * 32,
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now()}},
            }
            for container in spec["containers"]
        ],
    }


def rights_for_state_dir(name: str, account: Object) -> list[Object]:
    """What `stateDir` needs beside the rights of the hooks, as `hookd rbac --config` prints it: which cluster is it?"""
    rule = {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["kube-system"], "verbs": ["get"]}
    group = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]},
        {
            "apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name}, "subjects": [account],
        },
    ]  # fmt: skip
