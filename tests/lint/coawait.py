#!/usr/bin/python3
"""No capturing lambda and no braced aggregate in a full expression with co_await: gcc 12 destroys such temporaries twice.

Name it in a statement of its own and std::move it in. A lambda without captures is fine; so is what stands in a lambda's body.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from lint import bare_code, files, line_of, main, read

AWAIT = re.compile(r"co_await\b")
BLOCK = re.compile(r"\)\s*$|\b(?:else|do|try|const|noexcept|override)\s*$")
LAMBDA = re.compile(r"\[(?P<captures>[^\[\]]*)\]\s*(?:<[^<>]*>\s*)?(?:\((?:[^()]|\([^()]*\))*\)\s*)?(?:mutable\s*|noexcept\s*)*(?:->\s*[^;{}()]*)?$")


@dataclass
class Statement:
    """What is known of the statement that is being read, at one level of braces."""

    start: int
    parens: int = 0
    waits: int = -1  # where its co_await stands
    bad: list[tuple[int, str]] = field(default_factory=list)  # braces in it
    inside: bool = False  # an open brace is a part of this statement


def scan(text: str) -> list[tuple[int, str]]:
    """(position, what) of each offence."""
    code = bare_code(text)
    found: list[tuple[int, str]] = []
    levels = [Statement(0)]

    def finish(next_start: int) -> None:
        statement = levels[-1]
        if statement.waits >= 0:
            found.extend(statement.bad)
        levels[-1] = Statement(next_start)

    for position, c in enumerate(code):
        now = levels[-1]
        if c in "([":
            now.parens += 1
        elif c in ")]":
            now.parens -= 1
        elif c == "c" and AWAIT.match(code, position) and not (code[position - 1].isalnum() or code[position - 1] == "_"):
            now.waits = position
        elif c == "{":
            before = code[now.start : position]
            match = LAMBDA.search(before)
            if match and re.search(r"[\w)\]]\s*$", before[: match.start()]) and not re.search(r"\breturn\s*$", before[: match.start()]):
                match = None  # a subscript
            if match:
                now.inside = True
                if match["captures"].strip():
                    now.bad.append((position, "a capturing lambda"))
            elif now.parens > 0 or not (BLOCK.search(before) or "=" not in before and now.waits < 0):
                now.inside = True
                now.bad.append((position, "a braced aggregate"))
            else:  # a block: what stood before it is a statement of its own
                finish(position + 1)
            levels.append(Statement(position + 1))
        elif c == "}":
            finish(position + 1)
            if len(levels) > 1:
                levels.pop()
            if levels[-1].inside:
                levels[-1].inside = False
            else:
                finish(position + 1)
        elif c == ";" and now.parens <= 0:
            finish(position + 1)
    finish(len(code))
    return sorted(found)


def problems(root: Path) -> list[str]:
    found = []
    for file in files(root, "*.cc", "*.h", under=["daemon", "tests"]):
        text = read(root, file)
        if "co_await" in text:
            found += [f"{file}:{line_of(text, at)}: {what} in a co_await expression: give it a name first" for at, what in scan(text)]
    return found


if __name__ == "__main__":
    main(problems)
