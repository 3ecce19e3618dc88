/*
 * storage/rocksdb/expiry.c - versions are counted from the newest of a column.
 */
#include "storage/rocksdb/expiry.h"

#include "base/clock.h"
#include "storage/gc_rule.h"

#include "base/banned.h"

void sto_rdb_expiry_init(struct rdb_expiry *x, const struct sto_schema *schema)
{
    x->schema = schema;
    x->first_us = STO_GC_NEVER;
    sto_rdb_expiry_begin(x);
}

void sto_rdb_expiry_begin(struct rdb_expiry *x)
{
    x->now_us = base_wall_us();
    x->column_len = 0;
}

/* Numbers of families are never reused: a missing number below next_number was removed for good. */
bool sto_rdb_is_expired(struct rdb_expiry *x, const struct sto_key *cell)
{
    if (x->column_len == 0 || !base_slice_equal(cell->column_prefix, sto_rdb_expiry_column(x))) {
        memcpy(x->column, cell->column_prefix.ptr, cell->column_prefix.len);
        x->column_len = cell->column_prefix.len;
        x->family = sto_schema_family_by_number(x->schema, cell->family);
        x->newer = 0;
    }
    if (x->family == NULL)
        return cell->family < x->schema->next_number;
    uint64_t newer = x->newer++;
    if (sto_gc_collects(&x->family->gc, newer, cell->timestamp_us, x->now_us))
        return true;
    int64_t at = sto_gc_collects_at(&x->family->gc, newer, cell->timestamp_us);
    if (at < x->first_us)
        x->first_us = at;
    return false;
}
