/*
 * storage/rocksdb/sample.c - small tables by their row headers, large ones by the sizes of files.
 * There is a sample at each initial split of the table, whatever its rows are.
 *
 *   the table                                   method
 *   up to WALK_ROWS_MAX rows, or all in         from header to header; each has its row's size
 *   memory, so that no file has its size
 *   anything else                               sample_divide.c
 *
 * Ranges of rows are sampled one after another, as if nothing were between them.
 *
 * 1. Samples are never closer than a distance that leads to FOUND_MAX of them, whatever the caller
 *    requests.
 * 2. Each move of an iterator is counted, in either direction: the readers' share is charged slice
 *    by slice, the tenant's rates when the operation returns.
 * 3. A slice ends as those of reads do, and the sampling waits in the queue without an iterator:
 *    one that was kept would keep deleted bytes.
 */
#include "storage/rocksdb/sample.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/memory.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/sample_work.h"
#include "storage/value.h"

#include "base/banned.h"

#define FOUND_MAX      4096 /* samples that are neither splits nor the end */
#define WALK_ROWS_MAX  50000
#define STEPS_OF_A_ROW 4  /* a seek, as for a mutation that seeks */
#define ROWS_OF_A_LOOK 16 /* between two checks whether the sampling is still wanted */
#define PARTS_WANTED   64 /* if the caller sets no distance */
#define BYTES_BETWEEN  (4 * MIB)
#define MEMORY_MAX     (64 * MIB) /* of cuts and splits as they are stored, in the tenant's share */

/* --- returning ------------------------------------------------------------------------------- */

static void run_done(struct base_msg *msg)
{
    struct sto_sample_op *op =
        (struct sto_sample_op *)((char *)msg - offsetof(struct sto_sample_op, msg));
    op->done(op);
}

static void answer(struct sto_sample_op *op, enum err rc)
{
    op->result = rc;
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
}

enum err sto_rdb_sample_no_memory(struct sample_work *w)
{
    const struct base_memory_share *share = w->arena.share;
    if (share == NULL || share->budget == NULL || base_memory_most(share) >= MEMORY_MAX)
        return base_fail(&w->op->detail, ERR_NO_MEMORY, "no memory for the samples");
    return base_fail(&w->op->detail, ERR_NO_MEMORY,
                     "the samples take too much memory: requests of one caller may hold %zu bytes "
                     "together at this moment; send fewer at a time, or retry later",
                     base_memory_most(share));
}

/* Adds a sample. Bytes that a row had when it was visited may have left the counters since. */
enum err sto_rdb_sample_add(struct sample_work *w, struct slice row_prefix, uint64_t offset)
{
    struct sto_sample_op *op = w->op;
    struct sto_sample *sample = &op->samples[op->count];
    sample->offset_bytes = offset < w->usage.bytes ? offset : w->usage.bytes;
    sample->row_key = SLICE_EMPTY;
    if (row_prefix.len != 0) {
        uint8_t scratch[2 * LIM_ROW_KEY];
        struct slice escaped =
            base_slice(row_prefix.ptr + w->table_len, row_prefix.len - w->table_len - 2);
        sample->row_key = base_arena_copy(op->arena, sto_key_unescape(escaped, scratch));
        if (sample->row_key.ptr == NULL)
            return sto_rdb_sample_no_memory(w);
    }
    op->count++;
    return ERR_OK;
}

enum err sto_rdb_sample_found(struct sample_work *w, struct slice row_prefix, uint64_t offset)
{
    if (w->found == FOUND_MAX)
        return ERR_OK;
    w->found++;
    return sto_rdb_sample_add(w, row_prefix, offset);
}

enum err sto_rdb_sample_iterator_error(struct sample_work *w)
{
    char *error = NULL;
    rocksdb_iter_get_error(w->it, &error);
    return error == NULL ? ERR_OK
                         : base_fail(&w->op->detail, sto_rdb_read_failed(w->engine, error),
                                     "the table cannot be read");
}

static enum err damaged(struct sample_work *w)
{
    return base_fail(&w->op->detail, ERR_CORRUPT, "a stored row is damaged");
}

struct slice sto_rdb_sample_row_now(const struct sample_work *w)
{
    struct slice key;
    key.ptr = (const uint8_t *)rocksdb_iter_key(w->it, &key.len);
    size_t len = key.len > w->table_len ? sto_key_find_end(key, w->table_len) : 0;
    return len > STO_KEY_ROW_MAX ? SLICE_EMPTY : base_slice(key.ptr, len);
}

/* Checks whether the sampling continues. */
static enum err look(struct sample_work *w)
{
    struct sto_sample_op *op = w->op;
    if (sto_is_unwanted(op->unwanted))
        return base_fail(&op->detail, ERR_CANCELLED, "the sampling was cancelled");
    if (op->deadline_ns != 0 && base_monotonic_ns() >= op->deadline_ns)
        return base_fail(&op->detail, ERR_TIMEOUT, "the deadline passed before all was sampled");
    enum err rc = sto_rdb_gate_check(op->scope.tenant.account, false, &op->detail);
    if (rc == ERR_OK && atomic_load(&op->scope.schema->table->forgotten))
        rc = base_fail(&op->detail, ERR_NOT_FOUND, "the table was deleted");
    return rc == ERR_OK ? sto_rdb_usable(w->engine, &op->detail) : rc;
}

void sto_rdb_sample_count_steps(struct sample_work *w)
{
    w->steps += STEPS_OF_A_ROW;
    sto_rdb_slice_clock_advance(&w->clock, w->steps);
}

static enum err row_count(struct sample_work *w)
{
    struct sto_sample_op *op = w->op;
    op->rows_seen++;
    sto_rdb_sample_count_steps(w);
    if (rocksdb_iter_valid(w->it)) {
        size_t key_len, value_len;
        (void)rocksdb_iter_key(w->it, &key_len); /* only their lengths */
        (void)rocksdb_iter_value(w->it, &value_len);
        op->bytes_seen += key_len + value_len;
    }
    if (op->rows_seen % ROWS_OF_A_LOOK != 0)
        return ERR_OK;
    sto_rdb_test_point(w->engine, STO_DIE_LOOKING);
    return look(w);
}

enum err sto_rdb_sample_seek(struct sample_work *w, struct slice target)
{
    rocksdb_iter_seek(w->it, (const char *)target.ptr, target.len);
    return row_count(w);
}

enum err sto_rdb_sample_seek_back(struct sample_work *w, struct slice target)
{
    rocksdb_iter_seek_for_prev(w->it, (const char *)target.ptr, target.len);
    return row_count(w);
}

/* --- small tables ----------------------------------------------------------------------------- */

/* Adds the range's splits up to this row; no row: all that are left. */
static enum err splits_walk(struct sample_work *w, struct slice row, uint64_t offset)
{
    enum err rc = ERR_OK;
    while (rc == ERR_OK && w->splits_walked < w->split_to &&
           (row.len == 0 || base_slice_compare(w->splits[w->splits_walked], row) <= 0))
        rc = sto_rdb_sample_add(w, w->splits[w->splits_walked++], offset);
    return rc;
}

static void walk_to(struct sample_work *w, struct slice key)
{
    memcpy(w->row_next, key.ptr, key.len);
    w->row_next_len = key.len;
}

static void walk_begin(struct sample_work *w)
{
    w->splits_walked = w->split_from;
    walk_to(w, base_slice(w->bounds.lower, w->bounds.lower_len));
}

/* Visits one row. Rows that are written ahead of the walk do not make it endless. */
static enum err walk_step(struct sample_work *w, bool *out_done)
{
    *out_done = w->op->rows_seen >= w->usage.rows + WALK_ROWS_MAX;
    if (*out_done)
        return splits_walk(w, SLICE_EMPTY, w->offset);
    enum err rc = sto_rdb_sample_seek(w, base_slice(w->row_next, w->row_next_len));
    *out_done = rc == ERR_OK && !rocksdb_iter_valid(w->it);
    if (*out_done)
        rc = sto_rdb_sample_iterator_error(w);
    if (rc != ERR_OK)
        return rc;
    if (*out_done)
        return splits_walk(w, SLICE_EMPTY, w->offset);
    struct slice row = sto_rdb_sample_row_now(w);
    struct slice value;
    struct sto_row_head head;
    value.ptr = (const uint8_t *)rocksdb_iter_value(w->it, &value.len);
    if (row.len == 0 || sto_row_head_decode(value, &head) != ERR_OK)
        return damaged(w);
    size_t splits_before = w->splits_walked;
    rc = splits_walk(w, row, w->offset);
    if (w->splits_walked != splits_before) {
        w->sampled = w->offset;
    } else if (w->offset - w->sampled >= w->between) {
        rc = sto_rdb_sample_found(w, row, w->offset);
        w->sampled = w->offset;
    }
    w->offset += head.bytes;
    walk_to(w, row);
    sto_key_after(w->row_next, w->row_next_len);
    return rc;
}

/* --- the whole operation ---------------------------------------------------------------------- */

static enum err splits_encode(struct sample_work *w)
{
    const struct sto_schema *schema = w->op->scope.schema;
    uint8_t prefix[STO_KEY_ROW_MAX];
    w->splits = base_arena_alloc(&w->arena, (schema->split_count + 1) * sizeof(w->splits[0]));
    if (w->splits == NULL)
        return sto_rdb_sample_no_memory(w);
    for (size_t i = 0; i < schema->split_count; i++) {
        size_t len = sto_key_row(&w->op->scope, schema->splits[i], prefix);
        w->splits[i] = base_arena_copy(&w->arena, base_slice(prefix, len));
        if (w->splits[i].ptr == NULL)
            return sto_rdb_sample_no_memory(w);
    }
    w->split_count = schema->split_count;
    return ERR_OK;
}

static uint64_t between_wanted(const struct sample_work *w)
{
    uint64_t least = w->usage.bytes / FOUND_MAX + 1;
    uint64_t wanted = w->op->bytes_between;
    if (wanted == 0)
        wanted = w->usage.bytes / PARTS_WANTED > BYTES_BETWEEN ? w->usage.bytes / PARTS_WANTED
                                                               : BYTES_BETWEEN;
    return wanted > least ? wanted : least;
}

static enum err begin(struct sample_work *w)
{
    struct sto_sample_op *op = w->op;
    static const struct sto_row_range all;
    uint8_t table[STO_KEY_TABLE_MAX];
    w->table_len = sto_key_table(&op->scope, table);
    w->usage = sto_counters_read(&op->scope.schema->table->counters);
    w->between = between_wanted(w);
    enum err rc = splits_encode(w);
    if (rc != ERR_OK)
        return rc;
    op->samples =
        base_arena_alloc(op->arena, (FOUND_MAX + w->split_count + 1) * sizeof(op->samples[0]));
    if (op->samples == NULL)
        return sto_rdb_sample_no_memory(w);
    INVARIANT(sto_key_bounds_of_rows(&op->scope, &all, &w->bounds));
    return w->usage.rows > WALK_ROWS_MAX ? sto_rdb_table_measure(w) : ERR_OK;
}

static void choose_splits(struct sample_work *w)
{
    struct slice lower = base_slice(w->bounds.lower, w->bounds.lower_len);
    struct slice upper = base_slice(w->bounds.upper, w->bounds.upper_len);
    w->split_from = 0;
    while (w->split_from < w->split_count &&
           base_slice_compare(w->splits[w->split_from], lower) < 0)
        w->split_from++;
    w->split_to = w->split_from;
    while (w->split_to < w->split_count && base_slice_compare(w->splits[w->split_to], upper) < 0)
        w->split_to++;
}

/* Starts the next range; *out_done: there is none. */
static enum err range_begin(struct sample_work *w, bool *out_done)
{
    static const struct sto_row_range all;
    const struct sto_row_set *rows = &w->op->rows;
    bool is_whole = rows->count == 0 && !rows->none;
    *out_done = w->range_next == (is_whole ? 1 : rows->count);
    if (*out_done)
        return sto_rdb_sample_add(w, SLICE_EMPTY, is_whole ? w->usage.bytes : w->offset);
    size_t at = w->range_next++;
    w->in_range =
        sto_key_bounds_of_rows(&w->op->scope, is_whole ? &all : &rows->ranges[at], &w->bounds);
    if (!w->in_range)
        return ERR_OK;
    choose_splits(w);
    if (w->file_bytes == 0)
        walk_begin(w);
    else
        sto_rdb_divide_begin(w);
    return ERR_OK;
}

static enum err iterator_open(struct sample_work *w)
{
    struct slice lower = base_slice(w->bounds.lower, w->bounds.lower_len);
    struct slice upper = base_slice(w->bounds.upper, w->bounds.upper_len);
    w->options = sto_rdb_scan_options(lower, upper);
    w->it = sto_rdb_rows_iterator(w->engine, w->options, &w->op->scope.tenant);
    return sto_rdb_lost_check(w->engine, RDB_CF_CELLS, lower, upper);
}

static void iterator_close(struct sample_work *w)
{
    if (w->it == NULL)
        return;
    rocksdb_iter_destroy(w->it);
    rocksdb_readoptions_destroy(w->options);
    w->it = NULL;
}

static enum err step(struct sample_work *w, bool *out_done)
{
    bool range_is_done = false;
    if (!w->in_range)
        return range_begin(w, out_done);
    enum err rc = w->it == NULL ? iterator_open(w) : ERR_OK;
    if (rc == ERR_OK)
        rc = w->file_bytes == 0 ? walk_step(w, &range_is_done)
                                : sto_rdb_divide_step(w, &range_is_done);
    if (range_is_done) {
        w->in_range = false;
        iterator_close(w); /* its bounds are those of the range */
    }
    return rc;
}

static enum err slice_run(struct sample_work *w, bool *out_done)
{
    enum err rc = look(w);
    sto_rdb_slice_clock_start(&w->clock);
    w->steps = 0;
    if (rc == ERR_OK && !w->has_begun)
        rc = begin(w);
    w->has_begun = true;
    while (rc == ERR_OK && !*out_done &&
           !sto_rdb_slice_clock_is_over(&w->clock, &w->engine->pool, w->steps))
        rc = step(w, out_done);
    iterator_close(w);
    return rc;
}

static void run_on_reader(struct base_msg *msg);

/* must: it was accepted before. */
static bool to_reader(struct sample_work *w, bool must)
{
    struct sto_sample_op *op = w->op;
    const struct rdb_pool_job job = {.account = op->scope.tenant.account,
                                     .queue = RDB_SCANS,
                                     .priority = op->priority,
                                     .must = must};
    op->msg.run = run_on_reader;
    return sto_rdb_pool_push(&w->engine->pool, &job, &op->msg, &op->retry_ns);
}

static void run_on_reader(struct base_msg *msg)
{
    struct sto_sample_op *op =
        (struct sto_sample_op *)((char *)msg - offsetof(struct sto_sample_op, msg));
    struct sample_work *w = op->engine_state;
    struct sto_account *account = op->scope.tenant.account;
    bool is_done = false;
    atomic_fetch_add(&account->reads_open, 1);
    enum err rc = slice_run(w, &is_done);
    atomic_fetch_sub(&account->reads_open, 1);
    sto_rdb_pool_charge(&w->engine->pool, account, RDB_SCANS, w->steps / RDB_STEPS_PER_OP);
    if (rc == ERR_OK && !is_done) {
        INVARIANT(to_reader(w, true));
        return;
    }
    base_arena_fini(&w->arena);
    base_free(w);
    op->engine_state = NULL;
    answer(op, rc);
}

void sto_rdb_sample_row_keys(struct sto_engine *engine, struct sto_sample_op *op)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    op->detail.text[0] = '\0';
    op->count = 0;
    op->rows_seen = 0;
    op->bytes_seen = 0;
    struct sample_work *w = base_new(sizeof(*w));
    w->engine = e;
    w->op = op;
    base_arena_init(&w->arena, MEMORY_MAX);
    base_arena_charge(&w->arena, op->scope.tenant.account->memory);
    op->engine_state = w;
    if (to_reader(w, false))
        return;
    base_arena_fini(&w->arena);
    base_free(w);
    op->engine_state = NULL;
    answer(op, base_fail(&op->detail, ERR_OVERLOADED, RDB_READS_FULL));
}
