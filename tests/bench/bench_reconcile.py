#!/usr/bin/env python3
"""Figures of `reconcile` on a real API server, beside those that issue 6 names: `python3 tests/bench/bench_reconcile.py`.

    fan       300 parents, a child each, default settings: until all children are there; with a worker and with bash
    wide      2,500 parents with 4 children each
    memory    hookd's memory with 1,000 Secrets of 32 kB as children
    restart   10,000 parents that were handled, one changed while hookd was down: until its child is as it should be

Recovery after an outage of the hook needs virtual time: tests/unit/queue and tests/unit/app, by ctest.

`--scale 0.02` is a quick look at whether it works; its ratios mean nothing.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cluster"))
os.environ.setdefault("HOOKD_BIN", str(ROOT / "build" / "release" / "hookd"))

from cluster import HERE, Cluster  # noqa: E402
from hookd import Hookd  # noqa: E402
from workloads import MERGE_PATCH, expect  # noqa: E402

GROUP, VERSION = "bench.example.com", "v1"
# Of Metacontroller and of a Go controller: issue 6, reference/controllers.md section 4.
FAN_AT_1000_QPS, FAN_BY_DEFAULT = 2.0, 139.0  # seconds
WIDE = 20 * 60.0  # seconds: "20-30 min"
MEMORY = 110.0  # MB

# Answers each call with CHILDREN ConfigMaps that hold the parent's spec.n. What it needs stands in the first part of a line.
WORKER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int text(const char *line, const char *before, char *out, size_t size) {
  const char *at = strstr(line, before);
  if (!at) return 0;
  at += strlen(before);
  const size_t length = strcspn(at, "\",}");
  if (length >= size) return 0;
  memcpy(out, at, length);
  out[length] = 0;
  return 1;
}
int main(int argc, char **argv) {
  const int children = argc > 1 ? atoi(argv[1]) : 1;
  static char line[1 << 20];
  char id[64], name[64], n[64];
  while (fgets(line, sizeof line, stdin)) {
    const char *key = strstr(line, "\"key\":{"), *object = strstr(line, "\"object\":{");
    if (!key || !text(line, "\"id\":\"", id, sizeof id) || !text(key, "\"name\":\"", name, sizeof name)) continue;
    if (!object || !text(object, "\"n\":", n, sizeof n)) {
      printf("{\"id\":\"%s\"}\n", id);
    } else {
      printf("{\"id\":\"%s\",\"children\":[", id);
      for (int i = 0; i < children; ++i)
        printf("%s{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s-%d\",\"labels\":{\"bench\":\"1\"}},\"data\":{\"n\":\"%s\"}}",
               i ? "," : "", name, i, n);
      printf("]}\n");
    }
    fflush(stdout);
  }
}
"""
BASH = """#!/bin/bash
exec jq -c '.object | select(. != null) | {children: [{apiVersion: "v1", kind: "ConfigMap",
  metadata: {name: "\\(.metadata.name)-0", labels: {bench: "1"}}, data: {n: "\\(.spec.n)"}}]}'
"""


def definition() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": VERSION, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "parents", "singular": "parent", "kind": "Parent"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"parents.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }  # fmt: skip


def write_hook(folder: Path, run: dict[str, Any], children: dict[str, Any], **more: Any) -> Path:
    folder.mkdir(parents=True)
    reconcile = {"for": {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Parent"}, "children": [{"labelSelector": "bench", **children}], **more}
    hook = {"apiVersion": "hookd/v1", "kind": "Hook", "metadata": {"name": "bench"}, "spec": {"run": run, "reconcile": reconcile, "allow": []}}
    (folder / "hook.yaml").write_text(json.dumps(hook))
    return folder


class Place:
    """One namespace of the server, and threads that each keep a connection to it."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.name = cluster, cluster.make_namespace(name)
        self.parents = f"/apis/{GROUP}/{VERSION}/namespaces/{name}/parents"
        self.maps = f"/api/v1/namespaces/{name}/configmaps"
        self.secrets = f"/api/v1/namespaces/{name}/secrets"

    def each(self, items: Iterable[Any], send: Callable[[Any], tuple[str, str, Any]], threads: int = 16) -> None:
        wanted, failed = list(items), []

        def work(part: list[Any]) -> None:
            context = ssl.create_default_context(cafile=str(self.cluster.authority.ca))
            connection = http.client.HTTPSConnection("127.0.0.1", self.cluster.port, context=context)
            for item in part:
                method, path, body = send(item)
                connection.request(method, path, json.dumps(body), {"Authorization": f"Bearer {self.cluster.token()}", "Content-Type": "application/json"})
                response = connection.getresponse()
                answer = response.read()
                if response.status >= 300:
                    failed.append(answer)
                    return

        started = [threading.Thread(target=work, args=(wanted[number::threads],)) for number in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
        assert not failed, failed[0]

    def make_parents(self, count: int) -> None:
        def parent(n: int) -> tuple[str, str, Any]:
            return "POST", self.parents, {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Parent", "metadata": {"name": f"p{n}"}, "spec": {"n": 0}}

        self.each(range(count), parent)

    def count(self, path: str) -> int:
        """How many of ours there are, of a list of one: the server tells how many remain."""
        found = expect(self.cluster.api("GET", f"{path}?limit=1"))
        items = len(found["items"]) + found["metadata"].get("remainingItemCount", 0)
        return items - (1 if path == self.maps and self.has_root_ca() else 0)

    def has_root_ca(self) -> bool:
        return self.cluster.api("GET", f"{self.maps}/kube-root-ca.crt")[0] == 200

    def until(self, daemon: Hookd, path: str, count: int, began: float, timeout: float = 900) -> float:
        while self.count(path) < count:
            daemon.child.check_alive()
            if time.monotonic() - began > timeout:
                raise TimeoutError(f"{self.count(path)} of {count} children after {timeout} s")
            time.sleep(0.02)
        return time.monotonic() - began

    def clear(self) -> None:
        for path in (self.parents, self.maps, self.secrets):
            self.cluster.api("DELETE", path)


def start(hooks: Path, cluster: Cluster, folder: Path, *flags: str) -> Hookd:
    return Hookd(hooks, cluster.kubeconfig(), folder, flags=["--log-level", "warn", *flags]).start()


def total(daemon: Hookd, name: str) -> int:
    try:
        return int(sum(value for key, value in daemon.metrics().items() if key.startswith(name)))
    except OSError:
        return 0


def resident(daemon: Hookd) -> float:
    status = Path(f"/proc/{daemon.child.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def settled(daemon: Hookd) -> int:
    """Calls, once there were none for two seconds."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < 2:
        daemon.child.check_alive()
        if (now := total(daemon, "hookd_calls_total")) != last:
            last, since = now, time.monotonic()
        time.sleep(0.1)
    return last


def row(what: str, value: str, ratio: str = "") -> None:
    print(f"  {what:46s} {value:>10s}   {ratio}", flush=True)


def bench_fan(cluster: Cluster, folder: Path, worker: Path, count: int) -> None:
    print(f"fan: {count} parents -> {count} children, default settings")
    (folder / "fan.sh").write_text(BASH)
    (folder / "fan.sh").chmod(0o755)
    for name, run in (("worker", {"command": [str(worker)], "mode": "worker"}), ("bash", {"command": [str(folder / "fan.sh")]})):
        place = Place(cluster, f"fan-{name}")
        daemon = start(write_hook(folder / f"fan-{name}", run, {"apiVersion": "v1", "kind": "ConfigMap"}), cluster, folder).wait_ready()
        try:
            began = time.monotonic()
            place.make_parents(count)
            made = time.monotonic() - began
            seconds = place.until(daemon, place.maps, count, began)
            row(f"{name}: parents made", f"{made:.2f} s")
            row(f"{name}: first parent to last child", f"{seconds:.2f} s",
                f"ratio to Metacontroller at 1,000 QPS {seconds / FAN_AT_1000_QPS:.2f}, by its default {seconds / FAN_BY_DEFAULT:.3f}")  # fmt: skip
            row(f"{name}: calls", f"{settled(daemon)}")
        finally:
            daemon.stop()
        place.clear()


def bench_wide(cluster: Cluster, folder: Path, worker: Path, count: int) -> None:
    print(f"wide: {count} parents with 4 children each")
    place = Place(cluster, "wide")
    run = {"command": [str(worker), "4"], "mode": "worker"}
    daemon = start(write_hook(folder / "wide", run, {"apiVersion": "v1", "kind": "ConfigMap"}), cluster, folder).wait_ready()
    try:
        began = time.monotonic()
        place.make_parents(count)
        made = time.monotonic() - began
        seconds = place.until(daemon, place.maps, 4 * count, began)
        row("parents made", f"{made:.2f} s")
        row("first parent to last child", f"{seconds:.2f} s", f"ratio to 20 minutes {seconds / WIDE:.4f}")
        row("hookd's memory", f"{resident(daemon):.1f} MB")
    finally:
        daemon.stop()
    place.clear()


SECRETS = """
import base64, json, random, sys
for line in sys.stdin:
    call = json.loads(line)
    answer = {"id": call["id"]}
    if call["object"]:
        name = call["object"]["metadata"]["name"]
        content = base64.b64encode(random.Random(name).randbytes(24 * 1024)).decode()  # 32 kB of text, as the server keeps it
        answer["children"] = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": {"bench": "1"}}, "data": {"key": content}}]
    print(json.dumps(answer), flush=True)
"""


def bench_memory(cluster: Cluster, folder: Path, count: int) -> None:
    print(f"memory: {count} Secrets of 32 kB as children")
    place = Place(cluster, "memory")
    (folder / "secrets.py").write_text(SECRETS)
    run = {"command": ["python3", str(folder / "secrets.py")], "mode": "worker"}
    hooks = write_hook(folder / "memory", run, {"apiVersion": "v1", "kind": "Secret"})
    daemon = start(hooks, cluster, folder).wait_ready()
    try:
        before = resident(daemon)
        began = time.monotonic()
        place.make_parents(count)
        place.until(daemon, place.secrets, count, began)
        while total(daemon, "hookd_calls_total") < count:
            time.sleep(0.1)
        row("without any", f"{before:.1f} MB")
        row("after making them", f"{resident(daemon):.1f} MB", f"ratio to a Go controller {resident(daemon) / MEMORY:.2f}")
        row("at most", f"{daemon.peak_memory() / 1e6:.1f} MB")
        daemon.restart().wait_ready(60)
        while total(daemon, "hookd_calls_total") < count:
            time.sleep(0.1)
        row("after a restart", f"{resident(daemon):.1f} MB", f"ratio to a Go controller {resident(daemon) / MEMORY:.2f}")
    finally:
        daemon.stop()
    place.clear()


def bench_restart(cluster: Cluster, folder: Path, worker: Path, count: int) -> None:
    print(f"restart: {count} parents, one of them changed while hookd was down")
    place = Place(cluster, "restart")
    place.make_parents(count)
    chance = random.Random(7)
    for at_start in ("changed", "all"):
        run = {"command": [str(worker)], "mode": "worker"}
        hooks = write_hook(folder / f"restart-{at_start}", run, {"apiVersion": "v1", "kind": "ConfigMap"}, atStart=at_start)
        daemon = start(hooks, cluster, folder, "--state-dir", str(folder / f"state-{at_start}"))
        try:
            while total(daemon, "hookd_calls_total") < count:
                daemon.child.check_alive()
                time.sleep(0.1)
            settled(daemon)
            daemon.stop()
            name, wanted = f"p{chance.randrange(count)}", str(chance.randrange(1, 1_000_000))
            expect(cluster.api("PATCH", f"{place.parents}/{name}", {"spec": {"n": int(wanted)}}, MERGE_PATCH))
            began = time.monotonic()
            daemon.start()
            while cluster.api("GET", f"{place.maps}/{name}-0")[1]["data"]["n"] != wanted:
                daemon.child.check_alive()
                time.sleep(0.005)
            seconds = time.monotonic() - began
            plain = download(cluster, place.parents) + download(cluster, f"{place.maps}?labelSelector=bench")
            row(f"atStart: {at_start}: start to the child", f"{seconds:.2f} s", f"ratio to a plain download of the two lists {seconds / plain:.1f}")
            row(f"atStart: {at_start}: calls until all is quiet", f"{settled(daemon)}")
        finally:
            daemon.stop()
    place.clear()


def download(cluster: Cluster, path: str) -> float:
    """Seconds that curl takes for the list."""
    began = time.monotonic()
    command = ["curl", "--silent", "--fail", "--cacert", cluster.authority.ca, "-A", "bench/1", "-o", "/dev/null", "-H", f"Authorization: Bearer {cluster.token()}"]
    subprocess.run([*command, f"{cluster.url}{path}"], check=True)
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="of all counts")
    parser.add_argument("--only", choices=["fan", "wide", "memory", "restart"])
    options = parser.parse_args()

    def scaled(count: int) -> int:
        return max(2, round(count * options.scale))

    subprocess.run([HERE / "build.sh"], check=True)
    with Cluster(controller_manager=False) as cluster, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        worker = folder / "worker"
        subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", worker], input=WORKER, text=True, check=True)
        cluster.apply(definition())
        cluster.kubectl("wait", "--for=condition=Established", f"crd/parents.{GROUP}")
        cluster.wait_for(lambda: cluster.api("GET", f"/apis/{GROUP}/{VERSION}/parents")[0] == 200, 20, "parents served")
        warm_up = Place(cluster, "warm-up")  # the first object of a kind takes the server seconds
        warm_up.make_parents(16)
        warm_up.clear()
        chosen = [options.only] if options.only else ["fan", "wide", "memory", "restart"]
        if "fan" in chosen:
            bench_fan(cluster, folder, worker, scaled(300))
        if "wide" in chosen:
            bench_wide(cluster, folder, worker, scaled(2_500))
        if "memory" in chosen:
            bench_memory(cluster, folder, scaled(1_000))
        if "restart" in chosen:
            bench_restart(cluster, folder, worker, scaled(10_000))


if __name__ == "__main__":
    main()
