#!/usr/bin/env bash
# Everything that guards hookd, with all its set-up, on a fresh Debian 12 machine:
#   tests/run.sh            lint, unit tests under the sanitizers, examples, and the tests on a real cluster and on hookd's
#                           own API server, and of the one beside the other
#   tests/run.sh --fast     the same without the cluster
#   tests/run.sh --bench    the figures of tests/bench instead (release build)
#   tests/run.sh --fuzz [N] every fuzzer of tests/fuzz for N seconds instead (30 unless given)
# Ends with a line "N passed, N failed". Environment: PRESET (default asan) for the build under test.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

mode=all
case "${1:-}" in
  "") ;;
  --fast) mode=fast ;;
  --bench) mode=bench ;;
  --fuzz) mode=fuzz ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

preset=${PRESET:-asan}
passed=0
failed=0
section() { printf '\n=== %s (%s)\n' "$1" "$(date -u +%H:%M:%S)"; }
# A part that cannot even start counts as one failure.
broke() { printf 'FAILED: %s\n' "$1"; failed=$((failed + 1)); }

section "packages"
.ci/install-packages.sh || { broke "installing packages"; echo "$passed passed, $failed failed"; exit 1; }

build() {
  section "build $1"
  cmake --preset "$1" > "build-$1.log" 2>&1 && cmake --build --preset "$1" >> "build-$1.log" 2>&1 && rm -f "build-$1.log" && return 0
  tail -n 60 "build-$1.log"
  return 1
}

if [ "$mode" = bench ]; then
  build bench || exit 1
  section "start of a process"
  build/bench/tests/bench/bench_launch --benchmark_min_time=1
  export HOOKD_BIN=$PWD/build/bench/hookd
  section "the API server inside hookd"
  /usr/bin/python3 tests/bench/bench_embedded.py
  section "the hook runtime"
  /usr/bin/python3 tests/bench/bench_runtime.py
  section "reconcile"
  /usr/bin/python3 tests/bench/bench_reconcile.py
  section "on a real cluster"
  exec /usr/bin/python3 tests/bench/bench_cluster.py
fi

if [ "$mode" = fuzz ]; then
  build fuzz || exit 1
  for fuzzer in build/fuzz/tests/fuzz/fuzz_*; do
    if ! [ -x "$fuzzer" ] || ! [ -f "$fuzzer" ]; then continue; fi
    section "$(basename "$fuzzer")"
    corpus=build/fuzz/corpus/$(basename "$fuzzer")
    mkdir -p "$corpus"
    if "$fuzzer" -max_total_time="${2:-30}" -timeout=20 -rss_limit_mb=4096 -artifact_prefix="$corpus/../" -print_final_stats=1 "$corpus" 2> "$corpus.log"; then
      grep -E 'stat::(number_of_executed_units|new_units_added)' "$corpus.log"
      passed=$((passed + 1))
    else
      tail -n 40 "$corpus.log"
      broke "$(basename "$fuzzer")"
    fi
  done
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" -eq 0 ]
  exit
fi

cluster_build=
if [ "$mode" = all ]; then
  # The API server builds beside hookd: one is bound by the compiler, the other partly by the network.
  tests/cluster/build.sh > build-cluster.log 2>&1 &
  cluster_build=$!
fi

pytests() { # name, then pytest's arguments
  section "$1"
  local name=$1 report code
  report=$(mktemp)
  shift
  /usr/bin/python3 -m pytest -q -p no:cacheprovider --junitxml="$report" "$@"
  code=$?
  local counts tests bad skipped
  counts=$(/usr/bin/python3 - "$report" <<'PY'
import sys, xml.etree.ElementTree as tree
try:
    suites = tree.parse(sys.argv[1]).getroot().iter("testsuite")
    sums = [0, 0, 0]
    for suite in suites:
        sums[0] += int(suite.get("tests", 0))
        sums[1] += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        sums[2] += int(suite.get("skipped", 0))
    print(*sums)
except Exception:
    print(0, 0, 0)
PY
  )
  read -r tests bad skipped <<< "$counts"
  passed=$((passed + tests - bad - skipped))
  failed=$((failed + bad))
  # Also a crash of the runner, and a run that found nothing, is a failure.
  if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then broke "$name: pytest ended with $code"; fi
  rm -f "$report"
}

section "lint"
if tests/lint/run.sh; then passed=$((passed + 1)); else broke "lint"; fi

if build "$preset"; then
  passed=$((passed + 1))
  section "unit tests"
  ctest --preset "$preset" -j "$(nproc)" --output-junit "$PWD/build/$preset/ctest.xml" > "build/$preset/ctest.log" 2>&1
  grep -vE '^ *[0-9]+/[0-9]+ Test .* Passed |^ *Start ' "build/$preset/ctest.log" | tail -n 150
  if [ -s "build/$preset/ctest.xml" ]; then
    read -r tests bad < <(sed -n 's/.*<testsuite.*tests="\([0-9]*\)".*failures="\([0-9]*\)".*/\1 \2/p' <(tr '\n' ' ' < "build/$preset/ctest.xml"))
    passed=$((passed + ${tests:-0} - ${bad:-0}))
    failed=$((failed + ${bad:-0}))
    [ "${tests:-0}" -gt 0 ] || broke "no unit test ran"
  else
    broke "ctest"
  fi
else
  broke "build"
fi

export HOOKD_BIN=$PWD/build/$preset/hookd
pytests "examples and schema" tests/examples tests/lint

if [ "$mode" = all ]; then
  section "build of the API server"
  if wait "$cluster_build"; then
    rm -f build-cluster.log
    pytests "on a real cluster" tests/cluster
    HOOKD_SERVER=embedded pytests "the same on hookd's own API server" tests/cluster
    pytests "hookd's own API server beside the real one" tests/differential
  else
    tail -n 40 build-cluster.log
    broke "build of the API server"
  fi
fi

printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
