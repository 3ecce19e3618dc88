/*
 * tenancy/plan.h - plans: named sets of quota fields that several tenants share.
 *
 * Does:     keeps the plans; creates, changes, deletes, finds and lists them; applies a change to
 *           every tenant of the plan at once.
 * Owns:     every struct ten_plan and its terms; both are retired through the epoch.
 * May use:  base/, tenancy/.
 * Knows no: JSON, which code enforces a field.
 * Threads:  changes, find and list on the control thread; terms from any thread joined to the
 *           epoch.
 * Blocks:   put and delete on the disk.
 * Fails by: as said per function.
 * Limits:   LIM_PLANS, LIM_PLAN_ID, LIM_DISPLAY_NAME.
 * Promises: 1. A change is one document, whatever the number of tenants; it is durable before it
 *              takes effect, and in effect for all of them before the call returns.
 *           2. A plan that a tenant has is never deleted, and never changed to contradict a field
 *              that one of its tenants sets itself.
 * Stored:   "p/<plan>" (base/record.h). Why: docs/decisions/0016-plans.md.
 */
#ifndef TENANCY_PLAN_H
#define TENANCY_PLAN_H

#include <stdatomic.h>

#include "base/limits.h"
#include "base/slice.h"
#include "tenancy/quota.h"

struct ten_registry;
struct ten_tenant;

/* Immutable. */
struct ten_plan_terms {
    uint64_t doc_version;
    int64_t created_us;
    int64_t changed_us;
    struct ten_quota quota; /* the fields that the plan sets */
    char display_name[LIM_DISPLAY_NAME + 1];
};

/* The plan of a tenant created without a plan, if a plan of this ID exists: new data directories
 * have it (gateway/init.c), and operators change or delete it. */
#define TEN_PLAN_STANDARD "standard"

struct ten_plan {
    uint8_t id_len;
    char id[LIM_PLAN_ID + 1];
    _Atomic(struct ten_plan_terms *) terms;
    size_t tenants; /* control thread: number of tenants that have it, without purged ones */
};

static inline struct slice ten_plan_id(const struct ten_plan *p)
{
    return base_slice(p->id, p->id_len);
}

static inline const struct ten_plan_terms *ten_plan_terms(const struct ten_plan *p)
{
    return atomic_load_explicit(&p->terms, memory_order_acquire);
}

/* --- control thread --------------------------------------------------------------------------- */

/* Returns the plan, or NULL. */
struct ten_plan *ten_plan_find(struct ten_registry *r, struct slice id);
/* Lists plans in ID order, at most limit; returns how many. */
size_t ten_plan_list(struct ten_registry *r, struct ten_plan **out, size_t limit);
/* Creates or replaces a plan; only the set fields of quota count. ERR_INVALID (ID, display name, a
 * value out of range, fields that contradict each other, or contradict fields that a tenant sets
 * itself: names the tenant), ERR_TOO_BIG (LIM_PLANS). */
enum err ten_plan_put(struct ten_registry *r, struct slice id, struct slice display_name,
                      const struct ten_quota *quota, struct ten_plan **out,
                      struct errbuf *eb) MUST_CHECK;
/* Creates the plan TEN_PLAN_STANDARD, as in a new data directory. */
enum err ten_plan_put_standard(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
/* ERR_NOT_FOUND, ERR_CONFLICT (states how many tenants have it). */
enum err ten_plan_delete(struct ten_registry *r, struct slice id, struct errbuf *eb) MUST_CHECK;

#endif
