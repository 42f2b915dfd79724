#!/usr/bin/env python3
"""Figures of the hook runtime on hookd's own API server, each beside what it is compared to: `python3 tests/bench/bench_runtime.py`.

    once      calls a second, a process each, beside bare starts of the same program
    worker    round trips a second through a worker, and how long one takes
    changes   1,000 objects that change 100 times each: until every last state was handled
    memory    a million events from a source through a worker: hookd's memory over the time
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cluster"))
os.environ.setdefault("HOOKD_BIN", str(ROOT / "build" / "release" / "hookd"))

from cluster import Cluster  # noqa: E402
from embedded import EmbeddedCluster  # noqa: E402
from hookd import Hookd  # noqa: E402

ECHO = """
#include <stdio.h>
#include <string.h>
/* Answers each call with its id, which stands in the first 200 bytes of the line. */
int main(void) {
  static char line[1 << 20];
  while (fgets(line, sizeof line, stdin)) {
    char *id = strstr(line, "\\"id\\":\\"");
    char *end = id ? strchr(id + 6, '"') : 0;
    if (!end) continue;
    printf("{%.*s}\\n", (int)(end + 1 - id), id);
    fflush(stdout);
  }
}
"""


def write_hook(folder: Path, run: dict[str, Any], spec: dict[str, Any]) -> Path:
    folder.mkdir(parents=True)
    hook = {"apiVersion": "hookd/v1", "kind": "Hook", "metadata": {"name": "bench"}, "spec": {"run": run, **spec}}
    (folder / "hook.yaml").write_text(json.dumps(hook))
    return folder


def watch(**more: Any) -> dict[str, Any]:
    return {"name": "maps", "apiVersion": "v1", "kind": "ConfigMap", "labelSelector": "bench", **more}


class Writers:
    """Threads that each keep a connection to the server."""

    def __init__(self, cluster: Cluster, threads: int = 4) -> None:
        self._cluster, self._threads = cluster, threads

    def each(self, items: list[Any], send: Any) -> None:
        def work(part: list[Any]) -> None:
            context = ssl.create_default_context(cafile=str(self._cluster.authority.ca))
            connection = http.client.HTTPSConnection("127.0.0.1", self._cluster.port, context=context)
            for item in part:
                method, path, body = send(item)
                kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
                connection.request(method, path, json.dumps(body), {"Authorization": f"Bearer {self._cluster.token()}", "Content-Type": kind})
                response = connection.getresponse()
                text = response.read()
                assert response.status < 300, text

        threads = [threading.Thread(target=work, args=(items[number :: self._threads],)) for number in range(self._threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


MAPS = "/api/v1/namespaces/default/configmaps"


def make_maps(cluster: Cluster, count: int) -> None:
    Writers(cluster).each(list(range(count)), lambda n: ("POST", MAPS, {"metadata": {"name": f"m-{n}", "labels": {"bench": "1"}}, "data": {"n": "0"}}))


def clear(cluster: Cluster) -> None:
    cluster.api("DELETE", f"{MAPS}?labelSelector=bench")


def calls(daemon: Hookd) -> int:
    """So far; 0 while nothing listens yet."""
    try:
        metrics = daemon.metrics()
    except OSError:
        daemon.child.check_alive()
        return 0
    return int(sum(value for name, value in metrics.items() if name.startswith("hookd_calls_total{") and 'result="ok"' in name))


def quantiles(daemon: Hookd, name: str) -> str:
    """Upper bounds of the buckets that hold the median and the 99th percentile."""
    buckets = []
    for key, value in daemon.metrics().items():
        if key.startswith(f"{name}_bucket"):
            bound = key.split('le="')[1].split('"')[0]
            buckets.append((float("inf") if bound == "+Inf" else float(bound), value))
    buckets.sort()
    total = buckets[-1][1]
    at = [next(bound for bound, value in buckets if value >= total * part) for part in (0.5, 0.99)]
    return f"p50 under {at[0] * 1000:g} ms, p99 under {at[1] * 1000:g} ms"


def until(daemon: Hookd, count: int, began: float, timeout: float = 300) -> float:
    """Seconds from `began` until so many calls were made; what happened before the look is spread by its own rate."""
    while True:
        done = calls(daemon)
        now = time.monotonic()
        if done >= count:
            return now - began
        if now - began > timeout:
            raise TimeoutError(f"{done} calls of {count} after {timeout} s")
        daemon.child.check_alive()
        time.sleep(0.01)


def start(hooks: Path, cluster: Cluster, folder: Path) -> Hookd:
    # Quiet: a log line for each call costs as much as a call of a worker.
    return Hookd(hooks, cluster.kubeconfig(), folder, flags=["--log-level", "warn", "--concurrency", "64"]).start()


def resident(daemon: Hookd) -> float:
    status = Path(f"/proc/{daemon.child.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def bench_once(cluster: Cluster, folder: Path, count: int, at_once: int, spawn: Path) -> None:
    make_maps(cluster, count)
    bare = float(subprocess.run([spawn, str(count), str(at_once), "/bin/true"], check=True, capture_output=True, text=True).stdout)
    daemon = start(write_hook(folder / "once", {"command": ["/bin/true"]}, {"concurrency": at_once, "watch": [watch()]}), cluster, folder)
    try:
        while calls(daemon) == 0:
            time.sleep(0.002)
        first, began = calls(daemon), time.monotonic()
        seconds = until(daemon, count, began)
        rate = (count - first) / seconds
    finally:
        daemon.stop()
    clear(cluster)
    print(f"once: {count} calls of /bin/true, {at_once} at once")
    print(f"  bare posix_spawn {bare:8.0f} a second")
    print(f"  hookd            {rate:8.0f} a second    ratio {rate / bare:.2f}   aim: 0.9")


def bench_worker(cluster: Cluster, folder: Path, count: int, echo: Path) -> None:
    source = {"name": "bus", "command": ["/bin/sh", "-c", f"sleep 1; seq {count}; sleep 1000"], "key": ". % 64 | tostring", "buffer": 4096}
    for at_once in (1, 16, 64):
        run = {"command": [str(echo)], "mode": "worker", "workers": 1, "callsAtOnce": at_once}
        daemon = start(write_hook(folder / f"worker-{at_once}", run, {"concurrency": at_once, "source": [source]}), cluster, folder)
        try:
            while (first := calls(daemon)) == 0:
                time.sleep(0.002)
            began = time.monotonic()
            seconds = until(daemon, count, began)
            print(f"worker: {count} round trips, {at_once:2} open at once: {(count - first) / seconds:8.0f} a second, {quantiles(daemon, 'hookd_call_seconds')}   aim: 50,000, p99 1 ms")
        finally:
            daemon.stop()


def bench_changes(cluster: Cluster, folder: Path, objects: int, times: int, echo: Path) -> None:
    make_maps(cluster, objects)
    run = {"command": [str(echo)], "mode": "worker"}
    daemon = start(write_hook(folder / "changes", run, {"concurrency": 16, "watch": [watch(existing="none", events=["modified"])]}), cluster, folder)
    try:
        daemon.wait_ready()
        before, began = resident(daemon), time.monotonic()
        for number in range(1, times + 1):
            Writers(cluster).each(list(range(objects)), lambda n, v=number: ("PATCH", f"{MAPS}/m-{n}", {"data": {"n": str(v)}}))
        wrote = time.monotonic() - began
        last = -1
        while (now := calls(daemon)) != last:
            last = now
            time.sleep(0.05)
        lag = time.monotonic() - began - wrote
        print(f"changes: {objects} objects, {times} changes each: written in {wrote:.1f} s ({objects * times / wrote:.0f} a second), "
              f"all handled {lag * 1000:.0f} ms later at the most, {last} calls; memory {before:.1f} -> {resident(daemon):.1f} MB")  # fmt: skip
    finally:
        daemon.stop()
    clear(cluster)


def bench_memory(cluster: Cluster, folder: Path, count: int, echo: Path) -> None:
    source = {"name": "bus", "command": ["/bin/sh", "-c", f"sleep 1; seq {count}; sleep 1000"]}
    run = {"command": [str(echo)], "mode": "worker"}
    spec = {"batch": {"max": 100}, "source": [source]}
    daemon = start(write_hook(folder / "memory", run, spec), cluster, folder).wait_ready()
    try:
        seen: list[float] = []
        began = time.monotonic()
        while True:
            events = sum(value for name, value in daemon.metrics().items() if name.startswith("hookd_source_events_total"))
            waiting = sum(value for name, value in daemon.metrics().items() if name.startswith("hookd_source_waiting"))
            seen.append(resident(daemon))
            if events >= count and waiting == 0:
                break
            if time.monotonic() - began > 600:
                raise TimeoutError(f"{events} events of {count}")
            time.sleep(0.25)
        tenth = max(1, len(seen) // 10)
        print(f"memory: {count} events in {time.monotonic() - began:.1f} s; resident {seen[tenth]:.1f} MB after a tenth, {max(seen):.1f} MB at most, {seen[-1]:.1f} MB at the end")
    finally:
        daemon.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=5_000, help="of once")
    parser.add_argument("--round-trips", type=int, default=200_000)
    parser.add_argument("--objects", type=int, default=1_000)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--only", choices=["once", "worker", "changes", "memory"])
    options = parser.parse_args()
    spawn = Path(os.environ["HOOKD_BIN"]).parent / "tests" / "bench" / "bench_spawn"
    with EmbeddedCluster() as cluster, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        echo = folder / "echo"
        subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", echo], input=ECHO, text=True, check=True)
        chosen = [options.only] if options.only else ["once", "worker", "changes", "memory"]
        if "once" in chosen:
            bench_once(cluster, folder, options.calls, 2, spawn)
        if "worker" in chosen:
            bench_worker(cluster, folder, options.round_trips, echo)
        if "changes" in chosen:
            bench_changes(cluster, folder, options.objects, options.times, echo)
        if "memory" in chosen:
            bench_memory(cluster, folder, options.events, echo)


if __name__ == "__main__":
    main()
