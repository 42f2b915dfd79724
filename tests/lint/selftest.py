#!/usr/bin/python3
"""Each check finds what it is there to find, and leaves good samples alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import coawait
import file_size
import hooks_configmap
import layers
import no_sleep
import words

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROOMS = """| room | what | may use |
|---|---|---|
| base | result | – |
| metrics, config | registry | base |
| net | curl | metrics, config |
| queue | keyed | metrics |
| app | all of it | all |
"""
CMAKE = """hookd_room(base spdlog::spdlog)
hookd_room(metrics hookd_base)
hookd_room(config hookd_base yaml-cpp)
hookd_room(net hookd_metrics hookd_config)
hookd_room(queue hookd_metrics)
hookd_room(app hookd_net hookd_queue)
"""
Files = dict[str, str]
failures: list[str] = []


def tree(content: Files) -> Path:
    root = Path(tempfile.mkdtemp(prefix="hookd-lint-"))
    for name, text in content.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def expect(what: str, check, content: Files, *wanted: str) -> None:
    """One finding for each of `wanted`, in order, with these words in it; none wanted = it must be silent."""
    root = tree(content)
    try:
        found = check(root)
    finally:
        shutil.rmtree(root)
    good = len(found) == len(wanted) and all(word in line for word, line in zip(wanted, found))
    if not good:
        failures.append(f"{what}: expected {list(wanted) or 'nothing'}, found {found or 'nothing'}")


def rooms(content: Files, cmake: str = CMAKE) -> Files:
    return {"daemon/README.md": ROOMS, "daemon/CMakeLists.txt": cmake, **content}


def test_layers() -> None:
    def one(what: str, content: Files, *wanted: str, cmake: str = CMAKE) -> None:
        expect(f"layers: {what}", layers.problems, rooms(content, cmake), *wanted)

    one("good", {
        "daemon/net/a.cc": '#include "net/a.h"\n#include "base/x.h"\n#include <string>\n#include <net/if.h>\n',
        "daemon/app/a.h": '#include "net/a.h"\n',
        "daemon/main.cc": '#include "app/a.h"\n',
        "tests/unit/net/a_test.cc": '#include "net/a.h"\n#include "server/fake.h"\n#include "unit/net/own.h"\n#include "own.h"\n',
        "tests/unit/net/own.h": "",
        "tests/server/fake.h": '#include "base/x.h"\n',
        "tests/fuzz/fuzz_a.cc": '#include "app/a.h"\n',
    })  # fmt: skip
    one("upward", {"daemon/base/a.cc": '// first\n#include "net/a.h"\n'}, "daemon/base/a.cc:2")
    one("sideways", {"daemon/config/a.cc": '#include "metrics/a.h"\n'}, "may use base, config, not metrics")
    one("above, but not allowed", {"daemon/queue/a.h": '#  include "config/a.h"\n'}, "not config")
    one("unknown room of a file", {"daemon/utils/a.cc": ""}, "utils is no room")
    one("unknown room of an include", {"daemon/base/a.cc": '#include "helper/a.h"\n'}, "helper is no room")
    one("path upward", {"daemon/base/a.cc": '#include "../net/a.h"\n'}, "no paths upward")
    one("no room named", {"daemon/base/a.cc": '#include "b.h"\n', "daemon/base/b.h": ""}, 'write "base/b.h"')
    one("pointed brackets", {"daemon/base/a.cc": "#include <net/a.h>\n", "daemon/net/a.h": ""}, 'write "net/a.h"')
    one("unit test upward", {"tests/unit/base/a_test.cc": '#include "net/a.h"\n'}, "not net")
    one("unit test with another's helpers", {"tests/unit/base/a_test.cc": '#include "unit/net/own.h"\n'}, "no room")
    one("unit test with a server it may not know", {"tests/unit/base/a_test.cc": '#include "server/fake.h"\n'}, "no room")
    fakes = {"tests/unit/support/a.h": '#include "b.h"\n', "tests/unit/support/b.h": '#include "net/a.h"\n'}
    one("shared fakes", {"tests/unit/net/a_test.cc": '#include "unit/support/a.h"\n', **fakes})
    one("shared fakes upward", {"tests/unit/queue/a_test.cc": '\n#include "unit/support/a.h"\n', **fakes}, "a_test.cc:2: \"unit/support/a.h\" brings in net")
    one("unit test of no room", {"tests/unit/helper/a_test.cc": ""}, "helper is no room")
    one("links upward", {}, "queue links config", cmake=CMAKE.replace("queue hookd_metrics", "queue hookd_metrics hookd_config"))
    one("links too little", {}, "net does not link config", "app does not link config", cmake=CMAKE.replace("net hookd_metrics hookd_config", "net hookd_metrics"))
    expect("layers: no table", layers.problems, {"daemon/README.md": "# rooms\n"}, "no table")
    expect("layers: table out of order", layers.problems, {"daemon/README.md": ROOMS.replace("| base | result | – |", "| base | result | net |")}, "not above")


def test_file_size() -> None:
    expect("file_size: at the limits", file_size.problems, {"daemon/base/a.cc": "x\n" * 800, "tests/unit/base/a_test.cc": "x\n" * 1000})
    expect("file_size: daemon", file_size.problems, {"daemon/base/a.cc": "x\n" * 801}, "801 lines")
    expect("file_size: tests", file_size.problems, {"tests/unit/base/a_test.cc": "x\n" * 1001}, "1001 lines")
    expect("file_size: soft limit is told", file_size.notes, {"daemon/base/a.cc": "x\n" * 401, "daemon/base/b.cc": "x\n" * 400}, "a.cc: 401")


def test_coawait() -> None:
    def one(what: str, body: str, *wanted: str) -> None:
        text = f"awaitable<void> f(int x) {{\n  {body}\n}}\n"
        expect(f"coawait: {what}", coawait.problems, {"daemon/net/a.cc": text}, *wanted)

    one("capturing lambda", "co_await run([x] { return x; });", "capturing lambda")
    one("capture by reference", "auto y = co_await run([&](int z) -> int { return z; }, 3);", "capturing lambda")
    one("over several lines", "const auto y = co_await run(\n      1,\n      [this,\n       x]() mutable { return x; });", "capturing lambda")
    one("on the left of it", "add([x] { return x; }, co_await get());", "capturing lambda")
    one("aggregate", "co_await send(Request{1, x});", "braced aggregate")
    one("aggregate awaited", "co_await Request{1, x};", "braced aggregate")
    one("nameless aggregate", 'auto y = co_await send({"a", "b"});', "braced aggregate")
    one("in a condition", "if (!co_await send(Request{x})) {\n    return;\n  }", "braced aggregate")
    one("behind a condition", "if (x) co_await send(Request{x});", "braced aggregate")
    one("in a lambda's body", "auto g = [x]() -> awaitable<void> { co_await send(Request{x}); };", "braced aggregate")
    one("named first", "auto g = [x] { return x; };\n  Request r{1, x};\n  co_await run(std::move(g), std::move(r));")
    one("lambda without captures", "co_await run([](int z) { return Request{z}; });")
    one("blocks", "if (co_await ready()) {\n    Request r{x};\n  } else {\n    co_await wait();\n  }\n  for (auto i : {1, 2}) {\n    co_await wait();\n  }")
    one("subscript", "co_await list[x].wait();")
    one("comments and texts", 'co_await log("Request{1}");  // co_await run([x] { return x; });')


def test_no_sleep() -> None:
    def one(what: str, body: str, *wanted: str) -> None:
        expect(f"no_sleep: {what}", no_sleep.problems, {"tests/unit/base/a_test.cc": body}, *wanted)

    one("sleep_for", "std::this_thread::sleep_for(1s);\n", "a_test.cc:1: sleep_for")
    one("usleep", "\n::usleep (1);\n", "a_test.cc:2: usleep")
    one("sleep", "sleep(1);", "sleep")
    one("disabled", "TEST(A, DISABLED_B) {}", "DISABLED_B")
    one("skipped", "GTEST_SKIP() << why;", "GTEST_SKIP")
    one("a child that sleeps", 'run("sleep(1); usleep(2)");  // sleep_for(1s)\n')


def test_words() -> None:
    home = "/" + "work/x"
    expect("words: a path", words.problems, {"README.md": f"ok\nsee {home}\n"}, "README.md:2")
    expect("words: homes", words.problems, {"a.sh": "cd /" + "home/me; cd /" + "root/x\n"}, "a.sh:1", "a.sh:1")
    expect("words: none", words.problems, {"a.sh": "cd build/work/x; cd /etc/hookd; cat $HOME/work/x ~/work/y\n"})


def test_hooks_configmap() -> None:
    source = {f"{hooks_configmap.SOURCE}/hook.yaml": "kind: Hook\n", f"{hooks_configmap.SOURCE}/a.sh": "#!/bin/sh\n\necho a\n"}
    root = tree(source)
    good = hooks_configmap.config_map(root / hooks_configmap.SOURCE)
    shutil.rmtree(root)
    expect("hooks_configmap: the same", hooks_configmap.problems, {**source, str(hooks_configmap.TARGET): good})
    expect("hooks_configmap: changed", hooks_configmap.problems, {**source, str(hooks_configmap.TARGET): good.replace("echo a", "echo b")}, "differs")
    expect("hooks_configmap: missing", hooks_configmap.problems, source, "differs")


def test_programs() -> None:
    """Those that are shell: by their exit code and what they print."""

    def one(what: str, script: str, name: str, text: str, fails: bool) -> None:
        with tempfile.TemporaryDirectory() as folder:
            sample = Path(folder) / name
            sample.write_text(text)
            shutil.copy(ROOT / ".clang-format", Path(folder) / ".clang-format")
            done = subprocess.run([HERE / script, sample], capture_output=True, text=True)
        if (done.returncode != 0) != fails or (fails and name not in done.stdout):
            failures.append(f"{what}: exit code {done.returncode}: {done.stdout}{done.stderr}")

    one("shell: unquoted", "shell.sh", "bad.sh", '#!/bin/bash\nrm -rf $1/*\n', True)
    one("shell: good", "shell.sh", "good.sh", '#!/bin/bash\nrm -rf -- "${1:?}"/*\n', False)
    one("format: bad", "format.sh", "bad.cc", "int  f( ){return 1 ;}\n", True)
    one("format: good", "format.sh", "good.cc", "int f() { return 1; }\n", False)


def main() -> None:
    tests = [test for name, test in globals().items() if name.startswith("test_")]
    for test in tests:
        test()
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
