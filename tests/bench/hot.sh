# Rows that change often, against one that was written once: what reading and changing them costs after $changes changes of one row, at
# once, after a minute and after a restart. Then a queue: the scan of its first row, after $queue_rows rows have come and gone. Sourced by
# bench.sh.

changes=${BENCH_CHANGES:-100000}
say "rows that change often: $changes changes each"
bigtent table create hot one:max_versions=1 all > /dev/null || fail "no table"
rows_url=$url/v1/tables/hot/rows
printf '{"one":{"state":"active"}}' > "$tmp/state"
printf '{"one":{"a":"1","b":"2","c":"3"},"all":{"d":"4"}}' > "$tmp/whole"
printf '{"rules":[{"family":"one","qualifier":"n","increment":1}]}' > "$tmp/rule"

# send METHOD BODY URI COUNT: requests per second
send() {
    h2load -t 1 -c 16 -m 1 -n "$4" -H ":method: $1" -H 'Content-Type: application/json' -d "$tmp/$2" \
        -H "Authorization: Bearer $key" "$3" > "$tmp/h2load" 2>&1 || fail "h2load: $(tail -n 3 "$tmp/h2load")"
    grep -q "^status codes: $4 2xx" "$tmp/h2load" || fail "not all were accepted: $(grep -E '^(requests|status)' "$tmp/h2load")"
    awk '/^finished in/ { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^req\/s/) printf "%.0f", $i }' "$tmp/h2load"
}
# look ROW: reads of it per second
look() {
    h2load -t 1 -c 16 -m 1 -D "$seconds" --warm-up-time 1 -H "Authorization: Bearer $key" "$rows_url/$1" > "$tmp/h2load" 2>&1 ||
        fail "h2load: $(tail -n 3 "$tmp/h2load")"
    awk '/^finished in/ { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^req\/s/) printf "%.0f", $i }' "$tmp/h2load"
}
# look_at_all WHEN
look_at_all() {
    quiet=$(look quiet)
    line "a row written once, read $1" "$quiet" rows/s
    line "an overwritten row, $1" "$(look overwritten)" rows/s "written once" "$quiet" 0.8
    line "a counter, $1" "$(look counter)" rows/s "written once" "$quiet" 0.8
    line "a replaced row, $1" "$(look replaced)" rows/s "written once" "$quiet" 0.8
}

send PUT whole "$rows_url/quiet" 16 > /dev/null
line "one row overwritten again and again" "$(send PATCH state "$rows_url/overwritten" "$changes")" writes/s
line "one counter incremented" "$(send POST rule "$rows_url/counter:modify" "$changes")" writes/s
line "one row replaced" "$(send PUT whole "$rows_url/replaced" "$changes")" writes/s
look_at_all "at once"
sleep "${BENCH_HOT_REST:-60}"
look_at_all "a minute later"
stop
start
rows_url=$url/v1/tables/hot/rows
look_at_all "after a restart"

# --- a queue ------------------------------------------------------------------------------------

queue_rows=${BENCH_QUEUE:-1000000}
say "a queue of $queue_rows rows that come and go"
bigtent table create queue all > /dev/null || fail "no table"
bigtent table create fresh all > /dev/null || fail "no table"
put_lines='printf "{\"key\":\"%09d\",\"cells\":{\"all\":{\"job\":\"%d\"}}}\n", i, i'
# write_lines TABLE FROM TO AWK-BODY: NDJSON lines for row numbers FROM..TO-1
write_lines() {
    awk -v from="$2" -v to="$3" "BEGIN { for (i = from; i < to; i++) { $4 } }" |
        curl -s --cacert "$data/ca.pem" -H "Authorization: Bearer $key" -H 'Content-Type: application/x-ndjson' --data-binary @- \
            "$url/v1/tables/$1:write" > "$tmp/written" || fail "curl: $(tail -n 1 "$tmp/written")"
    tail -n 1 "$tmp/written" | grep -q '"done":true.*"failed":0' || fail "not all was written: $(tail -n 1 "$tmp/written")"
}
# first TABLE SECONDS: scans of its first row per second
first() {
    h2load -t 1 -c 16 -m 1 -D "$2" --warm-up-time 1 -H "Authorization: Bearer $key" "$url/v1/tables/$1/rows?limit=1" \
        > "$tmp/h2load" 2>&1 || fail "h2load: $(tail -n 3 "$tmp/h2load")"
    awk '/^finished in/ { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^req\/s/) printf "%.0f", $i }' "$tmp/h2load"
}
write_lines fresh 0 1000 "$put_lines"
write_lines queue 0 1000 "$put_lines"
gone=0
while [ "$gone" -lt "$queue_rows" ]; do
    write_lines queue $((gone + 1000)) $((gone + 11000)) "$put_lines"
    write_lines queue "$gone" $((gone + 10000)) 'printf "{\"op\":\"delete\",\"key\":\"%09d\"}\n", i'
    gone=$((gone + 10000))
done
ended=$(date +%s%N)
line "the queue's first row, at once" "$(first queue 1)" scans/s "fresh" "$(first fresh 1)"
sleep "$(awk -v ended="$ended" -v now="$(date +%s%N)" 'BEGIN { left = 9 - (now - ended) / 1e9; print (left > 0 ? left : 0) }')"
line "the same, 9 s after the last delete" "$(first queue 1)" scans/s "fresh" "$(first fresh "$seconds")" 0.5
stop
start
line "the same, after a restart" "$(first queue "$seconds")" scans/s "fresh" "$(first fresh "$seconds")" 0.5
