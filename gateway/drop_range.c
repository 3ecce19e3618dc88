/*
 * gateway/drop_range.c - the range of rows that a bulk drop request names.
 */
#include "gateway/drop_range.h"

#include "base/banned.h"

enum err gw_drop_range(const struct sto_schema *schema, struct slice prefix, bool all,
                       uint8_t *end_bytes, struct sto_row_range *out, struct errbuf *eb)
{
    *out = (struct sto_row_range){.start = SLICE_EMPTY};
    if (all && schema->protected)
        return base_fail(eb, ERR_CONFLICT,
                         "deletion protection is on: not all rows can be removed at once");
    if (all)
        return ERR_OK;
    if (prefix.len == 0)
        return base_fail(eb, ERR_INVALID,
                         "the prefix is empty; say that all rows are meant, if they are");
    if (prefix.len > LIM_ROW_KEY)
        return base_fail(eb, ERR_TOO_BIG, "the prefix is %zu bytes; the limit is %d", prefix.len,
                         LIM_ROW_KEY);
    *out = sto_range_of_prefix(prefix, end_bytes);
    return ERR_OK;
}
