#!/usr/bin/python3
"""Files stay short enough to be read: over 400 lines is told, over 800 (tests: 1000) fails."""

from __future__ import annotations

import sys
from pathlib import Path

from lint import files, main, read

SOFT, HARD, HARD_TESTS = 400, 800, 1000
KINDS = ("*.cc", "*.h", "*.py", "*.sh", "CMakeLists.txt")


def lengths(root: Path) -> list[tuple[int, Path]]:
    found = files(root, *KINDS, under=["daemon", "tests", "hooks-examples", "deploy", ".ci"])
    return sorted(((len(read(root, file).splitlines()), file) for file in found), reverse=True)


def limit(file: Path) -> int:
    return HARD_TESTS if file.parts[0] == "tests" else HARD


def problems(root: Path) -> list[str]:
    return [f"{file}: {length} lines, at most {limit(file)}: split it" for length, file in lengths(root) if length > limit(file)]


def notes(root: Path) -> list[str]:
    return [f"note: {file}: {length} lines, aim at under {SOFT}" for length, file in lengths(root) if SOFT < length <= limit(file)]


if __name__ == "__main__":
    if len(sys.argv) == 1:
        for note in notes(Path(__file__).resolve().parents[2]):
            print(note)
    main(problems)
