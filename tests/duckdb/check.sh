#!/bin/sh
# Does DuckDB read what `bigtent export` writes, as docs/export-format.md says?
#
#   tests/duckdb/check.sh build/release build/tools/duckdb/venv
#
# cells.py draws cells of text and of any bytes; they are loaded, exported as NDJSON and as CSV, compressed
# and not, and DuckDB's counts, sums and bytes must be those that were drawn.
set -eu

usage="usage: tests/duckdb/check.sh build/release VENV"
build=${1:?$usage}
venv=${2:?$usage}
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd)
# shellcheck source=tests/environment.sh
. "$here/../environment.sh"
PATH=$build:$PATH
export PATH

tmp=$(mktemp -d "${TMPDIR:-/tmp}/bigtent-duckdb.XXXXXX")
data=$tmp/data

fail() {
    printf 'duckdb: %s\n' "$*" >&2
    [ ! -s "$tmp/server.log" ] || tail -n 5 "$tmp/server.log" >&2
    exit 1
}

# shellcheck source=tests/support/serve.sh
. "$here/../support/serve.sh"

bigtentd init --data "$data" > /dev/null || fail "bigtentd init"
serve
bigtent --key-file "$data/operator.key" tenant create altostrat > /dev/null || fail "no tenant"
bigtent --key-file "$data/operator.key" key create --tenant altostrat | sed -n 's/^key //p' > "$tmp/key"
chmod 600 "$tmp/key"

tenant() {
    bigtent --key-file "$tmp/key" "$@"
}

tenant table create phone stats raw > /dev/null || fail "no table"
"$venv/bin/python" "$here/cells.py" draw > "$tmp/rows.ndjson" || fail "no rows"
tenant row load phone "$tmp/rows.ndjson" > /dev/null || fail "no load"

for format in ndjson csv; do
    for compress in zstd none; do
        x=$tmp/$format-$compress
        tenant export "$x" --format $format --compress $compress --rows-per-file 300 > /dev/null ||
            fail "no export as $format"
        "$venv/bin/python" "$here/cells.py" compare "$x" || fail "$format, $compress: DuckDB reads other cells"
    done
done
stop || fail "the server ended with $?"
echo "duckdb: what it reads is what was written"
