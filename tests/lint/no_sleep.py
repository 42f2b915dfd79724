#!/usr/bin/python3
"""C++ tests wait for what they want to see, not for time; and none of them is switched off."""

from __future__ import annotations

import re
from pathlib import Path

from lint import bare_code, files, line_of, main, read

SLEEP = re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep|sleep)\s*\(")
OFF = re.compile(r"\bDISABLED_\w+|\bGTEST_SKIP\b")
REASON = {SLEEP: "tests do not sleep: wait for the thing itself, or let ManualScheduler advance", OFF: "no test is switched off: make it run, or take it away"}


def problems(root: Path) -> list[str]:
    found = []
    for file in files(root, "*.cc", "*.h", under=["tests"]):
        text = read(root, file)
        code = bare_code(text)
        for pattern, reason in REASON.items():
            found += [f"{file}:{line_of(text, match.start())}: {match[0].rstrip('(').strip()}: {reason}" for match in pattern.finditer(code)]
    return found


if __name__ == "__main__":
    main(problems)
