/*
 * storage/rocksdb/sample.c - small tables by their row headers, large ones by the sizes of files.
 *
 *   the table                                   how
 *   up to WALK_ROWS_MAX rows, or all in         from header to header; each says how many bytes its
 *   memory, where no file knows its size        row has
 *   anything else                               cut in two where half of the key space lies, and
 *                                               again, until a part is small enough by the files
 *
 * 1. File sizes are compressed and rounded to blocks: they are scaled to what the table counts.
 * 2. Key space is rarely filled evenly: a cut that leaves nearly everything on one side is moved
 *    there, CUT_TRIES times at most.
 */
#include "storage/rocksdb/sample.h"

#include <stddef.h>

#include "base/alloc.h"
#include "storage/keycodec.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/rdb.h"
#include "storage/value.h"

#include "base/banned.h"

#define SAMPLES_MAX    4096
#define WALK_ROWS_MAX  50000
#define PARTS_WANTED   64 /* when the caller does not say how far apart */
#define BYTES_BETWEEN  (4 * MIB)
#define CUT_TRIES      16
#define CUT_BYTES      8 /* of a key, behind what both ends share */
#define PARTS_OPEN_MAX 64

struct work {
    struct rdb_engine *engine;
    struct sto_sample_op *op;
    rocksdb_iterator_t *it;
    struct sto_usage usage;
    uint64_t between;    /* in bytes as the table counts them */
    uint64_t file_bytes; /* of the whole table */
    size_t table_len;
    struct sto_key_bounds bounds;
};

/* --- answering ------------------------------------------------------------------------------ */

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

/* row_prefix: as stored; empty: the end of the table. */
static enum err sample_add(struct work *w, struct slice row_prefix, uint64_t offset)
{
    struct sto_sample_op *op = w->op;
    struct sto_sample *sample = &op->samples[op->count];
    sample->offset_bytes = offset;
    sample->row_key = SLICE_EMPTY;
    if (row_prefix.len != 0) {
        uint8_t scratch[2 * LIM_ROW_KEY];
        struct slice escaped =
            base_slice(row_prefix.ptr + w->table_len, row_prefix.len - w->table_len - 2);
        sample->row_key = base_arena_copy(op->arena, sto_key_unescape(escaped, scratch));
        if (sample->row_key.ptr == NULL)
            return base_fail(&op->detail, ERR_NO_MEMORY, "no memory for the samples");
    }
    op->count++;
    return ERR_OK;
}

static enum err iterator_error(struct work *w)
{
    char *error = NULL;
    rocksdb_iter_get_error(w->it, &error);
    return error == NULL ? ERR_OK
                         : base_fail(&w->op->detail, sto_rdb_fail(w->engine, "read", error),
                                     "the table cannot be read");
}

static enum err damaged(struct work *w)
{
    return base_fail(&w->op->detail, ERR_CORRUPT, "a stored row is damaged");
}

/* The row prefix of the key under the iterator; empty: it is damaged. Valid until it moves. */
static struct slice row_now(const struct work *w)
{
    struct slice key;
    key.ptr = (const uint8_t *)rocksdb_iter_key(w->it, &key.len);
    size_t len = key.len > w->table_len ? sto_key_find_end(key, w->table_len) : 0;
    return len > STO_KEY_ROW_MAX ? SLICE_EMPTY : base_slice(key.ptr, len);
}

static void seek(struct work *w, struct slice target)
{
    rocksdb_iter_seek(w->it, (const char *)target.ptr, target.len);
}

/* --- small tables ----------------------------------------------------------------------------- */

static enum err walk(struct work *w)
{
    uint8_t next[STO_KEY_ROW_MAX];
    uint64_t offset = 0;
    uint64_t sampled = 0;
    enum err rc = ERR_OK;
    seek(w, base_slice(w->bounds.lower, w->bounds.lower_len));
    while (rc == ERR_OK && rocksdb_iter_valid(w->it)) {
        struct slice row = row_now(w);
        struct slice value;
        struct sto_row_head head;
        value.ptr = (const uint8_t *)rocksdb_iter_value(w->it, &value.len);
        if (row.len == 0 || sto_row_head_decode(value, &head) != ERR_OK)
            return damaged(w);
        if (offset - sampled >= w->between && w->op->count < SAMPLES_MAX - 1) {
            rc = sample_add(w, row, offset);
            sampled = offset;
        }
        offset += head.bytes;
        memcpy(next, row.ptr, row.len);
        sto_key_after(next, row.len);
        seek(w, base_slice(next, row.len));
    }
    return rc == ERR_OK ? iterator_error(w) : rc;
}

/* --- large tables ----------------------------------------------------------------------------- */

static enum err size_between(struct work *w, struct slice from, struct slice to, uint64_t *out)
{
    const char *starts[] = {(const char *)from.ptr};
    const char *ends[] = {(const char *)to.ptr};
    char *error = NULL;
    rocksdb_approximate_sizes_cf(w->engine->db.handle, w->engine->db.cells, 1, starts, &from.len,
                                 ends, &to.len, out, &error);
    return error == NULL ? ERR_OK
                         : base_fail(&w->op->detail, sto_rdb_fail(w->engine, "read", error),
                                     "the table's size cannot be read");
}

static uint64_t scaled(const struct work *w, uint64_t file_bytes)
{
    return (uint64_t)((double)file_bytes / (double)w->file_bytes * (double)w->usage.bytes);
}

/* Bytes of key behind what low and high share, as a number. */
static uint64_t number_behind(struct slice key, size_t shared)
{
    uint8_t bytes[CUT_BYTES] = {0};
    size_t n = key.len > shared ? key.len - shared : 0;
    if (n > 0)
        memcpy(bytes, key.ptr + shared, n < CUT_BYTES ? n : CUT_BYTES);
    return sto_get_be64(bytes);
}

/* Halfway between two keys in the order of bytes, written to out; its length, 0: nothing between.
 */
static size_t halfway(struct slice low, struct slice high, uint8_t *out)
{
    size_t shared = 0;
    while (shared < low.len && shared < high.len && low.ptr[shared] == high.ptr[shared])
        shared++;
    uint64_t a = number_behind(low, shared);
    uint64_t b = number_behind(high, shared);
    if (b <= a || b - a < 2)
        return 0;
    memcpy(out, low.ptr, shared);
    sto_put_be64(out + shared, a + (b - a) / 2);
    return shared + CUT_BYTES;
}

struct part {
    uint8_t *low; /* stored row prefixes, or bounds; in the work's arena */
    size_t low_len;
    uint8_t *high;
    size_t high_len;
    uint64_t bytes;
};

/* A row inside the part that divides it: cut is its row prefix, *out_left the size before it.
 * Length 0: none was found. */
static enum err cut_find(struct work *w, const struct part *part, uint8_t cut[STO_KEY_ROW_MAX],
                         size_t *out_len, uint64_t *out_left)
{
    uint8_t low[STO_KEY_ROW_MAX + CUT_BYTES], high[STO_KEY_ROW_MAX + CUT_BYTES];
    uint8_t middle[STO_KEY_ROW_MAX + CUT_BYTES];
    struct slice part_low = base_slice(part->low, part->low_len);
    struct slice part_high = base_slice(part->high, part->high_len);
    size_t low_len = part->low_len, high_len = part->high_len;
    memcpy(low, part->low, low_len);
    memcpy(high, part->high, high_len);
    *out_len = 0;
    for (int i = 0; i < CUT_TRIES; i++) {
        size_t n = halfway(base_slice(low, low_len), base_slice(high, high_len), middle);
        if (n == 0)
            return ERR_OK;
        seek(w, base_slice(middle, n));
        struct slice row = rocksdb_iter_valid(w->it) ? row_now(w) : SLICE_EMPTY;
        uint64_t left = part->bytes;
        enum err rc = row.len == 0 ? iterator_error(w) : ERR_OK;
        bool inside = row.len != 0 && base_slice_compare(row, part_low) > 0 &&
                      base_slice_compare(row, part_high) < 0;
        if (rc == ERR_OK && inside)
            rc = size_between(w, part_low, row, &left);
        if (rc != ERR_OK)
            return rc;
        if (inside) {
            memcpy(cut, row.ptr, row.len);
            *out_len = row.len;
            *out_left = left < part->bytes ? left : part->bytes;
        }
        if (inside && left > part->bytes / 8 && left < part->bytes - part->bytes / 8)
            return ERR_OK;
        if (!inside || left > part->bytes / 2) {
            memcpy(high, middle, high_len = n);
        } else {
            memcpy(low, middle, low_len = n);
        }
    }
    return ERR_OK;
}

static bool part_set(struct arena *arena, struct part *part, struct slice low, struct slice high,
                     uint64_t bytes)
{
    part->low = base_arena_alloc(arena, low.len);
    part->high = base_arena_alloc(arena, high.len);
    if (part->low == NULL || part->high == NULL)
        return false;
    memcpy(part->low, low.ptr, low.len);
    memcpy(part->high, high.ptr, high.len);
    part->low_len = low.len;
    part->high_len = high.len;
    part->bytes = bytes;
    return true;
}

/* Parts left to look at are a stack with the leftmost on top: samples come in key order. */
static enum err divide(struct work *w, struct arena *arena)
{
    struct part parts[PARTS_OPEN_MAX];
    size_t open = 1;
    uint64_t offset = 0;
    struct slice lower = base_slice(w->bounds.lower, w->bounds.lower_len);
    struct slice upper = base_slice(w->bounds.upper, w->bounds.upper_len);
    bool fits = part_set(arena, &parts[0], lower, upper, w->file_bytes);
    while (fits && open > 0) {
        struct part part = parts[--open];
        uint8_t cut[STO_KEY_ROW_MAX];
        size_t cut_len = 0;
        uint64_t left = 0;
        enum err rc = ERR_OK;
        if (open + 2 <= PARTS_OPEN_MAX && scaled(w, part.bytes) > w->between + w->between / 2)
            rc = cut_find(w, &part, cut, &cut_len, &left);
        if (rc == ERR_OK && cut_len != 0) {
            struct slice at = base_slice(cut, cut_len);
            fits = part_set(arena, &parts[open], at, base_slice(part.high, part.high_len),
                            part.bytes - left) &&
                   part_set(arena, &parts[open + 1], base_slice(part.low, part.low_len), at, left);
            open += 2;
        } else if (rc == ERR_OK) {
            offset += part.bytes;
            if (open > 0 && w->op->count < SAMPLES_MAX - 1)
                rc = sample_add(w, base_slice(part.high, part.high_len), scaled(w, offset));
        }
        if (rc != ERR_OK)
            return rc;
    }
    return fits ? ERR_OK : base_fail(&w->op->detail, ERR_NO_MEMORY, "no memory for the samples");
}

/* --- the whole operation ---------------------------------------------------------------------- */

static enum err sample(struct work *w)
{
    struct sto_sample_op *op = w->op;
    w->usage = sto_counters_read(&op->scope.schema->table->counters);
    w->between = op->bytes_between;
    if (w->between == 0)
        w->between = w->usage.bytes / PARTS_WANTED > BYTES_BETWEEN ? w->usage.bytes / PARTS_WANTED
                                                                   : BYTES_BETWEEN;
    op->samples = base_arena_alloc(op->arena, SAMPLES_MAX * sizeof(op->samples[0]));
    if (op->samples == NULL)
        return base_fail(&op->detail, ERR_NO_MEMORY, "no memory for the samples");
    struct slice lower = base_slice(w->bounds.lower, w->bounds.lower_len);
    struct slice upper = base_slice(w->bounds.upper, w->bounds.upper_len);
    enum err rc = size_between(w, lower, upper, &w->file_bytes);
    if (rc == ERR_OK && (w->usage.rows <= WALK_ROWS_MAX || w->file_bytes == 0)) {
        rc = walk(w);
    } else if (rc == ERR_OK) {
        struct arena arena;
        base_arena_init(&arena, 64 * MIB);
        rc = divide(w, &arena);
        base_arena_fini(&arena);
    }
    return rc == ERR_OK ? sample_add(w, SLICE_EMPTY, w->usage.bytes) : rc;
}

static void run_on_reader(struct base_msg *msg)
{
    struct sto_sample_op *op =
        (struct sto_sample_op *)((char *)msg - offsetof(struct sto_sample_op, msg));
    struct work *w = op->engine_state;
    struct sto_account *account = op->scope.tenant.account;
    struct sto_row_range all = {.start = SLICE_EMPTY};
    uint8_t table[STO_KEY_TABLE_MAX];
    INVARIANT(sto_key_bounds_of_rows(&op->scope, &all, &w->bounds));
    w->table_len = sto_key_table(&op->scope, table);
    atomic_fetch_add(&account->reads_open, 1);
    enum err rc = sto_rdb_gate_check(account, false, &op->detail);
    if (rc == ERR_OK)
        rc = sto_rdb_usable(w->engine, &op->detail);
    if (rc == ERR_OK) {
        rocksdb_readoptions_t *options =
            sto_rdb_scan_options(base_slice(w->bounds.lower, w->bounds.lower_len),
                                 base_slice(w->bounds.upper, w->bounds.upper_len));
        w->it = rocksdb_create_iterator_cf(w->engine->db.handle, options, w->engine->db.cells);
        rc = sample(w);
        rocksdb_iter_destroy(w->it);
        rocksdb_readoptions_destroy(options);
    }
    atomic_fetch_sub(&account->reads_open, 1);
    base_free(w);
    op->engine_state = NULL;
    answer(op, rc);
}

void sto_rdb_sample_row_keys(struct sto_engine *engine, struct sto_sample_op *op)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    op->detail.text[0] = '\0';
    op->count = 0;
    struct work *w = base_new(sizeof(*w));
    w->engine = e;
    w->op = op;
    op->engine_state = w;
    op->msg.run = run_on_reader;
    if (sto_rdb_pool_push(&e->pool, &op->msg, false))
        return;
    base_free(w);
    op->engine_state = NULL;
    answer(op, base_fail(&op->detail, ERR_OVERLOADED, "the read queue is full; retry"));
}
