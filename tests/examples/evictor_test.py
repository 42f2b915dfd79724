"""hooks-examples/evictor/find-leaks.sh without a daemon: curves of memory, look by look -> is the pod marked, and when?"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Object = dict[str, Any]
FOLDER = Path(__file__).resolve().parents[2] / "hooks-examples/evictor"
RUN = next(yaml.safe_load_all((FOLDER / "hook.yaml").read_text()))["spec"]["run"]
BEGIN = datetime.datetime(2026, 1, 31, 12, 0, 0, tzinfo=datetime.timezone.utc)
LIMIT = 1024  # MiB
EVERY = 30  # seconds


def stamp(seconds: float) -> str:
    return (BEGIN + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(uid: str = "u", restarts: int | None = 0, mark: str | None = None, limits: list[str | None] | None = None, made: float = -60) -> Object:
    value = {"made": stamp(made), "mark": mark, "limits": [f"{LIMIT}Mi"] if limits is None else limits, "restarts": restarts}
    return {"object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "a", "name": "web", "uid": uid}}, "value": value}


def metrics(seconds: float, *memory: str) -> Object:
    containers = [{"name": f"c{number}", "usage": {"memory": one}} for number, one in enumerate(memory)]
    return {"items": [{"metadata": {"namespace": "a", "name": "web"}, "timestamp": stamp(seconds), "containers": containers}]}


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., Object]:
    """look(pods, state, samples) -> the answer."""

    def run(pods: list[Object], state: Object | None, samples: Any, code: int = 0) -> Object:
        file = tmp_path / "samples.json"
        file.write_text(samples if isinstance(samples, str) else json.dumps(samples))
        env = {**os.environ, **RUN["env"], "SAMPLES": f"cat {file}"}
        call = {"objects": {"pods": pods}, **({} if state is None else {"state": state})}
        done = subprocess.run([FOLDER / "find-leaks.sh"], input=json.dumps(call), env=env, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if code == 0 else {"stderr": done.stderr}

    return run


def first_mark(look: Callable[..., Object], curve: Callable[[int], float], looks: int = 24, **more: Any) -> int | None:
    state = None
    for number in range(looks):
        answer = look([pod(**more)], state, metrics(EVERY * number, f"{int(curve(number) * 1024)}Ki"))
        if answer["operations"]:
            return number
        state = answer["state"]
    return None


CURVES: dict[str, tuple[Callable[[int], float], int | None]] = {
    "grows by 4 MiB a minute": (lambda n: 740 + 2 * n, 16),  # the eighth minute
    "the same with a spike": (lambda n: 740 + 2 * n + (200 if n == 12 else 0), 16),
    "the same with noise": (lambda n: 740 + 2 * n + (3 if n % 2 else 0), 16),
    "grows, and is small": (lambda n: 100 + 2 * n, None),
    "grows by less than 1 MiB a minute": (lambda n: 800 + 0.4 * n, None),
    "is large and flat": (lambda n: 1000, None),
    "one spike": (lambda n: 800 + (200 if n == 12 else 0), None),
    "a step": (lambda n: 800 if n < 12 else 900, None),
    "a sawtooth": (lambda n: 730 + 40 * (n % 6), None),
    "falls": (lambda n: 1000 - 2 * n, None),
}


@pytest.mark.parametrize("name", CURVES)
def test_curve(name: str, look: Callable[..., Object]) -> None:
    curve, when = CURVES[name]
    assert first_mark(look, curve) == when


def test_without_a_limit_the_floor_is_a_size(look: Callable[..., Object]) -> None:
    assert first_mark(look, lambda n: 520 + 2 * n, limits=[None]) is not None
    assert first_mark(look, lambda n: 400 + 2 * n, limits=[None]) is None
    assert first_mark(look, lambda n: 520 + 2 * n, limits=[f"{LIMIT}Mi", None]) is not None, "one container without: no limit of the pod"


def test_what_it_prints_for_a_leak(look: Callable[..., Object]) -> None:
    state = {"u": {"r": 0, "s": [[int(BEGIN.timestamp()) + 60 * n, 740 + 4 * n] for n in range(9)]}}
    answer = look([pod()], state, metrics(9 * 60, "500Mi", "276Mi"))
    annotate, event = answer["operations"]
    assert (annotate["operation"], annotate["uid"]) == ("Annotate", "u")
    assert annotate["annotations"] == {"example.com/memory-leak": "its memory grows by 4 MiB a minute and is 772 MiB"}
    assert (event["operation"], event["reason"], event["about"]["uid"]) == ("Event", "MemoryLeak", "u")
    assert len(answer["state"]["u"]["s"]) == 10
    again = look([pod(mark="it leaks")], answer["state"], metrics(10 * 60, "780Mi"))
    assert again["operations"] == [], "it is marked"


def test_a_sample_counts_once_and_never_for_a_namesake(look: Callable[..., Object]) -> None:
    first = look([pod()], None, metrics(0, "800Mi"))["state"]
    assert look([pod()], first, metrics(0, "900Mi"))["state"] == first
    assert look([pod("new", made=10)], first, metrics(0, "900Mi"))["state"] == {"new": {"r": 0, "s": []}}


def test_a_restart_begins_anew(look: Callable[..., Object]) -> None:
    state = {"u": {"r": 0, "s": [[int(BEGIN.timestamp()) + 60 * n, 740 + 4 * n] for n in range(9)]}}
    answer = look([pod(restarts=1, mark="it leaks")], state, metrics(9 * 60, "100Mi"))
    assert [one["annotations"] for one in answer["operations"]] == [{"example.com/memory-leak": None}]
    assert answer["state"]["u"] == {"r": 1, "s": [[int(BEGIN.timestamp()) + 9 * 60, 100]]}


def test_pods_that_are_gone_are_forgotten_and_those_without_samples_are_not(look: Callable[..., Object]) -> None:
    state = {uid: {"r": 0, "s": [[int(BEGIN.timestamp()), 700]]} for uid in ("u", "gone")}
    assert look([pod()], state, {"items": []})["state"] == {"u": state["u"]}


@pytest.mark.parametrize("memory", ["", "many", "12Xi", None])
def test_a_sample_that_makes_no_sense_is_none(memory: str | None, look: Callable[..., Object]) -> None:
    samples = metrics(0, "1Mi")
    samples["items"][0]["containers"][0]["usage"]["memory"] = memory
    assert look([pod()], None, samples)["state"] == {"u": {"r": 0, "s": []}}


@pytest.mark.parametrize(("memory", "mebibytes"), [("1048576", 1), ("2Gi", 2048), ("1024Ki", 1), ("105M", 100.1), ("1e6", 1), ("3145728000m", 3)])
def test_quantities(memory: str, mebibytes: float, look: Callable[..., Object]) -> None:
    assert look([pod()], None, metrics(0, memory))["state"]["u"]["s"][0][1] == mebibytes


@pytest.mark.parametrize("samples", ["", "no metrics", '{"kind":"Status","code":403}', '{"items":null}'])
def test_without_samples_it_asks_for_later(samples: str, look: Callable[..., Object]) -> None:
    assert look([pod()], None, samples, code=75)["stderr"]
