#!/bin/sh
# Makes the program that hook.yaml names.
set -eu
cd "$(dirname "$0")"
exec "${CC:-cc}" -O2 -Wall -Wextra -o own-namespaces own-namespaces.c
