#!/bin/sh
# Everything that the gate leaves out, one step after the other. A step that fails stops no other.
#
#   tests/nightly.sh [STEP]...      default: all of STEPS below, in their order
#
# Each step's output goes to build/nightly/STEP.log. A table at the end says which steps passed, how
# long each took and where its log is. Exit status 1 if any failed.
set -u
cd "$(dirname "$0")/.." || exit 2
STEPS='asan tsan long fuzz hostile openapi metrics-check test-duckdb clients test-clients bench'
logs=build/nightly

# step NAME: the command of a step
step() {
    case $1 in
    asan) make -j2 asan ;;
    tsan) make -j2 tsan-threads ;;
    long) make -j2 long OPERATIONS="${OPERATIONS:-200000}" ;;
    fuzz) make -j2 fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-10}" ;;
    hostile) make -j2 hostile SHORT=1 ;;
    openapi | metrics-check | test-duckdb) make -j2 "$1" ;;
    clients | test-clients) timeout --kill-after=30 "${CLIENTS_SECONDS:-7200}" make "$1" ;;
    # Does every section still run? The figures of so few rows mean nothing.
    bench) make bench BENCH_ROWS=20000 BENCH_SECONDS=1 BENCH_CLIENT_ROWS=1000 BENCH_IDLE=100 BENCH_BOUNDS=0 ;;
    *) return 2 ;;
    esac
}

[ $# -gt 0 ] || set -- $STEPS
for name; do
    case " $STEPS " in
    *" $name "*) ;;
    *) echo "nightly: there is no step \"$name\"; there are: $STEPS" >&2 && exit 2 ;;
    esac
done
mkdir -p "$logs" || exit 2
table=$logs/table
: > "$table"
red=0
for name; do
    began=$(date +%s)
    echo "nightly: $name"
    if step "$name" > "$logs/$name.log" 2>&1 < /dev/null; then verdict=passed; else
        verdict=FAILED
        red=1
        tail -n 5 "$logs/$name.log"
    fi
    printf '%-14s %-7s %6d s  %s\n' "$name" "$verdict" $(($(date +%s) - began)) "$logs/$name.log" >> "$table"
done
echo
cat "$table"
exit $red
