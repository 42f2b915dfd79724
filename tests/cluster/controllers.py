"""CompositeControllers and DecoratorControllers of tests, with their webhooks as functions of Python.

    meta.composite("catset", parent="catsets", children=[("v1", "pods", "RollingRecreate")], sync=lambda request: {...})

Every resource of a test carries the label TEST, by which its hookd picks its own.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml
from cluster import Cluster
from endpoint import Answer, Endpoint, Received
from hookd import ROOT, Hookd
from workloads import MERGE_PATCH, Object, expect

GROUP = "ctl.example.com"
META = "metacontroller.k8s.io"
TEST = "hookd-test"
FINALIZER = "metacontroller.io/{kind}controller-{name}"
LAST_APPLIED = f"{META}/last-applied-configuration"
Hook = Callable[[Object], Object]


def crds() -> list[Object]:
    """Those of Metacontroller, as deploy/ has them."""
    documents: list[Object] = []
    for path in sorted((ROOT / "deploy" / "metacontroller").glob("**/*.yaml")):
        documents += [one for one in yaml.safe_load_all(path.read_text()) if one and one["kind"] == "CustomResourceDefinition"]
    return documents


def crd(kind: str, plural: str, scope: str = "Namespaced", status: bool = True, group: str = GROUP) -> Object:
    version: Object = {
        "name": "v1", "served": True, "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }  # fmt: skip
    if status:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope, "names": {"plural": plural, "singular": kind.lower(), "kind": kind}, "versions": [version]},
    }


def condition(obj: Object, kind: str) -> Object:
    found = [one for one in obj.get("status", {}).get("conditions", []) if one["type"] == kind]
    return found[0] if found else {}


class Webhooks(Endpoint):
    """Functions by name; a request is kept under the name once it is answered."""

    def __init__(self, **tls: Any) -> None:
        super().__init__(**tls)
        self.hooks: dict[str, Hook] = {}
        self.requests: dict[str, list[Object]] = {}
        self.answer = self._answer

    def add(self, name: str, hook: Hook) -> str:
        self.hooks[name] = hook
        self.requests[name] = []
        return f"{self.url.removesuffix('/hook')}/{name}"

    def _answer(self, received: Received) -> Answer:
        name = received.path.lstrip("/")
        try:
            answer = self.hooks[name](received.call)
        except Exception as error:  # the test's own mistake: let it be seen
            return Answer(500, repr(error).encode())
        self.requests[name].append(received.call)
        return answer if isinstance(answer, Answer) else Answer(body=json.dumps(answer).encode())


class Controllers:
    def __init__(self, cluster: Cluster, tmp_path: Path, start: Callable[..., Hookd], namespace: str, settings: Object) -> None:
        self.cluster, self.namespace, self.settings = cluster, namespace, settings
        self.webhooks = Webhooks().up()
        self.daemon: Hookd | None = None
        self._start, self._folder = start, tmp_path
        self._made: list[str] = []  # paths, to be deleted
        self._kinds: dict[str, str] = {}  # by plural

    def start(self, *flags: str) -> Hookd:
        hooks = self._folder / "hooks"
        hooks.mkdir(exist_ok=True)
        config = self._folder / "hookd.yaml"
        config.write_text(json.dumps({"metacontroller": {"targetLabelSelector": f"{TEST}={self.namespace}", **self.settings}}))
        self.daemon = self._start(hooks, flags=["--config", str(config), *flags])
        return self.daemon

    def end(self) -> None:
        """First the controllers, then what they hold: a finalizer of nobody's would stay."""
        for path in reversed(self._made):
            self._let_go(path)
            self.cluster.api("DELETE", path)
            self._let_go(path)
        self.webhooks.down()

    def _let_go(self, path: str) -> None:
        code, found = self.cluster.api("GET", path)
        if code == 200 and found["metadata"].get("finalizers"):
            self.cluster.api("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH)

    # --- resources ---

    def kind(self, kind: str, plural: str, scope: str = "Namespaced", status: bool = True) -> None:
        """A kind of parents; stays for the whole run."""
        self._kinds[plural] = kind
        self.cluster.apply(crd(kind, plural, scope, status))
        self.wait_for(lambda: self.cluster.api("GET", f"/apis/{GROUP}/v1/{plural}")[0] == 200, f"{plural} served")

    def composite(
        self,
        name: str,
        parent: str,
        children: Sequence[Any] = (),
        sync: Hook | None = None,
        finalize: Hook | None = None,
        customize: Hook | None = None,
        version: str = "v1",
        parent_more: Object | None = None,
        group: str = f"{GROUP}/v1",
        hook_more: Object | None = None,
        **spec: Any,
    ) -> str:
        """`children`: (apiVersion, resource, method[, checks]). Answers the controller's whole name."""
        whole = self.whole(name)
        spec["parentResource"] = {"apiVersion": group, "resource": parent, **(parent_more or {})}
        spec["childResources"] = [self._child(one) for one in children]
        spec["hooks"] = self._hooks(name, version, hook_more, sync=sync, finalize=finalize, customize=customize)
        self._controller("CompositeController", "compositecontrollers", whole, spec)
        return whole

    def decorator(
        self,
        name: str,
        resources: Sequence[Object],
        attachments: Sequence[Any] = (),
        sync: Hook | None = None,
        finalize: Hook | None = None,
        customize: Hook | None = None,
        version: str = "v1",
        **spec: Any,
    ) -> str:
        whole = self.whole(name)
        spec["resources"] = list(resources)
        spec["attachments"] = [self._child(one) for one in attachments]
        spec["hooks"] = self._hooks(name, version, None, sync=sync, finalize=finalize, customize=customize)
        self._controller("DecoratorController", "decoratorcontrollers", whole, spec)
        return whole

    def whole(self, name: str) -> str:
        """Short: it is part of a finalizer, which takes 63 bytes."""
        return f"{name}-{self.namespace.rsplit('-', 1)[-1]}"

    def _hooks(self, name: str, version: str, more: Object | None, **hooks: Hook | None) -> Object:
        out: Object = {}
        for role, hook in hooks.items():
            if hook:
                out[role] = {"version": version, "webhook": {"url": self.webhooks.add(f"{name}-{role}", hook), **(more or {})}}
        return out

    @staticmethod
    def _child(child: Any) -> Object:
        version, resource, method, *checks = child
        out: Object = {"apiVersion": version, "resource": resource}
        if method:
            out["updateStrategy"] = {"method": method}
            if checks:
                out["updateStrategy"]["statusChecks"] = {"conditions": checks[0]}
        return out

    def _controller(self, kind: str, plural: str, name: str, spec: Object) -> None:
        path = f"/apis/{META}/v1alpha1/{plural}"
        body = {"apiVersion": f"{META}/v1alpha1", "kind": kind, "metadata": {"name": name, "labels": {TEST: self.namespace}}, "spec": spec}
        expect(self.cluster.api("POST", path, body))
        self._made.append(f"{path}/{name}")

    def path(self, api: str, plural: str, name: str = "", namespace: str | None = None) -> str:
        """`api`: "v1", "apps/v1"; `namespace` "" = cluster scope."""
        place = self.namespace if namespace is None else namespace
        root = f"/api/{api}" if "/" not in api else f"/apis/{api}"
        return f"{root}/{f'namespaces/{place}/' if place else ''}{plural}{f'/{name}' if name else ''}"

    def make(self, plural: str, name: str, spec: Object | None = None, api: str = f"{GROUP}/v1", namespace: str | None = None, **more: Any) -> Object:
        metadata = {"name": name, **more.pop("metadata", {})}
        body = {"apiVersion": api, "metadata": metadata, **({"spec": spec} if spec is not None else {}), **more}
        if plural in self._kinds:
            body["kind"] = self._kinds[plural]
        made = expect(self.cluster.api("POST", self.path(api, plural, namespace=namespace), body))
        self._made.append(self.path(api, plural, name, namespace))
        return made

    def get(self, plural: str, name: str, api: str = f"{GROUP}/v1", namespace: str | None = None) -> Object | None:
        code, found = self.cluster.api("GET", self.path(api, plural, name, namespace))
        return None if code == 404 else expect((code, found))

    def list(self, plural: str, api: str = "v1", namespace: str | None = None) -> dict[str, Object]:
        items = expect(self.cluster.api("GET", self.path(api, plural, namespace=namespace)))["items"]
        return {one["metadata"]["name"]: one for one in items if one["metadata"]["name"] != "kube-root-ca.crt"}

    def patch(self, plural: str, name: str, patch: Object, api: str = f"{GROUP}/v1", namespace: str | None = None, sub: str = "") -> Object:
        path = self.path(api, plural, name, namespace) + sub
        return expect(self.cluster.api("PATCH", path, patch, MERGE_PATCH))

    def delete(self, plural: str, name: str, api: str = f"{GROUP}/v1", namespace: str | None = None) -> None:
        expect(self.cluster.api("DELETE", self.path(api, plural, name, namespace)))

    def sync_errors(self, about: str, namespace: str | None = None) -> list[str]:
        place = self.namespace if namespace is None else namespace
        return [one["message"] for one in self.cluster.events(place, "SyncError") if one["involvedObject"]["name"] == about]

    # --- waiting ---

    def wait_for(self, predicate: Callable[[], Any], what: str, timeout: float = 30) -> Any:
        wait = self.daemon.wait_for if self.daemon else self.cluster.wait_for
        return wait(predicate, timeout, what)

    def quiet(self, seconds: float = 1.0, timeout: float = 30) -> int:
        """Waits until no hook was called for a while; answers how often they were called."""
        end = time.monotonic() + timeout
        known, since = len(self.webhooks.calls), time.monotonic()
        while time.monotonic() - since < seconds:
            assert time.monotonic() < end, "the hooks are called again and again"
            threading.Event().wait(0.05)
            if len(self.webhooks.calls) != known:
                known, since = len(self.webhooks.calls), time.monotonic()
        return known
