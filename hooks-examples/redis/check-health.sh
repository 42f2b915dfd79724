#!/usr/bin/env bash
# Asks every instance of a Redis how it is: first what Kubernetes knows of its pod, and if that runs, the instance itself.
#
#   in   .object             {spec: {replicas, port}, status: {health}}; null when it is gone
#        .related.pods       the pods by name
#        .related.password   the Secret, if it has the label cache.example.com/redis: NAME; without it an instance can only
#                            be seen to be up ("locked")
#   out  {"status": {"health": …, "why": …, "up": …, "instances": [{"name", "state"}]}}, and an Event when the health is
#        another than before. health: Starting until it was Healthy once, then Healthy, Degraded (some are up) or Down
set -euo pipefail

# A line each: the Redis, its password, its pods. No word of them has a space in it.
mapfile -t lines < <(jq -r '. as $call | .object | select(. != null) |
  "\(.metadata.namespace) \(.metadata.name) \(.metadata.uid) \(.spec.replicas) \(.spec.port // 6379) \(.status.health // "Starting")",
  ([$call.related.password[].data.password] | first // ""),
  ($call.related.pods[] | select(.metadata.deletionTimestamp == null)
    | "\(.metadata.name) \(.status.phase // "Pending") \(.status.podIP // "-")")')
(( ${#lines[@]} )) || exit 0   # it was deleted
read -r namespace name uid replicas port before <<<"${lines[0]}"
REDISCLI_AUTH=$(base64 -d <<<"${lines[1]}")   # by the environment: the process list is for all to see
export REDISCLI_AUTH
declare -A pods
for line in "${lines[@]:2}"; do pods[${line%% *}]=${line#* }; done

# PHASE IP -> one word
state_of() {
  local info
  [[ $1 == Running && $2 != - ]] || { echo "${1,,}"; return; }
  info=$(timeout 3 redis-cli -h "$2" -p "$port" info replication 2>&1) || true
  case $info in
    *role:master*) echo master ;;
    *role:slave*master_link_status:up*) echo replica ;;
    *role:slave*) echo masterless ;;
    *LOADING*) echo loading ;;
    *NOAUTH* | *WRONGPASS*) echo locked ;;
    *) echo unreachable ;;
  esac
}

# All at once, so that those that do not answer take three seconds together.
for (( i = 0; i < replicas; i++ )); do
  # shellcheck disable=SC2086  # two words
  state_of ${pods[$name-$i]:-missing -} >"$TMPDIR/$i" &
done
wait

up=0 instances='' why=''
for (( i = 0; i < replicas; i++ )); do
  state=$(<"$TMPDIR/$i")
  case $state in
    master | replica | locked) up=$((up + 1)) ;;
    *) why+="${why:+, }$name-$i is $state" ;;
  esac
  instances+="${instances:+, }{\"name\": \"$name-$i\", \"state\": \"$state\"}"
done
if (( up == replicas )); then health=Healthy
elif [[ $before == Starting ]]; then health=Starting
elif (( up == 0 )); then health=Down
else health=Degraded
fi

# Text of ours and words of Kubernetes' names: nothing that JSON would want escaped.
echo "{\"status\": {\"health\": \"$health\", \"why\": \"$why\", \"up\": $up, \"instances\": [$instances]}}"
if [[ $health != "$before" ]]; then
  [[ $health == Healthy ]] && type=Normal || type=Warning
  echo "{\"operation\": \"Event\", \"type\": \"$type\", \"reason\": \"$health\", \"message\": \"$up of $replicas instances are up${why:+: $why}\",
    \"about\": {\"apiVersion\": \"cache.example.com/v1\", \"kind\": \"Redis\", \"namespace\": \"$namespace\", \"name\": \"$name\", \"uid\": \"$uid\"}}"
fi
