# Bigtable's protocol: the official emulator, in memory, in plaintext and without keys, against a server
# that encrypts, knows its caller, counts, and fsyncs. Sourced by bench.sh.
#
# The load comes from tests/clients/bench, the same program for both; one after the other, mode by
# mode, so that both meet the same minutes.

clients=$(cd "$here/../clients" && pwd)
TOOLS_DIR=$(mkdir -p "$build/../tools/clients" && cd "$build/../tools/clients" && pwd)
client_rows=${BENCH_CLIENT_ROWS:-20000}

say "Bigtable clients"
(
    cd "$clients"
    # shellcheck source=tests/clients/go-toolchain.sh
    . ./go-toolchain.sh
    go build -o "$GOBIN/clients-bench" ./bench
    go build -o "$GOBIN/bigtable-emulator" cloud.google.com/go/bigtable/cmd/emulator
) || fail "the programs in Go could not be built"

stop
start
"$TOOLS_DIR/bin/bigtable-emulator" -address 127.0.0.1:0 > "$tmp/emulator" 2> "$tmp/emulator.log" &
emulator_pid=$!
tries=0
until emulator=$(sed -n 's/.* running on //p' "$tmp/emulator") && [ -n "$emulator" ]; do
    kill -0 "$emulator_pid" 2> /dev/null || fail "the emulator ended: $(tail -n 1 "$tmp/emulator.log")"
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || fail "the emulator does not listen"
    sleep 0.1
done

# load MODE COLUMN [VARIABLE=VALUE]...: requests (column 2) or rows (4) per second
load() {
    mode=$1 column=$2
    shift 2
    settle
    env -u BIGTABLE_EMULATOR_HOST -u BIGTENT_ENDPOINT -u BIGTENT_CA -u BIGTENT_KEY \
        BIGTENT_PROJECT=bench BIGTENT_INSTANCE=main "$@" timeout $((seconds + 300)) \
        "$TOOLS_DIR/bin/clients-bench" -mode "$mode" -seconds "$seconds" -rows "$client_rows" \
        > "$tmp/load" 2>&1 || fail "$mode: $(tail -n 1 "$tmp/load")"
    awk -v mode="$mode" -v column="$column" '$1 == mode { print $column }' "$tmp/load"
}

# against MODE COLUMN UNIT RATIO_AT_LEAST WHAT
against() {
    theirs=$(load "$1" "$2" BIGTABLE_EMULATOR_HOST="$emulator")
    ours=$(load "$1" "$2" BIGTENT_ENDPOINT="${url#https://}" BIGTENT_CA="$data/ca.pem" BIGTENT_KEY="$key")
    [ -n "$theirs" ] && [ -n "$ours" ] || fail "no figure of $1"
    line "emulator, $5" "$theirs" "$3"
    line "$5" "$ours" "$3" emulator "$theirs" "$4"
}

against read-16x32 2 rows/s 2 "ReadRows of one row, 16x32"
against read-64x1 2 rows/s 1 "ReadRows of one row, 64x1"
against write-16x32 2 rows/s 1 "MutateRow, 16x32"
against write-64x1 2 rows/s 1 "MutateRow, 64x1"
against scan-1x1 4 rows/s 3 "ReadRows as a scan, one stream"

kill -TERM "$emulator_pid"
wait "$emulator_pid" 2> /dev/null || : # its exit code says nothing
emulator_pid=
