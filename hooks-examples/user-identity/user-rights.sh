#!/usr/bin/env bash
# What a UserIdentity should have, all of it: what it has besides, as in the team of before, hookd deletes.
#
#   in   .object    UserIdentity: metadata.name, spec {team: a namespace, access: read | write}
#        .children  {"ServiceAccount.v1": {"NAMESPACE/NAME": {…}}, …}: what hookd made for it so far
#   out  {"children": [ServiceAccount, Role, RoleBinding], "status": {account}}
#
# Two steps: nobody is given rights before the account is the identity's own. One of that name that belongs to somebody else is a
# conflict, which hookd reports and leaves alone, and so the role stays without a binding.
set -euo pipefail

# shellcheck disable=SC2016  # $name is jq's
exec jq -cn '
  (first(inputs) // ("no call on stdin\n" | halt_error(1))) as $call
  | $call.object
  | select(. != null)   # null: it is gone, and what it had goes with it
  | .metadata.name as $user
  | .spec as {$team, $access}
  | {namespace: $team, labels: {"example.com/user": $user}} as $meta
  | ($call.children["ServiceAccount.v1"] | has("\($team)/\($user)")) as $ready
  | (if $ready then {} else {requeueAfter: "1s"} end) + {
      status: {account: (if $ready then "\($team)/\($user)" else null end)},
      children: [
        {apiVersion: "v1", kind: "ServiceAccount", metadata: ($meta + {name: $user})},
        {
          apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: ($meta + {name: "user-\($user)"}),
          rules: [{
            apiGroups: ["", "apps"], resources: ["pods", "pods/log", "services", "configmaps", "deployments"],
            verbs: (["get", "list", "watch"] + if $access == "write" then ["create", "update", "patch", "delete"] else [] end)
          }]
        },
        if $ready | not then empty else {
          apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: ($meta + {name: "user-\($user)"}),
          roleRef: {apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "user-\($user)"},
          subjects: [{kind: "ServiceAccount", name: $user, namespace: $team}]
        } end
      ]
    }
'
