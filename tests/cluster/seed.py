"""Fills a cluster with nodes and many pods of the size that production's have: about 7 kB each as listed."""

from __future__ import annotations

import json
import random
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from workloads import expect, pods, running

if TYPE_CHECKING:
    from cluster import Cluster

NAMESPACES = 10


def seed(cluster: Cluster, count: int, nodes: int, threads: int = 16, prefix: str = "seed") -> list[str]:
    """Creates `count` pods, running, spread over `nodes` new nodes and ten new namespaces; returns those namespaces.

    They have no owner: a controller would otherwise replace or remove them.
    """
    hosts = [f"{prefix}-node-{number}" for number in range(nodes)]
    namespaces = [f"{prefix}-{number}" for number in range(min(count, NAMESPACES))]

    def one(number: int) -> None:
        choice = random.Random(number)
        namespace, name = namespaces[number % len(namespaces)], f"app-{number}"
        body = {"metadata": metadata(name, number, choice), "spec": spec(hosts[number % nodes], number, choice)}
        # Who wrote which field is a third of a real pod: so as the controller and the kubelet would have written it.
        create = pods(namespace) + "?fieldManager=kube-controller-manager"
        pod = expect(cluster.api("POST", create, body))
        pod["status"].update(status(pod["spec"], number, choice))
        # An update, as it costs the server less than a patch.
        expect(cluster.api("PUT", pods(namespace, name) + "/status?fieldManager=kubelet", pod))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(cluster.make_node, hosts))
        list(pool.map(cluster.make_namespace, namespaces))
        list(pool.map(one, range(count)))
    return namespaces


def remove(cluster: Cluster, nodes: int, prefix: str = "seed") -> None:
    for number in range(NAMESPACES):
        cluster.delete_namespace(f"{prefix}-{number}")
    for number in range(nodes):
        cluster.delete_node(f"{prefix}-node-{number}")


def listed_size(cluster: Cluster) -> tuple[int, int, float]:
    """(pods, bytes, seconds) of a plain download of all pods, in pages of 500 as every client does."""
    begin, pages, token = time.monotonic(), [], b""
    while True:
        code, page = cluster.api_of().raw("GET", f"/api/v1/pods?limit=500&continue={token.decode()}")
        if code != 200:
            raise RuntimeError(f"the list answered {code}: {page.decode()}")
        pages.append(page)
        found = re.search(rb'"continue":"([^"]+)"', page[:1000])  # not parsed: only the download is to be timed
        if not found:
            break
        token = found[1]
    seconds = time.monotonic() - begin
    return sum(len(json.loads(page)["items"]) for page in pages), sum(map(len, pages)), seconds


def digits(choice: random.Random, length: int) -> str:
    return f"{choice.getrandbits(4 * length):0{length}x}"


def metadata(name: str, number: int, choice: random.Random) -> dict[str, Any]:
    app = f"app-{number % 50}"
    return {
        "name": name,
        "labels": {
            "app.kubernetes.io/name": app,
            "app.kubernetes.io/instance": f"{app}-production",
            "app.kubernetes.io/version": f"1.{number % 30}.{number % 7}",
            "app.kubernetes.io/component": choice.choice(("web", "worker", "cache")),
            "app.kubernetes.io/managed-by": "Helm",
            "pod-template-hash": digits(choice, 10),
        },
        "annotations": {
            "checksum/config": digits(choice, 64),
            "prometheus.io/scrape": "true",
        },
    }


def spec(node: str, number: int, choice: random.Random) -> dict[str, Any]:
    def probe(path: str) -> dict[str, Any]:
        return {"httpGet": {"path": path, "port": "http"}, "periodSeconds": 10, "failureThreshold": 5}

    repository = f"registry.example.com/shop/app-{number % 50}"
    return {
        "nodeName": node,
        "priority": 0,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "fsGroup": 10001},
        "containers": [
            {
                "name": "app",
                "image": f"{repository}:1.{number % 30}.{number % 7}",
                "args": ["--listen=:8080", "--config=/etc/app/config.yaml", f"--shard={number % 16}"],
                "ports": [{"name": "http", "containerPort": 8080}],
                "env": [
                    {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "DATABASE_HOST", "value": f"postgres-{number % 5}.databases.svc.cluster.local"},
                    {"name": "DATABASE_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "database", "key": "password"}}},
                    {"name": "RELEASE", "value": digits(choice, 40)},
                ],
                "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}, "limits": {"memory": "512Mi"}},
                "livenessProbe": probe("/healthz"),
                "readinessProbe": probe("/readyz"),
                "volumeMounts": [
                    {"name": "config", "mountPath": "/etc/app", "readOnly": True},
                    {"name": "scratch", "mountPath": "/tmp"},
                ],
            },
        ],
        "volumes": [
            {"name": "config", "configMap": {"name": f"app-{number % 50}-config"}},
            {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
        ],
    }


def status(pod_spec: dict[str, Any], number: int, choice: random.Random) -> dict[str, Any]:
    result = running(pod_spec)
    address = f"10.{64 + number // 65536}.{number // 256 % 256}.{number % 256}"
    result.update({"podIP": address, "podIPs": [{"ip": address}]})
    for container in result["containerStatuses"]:
        container["containerID"] = f"containerd://{digits(choice, 64)}"
        container["imageID"] = container["image"].split(":")[0] + f"@sha256:{digits(choice, 64)}"
    return result
