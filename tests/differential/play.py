"""Runs a script on one server, and compares what two servers said."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from compare import Difference, differences, only_served, without
from normalise import Normaliser
from process import wait_for
from script import Script, Step, at, encoded, filled
from servers import Answer, Server, Watch

UNTIL = 30.0  # seconds in which a condition must come true
EVENTS = 8.0  # seconds in which a watch must see its events
QUIET = 0.25  # seconds without a further event after the last that was expected


@dataclass
class Seen:
    """What came of one step, normalised. `code` None: it was not sent, for want of a variable."""

    step: Step
    code: int | None
    headers: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    events: list[Any] | None = None
    problem: str = ""  # what is wrong with the script, if this is the real server


def run(script: Script, server: Server) -> list[Seen]:
    return _Run(script, server).run()


def run_on_both(script: Script, real: Server, other: Server) -> tuple[list[Seen], list[Seen]]:
    first, second = (server.thread.submit(run, script, server) for server in (real, other))
    return first.result(), second.result()


def make_namespace(server: Server, name: str) -> None:
    """With what controllers put there. Pods get no token volume: the name of that is drawn."""
    post, patch = ({"Content-Type": f"application/{kind}json"} for kind in ("", "merge-patch+"))
    answer = server.request("POST", "/api/v1/namespaces", post, json.dumps({"metadata": {"name": name}}).encode())
    if answer.code != 201:
        raise RuntimeError(f"{server.name}: namespace {name}: {answer.code}: {answer.body}")
    for path in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
        path = f"/api/v1/namespaces/{name}/{path}"
        wait_for(lambda: server.request("GET", path, {}).code == 200, 30, f"{path} of {server.name}", server.check_alive, 0.02)
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    answer = server.request("PATCH", account, patch, b'{"automountServiceAccountToken": false}')
    if answer.code != 200:
        raise RuntimeError(f"{server.name}: {account}: {answer.code}: {answer.body}")


class _Run:
    def __init__(self, script: Script, server: Server) -> None:
        self._script, self._server = script, server
        self._normaliser = Normaliser()
        self._seen: list[Seen] = []
        self._watches: list[tuple[int, Watch]] = []
        ns = script.name
        self._variables = {
            "ns": ns,
            "core": f"/api/v1/namespaces/{ns}",
            **{
                group.split(".")[0]: f"/apis/{group}/v1/namespaces/{ns}"
                for group in ("apps", "batch", "policy", "coordination.k8s.io", "networking.k8s.io", "rbac.authorization.k8s.io", "events.k8s.io")
            },
            "autoscaling": f"/apis/autoscaling/v2/namespaces/{ns}",
            "long63": "a" * 63,
            "long64": "a" * 64,
            "long253": ".".join(["a" * 63] * 3) + "." + "a" * 61,
            "long254": ".".join(["a" * 63] * 3) + "." + "a" * 62,
            "big": "x" * 1100000,
            "huge": "x" * (3 * 1024 * 1024 + 1000),
        }

    def run(self) -> list[Seen]:
        if self._script.namespaced:
            make_namespace(self._server, self._script.name)
        try:
            for number, step in enumerate(self._script.steps):
                self._seen.append(self._step(number, step))
            for number, watch in self._watches:
                self._collect(number, watch)
        finally:
            for _, watch in self._watches:
                watch.close()
        return self._seen

    def _step(self, number: int, step: Step) -> Seen:
        if step.method == "compact":
            self._server.compact()
            return Seen(step, 0)
        if step.method == "pause":
            time.sleep(float(step.path))
            return Seen(step, 0)
        try:
            path, headers, body = (filled(value, self._variables) for value in (step.path, step.headers, step.body))
        except KeyError as missing:
            return Seen(step, None, problem=f"nothing was saved as <{missing.args[0]}>")
        self._normaliser.sent(f"{path} {json.dumps(body)}")
        if step.method == "WATCH":
            return self._watch(number, step, path, headers)
        answer = self._server.request(step.method, path, headers, encoded(body))
        deadline = time.monotonic() + UNTIL
        while step.until and not _holds(step.until, answer) and time.monotonic() < deadline:
            time.sleep(0.05)
            answer = self._server.request(step.method, path, headers, encoded(body))
        seen = self._normalised(number, step, path, answer)
        if step.until and not _holds(step.until, answer):
            seen.problem = f"not so after {UNTIL:g} s: {step.until}; last: {answer.code} {str(answer.body)[:300]}"
        for name, where in step.save.items():
            value = at(answer.body, where)
            if value is None:
                seen.problem = seen.problem or f"nothing at {where} to save as <{name}>"
            else:
                self._variables[name] = str(value)
        return seen

    def _normalised(self, number: int, step: Step, path: str, answer: Answer) -> Seen:
        body = self._normaliser.body(number, answer.body, path.partition("?")[2])
        seen = Seen(step, answer.code, self._normaliser.headers(answer.headers), body)
        for pattern in step.ignore:
            seen.body = without(seen.body, pattern)
        if step.code is None and not step.until and not 200 <= answer.code < 300 or step.code not in (None, answer.code):
            seen.problem = f"answered {answer.code}, expected {step.code or 'success'}: {message(answer.body)}"
        return seen

    def _watch(self, number: int, step: Step, path: str, headers: dict[str, str]) -> Seen:
        time.sleep(0.1)  # a watch "from anything" may begin in the past of a cache: let that catch up with what was written
        watch = self._server.watch(path + ("&" if "?" in path else "?") + "watch=true", headers)
        self._watches.append((number, watch))
        seen = self._normalised(number, step, path, watch.answer)
        if watch.answer.code == 200:
            seen.events = []
        return seen

    def _collect(self, number: int, watch: Watch) -> None:
        seen = self._seen[number]
        if seen.events is None:
            return
        deadline = time.monotonic() + EVENTS
        while len(_told(watch.events)) < seen.step.events and not watch.ended and time.monotonic() < deadline:
            time.sleep(0.02)
        while (seen.step.ends or time.monotonic() - watch.changed < QUIET) and not watch.ended and time.monotonic() < deadline:
            time.sleep(0.02)
        events = _told(watch.events)
        if len(events) != seen.step.events:
            seen.problem = f"{len(events)} events, expected {seen.step.events}"
        seen.events = [self._normaliser.body(number, event) for event in events]
        if seen.step.ends:
            seen.events.append("end" if watch.ended else "no end")
            if not watch.ended:
                seen.problem = f"did not end within {EVENTS:g} s"
        for pattern in seen.step.ignore:
            seen.events = [without(event, pattern) for event in seen.events]


def _told(events: Iterable[Any]) -> list[Any]:
    """Without the bookmarks that come by the clock; the one that ends the initial events stays."""
    return [
        event
        for event in list(events)
        if not (isinstance(event, dict) and event.get("type") == "BOOKMARK" and not _ends_initial_events(event.get("object")))
    ]


def _ends_initial_events(object: Any) -> bool:
    """Of an object, or of a Table of one row."""
    found = at(object, "metadata.annotations") or at(object, "rows.0.object.metadata.annotations")
    return isinstance(found, dict) and found.get("k8s.io/initial-events-end") == "true"


def _holds(conditions: dict[str, Any], answer: Answer) -> bool:
    return all((answer.code if path == "code" else at(answer.body, path)) == wanted for path, wanted in conditions.items())


def message(body: Any) -> str:
    return str(body.get("message", body) if isinstance(body, dict) else body)[:300]


def compared(script: Script, real: list[Seen], other: list[Seen]) -> list[Difference]:
    found: list[Difference] = []
    for one, two in zip(real, other, strict=True):
        label = one.step.label
        if one.step.method in ("compact", "pause"):
            continue
        if two.code is None:
            found.append(Difference(script.name, label, "sent", "sent", two.problem))
            continue
        found += differences(script.name, label, "code", one.code, two.code)
        found += differences(script.name, label, "headers", one.headers, two.headers)
        found += differences(script.name, label, "body", only_served(one.body, two.body, one.step.served), two.body)
        if one.events is not None and two.events is not None:
            found += differences(script.name, label, "events", one.events, two.events)
    return found


def told(script: Script, found: list[Difference]) -> str:
    """For people: each step that differs with its request, then where."""
    requests = {step.label: step for step in script.steps}
    lines, last = [], ""
    for difference in found:
        if difference.step != last:
            last = difference.step
            step = requests[last]
            number = script.steps.index(step) + 1
            body = "" if step.body is None else f"  {json.dumps(step.body)[:200]}"
            lines.append(f"{script.name} step {number}: {last}\n  {step.method} {step.path}{body}")
        lines.append(str(difference))
    return "\n".join(lines)
