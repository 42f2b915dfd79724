"""What a hook may do to the machine it runs on: it stays within its limits, and nothing of it is left when its call is over."""

from __future__ import annotations

import os
import pwd
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from hookd import Hookd
from hooks import lines, watch, write_hook
from process import wait_for

StartHookd = Callable[..., Hookd]
Call = Callable[..., Hookd]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that users other than the test's get to; pytest's own are closed to them."""
    with tempfile.TemporaryDirectory(prefix="hookd-test-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def call(cluster: Cluster, namespace: str, place: Path, hookd: StartHookd) -> Call:
    """call(script, ...) -> a hookd whose one hook is that script, called once."""

    def run(script: str, env: dict[str, str] | None = None, **more: Any) -> Hookd:
        cluster.make_config_map(namespace, "about")
        write_hook(
            place / "hooks",
            script,
            {"watch": [watch("ConfigMap", namespace, names=["about"], events=["added"])], "retry": {"initial": "5m"}},
            run={"timeout": "10s", "grace": "1s", **more},
        )
        return hookd(place / "hooks", env=env).wait_ready()

    return run


@pytest.fixture
def out(place: Path) -> Path:
    """A file that hooks of any user may write."""
    path = place / "out"
    path.touch()
    path.chmod(0o666)
    return path


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """A cgroup v2 of the test's own."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for mount in mounts:
        folder = Path(mount[4]) / f"hookd-test-{os.getpid()}"
        if mount[mount.index("-") + 1] != "cgroup2":
            continue
        try:
            folder.mkdir()
        except OSError:
            continue
        yield folder
        wait_for(lambda: not [path for path in folder.iterdir() if path.is_dir()], 10, "the cgroups of the calls removed")
        folder.rmdir()
        return
    pytest.skip("no cgroup v2 can be written here")


def ended(daemon: Hookd, result: str = "") -> dict[str, Any]:
    return daemon.wait_log(lambda line: line.get("hook") == "probe" and "result" in line and result in line["result"], what="the call's end")


def is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def temp_folders(daemon: Hookd) -> list[Path]:
    return [path for folder in Path("/tmp").glob(f"hookd-{daemon.child.pid}-*") for path in folder.glob("tmp-*")]


def test_memory_is_limited(call: Call) -> None:
    daemon = call("exec python3 -c 'x = bytearray(800 << 20)'", limits={"memory": "300Mi"})
    assert "MemoryError" in ended(daemon, "failed")["error"]


def test_a_fork_bomb_stays_small(call: Call, out: Path) -> None:
    daemon = call(
        # Bash tries a failed fork again for minutes by itself.
        f"exec python3 -c '\nimport os, time\nmade = 0\nwhile made < 500:\n  try:\n    if os.fork() == 0: time.sleep(60)\n    made += 1\n"
        f'  except BlockingIOError:\n    break\nopen("{out}", "w").write(str(made) + "\\n")\nos._exit(7)\'',
        limits={"processes": 40},
        user="nobody",
    )
    assert "exit code 7" in ended(daemon, "failed")["error"]
    assert int(lines(out)[0]) < 40
    nobody = pwd.getpwnam("nobody").pw_uid
    daemon.wait_for(lambda: not [pid for pid in processes_of(nobody) if not is_dead(pid)], 10, "all of them gone")


def processes_of(uid: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.stat().st_uid == uid:
                found.append(int(folder.name))
        except FileNotFoundError:
            pass
    return found


DAEMON = """
python3 -c '
import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for fd in range(3): os.close(fd)
open("%s", "w").write(str(os.getpid()) + "\\n")
time.sleep(300)'
while [ ! -s %s ]; do sleep 0.02; done
"""


def test_what_daemonises_ends_with_the_call(call: Call, out: Path) -> None:
    daemon = call(DAEMON % (out, out))
    ended(daemon, "ok")
    pid = int(lines(out)[0])
    daemon.wait_for(lambda: is_dead(pid), 5, "the daemon of the hook gone")
    entry = daemon.wait_log(lambda line: "left processes running" in line.get("msg", line.get("message", "")), what="the log of it")
    assert entry["hook"] == "probe" and entry["call"] and f"python3 (pid {pid})" in entry["processes"]
    daemon.wait_for(lambda: not Path(f"/proc/{pid}").exists(), 5, "it reaped")


def test_in_a_cgroup_also_what_hides(call: Call, out: Path, cgroup: Path) -> None:
    script = (DAEMON % (out, out)).replace("python3", "env -i /usr/bin/env python3")
    daemon = call(f"grep -o hook-.* /proc/self/cgroup >&2\n{script}", env={"HOOKD_CGROUP": str(cgroup)})
    ended(daemon, "ok")
    pid = int(lines(out)[0])
    daemon.wait_for(lambda: is_dead(pid), 5, "the daemon of the hook gone")
    assert "pid %d" % pid in daemon.log.read_text()
    assert re.search(r"hook-[0-9a-f]{16}", daemon.log.read_text())
    daemon.wait_for(lambda: not list(cgroup.glob("hook-*")), 5, "its cgroup removed")


def test_a_cgroup_that_is_none_is_an_error(tmp_path: Path, hookd: StartHookd) -> None:
    (tmp_path / "hooks").mkdir()
    daemon = hookd(tmp_path / "hooks", env={"HOOKD_CGROUP": str(tmp_path)})
    assert daemon.wait_exit() != 0
    assert "expected the folder of a cgroup v2" in daemon.log.read_text()


@pytest.mark.parametrize("user", [None, "nobody"])
def test_the_temporary_folder_is_private_and_goes(call: Call, out: Path, user: str | None) -> None:
    daemon = call(
        f"""stat -c '%a %U' "$TMPDIR" > {out}; echo "$TMPDIR" >> {out}
        mkdir -p "$TMPDIR"/a/b/c; ln -s /etc "$TMPDIR/a/etc"; echo x > "$TMPDIR/a/b/file"; chmod -R a-w "$TMPDIR/a"; chmod 0 "$TMPDIR/a/b/c"
        mktemp >> {out}""",
        **({"user": user} if user else {}),
    )
    ended(daemon, "ok")
    mode, folder, made = lines(out)
    assert mode == f"700 {user or pwd.getpwuid(os.getuid()).pw_name}"
    assert made.startswith(folder + "/")
    daemon.wait_for(lambda: not Path(folder).exists(), 10, "the folder removed")
    assert temp_folders(daemon) == []
    assert Path("/etc/passwd").exists()


def test_one_that_ignores_sigterm_is_killed(call: Call, out: Path) -> None:
    daemon = call(f"trap '' TERM; echo $$ > {out}; while :; do sleep 0.1; done", timeout="500ms", grace="500ms")
    assert "timed out after 500ms" in ended(daemon, "timeout")["error"]
    assert is_dead(int(lines(out)[0]))


def test_descriptors_privileges_and_groups(call: Call, out: Path) -> None:
    daemon = call(
        f"""i=0; seen=
        while [ $i -lt 200 ]; do [ -e /proc/$$/fd/$i ] && seen="$seen$i "; i=$((i+1)); done
        echo "$seen" > {out}; grep NoNewPrivs /proc/$$/status >> {out}; ps -o pgid= -p $$ >> {out}; echo $$ >> {out}"""
    )
    ended(daemon, "ok")
    text = out.read_text()
    assert text.startswith("0 1 2 \nNoNewPrivs:\t1\n")
    group, pid = text.split()[-2:]
    assert group == pid


def test_secrets_are_in_no_log_and_in_no_process_list(call: Call, out: Path, place: Path) -> None:
    daemon = call(
        f"tr '\\0' ' ' < /proc/$$/cmdline > {out}; tr '\\0' ' ' < /proc/$PPID/cmdline >> {out}; false",
        env={"MY_SECRET": "daemon-s3cr3t"},
        limits={"files": 64},
    )
    write_hook(
        place / "hooks", f"tr '\\0' ' ' < /proc/$$/cmdline >> {out}; exit 1", {"startup": {}}, name="second",
        run={"env": {"PASSWORD": "hook-s3cr3t"}, "user": "nobody", "limits": {"cpu": "5s"}},
    )  # fmt: skip
    ended(daemon, "failed")
    daemon.wait_log(lambda line: line.get("hook") == "second" and "result" in line, what="the second hook called")
    seen = out.read_text() + daemon.log.read_text()
    assert "s3cr3t" not in seen
