"""The built program (HOOKD_BIN, else of the presets dev and asan) as people call it, for the tests of this folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cluster"))

from hookd import binary  # noqa: E402

__all__ = ["ROOT", "binary", "hookd"]


def hookd(folder: Path, *words: str, code: int = 0, text: str | None = None) -> tuple[str, str]:
    """Standard output and standard error, after the exit code was what it should be. `text`: standard input."""
    command, env = [str(binary()), *words], {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True, text=True, timeout=120, input=text)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr
