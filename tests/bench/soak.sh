# Everything at once on a full machine, for long: a flood, a row that is overwritten, a counter, a queue, tenants that leave, and a quiet
# one that is looked at. Each half minute a line says what the server holds; what grows without bound fails. Sourced by bench.sh, with
# a server that was just made and started; not part of all.

soak_s=$((60 * ${BENCH_SOAK:-30}))
say "everything at once, $((soak_s / 60)) minutes"
# shellcheck source=/dev/null
. "$here/flood.sh"

printf '{"f":{"state":"active"}}' > "$tmp/state"
printf '{"rules":[{"family":"f","qualifier":"n","increment":1}]}' > "$tmp/rule"
# change METHOD BODY URI: 200 a second, in the background
change() {
    h2load -t 1 -c 2 -m 1 --rps 100 -D $((soak_s + 600)) -H ":method: $1" -H 'Content-Type: application/json' -d "$tmp/$2" \
        -H "Authorization: Bearer $key" "$3" > /dev/null 2>&1 &
    changing="$changing $!"
}
# lines FROM TO AWK-BODY: to the queue, NDJSON lines for row numbers FROM..TO-1; again while the server says to come again
lines() {
    awk -v from="$1" -v to="$2" "BEGIN { for (i = from; i < to; i++) { $3 } }" > "$tmp/lines"
    tries=0
    until curl -s --cacert "$data/ca.pem" -H "Authorization: Bearer $key" -H 'Content-Type: application/x-ndjson' --data-binary "@$tmp/lines" \
        "$url/v1/tables/queue:write" > "$tmp/written" && tail -n 1 "$tmp/written" | grep -q '"done":true.*"failed":0'; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fail "not all was written: $(tail -n 1 "$tmp/written")"
        sleep 0.1
    done
}
# come_and_go: rows that are put at the end of the queue and deleted at its front, until the file is there
come_and_go() {
    at=0
    until [ -e "$tmp/over" ]; do
        lines $((at + 1000)) $((at + 2000)) 'printf "{\"key\":\"%09d\",\"cells\":{\"f\":{\"job\":\"%d\"}}}\n", i, i'
        lines "$at" $((at + 1000)) 'printf "{\"op\":\"delete\",\"key\":\"%09d\"}\n", i'
        at=$((at + 1000))
        sleep 1
    done
}
# leave_on: a tenant of 50 rows, each ten seconds, until the file is there
leave_on() {
    left=0
    until [ -e "$tmp/over" ]; do
        left=$((left + 1))
        small_tenant "goes-$left"
        depart "goes-$left"
        sleep 10
    done
    echo "$left" > "$tmp/left"
}
# metric NAME < exposition
metric() {
    awk -v name="$1" '$1 == name { print $2 }'
}
# sample: a line of what the server holds
sample() {
    curl -sf --cacert "$data/ca.pem" -H "Authorization: Bearer $operator_key" "$url/metrics" > "$tmp/metrics" || fail "no metrics"
    oldest=$(metric bigtent_purge_oldest_seconds < "$tmp/metrics")
    rss=$(rss_mib)
    # Blocks of files that are gone stay in the cache until others need its place.
    beside=$(awk -v rss="$rss" -v cache="$(metric bigtent_block_cache_bytes < "$tmp/metrics")" 'BEGIN { printf "%.1f", rss - cache / 1048576 }')
    printf '%8d %8s %8s %7d %7d %7d %9d %8s %8s %9.1f\n' "$(($(date +%s) - began))" "$rss" "$beside" "$(find "/proc/$server_pid/fd" 2> /dev/null | wc -l)" \
        "$(find "/proc/$server_pid/task" -maxdepth 1 2> /dev/null | wc -l)" "$(find "$data" -type f 2> /dev/null | wc -l)" "$(du -sm "$data" 2> /dev/null | cut -f 1)" \
        "$(awk -v a="$(stored)" -v b="$live" 'BEGIN { printf "%.2f", a / b }')" "$oldest" "$(awk -v us="$1" 'BEGIN { print us / 1000 }')" >> "$tmp/samples"
    tail -n 1 "$tmp/samples" >&2
}
# most COLUMN PART: the largest of the samples of that third
most() {
    awk -v column="$1" -v part="$2" 'NR > 1 { v[++n] = $column } END {
        from = int(n * (part - 1) / 3) + 1; to = int(n * part / 3)
        for (i = from; i <= to; i++) if (v[i] + 0 > most) most = v[i] + 0
        print most + 0 }' "$tmp/samples"
}
# steady WHAT COLUMN UNIT FACTOR MORE: in the last third at most FACTOR times what it was in the one before, and MORE
steady() {
    bound "$1, in the last third" "$(most "$2" 3)" "$3" below "$(awk -v was="$(most "$2" 2)" -v factor="$4" -v more="$5" 'BEGIN { print was * factor + more }')"
}

bigtent table create queue f > /dev/null || fail "no table"
lines 0 1000 'printf "{\"key\":\"%09d\",\"cells\":{\"f\":{\"job\":\"%d\"}}}\n", i, i'
settle
live=$(stored)
changing=
printf '%8s %8s %8s %7s %7s %7s %9s %8s %8s %9s\n' second RSS-MiB no-cache files-open threads files data-MiB usage/live oldest-s worst-ms | tee "$tmp/samples" >&2
flood_begin
change PATCH state "$url/v1/tables/rows/rows/status"
change POST rule "$url/v1/tables/rows/rows/counter:modify"
come_and_go &
queue_pid=$!
leave_on &
leave_pid=$!
began=$(date +%s)
while [ $(($(date +%s) - began)) -lt "$soak_s" ]; do
    quiet_for 30
    sample "$(number read_max_us < "$tmp/quiet")"
done
: > "$tmp/over"
wait "$queue_pid" || fail "the queue"
wait "$leave_pid" || fail "the departures"
for pid in $changing; do
    kill "$pid"
    wait "$pid" 2> /dev/null || :
done
flood_end
left=$(cat "$tmp/left")
until has_left "goes-$left"; do
    [ $(($(date +%s) - began)) -lt $((soak_s + 600)) ] || fail "the last departure does not end"
    sleep 1
done
line "rows replaced in bulk" "$bulk" rows/s
line "rows that were refused, of bulk writes" "$refused" rows
line "tenants of 50 rows that left" "$left" tenants
steady "memory beside the block cache" 3 MiB 1.2 64
steady "open files" 4 "" 1.2 16
steady "threads" 5 "" 1 8
steady "files of the data directory" 6 "" 1.5 50
steady "data" 7 MiB 1.5 256
bound "usage, as a multiple of live bytes" "$(most 8 3)" "" below 2
bound "the oldest erasure, in any half minute" "$(awk 'NR > 1 && $9 + 0 > most { most = $9 + 0 } END { print most + 0 }' "$tmp/samples")" s below 120
line "worst read of a quiet tenant" "$(awk 'NR > 1 && $10 + 0 > most { most = $10 + 0 } END { print most + 0 }' "$tmp/samples")" ms
cat "$tmp/samples" >> "$tmp/table"
