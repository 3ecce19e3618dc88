#!/bin/sh
# Parts of a text that a program writes: compare them, or write them anew.
#
#   tests/docs/made.sh check|write FILE.md PART COMMAND...
#
# The part is what stands between the lines `<!-- made: PART -->` and `<!-- end: PART -->`.
set -eu

usage='usage: tests/docs/made.sh check|write FILE.md PART COMMAND...'
mode=${1:?$usage}
text=${2:?$usage}
part=${3:?$usage}
shift 3
LC_ALL=C
export LC_ALL

tmp=$(mktemp -d "${TMPDIR:-/tmp}/bigtent-made.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

fail() {
    printf '%s: %s: %s\n' "$text" "$part" "$*" >&2
    exit 1
}

"$@" > "$tmp/part" || fail "$1 ended with $?"
[ -s "$tmp/part" ] || fail "$1 printed nothing"
awk -v begin="<!-- made: $part -->" -v end="<!-- end: $part -->" -v made="$tmp/part" '
    $0 == begin { print; while ((getline line < made) > 0) print line; inside = 1; begins++ }
    $0 == end { inside = 0; ends++ }
    !inside { print }
    END { exit !(begins == 1 && ends == 1 && !inside) }' "$text" > "$tmp/text" ||
    fail "the two lines around it must be there once"

case $mode in
check)
    if ! diff -u "$text" "$tmp/text" > "$tmp/diff"; then
        sed 1,2d "$tmp/diff" >&2
        fail "the text has (-), the program says (+); make docs writes it"
    fi
    echo "$text: $part as the program says"
    ;;
write) cat "$tmp/text" > "$text" ;;
*) fail "$usage" ;;
esac
