/*
 * tenancy/quota.c - the fields of a quota: four ceilings, then the limits of the data model.
 */
#include "tenancy/quota.h"

#include <inttypes.h>

#include "base/limits.h"

#include "base/banned.h"

_Static_assert(sizeof(struct ten_quota) == TEN_QUOTA_FIELDS * sizeof(uint64_t),
               "each covers every field");

static const struct ten_quota_field CEILINGS[TEN_QUOTA_CEILINGS] = {
    {"stored_bytes", 6, 0, UINT64_MAX, UINT64_MAX},
    {"rows", 7, 0, UINT64_MAX, UINT64_MAX},
    {"read_ops_per_s", 8, 1, LIM_OPS_PER_S, UINT64_MAX},
    {"write_ops_per_s", 9, 1, LIM_OPS_PER_S, UINT64_MAX},
};

static const uint32_t LIMIT_TAGS[STO_LIMIT_COUNT] = {
    [STO_LIMIT_CELL] = 10,   [STO_LIMIT_ROW_KEY] = 12,   [STO_LIMIT_QUALIFIER] = 13,
    [STO_LIMIT_ROW] = 14,    [STO_LIMIT_MUTATIONS] = 15, [STO_LIMIT_FAMILIES] = 16,
    [STO_LIMIT_TABLES] = 17,
};

struct ten_quota_field ten_quota_field(size_t number)
{
    INVARIANT(number < TEN_QUOTA_FIELDS);
    if (number < TEN_QUOTA_CEILINGS)
        return CEILINGS[number];
    enum sto_limit limit = (enum sto_limit)(number - TEN_QUOTA_CEILINGS);
    const struct sto_limit_info *info = sto_limit_info(limit);
    return (struct ten_quota_field){
        .name = info->name,
        .tag = LIMIT_TAGS[limit],
        .min = 1,
        .max = info->hard,
        .standard = info->standard,
    };
}

void ten_quota_default(struct ten_quota *q)
{
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++)
        q->each[i] = ten_quota_field(i).standard;
}

static enum err refuse(const struct ten_quota_field *f, uint64_t value, struct errbuf *eb)
{
    if (f->standard == UINT64_MAX)
        return base_fail(eb, ERR_INVALID,
                         "%s is %" PRIu64 "; it must be %" PRIu64 " to %" PRIu64 ", or no limit",
                         f->name, value, f->min, f->max);
    return base_fail(eb, ERR_INVALID,
                     "%s is %" PRIu64 "; it must be %" PRIu64 " to %" PRIu64
                     ", or left out for %" PRIu64,
                     f->name, value, f->min, f->max, f->standard);
}

enum err ten_quota_settle(struct ten_quota *q, struct errbuf *eb)
{
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++) {
        struct ten_quota_field f = ten_quota_field(i);
        if (q->each[i] == UINT64_MAX)
            q->each[i] = f.standard;
        else if (q->each[i] < f.min || q->each[i] > f.max)
            return refuse(&f, q->each[i], eb);
    }
    return ERR_OK;
}
