#!/usr/bin/env bash
# Is all C++ in daemon and tests as .clang-format says?  --fix makes it so; files may be named.
set -euo pipefail
cd "$(dirname "$0")/../.."

mode=(--dry-run --Werror)
if [ "${1-}" = --fix ]; then
  mode=(-i)
  shift
fi
sources=("$@")
if [ $# -eq 0 ]; then
  while IFS= read -r -d '' file; do
    if [ -f "$file" ]; then sources+=("$file"); fi
  done < <(git ls-files -z --cached --others --exclude-standard -- 'daemon/*.cc' 'daemon/*.h' 'tests/*.cc' 'tests/*.h')
fi
[ ${#sources[@]} -gt 0 ] || exit 0

if [ "${mode[0]}" = -i ]; then
  clang-format-19 -i -- "${sources[@]}"
  exit 0
fi
# One line a file: which lines, --fix and the diff tell.
bad=0
for file in "${sources[@]}"; do
  if ! clang-format-19 "${mode[@]}" -- "$file" >/dev/null 2>&1; then
    echo "$file: not formatted; tests/lint/format.sh --fix $file"
    bad=1
  fi
done
exit "$bad"
