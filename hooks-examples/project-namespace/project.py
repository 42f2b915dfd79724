"""What a Project should have: its Namespace. The same for both variants; it knows nothing of hookd, nor of Metacontroller."""


def wanted(project, namespaces):
    """`namespaces`: name -> Namespace that the project has so far. Gives its children and its status."""
    name = project["metadata"]["name"]
    spec = project["spec"]
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": f"proj-{name}",
            "labels": {"example.com/project": name},
            "annotations": {"example.com/description": spec["description"], "example.com/license": spec["license"]},
        },
    }
    there = namespaces.get(f"proj-{name}", {})
    return [namespace], {"namespace": f"proj-{name}", "phase": there.get("status", {}).get("phase", "Pending")}
