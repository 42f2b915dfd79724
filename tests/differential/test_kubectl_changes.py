"""The real kubectl against both servers: changing and deleting, and waiting for that."""

from __future__ import annotations

import stat

from both import Both
from manifests import CONFIG, DEPLOYMENT, RUNNING, pod, unordered


# --- changes ---


def test_patch(both: Both) -> None:
    both.apply(DEPLOYMENT)
    both("patch", "deployment", "web", "-p", '{"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "x:2"}]}}}}')
    both("patch", "deployment", "web", "-p", '{"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "x:2"}]}}}}')
    both("patch", "deployment", "web", "--type=merge", "-p", '{"metadata": {"labels": {"a": "b"}}}')
    both("patch", "deployment", "web", "--type=json", "-p", '[{"op": "replace", "path": "/spec/replicas", "value": 5}]')
    both("patch", "deployment", "web", "--type=json", "-p", '[{"op": "test", "path": "/spec/replicas", "value": 4}]', code=1)
    both("patch", "deployment", "web", "-p", '{"spec": {"replicas": -1}}', code=1)
    both("patch", "deployment", "web", "-p", '{"spec": {"replicas": "x"}}', code=1)
    both("patch", "deployment", "web", "--subresource=scale", "--type=merge", "-p", '{"spec": {"replicas": 6}}')
    both("patch", "deployment", "nobody", "-p", "{}", code=1)
    both("patch", "deployment", "web", "--dry-run=server", "-p", '{"spec": {"replicas": 9}}')
    both("get", "deployment", "web", "-o", "yaml")


def test_edit(both: Both) -> None:
    both.apply(CONFIG)
    editor = both.folder / "editor.sh"
    editor.write_text("#!/bin/sh\nsed -i 's/two: \"2\"/two: \"22\"/' \"$1\"\n")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    assert both("edit", "configmap", "settings", KUBE_EDITOR=str(editor)) == "configmap/settings edited\n"
    both("edit", "configmap", "settings", KUBE_EDITOR="true")
    assert both("get", "configmap", "settings", "-o", "jsonpath={.data.two}") == "22"


def test_label_and_annotate(both: Both) -> None:
    both.apply(CONFIG)
    for word in ("label", "annotate"):
        both(word, "configmap", "settings", "new=1", "other=2")
        both(word, "configmap", "settings", "new=1")
        both(word, "configmap", "settings", "new=2", code=1)
        both(word, "configmap", "settings", "new=2", "--overwrite")
        both(word, "configmap", "settings", "other-")
        both(word, "configmaps", "--all", "more=x")
        both(word, "configmap", "settings", "--list", lines=unordered)
        both(word, "configmap", "settings", "a b=c", code=1)
    both("label", "configmaps", "-l", "app=a", "picked=yes")
    both("get", "configmap", "settings", "-o", "yaml")


def test_scale(both: Both) -> None:
    both.apply(DEPLOYMENT)
    assert both("scale", "deployment/web", "--replicas=4") == "deployment.apps/web scaled\n"
    both("scale", "deployment", "web", "--replicas=5", "--current-replicas=3", code=1)
    both("scale", "deployment", "web", "--replicas=5", "--current-replicas=4")
    both("scale", "deployment", "--all", "--replicas=1")
    both("scale", "deployment", "nobody", "--replicas=1", code=1)
    both("scale", "configmap", "nobody", "--replicas=1", code=1)
    assert both("get", "deployment", "web", "-o", "jsonpath={.spec.replicas}") == "1"
    both("get", "deployment", "web", "--subresource=scale")


def test_rollout(both: Both) -> None:
    both.apply(DEPLOYMENT)
    status = '{"status": {"observedGeneration": %d, "replicas": 2, "updatedReplicas": %d, "readyReplicas": 2, "availableReplicas": 2}}'
    both.status("deployment/web", status % (1, 1))
    both("rollout", "status", "deployment/web", "--watch=false")
    both.status("deployment/web", status % (1, 2))
    assert "successfully rolled out" in both("rollout", "status", "deployment/web")
    assert both("rollout", "restart", "deployment/web") == "deployment.apps/web restarted\n"
    both("rollout", "status", "deployment/web", "--timeout=1s", code=1)
    both("rollout", "pause", "deployment/web")
    both("rollout", "pause", "deployment/web", code=1)
    both("rollout", "resume", "deployment/web")
    both("rollout", "history", "deployment/web")
    both("get", "deployment", "web", "-o", "jsonpath={.metadata.generation}")


def test_set(both: Both) -> None:
    both.apply(DEPLOYMENT)
    assert both("set", "image", "deployment/web", "main=x:9") == "deployment.apps/web image updated\n"
    both("set", "image", "deployment/web", "nobody=x:9", code=1)
    both("set", "env", "deployment/web", "A=b")
    both("set", "env", "deployment/web", "--list")
    both("set", "resources", "deployment/web", "--limits=cpu=1,memory=1Gi")
    both("set", "serviceaccount", "deployment/web", "other")
    both("get", "deployment", "web", "-o", "yaml")


def test_create(both: Both) -> None:
    both("create", "namespace", f"{both.ns}-made")
    both("create", "namespace", f"{both.ns}-made", code=1)
    both("create", "configmap", "made", "--from-literal=a=b")
    both("create", "secret", "generic", "made", "--from-literal=a=b")
    both("create", "secret", "docker-registry", "registry", "--docker-username=u", "--docker-password=p")
    both("create", "deployment", "made", "--image=x:1", "--replicas=3", "--port=80")
    both("create", "serviceaccount", "made")
    both("create", "service", "nodeport", "made", "--tcp=80:8080")
    both("create", "clusterrole", f"{both.ns}-made", "--verb=get", "--resource=pods")
    both("create", "clusterrolebinding", f"{both.ns}-made", f"--clusterrole={both.ns}-made", "--group=team")
    both("create", "priorityclass", f"{both.ns}-made", "--value=10")
    both("create", "cronjob", "made", "--image=a", "--schedule=@daily")
    both("create", "job", "from", "--from=cronjob/made")
    both("create", "token", "made")
    both("create", "token", "made", "--bound-object-kind=Secret", "--bound-object-name=nobody", code=1)
    both("create", "-f", "-", input=CONFIG)
    both("create", "-f", "-", input=CONFIG, code=1)
    both("create", "-f", "-", "--dry-run=server", "-o", "yaml", input=CONFIG.replace("settings", "dry"))
    both("create", "-f", "-", input=CONFIG.replace("name: settings", "generateName: drawn-"), lines=lambda lines: [line[:16] for line in lines])
    both("get", "deployment", "made", "-o", "yaml")
    both("get", "job", "from", "-o", "yaml", lines=lambda lines: [line for line in lines if "controller-uid" not in line])


def test_replace(both: Both) -> None:
    both.apply(CONFIG)
    assert both("replace", "-f", "-", input=CONFIG.replace('"2"', '"3"')) == "configmap/settings replaced\n"
    both("replace", "-f", "-", input=CONFIG.replace("settings", "nobody"), code=1)
    both("replace", "--force", "-f", "-", input=CONFIG)
    both("get", "configmap", "settings", "-o", "yaml")


def test_run_and_expose(both: Both) -> None:
    both("run", "tool", "--image=x:1", "--labels=app=tool", "--port=80")
    both("run", "tool", "--image=x:1", code=1)
    both("run", "dry", "--image=x:1", "--dry-run=server", "-o", "yaml")
    both("expose", "pod", "tool", "--port=80", "--name=tool")
    both.apply(DEPLOYMENT)
    both("expose", "deployment", "web", "--port=80", "--target-port=8080", "--type=NodePort")
    both("get", "service", "tool", "-o", "yaml")
    both("logs", "tool", code=0)
    both("logs", "nobody", code=1)


# --- deletion ---


def test_delete(both: Both) -> None:
    both.apply(CONFIG + "---\n" + pod("a", "{app: x}") + pod("b", "{app: x}") + pod("c", grace=300, more="nodeName: node-1") + pod("d") + pod("e"))
    both("delete", "configmap", "settings", "--dry-run=server")
    both("delete", "configmap", "settings")
    both("delete", "configmap", "settings", code=1)
    both("delete", "configmap", "settings", "--ignore-not-found")
    both("delete", "pods", "-l", "app=x")
    both("delete", "pod", "c", "--wait=false")
    both("delete", "pod", "c", "--timeout=1s", code=1)
    assert "Terminating" in both("get", "pod", "c")
    both("delete", "pod", "c", "--force", "--grace-period=0")
    both("delete", "pod/d", "--now")
    both("delete", "pods", "--all")
    both("delete", "-f", "-", input=CONFIG, code=1)
    both("get", "pods")


def test_delete_waits_for_finalizers(both: Both) -> None:
    both.apply(CONFIG.replace("labels:", "finalizers: [example.com/hold], labels:"))
    watch = both.watching("delete", "configmap", "settings")
    watch.wait(1)
    both("wait", "configmap/settings", "--for=jsonpath={.metadata.deletionGracePeriodSeconds}=0")
    both("wait", "configmap/settings", "--for=delete", "--timeout=1s", code=1)
    both("patch", "configmap", "settings", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    both("wait", "configmap/settings", "--for=delete", "--timeout=10s")
    assert "deleted" in watch.end(1)[0]


def owned(both: Both) -> None:
    """A ConfigMap, and a Secret that it owns."""
    both.apply(CONFIG)
    both("create", "secret", "generic", "owned")
    for server in both.servers:
        uid = server.kubectl("-n", both.ns, "get", "configmap", "settings", "-o", "jsonpath={.metadata.uid}").stdout
        owner = '{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": "%s", "blockOwnerDeletion": true}' % uid
        done = server.kubectl("-n", both.ns, "patch", "secret", "owned", "--type=merge", "-p", '{"metadata": {"ownerReferences": [%s]}}' % owner)
        assert done.returncode == 0, done.stderr


def test_delete_with_cascade(both: Both) -> None:
    owned(both)
    both("delete", "configmap", "settings", "--cascade=orphan")
    both("wait", "secret/owned", "--for=jsonpath={.metadata.name}=owned")
    both("delete", "secret", "owned")
    owned(both)
    both("delete", "configmap", "settings", "--cascade=foreground")
    both("get", "secret", "owned", code=1)
    owned(both)
    both("delete", "configmap", "settings")
    both("wait", "secret/owned", "--for=delete", "--timeout=30s")


def test_delete_of_a_namespace(both: Both) -> None:
    name = f"{both.ns}-ends"
    both("create", "namespace", name)
    both("create", "configmap", "inside", "-n", name)
    both("delete", "namespace", name)
    both("get", "configmap", "inside", "-n", name, code=1)


# --- waiting, nodes ---


def test_wait(both: Both) -> None:
    both.apply(pod("a"))
    both("wait", "pod/a", "--for=condition=Ready", "--timeout=1s", code=1)
    watch = both.watching("wait", "pod/a", "--for=condition=Ready", "--timeout=20s")
    both.status("pod/a", RUNNING)
    assert watch.end(1) == ["pod/a condition met"]
    both("wait", "pod/a", "--for=condition=Ready")
    both("wait", "pod/a", "--for=jsonpath={.status.phase}=Running")
    both("wait", "pods", "--all", "--for=condition=Ready=true")
    both("wait", "pod/nobody", "--for=condition=Ready", "--timeout=1s", code=1)
    both("wait", "pod/nobody", "--for=delete", "--timeout=1s")
    watch = both.watching("wait", "configmap/settings", "--for=create", "--timeout=20s")
    both.apply(CONFIG)
    watch.end(1)


def test_cordon_and_drain(both: Both) -> None:
    node = f"{both.ns}-node"
    both.apply(f"apiVersion: v1\nkind: Node\nmetadata: {{name: {node}}}\n")
    both.apply(pod("a", "{app: x}", f"nodeName: {node}") + pod("done", more=f"nodeName: {node}"))
    both.status("pod/done", '{"status": {"phase": "Succeeded"}}')
    both("cordon", node)
    both("cordon", node)
    assert "SchedulingDisabled" in both("get", "node", node)
    both("drain", node, code=1, lines=unordered)
    both("drain", node, "--force", "--dry-run=server", lines=unordered)
    assert "drained" in both("drain", node, "--force", "--grace-period=0", lines=unordered)
    both("get", "pods")
    both("uncordon", node)
    both("taint", "node", node, "a=b:NoSchedule")
    both("taint", "node", node, "a=b:NoSchedule", code=1)
    both("taint", "node", node, "a-")
    both("delete", "node", node)


def test_drain_heeds_budgets(both: Both) -> None:
    node = f"{both.ns}-node"
    both.apply(f"apiVersion: v1\nkind: Node\nmetadata: {{name: {node}}}\n")
    both.apply(pod("a", "{app: x}", f"nodeName: {node}"))
    both.status("pod/a", RUNNING)
    both("create", "poddisruptionbudget", "budget", "--selector=app=x", "--min-available=1")
    both("wait", "pdb/budget", "--for=jsonpath={.status.currentHealthy}=1")
    both("drain", node, "--force", "--grace-period=0", "--timeout=2s", code=1, lines=lambda lines: sorted(set(lines)))
    both("delete", "pdb", "budget")
    both("drain", node, "--force", "--grace-period=0", lines=unordered)
    both("delete", "node", node)
