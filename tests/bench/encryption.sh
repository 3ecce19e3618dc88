# What encryption costs: the same rows, reads, writes and scans of two tenants, one of which is
# encrypted, in turn. Sourced by bench.sh, with a server that was just made and started.

say "encryption"
enc_rows=$((rows / 5))
tenant_of() { # NAME [OPTION]: prints its key
    operator tenant create "$@" --no-plan
    operator tenant quota "$1" --bytes 1T --rows 1000000000 --reads-per-s 100000000 --writes-per-s 100000000
    bigtent --key-file "$data/operator.key" key create --tenant "$1" | sed -n 's/^key //p'
}
key_plain=$(tenant_of plain)
key_sealed=$(tenant_of sealed --encrypted)
for k in "$key_plain" "$key_sealed"; do
    BIGTENT_KEY=$k bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
    bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$k" user "$enc_rows" 1024 > /dev/null || fail "load"
done
awk 'BEGIN { printf "{\"f\":{\"v\":\""; for (i = 0; i < 1024; i++) printf "%c", 65 + (i * 7 + int(i / 13)) % 26; printf "\"}}" }' > "$tmp/body"
uris enc_read user "$enc_rows"
uris enc_plain plain 90000000
uris enc_sealed sealed 90000000
scan_rate() {
    curl -s --cacert "$data/ca.pem" -H "Authorization: Bearer $key" -H 'Accept: application/x-ndjson' \
        -o /dev/null -w '%{http_code} %{time_total}\n' "$url/v1/tables/rows/rows?end=user9999999999" |
        awk -v n="$enc_rows" '$1 == 200 { printf "%.0f\n", n / $2 }'
}
# in_turn WHAT UNIT PLAIN-COMMAND SEALED-COMMAND: the means of three rounds, and their ratio
in_turn() {
    plain_sum=0 sealed_sum=0
    for _ in 1 2 3; do
        key=$key_plain
        one=$($3)
        key=$key_sealed
        other=$($4)
        plain_sum=$((plain_sum + one)) sealed_sum=$((sealed_sum + other))
    done
    line "$1, plain" $((plain_sum / 3)) "$2"
    line "$1, encrypted" $((sealed_sum / 3)) "$2" plain $((plain_sum / 3)) 0.85
}
for key in "$key_plain" "$key_sealed"; do # warm the cache
    drive 16 32 "$tmp/enc_read" > /dev/null
    scan_rate > /dev/null
done
in_turn "row read, 16x32" rows/s "drive 16 32 $tmp/enc_read" "drive 16 32 $tmp/enc_read"
in_turn "scan of 1 KiB rows, NDJSON" rows/s scan_rate scan_rate
in_turn "durable row write, 16x32" rows/s "write 16 32 $tmp/enc_plain" "write 16 32 $tmp/enc_sealed"
key=$BIGTENT_KEY
