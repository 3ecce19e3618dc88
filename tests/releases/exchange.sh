#!/bin/sh
# A data directory goes from one build to another and back, as when a machine's system is upgraded.
#
#   tests/releases/exchange.sh ONE OTHER      directories with a bigtentd and a bigtent each
#
# ONE makes it: rows of a plain and of an encrypted tenant, one in its grace period, one that is to be
# purged when the server is killed at once, a backup. OTHER goes on with it, is killed, and ONE goes on with what OTHER wrote.
# Every row is compared with what was written, each time. Stops at the first thing that is not as it
# should be. Needs sh, awk, cmp.
set -eu

one=${1:?usage: tests/releases/exchange.sh ONE OTHER}
other=${2:?usage: tests/releases/exchange.sh ONE OTHER}
here=$(dirname "$0")
# shellcheck source=tests/environment.sh
. "$here/../environment.sh"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bigtent-exchange.XXXXXX")
data=$tmp/data
rows=20000

fail() {
    printf 'NOT OK  %s\n' "$*" >&2
    [ ! -s "$tmp/server.log" ] || { echo "--- end of the server's log" >&2; tail -n 5 "$tmp/server.log" >&2; }
    exit 1
}
# shellcheck source=tests/support/serve.sh
. "$here/../support/serve.sh"

# as WHO COMMAND...: the command line with that key.
as() {
    who=$1
    shift
    bigtent --key-file "$tmp/$who.key" "$@" || fail "$who: $*"
}

# with BUILD: whose programs are called from here on.
with() {
    PATH=$1:$old_path
    echo "ok  $2"
}
old_path=$PATH

# make_rows FILE VERSION: of sizes that compress and of sizes that do not.
make_rows() {
    awk -v rows="$rows" -v version="$2" 'BEGIN {
        srand(version)
        for (i = 0; i < rows; i++) {
            text = ""
            for (k = 0; k < i % 40; k++)
                text = text sprintf("%08x", rand() * 4294967295)
            printf "{\"op\":\"put\",\"key\":\"row-%06d\",\"cells\":{\"f\":{\"q\":\"%d/%s\"}}}\n", i, version, text
        }
    }' > "$1"
}

# want TENANT FILE: the tenant's table holds exactly the rows of a file for row load.
want() {
    as "$1" scan t --json | awk '
        match($0, /"key":"[^"]*"/) { key = substr($0, RSTART + 7, RLENGTH - 8) }
        match($0, /"value":"[^"]*"/) { print key, substr($0, RSTART + 9, RLENGTH - 10) }' > "$tmp/found"
    sed 's/.*"key":"\([^"]*\)".*"q":"\([^"]*\)".*/\1 \2/' "$2" > "$tmp/wanted"
    [ "$(wc -l < "$tmp/found")" = "$rows" ] && cmp "$tmp/wanted" "$tmp/found" || fail "rows of $1 are not those of $2"
}

stop_by_kill() {
    kill -KILL "$server_pid"
    wait "$server_pid" 2> /dev/null || :
    server_pid=
}

start() {
    serve --headroom-mb 64 --master-key-file "$tmp/master.key"
    bigtent health > /dev/null || fail "the server is not ready"
}

# --- one build makes it -------------------------------------------------------------------------
with "$one" "the first build makes the data"
bigtentd init --data "$data" > "$tmp/init" || fail "bigtentd init"
cp "$data/operator.key" "$tmp/operator.key"
(umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' > "$tmp/master.key")
start
for version in 1 2 3; do make_rows "$tmp/rows.$version" $version; done
for tenant in plain sealed grace leaving; do
    encrypted=
    [ $tenant != sealed ] || encrypted=--encrypted
    # shellcheck disable=SC2086
    as operator tenant create $tenant $encrypted > /dev/null
    as operator key create --tenant $tenant --label exchange > "$tmp/key"
    (umask 077 && sed -n 's/^key //p' "$tmp/key" > "$tmp/$tenant.key")
    as $tenant table create t f:max_versions=1 > /dev/null
    as $tenant row load t "$tmp/rows.1" > /dev/null
done
as operator backup create --wait --json > "$tmp/backup"
backup=$(sed -n 's/.*"id":"\([^"]*\)".*/\1/p' "$tmp/backup" | tail -n 1)
[ -n "$backup" ] || fail "no backup: $(cat "$tmp/backup")"
as operator tenant offboard grace --confirm grace --grace 7d > /dev/null
as operator tenant offboard leaving --confirm leaving > /dev/null
stop_by_kill

# --- the other goes on --------------------------------------------------------------------------
with "$other" "the other build goes on with it"
start
want plain "$tmp/rows.1"
want sealed "$tmp/rows.1"
job=$(as operator job list | awk '/leaving/ { print $1; exit }')
as operator job show "$job" --wait > /dev/null
as operator certificate get leaving > "$tmp/leaving.json"
as operator certificate key > "$tmp/certificate.pub"
bigtent certificate verify "$tmp/leaving.json" --pubkey "$tmp/certificate.pub" > /dev/null || fail "the certificate"
as operator tenant undelete grace > /dev/null
want grace "$tmp/rows.1"
as operator backup verify "$backup" --wait > /dev/null
as operator backup restore "$backup" --tenant plain --table t --to t-then --wait > /dev/null
for tenant in plain sealed; do as $tenant row load t "$tmp/rows.2" > /dev/null; done
as operator tenant rotate-key sealed > /dev/null
stop_by_kill

# --- and back -----------------------------------------------------------------------------------
with "$one" "the first build goes on with what the other wrote"
start
want plain "$tmp/rows.2"
want sealed "$tmp/rows.2"
want grace "$tmp/rows.1"
as operator backup verify "$backup" --wait > /dev/null
as operator backup create --wait > /dev/null
as operator tenant offboard grace --confirm grace --wait > /dev/null
as operator certificate get grace > "$tmp/grace.json"
bigtent certificate verify "$tmp/grace.json" --pubkey "$tmp/certificate.pub" > /dev/null || fail "the certificate"
as sealed row load t "$tmp/rows.3" > /dev/null
stop

with "$other" "and the other once more"
start
want plain "$tmp/rows.2"
want sealed "$tmp/rows.3"
as operator audit verify > /dev/null
stop
echo "ok  every row was as it was written"
