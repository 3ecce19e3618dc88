/*
 * gateway/api/time_unit.c - see time_unit.h.
 */
#include "gateway/api/time_unit.h"

#include <inttypes.h>

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

static enum err time_apply(int64_t unit_us, int64_t *time, struct errbuf *eb)
{
    if (*time > INT64_MAX / unit_us)
        return base_fail(eb, ERR_INVALID,
                         "timestamp %" PRId64
                         " is too large for milliseconds; the limit is %" PRId64,
                         *time, INT64_MAX / unit_us);
    if (*time != STO_TIMESTAMP_SERVER)
        *time *= unit_us;
    return ERR_OK;
}

enum err gw_time_unit_apply(int64_t unit_us, struct sto_mutation *m, struct errbuf *eb)
{
    enum err e = time_apply(unit_us, &m->timestamp_us, eb);
    if (e == ERR_OK)
        e = time_apply(unit_us, &m->start_us, eb);
    if (e == ERR_OK)
        e = time_apply(unit_us, &m->end_us, eb);
    return e;
}
