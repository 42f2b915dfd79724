"""The two servers that a run compares, started once. AGAINST=real compares the real one with another real one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CLUSTER = Path(__file__).resolve().parent.parent / "cluster"
for folder in (CLUSTER, CLUSTER.parent / "differential"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from both import Both  # noqa: E402
from compare import Accepted  # noqa: E402
from servers import Embedded, Real, Server  # noqa: E402

AGAINST = os.environ.get("AGAINST", "embedded")


@pytest.fixture(scope="session")
def servers() -> Iterator[tuple[Server, Server]]:
    """(the real one, the other one)"""
    subprocess.run([CLUSTER / "build.sh"], check=True)
    real = Real()
    try:
        other = Real("another real") if AGAINST == "real" else Embedded()
        try:
            yield real, other
        finally:
            other.stop()
    finally:
        real.stop()


@pytest.fixture(scope="session")
def accepted() -> Accepted:
    """Two real servers have no right to differ."""
    return Accepted(Path("/dev/null")) if AGAINST == "real" else Accepted()


@pytest.fixture
def both(request: pytest.FixtureRequest, servers: tuple[Server, Server], accepted: Accepted, tmp_path: Path) -> Iterator[Both]:
    """kubectl on both servers, in a namespace of the test's own."""
    tool = Both(request.node.name.removeprefix("test_"), servers, accepted, tmp_path)
    yield tool
    tool.check()
