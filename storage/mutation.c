/*
 * storage/mutation.c - everything that can be refused about a mutation without looking at rows.
 *
 * 1. What passes here fits the stored-key buffers of the engines (LIM_STORED_KEY).
 */
#include "storage/mutation.h"

#include <inttypes.h>

#include "base/banned.h"

enum err sto_row_key_check(struct slice row_key, struct errbuf *eb)
{
    if (row_key.len == 0)
        return base_fail(eb, ERR_INVALID, "row key is empty");
    if (row_key.len > LIM_ROW_KEY)
        return base_fail(eb, ERR_TOO_BIG, "row key has %zu bytes; the limit is %d", row_key.len,
                         LIM_ROW_KEY);
    return ERR_OK;
}

enum err sto_qualifier_check(struct slice qualifier, struct errbuf *eb)
{
    if (qualifier.len > LIM_QUALIFIER)
        return base_fail(eb, ERR_TOO_BIG, "column qualifier has %zu bytes; the limit is %lu",
                         qualifier.len, LIM_QUALIFIER);
    return ERR_OK;
}

enum err sto_timestamp_check(int64_t timestamp_us, struct errbuf *eb)
{
    if (timestamp_us < 0)
        return base_fail(eb, ERR_INVALID, "timestamp %" PRId64 " is negative", timestamp_us);
    if (timestamp_us % 1000 != 0)
        return base_fail(eb, ERR_INVALID,
                         "timestamp %" PRId64 " is not a multiple of 1000: timestamps are "
                         "microseconds in whole milliseconds",
                         timestamp_us);
    return ERR_OK;
}

static enum err set_cell_check(const struct sto_account *account, const struct sto_mutation *m,
                               struct errbuf *eb)
{
    uint64_t max = atomic_load_explicit(&account->cell_bytes_max, memory_order_relaxed);
    if (max > LIM_CELL_BYTES_HARD)
        max = LIM_CELL_BYTES_HARD;
    if (m->value.len > max)
        return base_fail(eb, ERR_TOO_BIG, "cell value has %zu bytes; the limit is %" PRIu64,
                         m->value.len, max);
    if (m->timestamp_us == STO_TIMESTAMP_SERVER)
        return ERR_OK;
    return sto_timestamp_check(m->timestamp_us, eb);
}

static enum err delete_range_check(const struct sto_mutation *m, struct errbuf *eb)
{
    if (m->start_us < 0 || m->end_us < 0)
        return base_fail(eb, ERR_INVALID, "the time range of a delete must not be negative");
    if (m->end_us != 0 && m->start_us >= m->end_us)
        return base_fail(eb, ERR_INVALID,
                         "the time range of a delete is empty: start %" PRId64
                         " is not before end %" PRId64,
                         m->start_us, m->end_us);
    return ERR_OK;
}

static enum err mutation_check(const struct sto_schema *schema, const struct sto_account *account,
                               const struct sto_mutation *m, struct errbuf *eb)
{
    if (m->kind == STO_DELETE_FROM_ROW)
        return ERR_OK;
    if (sto_schema_family_by_number(schema, m->family) == NULL)
        return base_fail(eb, ERR_NOT_FOUND, "the table has no such column family");
    if (m->kind == STO_DELETE_FROM_FAMILY)
        return ERR_OK;
    if (m->kind != STO_SET_CELL && m->kind != STO_DELETE_FROM_COLUMN)
        return base_fail(eb, ERR_INVALID, "unknown kind of mutation");
    enum err rc = sto_qualifier_check(m->qualifier, eb);
    if (rc != ERR_OK)
        return rc;
    return m->kind == STO_SET_CELL ? set_cell_check(account, m, eb) : delete_range_check(m, eb);
}

enum err sto_mutations_check(const struct sto_schema *schema, const struct sto_account *account,
                             struct slice row_key, const struct sto_mutation *mutations,
                             size_t count, struct errbuf *eb)
{
    enum err rc = sto_row_key_check(row_key, eb);
    if (rc != ERR_OK)
        return rc;
    if (count == 0)
        return base_fail(eb, ERR_INVALID, "no mutations for the row");
    if (count > LIM_MUTATIONS_PER_ROW)
        return base_fail(eb, ERR_TOO_BIG, "%zu mutations of one row; the limit is %d", count,
                         LIM_MUTATIONS_PER_ROW);
    for (size_t i = 0; i < count; i++) {
        struct errbuf inner = {{0}};
        rc = mutation_check(schema, account, &mutations[i], &inner);
        if (rc != ERR_OK)
            return count == 1 ? base_fail(eb, rc, "%s", inner.text)
                              : base_fail(eb, rc, "mutation %zu: %s", i + 1, inner.text);
    }
    return ERR_OK;
}

bool sto_mutations_only_delete(const struct sto_mutation *mutations, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mutations[i].kind == STO_SET_CELL)
            return false;
    return true;
}
