"""Child processes that end with the test process, free ports, and waiting for a condition."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


class Child:
    """One program with its log file. Ended by its own pid only, and by the kernel if this process dies first.

    The kernel's part (PR_SET_PDEATHSIG, set by setpriv) is bound to the thread that starts the child: start
    children from the main thread.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.command = [str(word) for word in command]
        self.name = Path(self.command[0]).name
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self.command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=cwd,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs; minus the signal's number if one ended it."""
        return self._process.poll()

    def check_alive(self) -> None:
        code = self.exit_code()
        if code is not None:
            raise RuntimeError(f"{self.name} ended with {code}; the end of {self.log}:\n{self.log_tail()}")

    def log_tail(self, lines: int = 20) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def signal(self, number: signal.Signals) -> None:
        # Popen knows whether the pid was reaped, so this can never reach a stranger that got the number since.
        self._process.send_signal(number)

    def wait(self, timeout: float) -> int:
        return self._process.wait(timeout)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def free_port() -> int:
    """A free port on 127.0.0.1, below the range of outgoing connections: it stays free while a server restarts."""
    for port in random.sample(range(20000, 32000), 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port on 127.0.0.1 among 200 tried")


def wait_for(
    predicate: Callable[[], T],
    timeout: float,
    what: str,
    check: Callable[[], None] = lambda: None,
    interval: float = 0.1,
) -> T:
    """Polls until the predicate gives something true, and returns that. `check` raises when waiting has become vain.

    A predicate may raise OSError, AssertionError, LookupError (a field that is not there) or TypeError (nor the object
    that has it) for "not yet": the last one is told if time runs out.
    """
    deadline = time.monotonic() + timeout
    while True:
        check()
        last: object
        try:
            value = predicate()
            if value:
                return value
            last = value
        except (OSError, AssertionError, LookupError, TypeError) as error:
            last = error
        if time.monotonic() >= deadline:
            raise TimeoutError(f"{what}: not so after {timeout:g} s; last seen: {last!r}")
        time.sleep(interval)
