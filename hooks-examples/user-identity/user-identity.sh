#!/usr/bin/env bash
# Makes an identity of a user that was published, and takes the identity of one that left.
#
#   in   .events[].data  {"name": "ann", "team": "shop", "access": "read" | "write", "email": "…"}
#                        {"name": "ann", "deleted": true}
#   out  UserIdentity, or a Delete of it
#   exit 65: the message makes no sense and will not, however often it is tried
set -uo pipefail

# shellcheck disable=SC2016  # $name is jq's
jq -cn '
  def named: type == "string" and test("^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$");

  (first(inputs) // ("no call on stdin\n" | halt_error(1)))
  | .events[].data
  | if (.name | named | not) then error("\(tojson) has no name that Kubernetes takes") else . end
  | if .deleted then
      {operation: "Delete", kind: "UserIdentity", apiVersion: "identity.example.com/v1", name, ignoreMissingObject: true}
    elif (.team | named | not) or (.access | IN("read", "write") | not) then
      error("\(.name): a team and access (read or write) are needed")
    else
      {
        apiVersion: "identity.example.com/v1", kind: "UserIdentity", metadata: {name},
        spec: ({team, access, email} | with_entries(select(.value != null)))
      }
    end
' || exit 65
