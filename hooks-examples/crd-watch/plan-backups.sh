#!/usr/bin/env bash
# Prints the Backup that each SeldonDeployment of the call should have; hookd applies them (server-side apply), which changes
# nothing where all is well already.
#
#   in   .objects.deployments[]  {object: {apiVersion, kind, metadata: {namespace, name, uid}}, value: "no" or another or null}
#        .objects.policies[]     {value: {schedule, keep}}, at most one
#        .events[]               a deployment: its own backup; a backup that was deleted: that one; the policy: all
#   out  manifests of kind Backup
set -euo pipefail

# shellcheck disable=SC2016  # $name is jq's
exec jq -cn '
  (first(inputs) // ("no call on stdin\n" | halt_error(1))) as $call
  | any($call.events[]; .binding == "policies") as $all
  | INDEX($call.events[].object.metadata | select(. != null); "\(.namespace)/\(.name)") as $named
  | ($call.objects.policies[0].value // {}) as $policy
  | $call.objects.deployments[]
  | select(.value != "no")
  | .object
  | select($all or $named["\(.metadata.namespace)/\(.metadata.name)"])
  | {
      apiVersion: "example.com/v1alpha1",
      kind: "Backup",
      metadata: {
        # The deployment owns it: when that goes, the garbage collector of Kubernetes takes the backup too.
        name: .metadata.name, namespace: .metadata.namespace,
        ownerReferences: [{apiVersion, kind, name: .metadata.name, uid: .metadata.uid, controller: true}]
      },
      spec: {
        source: {apiVersion, kind, name: .metadata.name},
        schedule: ($policy.schedule // "0 3 * * *"),
        keep: ($policy.keep // 7)
      }
    }
'
