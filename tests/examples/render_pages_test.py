"""The sidecar's hook (deploy/sidecar) without a daemon: the call's pages become the folder's files, and no others stay."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[2] / "deploy/sidecar"


def run(pages: Path, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([FOLDER / "render-pages.sh"], input=text, capture_output=True, text=True, timeout=30, env={"PATH": "/usr/bin:/bin", "FOLDER": str(pages)})


def call(**pages: Any) -> str:
    return json.dumps({"events": [], "objects": {"pages": [{"object": {"metadata": {"name": name}}, "value": value} for name, value in pages.items()]}})


def content(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_folder_follows_the_pages(tmp_path: Path) -> None:
    assert run(tmp_path, call(a="one\n\ntwo \n\n", b="\u00fc $(x) `y` \\n", empty="", none=None)).returncode == 0
    assert content(tmp_path) == {"a.html": "one\n\ntwo \n\n", "b.html": "\u00fc $(x) `y` \\n", "empty.html": ""}
    done = run(tmp_path, call(b="new"))
    assert (done.returncode, done.stdout) == (0, "")
    assert content(tmp_path) == {"b.html": "new"}
    assert run(tmp_path, call()).returncode == 0
    assert content(tmp_path) == {}


@pytest.mark.parametrize("text", ["", "{", "{}", '{"objects":{}}', '{"objects":{"pages":null}}'])
def test_without_a_list_of_pages_nothing_is_taken_away(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.html").write_text("a")
    assert run(tmp_path, text).returncode != 0
    assert content(tmp_path) == {"a.html": "a"}


def test_hook_watches_the_namespace_of_its_role() -> None:
    hook = yaml.safe_load((FOLDER / "hook.yaml").read_text())["spec"]
    role = next(o for o in yaml.safe_load_all((FOLDER / "rbac.yaml").read_text()) if o["kind"] == "Role")
    assert hook["watch"][0]["namespaces"]["names"] == [role["metadata"]["namespace"]]
