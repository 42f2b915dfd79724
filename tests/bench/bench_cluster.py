#!/usr/bin/env python3
"""Figures on a real API server, each beside what it is compared to, in one run: `python3 tests/bench/bench_cluster.py`.

    list      hookd's time until it has all pods, beside the plain download of the same list; its peak memory
    latency   a change of a pod until the hook's first line runs, at 20 changes a second, beside a bare process start
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cluster"))
os.environ.setdefault("HOOKD_BIN", str(ROOT / "build" / "release" / "hookd"))

import seed  # noqa: E402
from cluster import HERE, Cluster  # noqa: E402
from hookd import Hookd  # noqa: E402
from workloads import MERGE_PATCH, pods  # noqa: E402

SCRIPT = '#!/bin/bash\necho "$EPOCHREALTIME $HOOKD_CALL_ID" >> "$TIMES"\n'


def write_hook(folder: Path, watch: dict, script: str = "#!/bin/bash\n", times: Path | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hook.sh").write_text(script)
    (folder / "hook.sh").chmod(0o755)
    run = {"command": ["./hook.sh"], "env": {"TIMES": str(times or "/dev/null")}}
    hook = {"apiVersion": "hookd/v1", "kind": "Hook", "metadata": {"name": "bench"}, "spec": {"run": run, "concurrency": 8, "watch": [watch], "schedule": [{"name": "never", "every": "24h"}]}}
    (folder / "hook.yaml").write_text(json.dumps(hook))
    return folder


def download(cluster: Cluster, query: str) -> tuple[float, int]:
    """Seconds and bytes of the list as curl takes it, by another name: for `curl` the server prints it prettily."""
    started = time.monotonic()
    done = subprocess.run(
        ["curl", "--silent", "--fail", "--cacert", cluster.authority.ca, "-A", "bench/1", "-o", "/dev/null", "-w", "%{size_download}",
         "-H", f"Authorization: Bearer {cluster.token()}", f"{cluster.url}/api/v1/pods{query}"],
        check=True, capture_output=True, text=True)  # fmt: skip
    return time.monotonic() - started, int(done.stdout)


def bench_list(cluster: Cluster, folder: Path, runs: int, count: int) -> None:
    hooks = write_hook(folder / "list", {"name": "pods", "apiVersion": "v1", "kind": "Pod", "events": []})
    times, peaks, plain, paged = [], [], [], []
    for _ in range(runs):  # one after the other each time, so that both see the same machine
        seconds, size = download(cluster, "")
        plain.append(seconds)
        paged.append(sum(page_times(cluster)))
        daemon = Hookd(hooks, cluster.kubeconfig(), folder, flags=["--log-level", "info"])
        started = time.monotonic()
        daemon.start()
        try:
            while True:
                try:
                    code, _ = daemon.get("/readyz")
                    if code == 200:
                        break
                except OSError:
                    daemon.child.check_alive()
                time.sleep(0.002)
            times.append(time.monotonic() - started)
            held = sum(value for name, value in daemon.metrics().items() if name.startswith("hookd_objects{") and 'resource="pods"' in name)
            assert held == count, f"{held} pods in memory instead of {count}"
            peaks.append(daemon.peak_memory())
        finally:
            daemon.stop()
    best, base = min(times), min(plain)
    print(f"list: {count} pods, {size / count:.0f} bytes each, {size / 1e6:.1f} MB; best of {runs}")
    print(f"  plain download, one answer    {base:6.2f} s   (median {statistics.median(plain):.2f})")
    print(f"  plain download, pages of 500  {min(paged):6.2f} s   (median {statistics.median(paged):.2f})")
    print(f"  hookd, start to all in memory {best:6.2f} s   (median {statistics.median(times):.2f})")
    print(f"  ratio to the plain download   {best / base:6.2f}     aim: at most 2")
    print(f"  hookd's peak memory           {max(peaks) / 1e6:6.1f} MB  aim: under 60 MB")


def page_times(cluster: Cluster) -> list[float]:
    """Seconds of each page of 500, read and thrown away but for the token of the next."""
    import http.client
    import re
    import ssl

    context = ssl.create_default_context(cafile=str(cluster.authority.ca))
    connection = http.client.HTTPSConnection("127.0.0.1", cluster.port, context=context)
    token, times = "", []
    while True:
        started = time.monotonic()
        connection.request("GET", f"/api/v1/pods?limit=500{token and '&continue=' + token}", headers={"Authorization": f"Bearer {cluster.token()}", "User-Agent": "bench/1"})
        head = connection.getresponse().read()
        times.append(time.monotonic() - started)
        found = re.search(rb'"continue":"([^"]+)"', head[:400])
        if not found:
            connection.close()
            return times
        token = found[1].decode()


def percentiles(name: str, values: list[float]) -> None:
    values = sorted(values)
    p99 = values[min(len(values) - 1, int(len(values) * 0.99))]
    print(f"  {name:34s} p50 {statistics.median(values) * 1000:7.2f} ms   p99 {p99 * 1000:7.2f} ms   ({len(values)} samples)")


def bench_latency(cluster: Cluster, folder: Path, seconds: int, namespace: str) -> None:
    times = folder / "times"
    times.touch()
    watch = {"name": "pods", "apiVersion": "v1", "kind": "Pod", "existing": "none", "events": ["modified"], "value": ".metadata.labels"}
    daemon = Hookd(write_hook(folder / "latency", watch, SCRIPT, times), cluster.kubeconfig(), folder, flags=["--log-level", "info"])
    daemon.start().wait_ready(60)
    names = [item["metadata"]["name"] for item in cluster.api("GET", pods(namespace) + "?limit=400")[1]["items"]]
    sent, bare = [], []
    bare_times = folder / "bare"
    script = folder / "latency" / "hook.sh"
    try:
        begin = time.monotonic()
        for number in range(20 * seconds):
            time.sleep(max(0.0, begin + number / 20 - time.monotonic()))
            sent.append(time.time())
            cluster.api("PATCH", pods(namespace, names[number % len(names)]), {"metadata": {"labels": {"bench": str(number)}}}, MERGE_PATCH)
        daemon.wait_for(lambda: len(times.read_text().splitlines()) >= len(sent), 30, "all events handled")
    finally:
        daemon.stop()
    for _ in range(200):
        bare_times.write_text("")
        started = time.time()
        pid = os.posix_spawn(str(script), [str(script)], {"TIMES": str(bare_times), "PATH": os.environ["PATH"]})
        os.waitpid(pid, 0)
        bare.append(float(bare_times.read_text().split()[0]) - started)
    # One change in flight at a time at this rate, so the order of the lines is the order of the changes.
    seen = [float(line.split()[0]) for line in times.read_text().splitlines()]
    print(f"latency: {len(sent)} changes at 20 a second, {len(names)} pods of the same cluster")
    percentiles("change sent to the hook's first line", [b - a for a, b in zip(sent, sorted(seen))])
    percentiles("bare start of the same program", bare)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20, help="of the latency measurement")
    options = parser.parse_args()
    subprocess.run([HERE / "build.sh"], check=True)
    with Cluster(controller_manager=False) as cluster, tempfile.TemporaryDirectory() as folder:
        namespaces = seed.seed(cluster, options.pods, nodes=100)
        bench_list(cluster, Path(folder), options.runs, options.pods)
        bench_latency(cluster, Path(folder), options.seconds, namespaces[0])


if __name__ == "__main__":
    main()
