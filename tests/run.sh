#!/bin/sh
# Run a test program of a build tree; end with Check's summary line, fail unless it is there.
set -u
tree=${1:?usage: tests/run.sh build/VARIANT [run_tests|run_check]}
program=${2:-run_tests}
log="$tree/$program.log"
"$tree/$program" > "$log" 2>&1
rc=$?
grep -E ':[FE]:' "$log"
summary=$(grep -E '^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+' "$log" | tail -n 1)
if [ $rc -ne 0 ] || [ -z "$summary" ]; then
    [ -n "$summary" ] || tail -n 40 "$log"
    grep -nE 'Sanitizer|runtime error' "$log" | head -n 20
    echo "tests failed (exit $rc); the whole output is in $log"
fi
if grep -qE 'WARNING: ThreadSanitizer|ERROR: AddressSanitizer|ERROR: LeakSanitizer' "$log"; then
    echo "a sanitizer reported; see $log"
    rc=1
fi
echo "${summary:-no summary line}"
[ -n "$summary" ] && exit $rc
exit 1
