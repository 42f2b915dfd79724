"""`hookd completion bash` in a real bash, and what the scripts ask of the program (HOOKD_BIN)."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlparse

import pytest
from built import binary

if TYPE_CHECKING:
    from collections.abc import Iterator

# What COMPREPLY is after a Tab behind these words, one a line. compopt works only at a real Tab.
ASK = """
source <("$HOOKD" completion bash)
compopt() { echo "compopt $*"; }
COMP_WORDS=("$HOOKD" "$@")
COMP_CWORD=$#
_hookd
printf '%s\\n' "${COMPREPLY[@]}"
"""


def environment(control: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOOKD_")}
    return {**kept, "HOOKD": str(binary()), "HOOKD_CONTROL": str(control)}


def complete(*words: str, control: Path = Path("/nowhere/hookd.sock")) -> list[str]:
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "bash", *words], env=environment(control), capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return [line for line in done.stdout.split("\n") if line]


class Daemon(BaseHTTPRequestHandler):
    """The control socket of a daemon with two hooks."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlparse(self.path)
        hook = parse_qs(url.query).get("hook", [""])[0]
        answers = {
            "/v1/status": {
                "hooks": [{"name": "pods", "state": "ready"}, {"name": "users", "state": "paused"}],
                "leftFinalizers": [{"hook": "gone", "finalizer": "a/b", "kind": kind} for kind in ("Pod", "Node")],
            },
            "/v1/hook": {
                "bindings": [
                    {"name": "stuck", "type": "watch", "what": "Pod (v1)"},
                    {"name": "nightly", "type": "schedule", "what": "cron"},
                    {"name": "children", "type": "reconcile", "what": "Deployment (apps/v1)"},
                ]
            },
            "/v1/queue": {
                "rows": [
                    {"hook": hook, "key": f"{hook}/a b", "state": "parked", "error": "exit code 1"},
                    {"hook": hook, "key": "runs", "state": "running"},
                ]
            },
        }
        body = json.dumps(answers[url.path]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(name="control")
def run_daemon(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "c.sock"
    with UnixStreamServer(str(path), Daemon) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield path
        server.shutdown()
        thread.join()


COMMANDS = ["run", "check", "call", "test", "rbac", "play", "status", "runs", "retry", "finalizers", "completion"]


def commands_of_help() -> list[str]:
    text = subprocess.run([str(binary()), "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    return re.findall(r"^  ([a-z]+) ", text.split("Subcommands:")[1], re.MULTILINE)


def test_commands_are_those_of_help() -> None:
    assert len(commands_of_help()) > 15
    assert complete("") == commands_of_help()
    assert complete("re") == ["retry", "resume", "reload"]
    assert complete("__") == []
    assert complete("bogus", "") == []


@pytest.mark.parametrize("command", COMMANDS)
def test_flags_are_those_of_help(command: str) -> None:
    text = subprocess.run([str(binary()), command, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    flags = [flag for names in re.findall(r"^  (-\S+)", text, re.MULTILINE) for flag in names.split(",")]
    assert sorted(complete(command, "-")) == sorted(flags)


def test_values_of_flags() -> None:
    assert complete("status", "-o", "") == ["json", "table"]
    assert complete("status", "-o", "j") == ["json"]
    assert complete("status", "--output", "=", "t") == ["table"]  # as bash splits --output=t
    assert complete("call", "--event", "A") == ["Added"]
    assert complete("completion", "") == ["bash", "zsh"]
    assert complete("queue", "-n", "") == []
    assert complete("test", "--junit", "") == ["compopt -o default"]
    assert complete("run", "--hooks", "") == ["compopt -o dirnames"]
    assert "--run" not in complete("test", "--run", "x", "--r")


@pytest.mark.parametrize("command", ["test", "check", "rbac"])
def test_files_where_a_folder_or_a_file_may_stand(command: str) -> None:
    assert complete(command, "") == ["compopt -o default"]


def test_folders() -> None:
    assert complete("play", "") == ["compopt -o dirnames"]


@pytest.mark.parametrize("command", ["status", "queue", "runs", "snapshot", "logs", "retry", "drop", "pause", "resume"])
def test_names_of_hooks_come_from_the_daemon(control: Path, command: str) -> None:
    assert complete(command, "", control=control) == ["pods", "users"]
    assert complete(command, "-o", "json", "us", control=control) == ["users"]


def test_hooks_that_left_finalizers_are_those_to_drop(control: Path) -> None:
    assert complete("finalizers", "", control=control) == ["list", "drop"]
    assert complete("finalizers", "drop", "", control=control) == ["gone"]


def test_a_socket_that_is_named_is_asked(control: Path) -> None:
    assert complete("pause", "--socket", str(control), "") == ["pods", "users"]
    assert complete("pause", f"--socket={control}", "p") == ["pods"]


def test_bindings_and_keys(control: Path) -> None:
    assert complete("snapshot", "pods", "", control=control) == ["stuck", "Deployment"]
    assert complete("retry", "pods", "", control=control) == ["pods/a\\ b"], "quoted as the shell needs it"
    assert complete("pause", "pods", "", control=control) == []


def test_without_a_daemon_it_is_quick_and_silent(tmp_path: Path) -> None:
    started = time.monotonic()
    assert complete("pause", "") == []
    deaf = tmp_path / "deaf.sock"  # takes connections and never answers
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(deaf))
        listener.listen(5)
        assert complete("pause", "", control=deaf) == []
    assert time.monotonic() - started < 10


def typed(shell: list[str], keys: str, until: bytes, folder: Path) -> bytes:
    """All that a terminal shows while somebody types this in an interactive shell."""
    ours, theirs = pty.openpty()
    env = {**environment(Path("/nowhere")), "PS1": "$ ", "TERM": "dumb", "INPUTRC": "/dev/null", "HISTFILE": "/dev/null"}
    env["PATH"] = f"{Path(str(binary())).parent}:{env['PATH']}"
    with subprocess.Popen(shell, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as child:
        os.close(theirs)
        seen = b""
        try:
            os.write(ours, keys.encode())
            end = time.monotonic() + 60
            while until not in seen and time.monotonic() < end:
                if select.select([ours], [], [], 1)[0]:
                    seen += os.read(ours, 4096)
        finally:
            child.kill()
            os.close(ours)
    assert until in seen, seen.decode(errors="replace")
    return seen


def test_a_tab_in_bash(tmp_path: Path) -> None:
    (tmp_path / "my-hooks").mkdir()
    (tmp_path / "my-file").write_text("")
    keys = 'bind "set bell-style none"; source <(hookd completion bash)\nhookd pla\tmy-h\t --exi\t\n'
    typed(["bash", "--norc", "--noprofile", "-i"], keys, b"hookd play my-hooks/ --exit", tmp_path)


def test_a_tab_in_zsh(tmp_path: Path) -> None:
    (tmp_path / "my-hooks").mkdir()
    (tmp_path / "my-file").write_text("")
    # What was run is told by zsh itself: a line that is completed is drawn anew, in pieces.
    keys = "preexec() { print -r -- 'ran '\"<$1>\"; }; autoload -Uz compinit; compinit -u -D; source <(hookd completion zsh)\n"
    keys += "hookd pla\tmy-h\t --help\n"
    seen = typed(["zsh", "-f", "-i"], keys, b"ran <hookd play my-hooks", tmp_path)
    assert b"_hookd:" not in seen, seen.decode(errors="replace")
