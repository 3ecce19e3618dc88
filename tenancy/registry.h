/*
 * tenancy/registry.h - all tenants: found without a lock, changed by one thread, stored durably.
 *
 * Does:     load tenants, schemas and counters at start; find; create, suspend, resume, set quotas;
 *           make, change and remove tables.
 * Owns:     every struct ten_tenant, the control worker.
 * May use:  base/, storage/.
 * Knows no: API keys (whoever keeps them is attached), HTTP.
 * Threads:  "control" functions run on the control worker only (ten_control_post) and abort
 *           elsewhere; find and the like from any thread joined to the epoch, or on control.
 * Blocks:   control functions block on the disk.
 * Fails by: as said per function.
 * Limits:   tables per tenant, families per table: the tenant's (tenancy/quota.h).
 * Promises: 1. A change is durable before it is visible, and visible before the call returns.
 *           2. An ID that ever existed is never created again (ERR_EXISTS).
 * Stored:   "t/<tenant>" tenant, "p/<plan>" plan, "s/<tenant>/<table>" schema,
 *           "v/<tenant>/<table>/<view>" view, "j/<job>" job (base/record.h).
 */
#ifndef TENANCY_REGISTRY_H
#define TENANCY_REGISTRY_H

#include "base/epoch.h"
#include "base/worker.h"
#include "storage/engine.h"
#include "tenancy/action.h"
#include "tenancy/fair_worker.h"
#include "tenancy/keystore.h"
#include "tenancy/sweeper.h"
#include "tenancy/tenant.h"

struct ten_registry;
struct ten_certificates;
struct ten_purge_failure;

/* What auth/ has to do with a tenant that leaves. */
struct ten_key_holder {
    void *ctx;
    /* Control thread, blocking. Leaves of the documents of the tenant's keys nothing that anybody
     * named; may be repeated. */
    enum err (*strip)(void *ctx, const struct ten_tenant *t, struct errbuf *eb);
};

/* Certificates are kept in the data directory: tenancy/certificate_store.h. */
struct ten_certificates_options;

/* Engine, epoch, memory and keystore outlive the registry. */
struct ten_registry_options {
    struct sto_engine *engine;
    struct base_epoch *epoch;
    struct base_memory *memory;    /* that requests share; NULL: they are not counted */
    struct ten_keystore *keystore; /* NULL: no tenant is made encrypted, and those that are have no
                                    * keys: what needs them is refused */
    const struct ten_certificates_options *certificates;
    bool reissue_erasures; /* lines that the ledger lost are written again; else ERR_CORRUPT */
    size_t *out_reissued;  /* how many tenants' were; NULL: not told */
    struct ten_sweeper_options sweeper;
    bool awaits_keys; /* no purge goes on, and none begins, before ten_registry_keys_attach */
    /* Control thread: a purge failed, and is tried again (tenancy/offboard.h). May be NULL. */
    void (*purge_failed)(const struct ten_purge_failure *failure);
};

/* Blocking; starts the control worker, then resumes interrupted jobs and table removals. */
enum err ten_registry_open(const struct ten_registry_options *options, struct ten_registry **out,
                           struct errbuf *eb) MUST_CHECK;
/* Blocking; stops the workers between two steps of a job. */
void ten_registry_close(struct ten_registry *r);
/* Purges ask it from now on, until it is detached; blocking, from any thread but control. */
void ten_registry_keys_attach(struct ten_registry *r, const struct ten_key_holder *holder);
/* A purge that would ask it is resumed at the next start. */
void ten_registry_keys_detach(struct ten_registry *r);

/* Any thread. */
struct ten_certificates *ten_registry_certificates(struct ten_registry *r);
struct sto_engine *ten_registry_engine(struct ten_registry *r);
/* What all tenants' schemas and views take beyond LIM_SCHEMA_BYTES_FREE of each. */
const struct base_memory *ten_registry_schema_memory(const struct ten_registry *r);
/* Run work->run on the control worker, by the order of shares. False: as many as `most` of the
 * tenant's, or of the lane's, wait already; never of urgent ones. */
bool ten_control_submit(struct ten_registry *r, struct ten_work *work, struct ten_tenant *t,
                        enum ten_lane lane, uint64_t most) MUST_CHECK;
/* Run msg->run there before what waits for its share, after everything posted before: the server's
 * own. */
void ten_control_post(struct ten_registry *r, struct base_msg *msg);
/* Run it there and wait until it returned. From any thread but the control worker that may wait. */
void ten_control_run(struct ten_registry *r, void (*work)(void *ctx), void *ctx);
/* True on the control worker; control functions abort elsewhere. */
bool ten_control_is_here(const struct ten_registry *r);

/* NULL when there is no such tenant. Any joined thread. */
struct ten_tenant *ten_tenant_find(struct ten_registry *r, struct slice id);
/* Live details; valid until the thread's next quiescent point. */
const struct ten_details *ten_tenant_details(const struct ten_tenant *t);
const struct ten_tables *ten_tenant_tables(const struct ten_tenant *t);
/* sto_schema_uncollected of all its tables. */
uint64_t ten_tenant_uncollected(const struct ten_tenant *t);
/* The index of the first whose ID is behind that one; count when there is none. */
size_t ten_tables_behind(const struct ten_tables *tables, struct slice table_id);
/* What holds for it: its own fields, then its plan's, then the standard. */
void ten_tenant_quota(const struct ten_tenant *t, struct ten_quota *out);
/* Of the same: days that records about it are kept. A purge changes nothing of it. */
uint64_t ten_tenant_audit_days(const struct ten_tenant *t);
/* The ID of its one instance. Valid as long as the details. */
struct slice ten_tenant_instance(const struct ten_tenant *t);

/* --- control thread --------------------------------------------------------------------------- */

/* A change leaves alone what is not given; a new tenant has nothing then. */
struct ten_tenant_wanted {
    struct slice display_name;     /* ptr NULL: not given */
    struct slice plan;             /* ptr NULL: not given; empty: none */
    const struct ten_quota *quota; /* its own, the given fields; NULL: not given */
    bool encrypted; /* of a new one: what it stores is sealed with a key of its own */
};

/* ERR_INVALID (ID, one that is reserved, display name, quota), ERR_EXISTS (exists or ever existed),
 * ERR_NOT_FOUND (plan), ERR_CONFLICT (encrypted, and there is no keystore). */
enum err ten_tenant_create(struct ten_registry *r, struct slice id,
                           const struct ten_tenant_wanted *wanted, struct ten_tenant **out,
                           struct errbuf *eb) MUST_CHECK;
/* Takes effect at once. ERR_INVALID for values out of range, or that contradict each other; a quota
 * below usage is legal and blocks growth. ERR_NOT_FOUND (plan); ERR_CONFLICT for a tenant that is
 * leaving or gone. */
enum err ten_tenant_change(struct ten_registry *r, struct ten_tenant *t,
                           const struct ten_tenant_wanted *wanted, struct errbuf *eb) MUST_CHECK;
/* For the plaintext listener: a tenant that is used without a key, under that instance. ERR_EXISTS
 * when there is a tenant of this ID, keyless or not. */
enum err ten_tenant_create_keyless(struct ten_registry *r, struct slice id, struct slice instance,
                                   struct slice display_name, struct ten_tenant **out,
                                   struct errbuf *eb) MUST_CHECK;
/* closed: STO_GATE_NO_READS, STO_GATE_NO_WRITES or both. Suspending again changes both of it.
 * Self-transitions are fine; ERR_CONFLICT when the state does not allow it. */
enum err ten_tenant_suspend(struct ten_registry *r, struct ten_tenant *t, uint32_t closed,
                            struct slice reason, struct errbuf *eb) MUST_CHECK;
enum err ten_tenant_resume(struct ten_registry *r, struct ten_tenant *t,
                           struct errbuf *eb) MUST_CHECK;
/* A new data key seals from now on; what older ones sealed stays readable. ERR_CONFLICT when it is
 * not encrypted, leaving or gone; ERR_TOO_BIG (versions); as tenancy/keystore.h. */
enum err ten_tenant_rotate_key(struct ten_registry *r, struct ten_tenant *t,
                               struct errbuf *eb) MUST_CHECK;
/* In ID order from after `after` (exclusive, may be empty), at most limit. Returns how many. */
size_t ten_tenant_list(struct ten_registry *r, struct slice after, struct ten_tenant **out,
                       size_t limit);

/* What the caller believes a table to be; all zero: anything. ERR_PRECONDITION when it is not. */
struct ten_expect {
    bool absent;
    bool present;
    uint64_t revision; /* not 0: present, and in this one */
};

/* Families are exactly these; what is not given stays as it is, or is off and empty at first. */
struct ten_table_wanted {
    const struct sto_family_spec *families;
    size_t family_count;
    bool has_protected;
    bool protected;
    bool has_row_key_notes;
    struct slice row_key_notes;
    const struct slice *splits; /* row keys in any order; ERR_INVALID when the table is there */
    size_t split_count;
    bool has_change_retention;
    uint64_t change_retention_s; /* of the table's change stream; 0: none, its changes go */
    struct ten_expect expect;
};

/* Create or change a table. out_created tells which. ERR_INVALID, ERR_TOO_BIG (families, tables,
 * splits), ERR_CONFLICT (being deleted; a family would be dropped: here families are only added or
 * changed; a family's type would change), ERR_PRECONDITION, ERR_GONE, ERR_SUSPENDED. */
enum err ten_table_put(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                       const struct ten_table_wanted *wanted, bool *out_created,
                       struct errbuf *eb) MUST_CHECK;

/* All of it or nothing, in this order: create, update, drop. */
struct ten_families_change {
    const struct sto_family_spec *create;
    size_t create_count;
    const struct sto_family_spec *update; /* rule and type are replaced, but for what it keeps */
    size_t update_count;
    const struct slice *drop;
    size_t drop_count;
    struct ten_expect expect;
};

/* Cells of dropped families are invisible and closed to writers at once; they are removed, counted
 * exactly, after this returned, and if need be after the next start. ERR_EXISTS (create),
 * ERR_NOT_FOUND (table; update, drop), ERR_CONFLICT (being deleted, type, deletion protection),
 * ERR_OVERLOADED (too many dropped families still have cells), else as ten_table_put. */
enum err ten_table_change_families(struct ten_registry *r, struct ten_tenant *t,
                                   struct slice table_id, const struct ten_families_change *change,
                                   struct errbuf *eb) MUST_CHECK;

/* --- removing a table: any thread; done runs on reply_to's thread ----------------------------- */

struct ten_table_delete_op {
    struct base_msg msg;           /* the answer */
    struct ten_work work;          /* tenancy's own */
    struct base_mailbox *reply_to; /* NULL: nobody waits, the op is freed with base_free */
    void (*done)(struct ten_table_delete_op *op);
    void *user;
    struct ten_tenant *tenant;
    char table_id[LIM_TABLE_ID + 1];
    struct ten_expect expect;
    struct ten_action action; /* valid until done; name NULL: not recorded */

    enum err result; /* ERR_NOT_FOUND, ERR_CONFLICT (already being deleted, deletion protection),
                      * ERR_PRECONDITION, engine errors */
    struct errbuf detail;
    struct sto_usage removed;

    struct ten_registry *registry; /* tenancy's own */
};

/* The table is gone for every request once this is durable, and refuses the writes of requests that
 * found it before; done comes when its rows are gone too. A crash in between is finished at the
 * next start. After an error of the engine the table stays gone, and deleting it again goes on. */
void ten_table_delete(struct ten_registry *r, struct ten_table_delete_op *op);

#endif
