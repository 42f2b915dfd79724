#!/usr/bin/env bash
# Takes a sample of every pod, keeps those of the last WINDOW seconds in the hook's state, and marks the pods that leak.
#
#   in   .objects.pods[]  {object: {apiVersion, kind, metadata: {namespace, name, uid}}, value: {made, mark, limits, restarts}}
#        .state           {UID: {r: restarts of its containers, s: [[seconds since 1970, MiB], …]}}
#        $SAMPLES         a command that prints a PodMetricsList: {items: [{metadata, timestamp, containers: [{usage: {memory}}]}]}
#   out  {"operations": [Annotate, Event, …], "state": …}
#   exit 75: no samples can be had now; nothing is decided, and what was kept stays
#
# A pod leaks if over the window (eight samples at least, over four fifths of it)
#   - it grows by GROWTH or more: the median of the slopes between any two samples, which a spike does not move,
#   - it grows nearly always: of any two samples the later one is larger, but for one pair in seven,
#   - it is large: the median of its last three samples is at the floor or above.
# A restart of one of its containers begins anew: its memory is another one, and a mark is taken away.
set -euo pipefail

call=$(cat)
list=$(bash -c "$SAMPLES") || { echo "no samples: '$SAMPLES' ended with exit code $?" >&2; exit 75; }
# Through pipes, not as arguments: they may be large.
# shellcheck disable=SC2016  # $name is jq's
exec jq -cn --slurpfile calls <(printf '%s' "$call") --rawfile list <(printf '%s' "$list") '
  def unit: {"": 1, m: 0.001, k: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 1024, Mi: 1048576, Gi: 1073741824, Ti: 1099511627776}[.];
  # A quantity as Kubernetes writes it -> MiB.
  def mib: capture("^(?<n>[0-9.]+([eE][0-9]+)?)(?<unit>[a-zA-Z]*)$") | (.n | tonumber) * (.unit | unit) / 1048576;
  def seconds: sub("\\.[0-9]+"; "") | fromdateiso8601;
  def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
  def tenths: . * 10 | round / 10;
  def number($name): env[$name] | tonumber;

  # [[t, MiB], …] -> {slope: MiB a minute, rising: -1 to 1, level: MiB}; null = too few to tell.
  def trend:
    if length < 8 or .[-1][0] - .[0][0] < 0.8 * number("WINDOW") then null
    else
      . as $s
      | [range(1; length) as $j | range($j) as $i | {d: ($s[$j][1] - $s[$i][1]), t: ($s[$j][0] - $s[$i][0])}]
      | {
          slope: (map(60 * .d / .t) | median),
          rising: ((map(if .d > 0 then 1 elif .d < 0 then -1 else 0 end) | add) / length),
          level: ($s[-3:] | map(.[1]) | median)
        }
    end;
  def floor_of($pod):
    if ($pod.limits | length) > 0 and all($pod.limits[]; . != null)
    then ($pod.limits | map(mib) | add) * number("FLOOR_PERCENT") / 100
    else number("FLOOR_MIB") end;

  ((try ($list | fromjson | .items | arrays) catch null)
   // ("no samples: \(env.SAMPLES | tojson) printed no PodMetricsList\n" | halt_error(75))) as $items
  | INDEX($items[]; "\(.metadata.namespace)/\(.metadata.name)") as $sample_of
  | ($calls[0].state // {}) as $before
  | [
      $calls[0].objects.pods[]
      | .value as $pod
      | .object as $object
      | ($before[$object.metadata.uid] // {r: $pod.restarts, s: []}) as $kept
      | (if $kept.r == $pod.restarts then $kept.s else [] end) as $old
      | $sample_of["\($object.metadata.namespace)/\($object.metadata.name)"] as $sample
      | ([$sample.containers[]?.usage.memory | mib?] | add) as $memory
      # Each sample counts once, however often it is read, and one of a namesake from before this pod never.
      | (if $memory == null or ($sample.timestamp | seconds) <= ($old[-1][0] // ($pod.made | seconds - 1)) then $old
         else $old + [[($sample.timestamp | seconds), ($memory | tenths)]] end) as $all
      | [$all[] | select(.[0] >= $all[-1][0] - number("WINDOW"))][-64:] as $s
      | {object: $object, pod: $pod, s: $s, restarted: ($kept.r != $pod.restarts), trend: ($s | trend), floor: floor_of($pod)}
    ] as $seen
  | {
      operations: [
        $seen[]
        | .object as {$apiVersion, $kind, $metadata}
        | {operation: "Annotate", $apiVersion, $kind, namespace: $metadata.namespace, name: $metadata.name, uid: $metadata.uid} as $annotate
        | .trend as $t
        | ($t != null and $t.slope >= number("GROWTH") and $t.rising >= 0.7 and $t.level >= .floor) as $leaks
        | if $leaks and .pod.mark == null then
            "its memory grows by \($t.slope | tenths) MiB a minute and is \($t.level | round) MiB" as $why
            | $annotate + {annotations: {"example.com/memory-leak": $why}},
              {operation: "Event", type: "Warning", reason: "MemoryLeak", message: "It leaks: \($why)",
               about: ({$apiVersion, $kind} + ($metadata | {namespace, name, uid}))}
          elif .pod.mark != null and (.restarted or ($t != null and $t.level < .floor)) then
            $annotate + {annotations: {"example.com/memory-leak": null}}
          else empty end
      ],
      state: (reduce $seen[] as $one ({}; .[$one.object.metadata.uid] = {r: $one.pod.restarts, s: $one.s}))
    }
'
