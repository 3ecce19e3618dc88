/*
 * storage/rocksdb/slice_range.c - bounds of ranges, and the iterator's options.
 *
 * 1. A range of one row is read with the row's prefix filter; a longer one in total order.
 * 2. The bounds belong to the iterator while it exists; the rest of a range is in position.
 */
#include "storage/rocksdb/slice_range.h"

#include "storage/rocksdb/cache_sample.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/slice_move.h"

#include "base/banned.h"

#define CACHE_TIER_ONLY 1

/* --- the current range -------------------------------------------------------------------- */

static size_t range_count(const struct sto_read_spec *spec)
{
    if (spec->row_key.len != 0)
        return 1;
    if (spec->rows.none)
        return 0;
    return spec->rows.count == 0 ? 1 : spec->rows.count;
}

static struct sto_row_range range_now(const struct sto_read_cursor *c)
{
    const struct sto_read_spec *spec = &c->op->spec;
    if (spec->row_key.len != 0)
        return (struct sto_row_range){
            .start = spec->row_key, .end = spec->row_key, .end_inclusive = true};
    if (spec->rows.count == 0)
        return (struct sto_row_range){.start = SLICE_EMPTY};
    size_t i = spec->reversed ? spec->rows.count - 1 - c->range_index : c->range_index;
    return spec->rows.ranges[i];
}

static bool is_one_row(const struct sto_row_range *range)
{
    return range->start.len != 0 && !range->start_exclusive && range->end_inclusive &&
           base_slice_equal(range->start, range->end);
}

struct slice sto_rdb_range_point(const struct sto_read_cursor *c)
{
    return range_now(c).start;
}

/* --- bounds --------------------------------------------------------------------------------- */

static struct slice lower_of(const struct sto_key_bounds *b)
{
    return base_slice(b->lower, b->lower_len);
}

static struct slice upper_of(const struct sto_key_bounds *b)
{
    return base_slice(b->upper, b->upper_len);
}

static void raise_lower(struct sto_key_bounds *b, struct slice to)
{
    if (base_slice_compare(to, lower_of(b)) <= 0)
        return;
    memcpy(b->lower, to.ptr, to.len);
    b->lower_len = to.len;
}

static void reduce_upper(struct sto_key_bounds *b, struct slice to)
{
    if (base_slice_compare(to, upper_of(b)) >= 0)
        return;
    memcpy(b->upper, to.ptr, to.len);
    b->upper_len = to.len;
}

/* Leaves out rows whose keys cannot pass the filter. False: none is left. */
static bool cut_to_filter(struct sto_read_cursor *c)
{
    struct sto_filter_program *filter = c->op->spec.filter;
    const struct sto_bytes_range *keys = filter != NULL ? sto_filter_rows(filter) : NULL;
    if (keys == NULL)
        return true;
    if (c->is_point)
        return sto_bytes_range_holds(keys, sto_rdb_range_point(c));
    if (keys->has_end && keys->end.len == 0)
        return false;
    struct sto_row_range range = {.start = keys->start,
                                  .start_exclusive = keys->start_exclusive,
                                  .end = keys->has_end ? keys->end : SLICE_EMPTY,
                                  .end_inclusive = keys->end_inclusive};
    struct sto_key_bounds cut;
    if (!sto_key_bounds_of_rows(&c->op->scope, &range, &cut))
        return false;
    raise_lower(&c->bounds, lower_of(&cut));
    reduce_upper(&c->bounds, upper_of(&cut));
    return true;
}

/* Computes the bounds of the rest of the current range. False: nothing is left. */
static bool bounds_make(struct sto_read_cursor *c)
{
    struct sto_row_range range = range_now(c);
    c->is_point = is_one_row(&range);
    if (c->is_point)
        sto_key_bounds_of_row(&c->op->scope, range.start, &c->bounds);
    else if (!sto_key_bounds_of_rows(&c->op->scope, &range, &c->bounds))
        return false;
    if (!cut_to_filter(c))
        return false;
    struct slice position = base_slice(c->position, c->position_len);
    if (c->position_len != 0 && c->op->spec.reversed)
        reduce_upper(&c->bounds, position);
    else if (c->position_len != 0)
        raise_lower(&c->bounds, position);
    return base_slice_compare(lower_of(&c->bounds), upper_of(&c->bounds)) < 0;
}

/* --- opening -------------------------------------------------------------------------------- */

/* Counts the removed keys between the end where the iterator started and its row. */
static void removed_count(struct sto_read_cursor *c)
{
    uint64_t passed = sto_rdb_passed_end(c->removed_before);
    sto_rdb_steps_add(c, passed / REMOVED_KEYS_A_STEP);
    if (passed < REMOVED_KEYS_NOTED)
        return;
    uint8_t row[STO_KEY_ROW_MAX];
    struct slice begin = lower_of(&c->bounds), end = upper_of(&c->bounds);
    struct slice key = rocksdb_iter_valid(c->iterator) ? sto_rdb_key_now(c) : SLICE_EMPTY;
    size_t len = key.len > c->table_len ? sto_key_find_end(key, c->table_len) : 0;
    if (len != 0 && len <= sizeof row) {
        memcpy(row, key.ptr, len);
        if (!c->op->spec.reversed)
            sto_key_after(row, len);
        *(c->op->spec.reversed ? &begin : &end) = base_slice(row, len);
    }
    sto_rdb_removed_note(c->engine, begin, end, passed);
}

void sto_rdb_range_close(struct sto_read_cursor *c, bool finished)
{
    if (c->iterator != NULL) {
        if (c->counts_removed)
            removed_count(c);
        rocksdb_iter_destroy(c->iterator);
        rocksdb_readoptions_destroy(c->options);
        c->iterator = NULL;
        if (sto_rdb_long_row_is_open(&c->long_row))
            sto_rdb_long_row_rests(&c->long_row);
    }
    if (finished) {
        c->moves = RDB_MOVES_BLIND;
        c->range_index++;
        c->position_len = 0;
        sto_rdb_long_row_close(&c->long_row);
    }
}

/* Leaves out the first lost keys and everything after them. False: nothing is left to read. */
static bool cut_to_loss(struct sto_read_cursor *c)
{
    struct sto_key_bounds *b = &c->bounds;
    uint8_t bound[STO_KEY_ROW_MAX];
    size_t len = 0;
    bool reversed = c->op->spec.reversed;
    c->ends_in_loss =
        sto_rdb_lost_first(c->engine, RDB_CF_CELLS, (struct sto_span){lower_of(b), upper_of(b)},
                           reversed, bound, sizeof bound, &len);
    if (!c->ends_in_loss)
        return true;
    if (reversed)
        raise_lower(b, base_slice(bound, len));
    else
        reduce_upper(b, base_slice(bound, len));
    return !c->is_point && base_slice_compare(lower_of(b), upper_of(b)) < 0;
}

/* Creates the iterator. False: the row that is read over several slices has changed, and its
 * earlier state is lost. */
static bool iterator_open(struct sto_read_cursor *c, bool has_no_tombstones)
{
    struct rdb_engine *e = c->engine;
    c->options = sto_rdb_scan_options(lower_of(&c->bounds), upper_of(&c->bounds));
    if (c->is_point) {
        rocksdb_readoptions_set_total_order_seek(c->options, 0);
        rocksdb_readoptions_set_prefix_same_as_start(c->options, 1);
    }
    rocksdb_readoptions_set_ignore_range_deletions(c->options, has_no_tombstones);
    c->counts_removed = c->moves == RDB_MOVES_UNBOUNDED;
    if (c->counts_removed)
        c->removed_before = sto_rdb_passed_begin();
    else
        rocksdb_readoptions_set_max_skippable_internal_keys(c->options, REMOVED_KEYS_MAX);
    if (c->on_reader)
        c->mark = sto_rdb_long_rows_mark(sto_rdb_long_rows_of(e, c->op->scope.tenant.account));
    else
        rocksdb_readoptions_set_read_tier(c->options, CACHE_TIER_ONLY);
    if (sto_rdb_long_row_is_open(&c->long_row))
        c->iterator = sto_rdb_long_row_iterator(&c->long_row, c->options);
    else
        c->iterator = rocksdb_create_iterator_cf(e->db.handle, c->options, e->db.cells);
    if (c->iterator == NULL)
        rocksdb_readoptions_destroy(c->options);
    return c->iterator != NULL;
}

bool sto_rdb_range_reopen(struct sto_read_cursor *c, bool has_no_tombstones)
{
    sto_rdb_range_close(c, false);
    return iterator_open(c, has_no_tombstones);
}

/* Retries if a loss is recorded while the iterator is created, because the iterator may not see
 * it. */
bool sto_rdb_range_open(struct sto_read_cursor *c, bool has_no_tombstones)
{
    size_t count = range_count(&c->op->spec);
    uint64_t changes;
    do {
        sto_rdb_range_close(c, false);
        changes = atomic_load(&c->engine->lost.changes);
        while (c->range_index < count && !bounds_make(c)) {
            c->range_index++;
            c->position_len = 0;
        }
        if (c->range_index >= count)
            return false;
        if (cut_to_loss(c) && !iterator_open(c, has_no_tombstones)) {
            sto_rdb_long_row_close(&c->long_row);      /* none of it was emitted: restart */
            (void)iterator_open(c, has_no_tombstones); /* cannot fail without a long row */
        }
    } while (changes != atomic_load(&c->engine->lost.changes));
    c->must_move = false;
    c->row_len = 0;
    return true;
}

enum sto_read_kind sto_rdb_range_kind(const struct sto_read_cursor *c)
{
    if (c->is_point)
        return STO_READ_ROW;
    return c->op->spec.reversed ? STO_READ_ROWS_REVERSED : STO_READ_ROWS;
}
