"""hookd's own API server in the place of the real cluster: the same tests on either (HOOKD_SERVER=embedded).

It keeps everything in memory, so a kill is acted by what stands between: every connection breaks and none is accepted
until the "start". What a real server would remember in etcd is thus remembered.
"""

from __future__ import annotations

import base64
import contextlib
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence

import yaml
from cluster import USERS, Cluster
from hookd import binary
from process import free_port


class Forwarder:
    """TCP on 127.0.0.1:`port` to 127.0.0.1:`target`, until down(); again after up()."""

    def __init__(self, port: int, target: int) -> None:
        self._port, self._target = port, target
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def up(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self._port), backlog=128)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def down(self) -> None:
        listener, self._listener = self._listener, None
        if listener:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
            listener.close()
        with self._lock:
            broken, self._open = self._open, set()
        for end in broken:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            with self._lock:
                if self._listener is not listener:
                    client.close()
                    server.close()
                    return
                self._open |= {client, server}
            for source, sink in ((client, server), (server, client)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
        with self._lock:
            self._open.discard(source)


class EmbeddedCluster(Cluster):
    def __init__(self, users: Mapping[str, Sequence[str]] = USERS) -> None:
        super().__init__(controller_manager=True, users=users)  # it ends namespaces and collects garbage by itself
        self._forwarder: Forwarder | None = None

    def start(self) -> Cluster:
        try:
            inner, self.port = free_port(), free_port()
            config = self.folder / "inner.kubeconfig"
            self._spawn(
                "hookd", "play", "--server-only", "--kubeconfig", str(config), "--port", str(inner), "--tokens", str(self.folder / "tokens.csv")
            )
            self.wait_for(lambda: b"ready:" in self.log("hookd").read_bytes(), 30, "the embedded server ready")
            cluster = yaml.safe_load(config.read_text())["clusters"][0]["cluster"]
            self.authority.ca.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
            self._forwarder = Forwarder(self.port, inner)
            self._forwarder.up()
            self.need_service_account("default")
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        if self._forwarder:
            self._forwarder.down()
        self._kill("hookd")
        super().stop()

    def kill_apiserver(self) -> None:
        assert self._forwarder
        self._forwarder.down()

    def stop_apiserver(self, timeout: float = 90) -> None:
        self.kill_apiserver()

    def start_apiserver(self, timeout: float = 90) -> None:
        assert self._forwarder
        self._forwarder.up()
        self.wait_for(lambda: self.api("GET", "/readyz") == (200, "ok"), timeout, "the embedded server reachable")

    def _spawn(self, name: str, *flags: str) -> None:
        if name != "hookd":
            return super()._spawn(name, *flags)
        self._start_child(name, [str(binary()), *flags])


def main() -> None:
    with EmbeddedCluster() as cluster, contextlib.suppress(KeyboardInterrupt):
        print(f"export KUBECONFIG={cluster.kubeconfig()}", flush=True)
        subprocess.run(["sleep", "infinity"], check=False)


if __name__ == "__main__":
    main()
