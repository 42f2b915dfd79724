#!/usr/bin/python3
"""Include order of the rooms: daemon/README.md's table is the law.

A room includes itself and what its row allows, and what those allow in turn; never upward. daemon/CMakeLists.txt links the
same. A unit test includes its room and what that may use, the fake server (where the room may use net), files beside it, and
those of tests/unit/support that themselves stay within what its room may use.
"""

from __future__ import annotations

import re
from pathlib import Path

from lint import files, line_of, main, read

ROW = re.compile(r"^\|\s*(?P<rooms>[a-z_, ]+?)\s*\|[^|]*\|\s*(?P<uses>[a-z_, ]+?|–|all)\s*\|\s*$", re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"(?P<own>[^"\n]+)"|<(?P<system>[^>\n]+)>)', re.MULTILINE)
LINK = re.compile(r"^hookd_room\((?P<room>\w+)(?P<part>(?:/\w+)?)(?P<links>[^)]*)\)", re.MULTILINE)
TOP = "main.cc"  # puts everything together
SUPPORT = "unit/support/"  # fakes that several rooms' tests share


def table(readme: str) -> dict[str, set[str]]:
    """Room -> rooms it may use, itself and those of those included."""
    direct: dict[str, set[str]] = {}
    for row in ROW.finditer(readme):
        if row["uses"] == "may use":  # the head
            continue
        rooms = [room.strip() for room in row["rooms"].split(",")]
        uses = {"–": set(), "all": set(direct)}.get(row["uses"], {word.strip() for word in row["uses"].split(",")})
        for room in rooms:
            direct[room] = set(uses)
    return closed(direct)


def closed(direct: dict[str, set[str]]) -> dict[str, set[str]]:
    allowed: dict[str, set[str]] = {}
    for room, uses in direct.items():  # the table's order: what a row names stands above it
        unknown = uses - set(allowed)
        if unknown:
            raise ValueError(f"daemon/README.md: {room} may use {', '.join(sorted(unknown))}, which is not above it")
        allowed[room] = {room}.union(*(allowed[use] for use in uses))
    return allowed


def includes(root: Path, file: Path, allowed: dict[str, set[str]], may: set[str], more: tuple[str, ...]) -> list[str]:
    """`more`: other folders below tests/ that may be named."""
    text = read(root, file)
    found = []
    for match in INCLUDE.finditer(text):
        name = match["own"] or match["system"]
        where = f"{file}:{line_of(text, match.start())}"
        room = name.split("/")[0]
        if match["system"]:
            if room in allowed and (root / "daemon" / name).exists():
                found.append(f'{where}: <{name}> is our own: write "{name}"')
        elif ".." in name.split("/"):
            found.append(f'{where}: "{name}": no paths upward; name it from daemon/ or tests/')
        elif "/" not in name:
            if not (root / file.parent / name).exists():
                found.append(f'{where}: "{name}" does not stand beside this file; write ROOM/{name}')
            elif file.parts[0] == "daemon":
                found.append(f'{where}: "{name}": write "{"/".join(file.parts[1:-1] + (name,))}", so that its room is seen')
        elif room in allowed:
            if room not in may:
                found.append(f'{where}: "{name}": this file may use {", ".join(sorted(may))}, not {room}')
        elif not any(name.startswith(folder) for folder in more):
            found.append(f'{where}: "{name}": {room} is no room of daemon/README.md')
    return found


def reach(root: Path, name: str, allowed: dict[str, set[str]], seen: set[str]) -> set[str]:
    """Rooms that a file of tests/unit/support brings in, through others of that folder too."""
    path = root / "tests" / name
    if name in seen or not path.exists():
        return set()
    seen.add(name)
    rooms: set[str] = set()
    for match in INCLUDE.finditer(path.read_text()):
        own = match["own"] or ""
        if own.split("/")[0] in allowed:
            rooms.add(own.split("/")[0])
        elif own.startswith(SUPPORT):
            rooms |= reach(root, own, allowed, seen)
        elif own and "/" not in own:
            rooms |= reach(root, SUPPORT + own, allowed, seen)
    return rooms


def support(root: Path, file: Path, allowed: dict[str, set[str]], may: set[str]) -> list[str]:
    text = read(root, file)
    found = []
    for match in INCLUDE.finditer(text):
        if not (match["own"] or "").startswith(SUPPORT):
            continue
        upward = reach(root, match["own"], allowed, set()) - may
        if upward:
            where = f"{file}:{line_of(text, match.start())}"
            found.append(f'{where}: "{match["own"]}" brings in {", ".join(sorted(upward))}, which this file may not use')
    return found


def links(cmake: str, allowed: dict[str, set[str]]) -> list[str]:
    found = []
    linked: dict[str, set[str]] = {}  # also of the folders inside a room, which are libraries too: "embedded_store"
    for match in LINK.finditer(cmake):
        room = match["room"]
        direct = set(re.findall(r"\bhookd_(\w+)", match["links"])) - {"flags"}
        links_of = {room}.union(*(linked.get(use, set()) for use in direct))
        linked[(room + match["part"]).replace("/", "_")] = links_of
        if room not in allowed:
            found.append(f"daemon/CMakeLists.txt: {room} is no room of daemon/README.md")
        elif match["part"]:
            if links_of - allowed[room]:
                found.append(f"daemon/CMakeLists.txt: {room}{match['part']} links {', '.join(sorted(links_of - allowed[room]))}, which daemon/README.md does not allow")
        elif linked[room] != allowed[room]:
            more, less = linked[room] - allowed[room], allowed[room] - linked[room]
            text = f"daemon/CMakeLists.txt: {room}"
            text += f" links {', '.join(sorted(more))}, which daemon/README.md does not allow" if more else ""
            text += f" does not link {', '.join(sorted(less))}, which daemon/README.md allows" if less else ""
            found.append(text)
    return found


def problems(root: Path) -> list[str]:
    try:
        allowed = table((root / "daemon/README.md").read_text())
    except (OSError, ValueError) as error:
        return [str(error)]
    if len(allowed) < 2:
        return ["daemon/README.md: no table of rooms found (| room | what | may use |)"]
    found = []
    cmake = root / "daemon/CMakeLists.txt"
    if cmake.exists():
        found += links(cmake.read_text(), allowed)
    for file in files(root, "*.cc", "*.h", under=["daemon"]):
        room = file.parts[1]
        if room == TOP:
            found += includes(root, file, allowed, set(allowed), ())
        elif room not in allowed:
            found.append(f"{file}: {room} is no room of daemon/README.md")
        else:
            found += includes(root, file, allowed, allowed[room], ())
    for file in files(root, "*.cc", "*.h", under=["tests"]):
        folder = file.parts[1]
        if folder == "unit" and len(file.parts) > 3:
            room = file.parts[2]
            if room == "support":
                found += includes(root, file, allowed, set(allowed), (SUPPORT, "server/"))
                continue
            if room not in allowed:
                found.append(f"{file}: {room} is no room of daemon/README.md")
                continue
            more = (f"unit/{room}/", SUPPORT) + (("server/",) if "net" in allowed[room] else ())
            found += includes(root, file, allowed, allowed[room], more)
            found += support(root, file, allowed, allowed[room])
        elif folder == "server":
            found += includes(root, file, allowed, allowed.get("net", {"base"}), ("server/",))
        else:  # bench, fuzz: of any room
            found += includes(root, file, allowed, set(allowed), (f"{folder}/", "server/", SUPPORT))
    return found


if __name__ == "__main__":
    main(problems)
