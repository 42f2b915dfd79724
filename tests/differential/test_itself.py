"""The comparison finds what differs, and only that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from both import plain
from compare import Accepted, Difference, differences, only_served, without
from normalise import Normaliser
from script import Loader, Step, expanded, filled, load, merged

NOW = 1_700_000_000.0  # 2023-11-14T22:13:20Z
UIDS = [f"0000000{number}-0000-4000-8000-000000000000" for number in range(5)]


def normaliser() -> Normaliser:
    return Normaliser(lambda: NOW)


def config_map(uid: str, version: str, **more: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"uid": uid, "resourceVersion": version, "creationTimestamp": "2023-11-14T22:13:20Z"}, **more}


def played(*bodies: Any, sent: str = "") -> list[Any]:
    one = normaliser()
    one.sent(sent)
    return [one.body(number, body) for number, body in enumerate(bodies)]


# --- normalisation ---


def test_the_same_story_with_other_uids_and_versions_is_the_same() -> None:
    assert played(config_map(UIDS[1], "10"), config_map(UIDS[1], "12")) == played(config_map(UIDS[2], "7"), config_map(UIDS[2], "8"))


def test_a_write_that_changed_nothing_differs_from_one_that_did() -> None:
    assert played(config_map(UIDS[1], "10"), config_map(UIDS[1], "10")) != played(config_map(UIDS[1], "10"), config_map(UIDS[1], "11"))


def test_another_object_differs_from_the_same_object() -> None:
    assert played(config_map(UIDS[1], "10"), config_map(UIDS[1], "11")) != played(config_map(UIDS[1], "10"), config_map(UIDS[2], "11"))


def test_a_uid_that_is_told_in_a_message_is_the_one_of_the_object() -> None:
    first, second = (played(config_map(uid, "10"), {"kind": "Status", "message": f"has {uid}"}) for uid in UIDS[:2])
    assert first == second
    assert first != played(config_map(UIDS[1], "10"), {"kind": "Status", "message": f"has {UIDS[2]}"})


def test_times_near_now_are_alike_and_coming_ones_say_how_far() -> None:
    bodies: list[Any] = ["2023-11-14T22:13:18Z", "2023-11-14T22:13:51Z", "2023-11-14T22:13:20.123456Z", "2001-01-01T00:00:00Z"]
    assert played(bodies) == [["<time>", "<time in 30 s>", "<time with 6 digits>", "2001-01-01T00:00:00Z"]]


def test_a_time_that_the_script_sent_stays() -> None:
    assert played("2023-11-14T22:13:18Z", sent='"2023-11-14T22:13:18Z"') == ["2023-11-14T22:13:18Z"]


def test_drawn_names_are_known_again_wherever_they_are() -> None:
    made = [{"metadata": {"generateName": "a-", "name": f"a-{drawn}"}} for drawn in ("x2b4c", "zzzzz")]
    assert made[0] != made[1]
    first, second = (played(one, f"{one['metadata']['name']} is there") for one in made)
    assert first == second
    assert first[1] != "a-x2b4c is there"


def test_a_name_that_is_no_draw_stays() -> None:
    assert played({"metadata": {"generateName": "a-", "name": "given"}})[0]["metadata"]["name"] == "given"


def test_the_version_of_a_list_may_not_be_older_than_its_items() -> None:
    def listed(version: str) -> Any:
        return {"kind": "ConfigMapList", "metadata": {"resourceVersion": version}, "items": [config_map(UIDS[1], "10")]}

    assert played(listed("10")) == played(listed("99"))
    assert played(listed("9")) != played(listed("99"))


def test_a_list_of_an_exact_version_tells_that_version() -> None:
    body = {"kind": "ConfigMapList", "metadata": {"resourceVersion": "10"}, "items": []}
    query = "resourceVersion=10&resourceVersionMatch=Exact"
    assert normaliser().body(0, body, query) != normaliser().body(0, {**body, "metadata": {"resourceVersion": "11"}}, query)


def test_managers_are_in_one_order_whatever_the_second() -> None:
    entries = [{"manager": name, "operation": "Update", "time": "2023-11-14T22:13:20Z"} for name in "ab"]
    assert played({"managedFields": entries}) == played({"managedFields": entries[::-1]})
    assert played({"managedFields": entries}) != played({"managedFields": entries[:1]})


def test_errors_of_one_object_are_in_one_order() -> None:
    causes = [{"field": field, "message": f"Required value: {field}", "reason": "FieldValueRequired"} for field in ("a", "b")]

    def status(order: list[Any]) -> Any:
        text = ", ".join(f"{cause['field']}: {cause['message']}" for cause in order)
        return {"kind": "Status", "message": f'X "y" is invalid: [{text}]', "details": {"causes": order}}

    assert played(status(causes)) == played(status(causes[::-1]))
    assert played(status(causes)) != played(status(causes[:1]))
    twice = status(causes[:1])
    twice["details"]["causes"] = causes[:1] * 2
    assert played(twice) == played(status(causes[:1]))
    other = status(causes[::-1])
    other["message"] += "!"
    assert played(status(causes)) != played(other)


def test_ages_in_tables_are_alike_and_other_cells_are_not() -> None:
    def table(age: str, name: str = "a") -> Any:
        return {"kind": "Table", "columnDefinitions": [{"name": "Name"}, {"name": "Age"}], "rows": [{"cells": [name, age]}]}

    assert played(table("5s")) == played(table("2m3s"))
    assert played(table("5s")) != played(table("<unknown>"))
    assert played(table("5s", "5s")) != played(table("5s", "6s"))


def test_later_tables_of_a_watch_have_the_columns_of_the_first() -> None:
    def told(age: str) -> Any:
        one = normaliser()
        one.body(3, {"kind": "Table", "columnDefinitions": [{"name": "Age"}], "rows": []})
        return one.body(3, {"kind": "Table", "columnDefinitions": None, "rows": [{"cells": [age]}]})

    assert told("1s") == told("2s")


def test_bookmarks_tell_any_version() -> None:
    def bookmark(version: str) -> Any:
        return {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": version}}}

    assert played(bookmark("5")) == played(bookmark("6"))
    assert played(bookmark("5")) != played(bookmark(""))


def test_only_headers_that_matter_are_kept() -> None:
    headers = normaliser().headers({"date": ["x"], "content-type": ["application/json"], "warning": ['299 - "a"', '299 - "b"']})
    assert headers == {"content-type": ["application/json"], "warning": ['299 - "a"', '299 - "b"']}


# --- differences ---


def paths(real: Any, other: Any) -> list[str]:
    return [found.path for found in differences("s", "t", "body", real, other)]


@pytest.mark.parametrize(
    ("real", "other", "wanted"),
    [
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}, []),
        ({"a": 1}, {"a": 2}, ["body.a"]),
        ({"a": 1}, {}, ["body.a"]),
        ({}, {"a": None}, ["body.a"]),
        ([1, 2], [1], ["body.1"]),
        ({"a": {"b": [0]}}, {"a": {"b": [1]}}, ["body.a.b.0"]),
        (1, True, ["body"]),
        (1, 1.0, ["body"]),
        ("1", 1, ["body"]),
        ({}, [], ["body"]),
        ("", None, ["body"]),
    ],
)
def test_differences_name_the_path(real: Any, other: Any, wanted: list[str]) -> None:
    assert paths(real, other) == wanted


def test_only_what_the_other_serves_is_compared() -> None:
    real = {"groups": [{"name": "a", "versions": [{"v": "1"}, {"v": "2"}]}, {"name": "b", "versions": []}]}
    other = {"groups": [{"name": "a", "versions": [{"v": "2"}]}]}
    assert only_served(real, other, {"groups": "name", "groups.versions": "v"}) == other
    assert only_served(other, real, {"groups": "name", "groups.versions": "v"}) == other != real


def test_ignored_paths_go() -> None:
    assert without({"a": [{"b": 1, "c": 2}, {"b": 3}], "d": 4}, "a.*.b") == {"a": [{"c": 2}, {}], "d": 4}
    assert without({"a": 1}, "*") is without("text", "*") is None


def accepted(tmp_path: Path, *entries: dict[str, str]) -> Accepted:
    file = tmp_path / "differences.yaml"
    file.write_text(yaml.safe_dump(list(entries)))
    return Accepted(file)


ENTRY = {"script": "s", "step": "make *", "path": "body.*.x", "reason": "because"}
FOUND = Difference("s", "make a", "body.spec.x", "1", "2")


def test_accepted_differences_are_taken(tmp_path: Path) -> None:
    list_ = accepted(tmp_path, ENTRY)
    assert list_.take([FOUND]) == []
    assert list_.unseen("s") == []


@pytest.mark.parametrize("change", [{"script": "other"}, {"step": "take *"}, {"path": "body.*.y"}, {"path": "body.x"}])
def test_others_are_not(tmp_path: Path, change: dict[str, str]) -> None:
    list_ = accepted(tmp_path, {**ENTRY, **change})
    assert list_.take([FOUND]) == [FOUND]


def test_an_accepted_difference_that_does_not_occur_is_told(tmp_path: Path) -> None:
    list_ = accepted(tmp_path, ENTRY)
    assert list_.take([]) == []
    assert list_.unseen("s") == ["make *: body.*.x (because)"]


def test_an_entry_needs_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="reason"):
        accepted(tmp_path, {**ENTRY, "reason": ""})


# --- scripts ---


def steps(text: str) -> list[Step]:
    return list(expanded(yaml.load(text, Loader)))


def test_cases_are_steps_of_their_own() -> None:
    first, second = steps("{POST: /x, body: {a: {b: 1, c: 2}}, cases: {one: {body: {a: {b: 3}}, query: q=1}, two: {DELETE: /y, code: 404}}}")
    assert (first.label, first.method, first.path, first.body) == ("POST /x: one", "POST", "/x?q=1", {"a": {"b": 3, "c": 2}})
    assert (second.label, second.method, second.path, second.code) == ("POST /x: two", "DELETE", "/y", 404)


def test_the_kind_of_body_tells_the_content_type() -> None:
    kinds = {word: steps(f"{{PATCH: /x, {word}: {{}}}}")[0].headers["Content-Type"] for word in ("json", "merge", "strategic", "apply", "body")}
    assert kinds["merge"] == "application/merge-patch+json" and kinds["apply"] == "application/apply-patch+yaml"
    assert len(set(kinds.values())) == 5


@pytest.mark.parametrize("text", ["{GETT: /x}", "{GET: /x, codes: 3}", "{say: nothing}"])
def test_a_wrong_step_is_told(text: str) -> None:
    with pytest.raises(ValueError):
        steps(text)


def test_a_key_twice_is_told() -> None:
    with pytest.raises(yaml.YAMLError, match="twice: a"):
        yaml.load("{a: 1, a: 2}", Loader)


def test_words_that_yaml_would_change_stay() -> None:
    assert yaml.load("[on, no, n, 2024-05-06, 2024-05-06T07:08:09Z, true]", Loader) == ["on", "no", "n", "2024-05-06", "2024-05-06T07:08:09Z", True]


def test_merging_takes_null_away() -> None:
    assert merged({"a": 1, "b": {"c": 1}}, {"a": None, "b": {"c": 2}, "d": None}) == {"b": {"c": 2}, "d": None}


def test_variables_are_filled_in_everywhere() -> None:
    assert filled({"<a>": ["x<a>", 5]}, {"a": "1"}) == {"1": ["x1", 5]}
    with pytest.raises(KeyError):
        filled("<unknown>", {})


def test_steps_of_one_label_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("about: x\nsteps: [{GET: /x}, {GET: /x}]\n")
    assert [step.label for step in load(file).steps] == ["GET /x", "GET /x (2)"]


# --- kubectl's text ---


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a   1/1   Running   5m3s\n", "a  1/1  Running  <age>\n"),
        ("app-5s  x:2m\n", "app-5s  x:2m\n"),
        ('  resourceVersion: "12"\n', '  resourceVersion: "<version>"\n'),
        ('"resourceVersion": "12",\n', '"resourceVersion": "<version>",\n'),
        ("is running at https://127.0.0.1:4321\n", "is running at <server>\n"),
    ],
)
def test_text_is_made_plain(text: str, wanted: str) -> None:
    assert plain(text) == wanted
