/*
 * tenancy/quota.c - the fields of a quota: ceilings and shares, then the limits of the data model.
 */
#include "tenancy/quota.h"

#include <inttypes.h>

#include "base/limits.h"

#include "base/banned.h"

_Static_assert(sizeof(struct ten_quota) == (1 + TEN_QUOTA_FIELDS) * sizeof(uint64_t),
               "each covers every field");
_Static_assert(TEN_QUOTA_FIELDS <= 64, "given has a bit for every field");

static const struct ten_quota_field CEILINGS[TEN_QUOTA_CEILINGS] = {
    {"stored_bytes", 6, 0, UINT64_MAX, UINT64_MAX},
    {"rows", 7, 0, UINT64_MAX, UINT64_MAX},
    {"keys", 20, 1, LIM_KEYS_PER_TENANT, LIM_KEYS_PER_TENANT},
    {"read_ops_per_s", 8, 1, LIM_OPS_PER_S, UINT64_MAX},
    {"write_ops_per_s", 9, 1, LIM_OPS_PER_S, UINT64_MAX},
    {"read_bytes_per_s", 21, KIB, LIM_BYTES_PER_S, UINT64_MAX},
    {"write_bytes_per_s", 22, KIB, LIM_BYTES_PER_S, UINT64_MAX},
    {"burst_ms", 23, 100, 60000, 1000},
    {"concurrent_requests", 24, 1, LIM_CONCURRENT_REQUESTS, UINT64_MAX},
    {"weight", 25, 1, 1000, 100},
    {"reserved_ops_per_s", 26, 0, LIM_OPS_PER_S, 0},
    {"change_streams", 27, 0, 1, 1},
    {"authorized_views", 28, 0, 1, 1},
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
    q->given = 0;
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++)
        q->each[i] = ten_quota_field(i).standard;
}

void ten_quota_give(struct ten_quota *q, size_t number, uint64_t value)
{
    INVARIANT(number < TEN_QUOTA_FIELDS);
    q->given |= 1ULL << number;
    q->each[number] = value;
}

static enum err refuse(const struct ten_quota_field *f, uint64_t value, struct errbuf *eb)
{
    if (value == UINT64_MAX)
        return base_fail(eb, ERR_INVALID,
                         "%s cannot be without a limit; it must be %" PRIu64 " to %" PRIu64,
                         f->name, f->min, f->max);
    return base_fail(eb, ERR_INVALID, "%s is %" PRIu64 "; it must be %" PRIu64 " to %" PRIu64 "%s",
                     f->name, value, f->min, f->max,
                     f->standard == UINT64_MAX ? ", or no limit" : "");
}

enum err ten_quota_check(const struct ten_quota *q, struct errbuf *eb)
{
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++) {
        struct ten_quota_field f = ten_quota_field(i);
        uint64_t value = q->each[i];
        bool is_no_limit = value == UINT64_MAX && f.standard == UINT64_MAX;
        if (ten_quota_is_given(q, i) && !is_no_limit && (value < f.min || value > f.max))
            return refuse(&f, value, eb);
    }
    return ERR_OK;
}

void ten_quota_inherit(const struct ten_quota *plan, const struct ten_quota *own,
                       struct ten_quota *out)
{
    ten_quota_default(out);
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++) {
        if (ten_quota_is_given(own, i))
            ten_quota_give(out, i, own->each[i]);
        else if (plan != NULL && ten_quota_is_given(plan, i))
            ten_quota_give(out, i, plan->each[i]);
    }
}

enum err ten_quota_resolve(const struct ten_quota *plan, const struct ten_quota *own,
                           struct ten_quota *out, struct errbuf *eb)
{
    ten_quota_inherit(plan, own, out);
    uint64_t most =
        out->read_ops_per_s > out->write_ops_per_s ? out->read_ops_per_s : out->write_ops_per_s;
    if (out->reserved_ops_per_s > most)
        return base_fail(eb, ERR_INVALID,
                         "reserved_ops_per_s is %" PRIu64 ", but no more than %" PRIu64
                         " operations a second may pass (read_ops_per_s, write_ops_per_s)",
                         out->reserved_ops_per_s, most);
    return ERR_OK;
}
