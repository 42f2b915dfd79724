"""in: {"object": Project, "children": {"Namespace.v1": {name: …}}}; out: {"children": […], "status": {…}}."""

import json
import sys

from project import wanted

call = json.load(sys.stdin)
if call["object"] is not None:  # null: it is gone, and what it had goes with it
    children, status = wanted(call["object"], call["children"]["Namespace.v1"])
    json.dump({"children": children, "status": status}, sys.stdout)
