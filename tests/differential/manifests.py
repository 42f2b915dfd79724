"""What the tests with kubectl put on the servers, and which lines they compare."""

from __future__ import annotations

import re

from both import Both

CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: a}}
data: {one: "1", two: "2"}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: "registry.invalid/web:1", ports: [{containerPort: 80}]}]
"""
RUNNING = (
    '{"status": {"phase": "Running", "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}], "hostIP": "192.0.2.1", '
    '"startTime": "2024-01-01T00:00:00Z", '
    '"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}], '
    '"containerStatuses": [{"name": "main", "image": "a", "imageID": "a", "ready": true, "restartCount": 1, '
    '"state": {"running": {"startedAt": "2024-01-01T00:00:00Z"}}}]}}'
)


def pod(name: str, labels: str = "{}", more: str = "", grace: int = 0) -> str:
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {labels}}}
spec:
  terminationGracePeriodSeconds: {grace}
  containers: [{{name: main, image: "registry.invalid/app:1"}}]
  {more}
---
"""


def fields(lines: list[str]) -> list[str]:
    """Of kubectl explain: names and types, without what they are for."""
    found = (re.match(r"\s+(\S+)\s+(<\S+>)", line) for line in lines)
    return [f"{match[1]} {match[2]}" for match in found if match]


def unordered(lines: list[str]) -> list[str]:
    return sorted(lines)


def something_happened(both: Both, name: str) -> None:
    """An Event about a pod; `describe` looks for its uid."""
    for server in both.servers:
        uid = server.kubectl("-n", both.ns, "get", "pod", name, "-o", "jsonpath={.metadata.uid}").stdout
        done = server.kubectl("-n", both.ns, "apply", "-f", "-", input=f"""\
apiVersion: v1
kind: Event
metadata: {{name: happened}}
type: Warning
reason: Happened
message: something went wrong
count: 2
source: {{component: test}}
firstTimestamp: "2024-01-01T00:00:00Z"
lastTimestamp: "2024-01-01T00:00:00Z"
involvedObject: {{apiVersion: v1, kind: Pod, namespace: {both.ns}, name: {name}, uid: {uid}}}
""")
        assert done.returncode == 0, done.stderr
