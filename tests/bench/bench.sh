#!/bin/sh
# The figures of docs/benchmarks.md, in one run on one machine, with the ratios that must hold.
#
#   tests/bench/bench.sh build/release
#
# Everything goes over TLS with an API key and quotas on. A figure of a noisy machine means little;
# so each is compared with one taken in the same run: reads with a static body on the same transport,
# durable writes with RocksDB alone on the same disk, single writes with redis-server, Bigtable's
# protocol with the official emulator. Where our server may go ahead of the clients to the processor
# (base/share.h), those go as far.
#
#   BENCH_ONLY     one section alone: json_api, encryption, offboard, drop, transfer, neighbours, hot, busy or clients;
#                  scale and soak, which are not part of all
#   BENCH_ROWS     rows of 1 KiB loaded first, default 1000000
#   BENCH_VALUE    bytes of a row that is deleted; default 1024 of a tenant, 16 of a drop or a table
#   BENCH_SCAN     rows of 100 bytes for the scan, default BENCH_ROWS / 2
#   BENCH_SECONDS  for each measurement, default 8
#   BENCH_CLIENT_ROWS  rows of 1 KiB for the Bigtable clients, default 20000
#   BENCH_IDLE     idle connections, default 10000
#   BENCH_CHANGES  for hot: of one row, default 100000; BENCH_HOT_REST: seconds until it is looked at again, default 60;
#                  BENCH_QUEUE: rows that come and go, default 1000000
#   BENCH_BUSY     for busy: seconds of each part, default 60; BENCH_LEAVE: tenants that leave at once, default 100
#   BENCH_SOAK     for soak: minutes, default 30
#   BENCH_BEFORE   for drop: a directory of an older build, whose server removes a table and drops a prefix as well
#   BENCH_BOUNDS   0: a missed bound is printed, but does not fail the run; for runs that are too short to mean something
#   BENCH_DIR      where the data goes, default TMPDIR or /tmp
set -eu

build=${1:?usage: tests/bench/bench.sh build/release}
build=$(cd "$build" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
PATH=$build:$PATH
LC_ALL=C
export PATH LC_ALL

rows=${BENCH_ROWS:-1000000}
scan_rows=${BENCH_SCAN:-$((rows / 2))}
seconds=${BENCH_SECONDS:-8}
idle=${BENCH_IDLE:-10000}
value=${BENCH_VALUE:-1024}
cache_options='--cache-mb 2048' # 1,000,000 rows of 1 KiB fit
parts=$(seq 16)
ahead=-5 # nice of what we are compared with
tmp=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bigtent-bench.XXXXXX")
data=$tmp/data
server_pid=
redis_pid=
static_pid=
emulator_pid=

cleanup() {
    code=$?
    trap - EXIT INT TERM HUP
    for pid in $server_pid $redis_pid $static_pid $emulator_pid; do
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

case ${BENCH_ONLY:-all} in
all) sections='json_api encryption offboard drop transfer neighbours hot busy clients' ;;
json_api | encryption | offboard | drop | transfer | neighbours | hot | busy | clients | scale | soak) sections=$BENCH_ONLY ;;
*) fail "BENCH_ONLY is json_api, encryption, offboard, drop, transfer, neighbours, hot, busy, clients, scale or soak" ;;
esac
for tool in h2load curl bench bigtent bigtentd; do
    command -v "$tool" > /dev/null || fail "$tool is missing (package nghttp2-client has h2load)"
done

# --- the server ---------------------------------------------------------------------------------

start() {
    : > "$tmp/started"
    # shellcheck disable=SC2086
    bigtentd serve --data "$data" --listen 127.0.0.1:0 $cache_options \
        --master-key-file "$tmp/master.key" > "$tmp/started" 2>> "$tmp/server.log" &
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

openssl rand -hex 32 > "$tmp/master.key"
bigtentd init --data "$data" > /dev/null || fail "bigtentd init"
BIGTENT_CACERT=$data/ca.pem
export BIGTENT_CACERT
start
operator() {
    bigtent --key-file "$data/operator.key" "$@" > /dev/null || fail "bigtent $*"
}
operator tenant create bench --name Bench --no-plan
bigtent --key-file "$data/operator.key" key create --tenant bench > "$tmp/key" || fail "no key"
key=$(sed -n 's/^key //p' "$tmp/key")
BIGTENT_KEY=$key
export BIGTENT_KEY
operator tenant quota bench --bytes 1T --rows 1000000000 --reads-per-s 100000000 --writes-per-s 100000000
bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
bigtent table create small f:max_versions=1 > /dev/null || fail "no table"

# tenant_key NAME: makes a tenant without limits that matter, and prints a key of it
tenant_key() {
    operator tenant create "$1" --name "$1" --no-plan
    operator tenant quota "$1" --bytes 1T --rows 1000000000 --reads-per-s 100000000 --writes-per-s 100000000
    bigtent --key-file "$data/operator.key" key create --tenant "$1" | sed -n 's/^key //p'
}

# --- load generators ----------------------------------------------------------------------------

# number NAME < output of bench
number() {
    awk -v name="$1" '$1 == name { print $2 }'
}

# between MOMENT MOMENT: seconds
between() {
    awk -v from="$1" -v to="$2" 'BEGIN { printf "%.2f", to - from }'
}

# A neighbour that reads one of ROWS rows that bench load made, here and there, writes another, and rests for a millisecond: first
# alone, for six seconds, then beside what is measured.
never_refused() {
    [ "$(number refused < "$tmp/quiet")" = 0 ] || fail "the neighbour was refused"
}
# neighbour_alone KEY ROWS: sets alone_p99 and alone_worst, of reads in us: of all of them, and of the worst second
neighbour_alone() {
    "$build/bench" quiet "$url/v1/tables/rows" "$data/ca.pem" "$1" 1 "$2" > "$tmp/quiet" || fail "the neighbour"
    "$build/bench" quiet "$url/v1/tables/rows" "$data/ca.pem" "$1" 6 "$2" > "$tmp/quiet" || fail "the neighbour"
    never_refused
    alone_p99=$(number read_p99_us < "$tmp/quiet") alone_worst=$(number read_worst_s_p99_us < "$tmp/quiet")
}
# neighbour_begin KEY ROWS
neighbour_begin() {
    rm -f "$tmp/until"
    mkfifo "$tmp/until"
    "$build/bench" quiet "$url/v1/tables/rows" "$data/ca.pem" "$1" 0 "$2" < "$tmp/until" > "$tmp/quiet" &
    neighbour_pid=$!
    exec 9> "$tmp/until"
    sleep 0.2 # it connects
}
# neighbour_end: sets beside_p99 and beside_worst
neighbour_end() {
    exec 9>&-
    wait "$neighbour_pid" || fail "the neighbour"
    never_refused
    beside_p99=$(number read_p99_us < "$tmp/quiet") beside_worst=$(number read_worst_s_p99_us < "$tmp/quiet")
}
# neighbour_figures WHILE
neighbour_figures() {
    line "p99 of a neighbour's reads before" "$alone_p99" us
    line "the same $1" "$beside_p99" us before "$alone_p99"
    line "the same, of the worst second" "$beside_worst" us before "$alone_worst"
}

neighbour_bounds() {
    bound "the p99, as a ratio" "$(awk -v a="$beside_p99" -v b="$alone_p99" 'BEGIN { printf "%.2f", a / b }')" "" below 2
    bound "the worst second, as a ratio" "$(awk -v a="$beside_worst" -v b="$alone_worst" 'BEGIN { printf "%.2f", a / b }')" "" below 2
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

for section in $sections; do
    # shellcheck source=/dev/null
    . "$here/$section.sh"
done
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
    [ "${BENCH_BOUNDS:-1}" = 0 ]
fi
