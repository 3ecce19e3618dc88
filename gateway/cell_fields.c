/*
 * gateway/cell_fields.c - untrusted parts of a cell, independent of the format that they arrived
 * in.
 */
#include "gateway/cell_fields.h"

#include <endian.h>

#include "base/banned.h"

enum err gw_family_find(const struct sto_schema *schema, struct slice name,
                        const struct sto_family **out, struct errbuf *eb)
{
    *out = sto_schema_family(schema, name);
    if (*out != NULL)
        return ERR_OK;
    return base_fail(eb, ERR_NOT_FOUND, "the table has no family \"%.*s\"",
                     (int)(name.len < LIM_FAMILY_NAME ? name.len : LIM_FAMILY_NAME),
                     (const char *)name.ptr);
}

enum err gw_integer_bytes(int64_t number, struct arena *arena, struct slice *out, struct errbuf *eb)
{
    uint64_t bytes = htobe64((uint64_t)number);
    *out = base_arena_copy(arena, base_slice(&bytes, sizeof bytes));
    return out->ptr != NULL ? ERR_OK : base_fail(eb, ERR_NO_MEMORY, "out of memory for an input");
}

int64_t gw_integer_of_bytes(struct slice bytes)
{
    uint64_t number = 0;
    INVARIANT(bytes.len == sizeof number);
    memcpy(&number, bytes.ptr, sizeof number);
    return (int64_t)be64toh(number);
}

enum err gw_input_check(const struct sto_family *family, bool is_integer, struct errbuf *eb)
{
    const char *aggregate = sto_aggregate_name(family->aggregate);
    if (aggregate == NULL)
        return base_fail(eb, ERR_INVALID, "family \"%s\" holds plain cells: they take a value",
                         family->name);
    if (is_integer == (family->aggregate != STO_AGGREGATE_HLL))
        return ERR_OK;
    return base_fail(eb, ERR_INVALID, "family \"%s\" (%s) takes %s", family->name, aggregate,
                     is_integer ? "text or bytes, not integers" : "whole numbers of 64 bits");
}
