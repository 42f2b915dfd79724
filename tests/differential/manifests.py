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
# An object of each namespaced kind that users write, as `name` below; a claim has a protection that differs.
EVERY_KIND = """\
apiVersion: v1
kind: Service
metadata: {name: svc}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080, name: http}]}
---
apiVersion: v1
kind: Secret
metadata: {name: sec}
stringData: {a: b}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: set}
spec: {serviceName: svc, selector: {matchLabels: {app: set}}, template: {metadata: {labels: {app: set}}, spec: {containers: [{name: a, image: a}]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: ds}
spec: {selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: a, image: a}]}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: rs}
spec: {replicas: 0, selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: a, image: a}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: cron}
spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: lease}
spec: {holderIdentity: me, leaseDurationSeconds: 15}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: policy}
spec: {podSelector: {matchLabels: {app: web}}, ingress: [{from: [{podSelector: {}}]}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: ing}
spec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: svc, port: {number: 80}}}}]}}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: pdb}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: hpa}
spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: role}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: rb}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: role}
subjects: [{kind: ServiceAccount, name: default}]
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {pods: "1000"}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: lim}
spec: {limits: [{type: Pod, max: {cpu: "64"}}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: es, labels: {kubernetes.io/service-name: svc}}
addressType: IPv4
endpoints: [{addresses: [10.1.2.3]}]
ports: [{port: 80}]
---
apiVersion: v1
kind: ReplicationController
metadata: {name: rc}
spec: {replicas: 0, selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}
---
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: cr}
revision: 1
data: {a: b}
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
