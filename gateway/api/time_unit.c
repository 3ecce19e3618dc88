/*
 * gateway/api/time_unit.c - see time_unit.h.
 */
#include "gateway/api/time_unit.h"

#include <inttypes.h>

#include "base/text.h"
#include "gateway/api/handlers.h"

#include "base/banned.h"

const char *const gw_row_write_query[] = {GW_TIME_UNIT_FIELD, NULL};

enum err gw_time_unit_read(const struct gw_query *q, int64_t *out_us, struct errbuf *eb)
{
    struct slice unit = gw_query_get(q, GW_TIME_UNIT_FIELD);
    *out_us = base_slice_is(unit, "ms") ? 1000 : 1;
    if (unit.ptr == NULL || *out_us == 1000 || base_slice_is(unit, "us"))
        return ERR_OK;
    return base_fail(eb, ERR_INVALID,
                     "query parameter \"" GW_TIME_UNIT_FIELD
                     "\" must be us (microseconds) or ms (milliseconds)");
}

enum err gw_time_parse(struct slice text, const char *name, int64_t unit_us, int64_t fallback,
                       int64_t *out, struct errbuf *eb)
{
    uint64_t number = 0;
    *out = fallback;
    if (text.ptr == NULL)
        return ERR_OK;
    if (base_parse_u64(text, &number) != ERR_OK || number > INT64_MAX)
        return base_fail(eb, ERR_INVALID, "\"%s\" must be a decimal string of %s", name,
                         unit_us == 1 ? "microseconds" : "milliseconds");
    if ((int64_t)number > INT64_MAX / unit_us)
        return base_fail(eb, ERR_INVALID,
                         "%s %" PRIu64 " is too large for milliseconds; the limit is %" PRId64,
                         name, number, INT64_MAX / unit_us);
    *out = (int64_t)number * unit_us;
    return ERR_OK;
}
