#!/usr/bin/env bash
# Evicts the pods of the call that are still marked. hookd sends POST …/eviction with the uid of the pod, and tries again later
# while a disruption budget does not allow it.
#
#   in   .objects.marked[]  {object: {apiVersion, kind, metadata: {namespace, name, uid}}, value: why it was marked}
#        .events[]          the pod that was marked
#   out  Evict, and a Kubernetes Event that says why
set -euo pipefail

# shellcheck disable=SC2016  # $name is jq's
exec jq -cn '
  (first(inputs) // ("no call on stdin\n" | halt_error(1))) as $call
  | INDEX($call.events[]; .object.metadata.uid) as $about
  | $call.objects.marked[]
  | select($about[.object.metadata.uid])
  | .value as $why
  | .object as {$apiVersion, $kind, $metadata}
  | {operation: "Evict", namespace: $metadata.namespace, name: $metadata.name, uid: $metadata.uid},
    {operation: "Event", type: "Warning", reason: "LeakEvicted", message: "Evicted: \($why)",
     about: ({$apiVersion, $kind} + ($metadata | {namespace, name, uid}))}
'
