"""What the checks in this folder share: which files there are, C++ without comments and texts, and how to end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

SKIPPED = {"build", ".git", "__pycache__", ".pytest_cache"}


def files(root: Path, *patterns: str, under: Iterable[str] = (".",)) -> list[Path]:
    """Those that belong to the repository (or, outside of git, all), relative to root, sorted."""
    try:
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=True
        ).stdout.decode()
        known = [Path(name) for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        known = []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in SKIPPED]
            known += [(Path(folder) / name).relative_to(root) for name in names]
    wanted = [Path(folder) for folder in under]
    return sorted(
        file
        for file in set(known)
        if (root / file).is_file()
        and (not patterns or any(file.match(pattern) for pattern in patterns))
        and any(folder == Path(".") or folder in file.parents for folder in wanted)
    )


def read(root: Path, file: Path) -> str:
    """As text; bytes that are none become U+FFFD."""
    return (root / file).read_bytes().decode(errors="replace")


TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<end>[^\s()\\]{0,16})\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'""", re.DOTALL
)


def bare_code(text: str) -> str:
    """C++ with comments and texts blanked, every character in its place."""

    def blank(match: re.Match[str]) -> str:
        return "".join(c if c == "\n" else " " for c in match[0])

    return TOKEN.sub(blank, text)


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def main(problems: Callable[[Path], list[str]]) -> None:
    """`--root DIR` checks another folder than this repository. Exit code 1: something was found."""
    arguments = sys.argv[1:]
    root = Path(arguments[1]).resolve() if arguments[:1] == ["--root"] and len(arguments) == 2 else Path(__file__).resolve().parents[2]
    found = problems(root)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
