/*
 * storage/limit.h - the limits of the data model that can be set per tenant.
 *
 * Does:     names each limit, its default, and the hard limit that bounds a tenant's.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: tenants, where a limit is checked.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   those of Bigtable's data model (base/limits.h).
 * Promises: 1. 1 <= default <= hard: buffers and stored keys are sized by the hard limit.
 */
#ifndef STORAGE_LIMIT_H
#define STORAGE_LIMIT_H

#include <stdint.h>

enum sto_limit {
    STO_LIMIT_ROW_KEY,
    STO_LIMIT_QUALIFIER,
    STO_LIMIT_CELL,
    STO_LIMIT_ROW,
    STO_LIMIT_MUTATIONS, /* of one row in one request */
    STO_LIMIT_FAMILIES,  /* of one table */
    STO_LIMIT_TABLES,
    STO_LIMIT_COUNT
};

struct sto_limit_info {
    const char *name;    /* "row_key_bytes", in APIs and messages */
    const char *subject; /* a refusal is "<subject> N <unit>; the limit is ..." */
    const char *unit;
    uint64_t standard; /* default, unless the tenant has its own */
    uint64_t hard;
};

const struct sto_limit_info *sto_limit_info(enum sto_limit limit);

#endif
