/*
 * storage/rocksdb/change_read.c - reads from a position to the present end of the stream.
 *
 * 1. The end of the complete part is determined before the iterator is created: first the table
 *    records that readers have passed the present time (change_log.c places later changes after
 *    it), then the committer's field shows since when a batch is open. Commits before the iterator
 *    is created are visible; later ones are at or after one of the two times.
 * 2. Whether changes may have been removed is checked after the iterator was created: removing uses
 *    the same clock, so changes that were removed before are too old now as well.
 */
#include "storage/rocksdb/change_read.h"

#include <stddef.h>

#include "base/clock.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/slice_clock.h"

#include "base/banned.h"

#define US_PER_MS       1000
#define BYTES_OF_A_STEP KIB

/* One slice. */
struct slice_run {
    struct rdb_engine *engine;
    struct sto_change_op *op;
    rocksdb_iterator_t *it;
    uint64_t steps; /* parts, and KiB of them */
    struct rdb_slice_clock clock;
    int64_t complete_us; /* up to here the iterator has all changes */
    struct sto_sealer sealer;
    struct buf plain; /* the decrypted part under the iterator */
    size_t lower_len;
    size_t upper_len;
    uint8_t lower[STO_CHANGE_KEY_MAX];
    uint8_t upper[STO_CHANGE_KEY_MAX];
};

static void run_done(struct base_msg *msg)
{
    struct sto_change_op *op =
        (struct sto_change_op *)((char *)msg - offsetof(struct sto_change_op, msg));
    op->done(op);
}

static void answer(struct sto_change_op *op, enum err rc)
{
    op->result = rc;
    if (rc != ERR_OK)
        op->state = STO_READ_FAILED;
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
}

/* --- checks ---------------------------------------------------------------------------------- */

static enum err check_stream(const struct sto_change_op *op, struct errbuf *eb)
{
    const struct sto_table *table = op->scope.schema->table;
    if (atomic_load(&table->forgotten))
        return base_fail(eb, ERR_NOT_FOUND, "the table was deleted");
    int64_t since_us = atomic_load(&table->changes.since_us);
    if (since_us == 0)
        return base_fail(eb, ERR_CONFLICT, "the table has no change stream");
    if (since_us != op->since_us)
        return base_fail(eb, ERR_CONFLICT,
                         "the table's change stream was switched off since, and its changes are "
                         "gone: begin a new one");
    return ERR_OK;
}

static enum err check_age(const struct sto_change_op *op, struct errbuf *eb)
{
    const struct sto_change_stream *changes = &op->scope.schema->table->changes;
    int64_t oldest_us = base_wall_us() - atomic_load(&changes->retention_us);
    int64_t from_us = op->at_us != 0 ? op->at_us - 1 : op->passed_us;
    if (from_us + 1 >= op->since_us && from_us >= oldest_us)
        return ERR_OK;
    return base_fail(eb, ERR_CONFLICT,
                     "changes from there are not kept any more: they are older than the table's "
                     "change stream, or than what it retains");
}

/* Returns the time of rule 1. */
static int64_t complete_until(struct rdb_engine *e, const struct sto_change_op *op)
{
    struct sto_change_stream *changes = &op->scope.schema->table->changes;
    int64_t now_us = base_wall_us() / US_PER_MS * US_PER_MS - 1;
    int64_t passed = atomic_load(&changes->passed_us);
    while (passed < now_us && !atomic_compare_exchange_weak(&changes->passed_us, &passed, now_us))
        continue;
    struct rdb_committer *c = sto_rdb_committer_of(e, op->scope.tenant.account);
    int64_t open_us = atomic_load(&c->open_us);
    return open_us != 0 && open_us - 1 < now_us ? open_us - 1 : now_us;
}

/* --- reading --------------------------------------------------------------------------------- */

static bool holds(const struct sto_row_range *range, struct slice row)
{
    int begin = base_slice_compare(row, range->start);
    if (begin < 0 || (begin == 0 && range->start_exclusive))
        return false;
    int end = range->end.len == 0 ? -1 : base_slice_compare(row, range->end);
    return end < 0 || (end == 0 && range->end_inclusive);
}

/* Returns whether the part is the expected one: the first part of a change comes before the others,
 * and none may be missing. */
static bool is_next_part(const struct sto_change_op *op, int64_t position, uint32_t part,
                         const struct sto_change_part *p)
{
    if (p->is_first != (part == 0))
        return false;
    return op->at_us == 0 ? part == 0 : position == op->at_us && part == op->part;
}

static void to_next_change(struct slice_run *r, int64_t position)
{
    uint8_t key[STO_CHANGE_KEY_MAX];
    size_t n = sto_change_key(&r->op->scope, position + 1, 0, key);
    rocksdb_iter_seek(r->it, (const char *)key, n);
}

static enum err damaged(struct sto_change_op *op)
{
    return base_fail(&op->detail, ERR_CORRUPT, "a stored change is damaged");
}

static enum err unseal_part(struct slice_run *r, struct slice key, struct slice *value)
{
    if (value->len == 0 || value->ptr[0] != STO_CHANGE_SEALED)
        return ERR_OK;
    const struct sto_seal_place place = {base_slice(value->ptr, 1), key};
    enum err rc = sto_unseal(&r->sealer, r->op->scope.tenant.account->cipher, &place,
                             base_slice_skip(*value, 1), &r->plain);
    if (rc != ERR_OK)
        return base_fail(&r->op->detail, rc, "%s", sto_unseal_text(rc));
    *value = base_buf_slice(&r->plain);
    return ERR_OK;
}

/* Counts the part under the iterator, whether it will be emitted or skipped. */
static void part_count(struct slice_run *r, struct slice key, struct slice value)
{
    r->steps += 1 + value.len / BYTES_OF_A_STEP;
    r->op->parts_seen++;
    r->op->bytes_seen += key.len + value.len;
}

/* Emits the part under the iterator, and moves after it. */
static enum err take_part(struct slice_run *r)
{
    struct sto_change_op *op = r->op;
    struct slice key, value;
    struct sto_change_part part;
    int64_t position = 0;
    uint32_t number = 0;
    key.ptr = (const uint8_t *)rocksdb_iter_key(r->it, &key.len);
    value.ptr = (const uint8_t *)rocksdb_iter_value(r->it, &value.len);
    part_count(r, key, value);
    enum err rc = unseal_part(r, key, &value);
    if (rc != ERR_OK)
        return rc;
    if (sto_change_key_decode(&op->scope, key, &position, &number) != ERR_OK ||
        sto_change_part_decode(value, &part) != ERR_OK ||
        !is_next_part(op, position, number, &part))
        return damaged(op);
    if (part.is_first && !holds(&op->range, part.row_key)) {
        op->passed_us = position;
        if (part.is_last)
            rocksdb_iter_next(r->it);
        else
            to_next_change(r, position);
        return ERR_OK;
    }
    op->sink->part(op->sink, position, &part);
    op->at_us = part.is_last ? 0 : position;
    op->part = part.is_last ? 0 : number + 1;
    if (part.is_last)
        op->passed_us = position;
    rocksdb_iter_next(r->it);
    return ERR_OK;
}

/* Checks before a part whether the read continues. */
static enum err part_check(struct slice_run *r)
{
    struct sto_change_op *op = r->op;
    sto_rdb_slice_clock_advance(&r->clock, r->steps);
    sto_rdb_test_point(r->engine, STO_DIE_LOOKING);
    if (atomic_load_explicit(&op->cancelled, memory_order_relaxed))
        return base_fail(&op->detail, ERR_CANCELLED, "the reader went away");
    if (sto_rdb_slice_clock_is_late(&r->clock, op->deadline_ns))
        return base_fail(&op->detail, ERR_TIMEOUT, "the deadline passed");
    return ERR_OK;
}

static enum err read_parts(struct slice_run *r)
{
    struct sto_change_op *op = r->op;
    op->state = STO_READ_MORE;
    sto_rdb_slice_clock_start(&r->clock);
    rocksdb_iter_seek_to_first(r->it);
    while (rocksdb_iter_valid(r->it)) {
        enum err rc = part_check(r);
        if (rc == ERR_OK && sto_rdb_slice_clock_is_over(&r->clock, &r->engine->pool, r->steps))
            return ERR_OK;
        if (rc == ERR_OK)
            rc = take_part(r);
        if (rc != ERR_OK || op->sink->is_full(op->sink))
            return rc;
    }
    char *error = NULL;
    rocksdb_iter_get_error(r->it, &error);
    if (error != NULL)
        return base_fail(&op->detail, sto_rdb_read_failed(r->engine, error),
                         "the changes cannot be read");
    if (op->at_us != 0)
        return damaged(op); /* its last part is missing */
    op->state = STO_READ_END;
    if (r->complete_us > op->passed_us)
        op->passed_us = r->complete_us;
    return ERR_OK;
}

/* Computes the slice's bounds. False: there is nothing between them. */
static bool bounds_make(struct slice_run *r)
{
    const struct sto_change_op *op = r->op;
    bool in_change = op->at_us != 0;
    r->lower_len = sto_change_key(&op->scope, in_change ? op->at_us : op->passed_us + 1,
                                  in_change ? op->part : 0, r->lower);
    r->upper_len =
        sto_change_key(&op->scope, op->until_us != 0 ? op->until_us + 1 : INT64_MAX, 0, r->upper);
    return base_slice_compare(base_slice(r->lower, r->lower_len),
                              base_slice(r->upper, r->upper_len)) < 0;
}

static enum err slice_run(struct rdb_engine *e, struct sto_change_op *op)
{
    struct slice_run r = {.engine = e, .op = op};
    enum err rc = check_stream(op, &op->detail);
    if (rc != ERR_OK)
        return rc;
    r.complete_us = complete_until(e, op);
    if (!bounds_make(&r)) {
        op->state = STO_READ_END;
        return check_age(op, &op->detail);
    }
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(base_slice(r.lower, r.lower_len), base_slice(r.upper, r.upper_len));
    r.it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.changes);
    sto_sealer_init(&r.sealer);
    base_buf_init(&r.plain, LIM_CELL_BYTES_HARD + MIB);
    rc = check_age(op, &op->detail);
    if (rc == ERR_OK)
        rc = sto_rdb_lost_check(e, RDB_CF_CHANGES, base_slice(r.lower, r.lower_len),
                                base_slice(r.upper, r.upper_len));
    if (rc == ERR_CORRUPT)
        (void)base_fail(&op->detail, rc, "the changes cannot be read");
    if (rc == ERR_OK)
        rc = read_parts(&r);
    rocksdb_iter_destroy(r.it);
    rocksdb_readoptions_destroy(options);
    sto_sealer_fini(&r.sealer);
    base_buf_fini(&r.plain);
    sto_rdb_pool_charge(&e->pool, op->scope.tenant.account, RDB_SCANS, r.steps / RDB_STEPS_PER_OP);
    return rc;
}

static void run_on_reader(struct base_msg *msg)
{
    struct sto_change_op *op =
        (struct sto_change_op *)((char *)msg - offsetof(struct sto_change_op, msg));
    struct rdb_engine *e = sto_rdb_engine(op->engine);
    struct sto_account *account = op->scope.tenant.account;
    atomic_fetch_add(&account->reads_open, 1);
    enum err rc = sto_rdb_gate_check(account, false, &op->detail);
    if (rc == ERR_OK)
        rc = sto_rdb_usable(e, &op->detail);
    if (rc == ERR_OK)
        rc = slice_run(e, op);
    atomic_fetch_sub(&account->reads_open, 1);
    answer(op, rc);
}

void sto_rdb_read_changes(struct sto_engine *engine, struct sto_change_op *op)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    op->detail.text[0] = '\0';
    op->engine = engine;
    op->retry_ns = 0;
    op->parts_seen = 0;
    op->bytes_seen = 0;
    enum err rc = sto_rdb_usable(e, &op->detail);
    if (rc == ERR_OK && (op->range.start.len > LIM_ROW_KEY || op->range.end.len > LIM_ROW_KEY ||
                         op->passed_us < 0 || op->passed_us >= INT64_MAX - 1 || op->until_us < 0 ||
                         op->until_us >= INT64_MAX - 1))
        rc = base_fail(&op->detail, ERR_INVALID, "the changes asked for cannot exist");
    if (rc == ERR_OK) {
        const struct rdb_pool_job job = {
            .account = op->scope.tenant.account, .queue = RDB_SCANS, .priority = op->priority};
        op->msg.run = run_on_reader;
        if (sto_rdb_pool_push(&e->pool, &job, &op->msg, &op->retry_ns))
            return;
        rc = base_fail(&op->detail, ERR_OVERLOADED, RDB_READS_FULL);
    }
    answer(op, rc);
}
