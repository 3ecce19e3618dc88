#!/bin/sh
# See that run.sh gives each verdict that it must, and that nightly.sh goes on after a failed step.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT INT TERM
failed=0
cases=0
unset SUITES JOBS SUITE_SECONDS FLAKY_MAX

# A program of suites that behave as their names say; `once` is there after a suite's first run.
program() {
    rm -rf "$work/tree" && mkdir "$work/tree" || exit 2
    cat > "$work/tree/run_tests" << 'PROGRAM'
#!/bin/sh
dir=$(dirname "$0")
[ "$1" = --list ] && cat "$dir/suites" && exit
second=
[ -f "$dir/once.$1" ] && second=1
: > "$dir/once.$1"
failure() {
    echo "tests/x.c:1:F:case:$1:0: $2"
    echo "50%: Checks: 2, Failures: 1, Errors: 0"
    exit 1
}
case $1 in
bad) failure bad 'it is wrong' ;;
flaky*) [ "$second" ] || failure "$1" 'too slow' ;;
crash) [ "$second" ] || failure crash '(after this point) Received signal 11 (Segmentation fault)' ;;
server_crash) [ "$second" ] || failure server_crash 'bigtentd ended with 134 after SIGTERM' ;;
lost_row) [ "$second" ] || failure lost_row 'DATA: row 7 was acknowledged and lost' ;;
drift) [ "$second" ] || failure drift 'DATA: counters drifted: 1 rows' ;;
asan) [ "$second" ] || { echo '==1==ERROR: AddressSanitizer: heap-use-after-free' && failure asan 'Early exit' ; } ;;
tsan_warns) [ "$second" ] || echo 'WARNING: ThreadSanitizer: data race' ;;
ubsan) [ "$second" ] || { echo 'x.c:1:2: runtime error: signed integer overflow' && failure ubsan 'Early exit'; } ;;
hang) sleep 60 ;;
sleeps) echo $$ > "$dir/pid" && exec sleep 60 ;;
silent) exit 0 ;;
where) echo "data in ${TMPDIR:-/tmp}" ;;
esac
echo "100%: Checks: 2, Failures: 0, Errors: 0"
PROGRAM
    chmod +x "$work/tree/run_tests"
    printf '%s\n' "$@" > "$work/tree/suites"
}

# expect STATUS PATTERN SUITE...: how a run of these suites ends, and a line that it prints
expect() {
    cases=$((cases + 1))
    want=$1
    pattern=$2
    shift 2
    program "$@"
    "$here/run.sh" "$work/tree" > "$work/out" 2>&1
    got=$?
    if [ $got -ne "$want" ] || ! grep -qE -e "$pattern" "$work/out"; then
        echo "run.sh on \"$*\": expected status $want and \"$pattern\"; got $got:"
        sed 's/^/    /' "$work/out"
        failed=$((failed + 1))
    fi
}

runs() { # runs SUITE COUNT: how often it was started
    cases=$((cases + 1))
    count=$(grep -cE "^$1 (failed|runs again)" "$work/out")
    if [ "$count" != "$2" ]; then
        echo "run.sh said of $1: $count lines, not $2"
        failed=$((failed + 1))
    fi
}

expect 0 '^100%: Checks: 4, Failures: 0, Errors: 0$' good fine
expect 1 '^RED bad: ' good bad
runs bad 3 # failed, runs again, failed
expect 0 '^FLAKY flaky: ' good flaky
cases=$((cases + 1))
first=$(awk '{ print $4 }' "$work/tree/flaky.txt")
second=$(awk '{ print $5 }' "$work/tree/flaky.txt")
if ! grep -q 'too slow' "$first" || ! grep -q '^100%' "$second"; then
    echo "flaky.txt does not name both logs: $(cat "$work/tree/flaky.txt")"
    failed=$((failed + 1))
fi
expect 0 '^FLAKY flaky3: ' flaky1 flaky2 flaky3
expect 1 '^RED: 4 flaky suites' flaky1 flaky2 flaky3 flaky4
for suite in crash server_crash lost_row drift asan ubsan; do
    expect 1 "^RED $suite: " good $suite
    runs $suite 1
done
expect 1 '^RED tsan_warns: ' good tsan_warns
expect 1 '^1 of 2 suites have no summary line' good silent
SUITE_SECONDS=1
export SUITE_SECONDS
expect 1 '^RED hang: ' good hang
cases=$((cases + 1))
if ! grep -q '^hang was ended: SUITE_SECONDS allows 1 s$' "$work/out"; then
    echo "run.sh does not name the bound of a suite that it ended"
    failed=$((failed + 1))
fi
unset SUITE_SECONDS

# --- progress: a line for each 25 suites that have ended, and for each that failed -----------------
many=
for n in 1 2 3 4 5; do
    many="$many good${n}a good${n}b good${n}c good${n}d good${n}e good${n}f"
done
# shellcheck disable=SC2086
expect 0 '^(2[5-9]|30) of 30 suites, [0-9]+ s; slowest good' $many
expect 1 '^bad failed \(exit 1\) after [0-9]+ s$' good bad

# --- where the data lies: a name that was given stays ------------------------------------------------
export TMPDIR="$work"
expect 0 '^100%' where
unset TMPDIR
cases=$((cases + 1))
if ! grep -qx "data in $work" "$work/tree/run_tests.logs/where.log"; then
    echo "run.sh does not keep TMPDIR"
    failed=$((failed + 1))
fi
expect 0 '^100%' where
cases=$((cases + 1))
if ! grep -qxE 'data in /(tmp|dev/shm)' "$work/tree/run_tests.logs/where.log"; then
    echo "run.sh without TMPDIR: $(cat "$work/tree/run_tests.logs/where.log")"
    failed=$((failed + 1))
fi

# --- signals: a suite does not outlive run.sh ------------------------------------------------------
is_running() { # a process that has not ended; an orphan may stay a zombie
    grep -q '^State:[[:space:]]*[^ZX]' "/proc/$1/status" 2> /dev/null
}
ends_on() { # ends_on SIGNAL STATUS: in a session of its own, as a terminal would have it
    cases=$((cases + 1))
    program good sleeps
    # shellcheck disable=SC2016
    setsid env --default-signal=INT sh -c '"$0" "$1" > "$2" 2>&1; echo $? > "$2.status"' \
        "$here/run.sh" "$work/tree" "$work/out" &
    session=$!
    tries=0
    until [ -s "$work/tree/pid" ] || [ $tries -ge 600 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    suite=$(cat "$work/tree/pid")
    runner=$(cut -d ' ' -f 1 "/proc/$session/task/$session/children")
    kill -"$1" "$runner"
    wait $session
    # Killed, it could not wait.
    tries=0
    while is_running "$suite" && [ "$1" = KILL ] && [ $tries -lt 600 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    if [ "$(cat "$work/out.status")" != "$2" ] || is_running "$suite" ||
        { [ "$1" != KILL ] && ! grep -q "^run.sh: ended by SIG$1" "$work/out"; }; then
        echo "run.sh on SIG$1: expected status $2 and no suite; got $(cat "$work/out.status"):"
        sed 's/^/    /' "$work/out"
        failed=$((failed + 1))
    fi
}
ends_on INT 130
ends_on TERM 143
ends_on KILL 137

# --- nightly.sh, with a make whose step `long` fails ----------------------------------------------
mkdir -p "$work/night/tests" "$work/bin"
cp "$here/nightly.sh" "$work/night/tests/"
cat > "$work/bin/make" << 'MAKE'
#!/bin/sh
case " $* " in
*" long "*) echo went wrong; exit 2 ;;
*" hostile "*) setsid sleep 3 & ;;
*" bench "*) setsid sleep 60 & ;;
*" openapi "*) echo $$ > "$(dirname "$0")/pid"; exec sleep 60 ;;
esac
MAKE
chmod +x "$work/bin/make"
cases=$((cases + 1))
PATH=$work/bin:$PATH "$work/night/tests/nightly.sh" tsan long fuzz > "$work/out" 2>&1
got=$?
if [ $got -ne 1 ] || ! grep -qE '^long +FAILED .*build/nightly/long.log$' "$work/out" ||
    ! grep -qE '^fuzz +passed ' "$work/out" || ! grep -q 'went wrong' "$work/night/build/nightly/long.log"; then
    echo "nightly.sh: expected status 1 and fuzz after long; got $got:"
    sed 's/^/    /' "$work/out"
    failed=$((failed + 1))
fi
cases=$((cases + 1))
if ! PATH=$work/bin:$PATH "$work/night/tests/nightly.sh" fuzz > "$work/out" 2>&1; then
    echo "nightly.sh: failed without a failed step"
    failed=$((failed + 1))
fi

# A step's processes: awaited, or ended and named; all of them when nightly.sh is told to end.
cases=$((cases + 1))
PATH=$work/bin:$PATH LEFT_SECONDS=30 "$work/night/tests/nightly.sh" hostile fuzz > "$work/out" 2>&1
if [ "$(awk '$1 == "hostile" { print ($3 >= 3) }' "$work/night/build/nightly/table")" != 1 ]; then
    echo "nightly.sh did not wait for a process that a step left:"
    sed 's/^/    /' "$work/out"
    failed=$((failed + 1))
fi
cases=$((cases + 1))
PATH=$work/bin:$PATH LEFT_SECONDS=1 "$work/night/tests/nightly.sh" bench > "$work/out" 2>&1
if ! grep -q '^nightly: bench left processes' "$work/out" || ! grep -qE '^ +[0-9]+ sleep 60' "$work/out"; then
    echo "nightly.sh did not name a process that a step left:"
    sed 's/^/    /' "$work/out"
    failed=$((failed + 1))
fi
cases=$((cases + 1))
PATH=$work/bin:$PATH "$work/night/tests/nightly.sh" openapi > "$work/out" 2>&1 &
night=$!
tries=0
until [ -s "$work/bin/pid" ] || [ $tries -ge 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
kill -TERM $night
wait $night
got=$?
if [ $got -ne 143 ] || is_running "$(cat "$work/bin/pid")"; then
    echo "nightly.sh on SIGTERM: expected status 143 and no step; got $got"
    failed=$((failed + 1))
fi

echo "run_selftest: $cases cases, $failed failed"
[ $failed -eq 0 ]
