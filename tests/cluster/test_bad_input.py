"""Bad hooks, bad scripts, bad connections: a clear error that names the thing, the rest runs on, nothing is applied by halves."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from certificates import Authority
from cluster import Cluster
from hookd import Hookd, binary
from hooks import lines, watch, write_hook
from process import free_port

StartHookd = Callable[..., Hookd]


@pytest.fixture
def beside(cluster: Cluster, namespace: str, tmp_path: Path) -> Callable[[Hookd], None]:
    """A good hook in the same folder; beside(daemon) checks that it still works."""
    out = tmp_path / "good-out"
    write_hook(
        tmp_path / "hooks",
        f"jq -r .events[].object.metadata.name >> {out}",
        {"watch": [watch("ConfigMap", namespace, labelSelector="check=good", events=["added"])]},
        name="good",
    )
    made = 0

    def check(daemon: Hookd) -> None:
        nonlocal made
        made += 1
        cluster.api("POST", f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": f"good-{made}", "labels": {"check": "good"}}})
        daemon.wait_for(lambda: f"good-{made}" in lines(out), 20, "the good hook called")

    return check


@pytest.fixture
def script(cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd, beside: Callable) -> Callable[..., dict]:
    """script(text, ...) -> the log entry of the first failed call of a hook with that script; the good hook goes on."""

    def run(text: str, level: str = "warn", **more: object) -> dict:
        cluster.make_config_map(namespace, "about")
        write_hook(
            tmp_path / "hooks",
            text,
            {"watch": [watch("ConfigMap", namespace, names=["about"], events=["added"])], "retry": {"initial": "1m"}},
            name="bad",
            run={"timeout": "2s", "grace": "500ms", **more},
        )
        daemon = hookd(tmp_path / "hooks").wait_ready()
        entry = daemon.wait_log(
            lambda line: line.get("hook") == "bad" and line.get("level") == level and "error" in line and "call" in line, what="the failure"
        )
        beside(daemon)
        assert cluster.config_map(namespace, "half") is None
        assert daemon.get("/healthz")[0] == 200
        return entry

    return run


def half(namespace: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "half", "namespace": namespace}})


# --- the hook's file -----------------------------------------------------------------------------------------------

FILES = {
    "broken YAML": ("apiVersion: hookd/v1\nkind: Hook\nmetadata: {name: bad\nspec: {}\n", ["hook.yaml:"]),
    "unknown key": ("spec.watch[0].labelselector", ["hook.yaml:", "labelselector", 'did you mean "labelSelector"']),
    "bad jq": ("spec.watch[0].when=.a |", ["hook.yaml:", "when"]),
    "bad cron": ("spec.schedule[0].cron=61 * * * *", ["hook.yaml:", "cron", "61"]),
    "missing script": ("spec.run.command=./nowhere.sh", ["hook.yaml:", "nowhere.sh"]),
    "script without run bit": ("chmod", ["hook.yaml:", "chmod +x"]),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_broken_hook_file_is_told_with_its_place_and_stops_no_other(
    kind: str, namespace: str, tmp_path: Path, hookd: StartHookd, beside: Callable
) -> None:
    change, wanted = FILES[kind]
    home = write_hook(tmp_path / "hooks", "true", {"watch": [watch("ConfigMap", namespace)], "schedule": [{"name": "s", "cron": "0 3 * * *"}]}, name="bad")
    file = home / "hook.yaml"
    hook = json.loads(file.read_text())
    if change == "chmod":
        (home / "hook.sh").chmod(0o644)
    elif change.startswith("apiVersion"):
        file.write_text(change)
    else:
        path, _, value = change.partition("=")
        at = hook
        *steps, last = path.replace("[0]", ".0").split(".")
        for step in steps:
            at = at[int(step)] if step.isdigit() else at[step]
        at[last] = [value] if last == "command" else value
        file.write_text(json.dumps(hook, indent=2))

    daemon = hookd(tmp_path / "hooks").wait_ready()
    told = daemon.wait_log(lambda line: line.get("level") == "error", what="the error")["msg"]
    assert all(word in told for word in wanted), told
    assert "degraded: broken hook" in daemon.get("/readyz")[1]
    beside(daemon)
    checked = subprocess.run([binary(), "check", tmp_path / "hooks"], capture_output=True, text=True)
    assert checked.returncode == 1 and str(file) in checked.stderr and "good: ok" in checked.stdout


# --- the script ----------------------------------------------------------------------------------------------------


def test_rubbish(script: Callable[..., dict]) -> None:
    # Without "}": a brace that closes at once makes an empty document, with text behind it that is only logged.
    assert "line 1" in script("head -c 3000 /dev/urandom | tr -d '}' | sed '1s/^/{/'")["error"]


def test_half_an_answer(script: Callable[..., dict], namespace: str) -> None:
    error = script(f"echo '{half(namespace)}'; echo '{half(namespace)[:-8]}'")["error"]
    assert "line 2" in error and "a JSON document begins here but is broken" in error


def test_a_hundred_megabytes(script: Callable[..., dict], namespace: str) -> None:
    error = script(f"echo '{half(namespace)}'; head -c 100000000 /dev/zero | tr '\\0' 'x'")["error"]
    assert "33554432" in error, error


def test_hangs(script: Callable[..., dict], namespace: str) -> None:
    error = script(f"echo '{half(namespace)}'; sleep 600")["error"]
    assert "timed out after 2s" in error


def test_hangs_and_ignores_sigterm(script: Callable[..., dict]) -> None:
    assert "timed out" in script("trap '' TERM; while :; do sleep 600; done")["error"]


def test_dies_by_signal(script: Callable[..., dict], namespace: str) -> None:
    assert "SIGSEGV" in script(f"echo '{half(namespace)}'; kill -SEGV $$")["error"]


def test_gives_up_for_good(script: Callable[..., dict]) -> None:
    assert "exit code 65" in script("echo 'not a thing I know' >&2; exit 65", level="error")["error"]


def test_prints_nothing_closes_stdin_early_or_leaves_a_child_behind(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd, beside: Callable
) -> None:
    left = tmp_path / "left.pid"
    spec = {"watch": [watch("ConfigMap", namespace, names=["about"], events=["added"])]}
    write_hook(tmp_path / "hooks", "true", spec, name="nothing")
    write_hook(tmp_path / "hooks", f"exec <&-\necho '{half(namespace).replace('half', 'whole')}'", spec, name="early")
    write_hook(tmp_path / "hooks", f"sleep 600 &\necho $! > {left}", spec, name="leaver", run={"grace": "300ms"})
    cluster.make_config_map(namespace, "about", big="x" * 500_000)
    daemon = hookd(tmp_path / "hooks").wait_ready()
    for name in ("nothing", "early", "leaver"):
        daemon.wait_log(lambda line, name=name: line.get("hook") == name and line.get("result") == "ok", what=f"{name} called")
    assert cluster.config_map(namespace, "whole")
    pid = int(left.read_text())
    daemon.wait_for(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text(), 10, "the child ended with its group")
    beside(daemon)


# --- the connection ------------------------------------------------------------------------------------------------


def start_unready(hookd: StartHookd, hooks: Path, kubeconfig: Path, *words: str) -> Hookd:
    daemon = hookd(hooks, kubeconfig=kubeconfig)
    daemon.wait_for(lambda: daemon.get("/healthz")[0] == 200, 10, "hookd up")

    def told() -> bool:
        code, text = daemon.get("/readyz")
        assert code == 503 and all(word in text for word in words), text
        return True

    daemon.wait_for(told, 20, f"/readyz telling {words}")
    return daemon


def test_unreachable_server(cluster: Cluster, tmp_path: Path, hookd: StartHookd, beside: Callable) -> None:
    port = free_port()
    kubeconfig = cluster.write_kubeconfig("nowhere", f"token: {cluster.token()}", server=f"https://127.0.0.1:{port}")
    start_unready(hookd, tmp_path / "hooks", kubeconfig, f"127.0.0.1:{port}", "cannot connect")


def test_wrong_ca(cluster: Cluster, tmp_path: Path, hookd: StartHookd, beside: Callable) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    kubeconfig = cluster.write_kubeconfig("wrong-ca", f"token: {cluster.token()}", ca=other.ca)
    daemon = start_unready(hookd, tmp_path / "hooks", kubeconfig, "certificate")
    assert cluster.token() not in daemon.log.read_text()


def test_expired_token(cluster: Cluster, tmp_path: Path, hookd: StartHookd, beside: Callable) -> None:
    kubeconfig = cluster.write_kubeconfig("expired", "token: no-longer-good")
    daemon = start_unready(hookd, tmp_path / "hooks", kubeconfig, "Unauthorized")
    assert "no-longer-good" not in daemon.log.read_text()


def test_kubeconfig_that_is_missing_or_broken_ends_the_start_with_a_clear_error(tmp_path: Path, hookd: StartHookd) -> None:
    write_hook(tmp_path / "hooks", "true", {"schedule": [{"name": "s", "every": "1h"}]})
    broken = tmp_path / "kubeconfig"
    broken.write_text("clusters: [")
    for path, word in ((tmp_path / "missing", "missing"), (broken, "kubeconfig:")):
        daemon = hookd(tmp_path / "hooks", kubeconfig=path)
        assert daemon.wait_exit(10) == 1
        assert word in daemon.logs(level="error")[-1]["msg"]


def test_forbidden_watch_and_missing_crd_are_told_and_stop_no_other(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd, beside: Callable
) -> None:
    cluster.kubectl("create", "role", "reader", "-n", namespace, "--verb=get,list,watch", "--resource=configmaps")
    cluster.kubectl("create", "rolebinding", "reader", "-n", namespace, "--role=reader", "--user=bob")
    write_hook(tmp_path / "hooks", "true", {"watch": [watch("Secret", namespace)]}, name="forbidden")
    write_hook(tmp_path / "hooks", "true", {"watch": [{"kind": "nowheres.example.com"}]}, name="no-crd")
    daemon = hookd(tmp_path / "hooks", user="bob")

    def told() -> bool:
        code, text = daemon.get("/readyz")
        assert code == 200 and "forbidden/secret" in text and 'cannot list resource "secrets"' in text, text
        assert "no-crd/" in text and "nowheres.example.com" in text, text
        return True

    daemon.wait_for(told, 20, "/readyz telling both")
    beside(daemon)


def test_an_expression_that_never_ends_is_named(namespace: str, tmp_path: Path, hookd: StartHookd) -> None:
    """libjq cannot be interrupted: the daemon stands still, /healthz does not answer, and the log says why."""
    write_hook(tmp_path / "hooks", "true", {"watch": [watch("ConfigMap", namespace, name="endless", when="def f: f; f")]})
    daemon = hookd(tmp_path / "hooks")
    entry = daemon.wait_log(lambda entry: entry.get("jq") == "def f: f; f", 20)
    assert "does not come to an end" in entry["msg"] and (entry["hook"], entry["binding"]) == ("probe", "endless")
    with pytest.raises(OSError):
        daemon.get("/healthz")


def test_a_pipe_is_no_hook_file_and_no_source(namespace: str, tmp_path: Path, hookd: StartHookd, beside: Callable) -> None:
    (tmp_path / "hooks").mkdir(exist_ok=True)
    os.mkfifo(tmp_path / "hooks" / "pipe.hook.yaml")
    os.mkfifo(tmp_path / "pipe")
    write_hook(tmp_path / "hooks", "true", {"source": [{"name": "in", "file": str(tmp_path / "pipe")}]}, name="piped")
    daemon = hookd(tmp_path / "hooks").wait_ready()
    beside(daemon)
    daemon.wait_for(lambda: f"{tmp_path / 'pipe'}: neither a file nor a folder" in daemon.get("/readyz")[1], 10, "the source's trouble")
    assert "pipe.hook.yaml" in daemon.get("/readyz")[1]
