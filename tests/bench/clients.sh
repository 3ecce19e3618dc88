# Bigtable's protocol: the official emulator, in memory, in plaintext and without keys, against a server
# that encrypts, knows its caller, counts, and fsyncs. Sourced by bench.sh.
#
# The load comes from `bench grpc`, the same for both; one after the other, mode by mode, so that both
# meet the same minutes.

clients=$(cd "$here/../clients" && pwd)
TOOLS_DIR=$(mkdir -p "$build/../tools/clients" && cd "$build/../tools/clients" && pwd)
client_rows=${BENCH_CLIENT_ROWS:-20000}

say "Bigtable clients"
(
    cd "$clients"
    # shellcheck source=tests/clients/go-toolchain.sh
    . ./go-toolchain.sh
    go build -o "$GOBIN/bigtable-emulator" cloud.google.com/go/bigtable/cmd/emulator
) || fail "the emulator could not be built"

stop
start
nice -n "$ahead" "$TOOLS_DIR/bin/bigtable-emulator" -address 127.0.0.1:0 > "$tmp/emulator" 2> "$tmp/emulator.log" &
emulator_pid=$!
tries=0
until emulator=$(sed -n 's/.* running on //p' "$tmp/emulator") && [ -n "$emulator" ]; do
    kill -0 "$emulator_pid" 2> /dev/null || fail "the emulator ended: $(tail -n 1 "$tmp/emulator.log")"
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || fail "the emulator does not listen"
    sleep 0.1
done

# load MODE CONNECTIONS STREAMS ADDRESS CA KEY: rows per second
load() {
    settle
    timeout $((seconds + 300)) bench grpc "$4" "$5" "$6" projects/bench/instances/main \
        "$1" "$2" "$3" "$seconds" "$client_rows" > "$tmp/load" 2>&1 ||
        fail "$1 $2x$3 at $4: $(tail -n 1 "$tmp/load")"
    number rows_per_s < "$tmp/load"
}

# against MODE CONNECTIONS STREAMS RATIO_AT_LEAST WHAT
against() {
    theirs=$(load "$1" "$2" "$3" "$emulator" - -)
    ours=$(load "$1" "$2" "$3" "${url#https://}" "$data/ca.pem" "$key")
    [ -n "$theirs" ] && [ -n "$ours" ] || fail "no figure of $1"
    line "emulator, $5" "$theirs" rows/s
    line "$5" "$ours" rows/s emulator "$theirs" "$4"
}

against read 16 32 2 "ReadRows of one row, 16x32"
against read 64 1 1 "ReadRows of one row, 64x1"
against write 16 32 1 "MutateRow, 16x32"
against write 64 1 1 "MutateRow, 64x1"
against scan 1 1 3 "ReadRows as a scan, one stream"

kill -TERM "$emulator_pid"
wait "$emulator_pid" 2> /dev/null || : # its exit code says nothing
emulator_pid=
