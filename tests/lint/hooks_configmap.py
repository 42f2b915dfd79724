#!/usr/bin/python3
"""deploy/kubernetes/hooks-configmap.yaml is the example in hooks-examples, file by file, but for its tests and rights. --fix writes it."""

from __future__ import annotations

import sys
from pathlib import Path

from lint import main

SOURCE = Path("hooks-examples/statefulset-force-delete/event-driven")
TARGET = Path("deploy/kubernetes/hooks-configmap.yaml")


def config_map(folder: Path) -> str:
    lines = [
        f"# Made from {SOURCE} by tests/lint/hooks_configmap.py --fix: change it there.",
        "apiVersion: v1",
        "kind: ConfigMap",
        "metadata:",
        "  name: hookd-statefulset-force-delete",
        "  namespace: hookd",
        "data:",
    ]
    for file in sorted(folder.iterdir()):
        if file.name in ("scenario.yaml", "rbac.yaml") or file.name.endswith(".test.yaml"):
            continue
        text = file.read_text()
        if "\t" in text or "\r" in text or not text.endswith("\n") or text[0] in " \n":
            raise ValueError(f"{file}: this file does not fit into a YAML block as it is")
        lines.append(f"  {file.name}: |")
        lines += [f"    {line}".rstrip() for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def problems(root: Path) -> list[str]:
    wanted = config_map(root / SOURCE)
    target = root / TARGET
    if target.exists() and target.read_text() == wanted:
        return []
    return [f"{TARGET}: differs from {SOURCE}; run tests/lint/hooks_configmap.py --fix"]


if __name__ == "__main__":
    if "--fix" in sys.argv:
        root = Path(__file__).resolve().parents[2]
        (root / TARGET).write_text(config_map(root / SOURCE))
    else:
        main(problems)
