/*
 * storage/rocksdb/change_log.c - adds changes to the batch in progress.
 *
 * 1. Parts go into RocksDB's batch at once, not through the overlay: nothing reads them back before
 *    they are durable, and an operation that is refused later removes them with a save point.
 * 2. Cells removed one by one are recorded as time intervals of their column, as long as no stored
 *    cell was kept between them: a later write inside such an interval comes later in the stream.
 */
#include "storage/rocksdb/change_log.h"

#include "base/clock.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define LIST_BYTES_MAX GIB
#define US_PER_MS      1000

void sto_rdb_change_log_init(struct rdb_change_log *log)
{
    log->on = false;
    log->changes = false;
    log->run_goes_on = false;
    base_buf_init(&log->list, LIST_BYTES_MAX);
    base_arena_init(&log->copies, LIST_BYTES_MAX);
}

void sto_rdb_change_log_fini(struct rdb_change_log *log)
{
    base_buf_fini(&log->list);
    base_arena_fini(&log->copies);
}

void sto_rdb_change_log_begin(struct rdb_change_log *log, const struct sto_table *table)
{
    log->on = atomic_load_explicit(&table->changes.since_us, memory_order_acquire) != 0;
    log->changes = false;
    log->run_goes_on = false;
    if (log->list.len > 0)
        base_buf_truncate(&log->list, 0);
    if (log->copies.used > 0) {
        base_arena_fini(&log->copies);
        base_arena_init(&log->copies, LIST_BYTES_MAX);
    }
}

static struct sto_change_mutation *list_of(struct rdb_change_log *log)
{
    return (struct sto_change_mutation *)(void *)log->list.ptr;
}

static bool same_column(const struct sto_change_mutation *a, const struct sto_change_mutation *b)
{
    return base_slice_equal(a->family, b->family) && base_slice_equal(a->qualifier, b->qualifier);
}

enum err sto_rdb_change_log_add(struct rdb_change_log *log, const struct sto_change_mutation *m,
                                bool changes)
{
    log->changes = log->changes || changes;
    size_t count = sto_rdb_change_log_count(log);
    struct sto_change_mutation *last = count == 0 ? NULL : &list_of(log)[count - 1];
    if (last != NULL && last->kind == STO_SET_CELL && m->kind == STO_SET_CELL &&
        last->timestamp_us == m->timestamp_us && same_column(last, m)) {
        *last = *m;
        return ERR_OK;
    }
    return base_buf_append(&log->list, base_slice(m, sizeof(*m)));
}

enum err sto_rdb_change_log_cell(struct rdb_change_log *log, const struct sto_family *family,
                                 struct slice qualifier_escaped, int64_t timestamp_us)
{
    if (!log->on)
        return ERR_OK;
    bool goes_on = log->run_goes_on;
    log->run_goes_on = family != NULL;
    if (family == NULL)
        return ERR_OK;
    uint8_t scratch[LIM_QUALIFIER];
    struct sto_change_mutation m = {
        .kind = STO_DELETE_FROM_COLUMN,
        .family = base_slice(family->name, family->name_len),
        .qualifier = sto_key_unescape(qualifier_escaped, scratch),
        .start_us = timestamp_us,
        .end_us = timestamp_us > INT64_MAX - US_PER_MS ? 0 : timestamp_us + US_PER_MS,
    };
    size_t count = sto_rdb_change_log_count(log);
    struct sto_change_mutation *last = count == 0 ? NULL : &list_of(log)[count - 1];
    log->changes = true;
    if (goes_on && last != NULL && same_column(last, &m)) {
        last->start_us = timestamp_us; /* newest first */
        return ERR_OK;
    }
    struct slice copy = base_arena_copy(&log->copies, m.qualifier);
    if (copy.ptr == NULL && m.qualifier.len > 0)
        return ERR_NO_MEMORY;
    m.qualifier = copy;
    return base_buf_append(&log->list, base_slice(&m, sizeof(m)));
}

void sto_rdb_change_log_whole_row(struct rdb_change_log *log)
{
    struct sto_change_mutation *list = list_of(log);
    size_t count = sto_rdb_change_log_count(log), kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || !base_slice_equal(list[kept - 1].family, list[i].family))
            list[kept++] = (struct sto_change_mutation){.kind = STO_DELETE_FROM_FAMILY,
                                                        .family = list[i].family};
    base_buf_truncate(&log->list, kept * sizeof(list[0]));
}

/* --- adding to the batch --------------------------------------------------------------------- */

struct place {
    struct rdb_batch *batch;
    const struct sto_table_scope *scope;
    int64_t position;
};

/* Encrypts a part. Empty if the tenant's keys are gone: then the tenant is, too, and its changes
 * will not be read. */
static struct slice seal_part(const struct place *p, struct slice key, struct slice bytes)
{
    static const uint8_t head[] = {STO_CHANGE_SEALED};
    struct rdb_batch *b = p->batch;
    const struct sto_seal_place place = {base_slice(head, sizeof head), key};
    enum err rc = sto_seal(&b->sealer, p->scope->tenant.account->cipher, &place, bytes, &b->sealed);
    INVARIANT(rc == ERR_OK || rc == ERR_UNAVAILABLE);
    return rc == ERR_OK ? base_buf_slice(&b->sealed) : SLICE_EMPTY;
}

static void put_part(void *ctx, uint32_t part, struct slice bytes)
{
    const struct place *p = ctx;
    uint8_t key[STO_CHANGE_KEY_MAX];
    size_t n = sto_change_key(p->scope, p->position, part, key);
    if (p->scope->tenant.account->cipher != NULL)
        bytes = seal_part(p, base_slice(key, n), bytes);
    if (bytes.len == 0)
        return;
    rocksdb_writebatch_put_cf(p->batch->writes, p->batch->engine->db.changes, (const char *)key, n,
                              (const char *)bytes.ptr, bytes.len);
    p->batch->change_bytes += n + bytes.len;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns a position after the last one, after all that readers take as complete, and not before
 * the stream, the committer's clock, or the microsecond in which a client may have requested to
 * read from now. */
static int64_t next_position(const struct rdb_tally *tally, int64_t committer_us)
{
    const struct sto_change_stream *changes = &tally->table->changes;
    int64_t behind = later(tally->last_change_us, atomic_load(&changes->passed_us));
    int64_t now_us = later(committer_us, base_wall_us());
    return later(later(now_us, atomic_load(&changes->since_us)), behind + 1);
}

enum err sto_rdb_change_log_put(struct rdb_change_log *log, struct rdb_batch *batch,
                                struct rdb_tally *tally, const struct sto_table_scope *scope,
                                enum sto_change_type type, struct slice row_key,
                                int64_t committer_us)
{
    if (!log->changes)
        return ERR_OK;
    struct place place = {
        .batch = batch, .scope = scope, .position = next_position(tally, committer_us)};
    struct sto_change change = {.type = type,
                                .row_key = row_key,
                                .mutations = list_of(log),
                                .count = sto_rdb_change_log_count(log)};
    size_t before = batch->change_bytes;
    enum err rc = sto_change_encode(&change, &batch->change_part, put_part, &place);
    base_buf_truncate(&batch->change_part, 0);
    if (rc != ERR_OK)
        return rc;
    sto_rdb_batch_count_changes(batch, tally, batch->change_bytes - before);
    tally->last_change_us = place.position;
    tally->changed = true;
    return ERR_OK;
}
