"""Differences of two answers, and those that are accepted."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ACCEPTED = Path(__file__).resolve().parent / "differences.yaml"
ABSENT = object()


@dataclass(frozen=True)
class Difference:
    script: str
    step: str
    path: str  # dotted, from "code", "headers", "body" or "events"
    real: str
    other: str

    def __str__(self) -> str:
        return f"  {self.path}\n    real:  {self.real}\n    other: {self.other}"


def differences(script: str, step: str, path: str, real: Any, other: Any) -> list[Difference]:
    if isinstance(real, dict) and isinstance(other, dict):
        found = []
        for key in sorted(real.keys() | other.keys()):
            found += differences(script, step, f"{path}.{key}", real.get(key, ABSENT), other.get(key, ABSENT))
        return found
    if isinstance(real, list) and isinstance(other, list):
        found = []
        for index in range(max(len(real), len(other))):
            values = (items[index] if index < len(items) else ABSENT for items in (real, other))
            found += differences(script, step, f"{path}.{index}", *values)
        return found
    if type(real) is type(other) and real == other:
        return []
    if isinstance(real, str) and isinstance(other, str):
        common = len(os.path.commonprefix([real, other]))
        if common > 200:  # far into a long text: from shortly before the place
            real, other = (f"...{text[common - 60 :]}" for text in (real, other))
    return [Difference(script, step, path, shown(real), shown(other))]


def shown(value: Any) -> str:
    if value is ABSENT:
        return "(absent)"
    text = value if isinstance(value, str) and "\n" not in value else json.dumps(value, sort_keys=True)
    return text if len(text) <= 400 else f"{text[:400]}... ({len(text)} characters)"


def only_served(real: Any, other: Any, served: dict[str, str]) -> Any:
    """`real` without those items of lists that `other` does not have. `served`: path of a list -> what names its items.

    The path goes through lists: "items.versions.resources" are the resources of all versions of all items.
    """
    for path, key in sorted(served.items()):
        real = _only_served(real, other, path.split("."), key)
    return real


def _only_served(real: Any, other: Any, words: list[str], key: str) -> Any:
    if isinstance(real, list) and isinstance(other, list):  # on the way: items were matched by an earlier, shorter path
        return [_only_served(one, two, words, key) for one, two in zip(real, other)]
    if not isinstance(real, dict) or not isinstance(other, dict) or words[0] not in real:
        return real
    inner, theirs = real[words[0]], other.get(words[0])
    if len(words) > 1:
        inner = _only_served(inner, theirs, words[1:], key)
    elif isinstance(inner, list) and isinstance(theirs, list):
        names = [_named(item, key) for item in theirs]
        inner = [item for item in inner if _named(item, key) in names]
    return {**real, words[0]: inner}


def _named(item: Any, key: str) -> Any:
    for word in key.split("."):
        item = item.get(word) if isinstance(item, dict) else item
    return item


def without(value: Any, pattern: str) -> Any:
    """Without what is at a dotted path, in which * stands for any one word; the pattern * alone takes all."""
    return None if pattern == "*" else _without(value, pattern.split("."))


def _without(value: Any, words: list[str]) -> Any:
    first, rest = words[0], words[1:]
    if isinstance(value, dict):
        hit = [key for key in value if first in ("*", key)]
        if not rest:
            return {key: inner for key, inner in value.items() if key not in hit}
        return {key: _without(inner, rest) if key in hit else inner for key, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, rest) if first in ("*", str(index)) and rest else inner for index, inner in enumerate(value)]
    return value


class Accepted:
    """The differences that are known and have a reason. Each must occur, or the list is wrong."""

    def __init__(self, path: Path = ACCEPTED) -> None:
        entries = yaml.safe_load(path.read_text()) or [] if path.exists() else []
        self._entries: list[dict[str, str]] = entries
        self._seen: set[int] = set()
        for number, entry in enumerate(entries, 1):
            if entry.keys() != {"script", "step", "path", "reason"} or not all(isinstance(value, str) and value for value in entry.values()):
                raise ValueError(f"{path}: entry {number} needs script, step, path and reason, all text")

    def take(self, found: list[Difference]) -> list[Difference]:
        """Those that are not accepted."""
        left = []
        for difference in found:
            numbers = [number for number, entry in enumerate(self._entries) if matches(entry, difference)]
            self._seen.update(numbers)
            if not numbers:
                left.append(difference)
        return left

    def unseen(self, script: str) -> list[str]:
        """Entries of that script ("*": those of any script) that no difference needed."""
        return [
            f"{entry['step']}: {entry['path']} ({entry['reason']})"
            for number, entry in enumerate(self._entries)
            if entry["script"] == script and number not in self._seen
        ]


def matches(entry: dict[str, str], difference: Difference) -> bool:
    return all(_glob(entry[key], getattr(difference, key)) for key in ("script", "step", "path"))


def _glob(pattern: str, text: str) -> bool:
    """* stands for any text, also for none; every other character for itself."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
