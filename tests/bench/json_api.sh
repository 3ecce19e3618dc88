# The JSON API: reads, durable writes, scans, the data model, memory. Sourced by bench.sh, with a server
# that was just made and started.

say "loading $rows rows of 1 KiB"
line "bulk load of 1 KiB rows, :write" \
    "$(bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$key" user "$rows" 1024 | number rows_per_s)" rows/s
bench load "$url/v1/tables/small:write" "$data/ca.pem" "$key" small "$scan_rows" 100 > /dev/null || fail "load"
# {"f":{"v":"..."}} with a value of 1 KiB
awk 'BEGIN { printf "{\"f\":{\"v\":\""; for (i = 0; i < 1024; i++) printf "%c", 65 + (i * 7 + int(i / 13)) % 26; printf "\"}}" }' > "$tmp/body"

stop
start
sleep 2
bound "idle memory after a start" "$(rss_mib)" MiB below 64

# The ceiling: the same transport in a process of its own, the same requests with the same key (so
# that their heads cost the same), and a body from memory.
bench static "$data/server.pem" "$data/server.key" > "$tmp/static" &
static_pid=$!
sleep 1
static_port=$(number port < "$tmp/static")
[ -n "$static_port" ] || fail "the static server does not listen"
uris read user "$rows"
uris new fresh 90000000
uris old user "$rows"
uris single once 90000000
for part in $parts; do
    sed "s|^$url|https://127.0.0.1:$static_port|" "$tmp/read.$part" > "$tmp/static.$part"
done

say "reads"
static_rate=$(drive 16 32 "$tmp/static")
line "static body of 1024 bytes, 16x32" "$static_rate" req/s
drive 16 32 "$tmp/read" > /dev/null # warm the cache
line "row read, random keys, 16x32" "$(drive 16 32 "$tmp/read")" rows/s static "$static_rate" 0.5
static_single=$(drive 64 1 "$tmp/static")
line "row read, random keys, 64x1" "$(drive 64 1 "$tmp/read")" rows/s static "$static_single"
kill -TERM "$static_pid"
wait "$static_pid" || fail "the static server ended with $?"
static_pid=

say "durable writes"
alone=$(baseline)
line "RocksDB alone, 128 puts a sync" "$alone" puts/s
line "durable row write, new rows, 16x32" "$(write 16 32 "$tmp/new")" rows/s "RocksDB alone" "$alone" 0.4
line "durable row replace, old rows, 16x32" "$(write 16 32 "$tmp/old")" rows/s "RocksDB alone" "$alone"
single=$(write 64 1 "$tmp/single")
if command -v redis-server > /dev/null && command -v redis-benchmark > /dev/null; then
    settle
    mkdir "$tmp/redis"
    nice -n "$ahead" redis-server --port 0 --tls-port 16379 --bind 127.0.0.1 --dir "$tmp/redis" --appendonly yes \
        --appendfsync always --save '' --tls-cert-file "$data/server.pem" \
        --tls-key-file "$data/server.key" --tls-ca-cert-file "$data/ca.pem" \
        --tls-auth-clients no > "$tmp/redis.log" 2>&1 &
    redis_pid=$!
    tries=0
    until redis-cli --tls --cacert "$data/ca.pem" -p 16379 ping > /dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || fail "redis-server does not answer: $(tail -n 2 "$tmp/redis.log")"
        sleep 0.1
    done
    redis=$(redis-benchmark --tls --cacert "$data/ca.pem" -p 16379 -t set -c 64 -P 1 -d 1024 -r 1000000 -n 200000 --csv |
        awk -F '[",]+' '$2 == "SET" { printf "%.0f\n", $3 }')
    kill -TERM "$redis_pid"
    wait "$redis_pid" || :
    redis_pid=
    line "redis-server, TLS, fsync always, 64x1" "$redis" sets/s
    line "durable row write, 64x1" "$single" rows/s redis-server "$redis" 1.0
else
    line "durable row write, 64x1" "$single" rows/s
fi

say "scan"
scan() {
    curl -s --cacert "$data/ca.pem" -H "Authorization: Bearer $key" -H 'Accept: application/x-ndjson' \
        -o /dev/null -w '%{http_code} %{time_total} %{size_download}\n' "$url/v1/tables/small/rows"
}
scan > /dev/null
scan_result=$(scan)
[ "${scan_result%% *}" = 200 ] || fail "scan: $scan_result"
bound "scan of 100-byte cells as NDJSON" \
    "$(echo "$scan_result" | awk -v n="$scan_rows" '{ printf "%.0f", n / $2 }')" rows/s at-least 300000

say "the data model"
# lines COUNT AWK-BODY: NDJSON lines of rows 0..COUNT-1, written by the body for row number i
lines() {
    awk -v n="$1" 'function text(len,  s) { s = substr(pool, int(rand() * 4000) + 1, len); return s }
        BEGIN { srand(7); for (k = 0; k < 6000; k++) pool = pool sprintf("%c", 97 + int(rand() * 26))
                for (i = 0; i < n; i++) { '"$2"' } }'
}
bulk() {
    curl -s --cacert "$data/ca.pem" -H "Authorization: Bearer $key" -H 'Content-Type: application/x-ndjson' \
        --data-binary @- -o "$tmp/bulk" -w '%{http_code}' "$url/v1/tables/$1:write" | grep -q 200 || fail "load of $1"
    ! grep -q '"error"' "$tmp/bulk" || fail "load of $1: $(grep -m 1 '"error"' "$tmp/bulk")"
}
for table in one ten versions; do
    bigtent table create $table f > /dev/null || fail "no table"
done
bigtent table create wide f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 > /dev/null || fail "no table"
model_rows=$((rows / 10))
lines $model_rows 'printf "{\"key\":\"r%08d\",\"cells\":{\"f\":{\"q0\":\"%s\"}}}\n", i, text(1000)' | bulk one
lines $model_rows 'printf "{\"key\":\"r%08d\",\"cells\":{\"f\":{", i
    for (q = 0; q < 10; q++) printf "%s\"q%d\":\"%s\"", q ? "," : "", q, text(100); print "}}}"' | bulk ten
wide_rows=$((model_rows / 4))
lines $wide_rows 'printf "{\"key\":\"r%08d\",\"cells\":{", i
    for (f = 0; f < 10; f++) { printf "%s\"f%d\":{", f ? "," : "", f
        for (q = 0; q < 10; q++) printf "%s\"q%d\":\"%s\"", q ? "," : "", q, text(40); printf "}" }
    print "}}"' | bulk wide
lines 2000 'printf "{\"key\":\"r%08d\",\"cells\":{\"f\":{\"q\":[", i; n_versions = i < 1000 ? 1000 : 1
    for (v = 0; v < n_versions; v++) printf "%s{\"value\":\"%s\",\"timestamp\":\"%d000\"}", v ? "," : "", text(20), v + 1
    print "]}}}"' | bulk versions
model_uris() {
    for part in $parts; do
        awk -v url="$url/v1/tables/$2" -v n="$3" -v from="$4" -v end="$5" -v seed="$part" 'BEGIN { srand(seed)
            for (i = 0; i < 20000; i++) printf "%s/r%08d%s\n", url, from + int(rand() * n), end }' > "$tmp/$1.$part"
    done
}
model_uris one one/rows $model_rows 0 ''
model_uris ten ten/rows $model_rows 0 ''
model_uris thousand versions/cells 1000 0 /f/q
model_uris single versions/cells 1000 1000 /f/q
drive 16 32 "$tmp/one" > /dev/null
drive 16 32 "$tmp/ten" > /dev/null
one=$(drive 16 32 "$tmp/one")
line "row of one cell of 1000 bytes, 16x32" "$one" rows/s
line "row of ten cells of 100 bytes, 16x32" "$(drive 16 32 "$tmp/ten")" rows/s "one cell" "$one" 0.8
single=$(drive 16 32 "$tmp/single")
line "newest cell of one version, 16x32" "$single" cells/s
line "newest cell of 1000 versions, 16x32" "$(drive 16 32 "$tmp/thousand")" cells/s "one version" "$single" 0.667

# scan_wide QUERY: rows per second of all rows of the table with ten families, in the best of eight scans
scan_wide() {
    for _ in 1 2 3 4 5 6 7 8; do
        curl -s --cacert "$data/ca.pem" -H "Authorization: Bearer $key" -H 'Accept: application/x-ndjson' \
            -o /dev/null -w '%{time_total}\n' "$url/v1/tables/wide/rows$1"
    done | awk -v n="$wide_rows" 'n / $1 > best { best = n / $1 } END { printf "%.0f", best }'
}
settle
all=$(scan_wide '')
before=$(rss_kib)
high=$tmp/high
(while sleep 0.01; do rss_kib; done) > "$high" &
sampler=$!
scan_wide '' > /dev/null
kill "$sampler"
wait "$sampler" 2> /dev/null || :
line "scan of ten families of ten columns" "$all" rows/s
line "the same, one family of ten" "$(scan_wide '?family=f4')" rows/s "all families" "$all" 3
bound "memory of a scan beyond before" "$(sort -n "$high" | tail -n 1 | awk -v b="$before" '{ printf "%.1f", ($1 - b) / 1024 }')" MiB below 16

settle
rm -rf "$tmp/with" "$tmp/without"
mkdir "$tmp/with" "$tmp/without"
bench accounting "$tmp/with" "$tmp/without" "$seconds" > "$tmp/accounting" || fail "accounting"
without=$(number without_per_s < "$tmp/accounting")
line "new cells without counting" "$without" cells/s
line "new cells, counted exactly" "$(number with_per_s < "$tmp/accounting")" cells/s "without counting" "$without" 0.7
rm -rf "$tmp/with" "$tmp/without"

say "many tenants"
mkdir "$tmp/tenants"
bench tenants "$tmp/tenants" 100000 > "$tmp/tenants.out" || fail "tenants"
bench tables "$tmp/tenants" 100000 > "$tmp/tables.out" || fail "tables"
rm -rf "$tmp/tenants"
bound "a tenant made durable, median" "$(number create_p50_ms < "$tmp/tenants.out")" ms below 5
line "a tenant made durable, 99 of 100" "$(number create_p99_ms < "$tmp/tenants.out")" ms
bound "start with 100000 tenants" "$(number start_ms < "$tmp/tenants.out")" ms below 2000
bound "each of 100000 tenants with a key" "$(number bytes_each < "$tmp/tenants.out")" bytes below 2048
line "start with a table in each" "$(number start_ms < "$tmp/tables.out")" ms
line "each of 100000 tenants with a key and a table" "$(number bytes_each < "$tmp/tables.out")" bytes

say "memory"
sleep 2
line "memory after all that" "$(rss_mib)" MiB "the block cache included"
bound "each of $idle idle connections" \
    "$(bench idle-connections "${url##*:}" "$server_pid" "$idle" | number kib_per_connection)" KiB below 64
