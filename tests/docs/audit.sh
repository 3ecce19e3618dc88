#!/bin/sh
# The program of docs/operations.md that checks an audit trail: it agrees with `bigtent audit verify`
# about a whole trail, and about each way to change one.
#
#   tests/docs/audit.sh build/release
set -eu

build=${1:?usage: tests/docs/audit.sh build/release}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/environment.sh
. "$here/../environment.sh"
PATH=$(cd "$build" && pwd):$PATH
export PATH

tmp=$(mktemp -d "${TMPDIR:-/tmp}/bigtent-audit.XXXXXX")
data=$tmp/data

fail() {
    printf 'docs-check: audit: %s\n' "$*" >&2
    exit 1
}

# shellcheck source=tests/support/serve.sh
. "$here/../support/serve.sh"

command -v python3 > /dev/null || { echo "docs-check: audit: no python3, not looked at"; exit 0; }
sed -n '/^```python$/,/^```$/p' "$here/../../docs/operations.md" | sed '1d;$d' > "$tmp/check.py"
[ -s "$tmp/check.py" ] || fail "docs/operations.md has no program"

bigtentd init --data "$data" > "$tmp/server.log" 2>&1 || fail "bigtentd init"
serve
key="--key-file $data/operator.key"
# shellcheck disable=SC2086
{
    bigtent $key tenant create ab && bigtent $key tenant create abc && bigtent $key key create --tenant ab &&
        bigtent $key tenant suspend ab --reason x &&
        ! bigtent $key tenant create ab &&
        (umask 077; bigtent $key key create --tenant abc | awk '$1 == "key" { print $2 }' > "$tmp/abc.key") &&
        bigtent --key-file "$tmp/abc.key" table create named zq &&
        bigtent $key audit list | grep named &&
        bigtent $key tenant offboard abc --confirm abc --wait &&
        bigtent $key audit export > "$tmp/trail"
} > "$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"

theirs=$(python3 "$tmp/check.py" < "$tmp/trail") || fail "the program finds the trail broken"
ours=$(bigtent audit verify --file "$tmp/trail") || fail "bigtent finds the trail broken"
[ "$theirs" = "$ours" ] || fail "\"$theirs\" is not \"$ours\""

# Both must refuse: sed's script, on the trail.
refused() {
    sed "$1" "$tmp/trail" > "$tmp/forged"
    cmp -s "$tmp/trail" "$tmp/forged" && fail "$1 changes nothing"
    python3 "$tmp/check.py" < "$tmp/forged" > "$tmp/out" 2>&1 && fail "the program does not notice $1"
    bigtent audit verify --file "$tmp/forged" > "$tmp/out" 2>&1 && fail "bigtent does not notice $1"
    return 0
}
grep -q named "$tmp/trail" && fail "the trail names a table of a tenant that was purged"
refused 3d
refused '4s/"tenant":"ab"/"tenant":"ac"/'
refused '5s/127.0.0.1/127.0.0.2/'
refused '6s/"outcome":"done"/"outcome":"conflict"/'
refused '2s/"before":"./"before":"x/'
refused '5s/"tenant_number":1/"tenant_number":2/'
refused '5s/"key":"[^"]*"/"key":null/; 5s/"address":"[^"]*"/"address":null/; 5s/"salt":"[^"]*"/"salt":null/'
refused '5s/"target":"[^"]*"/"target":null/; 5s/"detail":"[^"]*"/"detail":null/; 5s/"subject_salt":"[^"]*"/"subject_salt":null/'
echo "docs-check: the program of docs/operations.md agrees with bigtent audit verify"
