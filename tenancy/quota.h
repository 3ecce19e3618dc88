/*
 * tenancy/quota.h - what one tenant may store, how fast, and how large.
 *
 * Does:     list the fields of a quota with their names, ranges and defaults; check a quota.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: tenants, who enforces a field, JSON.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, naming field, value and range.
 * Limits:   LIM_OPS_PER_S; the hard limits of storage/limit.h.
 * Promises: 1. Documents, JSON and checks are made from ten_quota_field: a field exists everywhere
 *              or nowhere.
 */
#ifndef TENANCY_QUOTA_H
#define TENANCY_QUOTA_H

#include "base/err.h"
#include "storage/limit.h"

#define TEN_QUOTA_CEILINGS 4
#define TEN_QUOTA_FIELDS   (TEN_QUOTA_CEILINGS + STO_LIMIT_COUNT)

/* UINT64_MAX: no limit; in limits: the default. */
struct ten_quota {
    union {
        struct {
            uint64_t stored_bytes;
            uint64_t rows;
            uint64_t read_ops_per_s;
            uint64_t write_ops_per_s;
            uint64_t limits[STO_LIMIT_COUNT];
        };
        uint64_t each[TEN_QUOTA_FIELDS]; /* by the number of its ten_quota_field */
    };
};

struct ten_quota_field {
    const char *name;
    uint32_t tag; /* in stored documents: append only, never give one a new meaning */
    uint64_t min;
    uint64_t max;
    uint64_t standard; /* unless set; UINT64_MAX: no limit */
};

struct ten_quota_field ten_quota_field(size_t number);

void ten_quota_default(struct ten_quota *q);
/* Check every field and put defaults in the place of UINT64_MAX. */
enum err ten_quota_settle(struct ten_quota *q, struct errbuf *eb) MUST_CHECK;

#endif
