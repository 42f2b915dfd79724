#!/usr/bin/env bash
# Prints the Deployment that a MonitoredService should have: its config from git, in `size` pods. Kubernetes moves the pods
# to a new config one after the other; this says when it is through.
#
#   in   .object                             {spec: {size}, status: {podSpec, config, configChanged}}; null when it is gone
#        .children["Deployment.apps/v1"]     the Deployment as it is, by name
#   out  {"children": [the Deployment], "status": {"configChanged": do pods of another config run still?, "ready": pods}}
#        without "children" as long as no config was found: nothing is touched then
set -euo pipefail

# shellcheck disable=SC2016  # $name is jq's
exec jq -cn '
  (first(inputs) // ("no call on stdin\n" | halt_error(1))) as $call
  | $call.object
  | select(. != null and .status.podSpec != null)
  | {"config.example.com/service": .metadata.name} as $labels
  | {"config.example.com/config": .status.config} as $config
  | ($call.children["Deployment.apps/v1"][.metadata.name] // {}) as $now
  | {
      children: [{
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: {name: .metadata.name, labels: $labels},
        spec: {
          replicas: .spec.size,
          selector: {matchLabels: $labels},
          template: {metadata: {labels: $labels, annotations: $config}, spec: .status.podSpec}
        }
      }],
      status: {
        # What the Deployment controller says about an older Deployment than the one of now does not count.
        configChanged: ((
            $now.spec.template.metadata.annotations["config.example.com/config"] == .status.config
            and $now.status.observedGeneration == $now.metadata.generation
            and ($now.status.updatedReplicas // 0) == .spec.size
            and ($now.status.replicas // 0) == .spec.size
            and ($now.status.availableReplicas // 0) == .spec.size
          ) | not),
        ready: ($now.status.readyReplicas // 0)
      }
    }
'
