/*
 * tenancy/quota.h - the quota of a tenant: storage, rates, sizes, and its share of the server.
 *
 * Does:     lists the fields of a quota with their names, ranges and defaults; checks the set
 *           fields of a quota; resolves a tenant's quota from its own and its plan's.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: tenants, which code enforces a field, JSON.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, which names field, value and range, or two fields that contradict each
 *           other.
 * Limits:   LIM_OPS_PER_S; the hard limits of storage/limit.h.
 * Promises: 1. Documents, JSON and checks use ten_quota_field: a field exists in all of them or in
 *              none.
 *           2. The tenant's own value applies, otherwise its plan's, otherwise the default; for
 *              change_bytes, otherwise the value of stored_bytes.
 */
#ifndef TENANCY_QUOTA_H
#define TENANCY_QUOTA_H

#include <stdbool.h>

#include "base/err.h"
#include "storage/limit.h"

#define TEN_QUOTA_CEILINGS 19
#define TEN_QUOTA_FIELDS   (TEN_QUOTA_CEILINGS + STO_LIMIT_COUNT)

/* UINT64_MAX: no limit. */
struct ten_quota {
    uint64_t given; /* one bit per field number: the field is set here, and is not inherited */
    union {
        struct {
            uint64_t stored_bytes;
            uint64_t rows;
            uint64_t keys; /* API keys of the tenant */
            uint64_t read_ops_per_s;
            uint64_t write_ops_per_s;
            uint64_t read_bytes_per_s; /* visited by reads, charged afterwards */
            uint64_t write_bytes_per_s;
            uint64_t burst_ms;            /* for all four rates: this much may come at once */
            uint64_t concurrent_requests; /* in flight at a time */
            uint64_t weight;              /* of its share of a busy server, against other tenants */
            uint64_t reserved_ops_per_s;  /* served before shares are divided, up to this rate */
            uint64_t change_streams;      /* 0: none can be turned on; existing ones stay */
            uint64_t authorized_views;    /* 0: none can be created; existing ones stay */
            uint64_t control_ops_per_s;   /* changes of tables and views; backup operations */
            uint64_t audit_days;          /* minimum days that records about it are kept */
            uint64_t change_bytes;        /* of stored changes; if not set: stored_bytes */
            uint64_t backup_bytes;        /* of all its backups; default: from stored_bytes */
            uint64_t idempotency_tokens;  /* kept at a time */
            uint64_t schema_bytes;        /* of memory: its schemas and authorized views */
            uint64_t limits[STO_LIMIT_COUNT];
        };
        uint64_t each[TEN_QUOTA_FIELDS]; /* by ten_quota_field number */
    };
};

struct ten_quota_field {
    const char *name;
    uint32_t tag; /* in stored documents: append only, never reuse one */
    uint64_t min;
    uint64_t max;
    uint64_t standard; /* default; UINT64_MAX: no limit */
    bool may_be_none;  /* may be set to no limit */
};

struct ten_quota_field ten_quota_field(size_t number);

/* Sets no field: all values are the defaults. */
void ten_quota_default(struct ten_quota *q);
void ten_quota_give(struct ten_quota *q, size_t number, uint64_t value);
static inline bool ten_quota_is_given(const struct ten_quota *q, size_t number)
{
    return (q->given >> number & 1) != 0;
}
/* Sets the limits of tenants in a new data directory, which operators may change. */
void ten_quota_give_first(struct ten_quota *q);
/* Sets the own quota of a tenant of the emulator's listener: test suites create and remove tables
 * by the hundred. */
void ten_quota_give_keyless(struct ten_quota *q);
/* Sets in `own`, if the tenant does not set it itself, the plan's field that applies after the
 * tenant is erased: how long records about it are kept. */
void ten_quota_give_departed(struct ten_quota *own, const struct ten_quota *plan);
/* Returns whether the same fields are set to the same values. */
bool ten_quota_equal(const struct ten_quota *a, const struct ten_quota *b);
/* Checks the set fields, one by one, against their ranges. */
enum err ten_quota_check(const struct ten_quota *q, struct errbuf *eb) MUST_CHECK;
/* Resolves the quota that applies to a tenant; plan NULL: none. */
void ten_quota_inherit(const struct ten_quota *plan, const struct ten_quota *own,
                       struct ten_quota *out);
/* Does the same; ERR_INVALID when fields contradict each other. */
enum err ten_quota_resolve(const struct ten_quota *plan, const struct ten_quota *own,
                           struct ten_quota *out, struct errbuf *eb) MUST_CHECK;

#endif
