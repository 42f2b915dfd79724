"""Events from outside in `hookd test` and `hookd play`: POSTs, files; and calls that fail however a hook is called."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import built
import pytest
from built import binary

if TYPE_CHECKING:
    from collections.abc import Iterator

HOOK = """
apiVersion: hookd/v1
kind: Hook
metadata: {{name: outside}}
spec:
  run: {run}
  retry: {{initial: 1s, max: 1s}}
  source:
    - {source}
"""
# What it was told becomes a ConfigMap.
SCRIPT = """#!/bin/sh
jq -c '.events[0] | {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "seen", namespace: "default"},
  data: {ref: (.data.body.ref? // "none"), event: (.data.headers["x-github-event"]? // "none"),
         content: (.data.content? // "none"), old: (.oldData.content? // "none"), headers: (.data.headers? // {} | keys | join(" "))}}'
"""
GITHUB = "{name: push, http: /github, secretFrom: {file: /nowhere/github-secret}}"


def hook(folder: Path, source: str, run: str = "{command: [./seen.sh]}") -> None:
    (folder / "hook.yaml").write_text(HOOK.format(run=run, source=source))
    (folder / "seen.sh").write_text(SCRIPT)
    (folder / "seen.sh").chmod(0o755)


def steps(folder: Path, *lines: str, given: str = "[]") -> None:
    text = "".join(f"  - {line}\n" for line in lines)
    (folder / "t.test.yaml").write_text(f"apiVersion: hookd/v1\nkind: HookTest\nmetadata: {{name: t}}\ngiven: {given}\nsteps:\n{text}")


def hookd(folder: Path, *words: str, code: int) -> str:
    return "".join(built.hookd(folder, *words, code=code))


def seen(**data: str) -> str:
    return f"expect: {{objects: [{{kind: ConfigMap, name: seen, data: {json.dumps(data)}}}]}}"


def test_a_webhook_of_github_is_tested_without_its_secret(tmp_path: Path) -> None:
    hook(tmp_path, GITHUB)
    steps(
        tmp_path,
        "post: {path: /github, headers: {X-GitHub-Event: push}, body: {ref: main}}",
        seen(ref="main", event="push"),
        "post: {path: /github, body: {ref: main}, status: 409}",  # the same again is a replay
        "post: {path: /github, body: {ref: other}, signed: false, status: 401}",
        "post: {path: /github, headers: {X-Hub-Signature-256: sha256=00}, body: {ref: other}, status: 401}",
        "expect: {calls: 0}",
    )
    hookd(tmp_path, "test", code=0)


def test_a_secret_in_the_cluster_is_one_that_is_given(tmp_path: Path) -> None:
    hook(tmp_path, "{name: push, http: /github, secretFrom: {secret: ops/github, key: token}}")
    given = "[{apiVersion: v1, kind: Namespace, metadata: {name: ops}}, {apiVersion: v1, kind: Secret, metadata: {name: github, namespace: ops}, stringData: {token: xyz}}]"
    steps(tmp_path, "post: {path: /github, body: {ref: main}}", seen(ref="main"), given=given)
    hookd(tmp_path, "test", code=0)
    steps(tmp_path, "post: {path: /github, body: {ref: main}}", seen(ref="main"))
    assert "there is no Secret ops/github with the key token" in hookd(tmp_path, "test", code=1)


def test_a_bearer_and_a_body_from_a_file(tmp_path: Path) -> None:
    hook(tmp_path, "{name: push, http: /gitlab, check: bearer, header: X-Gitlab-Token, secretFrom: {file: /nowhere/x}}")
    (tmp_path / "push.json").write_text('{"ref": "refs/heads/main"}')
    steps(tmp_path, "post: {path: /gitlab, file: push.json}", seen(ref="refs/heads/main"))
    hookd(tmp_path, "test", code=0)


def test_a_post_that_goes_wrong_says_what(tmp_path: Path) -> None:
    hook(tmp_path, GITHUB)
    steps(tmp_path, "post: {path: /githbu, body: {}}", "expect: {calls: 0}")
    assert "no hook has a source with http: /githbu; there is /github (push of outside)" in hookd(tmp_path, "test", code=1)
    steps(tmp_path, "post: {path: /github, signed: false, body: {}}", "expect: {calls: 0}")
    assert "was answered with 401 (unauthorized); 202 was expected" in hookd(tmp_path, "test", code=1)


def test_a_source_that_answers_when_the_call_is_over(tmp_path: Path) -> None:
    hook(tmp_path, "{name: push, http: /open, check: none, reply: handled, replyTimeout: 25s}")
    steps(
        tmp_path,
        "post: {path: /open, body: {ref: a}}",
        seen(ref="a"),
        "fail: {hook: outside, exit: 1, times: 3}",
        "post: {path: /open, body: {ref: b}}",
        "expect: {calls: [{attempt: 1}, {attempt: 2}, {attempt: 3}, {attempt: 4, result: ok}], only: true}",
        "fail: {hook: outside, exit: 1, times: 1000}",
        "post: {path: /open, body: {ref: c}, status: 504}",
    )
    hookd(tmp_path, "test", code=0)


def test_commands_of_a_test_can_post_too(tmp_path: Path) -> None:
    hook(tmp_path, "{name: push, http: /open, check: none}")
    steps(tmp_path, "run: 'curl -sf -d main $HOOKD_URL/open'", 'expect: {calls: [{hook: outside, binding: push, type: Source}], only: true}')
    hookd(tmp_path, "test", code=0)


def test_the_content_of_a_file_is_told_as_its_source_would(tmp_path: Path) -> None:
    hook(tmp_path, "{name: conf, file: /etc/nowhere.yaml}")
    steps(
        tmp_path,
        'source: {hook: outside, binding: conf, content: "a: 1"}',
        seen(content="a: 1", old="none"),
        'source: {hook: outside, binding: conf, content: "a: 2"}',
        seen(content="a: 2", old="a: 1"),
        "source: {hook: outside, binding: conf, exists: false}",
        seen(content="none", old="a: 2"),
        'source: {hook: outside, binding: conf, data: {content: "a: 3"}}',  # as it is; what comes next goes on from it
        'source: {hook: outside, binding: conf, exists: false}',
        seen(content="none", old="a: 3"),
    )
    hookd(tmp_path, "test", code=0)
    hook(tmp_path, "{name: conf, command: [cat]}")
    assert 'outside has no source "conf" that is a file' in hookd(tmp_path, "test", code=1)


def test_play_takes_posts(tmp_path: Path) -> None:
    hook(tmp_path, GITHUB)
    with subprocess.Popen([binary(), "play", "."], cwd=tmp_path, env={**os.environ, "NO_COLOR": "1"}, stdout=subprocess.PIPE, text=True) as playing:
        try:
            assert playing.stdout
            lines = iter(playing.stdout.readline, "")
            told = next(line for line in lines if "takes POSTs" in line)
            url, secret = re.search(r'push of outside takes POSTs at (\S+/github); .* the secret is "(\w+)"', told).groups()
            body = b'{"ref": "main"}'
            request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(request, timeout=30)
            request.add_header("X-Hub-Signature-256", "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest())
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert answer.status == 202
            assert any("outside is called: Source" in line for line in lines)
        finally:
            playing.terminate()


def test_play_posts_in_a_scenario(tmp_path: Path) -> None:
    hook(tmp_path, GITHUB)
    (tmp_path / "scenario.yaml").write_text(
        "apiVersion: hookd/v1\nkind: Scenario\nsources: false\nsteps:\n  - post: {path: /github, body: {ref: main}}\n  - wait: {object: {kind: ConfigMap, name: seen}}\n"
    )
    output = hookd(tmp_path, "play", ".", "--exit", code=0)
    assert 'POST /github {"ref":"main"}' in output and "202 queued" in output


# ---- fail: {hook: …}

WORKER = """#!/usr/bin/python3
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"]}), flush=True)
"""


@pytest.fixture(name="endpoint")
def run_endpoint() -> Iterator[str]:
    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("mode", ["once", "worker", "url"])
def test_calls_fail_as_told_however_a_hook_is_called(tmp_path: Path, endpoint: str, mode: str) -> None:
    run = {"once": "{command: [./seen.sh]}", "worker": "{command: [./worker.py], mode: worker}", "url": f"{{url: '{endpoint}'}}"}[mode]
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "worker.py").chmod(0o755)
    hook(tmp_path, "{name: push, http: /open, check: none}", run)
    steps(
        tmp_path,
        "fail: {hook: outside, exit: 1, times: 2}",
        "post: {path: /open, body: {ref: a}}",
        "expect: {calls: [{hook: outside, attempt: 1, result: failed, exit: 1}], only: true}",
        "advance: 10s",
        "expect: {calls: [{attempt: 2, result: failed}, {attempt: 3, result: ok}], only: true}",
        "fail: {hook: outside, exit: 78}",
        "post: {path: /open, body: {ref: b}}",
        "advance: 1h",
        "expect: {calls: [{attempt: 1, result: refused}], only: true}",
    )
    started = time.monotonic()
    hookd(tmp_path, "test", code=0)
    assert time.monotonic() - started < 60


def test_the_name_of_no_hook_is_told_with_those_there_are(tmp_path: Path) -> None:
    hook(tmp_path, GITHUB)
    steps(tmp_path, "fail: {hook: outsied, exit: 1}", "expect: {calls: 0}")
    assert 'there is no hook "outsied"; there is outside' in hookd(tmp_path, "test", code=1)
