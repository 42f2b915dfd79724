"""Hooks with a URL: the call arrives signed and whole, the answer is applied, and whatever a web server may do wrong is told clearly."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from cluster import Cluster
from endpoint import Answer, Endpoint, Received
from hookd import Hookd
from hooks import watch

StartHookd = Callable[..., Hookd]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint().up()
    yield server
    server.down()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    (tmp_path / "ca").mkdir()
    return Authority(tmp_path / "ca")


@pytest.fixture
def start(namespace: str, tmp_path: Path, hookd: StartHookd) -> Callable[..., Hookd]:
    """start(endpoint, run={...}) -> a ready hookd whose one hook calls it for each ConfigMap with the label call=yes."""

    def run(endpoint: Endpoint, run: dict[str, Any] | None = None, url: str = "", **spec: Any) -> Hookd:
        home = tmp_path / "hooks"
        home.mkdir(exist_ok=True)
        hook = {
            "apiVersion": "hookd/v1",
            "kind": "Hook",
            "metadata": {"name": "web"},
            "spec": {
                "run": {"url": url or endpoint.url, "timeout": "5s", **(run or {})},
                "watch": [watch("ConfigMap", namespace, name="maps", labelSelector="call=yes", events=["added"])],
                "retry": {"initial": "200ms", "max": "500ms"},
                **spec,
            },
        }
        (home / "hook.yaml").write_text(json.dumps(hook))
        return hookd(home).wait_ready()

    return run


def make(cluster: Cluster, namespace: str, name: str, **data: str) -> None:
    code, answer = cluster.api(
        "POST", f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": name, "labels": {"call": "yes"}}, "data": data}
    )
    assert code == 201, answer


def failure(daemon: Hookd, level: str = "warn") -> dict[str, Any]:
    return daemon.wait_log(
        lambda line: line.get("hook") == "web" and line.get("level") == level and "error" in line and "call" in line, what="the failure"
    )


def manifest(namespace: str, name: str) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}).encode()


def named(call: Received) -> str:
    return call.call["events"][0]["object"]["metadata"]["name"]


def once_then_good(first: Answer, good: Answer) -> Callable[[Received], Answer]:
    answers = [first]
    return lambda call: answers.pop() if answers else good


def test_the_call_arrives_and_the_answer_is_applied(cluster: Cluster, namespace: str, start: Callable, endpoint: Endpoint) -> None:
    endpoint.answer = lambda call: Answer(201, b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made}\n", {"Content-Type": "application/yaml"})
    daemon = start(endpoint, {"headers": {"X-Team": "red"}})
    make(cluster, namespace, "one")
    daemon.wait_for(lambda: cluster.config_map("default", "made"), 20, "the answer applied")
    cluster.api("DELETE", "/api/v1/namespaces/default/configmaps/made")
    call = endpoint.calls[0]
    assert call.path == "/hook"
    assert call.call["hook"] == "web" and named(call) == "one"
    assert call.headers["x-hookd-hook"] == "web"
    assert call.headers["x-hookd-call-id"] == call.call["id"]
    assert call.headers["x-hookd-attempt"] == "1"
    assert call.headers["x-team"] == "red"
    assert call.headers["content-type"] == "application/json"
    assert call.headers["user-agent"].startswith("hookd/")


def test_signature_and_bearer_are_checked_by_the_receiver(
    cluster: Cluster, namespace: str, start: Callable, endpoint: Endpoint, tmp_path: Path
) -> None:
    key, token = tmp_path / "key", tmp_path / "token"
    key.write_text("hm4c-key\n")
    token.write_text("t0ken-1\n")

    def check(call: Received) -> Answer:
        wanted = "sha256=" + hmac.new(b"hm4c-key", call.body, hashlib.sha256).hexdigest()
        good = hmac.compare_digest(call.headers.get("x-hub-signature-256", ""), wanted)
        return Answer() if good else Answer(403, b"bad signature", {"Content-Type": "text/plain"})

    endpoint.answer = check
    daemon = start(endpoint, {"auth": {"hmac": str(key), "bearer": str(token)}})
    make(cluster, namespace, "large", text="x" * 900_000)  # the sync of a restart makes it part of a larger call too
    daemon.wait_for(lambda: daemon.metrics().get('hookd_calls_total{hook="web",result="ok"}', 0) == 1, 20, "a good call")
    assert endpoint.calls[0].headers["authorization"] == "Bearer t0ken-1"
    # A rotated file is used without a reload.
    token.with_suffix(".new").write_text("t0ken-2")
    token.with_suffix(".new").rename(token)
    make(cluster, namespace, "two")
    daemon.wait_for(lambda: len(endpoint.calls) == 2, 20, "the second call")
    assert endpoint.calls[1].headers["authorization"] == "Bearer t0ken-2"
    # A wrong key: told loudly, in readyz too, and tried again.
    key.write_text("wrong")
    make(cluster, namespace, "three")
    assert "403 Forbidden" in failure(daemon)["error"] and "bad signature" in failure(daemon)["error"]
    log = daemon.log.read_text()
    assert "t0ken" not in log and "hm4c" not in log


ANSWERS = {
    "500": (Answer(500, b"database is gone", {"Content-Type": "text/plain"}), ["500 Internal Server Error", "database is gone"]),
    "html": (Answer(200, b"<html><title>Sign in</title></html>", {"Content-Type": "text/html"}), ["HTML page", "Sign in", "login page or a proxy"]),
    "half a body": (Answer(200, b'{"operations":[{"operation":"Delete","apiVersion":"v1"', cut=20), ["cut after 20 bytes", "nothing was applied"]),
    "redirect": (
        Answer(302, b"", {"Location": "http://127.0.0.1:1/elsewhere?token=s3cr3t"}),
        ["302 to http://127.0.0.1:1/elsewhere", "redirects are not followed"],
    ),
    "broken document": (Answer(200, b'{"operations":[{'), ["the answer was not understood", "nothing was applied"]),
    "wrong type": (Answer(200, b"\x89PNG", {"Content-Type": "image/png"}), ["image/png", "expected application/json"]),
    "401": (Answer(401, b""), ["401 Unauthorized", "run.auth"]),
    "never answers": (Answer(200, delay=3), ["timed out after 1s"]),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_bad_answer_is_told_and_tried_again(cluster: Cluster, namespace: str, start: Callable, endpoint: Endpoint, kind: str) -> None:
    bad, wanted = ANSWERS[kind]
    endpoint.answer = once_then_good(bad, Answer(200, manifest(namespace, "made")))
    daemon = start(endpoint, {"timeout": "1s"})
    make(cluster, namespace, "one")
    error = failure(daemon)["error"]
    for words in wanted:
        assert words in error
    assert "s3cr3t" not in daemon.log.read_text()
    daemon.wait_for(lambda: cluster.config_map(namespace, "made"), 20, "the second answer applied")
    assert [call.headers["x-hookd-attempt"] for call in endpoint.calls[:2]] == ["1", "2"]


def test_a_4xx_is_for_good(cluster: Cluster, namespace: str, start: Callable, endpoint: Endpoint) -> None:
    endpoint.answer = lambda call: Answer(422, b'{"error":"no such team"}')
    daemon = start(endpoint)
    make(cluster, namespace, "one")
    error = failure(daemon, "error")["error"]
    assert "422 Unprocessable Content" in error and "no such team" in error and "for good" in error
    daemon.wait_for(lambda: daemon.metrics().get('hookd_parked{hook="web"}') == 1, 10, "the event parked")
    assert len(endpoint.calls) == 1


def test_retry_after_is_heeded(cluster: Cluster, namespace: str, start: Callable, endpoint: Endpoint) -> None:
    times: list[float] = []

    def busy_once(call: Received) -> Answer:
        times.append(time.monotonic())
        return Answer(429, b"", {"Retry-After": "3"}) if len(times) == 1 else Answer()

    endpoint.answer = busy_once
    daemon = start(endpoint)
    make(cluster, namespace, "one")
    daemon.wait_for(lambda: len(times) == 2, 20, "the second call")
    assert 2.9 < times[1] - times[0] < 6
    assert daemon.metrics()['hookd_calls_total{hook="web",result="later"}'] == 1


def test_a_certificate_that_nobody_vouches_for(
    cluster: Cluster, namespace: str, start: Callable, authority: Authority, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    server = Endpoint(*Authority(tmp_path / "other", "another CA").serving("hook")).up()
    try:
        daemon = start(server, {"tls": {"ca": str(authority.ca)}})
        make(cluster, namespace, "one")
        error = failure(daemon)["error"]
        assert "certificate is not signed by the CA given for it" in error and "hookd test CA" in error
        assert server.calls == []
    finally:
        server.down()


def test_own_ca_and_client_certificate(cluster: Cluster, namespace: str, start: Callable, authority: Authority, tmp_path: Path) -> None:
    certificate, key = authority.client("hookd-client")
    server = Endpoint(*authority.serving("hook"), clients=authority.ca).up()
    try:
        tls = {"ca": str(authority.ca), "certificate": str(certificate), "key": str(key), "serverName": "localhost"}
        daemon = start(server, {"tls": tls})
        make(cluster, namespace, "one")
        daemon.wait_for(lambda: server.calls, 20, "the call")
        assert server.calls[0].client == "hookd-client"
    finally:
        server.down()


def test_without_the_client_certificate(cluster: Cluster, namespace: str, start: Callable, authority: Authority) -> None:
    server = Endpoint(*authority.serving("hook"), clients=authority.ca).up()
    try:
        daemon = start(server, {"tls": {"ca": str(authority.ca)}})
        make(cluster, namespace, "one")
        assert "wants a client certificate and none is given" in failure(daemon)["error"]
    finally:
        server.down()


def test_tls_to_a_plain_port(cluster: Cluster, namespace: str, start: Callable, endpoint: Endpoint) -> None:
    daemon = start(endpoint, url=endpoint.url.replace("http:", "https:"))
    make(cluster, namespace, "one")
    assert "does not speak TLS there" in failure(daemon)["error"]


def test_an_outage_is_waited_out_and_everything_arrives(cluster: Cluster, namespace: str, start: Callable, endpoint: Endpoint) -> None:
    """The breaker opens, calls wait without being counted or holding slots, and come one after another when it is over."""
    times: list[float] = []

    def note(call: Received) -> Answer:
        times.append(time.monotonic())
        return Answer()

    endpoint.answer = note
    daemon = start(endpoint, concurrency=4, retry={"initial": "100ms", "max": "300ms", "attempts": 4})
    gauge = f'hookd_breaker_open{{endpoint="http://127.0.0.1:{endpoint.port}/hook"}}'
    assert daemon.metrics()[gauge] == 0
    endpoint.down()
    for number in range(20):
        make(cluster, namespace, f"waits-{number}")
    daemon.wait_for(lambda: daemon.metrics()[gauge] == 1, 20, "the breaker open")
    assert "cannot connect" in failure(daemon)["error"]
    daemon.wait_for(lambda: "failures in a row" in daemon.get("/readyz")[1], 10, "readyz telling of it")
    assert daemon.get("/readyz")[0] == 200
    daemon.wait_for(lambda: re.search(r": ([6-9]|[0-9]{2}) failures in a row", daemon.get("/readyz")[1]), 20, "a probe failed")
    failed = daemon.metrics()['hookd_calls_total{hook="web",result="failed"}']
    assert failed < 12, "calls wait instead of failing one by one"
    endpoint.up()
    daemon.wait_for(lambda: len({named(call) for call in endpoint.calls}) == 20, 60, "everything delivered")
    assert daemon.metrics()[gauge] == 0
    assert daemon.metrics().get('hookd_parked{hook="web"}', 0) == 0, "an outage uses up no attempts"
    assert times[-1] - times[0] > 0.3, "not all at once"


def test_a_large_call_is_sent_whole(cluster: Cluster, namespace: str, start: Callable, endpoint: Endpoint) -> None:
    for number in range(12):
        make(cluster, namespace, f"big-{number}", text="y" * 500_000)
    daemon = start(
        endpoint, watch=[watch("ConfigMap", namespace, name="maps", labelSelector="call=yes", existing="sync")]
    )
    daemon.wait_for(lambda: endpoint.calls, 30, "the call")
    assert len(endpoint.calls[0].body) > 6_000_000
    assert len(endpoint.calls[0].call["events"][0]["objects"]) == 12
    assert "transfer-encoding" not in endpoint.calls[0].headers
