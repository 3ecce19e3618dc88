#!/bin/sh
# Official Cloud Bigtable clients, unmodified, against a server of its own.
#
#   tests/clients/run.sh build/release build/tools/clients [CLIENT]...
#
# A CLIENT is a folder here with an executable `run`; without any, all of them. Each runs twice: over
# TLS with a tenant's key, and through the plaintext listener for BIGTABLE_EMULATOR_HOST. README.md
# says what a client program gets and gives. Output stays in build/clients/. The status is 0 when every
# program said so and no check failed. CLIENT_SECONDS (default 1800) bounds
# the start of the server, and one program.
set -eu

usage="usage: tests/clients/run.sh build/release build/tools/clients [CLIENT]..."
build=${1:?$usage}
tools=${2:?$usage}
shift 2
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd)
tools=$(cd "$tools" && pwd)
out=$(dirname "$build")/clients
seconds=${CLIENT_SECONDS:-1800}
# shellcheck source=tests/environment.sh
. "$here/../environment.sh"
PATH=$build:$PATH
export PATH
unset ONLY

tmp=$(mktemp -d "${TMPDIR:-/tmp}/bigtent-clients.XXXXXX")
data=$tmp/data
server_pid=
program_pid=
running=
failed=

fail() {
    printf 'clients: %s\n' "$*" >&2
    [ ! -s "$tmp/server.log" ] || tail -n 5 "$tmp/server.log" >&2
    exit 1
}

cleanup() {
    code=$?
    trap - EXIT INT TERM HUP
    if [ -n "$program_pid" ]; then
        kill -TERM "$program_pid" 2> /dev/null || :
        wait "$program_pid" 2> /dev/null || :
    fi
    if [ -n "$server_pid" ]; then
        kill -KILL "$server_pid" 2> /dev/null || :
        wait "$server_pid" 2> /dev/null || :
    fi
    rm -rf "$tmp"
    exit "$code"
}
trap cleanup EXIT
trap 'fail "stopped from outside${running:+ during $running}"' INT TERM HUP

if [ $# = 0 ]; then
    for program in "$here"/*/run; do
        [ ! -x "$program" ] || set -- "$@" "$(basename "$(dirname "$program")")"
    done
fi
[ $# -gt 0 ] || fail "no client program in $here"
for client in "$@"; do
    [ -x "$here/$client/run" ] || fail "$here/$client/run is not a program"
done

# --- the server ----------------------------------------------------------------------------------

bigtentd init --data "$data" > /dev/null || fail "bigtentd init"
: > "$tmp/started"
bigtentd serve --data "$data" --listen 127.0.0.1:0 --emulator 127.0.0.1:0 \
    > "$tmp/started" 2> "$tmp/server.log" &
server_pid=$!
tries=0
until BIGTENT_URL=$(sed -n 's/^listening on //p' "$tmp/started") && [ -n "$BIGTENT_URL" ] &&
    emulator=$(sed -n 's/^emulator: BIGTABLE_EMULATOR_HOST=//p' "$tmp/started") && [ -n "$emulator" ]; do
    kill -0 "$server_pid" 2> /dev/null || fail "the server ended before it listened"
    tries=$((tries + 1))
    [ "$tries" -lt $((seconds * 10)) ] || fail "the server does not listen after $seconds s"
    sleep 0.1
done
BIGTENT_CACERT=$data/ca.pem
export BIGTENT_URL BIGTENT_CACERT

# --- tenants -------------------------------------------------------------------------------------

operator() {
    bigtent --key-file "$data/operator.key" "$@"
}

# key_of TENANT FILE [OPTION]...
key_of() {
    tenant=$1
    file=$2
    shift 2
    operator key create --tenant "$tenant" "$@" > "$tmp/key" || fail "no key for $tenant"
    (umask 077 && sed -n 's/^key //p' "$tmp/key" > "$file")
    [ -s "$file" ] || fail "no key was shown for $tenant"
}

keys=$tmp/keys
mkdir -m 700 "$keys"
for tenant in acme acme-eu altostrat examplepetstore hasty; do
    operator tenant create "$tenant" > /dev/null || fail "no tenant $tenant"
    key_of "$tenant" "$keys/$tenant.key"
done
key_of acme "$keys/acme-reader.key" --scope data.read

# The plaintext listener serves the tenants that its clients bring about, no others. PingAndWarm is a
# use: five bytes of gRPC, then the name as field 1.
provision() {
    name=projects/$1/instances/main
    frame=$(printf '\\000\\000\\000\\000\\%03o\\012\\%03o' $((${#name} + 2)) ${#name})
    printf "$frame%s" "$name" |
        curl -sS --http2-prior-knowledge --max-time "$seconds" -H 'Content-Type: application/grpc' \
            -H 'TE: trailers' --data-binary @- -D "$tmp/head" -o /dev/null \
            "http://$emulator/google.bigtable.v2.Bigtable/PingAndWarm" || fail "no answer for $1"
    operator tenant show "$1" > /dev/null || fail "no tenant $1 after its first use"
}

for tenant in dev-acme dev-acme-eu dev-altostrat dev-examplepetstore dev-hasty; do
    provision "$tenant"
done
# What most checks do is never more than the tenants' share, should the server find itself busy.
for way in '' dev-; do
    operator tenant quota "${way}acme" --cell-bytes 64M --weight 1000 --control-per-s 1000 > /dev/null || fail "no quota"
    operator tenant quota "${way}acme-eu" --weight 1000 --control-per-s 1000 > /dev/null || fail "no quota"
    operator tenant quota "${way}hasty" --writes-per-s 100 > /dev/null || fail "no rate"
done

# --- the programs --------------------------------------------------------------------------------

rm -rf "$out"
mkdir -p "$out"

# try CLIENT WAY: run it, show what failed, count. A program is not left alone with a dead server.
try() {
    log=$out/$1.$2
    running="$1, $2"
    printf '%s\n' "$running"
    begun=$(date +%s)
    timeout --kill-after=10 "$seconds" "$here/$1/run" "$tools" > "$log" 2> "$log.err" &
    program_pid=$!
    while kill -0 "$program_pid" 2> /dev/null; do
        kill -0 "$server_pid" 2> /dev/null || kill -TERM "$program_pid" 2> /dev/null || :
        sleep 0.5
    done
    wait "$program_pid" && code=0 || code=$?
    program_pid=
    took=$(($(date +%s) - begun))
    bad=$(grep -c '^not ok ' "$log" || :)
    good=$(grep -c '^ok ' "$log" || :)
    grep '^not ok ' "$log" | sed 's/^/    /' || :
    printf '    %s checks passed, %s failed, status %s, %s s\n' "$good" "$bad" "$code" "$took"
    if [ "$code" = 124 ] || [ "$code" = 137 ]; then
        printf '    %s: no end after %s s; the last check that ended was %s\n' "$running" "$seconds" \
            "$(sed -n 's/^\(not \)\{0,1\}ok \([^:]*\).*/\2/p' "$log" | tail -n 1)"
    fi
    if [ "$code" != 0 ] || [ "$bad" != 0 ] || [ "$good" = 0 ]; then
        tail -n 20 "$log.err" | sed 's/^/    /' >&2
        failed="$failed $1/$2"
    fi
    if ! kill -0 "$server_pid" 2> /dev/null; then
        wait "$server_pid" && code=0 || code=$?
        server_pid=
        fail "the server ended with $code during $running"
    fi
    running=
}

BIGTENT_INSTANCE=main
export BIGTENT_INSTANCE

over_tls() {
    unset BIGTABLE_EMULATOR_HOST
    BIGTENT_ENDPOINT=${BIGTENT_URL#https://}
    BIGTENT_CA=$BIGTENT_CACERT
    BIGTENT_KEY=$(cat "$keys/acme.key")
    BIGTENT_OTHER_KEY=$(cat "$keys/acme-eu.key")
    BIGTENT_KEYS=$keys
    BIGTENT_PROJECT=acme
    BIGTENT_OTHER_PROJECT=acme-eu
    BIGTENT_LIMITED_PROJECT=hasty
    BIGTENT_LIMITED_KEY=$(cat "$keys/hasty.key")
    export BIGTENT_ENDPOINT BIGTENT_CA BIGTENT_KEY BIGTENT_OTHER_KEY BIGTENT_LIMITED_KEY BIGTENT_KEYS
    export BIGTENT_PROJECT BIGTENT_OTHER_PROJECT BIGTENT_LIMITED_PROJECT
    try "$1" tls
}

in_the_clear() {
    unset BIGTENT_ENDPOINT BIGTENT_CA BIGTENT_KEY BIGTENT_OTHER_KEY BIGTENT_LIMITED_KEY BIGTENT_KEYS
    BIGTABLE_EMULATOR_HOST=$emulator
    BIGTENT_PROJECT=dev-acme
    BIGTENT_OTHER_PROJECT=dev-acme-eu
    BIGTENT_LIMITED_PROJECT=dev-hasty
    export BIGTABLE_EMULATOR_HOST BIGTENT_PROJECT BIGTENT_OTHER_PROJECT BIGTENT_LIMITED_PROJECT
    try "$1" emulator
}

for client in "$@"; do
    over_tls "$client"
    in_the_clear "$client"
done

kill -TERM "$server_pid"
wait "$server_pid" || fail "the server ended with $?"
server_pid=
[ -z "$failed" ] || fail "failed:$failed; what they said is in $out"
echo "all clients are content"
