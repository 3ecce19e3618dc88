# Sizes that no test reaches, with default options: what a start, random reads, a recount, a backup, a
# purge, a sweep and a scrub cost beside N rows, and how that grows; and that reads do not collapse when the
# filters do not fit into the cache. Sourced by bench.sh, with a server that was just made.
# An hour and a half at the default sizes: for a nightly run, not part of `all`.
#
#   BENCH_SIZES     rows of 60 bytes in the database, one size after the other
#   BENCH_LARGE_MIB rows of 1 KiB that are added at the end, in MiB

sizes=${BENCH_SIZES:-1000000 10000000 40000000}
large_mib=${BENCH_LARGE_MIB:-10240}
cache_options=
purged=0
versions=1 # that the table's rule keeps

# Of the server's process, in bytes: io rchar (all that it read, from memory or not) or io wchar.
io() {
    awk -v name="$1:" '$1 == name { print $2 }' "/proc/$server_pid/io"
}
mib_since() {
    awk -v from="$1" -v to="$2" 'BEGIN { printf "%.0f", (to - from) / 1048576 }'
}
files_mib() {
    du -sm "$data/db" | cut -f 1
}
now() {
    date +%s.%N
}

# load PREFIX ROWS VALUE_BYTES: seconds
load() {
    begun=$(now)
    bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$key" "$1" "$2" "$3" > /dev/null || fail "load"
    between "$begun" "$(now)"
}

# purge_small WHAT: beside that, a tenant of 1,000 rows is purged; seconds and bytes, once with a warm and once with a
# cold page cache. MiB that the process read and wrote are its own, compactions of others included.
purge_small() {
    for cache in warm cold; do
        purged=$((purged + 1))
        tenant="leaves-$purged"
        k=$(tenant_key "$tenant")
        BIGTENT_KEY=$k bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
        bench load "$url/v1/tables/rows:write" "$data/ca.pem" "$k" user 1000 100 > /dev/null || fail "load"
        settle
        [ $cache = warm ] || sync
        [ $cache = warm ] || echo 1 > /proc/sys/vm/drop_caches 2> /dev/null || say "the page cache stays: no right to drop it"
        begun=$(now) read_before=$(io rchar) written_before=$(io wchar)
        bigtent --key-file "$data/operator.key" tenant offboard "$tenant" --confirm "$tenant" --wait > /dev/null ||
            fail "the purge of $tenant failed"
        bound "purge of 1,000 rows beside $1 rows, $cache" "$(between "$begun" "$(now)")" s below 2
        bound "  read for it" "$(mib_since "$read_before" "$(io rchar)")" MiB below 200
        line "  written for it" "$(mib_since "$written_before" "$(io wchar)")" MiB
    done
}

purge_many() {
    n=200 i=0
    while [ $i -lt $n ]; do
        k=$(tenant_key "small-$i")
        BIGTENT_KEY=$k bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
        BIGTENT_KEY=$k bigtent row put rows r f:q=value > /dev/null || fail "no row"
        i=$((i + 1))
    done
    settle
    begun=$(now) written_before=$(io wchar) i=0
    while [ $i -lt $n ]; do
        operator tenant offboard "small-$i" --confirm "small-$i"
        i=$((i + 1))
    done
    while bigtent --key-file "$data/operator.key" tenant list | grep -q '^small-.*purging'; do sleep 0.1; done
    [ "$(bigtent --key-file "$data/operator.key" tenant list | grep -c '^small-.*purged')" = $n ] || fail "not all were purged"
    bound "200 small tenants purged, one request each" "$(between "$begun" "$(now)")" s below 15
    bound "  written for them" "$(mib_since "$written_before" "$(io wchar)")" MiB below 500
}

# backup WHAT: seconds, and the bytes that no backup had: without writes, of files that compactions wrote since the last one. Those that
# were read may be more: the scrub's part below gives all files another time, so the next backup hashes them again.
backup() {
    begun=$(now) read_before=$(io rchar)
    bigtent --json --key-file "$data/operator.key" backup create --wait > "$tmp/backup" || fail "the backup failed"
    line "$1" "$(between "$begun" "$(now)")" s
    new=$(sed -n 's/.*"new_bytes": *\([0-9]*\).*/\1/p' "$tmp/backup")
    [ -n "$new" ] || fail "the backup does not say how much of it is new: $(cat "$tmp/backup")"
    line "  new in it" "$(mib_since 0 "$new")" MiB
    line "  read for it" "$(mib_since "$read_before" "$(io rchar)")" MiB
}

# metric NAME
metric() {
    curl -sf --cacert "$data/ca.pem" -H "Authorization: Bearer $(cat "$data/operator.key")" "$url/metrics" |
        awk -v name="$1" '$1 == name { print $2 }'
}

# sweep ROWS: a whole pass that looks for garbage, two keys a row, up to 10^7 rows; of more, keys per second over some seconds of it. A
# changed rule starts a new pass, and is not changed back, which would start another one. A pass is over when no key is looked at for 10 s.
sweep() {
    [ "$versions" = 1 ] && versions=2 || versions=1
    before=$(metric bigtent_swept_keys_total) begun=$(now)
    bigtent table change rows --update "f:max_versions=$versions" > /dev/null || fail "the rule cannot be changed"
    if [ "$1" -le 10000000 ]; then
        swept=$before ended=$begun
        while [ "$(awk -v from="$ended" -v to="$(now)" -v n=$((swept - before)) 'BEGIN { print (n == 0 || to - from < 10) }')" = 1 ]; do
            awk -v s="$(between "$begun" "$(now)")" 'BEGIN { exit !(s < 7200) }' || fail "a pass takes over two hours"
            sleep 0.2
            at=$(metric bigtent_swept_keys_total)
            [ "$at" = "$swept" ] || ended=$(now)
            swept=$at
        done
        [ $((swept - before)) -ge $((2 * $1)) ] || fail "a pass over $1 rows looked at $((swept - before)) keys"
        line "sweep of $1 rows" "$(between "$begun" "$ended")" s
    else
        sleep "$seconds"
        swept=$(metric bigtent_swept_keys_total) ended=$(now)
    fi
    rate=$(awk -v n=$((swept - before)) -v s="$(between "$begun" "$ended")" 'BEGIN { printf "%.0f", n / s }')
    line "sweep beside $1 rows" "$rate" keys/s
    line "  a pass over 10^9 rows of one cell" "$(awk -v rate="$rate" 'BEGIN { printf "%.1f", (rate > 0 ? 2e9 / rate / 3600 : 0) }')" h # two keys a row
}

# scrub ROWS: bytes per second of reading all files again, as fast as that goes. Files wait until they are ten minutes old.
scrub() {
    stop
    rm -f "$data/scrub"
    find "$data/db" -name '*.sst' -exec touch -d '2 hours ago' {} +
    cache_options='--scrub-mb 1048576'
    begun=$(now)
    start
    until awk -v s="$(metric bigtent_scrub_oldest_seconds)" 'BEGIN { exit !(s != "" && s < 3600) }'; do
        awk -v s="$(between "$begun" "$(now)")" 'BEGIN { exit !(s < 3600) }' || fail "old files are left after an hour"
        sleep 0.1
    done
    took=$(between "$begun" "$(now)") bytes=$(metric bigtent_scrub_bytes_total)
    line "scrub of $1 rows" "$took" s
    line "  its rate, without its bound" "$(awk -v n="$bytes" -v s="$took" 'BEGIN { printf "%.0f", n / s / 1048576 }')" MiB/s
    awk -v n="$bytes" -v s="$took" -v rows="$1" 'BEGIN { printf "%.1f %.1f\n", s / rows * 1e9 / 60, n / rows * 1e9 / 4194304 / 3600 }' > "$tmp/scrub"
    line "  a pass over 10^9 rows of 60 bytes" "$(cut -d ' ' -f 1 "$tmp/scrub")" min
    line "  the same at the default, 4 MiB/s" "$(cut -d ' ' -f 2 "$tmp/scrub")" h
    cache_options=
    stop
    start
}

# cache_of ROWS BYTES_PER_ROW: MiB of cache
cache_of() {
    awk -v rows="$1" -v bytes="$2" 'BEGIN { mib = rows * bytes / 1048576; printf "%.0f", mib < 1 ? 1 : mib }'
}

# cliff ROWS: random reads with a cache of a quarter of the filters (1.3 bytes a row), and with one that holds twice the filters
# and indexes (2.3 bytes a row). A database of its own, written with the small cache: a large one writes filters in other parts.
# The table has no rule, so that no sweep runs beside the reads.
cliff() {
    least=$(cache_of "$1" 0.325) enough=$(cache_of "$1" 4.6)
    stop
    rm -rf "$data"
    bigtentd init --data "$data" > /dev/null || fail "bigtentd init"
    cache_options="--cache-mb $least"
    start
    key=$(tenant_key bench)
    BIGTENT_KEY=$key
    bigtent table create rows f > /dev/null || fail "no table"
    load cliff "$1" 25 > /dev/null
    settle
    for cache in "$least" "$enough"; do
        stop
        cache_options="--cache-mb $cache"
        start
        uris cliff cliff "$1"
        drive 16 32 "$tmp/cliff" > /dev/null # what fits comes into memory
        drive 16 32 "$tmp/cliff" > "$tmp/reads.$cache"
    done
    line "random reads of $1 rows, $enough MiB" "$(cat "$tmp/reads.$enough")" rows/s
    line "  $least MiB, a quarter of the filters" "$(cat "$tmp/reads.$least")" rows/s "cache of $enough MiB" "$(cat "$tmp/reads.$enough")" 0.5
}

# at_size ROWS_IN_ALL PREFIX ROWS_OF_IT
at_size() {
    settle
    line "files with $1 rows of 60 bytes" "$(files_mib)" MiB
    stop
    begun=$(now)
    start
    line "start with $1 rows" "$(between "$begun" "$(now)")" s
    uris scale "$2" "$3"
    drive 16 32 "$tmp/scale" > /dev/null # what fits comes into memory
    line "random reads of $1 rows" "$(drive 16 32 "$tmp/scale")" rows/s
    line "memory after them" "$(rss_mib)" MiB
    begun=$(now)
    bigtent --key-file "$data/operator.key" usage --tenant bench --recount > /dev/null || fail "the recount differs"
    line "recount of $1 rows" "$(between "$begun" "$(now)")" s
    backup "first backup with $1 rows"
    backup "second backup, nothing written since"
    purge_small "$1"
}

say "scale: $sizes rows of 60 bytes, then $large_mib MiB of rows of 1 KiB"
stop
start
there=0
for size in $sizes; do
    more=$((size - there))
    took=$(load "s$size" $more 25)
    line "loading $more rows of 60 bytes" "$(awk -v n=$more -v s="$took" 'BEGIN { printf "%.0f", n / s }')" rows/s
    at_size "$size" "s$size" $more
    sweep "$size"
    scrub "$size"
    there=$size
done
load big $((large_mib * 1024)) 1024 > /dev/null
begun=$(now)
k=$(tenant_key right-after-a-load)
BIGTENT_KEY=$k bigtent table create rows f:max_versions=1 > /dev/null || fail "no table"
load big $((64 * 1024)) 1024 > /dev/null
begun=$(now)
operator tenant offboard right-after-a-load --confirm right-after-a-load --wait
line "purge right after a load" "$(between "$begun" "$(now)")" s
at_size "$there and $large_mib MiB" "s$size" $more
purge_many
cliff "$there"
