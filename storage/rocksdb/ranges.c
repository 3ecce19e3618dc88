/*
 * storage/rocksdb/ranges.c - the only file that deletes ranges and files, and compacts.
 *
 * 1. delete_file_in_range is end-inclusive: its limit is range.last_inside, never range.end.
 * 2. Waits end when the engine closes: nothing is lost, because the callers retry.
 */
#include "storage/rocksdb/ranges.h"

#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "storage/rocksdb/damage_io.h"
#include "storage/rocksdb/entries.h"
#include "storage/rocksdb/heldfiles.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define FORCE_BOTTOMMOST 2
#define FORCE_OPTIMIZED  3 /* but not the output of this very call */
#define ROLL_TRIES       8
#define ERASE_ROUNDS     8
#define DEEPEST_ROUNDS   8
#define DAMAGE_TRIES     8 /* attempts of a compaction: each meets another damaged file, if any */

/* A compaction of this thread met damage that cannot be left out; valid until the next check. */
static _Thread_local bool is_damaged;

/* --- deleting --------------------------------------------------------------------------------- */

void sto_rdb_range_written(struct rdb_engine *e, int family, struct sto_account *owner)
{
    if (family == RDB_CF_CELLS)
        sto_rdb_tombstones_begin(&e->tombstones, owner);
    if (family == RDB_CF_CHANGES)
        atomic_fetch_add(&e->change_counts.removals, 1);
}

void sto_rdb_range_delete(struct rdb_engine *e, rocksdb_writebatch_t *batch, int family,
                          struct sto_span span, struct sto_account *owner)
{
    sto_rdb_range_written(e, family, owner);
    sto_rdb_range_put(e, batch, family, span);
}

void sto_rdb_range_put(struct rdb_engine *e, rocksdb_writebatch_t *batch, int family,
                       struct sto_span span)
{
    rocksdb_writebatch_delete_range_cf(batch, e->db.cf[family], (const char *)span.begin.ptr,
                                       span.begin.len, (const char *)span.end.ptr, span.end.len);
}

enum err sto_rdb_files_delete(struct rdb_engine *e, int family, const struct sto_range *range,
                              struct errbuf *eb)
{
    INVARIANT(range->last_inside_len > 0);
    char *error = NULL;
    rocksdb_delete_file_in_range_cf(e->db.handle, e->db.cf[family], (const char *)range->begin,
                                    range->begin_len, (const char *)range->last_inside,
                                    range->last_inside_len, &error);
    if (error == NULL)
        return ERR_OK;
    return base_fail(eb, sto_rdb_fail(e, "delete files", error), "files could not be deleted");
}

/* --- rewriting -------------------------------------------------------------------------------- */

uint64_t sto_rdb_property(struct rdb_engine *e, const char *name)
{
    uint64_t value = 0;
    int failed = rocksdb_property_int(e->db.handle, name, &value);
    INVARIANT(failed == 0); /* this release has it */
    return value;
}

static enum err wait_for_snapshots(struct rdb_engine *e, struct errbuf *eb)
{
    uint64_t sequence = rocksdb_get_latest_sequence_number(e->db.handle);
    const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};
    for (int i = 0; i < e->wait_seconds * 500; i++) {
        enum err rc = sto_rdb_usable(e, eb);
        if (rc != ERR_OK)
            return rc;
        uint64_t oldest = sto_rdb_property(e, "rocksdb.oldest-snapshot-sequence");
        if (oldest == 0 || oldest >= sequence)
            return ERR_OK;
        sto_rdb_long_rows_expire(e, e->options.row_snapshot_waited_ms);
        (void)nanosleep(&pause, NULL); /* a wake-up only checks earlier */
    }
    return base_fail(eb, ERR_TIMEOUT, "a snapshot of before the deletion is still open after %d s",
                     e->wait_seconds);
}

enum err sto_rdb_wait_for_snapshots(struct rdb_engine *e, struct errbuf *eb)
{
    atomic_fetch_add(&e->old_state_waited, 1);
    enum err rc = wait_for_snapshots(e, eb);
    atomic_fetch_sub(&e->old_state_waited, 1);
    return rc;
}

struct rdb_range_files sto_rdb_range_files(struct rdb_engine *e, int family, struct slice begin,
                                           struct slice end)
{
    struct rdb_range_files out = {.lowest_level = -1};
    struct rdb_live_walk walk;
    struct rdb_live_file f;
    sto_rdb_live_walk_open(&walk, e->db.handle, RDB_FAMILY_NAMES[family]);
    while (sto_rdb_live_walk_next(&walk, &f)) {
        if (base_slice_compare(f.low, end) >= 0 || base_slice_compare(f.high, begin) < 0)
            continue;
        out.bytes += f.bytes;
        if (f.level > out.lowest_level)
            out.lowest_level = f.level;
    }
    sto_rdb_live_walk_close(&walk);
    return out;
}

/* RocksDB decides at the start which levels the range is in. Meanwhile, one of its own compactions
 * may move rows below those levels; if that one started while a snapshot still saw the rows, they
 * would stay, covered by their tombstone or below it. So our compactions run one after the other,
 * and after a compaction of RocksDB's own, which ours waited for, its output is rewritten, too. */
static void range_compact(struct rdb_engine *e, int family, struct slice begin, struct slice end,
                          int bottommost)
{
    pthread_mutex_lock(&e->compact_lock);
    struct rdb_range_files now = sto_rdb_range_files(e, family, begin, end);
    int tries = 0;
    for (int before = -1; now.lowest_level > before && !atomic_load(&e->closing);) {
        atomic_fetch_add(&e->compacted_bytes[family], now.bytes);
        enum err rc = sto_rdb_compact_range(e->db.handle, e->db.cf[family], begin, end, bottommost);
        if (rc == ERR_CORRUPT && tries++ < DAMAGE_TRIES && sto_rdb_damage_wait(e) &&
            sto_rdb_damage_stuck(e, family, begin, end) == 0)
            continue; /* the damaged block is left out now */
        is_damaged = is_damaged || rc == ERR_CORRUPT;
        before = now.lowest_level;
        now = sto_rdb_range_files(e, family, begin, end);
    }
    pthread_mutex_unlock(&e->compact_lock);
}

/* --- erasing ---------------------------------------------------------------------------------- */

/* Compacts sorted spans; spans with few bytes between them are compacted as one, so that a file is
 * rewritten once for all of them. */
static void spans_compact(struct rdb_engine *e, int family, const struct sto_span *spans,
                          size_t count, unsigned char bottommost)
{
    for (size_t i = 0; i < count && !atomic_load(&e->closing);) {
        struct sto_span stretch = spans[i++];
        while (i < count &&
               (base_slice_compare(spans[i].begin, stretch.end) <= 0 ||
                sto_rdb_range_bytes(e, family, stretch.end, spans[i].begin) < RDB_NEAR_BYTES))
            stretch.end = spans[i++].end;
        range_compact(e, family, stretch.begin, stretch.end, bottommost);
    }
}

static int compare_spans(const void *a, const void *b)
{
    const struct sto_span *left = a;
    const struct sto_span *right = b;
    return base_slice_compare(left->begin, right->begin);
}

void sto_rdb_spans_compact(struct rdb_engine *e, int family, struct sto_span *spans, size_t count)
{
    qsort(spans, count, sizeof spans[0], compare_spans);
    spans_compact(e, family, spans, count, FORCE_BOTTOMMOST);
}

/* Returns whether a file starts or ends inside the range: then all its keys are inside, or it holds
 * a range tombstone. */
static bool has_boundary_inside(struct rdb_engine *e, int family, const struct sto_range *range)
{
    const struct sto_span span = sto_span_of(range);
    struct rdb_live_walk walk;
    struct rdb_live_file f;
    bool is_inside = false;
    sto_rdb_live_walk_open(&walk, e->db.handle, RDB_FAMILY_NAMES[family]);
    while (!is_inside && sto_rdb_live_walk_next(&walk, &f))
        is_inside = sto_span_has(&span, f.low) || sto_span_has(&span, f.high);
    sto_rdb_live_walk_close(&walk);
    return is_inside;
}

/* Returns whether keys of the range may be left. An unreadable block counts as left: the compaction
 * gets past it, or names its file. If no file overlaps the range, the unreadable file is after the
 * range, where the seek reads as well. */
static bool is_left(struct rdb_engine *e, int family, const struct sto_range *range)
{
    struct slice begin = sto_range_begin(range);
    struct slice last = base_slice(range->last_inside, range->last_inside_len);
    bool is_any = true;
    if (has_boundary_inside(e, family, range))
        return true;
    if (sto_rdb_entries_any(e->db.handle, e->db.cf[family], begin, last, &is_any) == ERR_OK)
        return is_any;
    return sto_rdb_range_files(e, family, begin, sto_range_end(range)).lowest_level >= 0;
}

/* Moves the ranges that have keys left to the front, and returns their number. */
static size_t ranges_left(struct rdb_engine *e, int family, const struct sto_range **ranges,
                          size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sto_range *range = ranges[i];
        if (!is_left(e, family, range))
            continue;
        ranges[i] = ranges[left];
        ranges[left++] = range;
    }
    return left;
}

static enum err ranges_erase_once(struct rdb_engine *e, int family, const struct sto_range **ranges,
                                  size_t count, struct errbuf *eb)
{
    struct sto_span *spans = base_new_array(count, sizeof spans[0]);
    for (size_t i = 0; i < count; i++)
        spans[i] = sto_span_of(ranges[i]);
    qsort(spans, count, sizeof spans[0], compare_spans);
    spans_compact(e, family, spans, count, FORCE_OPTIMIZED); /* the rest is found afterwards */
    base_free(spans);
    enum err rc = sto_rdb_compactions_check(e, eb);
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        struct sto_span within = sto_span_of(ranges[i]);
        bool is_none;
        rc = sto_rdb_files_delete(e, family, ranges[i], eb);
        if (rc == ERR_OK) /* of the tenant's own drops, in files of its neighbours */
            rc = sto_rdb_tombstones_push(e, family, &within, &is_none, eb);
    }
    return rc;
}

enum err sto_rdb_ranges_erase(struct rdb_engine *e, int family, const struct sto_range **ranges,
                              size_t count, struct errbuf *eb)
{
    size_t left = ranges_left(e, family, ranges, count);
    enum err rc = ERR_OK;
    for (int round = 0; rc == ERR_OK && left > 0 && round < ERASE_ROUNDS; round++) {
        rc = ranges_erase_once(e, family, ranges, left, eb);
        if (rc == ERR_OK)
            left = ranges_left(e, family, ranges, left);
    }
    if (rc == ERR_OK && left > 0)
        rc = base_fail(eb, ERR_TIMEOUT, "%zu ranges still have files after %d compactions", left,
                       ERASE_ROUNDS);
    return rc;
}

void sto_rdb_range_compact(struct rdb_engine *e, int family, struct slice begin, struct slice end)
{
    range_compact(e, family, begin, end, FORCE_BOTTOMMOST);
}

/* --- to the deepest level --------------------------------------------------------------------- */

/* Finds the case that the range is inside one file of the deepest level with files there, and all
 * keys of that file are outside the range. Returns the file's number and appends its first key to
 * out_first; 0: there is no such file. */
static uint64_t file_around(struct rdb_engine *e, int family, struct slice begin, struct slice end,
                            struct buf *out_first)
{
    struct rdb_live_walk walk;
    struct rdb_live_file f;
    uint64_t around = 0;
    int deepest = -1;
    sto_rdb_live_walk_open(&walk, e->db.handle, RDB_FAMILY_NAMES[family]);
    while (sto_rdb_live_walk_next(&walk, &f)) {
        if (base_slice_compare(f.low, end) >= 0 || base_slice_compare(f.high, begin) < 0 ||
            f.level < deepest)
            continue;
        bool is_around =
            base_slice_compare(f.low, begin) < 0 && base_slice_compare(f.high, end) >= 0;
        deepest = f.level;
        around = is_around ? f.number : 0;
        base_buf_truncate(out_first, 0);
        if (is_around)
            INVARIANT(base_buf_append(out_first, f.low) == ERR_OK);
    }
    sto_rdb_live_walk_close(&walk);
    return around;
}

static bool is_live(struct rdb_engine *e, int family, uint64_t number)
{
    struct rdb_live_walk walk;
    struct rdb_live_file f;
    bool is_found = false;
    sto_rdb_live_walk_open(&walk, e->db.handle, RDB_FAMILY_NAMES[family]);
    while (!is_found && sto_rdb_live_walk_next(&walk, &f))
        is_found = f.number == number;
    sto_rdb_live_walk_close(&walk);
    return is_found;
}

/* RocksDB compacts down to the deepest level that has a key of the range when it starts. Below that
 * level, a file of other keys that spans the range keeps the deletions from being dropped; and one
 * of RocksDB's own compactions may be moving the deleted entries into that level. So that file's
 * first key is compacted with the range, and the compaction is repeated if the file was replaced
 * before. */
void sto_rdb_range_compact_deepest(struct rdb_engine *e, int family, struct slice begin,
                                   struct slice end)
{
    struct buf first;
    uint64_t around = 1;
    base_buf_init(&first, MIB); /* longer than any stored key */
    for (int i = 0; around != 0 && i < DEEPEST_ROUNDS && !atomic_load(&e->closing); i++) {
        around = file_around(e, family, begin, end, &first);
        range_compact(e, family, around == 0 ? begin : base_buf_slice(&first), end,
                      FORCE_BOTTOMMOST);
        if (is_damaged || !is_live(e, family, around))
            break;
    }
    base_buf_fini(&first);
}

enum err sto_rdb_compactions_check(struct rdb_engine *e, struct errbuf *eb)
{
    enum err rc = sto_rdb_usable(e, eb);
    if (rc == ERR_OK && is_damaged)
        rc = sto_rdb_damage_blame(e, 0, eb);
    is_damaged = false;
    if (rc != ERR_OK || !sto_rdb_background_failed(e))
        return rc;
    return base_fail(eb, ERR_IO, "the compaction failed");
}

uint64_t sto_rdb_range_bytes(struct rdb_engine *e, int family, struct slice begin, struct slice end)
{
    const char *from = (const char *)begin.ptr;
    const char *to = (const char *)end.ptr;
    uint64_t bytes = 0;
    char *error = NULL;
    rocksdb_approximate_sizes_cf(e->db.handle, e->db.cf[family], 1, &from, &begin.len, &to,
                                 &end.len, &bytes, &error);
    if (error == NULL)
        return bytes;
    rocksdb_free(error); /* a file cannot be read: its next reader reports it */
    return UINT64_MAX;
}

/* --- manifest --------------------------------------------------------------------------------- */

/* The MANIFEST contains the bounds of files that are long gone. RocksDB starts a new one, which
 * lists only live files, with the first edit after RDB_MANIFEST_BYTES. So this creates files with
 * bounds of that length, by deleting keys that do not exist in a family that is otherwise
 * unused. */
static enum err lengthen_manifest(struct rdb_engine *e, const uint8_t *key, struct errbuf *eb)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rocksdb_writebatch_delete_cf(batch, e->db.cf[RDB_CF_DEFAULT], (const char *)key,
                                 RDB_MANIFEST_BYTES / 2);
    enum err rc = sto_rdb_write(e, batch);
    rocksdb_writebatch_destroy(batch);
    if (rc == ERR_OK)
        rc = sto_rdb_flush_family(e, RDB_CF_DEFAULT); /* without the writes of other families */
    return rc == ERR_OK ? rc : base_fail(eb, rc, "the MANIFEST cannot be written");
}

static enum err current_manifest(struct rdb_engine *e, struct buf *out, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = base_path_join(path, e->dir, "db/CURRENT", eb);
    return rc == ERR_OK ? base_file_read(path, 64, out, eb) : rc;
}

static enum err roll_manifest(struct rdb_engine *e, struct errbuf *eb)
{
    struct buf before = {0};
    struct buf now = {0};
    uint8_t *key = base_new(RDB_MANIFEST_BYTES / 2);
    enum err rc = current_manifest(e, &before, eb);
    bool is_new = false;
    for (int i = 0; rc == ERR_OK && !is_new && i < ROLL_TRIES; i++) {
        rc = lengthen_manifest(e, key, eb);
        base_buf_fini(&now);
        if (rc == ERR_OK)
            rc = current_manifest(e, &now, eb);
        is_new = rc == ERR_OK && !base_slice_equal(base_buf_slice(&before), base_buf_slice(&now));
    }
    if (rc == ERR_OK && !is_new)
        rc = base_fail(eb, ERR_TIMEOUT, "no new MANIFEST was begun");
    if (rc == ERR_OK) { /* it has deletions only: the files are removed */
        rocksdb_compact_range_cf(e->db.handle, e->db.cf[RDB_CF_DEFAULT], NULL, 0, NULL, 0);
    }
    base_buf_fini(&before);
    base_buf_fini(&now);
    base_free(key);
    return rc;
}

enum err sto_rdb_files_settle(struct rdb_engine *e, struct errbuf *eb)
{
    enum err rc = roll_manifest(e, eb);
    if (rc == ERR_OK)
        rc = sto_rdb_compactions_check(e, eb);
    return rc == ERR_OK ? sto_rdb_wait_for_held_files(e, e->wait_seconds, eb) : rc;
}
