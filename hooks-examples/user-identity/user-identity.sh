#!/usr/bin/env bash
# Prints what a user that was published should have, and deletes what a user has no more.
#
#   in   .events[].data         {"name": "ann", "team": "shop", "access": "read" | "write", "email": "…"}
#                               {"name": "ann", "deleted": true}
#        .objects.known[]       {object: {metadata: {name}}, value: the team's namespace}: who is there already
#   out  UserIdentity, ServiceAccount, Role and RoleBinding; Delete operations
#   exit 65: the message makes no sense and will not, however often it is tried
set -uo pipefail

# shellcheck disable=SC2016  # $name is jq's
jq -cn '
  def named: type == "string" and test("^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$");
  def gone($kind; $version; $team; $name):
    {operation: "Delete", kind: $kind, apiVersion: $version, namespace: $team, name: $name, ignoreMissingObject: true};
  def all_gone($team; $name):
    gone("RoleBinding"; "rbac.authorization.k8s.io/v1"; $team; "user-\($name)"),
    gone("Role"; "rbac.authorization.k8s.io/v1"; $team; "user-\($name)"),
    gone("ServiceAccount"; "v1"; $team; $name);

  (first(inputs) // ("no call on stdin\n" | halt_error(1))) as $call
  | ($call.objects.known | INDEX(.object.metadata.name) | map_values(.value)) as $team_of
  | $call.events[].data
  | if (.name | named | not) then error("\(tojson) has no name that Kubernetes takes") else . end
  | if .deleted then
      (if $team_of[.name] then all_gone($team_of[.name]; .name) else empty end),
      {operation: "Delete", kind: "UserIdentity", apiVersion: "identity.example.com/v1", name, ignoreMissingObject: true}
    elif (.team | named | not) or (.access | IN("read", "write") | not) then
      error("\(.name): a team and access (read or write) are needed")
    else
      . as $user
      | {namespace: .team, labels: {"example.com/user": .name}} as $meta
      # Into another team: what the user had in the old one goes.
      | (if $team_of[.name] and $team_of[.name] != .team then all_gone($team_of[.name]; .name) else empty end),
        {
          apiVersion: "identity.example.com/v1", kind: "UserIdentity", metadata: {name},
          spec: ({team, access, email} | with_entries(select(.value != null)))
        },
        {apiVersion: "v1", kind: "ServiceAccount", metadata: ($meta + {name})},
        {
          apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: ($meta + {name: "user-\(.name)"}),
          rules: [{
            apiGroups: ["", "apps"], resources: ["pods", "pods/log", "services", "configmaps", "deployments"],
            verbs: (["get", "list", "watch"] + if .access == "write" then ["create", "update", "patch", "delete"] else [] end)
          }]
        },
        {
          apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: ($meta + {name: "user-\(.name)"}),
          roleRef: {apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "user-\(.name)"},
          subjects: [{kind: "ServiceAccount", name: $user.name, namespace: .team}]
        }
    end
' || exit 65
