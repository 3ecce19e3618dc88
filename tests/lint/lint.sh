#!/bin/sh
# The house rules, checked. Usage: tests/lint/lint.sh [TREE]
#
#   layers.awk  who may include and call whom; base/banned.h last
#   cards.awk   room cards, and "May use" against the includes
#   sizes.awk   lengths, and words of unfinished work
#   places.awk  kinds of documents that storage/places.h does not list
#   waits.awk   tests that sleep, or assert that something was fast (tests/lint/waits-allowed)
#   then the lists of suites in tests/, and those that SECURITY.md cites, against the suites there are, and clang-format with the tree's .clang-format
#
# One line per finding, `file:line: what`; exit 1 on any.
set -u
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here/../..}" || exit 2

# Files of the checkout that exist, tracked or not; of a plain copy of the tree, all.
list() {
    if [ "$(git rev-parse --show-cdup 2>/dev/null || echo outside)" = "" ]; then
        git ls-files -co --exclude-standard -- "$@" | sort -u | while read -r file; do
            [ -f "$file" ] && echo "$file"
        done
    else
        for pattern; do
            find . -name "$pattern" -type f ! -path './build/*' ! -path './.git/*'
        done | sed 's|^\./||' | sort -u
    fi
}

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT INT TERM
list '*.c' '*.cc' '*.h' > "$work/code"
list '*.sh' '*.awk' '*.py' Makefile > "$work/scripts"
grep -v '^tests/.*\.h$' "$work/code" > "$work/carded"
count=$(wc -l < "$work/code" | tr -d ' ')
if [ "$count" -eq 0 ]; then
    echo "lint: no C files in $(pwd)"
    exit 1
fi

# A list of files as arguments; file names in this tree have no spaces (git would quote them).
run() {
    script=$1
    shift
    # shellcheck disable=SC2046
    awk -f "$here/code.awk" -f "$here/$script" $(cat "$@") || echo "$script:1: the check itself failed"
}

# The suite room_subject is tests/room/test_subject.c.
lists() {
    for list in tests/longest tests/gate-asan tests/threaded; do
        [ -f $list ] || continue
        line=0
        while read -r suite; do
            line=$((line + 1))
            case $suite in '#'*) continue ;; esac
            [ -f "tests/${suite%%_*}/test_${suite#*_}.c" ] ||
                echo "$list:$line: there is no suite \"$suite\""
        done < $list
    done
}

# Suites that SECURITY.md cites: `room_subject`, or `room_*` for some.
cited() {
    [ -f SECURITY.md ] || return 0
    grep -on '`[a-z0-9]*_[a-z0-9_]*\*\{0,1\}`' SECURITY.md | tr -d '`' | while IFS=: read -r line suite; do
        [ -d "tests/${suite%%_*}" ] || continue
        # shellcheck disable=SC2086
        ls tests/${suite%%_*}/test_${suite#*_}.c > /dev/null 2>&1 ||
            echo "SECURITY.md:$line: there is no suite \"$suite\""
    done
}

format() {
    if ! command -v clang-format > /dev/null; then
        echo ".clang-format:1: clang-format is missing (make deps)"
        return
    fi
    # Several at once, each into a file of its own: their lines would mix in a pipe.
    mkdir "$work/format"
    # shellcheck disable=SC2016
    xargs -n 8 -P 4 sh -c 'clang-format --style=file --dry-run -Werror "$@" > "$0/$$" 2>&1' \
        "$work/format" < "$work/code"
    status=$?
    # An error line per place; the source lines below it are left out.
    cat "$work"/format/* |
        sed -n 's/^\([^ :]*:[0-9]*\):[0-9]*: error:.*/\1: not as clang-format would have it/p' |
        sort -u > "$work/unformatted"
    if [ $status -ne 0 ] && [ ! -s "$work/unformatted" ]; then
        echo ".clang-format:1: clang-format failed: $(cat "$work"/format/* | head -n 1)"
    fi
    cat "$work/unformatted"
}

{
    run layers.awk "$work/code"
    run cards.awk "$work/carded"
    run sizes.awk "$work/code" "$work/scripts"
    run places.awk "$work/code"
    run waits.awk "$work/code"
    lists
    cited
    format
} > "$work/findings"

if [ -s "$work/findings" ]; then
    sort -t: -k1,1 -k2,2n "$work/findings"
    echo "lint: $count files, $(wc -l < "$work/findings" | tr -d ' ') findings"
    exit 1
fi
echo "lint: $count files, nothing found"
