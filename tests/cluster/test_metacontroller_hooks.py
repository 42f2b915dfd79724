"""CompositeControllers as resources that come, change and go, and the ways in which their hooks are called: webhooks with
certificates and secrets, ETags, programs of the daemon's own container (deploy/metacontroller/README.md).
"""

from __future__ import annotations

import base64
import json
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from cluster import Cluster
from controllers import FINALIZER, GROUP, Controllers, Webhooks, crds
from endpoint import Answer, Received
from hookd import Hookd
from test_control import Control
from workloads import MERGE_PATCH, Object, expect

RESOURCES = "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers"
CHILDREN = [("v1", "configmaps", "InPlace")]
PARENT = {"apiVersion": f"{GROUP}/v1", "resource": "notes"}
PROGRAM = """#!/usr/bin/env python3
import json, sys
def answer(request):
    parent = request["parent"]["metadata"]["name"]
    return {"status": {"seen": len(request["children"]["ConfigMap.v1"])}, "children": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": parent + "-note"}, "data": {"by": sys.argv[1]}}]}
if sys.argv[1] == "exec":
    print(json.dumps(answer(json.load(sys.stdin))))
else:
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps({"id": request["id"], **answer(request)}), flush=True)
"""


def note(value: str) -> Callable[[Object], Object]:
    def sync(request: Object) -> Object:
        name = request["parent"]["metadata"]["name"] + "-note"
        return {"status": {}, "children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"by": value}}]}

    return sync


@pytest.fixture
def settings() -> Object:
    return {}


@pytest.fixture
def meta(cluster: Cluster, tmp_path: Path, hookd: Callable[..., Hookd], namespace: str, settings: Object) -> Iterator[Controllers]:
    for one in crds():
        cluster.apply(one)
    controllers = Controllers(cluster, tmp_path, hookd, namespace, settings)
    yield controllers
    controllers.end()


@pytest.fixture
def notes(meta: Controllers) -> Controllers:
    meta.kind("Note", "notes")
    return meta


def values(meta: Controllers) -> dict[str, str]:
    return {name: one["data"]["by"] for name, one in meta.list("configmaps").items() if name.endswith("-note")}


def reasons(meta: Controllers, about: str) -> set[str]:
    events = expect(meta.cluster.api("GET", "/api/v1/namespaces/default/events"))["items"]
    return {one["reason"] for one in events if one["involvedObject"]["name"] == about}


def patch_controller(meta: Controllers, name: str, patch: Object) -> None:
    expect(meta.cluster.api("PATCH", f"{RESOURCES}/{name}", patch, MERGE_PATCH))


def delete_controller(meta: Controllers, name: str) -> None:
    expect(meta.cluster.api("DELETE", f"{RESOURCES}/{name}"))


def test_a_controller_comes_changes_and_goes(notes: Controllers) -> None:
    daemon = notes.start().wait_ready()
    notes.make("notes", "p")
    name = notes.composite("note", "notes", CHILDREN, sync=note("one"), generateSelector=True)
    notes.wait_for(lambda: values(notes) == {"p-note": "one"}, "its child")
    notes.wait_for(lambda: {"Starting", "Started"} <= reasons(notes, name), "events of the start")

    # A broken version: told, and the one before goes on.
    url = notes.webhooks.add("other-sync", note("two"))
    patch_controller(notes, name, {"spec": {"hooks": {"sync": {"webhook": {"timeout": "soon"}}}}})
    notes.wait_for(lambda: "CreateError" in reasons(notes, name), "the error told")
    notes.wait_for(lambda: "spec.hooks.sync.webhook.timeout" in daemon.get("/readyz")[1], "degraded")
    notes.make("notes", "q")
    notes.wait_for(lambda: set(values(notes)) == {"p-note", "q-note"}, "the version before at work")

    patch_controller(notes, name, {"spec": {"hooks": {"sync": {"webhook": {"timeout": None, "url": url}}}}})
    notes.wait_for(lambda: values(notes) == {"p-note": "two", "q-note": "two"}, "the new version at work")
    notes.wait_for(lambda: {"Stopping", "Stopped"} <= reasons(notes, name), "events of the change")
    assert daemon.get("/readyz") == (200, "ok\n")

    delete_controller(notes, name)
    daemon.wait_log(lambda entry: entry.get("msg") == "hook removed", what="the hook gone")
    notes.patch("configmaps", "p-note", {"data": {"by": "somebody"}}, "v1")
    notes.quiet()
    assert values(notes) == {"p-note": "somebody", "q-note": "two"}, "children stay, and nobody looks after them"


def test_a_controller_waits_for_its_parents_crd(meta: Controllers, request: pytest.FixtureRequest) -> None:
    plural = f"later{meta.namespace.rsplit('-', 1)[-1]}s"
    daemon = meta.start().wait_ready()
    name = meta.composite("note", plural, CHILDREN, sync=note("x"), generateSelector=True)
    meta.wait_for(lambda: "CreateError" in reasons(meta, name), "told that it is missing")
    assert plural in daemon.get("/readyz")[1]
    meta.kind(plural.capitalize().removesuffix("s"), plural)
    meta.make(plural, "p")
    meta.wait_for(lambda: values(meta) == {"p-note": "x"}, "its child, once the kind is there", 60)
    meta.cluster.api("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{GROUP}")


def test_an_answer_that_did_not_change_need_not_be_sent_again(notes: Controllers) -> None:
    tags: list[str] = []

    def sync(received: Received) -> Answer:
        sent = received.headers.get("if-none-match", "")
        tags.append(sent)
        if sent == '"v1"':
            return Answer(304, b"")
        body = b'{"status":{},"children":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"p-note"},"data":{"by":"tag"}}],"resyncAfterSeconds":0.3}'
        return Answer(200, body, {"Content-Type": "application/json", "ETag": '"v1"'})

    notes.webhooks.answer = sync
    notes.composite("note", "notes", CHILDREN, sync=note("unused"), generateSelector=True, hook_more={"etag": {"enabled": True}})
    notes.start().wait_ready()
    notes.make("notes", "p")
    notes.wait_for(lambda: len(tags) >= 4, "some calls")
    assert tags[0] == "" and set(tags[1:]) == {'"v1"'}
    assert values(notes) == {"p-note": "tag"}


def b64(text: str | bytes) -> str:
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def make_secret(meta: Controllers, name: str, **data: str | bytes) -> Object:
    expect(
        meta.cluster.api(
            "POST",
            f"/api/v1/namespaces/{meta.namespace}/secrets",
            {"metadata": {"name": name}, "data": {key.replace("_", "."): b64(value) for key, value in data.items()}},
        )
    )
    return {"name": name, "namespace": meta.namespace}


def test_certificates_and_a_token_that_is_rotated(notes: Controllers, tmp_path: Path) -> None:
    certificates = tmp_path / "certificates"
    certificates.mkdir()
    authority = Authority(certificates)
    hooks = Webhooks(certificate=authority.serving("hooks")[0], key=certificates / "hooks.key", clients=authority.ca).up()
    certificate, key = authority.client("hookd")
    wanted = "Bearer right"

    def sync(received: Received) -> Answer:
        if received.headers.get("authorization") != wanted:
            return Answer(401, b"no", {"Content-Type": "text/plain"})
        return Answer(body=hooks_answer(received))

    def hooks_answer(received: Received) -> bytes:
        return json.dumps(note(received.client)(received.call)).encode()

    hooks.answer = sync
    try:
        ca = {"name": "hooks-ca", "namespace": notes.namespace}
        notes.cluster.make_config_map(notes.namespace, "hooks-ca", **{"ca.crt": authority.ca.read_text()})
        tls = make_secret(notes, "client", tls_crt=certificate.read_bytes(), tls_key=key.read_bytes())
        token = make_secret(notes, "token", token="wrong")
        name = notes.whole("note")
        notes._controller(
            "CompositeController",
            "compositecontrollers",
            name,
            {
                "parentResource": PARENT,
                "childResources": [{"apiVersion": "v1", "resource": "configmaps", "updateStrategy": {"method": "InPlace"}}],
                "generateSelector": True,
                "hooks": {"sync": {"webhook": {"url": hooks.url}}},
                "endpointConfigs": [
                    {
                        "host": f"127.0.0.1:{hooks.port}",
                        "caBundle": {"configMapRef": ca},
                        "clientTLS": {"secretRef": tls},
                        "authorization": {"secretRef": {**token, "key": "token"}},
                    }
                ],
            },
        )
        daemon = notes.start().wait_ready()
        notes.make("notes", "p")
        notes.wait_for(lambda: notes.sync_errors("p"), "the refusal told at the parent")
        assert "401" in notes.sync_errors("p")[0] and values(notes) == {}
        path = f"/api/v1/namespaces/{notes.namespace}/secrets/token"
        expect(notes.cluster.api("PATCH", path, {"data": {"token": b64("right\n")}}, MERGE_PATCH))
        notes.wait_for(lambda: values(notes) == {"p-note": "hookd"}, "the right token, without a restart", 60)
        wanted = "Bearer newer"
        expect(notes.cluster.api("PATCH", path, {"data": {"token": b64("newer")}}, MERGE_PATCH))
        notes.make("notes", "q")
        notes.wait_for(lambda: set(values(notes)) == {"p-note", "q-note"}, "the newer token", 60)
        for secret in ("right", "newer", "wrong"):
            assert f"Bearer {secret}" not in daemon.log.read_text()
    finally:
        hooks.down()


class TestPrograms:
    @pytest.fixture
    def settings(self, tmp_path: Path) -> Object:
        folder = tmp_path / "programs"
        folder.mkdir()
        program = folder / "sync.py"
        program.write_text(PROGRAM)
        program.chmod(program.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        return {"execFolder": str(folder)}

    @pytest.mark.parametrize("mode", ["exec", "worker"])
    @pytest.mark.parametrize("version", ["v1", "v2"])
    def test_a_program_instead_of_a_webhook(self, notes: Controllers, mode: str, version: str) -> None:
        more: Object = {"ready": "line"} if mode == "worker" else {}
        notes._controller(
            "CompositeController",
            "compositecontrollers",
            notes.whole("note"),
            {
                "parentResource": PARENT,
                "childResources": [{"apiVersion": "v1", "resource": "configmaps", "updateStrategy": {"method": "InPlace"}}],
                "generateSelector": True,
                "hooks": {"sync": {"version": version, mode: {"command": ["sync.py", mode], **more}}},
            },
        )
        notes.start().wait_ready()
        notes.make("notes", "p")
        notes.wait_for(lambda: values(notes) == {"p-note": mode}, "its child")
        notes.wait_for(lambda: (notes.get("notes", "p") or {}).get("status", {}).get("seen") == 1, "its status")

    def test_programs_elsewhere_are_refused(self, notes: Controllers) -> None:
        name = notes.whole("note")
        hooks: Object = {"sync": {"exec": {"command": ["/bin/sh", "-c", "echo {}"]}}}
        notes._controller("CompositeController", "compositecontrollers", name, {"parentResource": PARENT, "hooks": hooks})
        daemon = notes.start().wait_ready()
        notes.wait_for(lambda: "CreateError" in reasons(notes, name), "the refusal told")
        assert "lies outside" in daemon.get("/readyz")[1]


def test_programs_are_refused_by_default(notes: Controllers) -> None:
    name = notes.whole("note")
    hooks: Object = {"sync": {"exec": {"command": ["/bin/sh", "-c", "echo {}"]}}}
    notes._controller("CompositeController", "compositecontrollers", name, {"parentResource": PARENT, "hooks": hooks})
    daemon = notes.start().wait_ready()
    notes.wait_for(lambda: "execFolder" in daemon.get("/readyz")[1], "the refusal told")


def test_finalizers_of_a_controller_that_went_are_told_and_taken_off(notes: Controllers, tmp_path: Path) -> None:
    name = notes.composite("note", "notes", CHILDREN, sync=note("x"), finalize=note("x"), generateSelector=True)
    control = Control(tmp_path / "c.sock")
    daemon = notes.start("--control", str(control.path), "--state-dir", str(tmp_path / "state")).wait_ready()
    notes.make("notes", "p")
    finalizer = FINALIZER.format(kind="composite", name=name)
    notes.wait_for(lambda: (notes.get("notes", "p") or {})["metadata"].get("finalizers") == [finalizer], "its finalizer")
    assert control.json("finalizers") == {"finalizers": []}
    delete_controller(notes, name)
    daemon.wait_log(lambda entry: entry.get("msg") == "hook removed", what="the hook gone")
    notes.delete("notes", "p")
    (left,) = control.json("finalizers")["finalizers"]
    assert left["hook"] == f"compositecontroller-{name}" and left["finalizer"] == finalizer
    control.text("finalizers", "drop", f"compositecontroller-{name}", "--yes")
    notes.wait_for(lambda: notes.get("notes", "p") is None, "the parent gone")


def test_finalizers_of_a_controller_that_is_only_broken_are_not_left_behind(notes: Controllers, tmp_path: Path) -> None:
    name = notes.composite("note", "notes", CHILDREN, sync=note("x"), finalize=note("x"), generateSelector=True)
    control = Control(tmp_path / "c.sock")
    flags = ["--control", str(control.path), "--state-dir", str(tmp_path / "state")]
    daemon = notes.start(*flags).wait_ready()
    notes.make("notes", "p")
    notes.wait_for(lambda: (notes.get("notes", "p") or {})["metadata"].get("finalizers"), "its finalizer")
    daemon.kill()
    patch_controller(notes, name, {"spec": {"hooks": {"sync": {"webhook": {"timeout": "soon"}}}}})
    daemon.start().wait_ready()
    notes.wait_for(lambda: "timeout" in daemon.get("/readyz")[1], "degraded")
    assert control.json("finalizers") == {"finalizers": []}
    delete_controller(notes, name)
    notes.wait_for(lambda: control.json("finalizers")["finalizers"], "left behind, now that it is gone")


def test_values_of_secrets_are_in_no_history(notes: Controllers, tmp_path: Path) -> None:
    value = b64("hunter2-hunter2")

    def sync(request: Object) -> Object:
        data = {"p": value, "n": b64(str(len(notes.webhooks.calls)))}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "p-secret"}, "data": data}
        return {"status": {}, "children": [secret], "resyncAfterSeconds": 0.2 if len(notes.webhooks.calls) < 4 else 0}

    notes.composite("note", "notes", [("v1", "secrets", "InPlace")], sync=sync, generateSelector=True)
    control = Control(tmp_path / "c.sock")
    daemon = notes.start("--control", str(control.path)).wait_ready()
    notes.make("notes", "p")
    notes.wait_for(lambda: len(control.json("runs")["runs"]) >= 4, "some calls")
    runs = [control.text("runs", run["id"]) for run in control.json("runs")["runs"]]
    assert any("Secret.v1" in run for run in runs) and any("MergePatch" in run for run in runs)
    assert value not in "".join(runs) + daemon.log.read_text()


def test_once_does_what_is_there_and_ends(notes: Controllers) -> None:
    notes.composite("note", "notes", CHILDREN, sync=note("once"), generateSelector=True)
    notes.make("notes", "p")
    daemon = notes.start("--once")
    assert daemon.wait_exit() == 0
    assert {name: one["data"]["by"] for name, one in notes.list("configmaps").items()} == {"p-note": "once"}


def test_a_dry_run_writes_nothing(notes: Controllers) -> None:
    name = notes.composite("note", "notes", CHILDREN, sync=note("dry"), finalize=note("dry"), generateSelector=True)
    notes.make("notes", "p")
    notes.start("--dry-run").wait_ready()
    notes.wait_for(lambda: notes.webhooks.requests["note-sync"], "a call")
    notes.quiet()
    assert not values(notes) and reasons(notes, name) == set()
    assert "finalizers" not in (notes.get("notes", "p") or {})["metadata"]


def test_metrics_and_status_have_the_controllers_name(notes: Controllers) -> None:
    name = notes.composite("note", "notes", CHILDREN, sync=note("x"), generateSelector=True)
    daemon = notes.start().wait_ready()
    notes.make("notes", "p")
    notes.wait_for(lambda: values(notes), "its child")
    notes.quiet()

    def named(metrics: dict[str, float], metric: str) -> Any:
        return next((value for key, value in metrics.items() if key.startswith(metric + "{") and name in key), None)

    metrics = daemon.metrics()
    assert (named(metrics, "metacontroller_sync_requests_total") or 0) >= 1
    assert named(metrics, "metacontroller_sync_request_duration_histogram_seconds_count")
    assert named(metrics, "metacontroller_sync_in_flight_requests") == 0
    assert named(metrics, "workqueue_depth") == 0


class TestGuard:
    @pytest.fixture
    def settings(self) -> Object:
        return {"guard": {"deletes": "2/1h"}}

    def test_a_controller_that_deletes_too_much_is_paused(self, notes: Controllers, tmp_path: Path) -> None:
        children = ["x", "y", "z"]

        def sync(request: Object) -> Object:
            return {"status": {}, "children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": one}} for one in children]}

        name = notes.composite("note", "notes", CHILDREN, sync=sync, generateSelector=True)
        hook = f"compositecontroller-{name}"
        control = Control(tmp_path / "c.sock")
        daemon = notes.start("--control", str(control.path), "--state-dir", str(tmp_path / "state")).wait_ready()
        notes.make("notes", "p", spec={})
        notes.wait_for(lambda: set(notes.list("configmaps")) == {"x", "y", "z"}, "the children")
        children.clear()
        notes.patch("notes", "p", {"spec": {"changed": True}})
        daemon.wait_for(lambda: daemon.metrics()[f'hookd_paused{{hook="{hook}"}}'] == 1, 30, "the pause")
        assert set(notes.list("configmaps")) == {"x", "y", "z"}
        notes.wait_for(lambda: notes.cluster.events(notes.namespace, "HookGuardTripped"), "the Event")
        (event,) = notes.cluster.events(notes.namespace, "HookGuardTripped")
        assert event["involvedObject"]["name"] == "p" and f"hookd resume {hook}" in event["message"]
        patch_controller(notes, name, {"metadata": {"annotations": {"hookd.dev/guard": "deletes=3/1m"}}})
        loaded = {"msg": "hook loaded", "hook": hook}
        notes.wait_for(lambda: sum(loaded.items() <= entry.items() for entry in daemon.logs()) == 2, "its new version")
        assert set(notes.list("configmaps")) == {"x", "y", "z"}, "a person decides"
        control.text("resume", hook)
        notes.wait_for(lambda: not notes.list("configmaps"), "the children gone")


def test_webhooks_that_hang_stop_no_other_controller(notes: Controllers) -> None:
    """More of them than the daemon has calls at once."""
    hangs = threading.Event()
    asked: list[Object] = []

    def hang(request: Object) -> Object:
        asked.append(request)
        hangs.wait(60)
        return {"status": {}, "children": []}

    try:
        for number in range(4):
            kind = f"Hang{number}"
            notes.kind(kind, kind.lower() + "s")
            notes.composite(f"hang-{number}", kind.lower() + "s", CHILDREN, sync=hang, generateSelector=True)
            for parent in range(5):
                notes.make(kind.lower() + "s", f"p{parent}")
        notes.start("--concurrency", "2").wait_ready()
        notes.wait_for(lambda: len(asked) >= 8, "those that hang asked")
        notes.composite("note", "notes", CHILDREN, sync=note("x"), generateSelector=True)
        notes.make("notes", "p")
        notes.wait_for(lambda: values(notes) == {"p-note": "x"}, "its child", timeout=8)
    finally:
        hangs.set()
