"""Nothing is lost and nothing comes twice when servers, networks and hooks fail."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from cluster import Cluster
from hookd import Hookd
from hooks import lines, watch, write_hook
from workloads import MERGE_PATCH, expect

StartHookd = Callable[..., Hookd]

RECORD = """
jq -r '.events[] | [.type, .object.metadata.name, (.object.data.n // "")] | @tsv' >> "$OUT"
"""


def test_the_api_server_killed_and_started_again_loses_nothing_and_repeats_nothing(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd
) -> None:
    out = tmp_path / "out"
    write_hook(tmp_path / "hooks", RECORD, {"concurrency": 4, "watch": [watch("ConfigMap", namespace)]}, run={"env": {"OUT": str(out)}})
    daemon = hookd(tmp_path / "hooks").wait_ready()
    for number in range(10):
        cluster.make_config_map(namespace, f"before-{number}", n="0")
    cluster.kill_apiserver()
    daemon.wait_log(lambda line: "will watch again" in line.get("msg", "") or "will list again" in line.get("msg", ""), what="the loss noticed")
    cluster.start_apiserver()
    # While hookd still waits to try again: changed, deleted, and made anew under the old name.
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    expect(cluster.api("PATCH", f"{path}/before-1", {"data": {"n": "1"}}, MERGE_PATCH))
    expect(cluster.api("DELETE", f"{path}/before-2"))
    expect(cluster.api("DELETE", f"{path}/before-3"))
    cluster.make_config_map(namespace, "before-3", n="new")
    for number in range(10):
        cluster.make_config_map(namespace, f"after-{number}", n="0")

    wanted = Counter([f"Added\t{when}-{number}\t0" for when in ("before", "after") for number in range(10)])
    wanted += Counter(["Modified\tbefore-1\t1", "Deleted\tbefore-2\t0", "Deleted\tbefore-3\t0", "Added\tbefore-3\tnew"])

    def seen() -> Counter:
        return Counter(line for line in lines(out) if "kube-root-ca" not in line)

    daemon.wait_for(lambda: seen() >= wanted, 90, "every event told")
    assert seen() == wanted, "and none of them twice"
    assert daemon.get("/readyz")[0] == 200


def test_a_hook_that_fails_is_tried_again_until_it_works_with_the_last_state(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd
) -> None:
    out, works = tmp_path / "out", tmp_path / "works"
    write_hook(
        tmp_path / "hooks",
        f"""
        [ -e {works} ] || {{ echo "the other side is down" >&2; exit 1; }}
        {RECORD}
        """,
        {"watch": [watch("ConfigMap", namespace, names=["a"])], "retry": {"initial": "200ms", "max": "1s"}},
        run={"env": {"OUT": str(out)}},
    )
    daemon = hookd(tmp_path / "hooks").wait_ready()
    cluster.make_config_map(namespace, "a", n="0")
    failed = daemon.wait_log(lambda line: line.get("msg") == "call failed, will be tried again", what="the first failure")
    assert "the other side is down" in failed["error"] and failed["object"] == f"{namespace}/a"
    for number in range(1, 6):
        expect(cluster.api("PATCH", f"/api/v1/namespaces/{namespace}/configmaps/a", {"data": {"n": str(number)}}, MERGE_PATCH))
    works.touch()
    daemon.wait_for(lambda: lines(out), 10, "the hook working")
    assert lines(out) == ["Added\ta\t5"], "what waited became one event with the last state"


def test_sigterm_lets_the_running_call_finish_and_starts_no_other(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd
) -> None:
    out, go = tmp_path / "out", tmp_path / "go"
    write_hook(
        tmp_path / "hooks",
        f"""
        echo begin >> {out}
        while [ ! -e {go} ]; do sleep 0.05; done
        echo end >> {out}
        echo '{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"result","namespace":"{namespace}"}},"data":{{"a":"1"}}}}'
        """,
        {"watch": [watch("ConfigMap", namespace, names=["a", "b"])]},
    )
    cluster.make_config_map(namespace, "a")
    cluster.make_config_map(namespace, "b")
    daemon = hookd(tmp_path / "hooks").wait_ready()
    daemon.wait_for(lambda: lines(out) == ["begin"], 10, "the first call under way")
    daemon.child.signal(signal.SIGTERM)
    daemon.wait_log(lambda line: line.get("msg") == "stopping")
    assert daemon.get("/readyz")[0] == 503
    go.touch()
    assert daemon.wait_exit(20) == 0
    assert lines(out) == ["begin", "end"]
    assert cluster.config_map(namespace, "result"), "what the call answered was still applied"


def test_sighup_reloads_only_what_changed_and_a_broken_version_leaves_the_old_one_running(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd
) -> None:
    out = tmp_path / "out"
    for name in ("steady", "edited"):
        write_hook(
            tmp_path / "hooks",
            f'echo "{name} $(jq -r .events[].object.metadata.name)" >> {out}',
            {"watch": [watch("ConfigMap", namespace, existing="none")]},
            name=name,
        )
    daemon = hookd(tmp_path / "hooks", flags=["--no-reload"]).wait_ready()
    edited = tmp_path / "hooks" / "edited" / "hook.yaml"
    good = edited.read_text()
    edited.write_text(good.replace('"existing"', '"exsting"'))
    daemon.child.signal(signal.SIGHUP)
    told = daemon.wait_log(lambda line: "broken hook" in line.get("msg", ""), what="the broken version told")
    assert "exsting" in told["msg"] and "did you mean" in told["msg"] and "hook.yaml:" in told["msg"]
    cluster.make_config_map(namespace, "one")
    daemon.wait_for(lambda: set(lines(out)) == {"steady one", "edited one"}, 10, "both still running")

    edited.write_text(good.replace('"probe"', '"probe"').replace('"none"', '"added"'))
    daemon.child.signal(signal.SIGHUP)
    daemon.wait_log(lambda line: line.get("msg") == "hook changed" and line.get("hook") == "edited")
    daemon.wait_for(lambda: lines(out).count("edited one") == 2, 10, "the new version sees what exists")
    assert lines(out).count("steady one") == 1
    assert [line["hook"] for line in daemon.logs(msg="hook changed")] == ["edited"]


def test_edits_while_a_call_runs_end_with_the_newest_version_and_never_overlap(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd
) -> None:
    out, go = tmp_path / "out", tmp_path / "go"

    def version(number: int) -> None:
        write_hook(
            tmp_path / "hooks",
            f"""
            echo "begin {number}" >> {out}
            while [ ! -e {go} ]; do sleep 0.05; done
            echo "end {number}" >> {out}
            """,
            {"watch": [watch("ConfigMap", namespace, names=["a"])], "startup": {"order": number}},
        )

    version(1)
    cluster.make_config_map(namespace, "a")
    daemon = hookd(tmp_path / "hooks", flags=["--no-reload"])
    daemon.wait_for(lambda: lines(out) == ["begin 1"], 20, "the first version at work")
    for number in (2, 3):
        version(number)
        daemon.child.signal(signal.SIGHUP)
        daemon.wait_for(lambda number=number: len(daemon.logs(msg="reloaded")) == number - 1, 10, "the reload")
    go.touch()
    # The start-up call and the object's, of the newest version.
    daemon.wait_for(lambda: lines(out).count("end 3") >= 2, 20, "the newest version")
    seen = lines(out)
    assert not any(line.endswith(" 2") for line in seen), "the version in between was never needed"
    assert [line.split()[0] for line in seen] == ["begin", "end"] * (len(seen) // 2), "one call at a time"


def test_a_hooks_folder_that_is_gone_for_a_moment_takes_no_hook_away(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd
) -> None:
    out = tmp_path / "out"
    write_hook(tmp_path / "hooks", f"jq -r .events[].object.metadata.name >> {out}", {"watch": [watch("ConfigMap", namespace, existing="none")]})
    daemon = hookd(tmp_path / "hooks", flags=["--no-reload"]).wait_ready()
    (tmp_path / "hooks").rename(tmp_path / "away")
    daemon.child.signal(signal.SIGHUP)
    daemon.wait_log(lambda line: line.get("msg") == "reloaded")
    (tmp_path / "away").rename(tmp_path / "hooks")
    cluster.make_config_map(namespace, "one")
    daemon.wait_for(lambda: lines(out) == ["one"], 10, "the hook still there")
    assert not daemon.logs(msg="hook removed")


def test_sigterm_while_a_new_version_waits_lets_the_old_one_finish(
    cluster: Cluster, namespace: str, tmp_path: Path, hookd: StartHookd
) -> None:
    out, go = tmp_path / "out", tmp_path / "go"
    script = f"echo begin >> {out}\nwhile [ ! -e {go} ]; do sleep 0.05; done\necho end >> {out}\n"
    write_hook(tmp_path / "hooks", script, {"startup": {}})
    daemon = hookd(tmp_path / "hooks", flags=["--no-reload"])
    daemon.wait_for(lambda: lines(out) == ["begin"], 20, "the call under way")
    write_hook(tmp_path / "hooks", script + "# new\n", {"startup": {}})
    daemon.child.signal(signal.SIGHUP)
    daemon.wait_log(lambda line: line.get("msg") == "hook changed")
    daemon.child.signal(signal.SIGTERM)
    stopping = daemon.wait_log(lambda line: line.get("msg") == "stopping")
    assert stopping["running"] == 1
    go.touch()
    assert daemon.wait_exit(20) == 0
    assert lines(out) == ["begin", "end"]
