/*
 * tenancy/quota.h - what one tenant may store, how fast, how large, and how it shares the server.
 *
 * Does:     list the fields of a quota with their names, ranges and defaults; check what was given
 *           of a quota; make the one that holds of what tenant and plan give.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: tenants, who enforces a field, JSON.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, naming field, value and range, or two fields that contradict each other.
 * Limits:   LIM_OPS_PER_S; the hard limits of storage/limit.h.
 * Promises: 1. Documents, JSON and checks are made from ten_quota_field: a field exists everywhere
 *              or nowhere.
 *           2. What the tenant gives holds, else what its plan gives, else the standard; of
 *              change_bytes, else as many as stored_bytes.
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
    uint64_t given; /* bit by the number of the field: it stands here, and is not inherited */
    union {
        struct {
            uint64_t stored_bytes;
            uint64_t rows;
            uint64_t keys; /* API keys of the tenant */
            uint64_t read_ops_per_s;
            uint64_t write_ops_per_s;
            uint64_t read_bytes_per_s; /* visited by reads, charged afterwards */
            uint64_t write_bytes_per_s;
            uint64_t burst_ms;            /* of all four rates: so much of them may come at once */
            uint64_t concurrent_requests; /* under way at a time */
            uint64_t weight;              /* of its share of a busy server, against other tenants */
            uint64_t reserved_ops_per_s;  /* served ahead of what shares give, up to here */
            uint64_t change_streams;      /* 0: none can be turned on; those that are stay */
            uint64_t authorized_views;    /* 0: none can be made; those that are stay */
            uint64_t control_ops_per_s;   /* changes of tables and views, and of backups */
            uint64_t audit_days;          /* records about it are kept so long, or longer */
            uint64_t change_bytes;        /* of stored changes; unless given: stored_bytes */
            uint64_t backup_bytes;       /* of its backups together; unless said, by stored_bytes */
            uint64_t idempotency_tokens; /* remembered at a time */
            uint64_t schema_bytes;       /* of memory: its schemas and authorized views */
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
    bool may_be_none;  /* it may be set to no limit */
};

struct ten_quota_field ten_quota_field(size_t number);

/* Nothing given: the standard everywhere. */
void ten_quota_default(struct ten_quota *q);
void ten_quota_give(struct ten_quota *q, size_t number, uint64_t value);
static inline bool ten_quota_is_given(const struct ten_quota *q, size_t number)
{
    return (q->given >> number & 1) != 0;
}
/* Gives what tenants may have in a new data directory, unless their operators say otherwise. */
void ten_quota_give_first(struct ten_quota *q);
/* Gives what a tenant of the emulator's listener has of its own: test suites make and remove tables
 * by the hundred. */
void ten_quota_give_keyless(struct ten_quota *q);
/* Gives what a plan says of the time when its tenant is gone, and the tenant itself does not: how
 * long records about it are kept. */
void ten_quota_give_departed(struct ten_quota *own, const struct ten_quota *plan);
/* The same fields are given, with the same values. */
bool ten_quota_equal(const struct ten_quota *a, const struct ten_quota *b);
/* The given fields, one by one, against their ranges. */
enum err ten_quota_check(const struct ten_quota *q, struct errbuf *eb) MUST_CHECK;
/* What holds for a tenant; plan NULL: none. */
void ten_quota_inherit(const struct ten_quota *plan, const struct ten_quota *own,
                       struct ten_quota *out);
/* The same; ERR_INVALID when fields contradict each other. */
enum err ten_quota_resolve(const struct ten_quota *plan, const struct ten_quota *own,
                           struct ten_quota *out, struct errbuf *eb) MUST_CHECK;

#endif
