#!/bin/sh
# Run a test program of a build tree: each suite in a process of its own, JOBS of them at once (default:
# two for each processor, because most suites wait as long as they compute, but no more than TMPDIR has
# room for, 256 MiB each). SUITES names some.
# The suites share nothing: each server has its own directory and a port that the kernel chose. Suites
# that tests/longest names are started first, in its order, so that no long one is left alone at the end.
#
# A suite that fails runs a second time, alone, after all others have ended:
#   failed, then failed    red
#   failed, then passed    flaky: named at the end, recorded in TREE/flaky.txt, both logs in TREE/flaky/;
#                          more than FLAKY_MAX (3) of them in a run are red
#   failed with a line that tests/never-flaky lists (a crash, a sanitizer's report, lost or foreign
#                          data, drift of the accounting): red, without a second run
#
# Each suite's output stays in TREE/PROGRAM.logs/, all of it in TREE/PROGRAM.log, in the order of the
# list. The last line adds up the summaries of libcheck; a suite without one fails the run.
#
# CK_TIMEOUT_MULTIPLIER (10) multiplies every bound that a test waits for: a larger one costs nothing
# unless a test hangs. CK_DEFAULT_TIMEOUT (120 s) is libcheck's bound of a test that sets none, and
# SUITE_SECONDS (3600) the bound of a suite.
#
# TMPDIR is where the tests put their data: where nothing names it, in memory (/dev/shm) if 4 GiB are free
# there, so that nothing waits for a disk that others use. The giants of run_check go to /tmp.
#
# On INT, TERM and HUP it ends the suites, waits until they are gone, and says so; killed, it takes them along.
set -u
tree=${1:?usage: tests/run.sh build/VARIANT [run_tests|run_check]}
program=${2:-run_tests}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/environment.sh
. "$here/environment.sh"
free_mib() { # free_mib of memory for files
    df -Pk /dev/shm 2> /dev/null | cat - /proc/meminfo | awk '
        NR == 2 && $6 == "/dev/shm" { least = $4 }
        $1 == "MemAvailable:" && $2 < least { least = $2 }
        END { print int(least / 1024) }'
}
if [ -z "${TMPDIR:-}" ] && [ "$program" != run_check ] && [ -w /dev/shm ] && [ "$(free_mib)" -ge 4096 ]; then
    export TMPDIR=/dev/shm
fi
if [ -z "${JOBS:-}" ]; then
    JOBS=$(df -Pk "${TMPDIR:-/tmp}" | awk -v jobs=$((2 * $(nproc))) '
        NR == 2 { fit = int($4 / 1024 / 256) }
        END { print fit < 1 ? 1 : fit < jobs ? fit : jobs }')
fi
log="$tree/$program.log"
logs="$tree/$program.logs"
export CK_TIMEOUT_MULTIPLIER="${CK_TIMEOUT_MULTIPLIER:-10}" CK_DEFAULT_TIMEOUT="${CK_DEFAULT_TIMEOUT:-120}"
export CK_MAX_MSG_SIZE=65536 # libcheck ends a test whose message is longer, without any
export SUITE_SECONDS="${SUITE_SECONDS:-3600}"
suites=${SUITES:-$("$tree/$program" --list)} || exit 1
total=$(printf '%s\n' $suites | wc -l)
began=$(date +%s)
patterns=$(grep -v '^#' "$here/never-flaky") || { echo "tests/never-flaky lists nothing"; exit 1; }
rm -rf "$logs" && mkdir -p "$logs" || exit 1

# one SUITE: runs it; its output goes to SUITE.log, exit code and seconds to SUITE.end
export TREE_PROGRAM="$tree/$program" LOGS="$logs" TOTAL="$total" BEGAN="$began"
# shellcheck disable=SC2016
one='
    start=$(date +%s)
    setpriv --pdeathsig TERM timeout --foreground -k 10 "$SUITE_SECONDS" "$TREE_PROGRAM" "$1" > "$LOGS/$1.log" 2>&1
    code=$?
    now=$(date +%s)
    echo "$code $((now - start)) $1" > "$LOGS/$1.end"
    ended=$(find "$LOGS" -name "*.end" | wc -l)
    if [ "$code" != 0 ]; then echo "$1 failed (exit $code) after $((now - start)) s"; fi
    if [ "$code" != 0 ] && [ $((now - start)) -ge "$SUITE_SECONDS" ]; then
        echo "$1 was ended: SUITE_SECONDS allows $SUITE_SECONDS s"
    fi
    # Several may end at once, and count no multiple of 25: the first past one says it.
    if [ "$ended" -ge 25 ] && mkdir "$LOGS/ended.$((ended / 25))" 2> /dev/null; then
        echo "$ended of $TOTAL suites, $((now - BEGAN)) s; slowest $(sort -k 2,2nr "$LOGS"/*.end | awk "NR == 1 { print \$3, \$2, \"s\" }")"
    fi'

# run_suites COUNT: those of $logs/names, COUNT at once, in a process group of their own, which `end` can end.
# Each process dies with the one that started it, so that no suite outlives this script if it is killed.
group=
run_suites() {
    setsid setpriv --pdeathsig TERM xargs -P "$1" -n 1 setpriv --pdeathsig TERM sh -c "$one" sh \
        < "$logs/names" &
    group=$!
    wait "$group"
    group=
}

group_is_alive() { # a process of the group has not ended
    cat /proc/[0-9]*/stat 2> /dev/null |
        awk -v group="$group" '{ sub(/.*\) /, "") } $3 == group && $1 != "Z" { n++ } END { exit !n }'
}

end() { # end SIGNAL STATUS
    trap '' INT TERM HUP
    if [ -n "$group" ]; then
        kill -s TERM -- "-$group" 2> /dev/null || kill -TERM "$group" 2> /dev/null
        tries=0
        while group_is_alive && [ $tries -lt 300 ]; do
            tries=$((tries + 1))
            sleep 0.1
        done
        kill -s KILL -- "-$group" 2> /dev/null
    fi
    echo "run.sh: ended by SIG$1, and so are its suites"
    exit "$2"
}
trap 'end INT 130' INT
trap 'end TERM 143' TERM
trap 'end HUP 129' HUP

# shellcheck disable=SC2086
printf '%s\n' $suites | awk '
    NR == FNR { waits[$1] = 1; suite[++n] = $1; next }
    $1 in waits { print $1; delete waits[$1] }
    END { for (i = 1; i <= n; i++) if (suite[i] in waits) print suite[i] }' - "$here/longest" > "$logs/names"
run_suites "$JOBS"

# --- verdicts -----------------------------------------------------------------------------------
failed_in() { # failed_in SUITE: the log has an exit code but 0, or none
    read -r code _ < "$logs/$1.end" 2> /dev/null || code=none
    [ "$code" != 0 ]
}
never_flaky() { # never_flaky SUITE: the log has a line for which a second run would change nothing
    grep -aqE -e "$patterns" "$logs/$1.log"
}
reported() { # reported SUITE: a sanitizer wrote to the log
    grep -aqE 'Sanitizer|runtime error:' "$logs/$1.log"
}

red='' flaky=''
for suite in $suites; do
    if ! failed_in "$suite"; then
        # A sanitizer that only warns leaves the exit code at 0.
        if reported "$suite"; then red="$red $suite"; fi
        continue
    fi
    if never_flaky "$suite"; then
        red="$red $suite"
        continue
    fi
    mv "$logs/$suite.log" "$logs/$suite.first.log"
    echo "$suite runs again, alone"
    echo "$suite" > "$logs/names"
    run_suites 1
    if failed_in "$suite" || reported "$suite"; then
        red="$red $suite"
        continue
    fi
    flaky="$flaky $suite"
    kept="$tree/flaky/$suite.$(date +%Y%m%d-%H%M%S)"
    mkdir -p "$tree/flaky"
    mv "$logs/$suite.first.log" "$kept.first.log"
    cp "$logs/$suite.log" "$kept.second.log"
    echo "$(date '+%Y-%m-%d %H:%M:%S') $suite $kept.first.log $kept.second.log" >> "$tree/flaky.txt"
done

: > "$log"
for suite in $suites; do
    cat "$logs/$suite.log" >> "$log"
done
cat "$logs"/*.end | sort -k 2,2nr | awk -v took=$(($(date +%s) - began)) '
    NR <= 5 { slowest = slowest (NR > 1 ? ", " : "") $3 " " $2 " s" }
    END { print "took " took " s; slowest: " slowest }'

rc=0
for suite in $red; do
    rc=1
    grep -aE ':[FE]:' "$logs/$suite.log" || tail -n 40 "$logs/$suite.log"
    grep -anE 'Sanitizer|runtime error:' "$logs/$suite.log" | head -n 20
    echo "RED $suite: the whole output is in $logs/$suite.log"
done
count=0
for suite in $flaky; do
    count=$((count + 1))
    kept=$(sed -n "s/^[^ ]* [^ ]* $suite \(.*\)/\1/p" "$tree/flaky.txt" | tail -n 1)
    grep -aE ':[FE]:' "${kept%% *}"
    echo "FLAKY $suite: failed, then passed alone: $kept"
done
if [ $count -gt "${FLAKY_MAX:-3}" ]; then
    echo "RED: $count flaky suites, more than ${FLAKY_MAX:-3}"
    rc=1
fi

# Each summary stands at the end of a line, after whatever a test wrote without a line end.
awk -v suites="$total" '
    /[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+$/ {
        sub(/.*%: Checks: /, "")
        split($0, count, /[^0-9]+/)
        n++; checks += count[1]; failures += count[2]; errors += count[3]
    }
    END {
        if (n != suites)
            print suites - n " of " suites " suites have no summary line"
        good = checks - failures - errors
        percent = checks > 0 ? int(100 * good / checks) : 0
        printf "%d%%: Checks: %d, Failures: %d, Errors: %d\n", percent, checks, failures, errors
        exit !(n == suites && checks > 0 && good == checks)
    }' "$log" && exit $rc
exit 1
