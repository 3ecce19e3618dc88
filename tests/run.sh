#!/bin/sh
# Run a test program of a build tree: each suite in a process of its own, JOBS of them at once (default:
# two for each processor, for most suites wait as long as they compute). CK_RUN_SUITE names a single one.
# The suites share nothing: each server has its own directory and a port the kernel chose. Those that
# tests/longest names are started first, in its order, so that no long one is left alone at the end.
#
# What they wrote stays in build/VARIANT/PROGRAM.log, in the order of the list. The last line sums up
# Check's own summaries; a suite without one, or with an exit code but 0, fails the run.
set -u
tree=${1:?usage: tests/run.sh build/VARIANT [run_tests|run_check]}
program=${2:-run_tests}
log="$tree/$program.log"
logs="$tree/$program.logs"
rm -rf "$logs" && mkdir "$logs" || exit 1
suites=${CK_RUN_SUITE:-$("$tree/$program" --list)} || exit 1

# shellcheck disable=SC2016
printf '%s\n' $suites | awk '
    NR == FNR { waits[$1] = 1; suite[++n] = $1; next }
    $1 in waits { print $1; delete waits[$1] }
    END { for (i = 1; i <= n; i++) if (suite[i] in waits) print suite[i] }' - "$(dirname "$0")/longest" |
    xargs -P "${JOBS:-$((2 * $(nproc)))}" -n 1 sh -c '
    start=$(date +%s)
    "$0" "$2" > "$1/$2.log" 2>&1
    echo "$? $(($(date +%s) - start)) $2" > "$1/$2.end"' "$tree/$program" "$logs"

rc=0
: > "$log"
for suite in $suites; do
    cat "$logs/$suite.log" >> "$log"
    read -r code _ < "$logs/$suite.end" || code=none
    [ "$code" = 0 ] && continue
    rc=1
    grep -E ':[FE]:' "$logs/$suite.log" || tail -n 40 "$logs/$suite.log"
    grep -nE 'Sanitizer|runtime error' "$logs/$suite.log" | head -n 20
    echo "$suite failed (exit $code); the whole output is in $logs/$suite.log"
done
if grep -qE 'WARNING: ThreadSanitizer|ERROR: AddressSanitizer|ERROR: LeakSanitizer' "$log"; then
    echo "a sanitizer reported; see $log"
    rc=1
fi
cat "$logs"/*.end | sort -k 2,2nr | awk '
    NR <= 5 { slowest = slowest (NR > 1 ? ", " : "") $3 " " $2 " s" }
    END { print "slowest: " slowest }'
# Each summary stands at the end of a line, behind whatever a test wrote without one.
# shellcheck disable=SC2086
awk -v suites="$(printf '%s\n' $suites | wc -l)" '
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
