# A prefix dropped by points, as drop.c does, against a range tombstone, in databases of their own. Sourced
# by bench.sh.

say "drops by points and by ranges"
for pair in '10 2000' '100 1000' '300 400' '2000 100' '10000 20'; do
    of=${pair% *}
    rm -rf "$tmp/points" "$tmp/range"
    mkdir "$tmp/points" "$tmp/range"
    # shellcheck disable=SC2086
    bench drop "$tmp/points/db" "$tmp/range/db" $pair > "$tmp/drops" || fail "drops"
    # figure WAY COLUMN
    figure() {
        awk -v way="$1" -v at="$2" '$1 == way { print $at }' "$tmp/drops"
    }
    line "drop of $of rows by points" "$(figure points 7)" us "by a range" "$(figure range 7)"
    line "scan across them, in memory" "$(figure points 9)" us "by a range" "$(figure range 9)"
    line "the same, in a file" "$(figure points 10)" us "by a range" "$(figure range 10)"
    line "the same, compacted" "$(figure points 11)" us "by a range" "$(figure range 11)"
done
rm -rf "$tmp/points" "$tmp/range"

# A table of small rows is removed while a neighbour reads and writes a row now and then: how long until the
# answer, until half of all tables' bytes left the disk (its own are nearly all), and the neighbour's p99 in windows of a second, the worst of them.
# With BENCH_BEFORE, a directory of an older build, its server does the same first, on data of its own.

say "removal of a table"
# window URL KEY
window() {
    bench quiet "$1/v1/tables/rows" "$data/ca.pem" "$2" 1 > "$tmp/quiet" || fail "the neighbour"
    number read_p99_us < "$tmp/quiet"
}
# of RocksDB's tables; its logs hold more until they are full
tables_kib() {
    find "$data/db" -name '*.sst' -printf '%k\n' | awk '{ n += $1 } END { print n + 0 }'
}
# remove_table: sets removed_s, freed_s ("-": not within half a minute), p99_before and p99_during
remove_table() {
    leaving=$(tenant_key removes)
    staying=$(tenant_key neighbour)
    for k in "$leaving" "$staying"; do
        BIGTENT_KEY=$k bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
    done
    bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$staying" user 10000 1024 > /dev/null || fail "load"
    bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$leaving" user "$rows" 16 > /dev/null || fail "load"
    settle
    window "$url" "$staying" > /dev/null
    p99_before=$(for _ in 1 2 3 4 5 6; do window "$url" "$staying"; done | sort -n | tail -n 1)
    full_kib=$(tables_kib)
    : > "$tmp/windows"
    began=$(date +%s.%N)
    (BIGTENT_KEY=$leaving bigtent table delete rows > /dev/null && date +%s.%N > "$tmp/removed") &
    removal_pid=$!
    freed_s=-
    left=600
    while [ "$left" -gt 0 ] && [ "$freed_s" = - ]; do
        window "$url" "$staying" >> "$tmp/windows"
        left=$((left - 1))
        kill -0 "$removal_pid" 2> /dev/null && continue
        [ "$left" -lt 30 ] || left=30
        [ $(($(tables_kib) * 2)) -gt "$full_kib" ] || freed_s=$(awk -v from="$began" -v to="$(date +%s.%N)" 'BEGIN { printf "%.2f", to - from }')
    done
    wait "$removal_pid" || fail "the removal failed"
    removed_s=$(awk -v from="$began" -v to="$(cat "$tmp/removed")" 'BEGIN { printf "%.2f", to - from }')
    p99_during=$(sort -n "$tmp/windows" | tail -n 1)
}
against= before_removed_s= before_freed_s=
if [ -n "${BENCH_BEFORE-}" ]; then
    stop
    own_path=$PATH own_data=$data
    PATH=$(cd "$BENCH_BEFORE" && pwd):$PATH
    data=$tmp/before
    bigtentd init --data "$data" > /dev/null || fail "bigtentd init of the older build"
    BIGTENT_CACERT=$data/ca.pem
    start
    remove_table
    stop
    rm -rf "$data"
    against="the older build" before_removed_s=$removed_s before_freed_s=$freed_s
    line "older build: removal of $rows small rows" "$removed_s" s
    line "its bytes are gone" "$freed_s" s
    line "p99 of a neighbour's read meanwhile" "$p99_during" us before "$p99_before"
    PATH=$own_path data=$own_data
    BIGTENT_CACERT=$data/ca.pem
    start
fi
remove_table
line "removal of a table of $rows small rows" "$removed_s" s "$against" "$before_removed_s"
line "its bytes are gone" "$freed_s" s "$against" "$before_freed_s"
line "p99 of a neighbour's read before" "$p99_before" us
line "the same meanwhile" "$p99_during" us before "$p99_before"
bound "the same, as a ratio" "$(awk -v a="$p99_during" -v b="$p99_before" 'BEGIN { printf "%.2f", a / b }')" "" below 2
