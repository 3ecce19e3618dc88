#!/bin/sh
# clang-tidy over every C file, one process for each processor. Usage: tests/lint/tidy.sh CLANG-TIDY FLAG...
#
# The flags are the compiler's. Prints what .clang-tidy finds; exit 1 on any finding.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT INT TERM

# Several at once, each file's findings into a file of its own: their lines would mix in a pipe.
# base/err.c defines what tidy.h covers.
# shellcheck disable=SC2016
git ls-files '*.c' | xargs -P "${JOBS:-$(nproc)}" -I{} sh -c '
    file=$0 out=$1
    shift
    [ "$file" = base/err.c ] || set -- "$@" -include tests/lint/tidy.h
    tool=$1
    shift
    found=$out/$(echo "$file" | tr / _)
    "$tool" --quiet "$file" -- "$@" > "$found" 2> "$found.said" || [ -s "$found" ] ||
        echo "$file:1:1: error: $(cat "$found.said") [the check itself failed]" > "$found"
    rm -f "$found.said"' {} "$work" "$@"
status=$?

cat "$work"/*
count=$(cat "$work"/* | grep -cE '(warning|error): .*\[')
files=$(git ls-files '*.c' | wc -l)
echo "tidy: $files files, $count findings"
[ "$status" -eq 0 ] && [ "$count" -eq 0 ]
