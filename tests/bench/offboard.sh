# Departures: how long the request takes, whatever the tenant has stored, and what a purge costs the
# others. Sourced by bench.sh, with a server that was just made and started.
#
# The request is measured with a grace period, each followed by an undelete, on one connection: the
# same batch as that of a request without, which only the first time would be one.

say "departures"
few_rows=1000
stay_rows=100000
requests=300
for t in leaves-little leaves-much stays; do
    k=$(tenant_key $t)
    BIGTENT_KEY=$k bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
    case $t in
    leaves-little) bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$k" user $few_rows 1024 > /dev/null || fail "load" ;;
    leaves-much) bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$k" user "$rows" "$value" > /dev/null || fail "load" ;;
    stays)
        key_stays=$k
        bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$k" user $stay_rows 1024 > /dev/null || fail "load"
        ;;
    esac
done

# curl reads the key from a file: the line of a command is everybody's to read
operator_key=$(cat "$data/operator.key")
# drops TENANT: milliseconds of each request to delete it, sorted
drops() {
    awk -v url="$url/v1/admin/tenants/$1" -v ca="$data/ca.pem" -v key="$operator_key" -v n=$requests -v id="$1" '
        function call(action, body, out) {
            printf "url = \"%s:%s\"\ncacert = \"%s\"\nheader = \"Authorization: Bearer %s\"\n", url, action, ca, key
            printf "header = \"Content-Type: application/json\"\ndata = \"%s\"\noutput = \"/dev/null\"\nwrite-out = \"%s\"\nsilent\n", body, out
        }
        BEGIN { for (i = 0; i < n; i++) {
            if (i > 0) print "next"
            call("offboard", "{\\\"confirm\\\":\\\"" id "\\\",\\\"grace\\\":\\\"3600s\\\"}", "%{http_code} %{time_total}\\n")
            print "next"
            call("undelete", "{}", "undelete %{http_code}\\n") } }' > "$tmp/curl"
    curl -K "$tmp/curl" > "$tmp/drops" || fail "requests to delete a tenant"
    [ "$(grep -c '^202 ' "$tmp/drops")" = $requests ] && [ "$(grep -c '^undelete 200' "$tmp/drops")" = $requests ] ||
        fail "a request to delete $1 was refused: $(sort "$tmp/drops" | uniq -c | sort -rn | tail -n 1)"
    awk '$1 == 202 { printf "%.2f\n", $2 * 1000 }' "$tmp/drops" | sort -n
}
# percentile N < sorted
percentile() {
    awk -v n="$1" '{ v[NR] = $1 } END { i = int(NR * n / 100) + 1; if (i > NR) i = NR; print v[i] }'
}
settle
for t in leaves-little leaves-much; do
    stored=$few_rows
    [ $t = leaves-little ] || stored=$rows
    drops $t > "$tmp/$t"
    p50=$(percentile 50 < "$tmp/$t")
    p99=$(percentile 99 < "$tmp/$t")
    line "request to delete $stored rows, median" "$p50" ms
    bound "the same, 99 of 100" "$p99" ms below 10
done

# The purge, beside a neighbour.
neighbour_alone "$key_stays" $stay_rows
neighbour_begin "$key_stays" $stay_rows
bigtent --key-file "$data/operator.key" tenant offboard leaves-much --confirm leaves-much --wait --json > "$tmp/purge" || fail "the purge failed"
neighbour_end
# member NAME: of the job that the purge printed, in seconds; its steps have times of the same name
member() {
    date -d "$(sed 's/"steps":\[[^]]*\]//' "$tmp/purge" | sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p")" +%s.%N
}
# step_end NAME: when that step of the purge was done, in seconds
step_end() {
    date -d "$(sed -n "s/.*\"name\": *\"$1\"[^}]*\"finished\": *\"\([^\"]*\)\".*/\1/p" "$tmp/purge")" +%s.%N
}
line "purge of $((rows * value / 1048576)) MiB, from the request to its certificate" "$(between "$(member requested)" "$(member finished)")" s
line "of it until the bytes have left the disk, counted and searched before" "$(between "$(member requested)" "$(step_end compact)")" s
bound "of that the deletion itself: files, range, flush, compaction" "$(between "$(step_end fence)" "$(step_end compact)")" s below 2
neighbour_figures "during the purge"
neighbour_bounds
