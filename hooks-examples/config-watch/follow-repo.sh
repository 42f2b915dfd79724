#!/usr/bin/env bash
# Follows one file of a git repository: prints a line of JSON with what it holds at the start, and one for each change
# after that. Runs until it is ended; what goes wrong is said on stderr, and tried again.
#
#   {"commit": "…", "author": "…", "subject": "…", "file": "config.yaml", "old": "…" | null, "new": "…" | null}
#
# old and new are null where there is no such file; old also in the first line, as nothing is known of before.
set -uo pipefail
: "${CONFIG_REPO:?the repository to follow}"
branch=${CONFIG_BRANCH:-main} file=${CONFIG_FILE:-config.yaml} every=${CONFIG_EVERY:-30}

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
git init --quiet --bare "$dir" || exit 1

text() {  # of a blob, as a JSON string; null without one
  if [[ -n $1 ]]; then git -C "$dir" cat-file blob "$1" | jq -Rs .; else echo null; fi
}

first=yes old=
while true; do
  if git -C "$dir" fetch --quiet --no-tags "$CONFIG_REPO" "+refs/heads/$branch:refs/heads/followed"; then
    new=$(git -C "$dir" rev-parse --quiet --verify "followed:$file") || new=
    if [[ -n $first || $new != "$old" ]]; then
      # The commit that touched the file last, not the newest one of the branch.
      IFS=$'\t' read -r commit author subject < <(git -C "$dir" log -1 --format='%H%x09%an%x09%s' followed -- "$file")
      jq -cn --arg commit "${commit:-}" --arg author "${author:-}" --arg subject "${subject:-}" --arg file "$file" \
        --slurpfile old <(text "$old") --slurpfile new <(text "$new") \
        '{commit: $commit, author: $author, subject: $subject, file: $file, old: $old[0], new: $new[0]}'
      first='' old=$new
    fi
  fi
  sleep "$every"
done
