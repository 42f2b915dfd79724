#!/usr/bin/env bash
# A line in: {"hook":…,"id":"ID",…,"events":[{…,"value":"NAME"}],…}; a line out. No process is started for a call.
# Names and ids need no decoding, so that a pattern is enough; for more than that there is jq, or another language.
while IFS= read -r call; do
  [[ $call =~ \"id\":\"([^\"]+)\" ]] && id=${BASH_REMATCH[1]}
  [[ $call =~ \"value\":\"([^\"]+)\" ]] && name=${BASH_REMATCH[1]}
  printf '{"id":"%s","operations":[{"operation":"Label","apiVersion":"v1","kind":"Namespace","name":"%s",%s}]}\n' \
    "$id" "$name" '"labels":{"owner":"unassigned"}'
done
