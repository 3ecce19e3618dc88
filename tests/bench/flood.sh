# One tenant that replaces its rows in bulk and reads one of them, so that the processors are full, a quiet one, and tenants of 50 rows
# that leave. Sourced by busy.sh and soak.sh, with a server that runs.

quiet_nice=${BENCH_QUIET_NICE:--10}
key_flood=$(tenant_key busy-flood)
key_quiet=$(tenant_key busy-quiet)
for k in "$key_flood" "$key_quiet"; do
    BIGTENT_KEY=$k bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
done
bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$key_flood" flood 100000 200 > /dev/null || fail "load"

operator_key=$(cat "$data/operator.key")
# admin METHOD PATH [BODY]: the answer
admin() {
    curl -sf -X "$1" --cacert "$data/ca.pem" -H "Authorization: Bearer $operator_key" ${3:+-H 'Content-Type: application/json' -d "$3"} \
        "$url/v1/admin/$2" || fail "$1 $2"
}
# stored: bytes of the tenant that floods (its quota has a member of that name, too)
stored() {
    BIGTENT_KEY=$key_flood bigtent usage --json | sed -n 's/^{[^{]*"stored_bytes": *\([0-9]*\).*/\1/p'
}
# small_tenant NAME: makes one of 50 rows
small_tenant() {
    k=$(tenant_key "$1")
    BIGTENT_KEY=$k bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
    bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$k" user 50 200 > /dev/null || fail "load"
}
# depart NAME: asks for it
depart() {
    admin POST "tenants/$1:offboard" "{\"confirm\":\"$1\"}" > "$tmp/$1.asked"
}
# has_left NAME
has_left() {
    admin GET "tenants/$1" | grep -q '"state": *"purged"'
}
# left_after NAME: seconds from the request to the certificate, by the server's clock
left_after() {
    admin GET "jobs/$(sed -n 's/.*"job": *"\([^"]*\)".*/\1/p' "$tmp/$1.asked")" > "$tmp/$1.left"
    between "$(moment requested < "$tmp/$1.left")" "$(moment finished < "$tmp/$1.left")"
}
# moment NAME < job: of the member with that name at its end, as seconds
moment() {
    date -d "$(sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p")" +%s.%N
}
flood_begin() {
    rm -f "$tmp/flooding"
    mkfifo "$tmp/flooding"
    bench flood "$url/v1/tables/rows" "$data/ca.pem" "$key_flood" rewrite 8 0 < "$tmp/flooding" > "$tmp/flood" &
    flood_pid=$!
    exec 8> "$tmp/flooding"
    h2load -t 1 -c 4 -m 4 -D 36000 -H "Authorization: Bearer $key_flood" "$url/v1/tables/rows/rows/flood%2300000007%23profile" \
        > "$tmp/reads" 2>&1 8>&- &
    reads_pid=$!
}
# flood_end: sets bulk, rows per second, and refused
flood_end() {
    kill "$reads_pid"
    wait "$reads_pid" 2> /dev/null || :
    exec 8>&-
    wait "$flood_pid" || fail "the flood"
    bulk=$(number done_per_s < "$tmp/flood") refused=$(number refused < "$tmp/flood")
}
# quiet_for SECONDS: sets quiet_p99 and quiet_refused. The client has a higher priority, where that is allowed: its server is measured, not
# its competition with the flood's clients for the processors, which would be on other machines.
quiet_for() {
    nice -n "$quiet_nice" bench quiet "$url/v1/tables/rows" "$data/ca.pem" "$key_quiet" "$1" > "$tmp/quiet" || fail "the quiet tenant"
    quiet_p99=$(number read_p99_us < "$tmp/quiet") quiet_refused=$(number refused < "$tmp/quiet")
}
