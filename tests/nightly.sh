#!/bin/sh
# Everything that the gate leaves out, one step after the other. A step that fails stops no other.
#
#   tests/nightly.sh [STEP]...      default: all of STEPS below, in their order
#
# A step begins when no process of the one before is left: after LEFT_SECONDS (60), they are ended and named.
# Each step's output goes to build/nightly/STEP.log. A table at the end says which steps passed, how
# long each took and where its log is. Exit status 1 if any failed.
set -u
cd "$(dirname "$0")/.." || exit 2
STEPS='all-calls asan tsan long fuzz hostile other-release openapi metrics-check page-check test-duckdb clients test-clients bench soak scale'
logs=build/nightly

# step NAME: the command of a step
step() {
    case $1 in
    # Upgrades are killed at every call, not at every third.
    all-calls) make -j2 test SUITES=migrations_upgrade ALL_CALLS=1 ;;
    # The gate's data lies in memory; here it is on a disk once.
    asan) TMPDIR="${TMPDIR:-/tmp}" make -j2 asan ;;
    tsan) make -j2 tsan-threads ;;
    long) make -j2 long OPERATIONS="${OPERATIONS:-200000}" ;;
    fuzz) make -j2 fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-10}" ;;
    hostile) make -j2 hostile SHORT=1 ;;
    other-release | openapi | metrics-check | page-check | test-duckdb) make -j2 "$1" ;;
    clients | test-clients) timeout --kill-after=30 "${CLIENTS_SECONDS:-7200}" make "$1" ;;
    # Does every section still run? The figures of so few rows mean nothing.
    bench) make bench BENCH_ROWS=20000 BENCH_SECONDS=1 BENCH_CLIENT_ROWS=1000 BENCH_IDLE=100 BENCH_CHANGES=2000 BENCH_HOT_REST=1 BENCH_BUSY=4 BENCH_LEAVE=3 BENCH_BOUNDS=0 ;;
    soak) make soak BENCH_SOAK=5 ;;
    # Default options, 40 million small rows, and 10 GiB of larger ones on top.
    scale) make bench BENCH_ONLY=scale BENCH_SIZES=40000000 ;;
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

# Every process of a step has this in its environment, whatever its group or session.
mark() { # mark STEP
    echo "NIGHTLY_STEP=$$.$1"
}
left_of() { # left_of STEP: the ids of its processes
    grep -lszxF "$(mark "$1")" /proc/[0-9]*/environ | sed 's|^/proc/||; s|/.*||'
}
# A process that is about to run another program shows no environment for a moment.
is_left() { # is_left STEP
    [ -n "$(left_of "$1")" ] || { sleep 0.2 && [ -n "$(left_of "$1")" ]; }
}
end_of() { # end_of SIGNAL STEP
    # shellcheck disable=SC2046
    kill -s "$1" $(left_of "$2") 2> /dev/null
}
await_end() { # await_end STEP
    waited=0
    while is_left "$1"; do
        case $waited in
        "${LEFT_SECONDS:-60}")
            echo "nightly: $1 left processes, which are ended:"
            for pid in $(left_of "$1"); do
                echo "    $pid $(tr '\0' ' ' < "/proc/$pid/cmdline")"
            done
            end_of TERM "$1"
            ;;
        $((${LEFT_SECONDS:-60} + 10))) end_of KILL "$1" ;;
        esac
        waited=$((waited + 1))
        sleep 1
    done
}
stopped() { # stopped STATUS
    trap '' INT TERM HUP
    echo "nightly: stopped during $name"
    end_of TERM "$name"
    LEFT_SECONDS=5
    await_end "$name"
    exit "$1"
}
trap 'stopped 130' INT
trap 'stopped 143' TERM HUP

table=$logs/table
: > "$table"
red=0
for name; do
    began=$(date +%s)
    echo "nightly: $name"
    (export "$(mark "$name")" && step "$name") > "$logs/$name.log" 2>&1 < /dev/null &
    if wait $!; then verdict=passed; else
        verdict=FAILED
        red=1
        tail -n 5 "$logs/$name.log"
    fi
    await_end "$name"
    printf '%-14s %-7s %6d s  %s\n' "$name" "$verdict" $(($(date +%s) - began)) "$logs/$name.log" >> "$table"
done
echo
cat "$table"
exit $red
