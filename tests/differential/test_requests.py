"""Every script of scripts/ on both servers: what they answer must be the same."""

from __future__ import annotations

import pytest
from compare import Accepted
from play import compared, run_on_both, told
from script import Script, scripts
from servers import Server

SCRIPTS = scripts()
ran: set[str] = set()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_both_servers_answer_the_same(script: Script, servers: tuple[Server, Server], accepted: Accepted) -> None:
    real, other = run_on_both(script, *servers)
    wrong = [f"{script.name}: {seen.step.label}: {seen.problem}" for seen in real if seen.problem]
    assert not wrong, "the script is wrong about the real server:\n" + "\n".join(wrong)
    left = accepted.take(compared(script, real, other))
    ran.add(script.name)
    assert not left, f"{len(left)} differences\n{told(script, left)}"
    unseen = accepted.unseen(script.name)
    assert not unseen, "differences.yaml has what no longer occurs:\n" + "\n".join(unseen)


def test_differences_accepted_everywhere_occur(accepted: Accepted) -> None:
    if ran != {script.name for script in SCRIPTS}:
        pytest.skip("not all scripts ran")
    unseen = accepted.unseen("*")
    assert not unseen, "differences.yaml has what no longer occurs:\n" + "\n".join(unseen)


def test_the_scripts_are_many() -> None:
    """What the promise of agreement rests on."""
    steps = [step for script in SCRIPTS for step in script.steps if not step.setup]
    assert len(steps) >= 300
    assert sum(step.events for step in steps) >= 100
