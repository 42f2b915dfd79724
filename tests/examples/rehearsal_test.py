"""Every example has a scenario and tests, and they hold."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from built import ROOT, binary

EXAMPLES = ROOT / "hooks-examples"
FOLDERS = sorted({path.parent.relative_to(EXAMPLES) for path in EXAMPLES.rglob("*hook.yaml")})


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_the_tests_of_the_example_hold(folder: Path) -> None:
    assert list((EXAMPLES / folder).glob("*.test.yaml")), f"{folder} has no tests"
    done = subprocess.run([binary(), "test", EXAMPLES / folder], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failed" in done.stdout


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_the_scenario_of_the_example_comes_to_its_end(folder: Path) -> None:
    assert (EXAMPLES / folder / "scenario.yaml").exists(), f"{folder} has no scenario"
    command = [binary(), "play", EXAMPLES / folder, "--speed", "20", "--exit"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hookd is started: " in done.stdout + done.stderr
