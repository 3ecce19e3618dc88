# tests/support/serve.sh - a server for a script, on a port of the loopback the kernel chose.
#
# Source it after `fail MESSAGE` is defined and `tmp`, a directory of the script's own, and `data`
# are set. However the script ends, the server is killed and $tmp is gone. The server's log is
# $tmp/server.log.

server_pid=

cleanup() {
    code=$?
    trap - EXIT INT TERM HUP
    if [ -n "$server_pid" ]; then
        kill -KILL "$server_pid" 2> /dev/null || :
        wait "$server_pid" 2> /dev/null || :
    fi
    rm -rf "$tmp"
    exit "$code"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# serve [OPTION...]: sets BIGTENT_URL and BIGTENT_CACERT. `bigtentd init` comes before.
serve() {
    : > "$tmp/started"
    bigtentd serve --data "$data" --listen 127.0.0.1:0 "$@" > "$tmp/started" 2>> "$tmp/server.log" &
    server_pid=$!
    tries=0
    until BIGTENT_URL=$(sed -n 's/^listening on //p' "$tmp/started") && [ -n "$BIGTENT_URL" ]; do
        kill -0 "$server_pid" 2> /dev/null || fail "the server ended: $(tail -n 1 "$tmp/server.log")"
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || fail "the server does not listen after a minute"
        sleep 0.1
    done
    BIGTENT_CACERT=$data/ca.pem
    export BIGTENT_URL BIGTENT_CACERT
}

# Ask it to end, and want exit code 0.
stop() {
    kill -TERM "$server_pid"
    wait "$server_pid" || fail "the server ended with $?: $(tail -n 1 "$tmp/server.log")"
    server_pid=
}
