#!/usr/bin/python3
"""Nothing in the repository names a folder of somebody's own machine."""

from __future__ import annotations

import re
from pathlib import Path

from lint import files, line_of, main, read

# Put together from pieces, so that this file does not find itself.
HOMES = ["/" + "work/", "/" + r"root/", "/" + r"home/[a-z]", "/" + r"Users/[A-Za-z]"]
PATH = re.compile(r"(?<![\w.~$)}\]/*-])(?:" + "|".join(HOMES) + r")[^\s\"'`)]*")


def problems(root: Path) -> list[str]:
    found = []
    for file in files(root):
        data = (root / file).read_bytes()
        if b"\0" in data[:4096]:
            continue
        text = read(root, file)
        found += [f"{file}:{line_of(text, match.start())}: {match[0]}: a path of one machine" for match in PATH.finditer(text)]
    return found


if __name__ == "__main__":
    main(problems)
