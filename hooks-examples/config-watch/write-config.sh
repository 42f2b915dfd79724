#!/usr/bin/env bash
# Prints the ConfigMap that belongs to the newest state of the file, with what changed in annotations.
#
#   in   .events[].data          {commit, author, subject, file, old, new}: old and new text of the file, or null
#        .objects.current[]      the ConfigMap as it is now, if there is one
#   out  the ConfigMap; a file that went leaves it as it is
set -euo pipefail
: "${CONFIG_MAP:=default/app-config}"

# shellcheck disable=SC2016  # $name is jq's
exec jq -cn --arg namespace "${CONFIG_MAP%%/*}" --arg name "${CONFIG_MAP##*/}" '
  def lines: . // "" | split("\n") | map(select(. != ""));

  (first(inputs) // ("no call on stdin\n" | halt_error(1))) as $call
  | $call.events[-1].data
  | select(.new != null)
  # At the start git cannot say what was before: what the cluster has is the old state.
  | (.old // $call.objects.current[0].object.data[.file]) as $old
  | select($old != .new)
  | {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        $name, $namespace,
        annotations: {
          "config-watch/commit": .commit,
          "config-watch/author": .author,
          "config-watch/subject": .subject,
          "config-watch/changed": ((($old | lines) - (.new | lines) | map("-" + .)) + ((.new | lines) - ($old | lines) | map("+" + .))
                                   | join("\n"))
        }
      },
      data: {(.file): .new}
    }
'
