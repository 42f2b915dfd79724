"""The same kubectl command on both servers, and its texts compared."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compare import Accepted, Difference, differences
from play import make_namespace
from servers import TIMEOUT, Server

Lines = Callable[[list[str]], list[str]]
PLAIN = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uid>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? [+-]\d{4}( UTC)?"), "<time>"),
    (re.compile(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "<time>"),
    (re.compile(r"(?<![\w.:-])(\d+[smhd])+(?![\w.-])"), "<age>"),
    (re.compile(r'(resourceVersion\\*"?: ?\\*"?)\d+'), r"\1<version>"),
    (re.compile(r"(Resource Version: +)\d+"), r"\1<version>"),
    (re.compile(r"\b10\.96\.\d+\.\d+\b"), "<cluster IP>"),
    (re.compile(r"https://127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"/tmp/(LIVE|MERGED)-\d+/"), r"/\1/"),
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"), "<token>"),
    (re.compile(r"(?<=\S)[ \t]{2,}"), "  "),  # the width of a column is that of its longest value
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
    (re.compile(r"^I\d{4} \d\d:\d\d:\d\d.*\n?", re.MULTILINE), ""),  # what client-go logs about its watches
    (re.compile(r"^[EW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", re.MULTILINE), ""),
)


def plain(text: str) -> str:
    for pattern, instead in PLAIN:
        text = pattern.sub(instead, text)
    return text


class Both:
    """both("get", "pods") -> what the real server's kubectl printed, made plain. Differences are kept for `check`."""

    def __init__(self, name: str, servers: tuple[Server, Server], accepted: Accepted, folder: Path) -> None:
        """`folder`: for files of the test."""
        self._script = f"kubectl {name}"
        self.servers = servers
        self._accepted = accepted
        self.ns = "kubectl-" + name.replace("_", "-")[:45].strip("-")
        self._found: list[Difference] = []
        self.folder = folder
        for server in servers:
            make_namespace(server, self.ns)

    def __call__(self, *words: str, input: str | None = None, code: int = 0, lines: Lines = list, **env: str) -> str:
        """`code`: that the real one must end with. `lines`: what of the lines is compared."""
        answers = self._each(lambda server: server.kubectl("--namespace", self.ns, *words, input=input, **env))
        real, other = answers
        assert real.returncode == code, f"kubectl {' '.join(words)} ended with {real.returncode}: {real.stdout}{real.stderr}"
        self._compare(words, "code", real.returncode, other.returncode)
        for stream in ("stdout", "stderr"):
            self._compare(words, stream, *(lines(plain(getattr(answer, stream)).splitlines()) for answer in answers))
        return plain(real.stdout)

    def apply(self, manifest: str) -> str:
        return self("apply", "-f", "-", input=manifest)

    def status(self, path: str, patch: str) -> None:
        """What a controller or a kubelet would write. `path`: below the namespace's, for example pods/a."""
        self("patch", path, "--subresource=status", "--type=merge", "-p", patch)

    def watching(self, *words: str) -> Watching:
        return Watching(self, words)

    def _each(self, function: Callable[[Server], Any]) -> list[Any]:
        futures = [server.thread.submit(function, server) for server in self.servers]
        return [future.result() for future in futures]

    def _compare(self, words: tuple[str, ...], what: str, real: Any, other: Any) -> None:
        self._found += differences(self._script, " ".join(words), what, real, other)

    def check(self) -> None:
        left = self._accepted.take(self._found)
        steps = dict.fromkeys(difference.step for difference in left)
        texts = [f"kubectl {step}\n" + "\n".join(str(one) for one in left if one.step == step) for step in steps]
        assert not left, f"{len(left)} differences\n" + "\n".join(texts)
        unseen = self._accepted.unseen(self._script)
        assert not unseen, "differences.yaml has what no longer occurs:\n" + "\n".join(unseen)


class Watching:
    """kubectl with -w on both servers, until it has told so many lines."""

    def __init__(self, both: Both, words: tuple[str, ...]) -> None:
        self._both, self._words = both, words
        self._lines: list[list[str]] = []
        self._processes = []
        for server in both.servers:
            command = server.kubectl_command("--namespace", both.ns, *words)
            home = {"HOME": str(server.kubeconfig.parent / "kubectl-home")}
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=home)
            told: list[str] = []
            threading.Thread(target=self._read, args=(process, told), daemon=True).start()
            self._processes.append(process)
            self._lines.append(told)

    @staticmethod
    def _read(process: subprocess.Popen[str], told: list[str]) -> None:
        assert process.stdout
        for line in process.stdout:
            told.append(line)

    def wait(self, count: int) -> list[str]:
        """Until both have told so many lines in all, or too much time has gone by."""
        deadline = time.monotonic() + TIMEOUT
        while any(len(told) < count for told in self._lines) and time.monotonic() < deadline:
            time.sleep(0.02)
        return self._lines[0]

    def end(self, count: int) -> list[str]:
        self.wait(count)
        time.sleep(0.2)  # one line more would be a difference
        for process in self._processes:
            process.terminate()
            process.wait()
        texts = [plain("".join(told)).splitlines() for told in self._lines]
        self._both._compare(self._words, "stdout", *texts)
        return texts[0]
