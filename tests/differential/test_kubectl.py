"""The real kubectl against both servers: applying, looking, asking. It must print the same, and what users expect."""

from __future__ import annotations

import re

from both import Both
from manifests import CONFIG, DEPLOYMENT, EVERY_KIND, RUNNING, fields, pod, something_happened, unordered
from process import wait_for


# --- apply ---


def test_apply_creates_changes_and_takes_away(both: Both) -> None:
    assert both.apply(CONFIG) == "configmap/settings created\n"
    assert both.apply(CONFIG) == "configmap/settings unchanged\n"
    assert both.apply(CONFIG.replace('two: "2"', 'three: "3"')) == "configmap/settings configured\n"
    assert "three:" in both("get", "configmap", "settings", "-o", "yaml")
    both("apply", "view-last-applied", "configmap", "settings")
    both("apply", "-f", "-", "--dry-run=server", input=CONFIG)
    both("apply", "-f", "-", "--dry-run=client", input=CONFIG)
    both("apply", "-f", "-", input=CONFIG.replace("ConfigMap", "Nothing"), code=1)
    both("apply", "-f", "-", input=CONFIG.replace("\ndata:", "\ndta:"), code=1)
    both("apply", "-f", "-", "--validate=false", input=CONFIG.replace("\ndata:", "\ndta:"))
    both("apply", "-f", "-", input=CONFIG.replace("settings", "Settings"), code=1)


def test_apply_of_a_deployment_merges_its_lists(both: Both) -> None:
    both.apply(DEPLOYMENT)
    both("set", "env", "deployment/web", "FROM=elsewhere")
    assert both.apply(DEPLOYMENT.replace("web:1", "web:2")) == "deployment.apps/web configured\n"
    text = both("get", "deployment", "web", "-o", "yaml")
    assert "FROM" in text and "web:2" in text
    both.apply(DEPLOYMENT.replace("replicas: 2", "replicas: 3") + "---\n" + CONFIG)


def test_apply_prunes_by_label(both: Both) -> None:
    both.apply(CONFIG + "---\n" + CONFIG.replace("settings", "others"))
    both("apply", "-f", "-", "--prune", "-l", "app=a", "--prune-allowlist=core/v1/ConfigMap", input=CONFIG)
    assert both("get", "configmaps", "-l", "app=a", "-o", "name") == "configmap/settings\n"


def test_server_side_apply(both: Both) -> None:
    server_side = ("apply", "--server-side", "-f", "-")
    assert both(*server_side, input=CONFIG) == "configmap/settings serverside-applied\n"
    both(*server_side, input=CONFIG)
    both("get", "configmap", "settings", "-o", "yaml", "--show-managed-fields")
    both(*server_side, "--field-manager=other", input=CONFIG.replace('"1"', '"9"'), code=1)
    both(*server_side, "--field-manager=other", "--force-conflicts", input=CONFIG.replace('"1"', '"9"'))
    both("get", "configmap", "settings", "-o", "json", "--show-managed-fields")
    both(*server_side, "--dry-run=server", "--field-manager=other", input=CONFIG.replace('"1"', '"9"'))


def test_client_side_apply_becomes_server_side(both: Both) -> None:
    both.apply(CONFIG)
    both("apply", "--server-side", "-f", "-", input=CONFIG.replace('two: "2"', ""))
    assert "two" not in both("get", "configmap", "settings", "-o", "jsonpath={.data}")


def test_diff(both: Both) -> None:
    both.apply(CONFIG)
    both("diff", "-f", "-", input=CONFIG)
    text = both("diff", "-f", "-", input=CONFIG.replace('"2"', '"3"'), code=1)
    assert "+  two: " in text
    both("diff", "-f", "-", input=CONFIG.replace("settings", "others"), code=1)
    both("diff", "--server-side", "-f", "-", "--field-manager=x", input=CONFIG.replace('two: "2"', 'four: "4"'), code=1)


# --- get, describe, explain ---


def test_get_pods(both: Both) -> None:
    both.apply(pod("a", "{app: x, tier: front}", "nodeName: node-1") + pod("b", "{app: x}") + pod("c"))
    both.status("pod/a", RUNNING)
    assert "1/1" in both("get", "pods")
    for flags in (
        ["-o", "wide"], ["-o", "name"], ["-o", "json"], ["-o", "yaml"], ["--show-labels"], ["-L", "app,tier"], ["--no-headers"],
        ["-o", "custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image,NODE:.spec.nodeName"],
        ["-o", "jsonpath={range .items[*]}{.metadata.name} {end}"], ["-o", "go-template={{len .items}}"],
        ["--sort-by=.metadata.name"], ["--sort-by=.spec.nodeName", "-o", "wide"], ["--chunk-size=1"], ["-l", "app=x"],
        ["-l", "app=x,tier!=front"], ["-l", "app in (x, y)"], ["-l", "!app"], ["--field-selector", "spec.nodeName=node-1"],
        ["--field-selector", "status.phase=Running,metadata.name!=b"], ["a", "b"], ["--ignore-not-found", "nobody"],
        ["-A", "-l", "tier=front"], ["--server-print=false"],
        ["--show-kind"], ["--subresource=status", "a"],
    ):  # fmt: skip
        both("get", "pods", *flags)
    both("get", "pods/a", "pod/b", "po/c")
    both("get", "pod", "nobody", code=1)
    both("get", "pods", "-l", "app~x", code=1)
    both("get", "pods", "--field-selector", "spec.hostname=x", code=1)
    both("get", "nothings", code=1)
    both("get", "pods", "-n", "absent")


def test_get_kinds(both: Both) -> None:
    both.apply(CONFIG + "---\n" + DEPLOYMENT)
    both("create", "service", "clusterip", "web", "--tcp=80:80")
    both("create", "secret", "generic", "keys", "--from-literal=a=b")
    both("create", "job", "once", "--image=a")
    both("create", "cronjob", "often", "--image=a", "--schedule=*/5 * * * *")
    both("create", "poddisruptionbudget", "budget", "--selector=app=web", "--min-available=1")
    both("create", "ingress", "entry", "--rule=a.example.com/=web:80", "--class=nginx")
    both("create", "quota", "limits", "--hard=count/widgets.example.com=3")
    both("create", "role", "reader", "--verb=get", "--resource=pods")
    both("create", "rolebinding", "reader", "--role=reader", "--user=alice")
    both("autoscale", "deployment", "web", "--max=5")
    both.apply("""\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: set}
spec: {serviceName: set, selector: {matchLabels: {app: set}}, template: {metadata: {labels: {app: set}}, spec: {containers: [{name: a, image: a}]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere}
spec: {selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: a, image: a}]}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: lease}
spec: {holderIdentity: me}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: policy}
spec: {podSelector: {matchLabels: {app: web}}}
""")
    kinds = (
        "configmaps", "deployments", "services", "secrets", "jobs", "cronjobs", "poddisruptionbudgets", "ingresses", "resourcequotas",
        "roles", "rolebindings", "hpa", "statefulsets", "daemonsets", "pvc", "leases", "networkpolicies", "serviceaccounts",
    )  # fmt: skip
    for kind in kinds:
        both("get", kind)
        both("get", kind, "-o", "wide")
    both("get", "all")
    both("get", "deploy,svc", "-o", "name")
    both("get", "deployments.v1.apps", "web")
    both("get", "namespace", both.ns)
    both("get", "priorityclasses", "system-node-critical")


def test_get_watches(both: Both) -> None:
    both.apply(pod("a", "{app: x}", "nodeName: node-1", grace=30))
    watch = both.watching("get", "pods", "-w")
    only = both.watching("get", "pods", "-l", "app=x", "--watch-only", "-o", "name")
    told = both.watching("get", "pods", "-w", "--output-watch-events")
    watch.wait(2)
    told.wait(2)
    both("wait", "pods", "--all", "--for=jsonpath={.spec.nodeName}=node-1")  # takes long enough for the second watch to begin
    both.status("pod/a", RUNNING)
    both.apply(pod("b"))
    both("delete", "pod", "a", "--wait=false")
    both("delete", "pod", "a", "--force", "--grace-period=0")
    lines = watch.end(7)
    assert "Terminating" in "".join(lines)
    told.end(7)
    only.end(4)


def test_describe(both: Both) -> None:
    both.apply(pod("a", "{app: x}", "nodeName: node-1") + DEPLOYMENT + "---\n" + CONFIG)
    both.status("pod/a", RUNNING)
    node = f"{both.ns}-node"
    both.apply(f"apiVersion: v1\nkind: Node\nmetadata: {{name: {node}}}\n")
    both.status(f"node/{node}", '{"status": {"capacity": {"cpu": "4", "memory": "8Gi"}, "allocatable": {"cpu": "4", "memory": "8Gi"}}}')
    something_happened(both, "a")
    assert "something went wrong" in both("describe", "pod", "a")
    both("describe", "node", node)
    both("describe", "deployment", "web")
    both("describe", "configmap", "settings")
    both("describe", "namespace", both.ns)
    both("describe", "serviceaccount", "default")
    both("describe", "pods", "-l", "app=x")
    both("describe", "pod", "nobody", code=1)
    both("delete", "node", node)


def test_every_kind(both: Both) -> None:
    """Applied in both ways, shown in each form, applied again without a change."""
    both.apply(EVERY_KIND)
    objects = (
        "service/svc", "secret/sec", "statefulset/set", "daemonset/ds", "replicaset/rs", "job/job", "cronjob/cron", "lease/lease",
        "networkpolicy/policy", "ingress/ing", "hpa/hpa", "role/role", "rolebinding/rb", "quota/quota", "limitrange/lim",
        "endpointslice/es", "rc/rc", "controllerrevision/cr",
    )  # fmt: skip
    for name in objects:
        both("describe", name)
        both("get", name, "-o", "yaml")
        both("get", name, "-o", "wide")
    both("get", "pdb/pdb", "-o", "wide")
    both.apply(EVERY_KIND)
    both("apply", "--server-side", "--force-conflicts", "-f", "-", input=EVERY_KIND)
    both("diff", "-f", "-", input=EVERY_KIND, code=0)
    both("delete", "-f", "-", "--wait=false", input=EVERY_KIND)


def test_explain(both: Both) -> None:
    for words in (["pod"], ["pod.spec"], ["pod.spec.containers"], ["deployment.spec.strategy"], ["configmap"], ["pod.metadata"]):
        both("explain", *words, lines=fields)
    both("explain", "pod.spec.nothing", code=1)
    both("explain", "pod.spec.containers.ports", "--recursive", lines=fields)


def test_api_resources(both: Both) -> None:
    served = [set(server.kubectl("api-resources", "--no-headers", "-o", "name").stdout.split()) for server in both.servers]
    assert {"pods", "deployments.apps", "jobs.batch", "leases.coordination.k8s.io"} <= served[1]

    def known(lines: list[str]) -> list[str]:
        return sorted(line for line in lines if any(name.split(".")[0] == line.split()[0] for name in served[1]))

    for flags in ([], ["-o", "wide"], ["--namespaced=false"], ["--api-group=apps"], ["--verbs=list,watch", "--no-headers"], ["--categories=all"]):
        both("api-resources", *flags, lines=known)
    versions = [server.kubectl("api-versions").stdout.split() for server in both.servers]
    assert set(versions[1]) <= set(versions[0])
    assert {"v1", "apps/v1", "batch/v1", "events.k8s.io/v1", "apiextensions.k8s.io/v1"} <= set(versions[1])


def test_cluster_info_and_version(both: Both) -> None:
    assert "is running at" in both("cluster-info")
    both("version", lines=lambda lines: [re.sub(r"(Server Version: v1\.36)\S*", r"\1", line) for line in lines])
    both("get", "--raw", "/readyz")
    both("get", "--raw", "/nothing", code=1)


# --- rights, events ---


def test_auth(both: Both) -> None:
    assert both("auth", "can-i", "delete", "pods") == "yes\n"
    assert both("auth", "can-i", "delete", "pods", "--as=alice", code=1) == "no\n"
    both("create", "role", "reader", "--verb=get,list", "--resource=pods,configmaps")
    both("create", "rolebinding", "reader", "--role=reader", "--user=alice")
    both("wait", "rolebinding/reader", "--for=jsonpath={.roleRef.name}=reader")
    assert both("auth", "can-i", "list", "pods", "--as=alice") == "yes\n"
    both("auth", "can-i", "list", "pods", "--as=alice", "-n", "default", code=1)
    both("auth", "can-i", "get", "/version", "--as=alice")
    both("auth", "can-i", "list", "nothings")
    both("auth", "can-i", "--list", "--as=alice", lines=unordered)
    both("auth", "whoami", "--as=alice", "--as-group=team")
    both("get", "pods", "--as=alice")
    both("get", "secrets", "--as=alice", code=1)
    both("delete", "pod", "x", "--as=alice", code=1)


def test_events(both: Both) -> None:
    both.apply(pod("a"))
    something_happened(both, "a")
    assert "something went wrong" in both("events")
    both("events", "--for=pod/a", "--types=Warning")
    both("get", "events")
    both("get", "events", "-o", "wide")
    both("get", "events", "--field-selector=reason=Happened,involvedObject.name=a")


# --- definitions ---


WIDGETS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.kubectl.example.com}
spec:
  group: kubectl.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [things]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: Something to turn.
        properties:
          spec:
            type: object
            description: What it shall be.
            required: [size]
            properties:
              size: {type: integer, minimum: 1, maximum: 10, description: How large it is.}
              color: {type: string, enum: [red, green], default: red, description: Its color.}
              tags: {type: array, items: {type: string}}
              settings: {type: object, additionalProperties: {type: string}}
          status: {type: object, properties: {replicas: {type: integer}}}
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Color, type: string, jsonPath: .spec.color, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
"""
WIDGET = """\
apiVersion: kubectl.example.com/v1
kind: Widget
metadata: {name: one, labels: {app: a}}
spec: {size: 3, tags: [a, b], settings: {k: v}}
"""


def explained(lines: list[str]) -> list[str]:
    """Without the words about apiVersion, kind and metadata, which every kind has."""
    text = re.sub(r"(?s)(\n  (apiVersion|kind|metadata)\t?\s*<\w+>\n).*?(?=\n  \w|\Z)", r"\1", "\n".join(lines))
    return text.splitlines()


def test_custom_resources(both: Both) -> None:
    both.apply(WIDGETS)
    both("wait", "--for=condition=Established", "crd/widgets.kubectl.example.com")
    for server in both.servers:  # the definition is established a little before its kind is served and in discovery
        found = server.kubectl("wait", "--for=condition=NamesAccepted", "crd/widgets.kubectl.example.com")
        assert found.returncode == 0
        wait_for(lambda: server.kubectl("explain", "widget").returncode == 0, 30, f"explanation of a widget by {server.name}")
    assert both.apply(WIDGET) == "widget.kubectl.example.com/one created\n"
    both.apply(WIDGET)
    both.apply(WIDGET.replace("size: 3", "size: 4"))
    for flags in ([], ["-o", "wide"], ["-o", "yaml"], ["-o", "name"], ["-l", "app=a"], ["-A"], ["-o", "json"], ["--sort-by=.spec.size"]):
        both("get", "widgets", *flags)
    both("get", "wd", "one")
    both("get", "widgets.v1.kubectl.example.com", "one")
    both("get", "things")
    both("describe", "widget", "one")
    both("scale", "widget", "one", "--replicas=5")
    both("scale", "widget", "one", "--replicas=50", code=1)
    both("patch", "widget", "one", "--type=merge", "-p", '{"spec": {"color": "green"}}')
    both("patch", "widget", "one", "-p", '{"spec": {"color": "green"}}', code=1)
    both("patch", "widget", "one", "--type=merge", "-p", '{"spec": {"color": "blue"}}', code=1)
    both("patch", "widget", "one", "--subresource=status", "--type=merge", "-p", '{"status": {"replicas": 2}}')
    both("label", "widget", "one", "b=c")
    both("apply", "--server-side", "-f", "-", "--field-manager=other", input=WIDGET, code=1)
    both("apply", "-f", "-", input=WIDGET.replace("size: 3", "size: 0"), code=1)
    # The message has the whole object in it, with managers in an order that depends on the second.
    both("apply", "-f", "-", input=WIDGET.replace("size: 3", "sise: 3"), code=1, lines=lambda lines: [line[:60] for line in lines])
    both("explain", "widget", lines=explained)
    both("explain", "widget.spec")
    both("explain", "widget.spec.size")
    both("explain", "widget", "--recursive")
    both("api-resources", "--api-group=kubectl.example.com")
    both("get", "crd", "widgets.kubectl.example.com")
    both("delete", "widget", "one")
    both("delete", "crd", "widgets.kubectl.example.com")
    both("get", "widgets", code=1)


def test_strange_servers_are_told_of(both: Both) -> None:
    """What kubectl says when there is something wrong with the way to the server."""
    both("get", "pods", "--token=wrong", code=1)
    both("get", "pods", "--as=nobody", code=1)
    both("get", "pods", "--request-timeout=nonsense", code=1)
