#!/usr/bin/env bash
# Looks once at the file that a MonitoredService is configured with, and says what it holds now if that is something else
# than its status says. What was seen last stands in the status, so nothing is forgotten when hookd is restarted, and
# nothing is kept on a disk.
#
#   in   .object   {metadata: {generation}, spec: {configRepo, configBranch, configFile},
#                   status: {commit, config, observedGeneration}}; null when it is gone
#   out  nothing, if the branch has no new commit
#        {"status": {"commit": …, "config": the file's git id, "podSpec": …, "configChanged": true}, …}
#   exit 75: git cannot reach the repository, or the file is not there; tried again later, the last config stays
set -euo pipefail
later() { echo "$*" >&2; exit 75; }

# One value a line: the CRD's patterns let no white space into any of them.
mapfile -t values < <(jq -r '.object | select(. != null) |
  .metadata.name, .metadata.namespace, .metadata.uid, .metadata.generation,
  .spec.configRepo, .spec.configBranch // "main", .spec.configFile // "pod.yaml",
  .status.commit // "", .status.config // "", .status.observedGeneration // 0, (.status.podSpec // {} | tojson)')
(( ${#values[@]} )) || exit 0   # it was deleted: nothing is left to look at
name=${values[0]} namespace=${values[1]} uid=${values[2]} generation=${values[3]}
repo=${values[4]} branch=${values[5]} file=${values[6]}
old_commit=${values[7]} old_config=${values[8]} old_generation=${values[9]} old_pod=${values[10]}

# Cheap: asks only where the branch is. Most looks end here.
head=$(timeout 20 git ls-remote --exit-code -- "$repo" "refs/heads/$branch") || later "$repo has no branch $branch, or cannot be reached"
commit=${head%%[[:space:]]*}
[[ $commit != "$old_commit" || $generation != "$old_generation" ]] || exit 0

# The newest commit alone, into the folder that hookd gives each call and removes afterwards.
cd "$TMPDIR"
git init --quiet --bare .
timeout 35 git fetch --quiet --depth 1 --no-tags -- "$repo" "refs/heads/$branch" || later "$repo: the fetch of $branch failed"
commit=$(git rev-parse FETCH_HEAD)
config=$(git rev-parse --quiet --verify "FETCH_HEAD:$file") || later "$repo has no file $file in commit $commit"

if [[ $config == "$old_config" ]]; then   # a commit that changed something else
  cat <<END
{"status": {"commit": "$commit", "config": "$config", "observedGeneration": $generation, "podSpec": $old_pod}}
END
else                                      # the answer is YAML, so that the file can stand in it as it is
  cat <<END
---
status:
  commit: "$commit"
  config: "$config"
  observedGeneration: $generation
  configChanged: true
  podSpec:
$(git cat-file blob "$config" | sed 's/^/    /')
operations:
  - operation: Event
    about: {apiVersion: config.example.com/v1, kind: MonitoredService, namespace: "$namespace", name: "$name", uid: "$uid"}
    type: Normal
    reason: ConfigChanged
    message: "$file of commit $commit is rolled out"
END
fi
