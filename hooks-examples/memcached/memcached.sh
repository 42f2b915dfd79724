#!/usr/bin/env bash
# Prints what a Memcached should have: a Deployment of `size` pods, and in its status the names of these. Nothing here says
# what has to be done for it: hookd compares, makes, changes and deletes.
#
#   in   .object           the Memcached; null when it is gone, and with it (by the garbage collector) all that it owned
#        .related.pods[]   the pods that carry its name in their label
#   out  {"children": [the Deployment], "status": {"nodes": [names]}}
set -euo pipefail

# shellcheck disable=SC2016  # $name is jq's
exec jq -cn '
  (first(inputs) // ("no call on stdin\n" | halt_error(1))) as $call
  | $call.object
  | select(. != null)
  | {"cache.example.com/memcached": .metadata.name} as $labels
  | {
      children: [{
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: {name: .metadata.name, labels: $labels},
        spec: {
          replicas: .spec.size,
          selector: {matchLabels: $labels},
          template: {
            metadata: {labels: $labels},
            spec: {
              containers: [{
                name: "memcached",
                image: "docker.io/library/memcached:1.6-alpine",
                args: ["-m", "64", "-o", "modern"],
                ports: [{name: "memcached", containerPort: 11211, protocol: "TCP"}],
                readinessProbe: {tcpSocket: {port: "memcached"}},
                resources: {requests: {cpu: "50m", memory: "96Mi"}, limits: {memory: "96Mi"}}
              }]
            }
          }
        }
      }],
      status: {
        # A pod that is on its way out is no node to talk to any more.
        nodes: ([$call.related.pods[] | select(.metadata.deletionTimestamp == null) | .metadata.name] | sort)
      }
    }
'
