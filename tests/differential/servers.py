"""The two servers that must agree: the real API server of tests/cluster, and the one inside hookd."""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from cluster import Cluster, program
from hookd import binary
from process import Child, wait_for

TIMEOUT = 15  # seconds for one answer
# Those whose work the embedded server does by itself. The others of a controller manager would be noise here.
CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "disruption-controller",
)
SERVICES = "10.96.0.0/16"  # cluster IPs of the embedded server


@dataclass
class Answer:
    """`code` 0: no HTTP answer at all, `body` tells why. `headers`: lower-case name -> values in their order."""

    code: int
    headers: dict[str, list[str]] = field(default_factory=dict)
    body: Any = None


class Watch:
    """A watch that is read by a thread of its own until it ends or is closed."""

    def __init__(self, answer: Answer, response: http.client.HTTPResponse | None, connection: http.client.HTTPSConnection) -> None:
        self.answer = answer  # its body is None for a watch that began
        self.events: list[Any] = []
        self.ended = response is None
        self.changed = time.monotonic()
        self._connection = connection
        self._closed = False
        if response is not None:
            self._thread = threading.Thread(target=self._read, args=(response,), daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._closed = True
        if self._connection.sock:
            try:
                self._connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the server was quicker
        if hasattr(self, "_thread"):
            self._thread.join(TIMEOUT)
        self._connection.close()

    def _read(self, response: http.client.HTTPResponse) -> None:
        try:
            while line := response.readline():
                self.events.append(json.loads(line))
                self.changed = time.monotonic()
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            if not self._closed:
                self.events.append({"type": "broken stream", "object": repr(error)})
        self.ended = True


class Server:
    """`name` is for people. `kubeconfig` is that of an administrator."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.url = ""
        self.kubeconfig = Path()
        self._token = ""
        self._tls = ssl.create_default_context()
        self._local = threading.local()
        # Scripts run in this one: a process that they start again ends with the thread that started it (see Child).
        self.thread = ThreadPoolExecutor(1)

    def use(self, url: str, ca: Path | str, token: str, kubeconfig: Path) -> None:
        """`ca`: a file, or PEM text."""
        self.url, self._token, self.kubeconfig = url, token, kubeconfig
        self._tls = ssl.create_default_context(**({"cafile": str(ca)} if isinstance(ca, Path) else {"cadata": ca}))

    def check_alive(self) -> None:
        """Raises if the server's process has ended."""

    def compact(self) -> None:
        """Forgets all versions but the newest."""
        raise NotImplementedError

    def stop(self) -> None:
        """Ends its processes."""

    # --- HTTP ---

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
        """Never raises for what the server does: no answer is an answer too."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            answer = self._request(method, path, headers, body)
            # The real server says so for a moment after each change of a definition.
            if answer.code != 429 or "(re)initializing" not in str(answer.body) or time.monotonic() > deadline:
                return answer
            time.sleep(0.1)

    def _request(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        kept = getattr(self._local, "connection", None)
        for connection in [kept, self._connect()] if kept else [self._connect()]:
            self._local.connection = None
            try:
                connection.request(method, path, body, self._headers(headers))
                response = connection.getresponse()
                data = response.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                problem = repr(error)
                continue
            if response.will_close:
                connection.close()
            else:
                self._local.connection = connection
            return Answer(response.status, _headers(response), parsed(response, data))
        self.check_alive()
        return Answer(0, body=f"no answer: {problem}")

    def watch(self, path: str, headers: Mapping[str, str]) -> Watch:
        connection = self._connect()
        try:
            connection.request("GET", path, None, self._headers(headers))
            response = connection.getresponse()
            answer = Answer(response.status, _headers(response))
            if response.status == 200:
                connection.sock.settimeout(None)  # quiet watches are in order
                return Watch(answer, response, connection)
            answer.body = parsed(response, response.read())
        except (OSError, http.client.HTTPException) as error:
            answer = Answer(0, body=f"no answer: {error!r}")
        return Watch(answer, None, connection)

    def _connect(self) -> http.client.HTTPSConnection:
        host, port = self.url.removeprefix("https://").rsplit(":", 1)
        return http.client.HTTPSConnection(host, int(port), timeout=TIMEOUT, context=self._tls)

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {"Accept": "application/json", "User-Agent": "differential", "Authorization": f"Bearer {self._token}", **headers}

    def kubectl(self, *words: str, input: str | None = None, timeout: float = 60, **env: str) -> subprocess.CompletedProcess[str]:
        """Its home, where it caches discovery, is one for each server."""
        home = self.kubeconfig.parent / "kubectl-home"
        home.mkdir(exist_ok=True)
        return subprocess.run(self.kubectl_command(*words), input=input, capture_output=True, text=True, timeout=timeout,
            check=False, env={"PATH": os.environ["PATH"], "HOME": str(home), **env})  # fmt: skip

    def kubectl_command(self, *words: str) -> list[str]:
        return [str(program("kubectl")), f"--kubeconfig={self.kubeconfig}", *words]


def _headers(response: http.client.HTTPResponse) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in response.getheaders():
        found.setdefault(name.lower(), []).append(value)
    return found


def parsed(response: http.client.HTTPResponse, data: bytes) -> Any:
    kind = response.getheader("Content-Type", "")
    text = data.decode(errors="replace")
    try:
        if "json" in kind:
            return json.loads(text) if text else ""
        if "yaml" in kind:
            return yaml.load(text, Loader=yaml.BaseLoader)
    except (ValueError, yaml.YAMLError) as error:
        return f"no {kind}: {error}: {text[:300]}"
    return text


class Real(Server):
    def __init__(self, name: str = "real") -> None:
        super().__init__(name)
        self._cluster = Cluster(controllers=CONTROLLERS, apiserver_flags=[f"--service-cluster-ip-range={SERVICES}"]).start()
        self.use(self._cluster.url, self._cluster.authority.ca, self._cluster.token(), self._cluster.kubeconfig())

    def check_alive(self) -> None:
        self._cluster.check_alive()

    def stop(self) -> None:
        self._cluster.stop()

    def compact(self) -> None:
        """Of etcd through its JSON gateway, since kube-apiserver does so every five minutes only; of caches by a new start."""
        self._cluster.kill_apiserver()
        newest = self._etcd("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        self._etcd("/v3/kv/compaction", {"revision": newest, "physical": True})
        self._cluster.start_apiserver()

    def _etcd(self, path: str, body: Any) -> Any:
        connection = http.client.HTTPConnection("etcd", timeout=TIMEOUT)
        with socket.socket(socket.AF_UNIX) as connection.sock:
            connection.sock.connect(str(self._cluster.folder / "clients:1"))
            connection.request("POST", path, json.dumps(body))
            return json.loads(connection.getresponse().read())


class Embedded(Server):
    """`hookd play --server-only`, which is ready when its kubeconfig answers."""

    COMPACT = "/hookd/compact"  # the admin path that forgets versions

    def __init__(self, name: str = "embedded") -> None:
        super().__init__(name)
        self._folder = tempfile.TemporaryDirectory(prefix="hookd-embedded-")
        folder = Path(self._folder.name)
        kubeconfig = folder / "kubeconfig"
        self.log = folder / "hookd.log"
        self._child = Child([binary(), "play", "--server-only", "--kubeconfig", kubeconfig], self.log,
            {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}, folder)  # fmt: skip
        try:
            wait_for(lambda: kubeconfig.exists() and self._read(kubeconfig), 20, "kubeconfig of the embedded server", self.check_alive)
            wait_for(lambda: self.request("GET", "/readyz", {}).code == 200, 20, "embedded server ready", self.check_alive)
        except BaseException:
            self.stop()
            raise

    def _read(self, path: Path) -> bool:
        config = yaml.safe_load(path.read_text())
        if not config:
            return False  # it is being written
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        if "certificate-authority-data" in cluster:

            ca: Path | str = base64.b64decode(cluster["certificate-authority-data"]).decode()
        else:
            ca = path.parent / cluster["certificate-authority"]
        self.use(cluster["server"], ca, user["token"], path)
        return True

    def check_alive(self) -> None:
        self._child.check_alive()

    def stop(self) -> None:
        if self._child.exit_code() is None:
            self._child.signal(signal.SIGTERM)
            try:
                self._child.wait(10)
            except subprocess.TimeoutExpired:
                self._child.kill()
        self._folder.cleanup()

    def compact(self) -> None:
        answer = self.request("POST", self.COMPACT, {}, b"{}")
        if answer.code != 200:
            raise RuntimeError(f"{self.COMPACT} answered {answer.code}: {answer.body}")
