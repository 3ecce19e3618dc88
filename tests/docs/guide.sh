#!/bin/sh
# The examples of the documentation, run: what a reader types gives what the text shows.
#
#   tests/docs/guide.sh build/release [FILE.md]...      default: docs/guide.md
#
# Fenced blocks that begin with ```console are sessions: "$ " begins a command, "> " goes on with it,
# everything else is its output. A block that begins with ```yaml NAME is the file NAME; operator.key is
# there as well. All sessions of a file run in one shell, against a server of their
# own with a fresh tenant. Before comparing, microseconds of today become T and page tokens P, lines that
# begin with a space are joined to the one before (long JSON is folded in the text), blank lines go.
set -eu

build=${1:?usage: tests/docs/guide.sh build/release [FILE.md]...}
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd)
shift
[ $# -gt 0 ] || set -- docs/guide.md
# shellcheck source=tests/environment.sh
. "$here/../environment.sh"
PATH=$build:$PATH
export PATH

tmp=$(mktemp -d "${TMPDIR:-/tmp}/bigtent-docs.XXXXXX")
data=$tmp/data

fail() {
    printf 'docs-check: %s\n' "$*" >&2
    exit 1
}

# shellcheck source=tests/support/serve.sh
. "$here/../support/serve.sh"

# --- the server ---------------------------------------------------------------------------------

# A server with nothing in it but the tenant altostrat; sets BIGTENT_KEY.
serve_altostrat() {
    rm -rf "$data"
    bigtentd init --data "$data" > "$tmp/server.log" 2>&1 || fail "bigtentd init: $(cat "$tmp/server.log")"
    serve
    bigtent --key-file "$data/operator.key" tenant create altostrat > /dev/null || fail "no tenant"
    bigtent --key-file "$data/operator.key" key create --tenant altostrat > "$tmp/key" || fail "no key"
    BIGTENT_KEY=$(sed -n 's/^key //p' "$tmp/key")
    export BIGTENT_KEY
}

# --- sessions -----------------------------------------------------------------------------------

# From a text: N.want for each command, a line of its number in "lines", and a script that writes N.got.
extract() {
    awk -v dir="$tmp/run" '
        function end_command() { if (open) print "} > \"" dir "/" n ".got\" 2>&1"; open = 0 }
        /^```yaml ./ && !inside { file = dir "/" $2; next }
        file != "" { if (/^```$/) { close(file); file = "" } else print > file; next }
        /^```/ { if (inside) end_command(); inside = !inside && $0 == "```console"; next }
        !inside { next }
        /^\$ / { end_command(); n++; open = 1; typing = 1
                 print FNR > (dir "/lines"); printf "" > (dir "/" n ".want")
                 print "{"; print substr($0, 3); next }
        /^> / && typing { print substr($0, 3); next }
        { typing = 0
          if (n == 0 || !open) { print FILENAME ":" FNR ": output without a command" > "/dev/stderr"; exit 1 }
          print > (dir "/" n ".want") }
        END { end_command(); print "exit 0" }' "$1" > "$tmp/run/script"
}

# What both sides look like when they are the same.
even() {
    sed -E 's/\b1[6-9][0-9]{14}\b/T/g; s/"next_page_token":"[^"]*"/"next_page_token":"P"/' "$1" |
        awk '/^[ \t]*$/ { next }
             /^ / { sub(/^ +/, ""); line = line $0; next }
             { if (NR > 1 && line != "") print line; line = $0 }
             END { if (line != "") print line }'
}

check() {
    text=$1
    rm -rf "$tmp/run"
    mkdir "$tmp/run"
    cp "$data/operator.key" "$tmp/run/"
    extract "$text" || fail "$text: cannot be taken apart"
    [ -s "$tmp/run/lines" ] || fail "$text has no session"
    (cd "$tmp/run" && sh "$tmp/run/script" < /dev/null) || fail "$text: the script ended with $?"
    n=0
    wrong=0
    while read -r line; do
        n=$((n + 1))
        even "$tmp/run/$n.want" > "$tmp/want"
        even "$tmp/run/$n.got" > "$tmp/got" || fail "$text:$line: was not run"
        if ! cmp -s "$tmp/want" "$tmp/got"; then
            wrong=$((wrong + 1))
            printf '%s:%s: the text shows (-), the server gives (+)\n' "$text" "$line" >&2
            diff -u "$tmp/want" "$tmp/got" | sed 1,3d >&2 || :
        fi
    done < "$tmp/run/lines"
    [ "$wrong" -eq 0 ] || fail "$text: $wrong of $n examples are not as they are shown"
    echo "$text: $n examples, all as they are shown"
}

for text; do
    serve_altostrat
    check "$text"
    stop
done
