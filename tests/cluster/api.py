"""The API server's HTTP interface over kept-alive connections, one per thread."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from pathlib import Path
from typing import Any


class Api:
    def __init__(self, port: int, ca: Path, token: str | None, timeout: float = 30) -> None:
        self._port = port
        self._timeout = timeout
        self._tls = ssl.create_default_context(cafile=str(ca))
        self._local = threading.local()
        # The server pretty-prints for curl's and wget's User-Agent: twice the bytes.
        self._headers = {"Accept": "application/json", "User-Agent": "hookd-tests"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def __call__(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> tuple[int, Any]:
        """(status code, parsed answer): JSON as Python values, anything else as text. `body`: bytes are sent as they are."""
        code, data = self.raw(method, path, body, content_type)
        try:
            return code, json.loads(data)
        except ValueError:
            return code, data.decode(errors="replace")

    def raw(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> tuple[int, bytes]:
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = content_type
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
        connection: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if connection is not None:
            try:
                return self._exchange(connection, method, path, body, headers)
            except (OSError, http.client.HTTPException):
                pass  # a kept connection may have died with the server it led to: once more on a fresh one
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=self._timeout, context=self._tls)
        try:
            return self._exchange(connection, method, path, body, headers)
        except http.client.HTTPException as error:
            raise ConnectionError(f"{method} {path}: {error!r}") from error

    def _exchange(
        self, connection: http.client.HTTPSConnection, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        self._local.connection = None
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            data = response.read()
        except BaseException:
            connection.close()
            raise
        self._local.connection = connection
        return response.status, data
