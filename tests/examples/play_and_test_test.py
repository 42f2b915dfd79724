"""`hookd test` and `hookd play` as people call them, on small hooks, with the built program (HOOKD_BIN)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import xml.etree.ElementTree
from pathlib import Path
from typing import TYPE_CHECKING

import built
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

HOOK = """
apiVersion: hookd/v1
kind: Hook
metadata: {name: labeller}
spec:
  run: {command: [./label.sh]}
  retry: {initial: 1s, max: 10s}
  watch:
    - {name: fresh, apiVersion: v1, kind: ConfigMap, labelSelector: app=x, when: .metadata.labels.seen == null, for: 5m, events: [added]}
  schedule:
    - {name: nightly, cron: "0 3 * * *"}
"""
SCRIPT = """#!/bin/sh
echo "at work" >&2
jq -c '.events[] | select(.object) | .object.metadata | {operation: "Label", apiVersion: "v1", kind: "ConfigMap", namespace, name, labels: {seen: "yes"}}'
"""
GIVEN = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default, labels: {app: x}}, data: {a: b}}"


def document(name: str, *steps: str) -> str:
    lines = "".join(f"  - {step}\n" for step in steps)
    return f"apiVersion: hookd/v1\nkind: HookTest\nmetadata: {{name: {name}}}\ngiven: [{GIVEN}]\nsteps:\n{lines}"


@pytest.fixture(name="folder")
def make_folder(tmp_path: Path) -> Path:
    (tmp_path / "hook.yaml").write_text(HOOK)
    (tmp_path / "label.sh").write_text(SCRIPT)
    (tmp_path / "label.sh").chmod(0o755)
    return tmp_path


def hookd(folder: Path, *arguments: str, code: int) -> str:
    """Standard output and error."""
    return "".join(built.hookd(folder, *arguments, code=code))


def test_virtual_time_and_real_hooks(folder: Path) -> None:
    (folder / "a.test.yaml").write_text(
        document(
            "five minutes take no time",
            "advance: 299s",
            "expect: {calls: 0}",
            "advance: 2s",
            "expect: {calls: [{hook: labeller, binding: fresh, type: Added, object: default/c}], only: true,"
            " operations: [{operation: Label, labels: {seen: 'yes'}}], objects: [{kind: ConfigMap, name: c, metadata: {labels: {seen: 'yes'}}}], log: at work}",
            "advance: 24h",
            "expect: {calls: [{binding: nightly, type: Schedule}], operations: []}",
        )
        + "---\n"
        + document(
            "a hook that fails is called again",
            "fail: {hook: labeller, exit: 3, times: 2}",
            "advance: 10m",
            "expect: {calls: [{result: failed, exit: 3}, {attempt: 2, result: failed}, {attempt: 3, result: ok}], only: true}",
        )
        + "---\n"
        + document(
            "an API that fails is asked again",
            "fail: {api: {code: 503, method: PATCH, times: 1}}",
            "advance: 10m",
            "expect: {objects: [{kind: ConfigMap, name: c, metadata: {labels: {seen: 'yes'}}}]}",
        )
        + "---\n"
        + document(
            "a watch that falls silent tells nothing until hookd notices",
            "fail: {watch: silent}",
            "apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: late, namespace: default, labels: {app: x}}}",
            "advance: 5m1s",
            "expect: {calls: [{object: default/c}], only: true}",
            "advance: 20m",
            "expect: {objects: [{kind: ConfigMap, name: late, metadata: {labels: {seen: 'yes'}}}]}",
        )
        + "---\n"
        + document("a restart begins anew", "advance: 4m", "restart: true", "advance: 4m", "expect: {calls: 0}", "advance: 2m", "expect: {calls: 1}")
        + "---\n"
        + document("a cut watch misses nothing", "fail: {watch: cut}", f"apply: {GIVEN.replace('name: c', 'name: d')}", "advance: 6m", "expect: {calls: 2}")
    )
    output = hookd(folder, "test", code=0)
    assert "6 passed, 0 failed" in output


def test_failure_shows_place_difference_and_calls(folder: Path) -> None:
    test = document("wrong", "advance: 10m", "expect: {operations: [{operation: Label, labels: {seen: never}}], absent: [{kind: ConfigMap, name: c}]}")
    (folder / "w.test.yaml").write_text(test)
    output = hookd(folder, "test", "--junit", "out.xml", code=1)
    assert re.search(r"w\.test\.yaml:7:\d+: no such operation", output)
    assert '~ .labels.seen: expected "never", seen "yes"' in output
    assert "should not be there: ConfigMap c" in output
    assert "Label ConfigMap default/c: done" in output
    assert "at work" in output
    assert "0 passed, 1 failed" in output
    suite = xml.etree.ElementTree.parse(folder / "out.xml").getroot()[0]
    assert suite.attrib["failures"] == "1"


def test_update_writes_what_was_seen_and_keeps_the_rest(folder: Path) -> None:
    file = folder / "u.test.yaml"
    file.write_text("# about labels\n" + document("old", "advance: 10m   # long", "expect: {calls: 7, operations: []}", "say: the end"))
    hookd(folder, "test", "--update", code=1)
    text = file.read_text()
    assert "# about labels" in text and "advance: 10m   # long" in text and "- say: the end" in text
    assert "      calls: 1\n" in text and "labels: {seen: " in text
    assert "1 passed" in hookd(folder, "test", code=0)


def test_what_is_wrong_in_files_is_said_with_its_place(folder: Path) -> None:
    (folder / "b.test.yaml").write_text(document("bad", "advnce: 1s"))
    assert re.search(r"b\.test\.yaml:6:5: steps\[0\]\.advnce: no such step", hookd(folder, "test", code=2))
    (folder / "b.test.yaml").write_text(document("good", "expect: {calls: 0}"))
    (folder / "hook.yaml").write_text(HOOK.replace("retry:", "rety:"))
    assert 'unknown key "rety"' in hookd(folder, "test", code=2)


def test_run_chooses_tests(folder: Path) -> None:
    (folder / "a.test.yaml").write_text(document("one", "expect: {calls: 0}") + "---\n" + document("two", "expect: {calls: 0}"))
    assert "1 passed, 0 failed" in hookd(folder, "test", "--run", "tw?", code=0)
    assert "no test has" in hookd(folder, "test", "--run", "three", code=2)


def test_play_tells_what_happens(folder: Path) -> None:
    (folder / "given.yaml").write_text(GIVEN)
    (folder / "scenario.yaml").write_text(
        "apiVersion: hookd/v1\nkind: Scenario\nsteps:\n  - say: Five minutes go by.\n"
        "  - wait: {object: {kind: ConfigMap, name: c, metadata: {labels: {seen: 'yes'}}}, timeout: 10m}\n"
    )
    output = hookd(folder, "play", ".", "--exit", "--speed", "600", code=0)
    assert "Five minutes go by." in output
    assert "labeller is called: Added ConfigMap default/c (fresh)" in output
    assert '+ .metadata.labels.seen: "yes"' in output
    assert "\x1b[" not in output


def test_play_ends_with_1_when_it_waited_in_vain(folder: Path) -> None:
    (folder / "scenario.yaml").write_text("apiVersion: hookd/v1\nkind: Scenario\nsteps:\n  - wait: {called: labeller, timeout: 2s}\n")
    assert "waited in vain" in hookd(folder, "play", ".", "--exit", "--speed", "2", code=1)


def test_an_event_is_expected_by_the_parts_of_its_object(folder: Path) -> None:
    event = '{operation: "Event", type: "Normal", reason: "Seen", about: {apiVersion: "v1", kind: "Namespace", name: "default"}, message: "m"}'
    (folder / "label.sh").write_text(f"#!/bin/sh\njq -cn '{event}'\n")
    (folder / "e.test.yaml").write_text(
        document("map", "advance: 6m", "expect: {events: [{reason: Seen, object: {kind: Namespace, name: default}}]}")
        + "---\n"
        + document("text", "advance: 6m", "expect: {events: [{reason: Seen, object: Namespace default}]}")
        + "---\n"
        + document("wrong", "advance: 6m", "expect: {events: [{reason: Seen, object: {kind: Pod}}]}")
    )
    output = hookd(folder, "test", code=1)
    assert "2 passed, 1 failed" in output
    assert '~ .object.kind: expected "Pod", seen "Namespace"' in output


def test_misspelt_names_are_no_success(folder: Path) -> None:
    (folder / "m.test.yaml").write_text(
        document("hook", "fail: {hook: labeler, exit: 1}", "expect: {calls: 0}")
        + "---\n"
        + document("kind", "wait: {absent: {kind: ConfigMop, name: c}}", "expect: {calls: 0}")
    )
    output = hookd(folder, "test", code=1)
    assert 'm.test.yaml:6:5: fail: there is no hook "labeler"' in output
    assert 'no resource "ConfigMop"' in output
    assert "0 passed, 2 failed" in output


def test_update_leaves_a_file_that_can_be_read(folder: Path) -> None:
    file = folder / "u.test.yaml"
    file.write_text(document("bracket", "expect: {calls: 7,\n      operations: []\n    }", "say: the end"))
    hookd(folder, "test", "--update", code=1)
    assert "- say: the end" in file.read_text()
    assert "1 passed" in hookd(folder, "test", code=0)


def test_junit_names_files_that_cannot_be_read(folder: Path) -> None:
    (folder / "a.test.yaml").write_text(document("good", "expect: {calls: 0}"))
    (folder / "b.test.yaml").write_text(document("bad", "advnce: 1s"))
    hookd(folder, "test", "--junit", "out.xml", code=2)
    suites = {suite.attrib["name"]: suite.attrib for suite in xml.etree.ElementTree.parse(folder / "out.xml").getroot()}
    assert suites["a.test.yaml"]["errors"] == "0"
    assert suites["b.test.yaml"]["errors"] == "1"


@pytest.mark.parametrize(("arguments", "sent"), [(["test"], signal.SIGTERM), (["test"], signal.SIGHUP), (["play", ".", "--exit"], signal.SIGHUP)])
def test_an_end_by_signal_leaves_nothing_behind(folder: Path, arguments: list[str], sent: signal.Signals) -> None:
    (folder / "hook.yaml").write_text(HOOK.replace("  schedule:", "  startup: {order: 1}\n  schedule:"))
    (folder / "label.sh").write_text("#!/bin/sh\necho $$ > pid.new && mv pid.new pid\nsleep 300\n")
    (folder / "s.test.yaml").write_text(document("long", "expect: {calls: 1}"))
    (folder / "tmp").mkdir()
    with subprocess.Popen([str(built.binary()), *arguments], cwd=folder, env={**os.environ, "TMPDIR": str(folder / "tmp")}, stdout=subprocess.DEVNULL) as running:
        until(lambda: (folder / "pid").exists())
        running.send_signal(sent)
        assert running.wait(20) == 128 + sent
    hook = int((folder / "pid").read_text())
    until(lambda: not Path(f"/proc/{hook}").exists() or "Z" in Path(f"/proc/{hook}/stat").read_text().split(")")[1].split()[0])
    assert not list((folder / "tmp").iterdir())


def test_a_flood_is_shown_from_its_end(folder: Path) -> None:
    (folder / "label.sh").write_text("#!/bin/sh\nseq -f 'line %.0f.' 1000 >&2\n")
    (folder / "f.test.yaml").write_text(document("flood", "advance: 6m", "expect: {calls: 9}"))
    output = hookd(folder, "test", code=1)
    assert "line 1000." in output and "line 500." not in output and "more lines before these" in output
    assert "line 1." in hookd(folder, "test", "-v", code=1)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
