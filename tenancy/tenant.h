/*
 * tenancy/tenant.h - one tenant in memory.
 *
 * Does:     holds what a request needs of its tenant without a lock: state, account, rates, tables;
 *           resolves the quota that applies to it.
 * Owns:     its current details and table list (replaced, never changed; old ones are retired).
 * May use:  base/, storage/.
 * Knows no: credentials, HTTP.
 * Threads:  read from any thread joined to the registry's epoch; changed by the control thread.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   LIM_TENANT_ID, LIM_DISPLAY_NAME, LIM_REASON.
 * Promises: 1. A struct ten_tenant lives until the registry closes; IDs are never used again.
 *           2. details and tables stay valid, once read, until the thread's next quiescent point.
 *           3. An idle tenant without tables takes two allocations: this structure and its details.
 */
#ifndef TENANCY_TENANT_H
#define TENANCY_TENANT_H

#include <stdatomic.h>

#include "base/limits.h"
#include "base/memory.h"
#include "base/slice.h"
#include "storage/account.h"
#include "storage/canary.h"
#include "storage/schema.h"
#include "tenancy/meter.h"
#include "tenancy/overload.h"
#include "tenancy/plan.h"
#include "tenancy/quota.h"
#include "tenancy/rate.h"

/* Stored as numbers: append only. Legal transitions: tenancy/lifecycle.h. */
enum ten_state {
    TEN_ACTIVE = 1,
    TEN_SUSPENDED = 2,
    TEN_PURGING = 3,
    TEN_PURGED = 4,
    TEN_DELETE_REQUESTED = 5,
    TEN_EXPIRED = 6,
};
#define TEN_STATES (TEN_EXPIRED + 1)          /* size of an array indexed by state */
const char *ten_state_name(enum ten_state s); /* "active", ... */

/* A legal hold: deletion of the tenant is forbidden. */
struct ten_hold {
    int64_t since_us;
    const char *by;     /* key ID; "" without a key */
    const char *reason; /* never "" */
};

/* Texts are "" when there is none. Texts of a tenant's current details are stored after the
 * structure, so that short ones cost little; texts of details in preparation may be stored
 * anywhere. */
struct ten_details {
    uint64_t doc_version;
    int64_t created_us;
    int64_t state_since_us;
    struct ten_plan *plan;  /* NULL: none */
    struct ten_quota quota; /* the tenant's own fields; for those that apply: ten_tenant_quota */
    const char *display_name;
    const char *reason;   /* of the suspension, shown to the tenant */
    const char *job;      /* the offboarding job */
    const char *instance; /* the instance ID for Bigtable's clients; "": main */
    /* Created by the plaintext listener for development, where it is used without a key; no tenant
     * created otherwise can be used so. */
    bool is_keyless;
    uint8_t canary_count;              /* 0: created before there were any */
    const struct sto_canary *canaries; /* in preparation; NULL: as stored (tenancy/canary.h) */
    bool is_encrypted;                 /* since its first value */
    bool was_suspended;                /* in DELETE_REQUESTED: the state it returns to */
    /* while it is suspended, or was: STO_GATE_NO_READS, STO_GATE_NO_WRITES */
    uint8_t closed;
    int64_t delete_at_us;        /* in DELETE_REQUESTED: end of the grace period; otherwise 0 */
    const struct ten_hold *hold; /* NULL: none; stored after the structure too */
};

/* Kinds of usage that have thresholds. */
enum ten_used {
    TEN_USED_BYTES,
    TEN_USED_ROWS,
    TEN_USED_TABLES,
    TEN_USED_KEYS,
    TEN_USED_CHANGES,
    TEN_USED_SCHEMAS,
    TEN_USED_COUNT
};

struct ten_tables {
    size_t count;
    struct sto_schema *schemas[]; /* sorted by table ID, one ref each */
};

#define TEN_TENANT_MAGIC 0x7e4a4701u

struct ten_tenant {
    uint32_t magic;
    uint8_t id_len;
    char id[LIM_TENANT_ID + 1];
    _Atomic uint32_t state; /* enum ten_state */
    struct sto_account account;
    struct ten_rates rates;
    struct ten_overload *overload; /* the registry's; NULL: not in a registry */
    struct ten_overload_part load;
    struct ten_rate control_ops;     /* changes of tables and the like */
    struct sto_fair_line control;    /* work that waits for the control thread */
    struct sto_fair_line helper;     /* work that waits for the API's helper */
    _Atomic uint32_t under_way;      /* requests in flight: tenancy/admission.h */
    _Atomic uint32_t under_way_max;  /* UINT32_MAX: no limit */
    struct base_memory_share memory; /* of its requests and their responses */
    _Atomic(struct ten_details *) details;
    _Atomic(struct ten_tables *) tables;
    _Atomic(struct ten_meter *) meter;      /* NULL until its first activity */
    _Atomic bool is_replacing;              /* tenancy/tables_replace.h */
    _Atomic uint8_t levels[TEN_USED_COUNT]; /* tenancy/threshold.h */
    _Atomic uint64_t schema_bytes;          /* of memory: schemas and views; set by control */

    /* control thread: usage that counts against its quotas and that storage does not count; types
     * no larger than the limits require, because there are many tenants */
    uint16_t tables_restoring; /* tenancy/table_restore.h: not visible yet */
    uint16_t keys;             /* API keys: tenancy/threshold.h */
    uint16_t keys_max;
    uint32_t schema_bytes_max;

    /* control thread: amounts that its bills already include (tenancy/metering.h) */
    struct ten_metered_now *documented; /* NULL: nothing of this process's counters */
    uint64_t documented_bytes;
};

#define TEN_INSTANCE_DEFAULT "main"

static inline struct slice ten_tenant_id(const struct ten_tenant *t)
{
    return base_slice(t->id, t->id_len);
}

#endif
