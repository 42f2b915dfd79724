#!/usr/bin/env bash
# Both variants of statefulset-force-delete: reads a call, prints a Delete and an Event for each pod that must go.
#
#   in   .objects.stuck[]  pods 30 s past the end of their grace period:
#                          {object: {metadata: {namespace, name, uid}}, value: {node, end, grace, owners}}
#        .objects.nodes[]  every node: {object: {metadata: {name}}, value: [keys of its NoExecute taints]}
#        .events[]         what happened: a pod (stuck), a node (nodes), or a tick of the schedule
#   out  {"operation":"Delete",…,"gracePeriodSeconds":0,"uid":…} and {"operation":"Event",…} for each, one a line
#   exit 0; 78 if hook.yaml does not hand over what the rule needs (never guess: an absent list is not an empty one)
#
# Only what stands in the snapshots is acted upon, never the event's own object: a call that waited for its turn, or is
# tried again an hour later, decides on how things are by then. One jq for a call; it takes the place of this shell.
set -euo pipefail

# shellcheck disable=SC2016  # $name is jq's
exec jq -cn '
  def snapshot($name):
    .objects[$name]
    | if type == "array" then .
      else "the call has no snapshot \"\($name)\": name it in `include` of every binding\n" | halt_error(78) end;

  # The StatefulSet that controls the pod; null = another controller or none. Kinds of the same name in other groups
  # (there are some) have controllers of their own.
  def stateful_set:
    [.value.owners[]? | select(.controller == true and .kind == "StatefulSet" and (.apiVersion // "" | startswith("apps/")))][0];

  # Why the node cannot end the pod any more; null = it can.
  def trouble($nodes):
    .value.node as $name
    | if $nodes[$name] == null then "does not exist any more"
      else $nodes[$name].value // [] | if length == 0 then null else "has the taint \(map(. + ":NoExecute") | join(", "))" end
      end;

  (first(inputs) // ("no call on stdin\n" | halt_error(1))) as $call
  | ($call | snapshot("stuck")) as $stuck
  | INDEX($call | snapshot("nodes")[]; .object.metadata.name) as $nodes
  | any($call.events[]; .type == "Schedule") as $all
  | INDEX($call.events[] | select(.binding == "stuck"); .object.metadata.uid) as $pods
  | INDEX($call.events[] | select(.binding == "nodes"); .object.metadata.name) as $changed
  | $stuck[]
  | select((.value.node // "") != "" and .value.end != null)
  # Grace 0: its forced deletion was asked for already, it waits for its finalizers alone.
  | select(.value.grace != 0)
  | select($all or $pods[.object.metadata.uid] or $changed[.value.node])
  | stateful_set as $set
  | select($set != null)
  | trouble($nodes) as $why
  | select($why != null)
  | .value as $pod
  | .object.metadata
  | {operation: "Delete", apiVersion: "v1", kind: "Pod", namespace, name, uid, gracePeriodSeconds: 0},
    {operation: "Event", type: "Warning", reason: "ForceDeleted",
     about: {apiVersion: $set.apiVersion, kind: $set.kind, namespace, name: $set.name, uid: $set.uid},
     message: "Force-deleted pod \(.name) (uid \(.uid)), which should have ended by \($pod.end): its node \($pod.node) \($why)"}
'
