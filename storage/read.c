/*
 * storage/read.c - ranges of row keys.
 *
 * 1. The end of a prefix is the prefix without trailing FF bytes, its last byte raised by one.
 */
#include "storage/read.h"

#include "base/banned.h"

struct sto_row_range sto_range_of_prefix(struct slice prefix, uint8_t *end_bytes)
{
    struct sto_row_range range = {.start = prefix};
    size_t len = prefix.len;
    while (len > 0 && prefix.ptr[len - 1] == 0xff)
        len--;
    if (len == 0 || len > LIM_ROW_KEY)
        return range;
    memcpy(end_bytes, prefix.ptr, len);
    end_bytes[len - 1]++;
    range.end = base_slice(end_bytes, len);
    return range;
}

enum err sto_range_check(const struct sto_row_range *range, struct errbuf *eb)
{
    if (range->start.len > LIM_ROW_KEY || range->end.len > LIM_ROW_KEY)
        return base_fail(eb, ERR_INVALID,
                         "start and end have at most %d bytes, as row keys; start has %zu, end %zu",
                         LIM_ROW_KEY, range->start.len, range->end.len);
    if (range->end.len != 0 && base_slice_compare(range->start, range->end) >= 0)
        return base_fail(eb, ERR_INVALID, "start must be before end; this range holds no row");
    return ERR_OK;
}
