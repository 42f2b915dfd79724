"""Hooks made by tests."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any


def write_hook(folder: Path, script: str, spec: dict[str, Any], name: str = "probe", run: dict[str, Any] | None = None) -> Path:
    """A hook of one bash script; its own folder below `folder`."""
    home = folder / name
    home.mkdir(parents=True, exist_ok=True)
    path = home / "hook.sh"
    path.write_text("#!/bin/bash\n" + textwrap.dedent(script))
    path.chmod(0o755)
    hook = {
        "apiVersion": "hookd/v1",
        "kind": "Hook",
        "metadata": {"name": name},
        "spec": {"run": {"command": ["./hook.sh"], **(run or {})}, **spec},
    }
    (home / "hook.yaml").write_text(json.dumps(hook, indent=2))
    return home


def watch(kind: str, namespace: str, **more: Any) -> dict[str, Any]:
    """A watch in one namespace."""
    return {"kind": kind, "apiVersion": "v1", "namespaces": {"names": [namespace]}, **more}


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
