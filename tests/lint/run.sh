#!/usr/bin/env bash
# Every check of the sources that needs no build. Exit code 1 if one found something; each says what.
set -uo pipefail
cd "$(dirname "$0")" || exit

# Another Python earlier in PATH would lack Debian's python3-yaml and python3-jsonschema.
python=(/usr/bin/python3 -B)
failed=()
check() {
  local name=$1 output status
  shift
  output=$("$@" 2>&1)
  status=$?
  if [ "$status" -eq 0 ]; then
    echo "ok      $name"
  else
    echo "FAILED  $name"
    failed+=("$name")
  fi
  if [ -n "$output" ]; then awk '{ print "        " $0 }' <<<"$output"; fi
}

check selftest "${python[@]}" selftest.py
for name in layers file_size coawait no_sleep words hooks_configmap; do
  check "$name" "${python[@]}" "$name.py"
done
if [ -e schema_test.py ]; then check schema "${python[@]}" schema_test.py; fi
check shell ./shell.sh
check format ./format.sh

if [ ${#failed[@]} -gt 0 ]; then
  echo "${#failed[@]} check(s) failed: ${failed[*]}"
  exit 1
fi
