#!/usr/bin/env bash
# Installs every Debian package that building, testing and linting hookd needs. The one list; README.md,
# tests/run.sh and deploy/Dockerfile all use it. Debian 12 (bookworm); run as root or with sudo.
#   .ci/install-packages.sh           build and test
#   .ci/install-packages.sh build     only what a build needs
#   .ci/install-packages.sh runtime   only the shared libraries and programs that a built hookd needs
set -euo pipefail

build=(g++ cmake ninja-build ccache pkg-config git ca-certificates
  libboost1.81-dev libboost-filesystem1.81-dev libcurl4-openssl-dev libssl-dev libyaml-cpp-dev libfmt-dev
  libspdlog-dev libcli11-dev libsimdjson-dev libjq-dev libonig-dev libzstd-dev libsqlite3-dev libxxhash-dev
  prometheus-cpp-dev libhowardhinnant-date-dev libmimalloc-dev tzdata)
tests=(libgtest-dev libgmock-dev libbenchmark-dev python3 python3-pytest python3-yaml python3-jsonschema python3-venv zsh
  clang-format-19 clang-tidy-19 clang-19 libclang-rt-19-dev shellcheck jq openssl procps curl redis-server)
runtime=(libboost-filesystem1.81.0 libcurl4 libssl3 libyaml-cpp0.7 libfmt9 libspdlog1.10 libsimdjson14 libjq1
  libzstd1 libsqlite3-0 libprometheus-cpp-core1.0 libdate-tz3 libmimalloc2.0 tzdata ca-certificates bash jq)

case "${1:-all}" in
  all) packages=("${build[@]}" "${tests[@]}") ;;
  build) packages=("${build[@]}") ;;
  runtime) packages=("${runtime[@]}") ;;
  *) echo "usage: $0 [all|build|runtime]" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
