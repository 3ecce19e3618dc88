#!/bin/sh
# The figures of docs/benchmarks.md, in one run on one machine, with the ratios that must hold.
#
#   tests/bench/bench.sh build/release
#
# Everything goes over TLS with an API key and quotas on. A figure of a noisy machine means little;
# so each is compared with one taken in the same run: reads with a static body on the same transport,
# durable writes with RocksDB alone on the same disk, single writes with redis-server.
#
#   BENCH_ROWS     rows of 1 KiB loaded first, default 1000000
#   BENCH_SCAN     rows of 100 bytes for the scan, default BENCH_ROWS / 2
#   BENCH_SECONDS  for each measurement, default 8
#   BENCH_IDLE     idle connections, default 10000
#   BENCH_DIR      where the data goes, default TMPDIR or /tmp
set -eu

build=${1:?usage: tests/bench/bench.sh build/release}
build=$(cd "$build" && pwd)
PATH=$build:$PATH
LC_ALL=C
export PATH LC_ALL

rows=${BENCH_ROWS:-1000000}
scan_rows=${BENCH_SCAN:-$((rows / 2))}
seconds=${BENCH_SECONDS:-8}
idle=${BENCH_IDLE:-10000}
cache_mib=2048 # 1,000,000 rows of 1 KiB fit
parts=$(seq 16)
tmp=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bigtent-bench.XXXXXX")
data=$tmp/data
server_pid=
redis_pid=
static_pid=

cleanup() {
    code=$?
    trap - EXIT INT TERM HUP
    for pid in $server_pid $redis_pid $static_pid; do
        kill -KILL "$pid" 2> /dev/null || :
        wait "$pid" 2> /dev/null || :
    done
    rm -rf "$tmp"
    exit "$code"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

fail() {
    echo "bench: $*" >&2
    [ ! -s "$tmp/server.log" ] || tail -n 5 "$tmp/server.log" >&2
    exit 1
}

say() {
    echo "bench: $*" >&2
}

for tool in h2load curl bench bigtent bigtentd; do
    command -v "$tool" > /dev/null || fail "$tool is missing (package nghttp2-client has h2load)"
done

# --- the server ---------------------------------------------------------------------------------

start() {
    : > "$tmp/started"
    bigtentd serve --data "$data" --listen 127.0.0.1:0 --cache-mb $cache_mib \
        > "$tmp/started" 2>> "$tmp/server.log" &
    server_pid=$!
    tries=0
    until url=$(sed -n 's/^listening on //p' "$tmp/started") && [ -n "$url" ]; do
        kill -0 "$server_pid" 2> /dev/null || fail "the server ended before it listened"
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || fail "the server does not listen"
        sleep 0.1
    done
    BIGTENT_URL=$url
    export BIGTENT_URL
}

stop() {
    kill -TERM "$server_pid"
    wait "$server_pid" || fail "the server ended with $?"
    server_pid=
}

rss_kib() {
    awk '/^VmRSS:/ { print $2 }' "/proc/$server_pid/status"
}

rss_mib() {
    awk '/^VmRSS:/ { printf "%.1f", $2 / 1024 }' "/proc/$server_pid/status"
}

# Wait for the compactions that a measurement left behind, so that the next one does not pay.
settle() {
    quiet=0
    tries=0
    while [ "$quiet" -lt 2 ] && [ "$tries" -lt 120 ]; do
        before=$(awk '{ print $14 + $15 }' "/proc/$server_pid/stat")
        sleep 1
        after=$(awk '{ print $14 + $15 }' "/proc/$server_pid/stat")
        if [ $((after - before)) -le 3 ]; then quiet=$((quiet + 1)); else quiet=0; fi
        tries=$((tries + 1))
    done
}

bigtentd init --data "$data" > /dev/null || fail "bigtentd init"
BIGTENT_CACERT=$data/ca.pem
export BIGTENT_CACERT
start
operator() {
    bigtent --key-file "$data/operator.key" "$@" > /dev/null || fail "bigtent $*"
}
operator tenant create bench --name Bench
bigtent --key-file "$data/operator.key" key create --tenant bench > "$tmp/key" || fail "no key"
key=$(sed -n 's/^key //p' "$tmp/key")
BIGTENT_KEY=$key
export BIGTENT_KEY
operator tenant quota bench --bytes 1T --rows 1000000000 --reads-per-s 100000000 --writes-per-s 100000000
bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
bigtent table create small f:max_versions=1 > /dev/null || fail "no table"

# --- load generators ----------------------------------------------------------------------------

# number NAME < output of bench
number() {
    awk -v name="$1" '$1 == name { print $2 }'
}

# drive CONNECTIONS STREAMS FILE_OF_URIS [OPTION]...: requests per second. Connections of one h2load
# all go through its list from the start: with one list each, they do not all ask for the same row at
# the same moment, and rows meant to be new are.
drive() {
    connections=$1 streams=$2 uris=$3
    shift 3
    settle
    pids=
    for part in $parts; do
        h2load -t 1 -c $((connections / 16)) -m "$streams" -D "$seconds" --warm-up-time 1 \
            -i "$uris.$part" -H "Authorization: Bearer $key" "$@" > "$tmp/h2load.$part" 2>&1 &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid" || fail "h2load: $(tail -n 3 "$tmp/h2load.1")"
    done
    cat "$tmp"/h2load.[0-9]* > "$tmp/h2load"
    bad=$(awk '/^status codes:/ { n += $5 + $7 + $9 } /^requests:/ { n += $12 + $14 + $16 } END { print n + 0 }' "$tmp/h2load")
    [ "$bad" = 0 ] || fail "$bad requests were refused or failed: $(grep -E '^(requests|status)' "$tmp/h2load.1")"
    awk '/^finished in/ { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^req\/s/) n += $i } END { printf "%.0f\n", n }' "$tmp/h2load"
}

write() {
    drive "$1" "$2" "$3" -H ':method: PUT' -H 'Content-Type: application/json' -d "$tmp/body"
}

# uris NAME PREFIX ROWS: lists for drive
uris() {
    for part in $parts; do
        bench uris "$url" rows "$2" "$3" 30000 "$part" > "$tmp/$1.$part"
    done
}

baseline() {
    settle
    rm -rf "$tmp/baseline"
    bench rocksdb-baseline "$tmp/baseline" "$seconds" | number puts_per_s
    rm -rf "$tmp/baseline"
}

# --- the table ----------------------------------------------------------------------------------

: > "$tmp/table"
missed=0

# line WHAT FIGURE UNIT [AGAINST FIGURE2 RATIO_AT_LEAST]
line() {
    awk -v what="$1" -v figure="$2" -v unit="$3" -v against="${4-}" -v other="${5-}" -v least="${6-}" 'BEGIN {
        verdict = other == "" ? against : ""
        if (against != "" && other + 0 > 0) {
            ratio = figure / other
            verdict = sprintf("%.2f of %s (%s)", ratio, against, other)
            if (least != "") verdict = verdict sprintf(", at least %s: %s", least, ratio >= least ? "met" : "NOT MET")
        }
        printf "%-38s %10s %-9s %s\n", what, figure, unit, verdict }' >> "$tmp/table"
    tail -n 1 "$tmp/table" >&2
}

# bound WHAT FIGURE UNIT at-least|below LIMIT
bound() {
    awk -v what="$1" -v figure="$2" -v unit="$3" -v how="$4" -v limit="$5" 'BEGIN {
        met = how == "below" ? figure + 0 < limit + 0 : figure + 0 >= limit + 0
        printf "%-38s %10s %-9s %s %s: %s\n", what, figure, unit, how == "below" ? "below" : "at least", limit, met ? "met" : "NOT MET" }' >> "$tmp/table"
    tail -n 1 "$tmp/table" >&2
}

# --- measuring ----------------------------------------------------------------------------------

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
    redis-server --port 0 --tls-port 16379 --bind 127.0.0.1 --dir "$tmp/redis" --appendonly yes \
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

# scan_wide QUERY: rows per second of all rows of the table with ten families
scan_wide() {
    curl -s --cacert "$data/ca.pem" -H "Authorization: Bearer $key" -H 'Accept: application/x-ndjson' \
        -o /dev/null -w '%{time_total}\n' "$url/v1/tables/wide/rows$1" | awk -v n="$wide_rows" '{ printf "%.0f", n / $1 }'
}
settle
scan_wide '' > /dev/null
before=$(rss_kib)
high=$tmp/high
(while sleep 0.01; do rss_kib; done) > "$high" &
sampler=$!
all=$(scan_wide '')
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

say "memory"
sleep 2
line "memory after all that" "$(rss_mib)" MiB "the cache of $cache_mib MiB included"
bound "each of $idle idle connections" \
    "$(bench idle-connections "${url##*:}" "$server_pid" "$idle" | number kib_per_connection)" KiB below 64
stop

# --- what came out ------------------------------------------------------------------------------

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
echo
echo "machine  ${cpu:-unknown}, $(nproc) cores, $(awk '/^MemTotal:/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo), Linux $(uname -r), data on $(df -P "$tmp" | awk 'NR == 2 { print $1 }')"
echo "build    $(bigtentd --version), $rows rows of 1 KiB, $seconds s each"
echo "date     $(date -u '+%Y-%m-%d %H:%M') UTC, load before $(cut -d ' ' -f 1 /proc/loadavg)"
echo
cat "$tmp/table"
missed=$(grep -c 'NOT MET' "$tmp/table" || :)
echo
if [ "$missed" = 0 ]; then
    echo "bench: everything that must hold is met"
else
    echo "bench: $missed not met"
    exit 1
fi
