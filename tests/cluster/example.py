"""The folders of hooks-examples on the cluster: their definitions, hookd under exactly the rights of their rbac.yaml, and
somebody who plays scheduler and kubelet for the pods that come of them. The stories told with it: example_stories_operators.py."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import yaml
from cluster import Cluster
from hookd import ROOT, Hookd
from workloads import STRATEGIC_PATCH, Object, expect, pods, rights_for_state_dir, running

T = TypeVar("T")
EXAMPLES = ROOT / "hooks-examples"
ROUNDS = int(os.environ.get("HOOKD_KILL_ROUNDS", "6"))  # of SIGKILLs of hookd in each example's test


def dice() -> random.Random:
    """HOOKD_KILL_SEED repeats a run."""
    number = int(os.environ.get("HOOKD_KILL_SEED") or random.randrange(1 << 32))
    print(f"HOOKD_KILL_SEED={number}")
    return random.Random(number)


class Example:
    """One example in one namespace of the cluster; its definitions stay there."""

    def __init__(self, cluster: Cluster, namespace: str, name: str) -> None:
        self.cluster, self.namespace, self.folder = cluster, namespace, EXAMPLES / name
        for file in sorted((self.folder / "crds").glob("*.yaml")):
            cluster.kubectl("apply", "-f", str(file))
            cluster.kubectl("wait", "--for=condition=Established", "-f", str(file))
        self._rights: list[tuple[str, str]] = []

    def give_rights(self) -> Example:
        """Those of its rbac.yaml, and for a state folder, to a service account of the test, until close()."""
        account = {"kind": "ServiceAccount", "name": "hookd", "namespace": self.namespace}
        documents = list(yaml.safe_load_all((self.folder / "rbac.yaml").read_text()))
        for one in documents:
            one["metadata"]["name"] += f"-{self.namespace}"
            if "subjects" in one:
                one["roleRef"]["name"] += f"-{self.namespace}"
                one["subjects"] = [account]
        for one in [*documents, *rights_for_state_dir(f"state-{self.namespace}", account)]:
            self.cluster.apply(one)
            if "namespace" not in one["metadata"]:
                self._rights.append((one["kind"], one["metadata"]["name"]))
        return self

    def close(self) -> None:
        plurals = [one["spec"]["names"]["plural"] for file in (self.folder / "crds").glob("*.yaml") for one in yaml.safe_load_all(file.read_text())]
        for plural in plurals:  # or the hookd of the next test would see them in a namespace that ends
            self.kubectl("delete", plural, "--all")
        for kind, name in self._rights:
            self.cluster.kubectl("delete", kind, name, "--ignore-not-found")

    def kubeconfig(self) -> Path:
        """For a hookd that has the rights of rbac.yaml, and nothing else."""
        user = f"system:serviceaccount:{self.namespace}:hookd"
        return self.cluster.write_kubeconfig(f"example-{self.namespace}", f"token: {self.cluster.token()}\n    as: {user}")

    @staticmethod
    def forbidden(daemon: Hookd) -> list[str]:
        """What the rights were not enough for."""
        return [line for line in daemon.log.read_text().splitlines() if "forbidden: User" in line]

    def changed(self, folder: Path, replacements: Mapping[str, str]) -> Path:
        """A copy whose *hook.yaml files have other texts; each must stand in one of them."""
        home = folder / self.folder.name
        shutil.copytree(self.folder, home)
        left = dict(replacements)
        for file in home.rglob("*hook.yaml"):
            text = file.read_text()
            for old, new in replacements.items():
                if old in text:
                    text = text.replace(old, new)
                    left.pop(old, None)
            file.write_text(text)
        assert not left, f"nowhere in {home}: {list(left)}"
        return home

    # --- objects in the namespace ---

    def path(self, group_version: str, plural: str, name: str = "") -> str:
        base = "/api/v1" if group_version == "v1" else f"/apis/{group_version}"
        return f"{base}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    def get(self, group_version: str, plural: str, name: str) -> Object | None:
        code, found = self.cluster.api("GET", self.path(group_version, plural, name))
        return None if code == 404 else expect((code, found))

    def kubectl(self, *words: str) -> str:
        return self.cluster.kubectl("-n", self.namespace, *words)

    def take_away(self, what: str) -> None:
        """If it is there. Without waiting: after a delete that found nothing kubectl waits for the end of what the hook made since."""
        self.kubectl("delete", what, "--ignore-not-found", "--wait=false")


class Kubelet:
    """Binds the namespace's pods to a node, says that they run, and ends those that are deleted: what a scheduler and a
    kubelet would do. Only at work within step() and until(): nothing changes behind a test's back."""

    def __init__(self, cluster: Cluster, namespace: str, node: str, address: Callable[[str], str] = lambda name: "10.1.0.1") -> None:
        """`address`: pod's name -> its IP."""
        self.cluster, self.namespace, self.node, self.address = cluster, namespace, node, address

    def pods(self, selector: str = "") -> list[Object]:
        return expect(self.cluster.api("GET", pods(self.namespace) + (f"?labelSelector={selector}" if selector else "")))["items"]

    def step(self) -> None:
        for pod in self.pods():
            name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
            if "deletionTimestamp" in pod["metadata"]:
                self.cluster.delete_pod(self.namespace, name, grace=0, uid=uid)
            elif pod.get("status", {}).get("phase") == "Pending":
                self._run(pod)

    def _run(self, pod: Object) -> None:
        name = pod["metadata"]["name"]
        if not pod["spec"].get("nodeName"):
            target = {"apiVersion": "v1", "kind": "Node", "name": self.node}
            code, body = self.cluster.api("POST", pods(self.namespace, name) + "/binding", {"metadata": {"name": name}, "target": target})
            if code in (404, 409):  # it went meanwhile
                return
            expect((code, body))
        status = {**running(pod["spec"]), "podIP": self.address(name), "podIPs": [{"ip": self.address(name)}]}
        code, body = self.cluster.api("PATCH", pods(self.namespace, name) + "/status", {"status": status}, STRATEGIC_PATCH)
        if code != 404:
            expect((code, body))

    def until(self, predicate: Callable[[], T], timeout: float, what: str) -> T:
        """Waits as wait_for() does, at work meanwhile."""

        def look() -> T:
            self.step()
            return predicate()

        return self.cluster.wait_for(look, timeout, what)
