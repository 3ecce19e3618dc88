/*
 * tenancy/tenant_list.h - pages of tenants, filtered and in several orders.
 *
 * Does:     selects the matching tenants, and returns the next page of them in an order.
 * Owns:     nothing; tenants live until the registry closes.
 * May use:  base/, tenancy/.
 * Knows no: JSON, page tokens.
 * Threads:  the control thread.
 * Blocks:   no; takes time in proportion to the number of tenants, some milliseconds for 100,000.
 * Fails by: does not fail.
 * Limits:   none here.
 * Promises: 1. A page starts after a position, (value, ID), not after a number of tenants: a tenant
 *              that is created or removed between pages neither repeats nor hides another.
 *           2. In the orders of ID and creation, whose values never change, all pages together
 *              contain every tenant that existed throughout exactly once.
 */
#ifndef TENANCY_TENANT_LIST_H
#define TENANCY_TENANT_LIST_H

#include "tenancy/registry.h"

enum ten_order { TEN_BY_ID, TEN_BY_BYTES, TEN_BY_ROWS, TEN_BY_CREATED };

struct ten_listed {
    uint64_t value; /* the sort value of the order; 0 for TEN_BY_ID */
    struct ten_tenant *tenant;
};

struct ten_list_wanted {
    struct slice prefix;  /* of IDs */
    enum ten_state state; /* 0: any */
    bool has_plan;
    const struct ten_plan *plan; /* NULL: tenants without a plan */
    enum ten_order order;
    bool descending;
    bool has_after;
    uint64_t after_value;
    struct slice after_id;
};

/* Writes a page of at most limit tenants, in order; returns how many. */
size_t ten_tenant_list_page(struct ten_registry *r, const struct ten_list_wanted *wanted,
                            struct ten_listed *out, size_t limit);

#endif
