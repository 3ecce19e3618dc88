/*
 * storage/mutation.c - all checks of a mutation that need no stored rows.
 *
 * 1. A mutation that passes fits the stored-key buffers of the engines (LIM_STORED_KEY).
 */
#include "storage/mutation.h"

#include <inttypes.h>

#include "base/banned.h"

enum err sto_row_key_check(const struct sto_account *account, struct slice row_key,
                           struct errbuf *eb)
{
    if (row_key.len == 0)
        return base_fail(eb, ERR_INVALID, "row key is empty");
    return sto_account_limit_check(account, STO_LIMIT_ROW_KEY, row_key.len, eb);
}

enum err sto_qualifier_check(const struct sto_account *account, struct slice qualifier,
                             struct errbuf *eb)
{
    return sto_account_limit_check(account, STO_LIMIT_QUALIFIER, qualifier.len, eb);
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

/* Checks a value with a timestamp assigned by the caller or the server. */
static enum err cell_check(const struct sto_account *account, const struct sto_mutation *m,
                           struct errbuf *eb)
{
    enum err rc = sto_account_limit_check(account, STO_LIMIT_CELL, m->value.len, eb);
    if (rc != ERR_OK || m->timestamp_us == STO_TIMESTAMP_SERVER)
        return rc;
    return sto_timestamp_check(m->timestamp_us, eb);
}

/* Checks that the family accepts this kind of mutation. */
static enum err family_check(const struct sto_family *family, enum sto_mutation_kind kind,
                             struct errbuf *eb)
{
    bool adds = kind == STO_ADD_TO_CELL || kind == STO_MERGE_TO_CELL;
    bool replaces = kind == STO_SET_CELL || kind == STO_APPEND || kind == STO_INCREMENT;
    const char *aggregate = sto_aggregate_name(family->aggregate);
    if (adds && aggregate == NULL)
        return base_fail(eb, ERR_INVALID,
                         "the column family holds plain cells: only aggregates are added to");
    if (replaces && aggregate != NULL)
        return base_fail(eb, ERR_INVALID,
                         "the column family holds aggregates (%s): its cells are added to or "
                         "merged, not set, appended to or incremented",
                         aggregate);
    return ERR_OK;
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

static enum err value_check(const struct sto_family *family, const struct sto_account *account,
                            const struct sto_mutation *m, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    switch (m->kind) {
    case STO_ADD_TO_CELL:
        rc = sto_aggregate_input_check(family->aggregate, m->value, eb);
        return rc == ERR_OK ? cell_check(account, m, eb) : rc;
    case STO_MERGE_TO_CELL:
        rc = sto_aggregate_state_check(family->aggregate, m->value, eb);
        return rc == ERR_OK ? cell_check(account, m, eb) : rc;
    case STO_SET_CELL:
        return cell_check(account, m, eb);
    case STO_APPEND:
        return sto_account_limit_check(account, STO_LIMIT_CELL, m->value.len, eb);
    case STO_DELETE_FROM_COLUMN:
        return delete_range_check(m, eb);
    case STO_INCREMENT:
    case STO_DELETE_FROM_FAMILY:
    case STO_DELETE_FROM_ROW:
        break;
    }
    return ERR_OK;
}

enum err sto_mutation_check(const struct sto_schema *schema, const struct sto_account *account,
                            const struct sto_mutation *m, struct errbuf *eb)
{
    if (m->kind == STO_DELETE_FROM_ROW)
        return ERR_OK;
    const struct sto_family *family = sto_schema_family_by_number(schema, m->family);
    if (family == NULL)
        return base_fail(eb, ERR_NOT_FOUND, "the table has no such column family");
    if (m->kind == STO_DELETE_FROM_FAMILY)
        return ERR_OK;
    if (m->kind > STO_INCREMENT)
        return base_fail(eb, ERR_INVALID, "unknown kind of mutation");
    bool deletes = m->kind == STO_DELETE_FROM_COLUMN;
    enum err rc = sto_qualifier_check(deletes ? NULL : account, m->qualifier, eb);
    if (rc == ERR_OK)
        rc = family_check(family, m->kind, eb);
    return rc == ERR_OK ? value_check(family, account, m, eb) : rc;
}

/* Checks that rules of read-modify-write form a request of their own. */
static enum err modify_check(const struct sto_mutation *mutations, size_t count, struct errbuf *eb)
{
    size_t rules = 0;
    for (size_t i = 0; i < count; i++)
        rules += mutations[i].kind == STO_APPEND || mutations[i].kind == STO_INCREMENT;
    if (rules != 0 && rules != count)
        return base_fail(eb, ERR_INVALID, "append and increment come without other mutations");
    if (rules > LIM_MODIFY_RULES)
        return base_fail(eb, ERR_TOO_BIG, "%zu rules of one read-modify-write; the limit is %d",
                         rules, LIM_MODIFY_RULES);
    return ERR_OK;
}

enum err sto_mutations_check(const struct sto_schema *schema, const struct sto_account *account,
                             struct slice row_key, const struct sto_mutation *mutations,
                             size_t count, struct errbuf *eb)
{
    bool deletes = sto_mutations_only_delete(mutations, count);
    enum err rc = sto_row_key_check(deletes ? NULL : account, row_key, eb);
    if (rc != ERR_OK)
        return rc;
    if (count == 0)
        return base_fail(eb, ERR_INVALID, "no mutations for the row");
    rc = sto_account_limit_check(account, STO_LIMIT_MUTATIONS, count, eb);
    if (rc == ERR_OK)
        rc = modify_check(mutations, count, eb);
    if (rc != ERR_OK)
        return rc;
    for (size_t i = 0; i < count; i++) {
        struct errbuf inner = {{0}};
        rc = sto_mutation_check(schema, account, &mutations[i], &inner);
        if (rc != ERR_OK)
            return count == 1 ? base_fail(eb, rc, "%s", inner.text)
                              : base_fail(eb, rc, "mutation %zu: %s", i + 1, inner.text);
    }
    return ERR_OK;
}

bool sto_mutations_only_delete(const struct sto_mutation *mutations, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mutations[i].kind != STO_DELETE_FROM_COLUMN &&
            mutations[i].kind != STO_DELETE_FROM_FAMILY && mutations[i].kind != STO_DELETE_FROM_ROW)
            return false;
    return true;
}
