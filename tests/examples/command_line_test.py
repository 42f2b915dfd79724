"""What is said of wrong usage, and exit codes: 0 done, 1 it went wrong, 2 wrong usage."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from built import binary, hookd

HOOK = "apiVersion: hookd/v1\nkind: Hook\nmetadata: {name: h}\nspec:\n  run: {command: ['true']}\n  startup: {}\n"
NO_FAILURE_TEST = "apiVersion: hookd/v1\nkind: HookTest\nmetadata: {name: t}\nsteps:\n  - %s\n  - expect: {calls: 1}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["statsu"], 'hookd: there is no command "statsu"; did you mean "status"?\n`hookd --help` tells more.'),
        (["frobnicate"], 'hookd: there is no command "frobnicate"'),
        ([], "Subcommands:"),
        (["--bogus"], "hookd: "),
        (["test", "--bogus"], "hookd test: The following argument was not expected: --bogus\n`hookd test --help` tells more."),
        (["check"], "hookd check: PATH is required"),
        (["status", "-o", "yaml"], "hookd status: --output: yaml not in {json,table}"),
        (["run", "--log-level", "loud"], "--log-level: loud not in {debug,info,warn,error}"),
        (["run", "--hooks", ".", "--grace", "5"], 'hookd: --grace: "5" is not a duration'),
        (["retry", "h"], "hookd retry: which? Give a KEY or ID of `hookd queue h`, or --all"),
        (["runs", "--input"], "hookd runs: --input needs the id of a call"),
        (["play"], "hookd play: the folder with the hooks is missing"),
        (["play", "--server-only", "--scenario", "s.yaml"], "hookd play: --server-only excludes --scenario"),
        (["play", "--server-only", "--load", "gone.yaml"], "hookd play: gone.yaml: No such file or directory"),
    ],
)
def test_wrong_usage_is_2_and_says_of_which_command(tmp_path: Path, words: list[str], said: str) -> None:
    assert said in hookd(tmp_path, *words, code=2)[1]


def test_what_the_command_line_names_may_be_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "hook.yaml").write_text(HOOK.replace("startup: {}", "watch: [{name: pods, kind: Pod}]"))
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: default, uid: u, resourceVersion: '1'}\n"
    hookd(tmp_path, "call", "hook.yaml", "--object", "/dev/stdin", text=pod)
    assert "h: ok" in hookd(tmp_path, "check", "/dev/stdin", text=HOOK)[0]
    hookd(tmp_path, "check", "--config", "/dev/null", "hook.yaml")


def test_a_place_without_a_daemon_is_told(tmp_path: Path) -> None:
    assert "no hookd runs here: /nowhere" in hookd(tmp_path, "status", "--socket", "/nowhere", code=1)[1]
    assert f"{tmp_path} is no socket" in hookd(tmp_path, "status", "--socket", str(tmp_path), code=1)[1]


# Root looks into every folder.
NOT_ROOT = {"user": 65534} if os.geteuid() == 0 else {}


@pytest.mark.parametrize("words", [[], ["--socket", "hookd/hookd.sock"]])
def test_a_daemon_of_another_user_is_not_told_as_none(words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "hookd").mkdir(mode=0o000)
        env = {"XDG_RUNTIME_DIR": folder, "PATH": os.environ["PATH"]}
        done = subprocess.run([str(binary()), "status", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False, **NOT_ROOT)
        (Path(folder) / "hookd").chmod(0o700)
    assert done.returncode == 1
    assert "as root or as the user" in done.stderr or "only root and the user" in done.stderr
    assert "no hookd runs here" not in done.stderr


def test_output_that_cannot_be_written_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "hook.yaml").write_text(HOOK)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([str(binary()), "rbac", "."], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "standard output could not be written: No space left on device" in done.stderr


def test_what_would_let_a_delete_pass_is_said(tmp_path: Path) -> None:
    (tmp_path / "hook.yaml").write_text(HOOK)
    (tmp_path / "t.test.yaml").write_text(NO_FAILURE_TEST % "delete: {kind: Pod, name: gone}")
    assert "gone already; `ignoreMissingObject: true` lets that pass" in hookd(tmp_path, "test", code=1)[0]


def test_update_keeps_an_expectation_with_a_misspelt_kind(tmp_path: Path) -> None:
    (tmp_path / "hook.yaml").write_text(HOOK)
    text = NO_FAILURE_TEST % "expect: {objects: [{kind: Podd, name: x}]}"
    (tmp_path / "t.test.yaml").write_text(text)
    assert 'no resource "Podd"; did you mean Pod' in hookd(tmp_path, "test", "--update", code=1)[0]
    assert "Podd" in (tmp_path / "t.test.yaml").read_text()
