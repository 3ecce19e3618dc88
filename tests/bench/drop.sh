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

# Rows go, small ones unless told, all of a table with it, or all of a prefix in a table that stays, beside a neighbour: how
# long until the answer, until half of all tables' bytes left the disk (theirs are nearly all), and the neighbour's reads until then.
# With BENCH_BEFORE, a directory of an older build, its server does the same first, on data of its own.

stay_rows=10000
# sets moment, in seconds since the machine started; no process is made for it, as a neighbour's reads would wait for that
look_at_clock() {
    read -r moment _ < /proc/uptime
}
# send_off table|prefix
send_off() {
    case $1 in
    table) BIGTENT_KEY=$leaving bigtent table delete rows --yes ;;
    prefix) BIGTENT_KEY=$leaving bigtent row drop rows --prefix user ;;
    esac > /dev/null
}
neighbour() {
    staying=$(tenant_key stays-beside-drops)
    BIGTENT_KEY=$staying bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
    bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$staying" user $stay_rows 1024 > /dev/null || fail "load"
}
# let_go table|prefix, beside a neighbour: sets gone_s, freed_s ("-": not within half a minute), and what neighbour_end sets
let_go() {
    leaving=$(tenant_key "leaves-$1")
    BIGTENT_KEY=$leaving bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
    bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$leaving" user "$rows" "${BENCH_VALUE:-16}" > /dev/null || fail "load"
    bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$leaving" kept 1000 16 > /dev/null || fail "load"
    settle
    neighbour_alone "$staying" $stay_rows
    "$build/bench" freed "$data/db" > "$tmp/freed" & # of RocksDB's tables; its logs hold more until they are full
    freed_pid=$!
    neighbour_begin "$staying" $stay_rows
    look_at_clock
    began=$moment
    send_off "$1" || fail "the rows did not go ($1)"
    look_at_clock
    wait "$freed_pid" || fail "the files"
    neighbour_end
    gone_s=$(between "$began" "$moment")
    freed_s=-
    freed_at=$(number freed_at < "$tmp/freed")
    [ -z "$freed_at" ] || freed_s=$(between "$began" "$freed_at")
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
        neighbour_figures meanwhile
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
    neighbour_figures meanwhile
    neighbour_bounds
done
