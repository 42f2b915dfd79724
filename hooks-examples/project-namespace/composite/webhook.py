#!/usr/bin/env python3
"""A webhook as Metacontroller calls it; hookd calls it the same way. POST /sync: {"parent": Project, "children": {"Namespace.v1":
{name: …}}, …} -> {"children": […], "status": {…}}. Plain Python, port 8080 or the first argument."""

import http.server
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from project import wanted  # noqa: E402  (one level up)


class Webhook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/sync":
            return self.send_error(404)
        children, status = wanted(request["parent"], request["children"]["Namespace.v1"])
        body = json.dumps({"children": children, "status": status}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
http.server.ThreadingHTTPServer(("", port), Webhook).serve_forever()
