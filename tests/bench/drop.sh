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
