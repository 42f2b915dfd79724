#!/usr/bin/python3
"""Shows what a server answers to scripts, for people who write either: `show.py create patch-json --server embedded`."""

from __future__ import annotations

import argparse
import json

import conftest  # noqa: F401  finds tests/cluster
from play import Seen, run
from script import FOLDER, load
from servers import Embedded, Real


def text(seen: Seen, width: int) -> str:
    step = seen.step
    request = f"{step.method} {step.path}" + (f"  {json.dumps(step.body)[:width]}" if step.body is not None else "")
    lines = [f"--- {step.label}", request, f"{seen.code} {json.dumps(seen.headers)}", json.dumps(seen.body)[:width]]
    lines += [f"event {json.dumps(event)[:width]}" for event in seen.events or []]
    return "\n".join(lines + ([f"PROBLEM: {seen.problem}"] if seen.problem else []))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scripts", nargs="+", help="names of files in scripts/, without .yaml")
    parser.add_argument("--server", choices=("real", "embedded"), default="real")
    parser.add_argument("--width", type=int, default=1000, help="cut bodies after so many characters")
    parser.add_argument("--step", default="", help="only steps whose label has this in it are shown")
    arguments = parser.parse_args()
    server = Real() if arguments.server == "real" else Embedded()
    try:
        for name in arguments.scripts:
            script = load(FOLDER / f"{name}.yaml")
            for seen in run(script, server):
                if arguments.step in seen.step.label:
                    print(text(seen, arguments.width), end="\n\n")
    finally:
        server.stop()


if __name__ == "__main__":
    main()
