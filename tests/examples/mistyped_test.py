"""What is mistyped in the environment, or missing on standard input, is told with what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from built import hookd

HOOK = """
apiVersion: hookd/v1
kind: Hook
metadata: {name: probe}
spec:
  run: {command: [cat]}
  startup: {}
"""


def test_a_mistyped_setting_in_the_environment_does_not_start_in_earnest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOKD_DRYRUN", "1")
    (tmp_path / "hook.yaml").write_text(HOOK)
    _, told = hookd(tmp_path, "run", "--once", "--listen", "none", "--hooks", ".", code=2)
    assert "HOOKD_DRYRUN: there is no such setting; did you mean HOOKD_DRY_RUN?" in told


def test_a_call_without_a_call_says_what_belongs_on_stdin(tmp_path: Path) -> None:
    (tmp_path / "hook.yaml").write_text(HOOK)
    _, told = hookd(tmp_path, "call", "hook.yaml", text="\n", code=1)
    assert "stdin is empty" in told
    assert "--object" in told
