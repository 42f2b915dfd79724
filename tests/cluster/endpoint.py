"""A web server that stands for a hook with a URL: each call is kept, and the test says what is answered."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from process import free_port


@dataclass
class Received:
    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes
    client: str = ""  # common name of the client's certificate

    @property
    def call(self) -> dict[str, Any]:
        return json.loads(self.body)


@dataclass
class Answer:
    status: int = 200
    body: bytes = b'{"operations":[]}'
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    cut: int | None = None  # so many bytes of the body, then the connection is closed
    delay: float = 0


class Endpoint:
    """`answer(call)` decides; it may be replaced at any time."""

    def __init__(self, certificate: Path | None = None, key: Path | None = None, clients: Path | None = None) -> None:
        """`clients`: the CA of the certificates that clients must have."""
        self.port = free_port()
        self.calls: list[Received] = []
        self.answer: Callable[[Received], Answer] = lambda call: Answer()
        self._server: ThreadingHTTPServer | None = None
        self._context: ssl.SSLContext | None = None
        if certificate:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate, key)
            if clients:
                self._context.verify_mode = ssl.CERT_REQUIRED
                self._context.load_verify_locations(clients)

    @property
    def url(self) -> str:
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self.port}/hook"

    def up(self) -> Endpoint:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])  # hookd always tells it
                received = Received(
                    self.path, {name.lower(): value for name, value in self.headers.items()}, self.rfile.read(length), _client(self.connection)
                )
                answer = endpoint.answer(received)
                endpoint.calls.append(received)
                if answer.delay:
                    threading.Event().wait(answer.delay)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body if answer.cut is None else answer.body[: answer.cut])
                self.close_connection |= answer.cut is not None

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 128

            def finish_request(self, request: Any, client_address: Any) -> None:
                # The handshake in the thread of the connection: one that fails must not hold up the others.
                if endpoint._context:
                    request = endpoint._context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
                    try:
                        request.do_handshake()
                    except ssl.SSLError:
                        # Closed at once, with bytes of the client unread, the reset would overtake the alert.
                        threading.Event().wait(0.5)
                        request.close()
                        raise
                endpoint._open.add(request)
                super().finish_request(request, client_address)

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        self._open: set[socket.socket] = set()
        self._server = Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def down(self) -> None:
        if not self._server:
            return
        self._server.shutdown()
        self._server.server_close()
        self._server = None
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _client(connection: Any) -> str:
    if not isinstance(connection, ssl.SSLSocket):
        return ""
    subject = (connection.getpeercert() or {}).get("subject", ())
    return next((value for part in subject for name, value in part if name == "commonName"), "")
