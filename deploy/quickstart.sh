#!/usr/bin/env bash
# From nothing to a hook at work, without a cluster, in one command: installs what a build needs (Debian 12, with sudo if
# you are not root), builds hookd, and plays an example on the API server inside it.
#   deploy/quickstart.sh                                   the hook that force-deletes pods stuck on lost nodes
#   deploy/quickstart.sh hooks-examples/crd-watch          another folder with hooks
# The first time it takes some minutes, most of them the compiler's; after that, seconds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

example=${1:-hooks-examples/statefulset-force-delete/event-driven}
if ! [ -d "$example" ]; then
  echo "quickstart: no folder $example; give one with hooks in it, as hooks-examples/crd-watch" >&2
  exit 2
fi

log=$(mktemp "${TMPDIR:-/tmp}/hookd-quickstart.XXXXXX")
trap 'rm -f "$log"' EXIT
step() { # what is being done, then the command
  printf '%s ...' "$1"
  local begin=$SECONDS
  shift
  if ! "$@" > "$log" 2>&1; then
    printf ' failed. The end of its output:\n'
    tail -n 40 "$log"
    exit 1
  fi
  printf ' done (%d s)\n' $((SECONDS - begin))
}
step "Installing packages" .ci/install-packages.sh build
step "Installing what hooks use" .ci/install-packages.sh runtime
step "Building hookd (some minutes the first time)" .ci/build release

printf '\nPlaying %s, with time 20 times as fast:\n\n' "$example"
build/release/hookd play "$example" --speed 20 --exit
cat <<TEXT

That was the whole of it: a script, a few lines of YAML, and hookd. What to look at next:
  $example                              the hook: hook.yaml and its script
  build/release/hookd play $example     the same in real time; it stays up for kubectl
  build/release/hookd test hooks-examples   the tests of the hooks
TEXT
