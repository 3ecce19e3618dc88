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

# Rows go, small ones unless told, all of a table with it, or all of a prefix in a table that stays, while a neighbour reads one of
# its rows and writes another now and then: how long until the answer, until half of all tables' bytes left the disk (theirs are
# nearly all), and the neighbour's p99 in windows of a second, the worst of them. With BENCH_BEFORE, a directory of an older build,
# its server does the same first, on data of its own.

stay_rows=10000
# of RocksDB's tables; its logs hold more until they are full
tables_kib() {
    find "$data/db" -name '*.sst' -printf '%k\n' | awk '{ n += $1 } END { print n + 0 }'
}
# since MOMENT [NOW]: seconds
since() {
    awk -v from="$1" -v to="${2:-$(date +%s.%N)}" 'BEGIN { printf "%.2f", to - from }'
}
# send_off table|prefix
send_off() {
    case $1 in
    table) BIGTENT_KEY=$leaving bigtent table delete rows ;;
    prefix) BIGTENT_KEY=$leaving bigtent row drop rows --prefix user ;;
    esac > /dev/null && date +%s.%N > "$tmp/gone"
}
neighbour() {
    staying=$(tenant_key stays)
    BIGTENT_KEY=$staying bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
    bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$staying" user $stay_rows 1024 > /dev/null || fail "load"
}
# let_go table|prefix, beside a neighbour: sets gone_s, freed_s ("-": not within half a minute), p99_before and p99_during
let_go() {
    leaving=$(tenant_key "leaves-$1")
    BIGTENT_KEY=$leaving bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
    bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$leaving" user "$rows" "${BENCH_VALUE:-16}" > /dev/null || fail "load"
    bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$leaving" kept 1000 16 > /dev/null || fail "load"
    settle
    window "$staying" $stay_rows > /dev/null
    p99_before=$(for _ in 1 2 3 4 5 6; do window "$staying" $stay_rows; done | sort -n | tail -n 1)
    full_kib=$(tables_kib)
    : > "$tmp/windows"
    began=$(date +%s.%N)
    send_off "$1" &
    gone_pid=$!
    freed_s=-
    left=600
    while [ "$left" -gt 0 ] && [ "$freed_s" = - ]; do
        window "$staying" $stay_rows >> "$tmp/windows"
        left=$((left - 1))
        kill -0 "$gone_pid" 2> /dev/null && continue
        [ "$left" -lt 30 ] || left=30
        [ $(($(tables_kib) * 2)) -gt "$full_kib" ] || freed_s=$(since "$began")
    done
    wait "$gone_pid" || fail "the rows did not go ($1)"
    gone_s=$(since "$began" "$(cat "$tmp/gone")")
    p99_during=$(sort -n "$tmp/windows" | tail -n 1)
}
# called table|prefix
called() {
    case $1 in
    table) echo "removal of a table of $rows rows" ;;
    prefix) echo "drop of a prefix of $rows rows" ;;
    esac
}
against=
if [ -n "${BENCH_BEFORE-}" ]; then
    stop
    own_path=$PATH own_data=$data
    PATH=$(cd "$BENCH_BEFORE" && pwd):$PATH
    data=$tmp/before
    bigtentd init --data "$data" > /dev/null || fail "bigtentd init of the older build"
    BIGTENT_CACERT=$data/ca.pem
    start
    neighbour
    for way in table prefix; do
        say "$(called $way), older build"
        let_go $way
        echo "$gone_s $freed_s" > "$tmp/before.$way"
        line "older build: $(called $way)" "$gone_s" s
        line "their bytes are gone" "$freed_s" s
        line "p99 of a neighbour's read meanwhile" "$p99_during" us before "$p99_before"
    done
    stop
    rm -rf "$data"
    against="the older build"
    PATH=$own_path data=$own_data
    BIGTENT_CACERT=$data/ca.pem
    start
fi
neighbour
for way in table prefix; do
    say "$(called $way)"
    let_go $way
    before_gone_s= before_freed_s=
    [ -z "$against" ] || read -r before_gone_s before_freed_s < "$tmp/before.$way"
    line "$(called $way)" "$gone_s" s "$against" "$before_gone_s"
    line "their bytes are gone" "$freed_s" s "$against" "$before_freed_s"
    line "p99 of a neighbour's read before" "$p99_before" us
    line "the same meanwhile" "$p99_during" us before "$p99_before"
    bound "the same, as a ratio" "$(awk -v a="$p99_during" -v b="$p99_before" 'BEGIN { printf "%.2f", a / b }')" "" below 2
done
