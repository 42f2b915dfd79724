"""hookd under test: the real program, its log as JSON lines, its metrics and readiness over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from process import Child, free_port, wait_for

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*(?:\{.*\})?)\s+(\S+)(?:\s+-?\d+)?$")


def binary() -> Path:
    """HOOKD_BIN, or the first that is built of the presets dev and asan."""
    candidates = [Path(os.environ["HOOKD_BIN"])] if "HOOKD_BIN" in os.environ else [
        ROOT / "build" / preset / "hookd" for preset in ("dev", "asan")
    ]  # fmt: skip
    for path in candidates:
        if os.access(path, os.X_OK):
            return path.resolve()
    raise FileNotFoundError(f"no hookd at {', '.join(map(str, candidates))}: build it, or set HOOKD_BIN")


class Hookd:
    """`hookd run` on a hooks folder. Its log is one file over all restarts; the HTTP port stays the same too."""

    def __init__(
        self,
        hooks: Path,
        kubeconfig: Path,
        folder: Path,
        flags: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """`folder`: where the log is written. `env`: added to the environment of the tests."""
        self.port = free_port()
        self.log = folder / f"hookd-{self.port}.log"
        self._child: Child | None = None
        self._command: list[str | Path] = [
            binary(), "run", "--hooks", hooks, "--kubeconfig", kubeconfig, "--listen", f"127.0.0.1:{self.port}",
            "--log-format", "json", "--log-level", "debug", *flags,
        ]  # fmt: skip
        # A KUBECONFIG of the person who runs the tests must not decide anything.
        inherited = {name: value for name, value in os.environ.items() if name != "KUBECONFIG" and not name.startswith("HOOKD_")}
        # With the sanitizers freed memory stays for a while, which must not hide what hookd itself keeps.
        self._env = {"ASAN_OPTIONS": "quarantine_size_mb=16", **inherited, **(env or {})}

    def start(self) -> Hookd:
        if self._child and self._child.exit_code() is None:
            raise RuntimeError("hookd runs already")
        self._child = Child(self._command, self.log, self._env)
        return self

    def stop(self, number: signal.Signals = signal.SIGTERM, timeout: float = 40) -> int:
        """Exit code. A hookd that does not end in time is killed, and that is an error."""
        self.child.signal(number)
        try:
            return self.child.wait(timeout)
        except Exception:
            self.child.kill()
            raise

    def kill(self) -> None:
        if self._child:
            self._child.kill()

    def restart(self, number: signal.Signals = signal.SIGTERM) -> Hookd:
        self.stop(number)
        return self.start()

    def wait_exit(self, timeout: float = 60) -> int:
        """For --once, and for starts that must fail."""
        return self.child.wait(timeout)

    @property
    def child(self) -> Child:
        assert self._child is not None, "hookd was not started"
        return self._child

    # --- what it tells ---

    def get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except http.client.HTTPException as error:
            raise ConnectionError(f"GET {path}: {error!r}") from error
        finally:
            connection.close()

    def wait_ready(self, timeout: float = 30) -> Hookd:
        def ready() -> bool:
            code, reason = self.get("/readyz")
            assert code == 200, f"/readyz says {code}: {reason.strip()}"
            return True

        self.wait_for(ready, timeout, "hookd ready")
        return self

    def metrics(self) -> dict[str, float]:
        """'name{labels}', as printed -> value."""
        code, text = self.get("/metrics")
        if code != 200:
            raise ConnectionError(f"/metrics says {code}: {text}")
        samples = filter(None, map(SAMPLE.match, text.splitlines()))
        return {sample[1]: float(sample[2]) for sample in samples}

    def logs(self, **fields: Any) -> list[dict[str, Any]]:
        """Log entries so far, or those with all these fields; a line that is no JSON object is {"raw": line}."""
        entries = []
        for line in self.log.read_text(errors="replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                entry = None
            entries.append(entry if isinstance(entry, dict) else {"raw": line})
        return [entry for entry in entries if all(entry.get(name) == value for name, value in fields.items())]

    def wait_log(self, wanted: Callable[[dict[str, Any]], bool], timeout: float = 30, what: str = "log entry") -> dict[str, Any]:
        return self.wait_for(lambda: next(filter(wanted, self.logs()), None), timeout, what)

    def peak_memory(self) -> int:
        """Bytes that were resident at the most, of the daemon itself."""
        status = Path(f"/proc/{self.child.pid}/status").read_text()
        found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
        assert found
        return int(found[1]) * 1024

    def wait_for(self, predicate: Callable[[], Any], timeout: float, what: str) -> Any:
        return wait_for(predicate, timeout, what, self.child.check_alive)
