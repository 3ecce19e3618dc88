/*
 * storage/rocksdb/purge.c - the steps of a departure; ranges.c makes them calls.
 *
 *   step           what a crash right after it leaves              what the repeat does
 *   FENCE          nothing changed                                 waits again
 *   DELETE_FILES   files wholly inside are gone                    drops what lies inside now
 *   DELETE_RANGE   tokens; then tombstone, counters and documents, one more tombstone, harmless
 *                  together
 *   FLUSH          logs hold nothing of the tenant                 flushes nothing
 *   COMPACT        files hold nothing of the tenant, old ones are  rewrites little, waits again
 *                  gone from the disk
 *
 * 1. Files before range, never after: a tombstone dropped with a file would let older rows in a
 *    straddling file come back.
 * 2. delete_file_in_range is end-inclusive: its limit is range.last_inside, never range.end.
 * 3. The range tombstone is written on the tenant's committer: no commit of the tenant can be under
 *    way around it.
 * 4. Files and ranges go beside the batches, whose memory of what is stored is cleared: behind the
 *    gate at the fence, and again with the range.
 * 5. A recount counts in reads_open: its snapshot would keep the bytes. So would one of another
 *    tenant's, which the compaction waits for.
 */
#include "storage/rocksdb/purge.h"

#include <time.h>

#include "base/alloc.h"
#include "base/worker.h"
#include "storage/keycodec.h"
#include "storage/range.h"
#include "storage/rocksdb/checkpoint.h"
#include "storage/rocksdb/docs.h"
#include "storage/rocksdb/heldfiles.h"
#include "storage/rocksdb/progress.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/token.h"

#include "base/banned.h"

#define KEYS_OF_TURN 128 /* that the audit counts before others go ahead */

/* --- fence ---------------------------------------------------------------------------------- */

static void recent_clear(struct rdb_committer *c, void *ctx)
{
    (void)ctx;
    sto_rdb_recent_clear(&c->batch.recent);
    sto_sealer_fini(&c->batch.sealer); /* which may be set up for the tenant's key */
}

static bool gate_is_closed(const struct sto_tenant_scope *scope)
{
    return (atomic_load(&scope->account->gate) & STO_GATE_GONE) != 0;
}

/* Background work on the tenant's committer. */
static void call(struct rdb_engine *e, const struct sto_tenant_scope *scope,
                 void (*fn)(struct rdb_committer *c, void *ctx), void *ctx)
{
    sto_rdb_committer_call(sto_rdb_committer_of(e, scope->account), scope->account,
                           STO_PRIORITY_BACKGROUND, fn, ctx);
}

static enum err fence(struct rdb_engine *e, const struct sto_tenant_scope *scope, struct errbuf *eb)
{
    call(e, scope, recent_clear, NULL);
    const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};
    for (int i = 0; i < e->wait_seconds * 500; i++) {
        if (atomic_load(&scope->account->reads_open) == 0)
            return ERR_OK;
        (void)nanosleep(&pause, NULL); /* woken early: looks early */
    }
    return base_fail(eb, ERR_TIMEOUT, "%u reads of the tenant are still open after %d s",
                     atomic_load(&scope->account->reads_open), e->wait_seconds);
}

/* --- range ---------------------------------------------------------------------------------- */

/* The families that hold a tenant's keys as range.h makes them. */
static const int TENANT_FAMILIES[] = {RDB_CF_CELLS, RDB_CF_CHANGES};
#define TENANT_FAMILY_COUNT (sizeof(TENANT_FAMILIES) / sizeof(TENANT_FAMILIES[0]))

struct files_delete {
    struct rdb_engine *engine;
    struct sto_range range;
    struct errbuf *eb;
    enum err result;
};

static void files_delete(void *ctx)
{
    struct files_delete *d = ctx;
    for (size_t i = 0; d->result == ERR_OK && i < TENANT_FAMILY_COUNT; i++)
        d->result = sto_rdb_files_delete(d->engine, TENANT_FAMILIES[i], &d->range, d->eb);
}

/* Apart: it is a third of a second of the processor for a gigabyte, and the job's is not low. */
static enum err delete_files(struct rdb_engine *e, const struct sto_tenant_scope *scope,
                             struct errbuf *eb)
{
    struct files_delete d = {.engine = e, .range = sto_range_of_tenant(scope), .eb = eb};
    base_run_apart("delete-files", base_thread_long_work, files_delete, &d);
    return d.result;
}

struct tokens_delete {
    const struct sto_tenant_scope *scope;
    bool more;
    enum err result;
};

static void tokens_delete_on_committer(struct rdb_committer *c, void *ctx)
{
    struct tokens_delete *d = ctx;
    d->result = sto_rdb_tokens_purge(c->engine, d->scope, &d->more);
}

/* Any number of them: in commits of their own, others' between them. */
static enum err tokens_delete(struct rdb_engine *e, const struct sto_tenant_scope *scope,
                              struct errbuf *eb)
{
    struct tokens_delete d = {.scope = scope, .more = true};
    while (d.more && d.result == ERR_OK)
        call(e, scope, tokens_delete_on_committer, &d);
    return d.result == ERR_OK ? ERR_OK
                              : base_fail(eb, d.result, "the tenant's tokens cannot be removed");
}

struct range_delete {
    const struct sto_tenant_scope *scope;
    const struct sto_doc_change *changes;
    size_t change_count;
    struct errbuf *eb;
    enum err result;
};

/* Point deletes of the tenant's keys under a letter: few, and meta stays free of range tombstones.
 */
static enum err letter_delete(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                              const struct sto_tenant_scope *scope, char letter)
{
    struct sto_range range = sto_range_of_docs(scope, letter);
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(sto_range_begin(&range), sto_range_end(&range));
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.meta);
    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        size_t len = 0;
        const char *key = rocksdb_iter_key(it, &len);
        rocksdb_writebatch_delete_cf(batch, e->db.meta, key, len);
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return error == NULL ? ERR_OK : sto_rdb_fail(e, "read", error);
}

static enum err range_delete_write(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                                   struct range_delete *d)
{
    struct sto_range range = sto_range_of_tenant(d->scope);
    enum err rc = sto_rdb_docs_stage(e, batch, d->changes, d->change_count, d->eb);
    if (rc != ERR_OK)
        return rc;
    rc = letter_delete(e, batch, d->scope, 'u');
    if (rc == ERR_OK)
        rc = letter_delete(e, batch, d->scope, RDB_NOTE_LETTER);
    if (rc == ERR_OK)
        rc = letter_delete(e, batch, d->scope, RDB_OLD_NOTE_LETTER);
    if (rc != ERR_OK)
        return base_fail(d->eb, rc, "the tenant's counters cannot be read");
    for (size_t i = 0; i < TENANT_FAMILY_COUNT; i++)
        sto_rdb_range_delete(e, batch, TENANT_FAMILIES[i], sto_span_of(&range));
    rc = sto_rdb_write(e, batch);
    return rc == ERR_OK ? rc : base_fail(d->eb, rc, "the deletion could not be made durable");
}

static void range_delete_on_committer(struct rdb_committer *c, void *ctx)
{
    struct range_delete *d = ctx;
    struct rdb_engine *e = c->engine;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    pthread_mutex_lock(&e->docs_lock);
    d->result = range_delete_write(e, batch, d);
    pthread_mutex_unlock(&e->docs_lock);
    rocksdb_writebatch_destroy(batch);
    if (d->result != ERR_OK)
        return;
    recent_clear(c, NULL); /* what its drops wrote behind the fence */
    struct sto_counters *total = &d->scope->account->total;
    atomic_store(&total->bytes, 0);
    atomic_store(&total->rows, 0);
    atomic_store(&total->cells, 0);
}

static enum err delete_range(struct rdb_engine *e, const struct sto_tenant_scope *scope,
                             const struct sto_doc_change *changes, size_t change_count,
                             struct errbuf *eb)
{
    struct range_delete d = {
        .scope = scope, .changes = changes, .change_count = change_count, .eb = eb};
    enum err rc = tokens_delete(e, scope, eb);
    if (rc != ERR_OK)
        return rc;
    call(e, scope, range_delete_on_committer, &d);
    return d.result;
}

/* --- compact -------------------------------------------------------------------------------- */

static enum err look_at_holders(struct rdb_engine *e, struct sto_audit *out, struct errbuf *eb)
{
    out->snapshots = sto_rdb_property(e, "rocksdb.num-snapshots");
    out->oldest_snapshot = sto_rdb_property(e, "rocksdb.oldest-snapshot-sequence");
    for (size_t i = 0; i < TENANT_FAMILY_COUNT; i++) {
        rocksdb_column_family_handle_t *family = e->db.cf[TENANT_FAMILIES[i]];
        uint64_t versions = 0;
        int failed =
            rocksdb_property_int_cf(e->db.handle, family, "rocksdb.num-live-versions", &versions);
        INVARIANT(failed == 0 && versions > 0); /* the current one */
        out->old_versions += versions - 1;
    }
    return sto_rdb_held_bytes(e, &out->obsolete_bytes, eb);
}

static enum err compact_all(struct rdb_engine *e, const struct sto_tenant_scope *scope,
                            struct errbuf *eb)
{
    struct sto_range range = sto_range_of_tenant(scope);
    uint64_t bytes[TENANT_FAMILY_COUNT];
    uint64_t all = 0;
    enum err rc = sto_rdb_wait_for_snapshots(e, eb);
    if (rc != ERR_OK)
        return rc;
    for (size_t i = 0; i < TENANT_FAMILY_COUNT; i++) {
        bytes[i] = sto_rdb_range_files(e, TENANT_FAMILIES[i], sto_range_begin(&range),
                                       sto_range_end(&range))
                       .bytes;
        all += bytes[i];
    }
    sto_rdb_progress_begin(e, STO_PROGRESS_BYTES, all);
    for (size_t i = 0; i < TENANT_FAMILY_COUNT; i++) {
        sto_rdb_range_compact(e, TENANT_FAMILIES[i], sto_range_begin(&range),
                              sto_range_end(&range));
        sto_rdb_progress_add(e, bytes[i]);
    }
    for (size_t i = 0; i < sizeof(RDB_TENANT_LETTERS) - 1; i++) {
        struct sto_range docs = sto_range_of_docs(scope, RDB_TENANT_LETTERS[i]);
        sto_rdb_range_compact(e, RDB_CF_META, sto_range_begin(&docs), sto_range_end(&docs));
    }
    return sto_rdb_files_settle(e, eb);
}

static enum err run(struct rdb_engine *e, const struct sto_tenant_scope *scope,
                    enum sto_purge_step step, const struct sto_doc_change *changes,
                    size_t change_count, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    switch (step) {
    case STO_PURGE_FENCE:
        return fence(e, scope, eb);
    case STO_PURGE_DELETE_FILES:
        return delete_files(e, scope, eb);
    case STO_PURGE_DELETE_RANGE:
        return delete_range(e, scope, changes, change_count, eb);
    case STO_PURGE_FLUSH:
        rc = sto_rdb_flush(e);
        return rc == ERR_OK ? rc : base_fail(eb, rc, "the flush failed");
    case STO_PURGE_COMPACT:
        rc = compact_all(e, scope, eb);
        sto_rdb_reclaim_wake(&e->reclaim); /* it looks whether the range tombstone is gone */
        return rc;
    case STO_PURGE_STEP_COUNT:
        break;
    }
    return base_fail(eb, ERR_INVALID, "there is no such step of a purge");
}

enum err sto_rdb_purge_run(struct sto_engine *engine, const struct sto_tenant_scope *scope,
                           enum sto_purge_step step, const struct sto_doc_change *changes,
                           size_t change_count, struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    enum err rc = sto_rdb_usable(e, eb);
    if (rc != ERR_OK)
        return rc;
    if (!gate_is_closed(scope))
        return base_fail(eb, ERR_CONFLICT, "the tenant's gate must be closed before it is purged");
    sto_rdb_purge_step_begin(e, scope);
    rc = run(e, scope, step, changes, change_count, eb);
    sto_rdb_purge_step_end(e, step == STO_PURGE_COMPACT, rc);
    return rc;
}

/* --- audit ---------------------------------------------------------------------------------- */

static enum err count_keys(struct rdb_engine *e, const struct sto_range *range,
                           rocksdb_column_family_handle_t *family, uint64_t *inout,
                           struct errbuf *eb)
{
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(sto_range_begin(range), sto_range_end(range));
    rocksdb_readoptions_set_ignore_range_deletions(options, 1);
    rocksdb_readoptions_set_fill_cache(options, 0);
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, family);
    uint32_t turn = 0;
    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        (*inout)++;
        sto_rdb_progress_add(e, 1);
        base_yield_every(&turn, KEYS_OF_TURN);
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (error == NULL)
        return ERR_OK;
    return base_fail(eb, sto_rdb_fail(e, "read", error), "the audit could not read");
}

static void look_at_files(struct rdb_engine *e, const struct sto_range *range,
                          struct sto_audit *out)
{
    struct slice begin = sto_range_begin(range);
    struct slice end = sto_range_end(range);
    const rocksdb_livefiles_t *files = rocksdb_livefiles(e->db.handle);
    for (int i = 0; i < rocksdb_livefiles_count(files); i++) {
        const char *family = rocksdb_livefiles_column_family_name(files, i);
        if (strcmp(family, RDB_FAMILY_NAMES[TENANT_FAMILIES[0]]) != 0 &&
            strcmp(family, RDB_FAMILY_NAMES[TENANT_FAMILIES[1]]) != 0)
            continue;
        struct slice low, high;
        low.ptr = (const uint8_t *)rocksdb_livefiles_smallestkey(files, i, &low.len);
        high.ptr = (const uint8_t *)rocksdb_livefiles_largestkey(files, i, &high.len);
        bool low_inside = base_slice_compare(low, begin) >= 0 && base_slice_compare(low, end) < 0;
        bool high_inside =
            base_slice_compare(high, begin) >= 0 && base_slice_compare(high, end) < 0;
        if (low_inside || high_inside)
            out->live_files_inside++;
        else if (base_slice_compare(low, begin) < 0 && base_slice_compare(high, end) >= 0)
            out->live_files_spanning++;
    }
    rocksdb_livefiles_destroy(files);
}

struct audit_run {
    struct rdb_engine *engine;
    const struct sto_tenant_scope *scope;
    struct sto_audit audit;
    struct errbuf *eb;
    enum err result;
};

static void count_all_keys(void *ctx)
{
    struct audit_run *a = ctx;
    struct rdb_engine *e = a->engine;
    struct sto_range range = sto_range_of_tenant(a->scope);
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < TENANT_FAMILY_COUNT; i++)
        rc = count_keys(e, &range, e->db.cf[TENANT_FAMILIES[i]], &a->audit.physical_keys, a->eb);
    for (size_t i = 0; rc == ERR_OK && i < sizeof(RDB_TENANT_LETTERS) - 1; i++) {
        struct sto_range docs = sto_range_of_docs(a->scope, RDB_TENANT_LETTERS[i]);
        rc = count_keys(e, &docs, e->db.meta, &a->audit.counters, a->eb);
    }
    a->result = rc;
}

enum err sto_rdb_audit_range(struct sto_engine *engine, const struct sto_tenant_scope *scope,
                             struct sto_audit *out, struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    struct audit_run a = {.engine = e, .scope = scope, .eb = eb};
    enum err rc = sto_rdb_usable(e, eb);
    if (rc != ERR_OK)
        return rc;
    struct sto_range range = sto_range_of_tenant(scope);
    sto_rdb_progress_begin(e, STO_PROGRESS_KEYS, 0);
    a.audit.sequence = rocksdb_get_latest_sequence_number(e->db.handle);
    base_run_apart("audit", base_thread_behind_others, count_all_keys, &a);
    if (a.result != ERR_OK)
        return a.result;
    look_at_files(e, &range, &a.audit);
    rc = look_at_holders(e, &a.audit, eb);
    if (rc == ERR_OK)
        *out = a.audit;
    return rc;
}
