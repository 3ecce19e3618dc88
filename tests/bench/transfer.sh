# Export and import: BENCH_ROWS rows of 1 KiB into files and out of them again. Sourced by bench.sh, with a
# server that was started. Values are letters and digits drawn at random, which zstd makes a quarter
# smaller and no more.

say "export and import of $rows rows of 1 KiB"
bigtent table create transfer stats > /dev/null || fail "no table"
awk -v rows="$rows" 'BEGIN {
    srand(7)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    for (i = 0; i < 200000; i++) text = text substr(letters, int(rand() * 62) + 1, 1)
    for (i = 0; i < rows; i++)
        printf "{\"key\":\"k%09d\",\"cells\":{\"stats\":{\"q\":\"%s\"}}}\n", i,
               substr(text, int(rand() * 199000) + 1, 960)
}' | bigtent row load transfer - > /dev/null || fail "load"
settle
bigtent export "$tmp/export" --table transfer --json > "$tmp/exported" || fail "export"
settle
bigtent import "$tmp/export" --table transfer --into transfer2 --create --json > "$tmp/imported" || fail "import"
exported=$(sed -n 's/.*"ms":\([0-9]*\).*/\1/p' "$tmp/exported")
imported=$(sed -n 's/.*"ms":\([0-9]*\).*/\1/p' "$tmp/imported")
# For a million rows, in seconds.
million() {
    awk -v ms="$1" -v rows="$rows" 'BEGIN { printf "%.1f", ms / 1000 * 1000000 / rows }'
}
bound "export of a million rows" "$(million "$exported")" s below 20
bound "import of a million rows" "$(million "$imported")" s below 40
rm -rf "$tmp/export"
bigtent row drop transfer --all --yes > /dev/null || fail "drop"
bigtent row drop transfer2 --all --yes > /dev/null || fail "drop"
