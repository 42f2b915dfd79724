"""The scripts: YAML files of requests. README.md describes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parent / "scripts"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "WATCH")
# The key of a body that is no plain JSON body -> its content type.
BODIES = {
    "body": "application/json",
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
OPTIONS = {"say", "code", "raw", "type", "headers", "as", "save", "until", "served", "ignore", "events", "ends", "cases", "query", "setup"}
OTHER_STEPS = ("compact", "pause")
VARIABLE = re.compile(r"<([a-z][a-z0-9_]*)>")


class Loader(yaml.SafeLoader):
    """Says no to a key that is there twice, and leaves times and the words of YAML 1.1 for booleans alone."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(("timestamp", "bool"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        twice = {str(key) for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"twice: {', '.join(twice)}", node.start_mark)
        return super().construct_mapping(node, deep)


Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))


@dataclass
class Step:
    label: str
    method: str
    path: str
    code: int | None = None  # None: any that tells success
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None  # a JSON value, or str of what is sent as it is
    save: dict[str, str] = field(default_factory=dict)
    until: dict[str, Any] = field(default_factory=dict)
    served: dict[str, str] = field(default_factory=dict)
    ignore: list[str] = field(default_factory=list)
    events: int = 0  # of a watch
    ends: bool = False  # the watch does, by itself
    setup: bool = False


@dataclass
class Script:
    name: str
    about: str
    steps: list[Step]
    namespaced: bool = True
    first: bool = False


def scripts() -> list[Script]:
    return sorted(map(load, sorted(FOLDER.glob("*.yaml"))), key=lambda script: not script.first)


def load(path: Path) -> Script:
    document = yaml.load(path.read_text(), Loader)
    steps: list[Step] = []
    for number, entry in enumerate(document["steps"], 1):
        try:
            steps += expanded(entry)
        except (KeyError, ValueError, TypeError) as error:
            raise ValueError(f"{path}: step {number}: {error}") from error
    seen: dict[str, int] = {}
    for step in steps:
        seen[step.label] = seen.get(step.label, 0) + 1
        if seen[step.label] > 1:
            step.label += f" ({seen[step.label]})"
    unknown = document.keys() - {"about", "steps", "namespaced", "first", "bodies"}
    if unknown:
        raise ValueError(f"{path}: unknown: {unknown}")
    return Script(path.stem, document["about"], steps, document.get("namespaced", True), document.get("first", False))


def expanded(entry: dict[str, Any]) -> Iterator[Step]:
    cases = entry.get("cases")
    if not cases:
        yield _step(entry, "")
        return
    for label, case in cases.items():
        replaced = {"cases", *(METHODS if any(word in case for word in METHODS) else ())}
        common = {key: value for key, value in entry.items() if key not in replaced}
        yield _step({"say": entry.get("say") or _request(entry), **merged(common, case)}, str(label))


def _step(entry: dict[str, Any], case: str) -> Step:
    if len(entry) == 1 and next(iter(entry)) in OTHER_STEPS:
        word, value = next(iter(entry.items()))
        return Step(word, word, str(value), setup=True)
    method = next((word for word in METHODS if word in entry), "")
    if not method:
        raise ValueError(f"none of {', '.join(METHODS)}")
    unknown = entry.keys() - OPTIONS - set(BODIES) - {method}
    if unknown:
        raise ValueError(f"unknown: {', '.join(map(str, unknown))}")
    path = entry[method]
    if "query" in entry:
        path += ("&" if "?" in path else "?") + entry["query"]
    label = entry.get("say") or _request(entry)
    headers = {str(name): str(value) for name, value in entry.get("headers", {}).items()}
    body = entry.get("raw")
    for word, content_type in BODIES.items():
        if word in entry and body is None:
            body = entry[word]
            headers.setdefault("Content-Type", content_type)
    if "type" in entry:
        headers["Content-Type"] = entry["type"]
    elif "raw" in entry:
        headers.setdefault("Content-Type", "application/json")
    if "as" in entry:
        user, *groups = entry["as"].split()
        headers["Impersonate-User"] = user
        if groups:
            headers["Impersonate-Group"] = groups[0]
    return Step(
        label=f"{label}: {case}" if case else label,
        method=method,
        path=path,
        code=entry.get("code"),
        headers=headers,
        body=body,
        save=entry.get("save", {}),
        until=entry.get("until", {}),
        served=entry.get("served", {}),
        ignore=entry.get("ignore", []),
        events=entry.get("events", 0),
        ends=entry.get("ends", False),
        setup=entry.get("setup", False),
    )


def _request(entry: dict[str, Any]) -> str:
    return next(f"{method} {entry[method]}" for method in METHODS if method in entry)


def merged(base: Any, over: Any) -> Any:
    """`over` wins; mappings are merged, and null takes a key away."""
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    result = dict(base)
    for key, value in over.items():
        if value is None and key in base:
            del result[key]
        elif key in base:
            result[key] = merged(base[key], value)
        else:
            result[key] = value
    return result


def filled(value: Any, variables: Mapping[str, str]) -> Any:
    """With <name> replaced everywhere, keys of mappings included. KeyError for a name that is not known."""
    if isinstance(value, str):
        return VARIABLE.sub(lambda match: variables[match[1]], value)
    if isinstance(value, dict):
        return {filled(key, variables): filled(inner, variables) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, variables) for inner in value]
    return value


def encoded(body: Any) -> bytes | None:
    if body is None:
        return None
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def at(value: Any, path: str) -> Any:
    """What is at a dotted path, list indices included; None if nothing is there."""
    for word in path.split(".") if path else []:
        if isinstance(value, dict):
            value = value.get(word)
        elif isinstance(value, list) and word.isdigit() and int(word) < len(value):
            value = value[int(word)]
        else:
            return None
    return value
