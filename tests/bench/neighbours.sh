# Noisy neighbours: one tenant floods with 64 connections of bulk writes, one with full scans, and a
# quiet one's p99 latency is compared with its latency alone. Sourced by bench.sh, with a server that
# was just made and started.
#
# What floods stands for other machines, but runs on this one: it has the lowest priority of the
# processor, so that what is measured is the server and not who else computes here.

say "noisy neighbours"
key_writes=$(tenant_key flood-writes)
key_scans=$(tenant_key flood-scans)
key_quiet=$(tenant_key quiet)
for k in "$key_writes" "$key_scans" "$key_quiet"; do
    BIGTENT_KEY=$k bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
done
bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$key_scans" scan 200000 100 > /dev/null || fail "load"
quiet() {
    bench quiet "$url/v1/tables/rows" "$data/ca.pem" "$key_quiet" "$seconds" > "$tmp/quiet" || fail "the quiet tenant"
    never_refused
}
# flood NAME KEY write|scan CONNECTIONS SECONDS
flood() {
    nice -n 19 bench flood "$url/v1/tables/rows" "$data/ca.pem" "$2" "$3" "$4" "$5" > "$tmp/$1" 2> "$tmp/$1.err" &
    eval "$1_pid=\$!"
}
settle
quiet
quiet
alone_read=$(number read_p99_us < "$tmp/quiet") alone_write=$(number write_p99_us < "$tmp/quiet")
flood writes "$key_writes" write 64 $((seconds + 4))
flood scans "$key_scans" scan 8 $((seconds + 4))
sleep 2
quiet
beside_read=$(number read_p99_us < "$tmp/quiet") beside_write=$(number write_p99_us < "$tmp/quiet")
# shellcheck disable=SC2154 # set by flood
wait "$writes_pid" || fail "flood of writes: $(cat "$tmp/writes.err")"
# shellcheck disable=SC2154
wait "$scans_pid" || fail "flood of scans: $(cat "$tmp/scans.err")"
line "flood of writes, 64 connections" "$(number done_per_s < "$tmp/writes")" rows/s
line "flood of scans, 8 connections" "$(number done_per_s < "$tmp/scans")" scans/s
line "p99 of a quiet read, alone" "$alone_read" us
line "the same beside the floods" "$beside_read" us alone "$alone_read"
bound "the same, as a ratio" "$(awk -v a="$beside_read" -v b="$alone_read" 'BEGIN { printf "%.2f", a / b }')" "" below 2
line "p99 of a quiet write, alone" "$alone_write" us
line "the same beside the floods" "$beside_write" us alone "$alone_write"
bound "the same, as a ratio" "$(awk -v a="$beside_write" -v b="$alone_write" 'BEGIN { printf "%.2f", a / b }')" "" below 2
line "refused of the floods" "$(cat "$tmp/writes" "$tmp/scans" | awk '$1 == "refused" { n += $2 } END { print n + 0 }')" requests
bound "of them without a retry hint" "$(cat "$tmp/writes" "$tmp/scans" | awk '$1 == "without_hint" { n += $2 } END { print n + 0 }')" requests below 1
