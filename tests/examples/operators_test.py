"""The scripts of hooks-examples/memcached, config-monitor and redis without a daemon: calls as hookd writes them -> answers."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

Object = dict[str, Any]
EXAMPLES = Path(__file__).resolve().parents[2] / "hooks-examples"
SCRIPTS = ["memcached/memcached.sh", "config-monitor/follow-config.sh", "config-monitor/roll-out.sh", "redis/redis.sh", "redis/check-health.sh"]


def run(script: str, call: Object | str, folder: Path) -> subprocess.CompletedProcess[str]:
    text = call if isinstance(call, str) else json.dumps(call)
    env = {**os.environ, "TMPDIR": str(folder), "GIT_ALLOW_PROTOCOL": "file"}
    return subprocess.run([EXAMPLES / script], input=text, capture_output=True, text=True, timeout=30, env=env, check=False)


def answer(script: str, call: Object, folder: Path) -> Object:
    done = run(script, call, folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def parent(spec: Object, status: Object | None = None, **metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "X", "metadata": {"name": "web", "namespace": "shop", "uid": "u1", "generation": 1, **metadata}, "spec": spec, "status": status or {}}


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_object_that_is_gone_needs_no_answer(script: str, tmp_path: Path) -> None:
    done = run(script, {"object": None, "children": {}, "related": {"pods": {}, "password": {}}}, tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("script", ["memcached/memcached.sh", "config-monitor/roll-out.sh", "redis/redis.sh"])
@pytest.mark.parametrize("text", ["", "{", '{"object": 3}'])
def test_a_broken_call_is_a_failure(script: str, text: str, tmp_path: Path) -> None:
    done = run(script, text, tmp_path)
    assert done.returncode not in (0, 75) and done.stdout == ""


def test_memcached_names_its_pods(tmp_path: Path) -> None:
    pods = {"b": {"metadata": {"name": "b"}}, "a": {"metadata": {"name": "a"}}, "c": {"metadata": {"name": "c", "deletionTimestamp": "x"}}}
    made = answer("memcached/memcached.sh", {"object": parent({"size": 2}), "related": {"pods": pods}}, tmp_path)
    assert made["status"] == {"nodes": ["a", "b"]}
    assert [child["spec"]["replicas"] for child in made["children"]] == [2]


# --- config-monitor ---------------------------------------------------------------------------------------------------


def test_no_config_touches_no_children(tmp_path: Path) -> None:
    done = run("config-monitor/roll-out.sh", {"object": parent({"size": 2}), "children": {"Deployment.apps/v1": {}}}, tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(("status", "changed"), [
    ({"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2, "readyReplicas": 2}, False),
    ({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}, True),  # of the Deployment before
    ({"observedGeneration": 3, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 2}, True),  # an old pod runs still
    ({"observedGeneration": 3, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 2}, True),
    ({"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1}, True),
    ({}, True),
])  # fmt: skip
def test_the_config_counts_as_changed_until_all_pods_run_it(status: Object, changed: bool, tmp_path: Path) -> None:
    template = {"metadata": {"annotations": {"config.example.com/config": "f1"}}}
    now = {"metadata": {"generation": 3}, "spec": {"template": template}, "status": status}
    call = {"object": parent({"size": 2}, {"podSpec": {"containers": []}, "config": "f1"}), "children": {"Deployment.apps/v1": {"web": now}}}
    assert answer("config-monitor/roll-out.sh", call, tmp_path)["status"]["configChanged"] is changed
    call["object"]["status"]["config"] = "f2"
    assert answer("config-monitor/roll-out.sh", call, tmp_path)["status"]["configChanged"] is True


@pytest.fixture(name="repo")
def make_repo(tmp_path: Path) -> Path:
    folder = tmp_path / "hookd-config-monitor"
    subprocess.run([EXAMPLES / "config-monitor/example-repo.sh", folder, "nginx:1"], check=True, capture_output=True)
    return folder


def follow(repo: Path, folder: Path, status: Object | None = None, **spec: Any) -> subprocess.CompletedProcess[str]:
    folder = folder / f"call-{len(list(folder.glob('call-*')))}"
    folder.mkdir()
    return run("config-monitor/follow-config.sh", {"object": parent({"size": 1, "configRepo": f"file://{repo}", **spec}, status)}, folder)


def test_the_file_comes_into_the_status_as_it_is(repo: Path, tmp_path: Path) -> None:
    done = follow(repo, tmp_path)
    (found,) = yaml.safe_load_all(done.stdout)
    status = found["status"]
    assert status["podSpec"] == {"containers": [{"name": "web", "image": "nginx:1"}]}
    assert status["configChanged"] is True and len(status["commit"]) == 40 and isinstance(status["config"], str)
    assert found["operations"][0]["about"]["uid"] == "u1"
    # The same again: nothing to say. Another generation, or a commit that changes something else: no change of the config.
    assert follow(repo, tmp_path, status).stdout == ""
    later = json.loads(follow(repo, tmp_path, {**status, "commit": "before"}).stdout)
    assert later["status"] == {key: value for key, value in status.items() if key != "configChanged"}


@pytest.mark.parametrize("spec", [{"configBranch": "none"}, {"configFile": "none.yaml"}, {"configRepo": "file:///nowhere/at/all"}, {"configRepo": "ext::sh -c date"}])
def test_what_git_cannot_do_now_is_tried_later(spec: Object, repo: Path, tmp_path: Path) -> None:
    done = follow(repo, tmp_path, **spec)
    assert (done.returncode, done.stdout) == (75, "") and done.stderr


# --- redis ------------------------------------------------------------------------------------------------------------

REDIS = {"replicas": 2, "passwordSecret": "key", "port": 1}  # nobody listens there


def test_a_password_is_made_where_there_is_none(tmp_path: Path) -> None:
    call = {"object": parent(REDIS), "related": {"password": {}}}
    first, second = (answer("redis/redis.sh", call, tmp_path)["operations"][0] for _ in range(2))
    assert first["operation"] == "CreateIfNotExists" and first["object"]["metadata"]["name"] == "key"
    assert first["object"]["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "X", "name": "web", "uid": "u1"}]
    passwords = [one["object"]["stringData"]["password"] for one in (first, second)]
    assert passwords[0] != passwords[1] and all(len(one) == 32 and one.isalnum() for one in passwords)
    call["related"] = {"password": {"key": {}}}
    assert answer("redis/redis.sh", call, tmp_path)["operations"] == []


def check(tmp_path: Path, pods: Object, health: str = "Healthy", **spec: Any) -> list[Object]:
    secret = {"key": {"data": {"password": base64.b64encode(b'two words and a "').decode()}}}
    call = {"object": parent({**REDIS, **spec}, {"health": health}), "related": {"pods": pods, "password": secret}}
    done = run("redis/check-health.sh", call, tmp_path)
    assert done.returncode == 0, done.stderr
    decoder, documents, rest = json.JSONDecoder(), [], done.stdout.strip()
    while rest:
        document, end = decoder.raw_decode(rest)
        documents.append(document)
        rest = rest[end:].strip()
    return documents


def pod(name: str, **status: Any) -> Object:
    return {name: {"metadata": {"name": name}, "status": status}}


def test_health_is_what_pods_and_instances_say(tmp_path: Path) -> None:
    pods = {**pod("web-0", phase="Running", podIP="127.0.0.1"), **pod("web-1", phase="Failed"), **pod("web-7", phase="Running", podIP="127.0.0.1")}
    status, event = check(tmp_path, pods)
    assert status["status"] == {
        "health": "Down", "up": 0, "why": "web-0 is unreachable, web-1 is failed",
        "instances": [{"name": "web-0", "state": "unreachable"}, {"name": "web-1", "state": "failed"}],
    }  # fmt: skip
    assert (event["operation"], event["type"], event["reason"], event["about"]["uid"]) == ("Event", "Warning", "Down", "u1")
    assert [one["status"]["health"] for one in check(tmp_path, {}, "Down")] == ["Down"], "the same health is no news"
    assert [one["status"]["health"] for one in check(tmp_path, {}, "Starting")] == ["Starting"]
    assert [one.get("reason", one.get("status", {}).get("health")) for one in check(tmp_path, {}, "Starting", replicas=0)] == ["Healthy", "Healthy"]
