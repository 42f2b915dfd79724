#!/usr/bin/env python3
"""A real cluster on loopback, without nodes: etcd, kube-apiserver and, if wanted, kube-controller-manager.

`python3 tests/cluster/cluster.py up` keeps one running for people who want to try something by hand.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from api import Api
from certificates import Authority
from process import Child, free_port, wait_for
from workloads import Workloads

T = TypeVar("T")
HERE = Path(__file__).resolve().parent
BUILT = HERE.parent.parent / "build" / "cluster-bin"
# Sockets in the folder that all programs work in. etcd insists on the form host:port even for these.
CLIENTS, PEERS = "unix://clients:1", "unix://peers:1"
# Besides admin (system:masters). They may do nothing until a test gives them rights.
USERS: Mapping[str, Sequence[str]] = {"hookd": (), "alice": ("team-a",), "bob": ()}


def program(name: str) -> Path:
    for folder in (os.environ.get("KUBEBUILDER_ASSETS"), BUILT):
        if folder and os.access(Path(folder) / name, os.X_OK):
            return Path(folder) / name
    raise FileNotFoundError(f"no {name} in KUBEBUILDER_ASSETS nor in {BUILT}: run {HERE / 'build.sh'}")


class Cluster(Workloads):
    def __init__(
        self,
        controller_manager: bool = True,
        users: Mapping[str, Sequence[str]] = USERS,
        controllers: Sequence[str] = ("*",),
        apiserver_flags: Sequence[str] = (),
    ) -> None:
        """`users`: name -> groups. `controllers`: as the flag, for example ("*", "-pod-garbage-collector-controller")."""
        self.controller_manager = controller_manager
        self._controllers = controllers
        self._apiserver_flags = apiserver_flags
        self.folder = Path(tempfile.mkdtemp(prefix="hookd-cluster-"))
        self.authority = Authority(self.folder)
        self.port = 0
        self._children: dict[str, Child] = {}
        self._apis: dict[str, Api] = {}
        self._groups = {"admin": ("system:masters",), **users}
        self._write_secrets()
        atexit.register(self.stop)

    # --- life ---

    def start(self) -> Cluster:
        try:
            self.start_etcd()
            self._start_apiserver_on_a_free_port()
            if self.controller_manager:
                self.start_controller_manager()
            self.need_service_account("default")
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Ends everything and removes the folder; HOOKD_TEST_KEEP=1 keeps that, with its logs."""
        atexit.unregister(self.stop)
        for name in ("kube-controller-manager", "kube-apiserver", "etcd"):
            self._kill(name)
        if os.environ.get("HOOKD_TEST_KEEP"):
            print(f"kept: {self.folder}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Cluster:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start_etcd(self) -> None:
        self._spawn("etcd", f"--data-dir={self.folder}/etcd", "--unsafe-no-fsync", "--log-level=warn",
            f"--listen-client-urls={CLIENTS}", f"--advertise-client-urls={CLIENTS}",
            f"--listen-peer-urls={PEERS}", f"--initial-advertise-peer-urls={PEERS}",
            f"--initial-cluster=default={PEERS}")  # fmt: skip

    def kill_etcd(self) -> None:
        self._kill("etcd")

    def start_apiserver(self, timeout: float = 90) -> None:
        """On the same port each time, so that kubeconfigs stay true. Returns when it is ready."""
        public, private = self.folder / "service-accounts.pub", self.folder / "service-accounts.key"
        self._spawn("kube-apiserver", f"--secure-port={self.port}", "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",  # loopback is no endpoint to publish
            f"--etcd-servers={CLIENTS}", f"--cert-dir={self.folder}",
            f"--tls-cert-file={self.folder}/apiserver.crt", f"--tls-private-key-file={self.folder}/apiserver.key",
            f"--client-ca-file={self.authority.ca}", f"--token-auth-file={self.folder}/tokens.csv",
            "--authorization-mode=RBAC", "--allow-privileged", "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={public}",
            f"--service-account-signing-key-file={private}", "--goaway-chance=0", "--profiling=false",
            *self._apiserver_flags)  # fmt: skip
        self.wait_for(lambda: self.api("GET", "/readyz") == (200, "ok"), timeout, "kube-apiserver ready")

    def kill_apiserver(self) -> None:
        """SIGKILL: every connection breaks in the middle, as when a machine is lost."""
        self._kill("kube-apiserver")

    def stop_apiserver(self, timeout: float = 90) -> None:
        """SIGTERM: it ends watches and answers what is in flight, as in an upgrade."""
        child = self._children["kube-apiserver"]
        child.signal(signal.SIGTERM)
        child.wait(timeout)
        del self._children["kube-apiserver"]

    def start_controller_manager(self) -> None:
        config = self.kubeconfig()
        self._spawn("kube-controller-manager", f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0",
            f"--service-account-private-key-file={self.folder}/service-accounts.key",
            f"--root-ca-file={self.authority.ca}", f"--controllers={','.join(self._controllers)}",
            # Nodes here have no kubelet: without these they are tainted for want of a heartbeat.
            "--node-monitor-grace-period=24h", "--node-startup-grace-period=24h")  # fmt: skip

    def kill_controller_manager(self) -> None:
        self._kill("kube-controller-manager")

    def check_alive(self) -> None:
        """Raises, with the end of its log, if a program that should run has ended."""
        for child in self._children.values():
            child.check_alive()

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    # --- access ---

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def token(self, user: str = "admin") -> str:
        if user not in self._groups:
            raise KeyError(f"no user {user}: there are {', '.join(self._groups)}")
        return f"{user}-token"

    def kubeconfig(self, user: str = "admin") -> Path:
        return self.write_kubeconfig(user, f"token: {self.token(user)}")

    def client_certificate_kubeconfig(self, user: str, groups: Sequence[str] = ()) -> Path:
        certificate, key = self.authority.client(user, groups)
        return self.write_kubeconfig(f"{user}-certificate", f"client-certificate: {certificate}\n    client-key: {key}")

    def write_kubeconfig(self, name: str, credentials: str, ca: Path | None = None, server: str | None = None) -> Path:
        """`credentials`: the lines under `user:`. Wrong ones, another CA or server are for tests of bad input."""
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(f"""\
apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: {server or self.url}
    certificate-authority: {ca or self.authority.ca}
contexts:
- name: {name}
  context:
    cluster: test
    user: {name}
    namespace: default
current-context: {name}
users:
- name: {name}
  user:
    {credentials}
""")
        return path

    def api_of(self, user: str = "admin") -> Api:
        if user not in self._apis:
            self._apis[user] = Api(self.port, self.authority.ca, self.token(user))
        return self._apis[user]

    def api(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> tuple[int, Any]:
        return self.api_of()(method, path, body, content_type)

    def kubectl(self, *words: str, user: str = "admin", input: str | None = None, timeout: float = 60) -> str:
        command = [str(program("kubectl")), f"--kubeconfig={self.kubeconfig(user)}", *words]
        child = subprocess.Popen(command, stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": str(self.folder)})  # fmt: skip
        try:
            out, errors = child.communicate(input, timeout)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGABRT)  # a Go program answers with what each of its goroutines waits for; SIGQUIT kubectl takes for Ctrl-C
            out, errors = child.communicate()
            raise RuntimeError(f"kubectl {' '.join(words)} did not end in {timeout} s; it printed {out!r} and was at:\n{errors}") from None
        if child.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(words)} ended with {child.returncode}: {errors.strip()}")
        return out

    def wait_for(self, predicate: Callable[[], T], timeout: float, what: str) -> T:
        return wait_for(predicate, timeout, what, self.check_alive)

    # --- parts ---

    def _write_secrets(self) -> None:
        self.authority.serving("apiserver")
        self.authority.key_pair("service-accounts")
        lines = [f'{self.token(user)},{user},{user},"{",".join(groups)}"\n' for user, groups in self._groups.items()]
        (self.folder / "tokens.csv").write_text("".join(lines))

    def _start_apiserver_on_a_free_port(self) -> None:
        for attempt in range(3):
            self.port = free_port()
            try:
                return self.start_apiserver()
            except RuntimeError:
                # Another test run may have taken the port between the probe and the start.
                taken = "address already in use" in self.log("kube-apiserver").read_text(errors="replace")
                if not taken or attempt == 2:
                    raise
                self._kill("kube-apiserver")
                self._apis.clear()

    def _spawn(self, name: str, *flags: str) -> None:
        self._start_child(name, [str(program(name)), *flags])

    def _start_child(self, name: str, command: Sequence[str]) -> None:
        if name in self._children:
            raise RuntimeError(f"{name} runs already")
        # GOGC: memory is cheaper than the time of all tests.
        env = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder), "GOGC": "400"}
        self._children[name] = Child(command, self.log(name), env, self.folder)

    def _kill(self, name: str) -> None:
        child = self._children.pop(name, None)
        if child:
            child.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description="a real cluster on loopback, to try things by hand")
    up = parser.add_subparsers(required=True).add_parser("up", help="start one, print its KUBECONFIG, stay until Ctrl-C")
    up.add_argument("--no-controller-manager", action="store_true")
    up.add_argument("--pods", type=int, default=0, help="create so many pods, of about 7 kB each")
    up.add_argument("--nodes", type=int, default=0)
    arguments = parser.parse_args()

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    begin = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt), Cluster(not arguments.no_controller_manager) as cluster:
        if arguments.pods or arguments.nodes:
            import seed

            seed.seed(cluster, arguments.pods, max(arguments.nodes, 1))
        print(f"ready after {time.monotonic() - begin:.1f} s; logs in {cluster.folder}; Ctrl-C ends it", file=sys.stderr)
        print(f"export KUBECONFIG={cluster.kubeconfig()}", flush=True)
        while not threading.Event().wait(1):
            cluster.check_alive()


if __name__ == "__main__":
    main()
