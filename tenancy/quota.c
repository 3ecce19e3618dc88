/*
 * tenancy/quota.c - the fields of a quota: ceilings and shares, then the limits of the data model.
 */
#include "tenancy/quota.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/limits.h"

#include "base/banned.h"

_Static_assert(sizeof(struct ten_quota) == (1 + TEN_QUOTA_FIELDS) * sizeof(uint64_t),
               "each covers every field");
_Static_assert(TEN_QUOTA_FIELDS <= 64, "given has a bit for every field");

/* Number of a field whose default depends on others. */
#define NUMBER_OF(field) (offsetof(struct ten_quota, field) / sizeof(uint64_t) - 1)

static const struct ten_quota_field CEILINGS[TEN_QUOTA_CEILINGS] = {
    {"stored_bytes", 6, 0, UINT64_MAX, UINT64_MAX, true},
    {"rows", 7, 0, UINT64_MAX, UINT64_MAX, true},
    {"keys", 20, 1, LIM_KEYS_PER_TENANT, LIM_KEYS_PER_TENANT, false},
    {"read_ops_per_s", 8, 1, LIM_OPS_PER_S, UINT64_MAX, true},
    {"write_ops_per_s", 9, 1, LIM_OPS_PER_S, UINT64_MAX, true},
    {"read_bytes_per_s", 21, KIB, LIM_BYTES_PER_S, UINT64_MAX, true},
    {"write_bytes_per_s", 22, KIB, LIM_BYTES_PER_S, UINT64_MAX, true},
    {"burst_ms", 23, 100, 60000, 1000, false},
    {"concurrent_requests", 24, 1, LIM_CONCURRENT_REQUESTS, LIM_CONCURRENT_STANDARD, true},
    {"weight", 25, 1, 1000, 100, false},
    {"reserved_ops_per_s", 26, 0, LIM_OPS_PER_S, 0, false},
    {"change_streams", 27, 0, 1, 1, false},
    {"authorized_views", 28, 0, 1, 1, false},
    {"control_ops_per_s", 29, 1, LIM_CONTROL_OPS_PER_S_MAX, LIM_CONTROL_OPS_PER_S, false},
    {"audit_days", 30, 1, LIM_AUDIT_DAYS_MAX, LIM_AUDIT_DAYS, false},
    {"change_bytes", 31, 0, UINT64_MAX, UINT64_MAX, true},
    {"backup_bytes", 32, 0, UINT64_MAX, UINT64_MAX, true},
    {"idempotency_tokens", 33, 0, UINT64_MAX, LIM_TOKENS_STANDARD, true},
    {"schema_bytes", 34, 64 * KIB, LIM_SCHEMA_BYTES_MAX, LIM_SCHEMA_BYTES_STANDARD, false},
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
        .may_be_none = false,
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

void ten_quota_give_first(struct ten_quota *q)
{
    ten_quota_give(q, NUMBER_OF(stored_bytes), LIM_FIRST_STORED_BYTES);
    ten_quota_give(q, NUMBER_OF(change_bytes), LIM_FIRST_CHANGE_BYTES);
    ten_quota_give(q, NUMBER_OF(backup_bytes), LIM_FIRST_BACKUP_BYTES);
    ten_quota_give(q, NUMBER_OF(read_ops_per_s), LIM_FIRST_OPS_PER_S);
    ten_quota_give(q, NUMBER_OF(write_ops_per_s), LIM_FIRST_OPS_PER_S);
    ten_quota_give(q, NUMBER_OF(read_bytes_per_s), LIM_FIRST_READ_BYTES_PER_S);
    ten_quota_give(q, NUMBER_OF(write_bytes_per_s), LIM_FIRST_WRITE_BYTES_PER_S);
}

void ten_quota_give_keyless(struct ten_quota *q)
{
    ten_quota_give(q, NUMBER_OF(control_ops_per_s), LIM_CONTROL_OPS_PER_S_MAX);
}

void ten_quota_give_departed(struct ten_quota *own, const struct ten_quota *plan)
{
    size_t number = NUMBER_OF(audit_days);
    if (ten_quota_is_given(plan, number) && !ten_quota_is_given(own, number))
        ten_quota_give(own, number, plan->audit_days);
}

bool ten_quota_equal(const struct ten_quota *a, const struct ten_quota *b)
{
    if (a->given != b->given)
        return false;
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++)
        if (ten_quota_is_given(a, i) && a->each[i] != b->each[i])
            return false;
    return true;
}

static enum err refuse(const struct ten_quota_field *f, uint64_t value, struct errbuf *eb)
{
    if (value == UINT64_MAX)
        return base_fail(eb, ERR_INVALID,
                         "%s cannot be without a limit; it must be %" PRIu64 " to %" PRIu64,
                         f->name, f->min, f->max);
    return base_fail(eb, ERR_INVALID, "%s is %" PRIu64 "; it must be %" PRIu64 " to %" PRIu64 "%s",
                     f->name, value, f->min, f->max, f->may_be_none ? ", or no limit" : "");
}

enum err ten_quota_check(const struct ten_quota *q, struct errbuf *eb)
{
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++) {
        struct ten_quota_field f = ten_quota_field(i);
        uint64_t value = q->each[i];
        bool is_no_limit = value == UINT64_MAX && f.may_be_none;
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
    if (!ten_quota_is_given(out, NUMBER_OF(change_bytes)))
        out->change_bytes = out->stored_bytes;
    if (out->backup_bytes == UINT64_MAX && !ten_quota_is_given(out, NUMBER_OF(backup_bytes)) &&
        out->stored_bytes < UINT64_MAX / LIM_BACKUP_TIMES)
        out->backup_bytes = LIM_BACKUP_TIMES * out->stored_bytes;
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
