#!/bin/sh
# The API's description of itself: is it valid, and does the server do what it says?
#
#   tests/openapi/check.sh build/release build/tools/openapi
#
# Starts a server of its own, fetches /openapi.json, holds it against the specification
# (openapi-spec-validator) and Redocly's rules, then lets schemathesis make requests from it, valid
# and invalid, with a tenant's key and with an operator's. The seed is fixed. Results stay in
# build/openapi/. SCHEMATHESIS_EXAMPLES (default 30) bounds the requests of an operation and phase.
set -eu

build=${1:?usage: tests/openapi/check.sh build/release build/tools/openapi}
tools=${2:?usage: tests/openapi/check.sh build/release build/tools/openapi}
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd)
tools=$(cd "$tools" && pwd)
out=$(dirname "$build")/openapi
examples=${SCHEMATHESIS_EXAMPLES:-30}
# shellcheck source=tests/environment.sh
. "$here/../environment.sh"
PATH=$build:$tools/venv/bin:$tools/node_modules/.bin:$PATH
BIGTENT_HOOKS=$here/hooks.py
export PATH BIGTENT_HOOKS

tmp=$(mktemp -d "${TMPDIR:-/tmp}/bigtent-openapi.XXXXXX")
data=$tmp/data
failed=

fail() {
    printf 'openapi: %s\n' "$*" >&2
    [ ! -s "$tmp/server.log" ] || tail -n 5 "$tmp/server.log" >&2
    exit 1
}

# shellcheck source=tests/support/serve.sh
. "$here/../support/serve.sh"

# --- a server with a tenant and a table that nobody will miss ------------------------------------

bigtentd init --data "$data" > /dev/null || fail "bigtentd init"
serve

operator() {
    bigtent --key-file "$data/operator.key" "$@"
}

for tenant in fuzzed governed leaving; do
    operator tenant create "$tenant" > /dev/null || fail "no tenant $tenant"
done
operator tenant quota fuzzed --control-per-s 1000 > /dev/null || fail "no quota"
operator key create --tenant fuzzed > "$tmp/key" || fail "no key"
(umask 077 && sed -n 's/^key //p' "$tmp/key" > "$tmp/tenant.key")
bigtent --key-file "$tmp/tenant.key" table create fuzzed stats raw hits:type=sum people:type=hll \
    > /dev/null || fail "no table"

# --- the document ----------------------------------------------------------------------------------

# schemathesis remembers failures where it runs; each run here begins anew.
rm -rf "$out"
mkdir -p "$out"
cd "$out"
curl -sS --fail --cacert "$BIGTENT_CACERT" -o "$out/openapi.json" "$BIGTENT_URL/openapi.json" ||
    fail "no document"
openapi-spec-validator "$out/openapi.json" || fail "not valid OpenAPI"
REDOCLY_TELEMETRY=off redocly lint --config "$here/redocly.yaml" --format=stylish \
    "$out/openapi.json" || fail "Redocly has objections"

# --- the server against the document ---------------------------------------------------------------

# attack NAME KEYFILE [OPTION]...: requests with that key.
attack() {
    name=$1
    BIGTENT_KEY=$(cat "$2")
    export BIGTENT_KEY
    shift 2
    echo "requests with the key of the $name"
    schemathesis --config-file "$here/schemathesis.toml" run "$out/openapi.json" \
        --url "$BIGTENT_URL" --max-examples "$examples" --no-color "$@" > "$out/$name.txt" 2>&1 || {
        cat "$out/$name.txt"
        failed=yes
    }
    sed -n '/SUMMARY/,$p' "$out/$name.txt"
}

attack tenant "$tmp/tenant.key" --exclude-path-regex '^/v1/admin/'
attack operator "$data/operator.key" --include-path-regex '^/v1/admin/'

[ -z "$failed" ] || fail "the server and its description differ"
stop
