# A busy machine: one tenant replaces its rows in bulk and reads one of them, so that the processors are full, while tenants of 50 rows
# leave, one after the other and many at once. Sourced by bench.sh, with a server that was just made and started.

busy_s=${BENCH_BUSY:-60}
patience_s=$((2 * busy_s)) # for departures that have not ended
leave=${BENCH_LEAVE:-100}
say "a busy machine: $busy_s s without departures, $busy_s s with, then $leave at once"
# shellcheck source=/dev/null
. "$here/flood.sh"

settle
live=$(stored)
for i in $(seq "$leave"); do
    small_tenant "leaves-$i"
done
settle
quiet_for 1
quiet_for 5
alone=$quiet_p99
# tenants NAME COMMAND: makes one each two seconds while the load lasts, and has it do that; sets n
tenants() {
    began=$(date +%s)
    n=0
    while [ $(($(date +%s) - began)) -lt "$busy_s" ]; do
        n=$((n + 1))
        small_tenant "$1-$n"
        "$2" "$1-$n"
        sleep 2
    done
}
flood_begin
tenants stays :
flood_end
line "rows replaced in bulk, beside reads of one" "$bulk" rows/s
without=$bulk

# --- one after the other ------------------------------------------------------------------------

flood_begin
tenants goes depart
gone=0
until [ $gone = "$n" ] || [ $(($(date +%s) - began)) -ge $((busy_s + patience_s)) ]; do
    if has_left "goes-$((gone + 1))"; then gone=$((gone + 1)); else sleep 0.2; fi
done
flood_end
i=0
while [ $i -lt $gone ]; do
    i=$((i + 1))
    left_after "goes-$i"
    echo
done > "$tmp/left"
line "the same beside departures" "$bulk" rows/s without "$without" 0.85
line "rows that were refused, of bulk writes" "$refused" rows
bound "usage, as a multiple of live bytes" "$(awk -v a="$(stored)" -v b="$live" 'BEGIN { printf "%.2f", a / b }')" "" below 2
line "departures of 50 rows" "$n" tenants
bound "of them not done $patience_s s after the last, before the flood ended" "$((n - gone))" tenants below 1
line "from request to certificate, median" "$(sort -n "$tmp/left" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')" s
bound "the same, slowest" "$(sort -n "$tmp/left" | tail -n 1)" s below 15

# --- many at once -------------------------------------------------------------------------------

flood_begin
sleep 5
asked=$(date +%s.%N)
began=$(date +%s)
for i in $(seq "$leave"); do
    depart "leaves-$i"
done
i=1
while [ $i -le "$leave" ] && [ $(($(date +%s) - began)) -lt $((4 * busy_s)) ]; do
    if has_left "leaves-$i"; then i=$((i + 1)); else sleep 0.2; fi
done
line "of $leave departures at once, done" "$((i - 1))" tenants
bound "all of them" "$([ $i -le "$leave" ] && echo 99999 || between "$asked" "$(date +%s.%N)")" s below 120

# --- a quiet tenant, and a backup ---------------------------------------------------------------

quiet_for $((busy_s / 4 + 1))
line "p99 of a quiet read, alone" "$alone" us
line "the same beside the flood" "$quiet_p99" us alone "$alone"
bound "the same, as a ratio" "$(awk -v a="$quiet_p99" -v b="$alone" 'BEGIN { printf "%.2f", a / b }')" "" below 3
bound "refused to it, one request at a time" "$quiet_refused" requests below 1
asked=$(date +%s.%N)
bigtent --key-file "$data/operator.key" backup create --wait --json > "$tmp/backup" || fail "no backup: $(cat "$tmp/backup")"
took=$(between "$asked" "$(date +%s.%N)")
bytes=$(sed -n 's/.*"bytes": *\([0-9]*\).*/\1/p' "$tmp/backup" | head -n 1)
bound "a full backup of $((bytes / 1048576)) MiB beside it" "$(awk -v b="$bytes" -v s="$took" 'BEGIN { printf "%.1f", b / 1e6 / s }')" MB/s at-least 10
flood_end
