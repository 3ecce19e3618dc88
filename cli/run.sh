#!/bin/sh
# Serve on this machine with two sample tenants, and say what to type.
#
#   cli/run.sh build/release
#
# BIGTENT_RUN_DIR  where data and keys are kept, default build/run; a second start finds them
# BIGTENT_PORT     default 8443
# BIGTENT_RUN_OPTIONS  more options of `bigtentd serve`
#
# On first use: bigtentd init, the tenants altostrat and examplepetstore with a key each (mode 0600)
# and a table "phone". A later use makes what is missing: a key that was revoked, a table that was
# deleted, altostrat-2 when altostrat was deleted or suspended. Then the server runs until Ctrl-C or
# SIGTERM.
set -u

build=${1:?usage: cli/run.sh build/release}
dir=${BIGTENT_RUN_DIR:-build/run}
port=${BIGTENT_PORT:-8443}
server="$build/bigtentd"
cli="$build/bigtent"

fail() {
    echo "run.sh: $*" >&2
    exit 1
}

umask 077
mkdir -p "$dir" || fail "cannot make $dir"
dir=$(cd "$dir" && pwd) || fail "cannot enter $dir"
data="$dir/data"
log="$dir/bigtentd.log"
server_pid=

# --- the server ---------------------------------------------------------------------------------

if [ ! -e "$data" ]; then
    echo "making $data"
    "$server" init --data "$data" > "$log" 2>&1 || { cat "$log" >&2; fail "bigtentd init failed"; }
fi
[ -r "$data/operator.key" ] || fail "$data is not whole; remove it to begin anew"

stopping=
stop() {
    stopping=yes
    [ -z "$server_pid" ] || kill -TERM "$server_pid" 2> /dev/null
}
trap stop INT TERM HUP

BIGTENT_URL="https://127.0.0.1:$port"
BIGTENT_CACERT="$data/ca.pem"
export BIGTENT_URL BIGTENT_CACERT
unset BIGTENT_KEY

# In a session of its own: Ctrl-C reaches this script alone, which then asks the server to stop.
# If this script is killed, the server is asked all the same.
alone=
if command -v setsid > /dev/null 2>&1; then
    alone=setsid
fi
if command -v setpriv > /dev/null 2>&1; then
    alone="$alone setpriv --pdeathsig TERM"
fi
: > "$dir/started" || fail "cannot write in $dir"
# shellcheck disable=SC2086
$alone "$server" serve --data "$data" --listen "127.0.0.1:$port" ${BIGTENT_RUN_OPTIONS:-} > "$dir/started" 2>> "$log" &
server_pid=$!

# A signal ends "wait" early; the server is waited for until it is gone.
await_end() {
    while :; do
        wait "$server_pid"
        code=$?
        kill -0 "$server_pid" 2> /dev/null || return "$code"
    done
}

# Leave: after a signal with 0, else with what the server said.
finish() {
    await_end
    code=$?
    if [ -n "$stopping" ]; then
        echo "stopped"
        exit 0
    fi
    cat "$dir/started" >&2
    tail -n 5 "$log" >&2
    fail "bigtentd ended with $code; its log is $log"
}

tries=0
until grep -q '^listening on ' "$dir/started" && "$cli" health > /dev/null 2>&1; do
    kill -0 "$server_pid" 2> /dev/null || finish
    [ -z "$stopping" ] || finish
    tries=$((tries + 1))
    if [ "$tries" -gt 300 ]; then
        kill -TERM "$server_pid"
        fail "the server did not become ready; its log is $log"
    fi
    sleep 0.1
done

# --- the sample tenants -------------------------------------------------------------------------

# Run the command line as operator.
operator() {
    "$cli" --key-file "$data/operator.key" "$@"
}

as_tenant() {
    "$cli" --key-file "$key_file" "$@" > /dev/null 2>&1
}

# Is the table there, and may the key write to it? The deletion of a row that nobody has says so.
can_write() {
    as_tenant row delete phone 'run.sh: may this key write?'
}

table_is_ready() {
    [ -s "$key_file" ] || return 1
    can_write || { as_tenant table create phone stats:max_versions=3 && can_write; }
}

# "key btt_..." is the line that counts.
make_key() {
    operator key create --tenant "$tenant" --label make-run > "$key_file.new" &&
        sed -n 's/^key //p' "$key_file.new" > "$key_file.only" && mv "$key_file.only" "$key_file" &&
        rm -f "$key_file.new"
}

# Sets why when it fails.
tenant_is_ready() {
    key_file="$dir/$tenant.key"
    table_is_ready && return
    shown=$(operator tenant show "$tenant" 2> /dev/null) ||
        shown=$(operator tenant create "$tenant" --name "$1" 2>&1) || {
            why=$shown
            may_create=
            return 1
        }
    state=$(printf '%s\n' "$shown" | sed -n 's/^state //p')
    why="it is $state"
    [ "$state" = active ] || return 1
    why=$(make_key 2>&1) && why="its table cannot be written to" && table_is_ready
}

# Make sample tenant $1 ready. One that its user deleted, suspended or closed otherwise stays as it
# is, and the next name is taken: $1-2, $1-3. Fails when none can be had; sets tenant and key_file.
sample_tenant() {
    may_create=yes
    tenant=$1
    next=2
    until tenant_is_ready "$2"; do
        [ -z "$stopping" ] || finish
        echo "passing over $tenant: $why"
        [ -n "$may_create" ] && [ "$next" -le 100 ] || return 1
        tenant=$1-$next
        next=$((next + 1))
    done
}

second=
sample_tenant examplepetstore "Example Pet Store" && second=$tenant
first=
sample_tenant altostrat "Altostrat" && first=$tenant

# --- what to type -------------------------------------------------------------------------------

quote() {
    printf "'"
    printf '%s' "$1" | sed "s/'/'\\\\''/g"
    printf "'"
}

cat << END

Bigtent serves on $BIGTENT_URL. Data and keys are in $dir.
END

if [ -n "$first" ]; then
    key=$(cat "$key_file")
    curl="curl -sS -w '\\n' --cacert $(quote "$data/ca.pem") -H 'Authorization: Bearer $key'"
    cat << END
Tenants: $first${second:+ and $second, each} with a key and a table "phone".

With curl, as $first:

$curl -X PUT -H 'Content-Type: application/json' -d '{"stats":{"os_build":"PQ2A.190405.003","wifi":"1"}}' $BIGTENT_URL/v1/tables/phone/rows/4c410523%2320190501
$curl $BIGTENT_URL/v1/tables/phone/rows/4c410523%2320190501
$curl '$BIGTENT_URL/v1/tables/phone/rows?prefix=4c410523%23'
$curl $BIGTENT_URL/v1/usage

With bigtent, in another terminal:

export PATH=$(quote "$(cd "$build" && pwd)"):"\$PATH"
export BIGTENT_URL=$BIGTENT_URL BIGTENT_CACERT=$(quote "$data/ca.pem")
export BIGTENT_KEY="\$(cat $(quote "$key_file"))"
bigtent scan phone
bigtent tenant list --key-file $(quote "$data/operator.key")
END
else
    echo "There is no sample tenant to use."
fi

cat << END

Ctrl-C stops the server. Its log: $log
END

finish
