#!/usr/bin/env python3
"""A call is a line in, its answer a line out. What goes wrong with a call is told as its answer: hookd tries it again."""

import json
import sys

print('{"ready":true}', flush=True)
for line in sys.stdin:
    call = json.loads(line)
    try:
        label = {"operation": "Label", "apiVersion": "v1", "kind": "Namespace", "labels": {"owner": "unassigned"}}
        answer = {"operations": [{**label, "name": event["value"]} for event in call["events"]]}
    except Exception as error:  # noqa: BLE001
        answer = {"error": repr(error)}
    print(json.dumps({"id": call["id"], **answer}), flush=True)
