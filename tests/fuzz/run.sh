#!/bin/sh
# Run every fuzz target of a build tree over its corpus. Usage: tests/fuzz/run.sh build/fuzz
#
#   FUZZ_SECONDS  for each target (60)      FUZZ_TARGET  only this one, e.g. "query"
#
# What is found new stays in TREE/corpus/TARGET and is taken up again by the next run; an input that
# breaks something is kept as TREE/TARGET-crash-..., -timeout-..., -oom-... or -leak-..., and
# `TREE/fuzz_TARGET FILE` shows it again.
set -u
tree=${1:?usage: tests/fuzz/run.sh build/fuzz}
here=$(cd "$(dirname "$0")" && pwd)
seconds=${FUZZ_SECONDS:-60}
rss_limit_mb=2048
timeout_s=120
length_max=65536
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
broken=0
ran=0

for source in "$here"/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    [ -n "${FUZZ_TARGET:-}" ] && [ "$FUZZ_TARGET" != "$name" ] && continue
    ran=$((ran + 1))
    mkdir -p "$tree/corpus/$name"
    set -- "-max_total_time=$seconds" "-rss_limit_mb=$rss_limit_mb" "-timeout=$timeout_s" \
        "-max_len=$length_max" "-artifact_prefix=$tree/$name-" -print_final_stats=1
    [ -f "$here/$name.dict" ] && set -- "$@" "-dict=$here/$name.dict"
    log="$tree/$name.log"
    if "$tree/fuzz_$name" "$@" "$tree/corpus/$name" "$here/corpus/$name" > "$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        cover=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
        echo "$name: $runs runs, $cover edges, nothing found"
        continue
    fi
    broken=$((broken + 1))
    grep -vE '^#[0-9]+[[:space:]]|NEW_FUNC' "$log" | tail -n 60
    echo "$name: broken; the whole output is in $log"
done
[ $ran -gt 0 ] || { echo "no such target: ${FUZZ_TARGET:-}"; exit 1; }
if [ $broken -gt 0 ]; then
    echo "fuzz: $broken of $ran targets found something; their inputs are in $tree/"
    exit 1
fi
echo "fuzz: $ran targets, nothing found"
