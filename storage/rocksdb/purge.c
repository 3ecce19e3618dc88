/*
 * storage/rocksdb/purge.c - the steps that remove tenants from files, with the calls of ranges.c.
 *
 *   step           what a crash right after it leaves            what the repeat does
 *   FENCE          nothing changed                               waits again
 *   DELETE_FILES   files wholly inside are gone                  deletes what is inside now
 *   DELETE_RANGE   tokens; then counters and documents gone,     deletes nothing
 *                  together
 *   FLUSH          logs hold nothing of the tenants              flushes nothing
 *   COMPACT        files hold nothing of the tenants, old        compacts little, waits again
 *                  ones are gone from the disk
 *
 * 1. Cells are not deleted entry by entry, nor covered by a range tombstone, which would have to be
 *    rewritten away afterwards. The gate hides them for good; a compaction gives them table files
 *    of their own, and those are deleted (sto_rdb_ranges_erase).
 * 2. delete_file_in_range is end-inclusive: its limit is range.last_inside, never range.end.
 * 3. Counters and documents are deleted on the tenant's committer: no commit of the tenant can be
 *    in progress at the same time.
 * 4. Files are deleted outside the batches, so the batches' cache of stored sizes is cleared: at
 *    the fence, after the gate closed, and again with the counters.
 * 5. A recount counts in reads_open, because its snapshot would keep the bytes. A recount of
 *    another tenant, which the compaction of the documents waits for, releases its snapshot
 *    (recount.c).
 * 6. Tenants that are purged together share the flush, the compactions and the new MANIFEST.
 * 7. Names given by a customer are also in documents that stay: the tenant's own and those of its
 *    keys. tenancy/purge.c removes the names before the flush, and the compaction removes the old
 *    versions from the files. Keys are stored by random IDs, and the ID of a revoked key is no
 *    longer known: the documents of all keys are compacted, once for all tenants of a call. Those
 *    of 100,000 keys are 4.5 MB, less than the one table file that any range costs
 *    (docs/decisions/0047).
 */
#include "storage/rocksdb/purge.h"

#include <time.h>

#include "base/alloc.h"
#include "base/share.h"
#include "storage/keycodec.h"
#include "storage/range.h"
#include "storage/rocksdb/checkpoint.h"
#include "storage/rocksdb/cut.h"
#include "storage/rocksdb/docs.h"
#include "storage/rocksdb/entries.h"
#include "storage/rocksdb/heldfiles.h"
#include "storage/rocksdb/progress.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/token.h"

#include "base/banned.h"

/* --- fence ---------------------------------------------------------------------------------- */

static void recent_clear(struct rdb_committer *c, void *ctx)
{
    (void)ctx;
    sto_rdb_recent_clear(&c->batch.recent);
    sto_sealer_fini(&c->batch.sealer); /* may be set up for the tenant's key */
}

static bool gate_is_closed(const struct sto_tenant_scope *scope)
{
    return (atomic_load(&scope->account->gate) & STO_GATE_GONE) != 0;
}

/* Runs background work on the tenant's committer. */
static void call(struct rdb_engine *e, const struct sto_tenant_scope *scope,
                 void (*fn)(struct rdb_committer *c, void *ctx), void *ctx)
{
    sto_rdb_committer_call(sto_rdb_committer_of(e, scope->account), scope->account,
                           STO_PRIORITY_BACKGROUND, fn, ctx);
}

static enum err fence(struct rdb_engine *e, const struct sto_tenant_scope *scope, struct errbuf *eb)
{
    struct sto_range range = sto_range_of_tenant(scope);
    call(e, scope, recent_clear, NULL);
    const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};
    for (int i = 0; i < e->wait_seconds * 500; i++) {
        if (atomic_load(&scope->account->reads_open) == 0) {
            sto_rdb_removed_forget(e, sto_span_of(&range));
            return ERR_OK;
        }
        (void)nanosleep(&pause, NULL); /* a wake-up only checks earlier */
    }
    return base_fail(eb, ERR_TIMEOUT, "%u reads of the tenant are still open after %d s",
                     atomic_load(&scope->account->reads_open), e->wait_seconds);
}

/* --- range ---------------------------------------------------------------------------------- */

struct files_delete {
    struct rdb_engine *engine;
    struct sto_range range;
    struct errbuf *eb;
    enum err result;
};

static void files_delete(void *ctx)
{
    struct files_delete *d = ctx;
    for (int i = 0; d->result == ERR_OK && i < RDB_CF_COUNT; i++)
        if (sto_rdb_family_is_erased(i))
            d->result = sto_rdb_files_delete(d->engine, i, &d->range, d->eb);
}

/* Deletes the files on a thread of low priority: 1 GB takes a third of a second of processor time,
 * and the job thread's priority is not low. */
static enum err delete_files(struct rdb_engine *e, const struct sto_tenant_scope *scope,
                             struct errbuf *eb)
{
    struct files_delete d = {.engine = e, .range = sto_range_of_tenant(scope), .eb = eb};
    base_run_apart("delete-files", BASE_ERASE, files_delete, &d);
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

/* Deletes the tokens, of which there may be any number, in commits of their own, so that others
 * commit in between. */
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

/* Adds point deletes of the tenant's keys of a kind: few (tokens were deleted before), so meta
 * stays free of range tombstones. */
static enum err kind_delete(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                            const struct sto_tenant_scope *scope, enum sto_doc_kind kind)
{
    struct sto_range range = sto_range_of_docs(scope, kind);
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(sto_range_begin(&range), sto_range_end(&range));
    rocksdb_readoptions_set_ignore_range_deletions(options, 1); /* meta has none */
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
    return error == NULL ? ERR_OK : sto_rdb_read_failed(e, error);
}

/* Deletes the tenant's changes as a range. The sweep of old changes checks no gate: a range
 * tombstone hides the tenant's changes from it, and makes it discard those that it collected before
 * (change_care.c). The range is left out only if there is certainly nothing to delete: an
 * unreadable block may hold changes. */
static void changes_delete(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                           const struct sto_tenant_scope *scope)
{
    struct sto_range range = sto_range_of_tenant(scope);
    struct slice last = base_slice(range.last_inside, range.last_inside_len);
    bool is_any = true;
    enum err rc =
        sto_rdb_entries_any(e->db.handle, e->db.changes, sto_range_begin(&range), last, &is_any);
    if (rc != ERR_OK || is_any)
        sto_rdb_range_delete(e, batch, RDB_CF_CHANGES, sto_span_of(&range), scope->account);
}

static enum err range_delete_write(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                                   struct range_delete *d)
{
    enum err rc = sto_rdb_docs_stage(e, batch, d->changes, d->change_count, d->eb);
    if (rc != ERR_OK)
        return rc;
    const struct sto_doc_place *place;
    for (size_t i = 0; rc == ERR_OK && (place = sto_doc_place_at(i)) != NULL; i++)
        if (place->writer == STO_PLACE_ENGINE && place->fate == STO_PLACE_ERASED)
            rc = kind_delete(e, batch, d->scope, place->kind);
    if (rc != ERR_OK)
        return base_fail(d->eb, rc, "the tenant's counters cannot be read");
    changes_delete(e, batch, d->scope);
    rc = sto_rdb_write(e, batch);
    return rc == ERR_OK ? rc : base_fail(d->eb, rc, "the deletion could not be made durable");
}

static enum err lost_forget(struct rdb_engine *e, const struct sto_tenant_scope *scope)
{
    struct sto_range range = sto_range_of_tenant(scope);
    return sto_rdb_lost_forget(e, scope, sto_span_of(&range));
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
    recent_clear(c, NULL); /* clears the writes of its drops after the fence */
    d->result = lost_forget(e, d->scope);
    struct sto_counters *total = &d->scope->account->total;
    atomic_store(&total->bytes, 0);
    atomic_store(&total->rows, 0);
    atomic_store(&total->cells, 0);
    struct sto_change_sum *changes = atomic_load(&d->scope->account->changes);
    if (changes != NULL)
        atomic_store(&changes->bytes, 0);
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

/* The tenants of one call, and their ranges. */
struct erasure {
    size_t count;
    const struct sto_tenant_scope *const *scopes;
    struct sto_range *ranges;
    const struct sto_range **order; /* reordered by sto_rdb_ranges_erase */
    struct slice *ends;             /* both ends of each range */
};

static void erasure_open(struct erasure *x, const struct sto_tenant_scope *const *scopes,
                         size_t count)
{
    *x = (struct erasure){.count = count, .scopes = scopes};
    x->ranges = base_new_array(count, sizeof x->ranges[0]);
    x->order = base_new_array(count, sizeof x->order[0]);
    x->ends = base_new_array(2 * count, sizeof x->ends[0]);
    for (size_t i = 0; i < count; i++) {
        x->ranges[i] = sto_range_of_tenant(scopes[i]);
        x->ends[2 * i] = sto_range_begin(&x->ranges[i]);
        x->ends[2 * i + 1] = sto_range_end(&x->ranges[i]);
    }
}

static void erasure_close(struct erasure *x)
{
    base_free(x->ends);
    base_free((void *)x->order);
    base_free(x->ranges);
}

static uint64_t family_bytes(struct rdb_engine *e, int family, const struct erasure *x)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < x->count; i++)
        bytes += sto_rdb_range_files(e, family, sto_range_begin(&x->ranges[i]),
                                     sto_range_end(&x->ranges[i]))
                     .bytes;
    return bytes;
}

/* Erases the ranges. Call with the cuts set. */
static enum err rows_erase(struct rdb_engine *e, struct erasure *x, struct errbuf *eb)
{
    uint64_t bytes[RDB_CF_COUNT] = {0};
    uint64_t all = 0;
    enum err rc = ERR_OK;
    for (int i = 0; i < RDB_CF_COUNT; i++)
        if (sto_rdb_family_is_erased(i))
            all += bytes[i] = family_bytes(e, i, x);
    sto_rdb_progress_begin(e, STO_PROGRESS_BYTES, all);
    for (int i = 0; rc == ERR_OK && i < RDB_CF_COUNT; i++) {
        if (!sto_rdb_family_is_erased(i))
            continue;
        for (size_t k = 0; k < x->count; k++)
            x->order[k] = &x->ranges[k];
        rc = sto_rdb_ranges_erase(e, i, x->order, x->count, eb);
        sto_rdb_progress_add(e, bytes[i]);
    }
    return rc;
}

/* Returns the span where the tenant's documents of a kind are, or were. Reduced ones that are not
 * keyed by the tenant may be anywhere in their kind. */
static struct sto_span docs_span(const struct sto_doc_place *place,
                                 const struct sto_tenant_scope *scope, struct sto_range *range)
{
    if (place->fate == STO_PLACE_ERASED)
        *range = sto_range_of_docs(scope, place->kind);
    else if (place->kind == STO_DOC_TENANT)
        *range = sto_range_of_tenant_doc(scope);
    else
        return (struct sto_span){sto_doc_prefix(place->kind), sto_doc_prefix_end(place->kind)};
    return sto_span_of(range);
}

/* Compacts documents and counters that were deleted one by one, and documents that lost their
 * names. */
static void docs_compact(struct rdb_engine *e, const struct erasure *x)
{
    size_t kinds = 0;
    while (sto_doc_place_at(kinds) != NULL)
        kinds++;
    struct sto_range *docs = base_new_array(x->count * kinds, sizeof docs[0]);
    struct sto_span *spans = base_new_array(x->count * kinds, sizeof spans[0]);
    size_t n = 0;
    for (size_t i = 0; i < x->count; i++)
        for (size_t k = 0; k < kinds; k++) {
            const struct sto_doc_place *place = sto_doc_place_at(k);
            if (place->fate == STO_PLACE_ERASED || place->fate == STO_PLACE_REDUCED) {
                spans[n] = docs_span(place, x->scopes[i], &docs[n]);
                n++;
            }
        }
    sto_rdb_spans_compact(e, RDB_CF_META, spans, n);
    base_free(spans);
    base_free(docs);
}

static enum err compact_all(struct rdb_engine *e, const struct sto_tenant_scope *const *scopes,
                            size_t count, struct errbuf *eb)
{
    struct erasure x;
    enum err rc = sto_rdb_wait_for_snapshots(e, eb);
    if (rc != ERR_OK)
        return rc;
    erasure_open(&x, scopes, count);
    sto_rdb_cuts_set(e->db.cuts, x.ends, 2 * count);
    rc = rows_erase(e, &x, eb);
    sto_rdb_cuts_set(e->db.cuts, NULL, 0);
    for (size_t i = 0; rc == ERR_OK && i < count; i++)
        rc = lost_forget(e, scopes[i]); /* of blocks that were found between two attempts */
    if (rc == ERR_OK)
        docs_compact(e, &x);
    erasure_close(&x);
    return rc == ERR_OK ? sto_rdb_files_settle(e, eb) : rc;
}

/* --- steps ----------------------------------------------------------------------------------- */

static enum err step_of_one(struct rdb_engine *e, const struct sto_tenant_scope *scope,
                            enum sto_purge_step step, const struct sto_doc_change *changes,
                            size_t change_count, struct errbuf *eb)
{
    switch (step) {
    case STO_PURGE_FENCE:
        return fence(e, scope, eb);
    case STO_PURGE_DELETE_FILES:
        return delete_files(e, scope, eb);
    case STO_PURGE_DELETE_RANGE:
        return delete_range(e, scope, changes, change_count, eb);
    case STO_PURGE_FLUSH:
    case STO_PURGE_COMPACT:
    case STO_PURGE_STEP_COUNT:
        break;
    }
    return base_fail(eb, ERR_INVALID, "there is no such step of a purge");
}

static enum err step_of_all(struct rdb_engine *e, const struct sto_tenant_scope *const *scopes,
                            size_t count, enum sto_purge_step step, struct errbuf *eb)
{
    if (step == STO_PURGE_COMPACT)
        return compact_all(e, scopes, count, eb);
    if (step != STO_PURGE_FLUSH)
        return base_fail(eb, ERR_INVALID, "this step of a purge is taken by one tenant at a time");
    enum err rc = sto_rdb_flush(e);
    return rc == ERR_OK ? rc : base_fail(eb, rc, "the flush failed");
}

static enum err gates_check(struct rdb_engine *e, const struct sto_tenant_scope *const *scopes,
                            size_t count, struct errbuf *eb)
{
    enum err rc = sto_rdb_usable(e, eb);
    for (size_t i = 0; rc == ERR_OK && i < count; i++)
        if (!gate_is_closed(scopes[i]))
            rc =
                base_fail(eb, ERR_CONFLICT, "the tenant's gate must be closed before it is purged");
    return rc;
}

enum err sto_rdb_purge_run(struct sto_engine *engine, const struct sto_tenant_scope *scope,
                           enum sto_purge_step step, const struct sto_doc_change *changes,
                           size_t change_count, struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    if (step == STO_PURGE_FLUSH || step == STO_PURGE_COMPACT)
        return sto_rdb_purge_run_all(engine, &scope, 1, step, eb);
    enum err rc = gates_check(e, &scope, 1, eb);
    if (rc != ERR_OK)
        return rc;
    sto_rdb_purge_begin(e, scope);
    rc = step_of_one(e, scope, step, changes, change_count, eb);
    if (rc != ERR_OK)
        sto_rdb_purge_end(e, scope);
    return rc;
}

enum err sto_rdb_purge_run_all(struct sto_engine *engine,
                               const struct sto_tenant_scope *const *scopes, size_t count,
                               enum sto_purge_step step, struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    enum err rc = gates_check(e, scopes, count, eb);
    if (rc != ERR_OK)
        return rc;
    for (size_t i = 0; i < count; i++)
        sto_rdb_purge_begin(e, scopes[i]);
    rc = step_of_all(e, scopes, count, step, eb);
    for (size_t i = 0; i < count && (rc != ERR_OK || step == STO_PURGE_COMPACT); i++)
        sto_rdb_purge_end(e, scopes[i]);
    return rc;
}
