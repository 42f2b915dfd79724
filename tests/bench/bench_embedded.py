#!/usr/bin/python3
"""The embedded API server beside the real one, and what a hook test costs: `python3 tests/bench/bench_embedded.py`.

Wants build/bench (the preset bench): hookd and bench_api.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cluster"))

import seed  # noqa: E402
from cluster import HERE, Cluster  # noqa: E402
from embedded import EmbeddedCluster  # noqa: E402
from hookd import binary  # noqa: E402
from process import Child, free_port, wait_for  # noqa: E402

BENCH_API = ROOT / "build" / "bench" / "tests" / "bench" / "bench_api"


def memory(pid: int, field: str = "VmRSS") -> float:
    """MB."""
    found = re.search(rf"^{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) / 1024


def start(folder: Path, *more: str) -> tuple[Child, float]:
    """The server, ready, and how many seconds that took."""
    log = folder / f"server-{time.monotonic_ns()}.log"
    begin = time.monotonic()
    child = Child([binary(), "play", "--server-only", "--kubeconfig", str(folder / "kubeconfig"), "--port", str(free_port()), *more], log)
    wait_for(lambda: b"ready:" in log.read_bytes(), 120, "the embedded server", child.check_alive, interval=0.001)
    return child, time.monotonic() - begin


def bench_start(folder: Path) -> None:
    times, idle = [], []
    for _ in range(15):
        child, seconds = start(folder)
        times.append(seconds)
        idle.append(memory(child.pid))
        child.kill()
    bare = []
    for _ in range(15):
        begin = time.monotonic()
        subprocess.run([binary(), "--version"], check=True, stdout=subprocess.DEVNULL)
        bare.append(time.monotonic() - begin)
    print(f"start until ready                p50 {statistics.median(times) * 1000:.0f} ms, most {max(times) * 1000:.0f} ms; `hookd --version` {statistics.median(bare) * 1000:.0f} ms")
    print(f"memory when idle                 {statistics.median(idle):.1f} MB")


def pod(number: int) -> dict:
    import random

    choice = random.Random(number)
    spec = seed.spec(f"node-{number % 100}", number, choice)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**seed.metadata(f"app-{number}", number, choice), "namespace": f"load-{number % 10}"},
        "spec": spec,
    }


def bench_load(folder: Path, count: int) -> None:
    manifests = folder / "pods.json"
    items: list[dict] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"load-{number}"}} for number in range(10)]
    items += [pod(number) for number in range(count)]
    manifests.write_text("\n---\n".join(json.dumps(item) for item in items))
    empty, without = start(folder)
    empty.kill()
    child, seconds = start(folder, "--load", str(manifests))
    print(f"load of {count} pods ({manifests.stat().st_size / 1e6:.0f} MB)    {seconds - without:.2f} s, then {memory(child.pid):.0f} MB, at most {memory(child.pid, 'VmHWM'):.0f} MB")
    child.kill()


def rates(cluster: Cluster, objects: int) -> dict[str, float]:
    cluster.make_namespace("bench")
    # An empty namespace of our own: the default service account and the CA's ConfigMap are not told again.
    done = subprocess.run([BENCH_API, cluster.kubeconfig(), "bench", str(objects)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"bench_api: {done.stderr}")
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def bench_rates(objects: int) -> None:
    with Cluster(controller_manager=False) as cluster:
        real = rates(cluster, objects)
    with EmbeddedCluster() as cluster:
        embedded = rates(cluster, objects)
    for name, value in embedded.items():
        print(f"{name + ' a second':32s} {value:9.0f}   the real server {real[name]:9.0f}   ratio {value / real[name]:.1f}")


HOOK = """\
apiVersion: hookd/v1
kind: Hook
metadata: {name: probe}
spec:
  run: {command: [./hook.sh]}
  watch:
    - {name: held, apiVersion: v1, kind: ConfigMap, labelSelector: probe, when: .data.state == "bad", for: 5m, events: [added]}
  schedule:
    - {name: nightly, cron: "0 3 * * *"}
"""
TEST = """\
apiVersion: hookd/v1
kind: HookTest
metadata: {name: held and nightly %d}
given:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {probe: "1"}}, data: {state: bad}}
steps:
  - advance: 4m59s
  - expect: {calls: 0}
  - advance: 2s
  - expect: {calls: 1}
  - advance: 24h
  - expect: {calls: 1}
"""


def bench_tests(folder: Path, count: int) -> None:
    hooks = folder / "hooks"
    hooks.mkdir()
    (hooks / "hook.yaml").write_text(HOOK)
    script = hooks / "hook.sh"
    script.write_text("#!/bin/sh\nexec cat > /dev/null\n")
    script.chmod(0o755)
    for number in range(count):
        (hooks / f"{number}.test.yaml").write_text(TEST % number)
    one = []
    for _ in range(10):
        begin = time.monotonic()
        subprocess.run([binary(), "test", str(hooks), "--run", "nightly 42"], check=True, capture_output=True)
        one.append(time.monotonic() - begin)
    bare = []
    for _ in range(20):
        begin = time.monotonic()
        subprocess.run([str(script)], stdin=subprocess.DEVNULL, check=True)
        bare.append(time.monotonic() - begin)
    print(f"one test, `for: 5m` and a cron   {statistics.median(one) * 1000:.0f} ms with the program's start; its two hook processes by themselves {2 * statistics.median(bare) * 1000:.0f} ms")
    begin = time.monotonic()
    subprocess.run([binary(), "test", str(hooks)], check=True, capture_output=True)
    seconds = time.monotonic() - begin
    print(f"{count} such tests side by side     {seconds:.1f} s on {os.cpu_count()} cores, {seconds / count * 1000:.0f} ms each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--objects", type=int, default=5_000, help="written one by one in the measure of writes")
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--only", choices=["start", "load", "rates", "tests"])
    options = parser.parse_args()
    os.environ.setdefault("HOOKD_BIN", str(ROOT / "build" / "bench" / "hookd"))
    subprocess.run([HERE / "build.sh"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        parts = {
            "start": lambda: bench_start(Path(folder)),
            "load": lambda: bench_load(Path(folder), options.pods),
            "rates": lambda: bench_rates(options.objects),
            "tests": lambda: bench_tests(Path(folder), options.tests),
        }
        for name, part in parts.items():
            if options.only in (None, name):
                part()


if __name__ == "__main__":
    main()
