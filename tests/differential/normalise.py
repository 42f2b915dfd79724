"""What two servers may not agree on - uids, versions, times, drawn names - is given names that they do agree on.

A name tells where the value was seen first ("<uid of 3 metadata.uid>"), so that two answers which mean the same object or
the same version are still told apart from two that do not.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
AGE = re.compile(r"^(\d+[smhdy])+$|^<invalid>$|^(\d+[smhdy])+ ago$")
AGE_COLUMNS = {"Age", "Last Schedule", "Duration", "Last Seen", "First Seen"}
TOKEN = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")
TOKEN_VOLUME = re.compile(r"\bkube-api-access-[a-z0-9]{5}\b")
DRAWN = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}")
CLUSTER_IP = re.compile(r"^10\.96\.\d+\.\d+$")
CERTIFICATES = re.compile(r"(-----BEGIN CERTIFICATE-----\n[\w+/=\n]+-----END CERTIFICATE-----\n?)+")
# Where a message has the number of a version that no object of the script has.
VERSIONS_IN_TEXT = (
    re.compile(r"(resource version: )\d+( \()\d+(\))"),
    re.compile(r"(Too large resource version: )\d+(, current: )\d+"),
    re.compile(r"(current: )\d+"),
    re.compile(r"(ResourceVersion in record \()\d+(\))"),
    re.compile(r'(resourceVersion\\*":\\*")\d+'),
    re.compile(r"(required revision has been compacted.*?)\d+"),
)
VERSION_KEYS = {"resourceVersion", "storageVersionHash"}
KEPT_HEADERS = ("content-type", "warning", "retry-after", "location", "allow", "cache-control", "content-encoding", "www-authenticate")


class Normaliser:
    """One for each script and server. Feed it everything in the order in which it came."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._names: dict[str, str] = {}  # uid, version or drawn name -> what stands for it
        self._times: dict[str, str] = {}
        self._sent: set[str] = set()
        self._versions_sent: set[str] = set()  # a number alone says little: a port may be the version of an early object
        self._stems: list[str] = []  # generateName of what was sent
        self._step = 0
        self._columns: dict[int, Any] = {}  # of the step's Table: in a watch only the first one has them

    def sent(self, text: str) -> None:
        """What the script asked for is no draw of the server, and stays as it is."""
        self._sent.update(re.findall(r"[\w.:-]+", text))
        self._versions_sent.update(re.findall(r"resourceVersion\W+(?:value\W+)?(\d+)", text))
        self._stems += re.findall(r'"generateName": "([^"]+)"', text)

    def headers(self, headers: dict[str, list[str]]) -> dict[str, Any]:
        return {name: [self._text(value, name) for value in headers[name]] for name in KEPT_HEADERS if name in headers}

    def body(self, step: int, value: Any, query: str = "") -> Any:
        """`query`: of the request that this answers."""
        self._step = step
        if isinstance(value, dict):
            self._note_drawn(value)
            value = self._with_list_version(value, query)
            if value.get("type") == "BOOKMARK":
                value = _without_version(value)
        return self._walk(value, "")

    # --- parts ---

    def _name(self, value: str, kind: str, path: str) -> str:
        return self._names.setdefault(value, f"<{kind} of {self._step} {path}>")

    def _note_drawn(self, value: Any) -> None:
        """Names made of generateName, before they appear elsewhere in the same answer."""
        if isinstance(value, list):
            for inner in value:
                self._note_drawn(inner)
        elif isinstance(value, dict):
            metadata = value.get("metadata")
            if isinstance(metadata, dict):
                stem, name = metadata.get("generateName"), metadata.get("name")
                if isinstance(stem, str) and isinstance(name, str) and name[-5:] not in self._sent and name not in self._sent:
                    if name[:-5] == stem[: len(name) - 5] and DRAWN.fullmatch(name[-5:]):
                        self._names.setdefault(name, f"{name[:-5]}<drawn in {self._step}>")
            for inner in value.values():
                self._note_drawn(inner)

    def _with_list_version(self, value: dict[str, Any], query: str) -> dict[str, Any]:
        """A list's version: any number that is not under those of its items, or exactly the one asked for."""
        metadata, items = value.get("metadata"), value.get("items", value.get("rows"))
        if not isinstance(metadata, dict) or not (isinstance(items, list) or str(value.get("kind")).endswith("List")):
            return value
        version = metadata.get("resourceVersion")
        if not isinstance(version, str) or not version.isdigit():
            return value
        objects = [item.get("object", item) for item in items or [] if isinstance(item, dict)]
        versions = [str(at_metadata(item, "resourceVersion")) for item in objects]
        newest = max((int(text) for text in versions if text.isdigit()), default=0)
        if "resourceVersionMatch=Exact" in query and f"resourceVersion={version}" in query:
            told = "<as asked>"
        else:
            told = "<list version>" if int(version) >= newest else "<list version older than an item's>"
        return {**value, "metadata": {**metadata, "resourceVersion": told}}

    def _walk(self, value: Any, path: str) -> Any:
        if isinstance(value, dict):
            if value.get("kind") == "Table" and isinstance(value.get("rows"), list):
                columns = value.get("columnDefinitions") or self._columns.get(self._step) or []
                self._columns[self._step] = columns
                value = _without_ages(value, columns)
            if value.get("kind") == "Status":
                value = _with_sorted_causes(value)
            return {self._text(key, "key"): self._walk(value[key], f"{path}.{key}" if path else key) for key in sorted(value)}
        if isinstance(value, list):
            if path.endswith("managedFields"):
                value = sorted(value, key=lambda entry: [str(entry.get(key)) for key in ("manager", "operation", "apiVersion", "subresource")])
            return [self._walk(inner, f"{path}.{index}" if path else str(index)) for index, inner in enumerate(value)]
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, int) and not isinstance(value, bool) and str(value) not in self._sent:
            key = path.rsplit(".", 1)[-1]
            if key in ("nodePort", "healthCheckNodePort") and 30000 <= value <= 32767:
                return "<node port>"
        return value

    def _text(self, text: str, path: str) -> str:
        key = path.rsplit(".", 1)[-1]
        if text in self._names:
            return self._names[text]
        if key in VERSION_KEYS and text.isdigit() and text not in self._versions_sent and text != "0":
            return self._name(text, "version", path)
        if key == "continue" and text:
            return "<continue>"
        if CLUSTER_IP.match(text) and text not in self._sent:
            return "<cluster IP>"
        text = TIME.sub(lambda match: self._time(match[0]), text)
        text = UUID.sub(lambda match: self._name(match[0], "uid", path), text)
        text = TOKEN.sub("<token>", text)
        text = CERTIFICATES.sub("<certificates>", text)
        text = TOKEN_VOLUME.sub("kube-api-access-<drawn>", text)
        if key in ("message", "warning", "reason"):
            for pattern in VERSIONS_IN_TEXT:
                text = pattern.sub(lambda match: "".join(group + "<version>" if group != ")" else ")" for group in match.groups()), text)
        for value, name in self._names.items():
            if not value.isdigit() and value in text:
                text = text.replace(value, name)
        for stem in self._stems:
            text = re.sub(re.escape(stem) + DRAWN.pattern + r"\b", f"{stem}<drawn>", text)
        return text

    def _time(self, text: str) -> str:
        """Times near now: past ones are alike, coming ones say after how many seconds, rounded. Others stay."""
        if text not in self._times:
            digits = "" if "." not in text else f" with {len(text.split('.')[1]) - 1} digits"
            moment = datetime.strptime(text.split(".")[0].rstrip("Z"), "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
            ahead = moment.timestamp() - self._clock()
            if text in self._sent or abs(ahead) > 7 * 86400:
                self._times[text] = text
            elif ahead <= 5:
                self._times[text] = f"<time{digits}>"
            else:
                self._times[text] = f"<time in {round(ahead / 10) * 10} s{digits}>"
        return self._times[text]


def at_metadata(item: Any, key: str) -> Any:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    return metadata.get(key) if isinstance(metadata, dict) else None


def _without_version(bookmark: Any) -> Any:
    """Of a bookmark, also of one that is a Table of one row: where the server is by now, whatever wrote there."""
    if isinstance(bookmark, list):
        return [_without_version(inner) for inner in bookmark]
    if not isinstance(bookmark, dict):
        return bookmark
    return {
        key: "<version of now>" if key == "resourceVersion" and isinstance(inner, str) and inner.isdigit() else _without_version(inner)
        for key, inner in bookmark.items()
    }


def _without_ages(table: dict[str, Any], columns: list[dict[str, Any]]) -> dict[str, Any]:
    dates = [column.get("name") in AGE_COLUMNS or column.get("type") == "date" for column in columns]
    rows = []
    for row in table["rows"]:
        if isinstance(row, dict) and isinstance(row.get("cells"), list):
            cells = [
                "<age>" if index < len(dates) and dates[index] and isinstance(cell, str) and AGE.match(cell) else cell
                for index, cell in enumerate(row["cells"])
            ]
            row = {**row, "cells": cells}
        rows.append(row)
    return {**table, "rows": rows}


def _with_sorted_causes(status: dict[str, Any]) -> dict[str, Any]:
    """Several errors of one object are in the order of a hash map, some are there twice: each once, in order of their text."""
    details, message = status.get("details"), status.get("message")
    causes = details.get("causes") if isinstance(details, dict) else None
    if not isinstance(causes, list) or len(causes) < 2 or not isinstance(message, str):
        return status
    unique = {tuple(str(cause.get(key)) for key in ("field", "message", "reason")): cause for cause in causes}
    causes = [unique[key] for key in sorted(unique)]
    if len(causes) == 1:
        return {**status, "details": {**details, "causes": causes}}
    texts = {f"{cause.get('field')}: {cause.get('message')}" for cause in causes}
    if all(text in message for text in texts):
        rest = message
        for text in sorted(texts, key=len, reverse=True):
            rest = rest.replace(text, "")
        message = f"{rest.rstrip(', []')} [{', '.join(sorted(texts))}]"
    return {**status, "details": {**details, "causes": causes}, "message": message}
