#!/usr/bin/env bash
# Makes the folder $FOLDER hold one NAME.html for each ConfigMap of the call, and no other.
#
#   in   .objects.pages[]  {object: {metadata: {name}}, value: the page as text, or null}
#   out  nothing: no operation
#
# Every call makes the whole folder right, whatever the event was. A reader never sees half a page: written beside, then
# renamed. Base64 carries the text past the shell, which would lose its line ends.
set -euo pipefail
cd "$FOLDER"

pages=$(jq -nr '(first(inputs) // ("no call on stdin\n" | halt_error(1))).objects.pages[]
  | select(.value | type == "string") | "\(.object.metadata.name) \(.value | @base64)"')

declare -A wanted=()
while read -r name text; do
  [ -n "$name" ] || continue
  wanted["$name.html"]=1
  base64 -d <<<"$text" >".$name.new"
  mv -- ".$name.new" "$name.html"
done <<<"$pages"

for file in *.html; do
  if [ -e "$file" ] && [ -z "${wanted[$file]-}" ]; then rm -- "$file"; fi
done
echo "${#wanted[@]} page(s)" >&2
