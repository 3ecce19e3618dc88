/*
 * tenancy/registry.h - all tenants: found without a lock, changed by one thread, stored durably.
 *
 * Does:     loads tenants, schemas and counters at start; finds; creates, suspends, resumes, sets
 *           quotas; creates, changes and removes tables.
 * Owns:     every struct ten_tenant, the control worker.
 * May use:  base/, storage/.
 * Knows no: API keys (their holder is attached), HTTP.
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

/* The part of a tenant's purge that auth/ does. */
struct ten_key_holder {
    void *ctx;
    /* Control thread, blocking. Removes all names that people chose from the documents of the
     * tenant's keys; may be repeated. */
    enum err (*strip)(void *ctx, const struct ten_tenant *t, struct errbuf *eb);
};

/* Certificates are stored in the data directory: tenancy/certificate_store.h. */
struct ten_certificates_options;

/* Engine, epoch, memory and keystore outlive the registry. */
struct ten_registry_options {
    struct sto_engine *engine;
    struct base_epoch *epoch;
    struct base_memory *memory; /* shared by requests; NULL: they are not counted */
    /* NULL: no tenant can be created encrypted, and existing encrypted ones have no keys:
     * operations that need them are refused */
    struct ten_keystore *keystore;
    const struct ten_certificates_options *certificates;
    bool reissue_erasures; /* lines that the ledger lost are rewritten; otherwise ERR_CORRUPT */
    size_t *out_reissued;  /* number of tenants whose lines were rewritten; may be NULL */
    struct ten_sweeper_options sweeper;
    bool awaits_keys; /* no purge continues or starts before ten_registry_keys_attach */
    /* Control thread: called when a purge failed and will be retried (tenancy/offboard.h). May be
     * NULL. */
    void (*purge_failed)(const struct ten_purge_failure *failure);
};

/* Blocking; starts the control worker, then resumes interrupted jobs and table removals. */
enum err ten_registry_open(const struct ten_registry_options *options, struct ten_registry **out,
                           struct errbuf *eb) MUST_CHECK;
/* Blocking; stops the workers between two steps of a job. */
void ten_registry_close(struct ten_registry *r);
/* Attaches the holder that purges call until it is detached; blocking, from any thread but
 * control. */
void ten_registry_keys_attach(struct ten_registry *r, const struct ten_key_holder *holder);
/* Detaches the holder. A purge that would call it is resumed at the next start. */
void ten_registry_keys_detach(struct ten_registry *r);

/* Any thread. */
struct ten_certificates *ten_registry_certificates(struct ten_registry *r);
struct sto_engine *ten_registry_engine(struct ten_registry *r);
/* Returns the memory of all tenants' schemas and views beyond LIM_SCHEMA_BYTES_FREE of each. */
const struct base_memory *ten_registry_schema_memory(const struct ten_registry *r);
/* Runs work->run on the control worker, in the order of shares. False: `most` items of the tenant,
 * or of the lane, wait already; urgent work is never refused. */
bool ten_control_submit(struct ten_registry *r, struct ten_work *work, struct ten_tenant *t,
                        enum ten_lane lane, uint64_t most) MUST_CHECK;
/* Runs msg->run there after all earlier posts, before any work that waits for its share: for the
 * server's own work. */
void ten_control_post(struct ten_registry *r, struct base_msg *msg);
/* Runs it there and waits until it returns. From any thread that may wait, except the control
 * worker. */
void ten_control_run(struct ten_registry *r, void (*work)(void *ctx), void *ctx);
/* True on the control worker; control functions abort elsewhere. */
bool ten_control_is_here(const struct ten_registry *r);

/* Returns the tenant, or NULL. Any joined thread. */
struct ten_tenant *ten_tenant_find(struct ten_registry *r, struct slice id);
/* Returns the current details; valid until the thread's next quiescent point. */
const struct ten_details *ten_tenant_details(const struct ten_tenant *t);
const struct ten_tables *ten_tenant_tables(const struct ten_tenant *t);
/* Returns the sum of sto_schema_uncollected over its tables. */
uint64_t ten_tenant_uncollected(const struct ten_tenant *t);
/* Returns the index of the first table whose ID is greater; count when there is none. */
size_t ten_tables_behind(const struct ten_tables *tables, struct slice table_id);
/* Resolves the quota that applies: its own fields, then its plan's, then the defaults. */
void ten_tenant_quota(const struct ten_tenant *t, struct ten_quota *out);
/* Returns audit_days of that quota: days that records about it are kept. A purge does not change
 * it. */
uint64_t ten_tenant_audit_days(const struct ten_tenant *t);
/* Returns the ID of its one instance. Valid as long as the details. */
struct slice ten_tenant_instance(const struct ten_tenant *t);

/* --- control thread --------------------------------------------------------------------------- */

/* Properties of a new tenant, or of a change: a change keeps the ones not set; in a new tenant they
 * are empty. */
struct ten_tenant_wanted {
    struct slice display_name;     /* ptr NULL: not set */
    struct slice plan;             /* ptr NULL: not set; empty: none */
    const struct ten_quota *quota; /* its own set fields; NULL: not set */
    bool encrypted; /* of a new tenant: its values are encrypted with a key of its own */
};

/* ERR_INVALID (ID, reserved ID, display name, quota), ERR_EXISTS (exists or ever existed),
 * ERR_NOT_FOUND (plan), ERR_CONFLICT (encrypted, but there is no keystore). */
enum err ten_tenant_create(struct ten_registry *r, struct slice id,
                           const struct ten_tenant_wanted *wanted, struct ten_tenant **out,
                           struct errbuf *eb) MUST_CHECK;
/* Takes effect at once. ERR_INVALID for values out of range, or that contradict each other; a quota
 * below usage is legal and blocks growth. ERR_NOT_FOUND (plan); ERR_CONFLICT for a tenant that is
 * being offboarded or erased. */
enum err ten_tenant_change(struct ten_registry *r, struct ten_tenant *t,
                           const struct ten_tenant_wanted *wanted, struct errbuf *eb) MUST_CHECK;
/* For the plaintext listener: creates a tenant that is used without a key, under that instance.
 * ERR_EXISTS when a tenant of this ID exists, keyless or not. */
enum err ten_tenant_create_keyless(struct ten_registry *r, struct slice id, struct slice instance,
                                   struct slice display_name, struct ten_tenant **out,
                                   struct errbuf *eb) MUST_CHECK;
/* closed: STO_GATE_NO_READS, STO_GATE_NO_WRITES or both. Suspending again replaces closed and
 * reason. Transitions to the same state are allowed; ERR_CONFLICT when the state does not allow
 * suspension. */
enum err ten_tenant_suspend(struct ten_registry *r, struct ten_tenant *t, uint32_t closed,
                            struct slice reason, struct errbuf *eb) MUST_CHECK;
enum err ten_tenant_resume(struct ten_registry *r, struct ten_tenant *t,
                           struct errbuf *eb) MUST_CHECK;
/* Adds a data key, which encrypts from now on; values encrypted with older ones stay readable.
 * ERR_CONFLICT when the tenant is not encrypted, is being offboarded or is erased; ERR_TOO_BIG
 * (versions); as tenancy/keystore.h. */
enum err ten_tenant_rotate_key(struct ten_registry *r, struct ten_tenant *t,
                               struct errbuf *eb) MUST_CHECK;
/* Lists tenants in ID order, those greater than `after` (may be empty), at most limit. Returns how
 * many. */
size_t ten_tenant_list(struct ten_registry *r, struct slice after, struct ten_tenant **out,
                       size_t limit);

/* The state of a table that the caller expects; all zero: any. ERR_PRECONDITION when it differs. */
struct ten_expect {
    bool absent;
    bool present;
    uint64_t revision; /* not 0: present, with this revision */
};

/* Exactly these families; other properties keep their values, or start off or empty, unless set. */
struct ten_table_wanted {
    const struct sto_family_spec *families;
    size_t family_count;
    bool has_protected;
    bool protected;
    bool has_row_key_notes;
    struct slice row_key_notes;
    const struct slice *splits; /* row keys in any order; ERR_INVALID when the table exists */
    size_t split_count;
    bool has_change_retention;
    uint64_t change_retention_s; /* of the table's change stream; 0: none, changes are removed */
    struct ten_expect expect;
};

/* Creates or changes a table; out_created says which. ERR_INVALID, ERR_TOO_BIG (families, tables,
 * splits), ERR_CONFLICT (being deleted; a family would be dropped: here families are only added or
 * changed; a family's type would change), ERR_PRECONDITION, ERR_GONE, ERR_SUSPENDED. */
enum err ten_table_put(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                       const struct ten_table_wanted *wanted, bool *out_created,
                       struct errbuf *eb) MUST_CHECK;

/* A change applied completely or not at all, in this order: create, update, drop. */
struct ten_families_change {
    const struct sto_family_spec *create;
    size_t create_count;
    const struct sto_family_spec *update; /* rule and type, unless keeps_gc or keeps_type */
    size_t update_count;
    const struct slice *drop;
    size_t drop_count;
    struct ten_expect expect;
};

/* Cells of dropped families are invisible and closed to writers at once. They are removed, with
 * exact counts, after this call returned, and if necessary after the next start. ERR_EXISTS
 * (create), ERR_NOT_FOUND (table; update, drop), ERR_CONFLICT (being deleted, type, deletion
 * protection), ERR_OVERLOADED (too many dropped families still have cells), otherwise as
 * ten_table_put. */
enum err ten_table_change_families(struct ten_registry *r, struct ten_tenant *t,
                                   struct slice table_id, const struct ten_families_change *change,
                                   struct errbuf *eb) MUST_CHECK;

/* --- removing a table: any thread; done runs on reply_to's thread ----------------------------- */

struct ten_table_delete_op {
    struct base_msg msg;           /* carries the result */
    struct ten_work work;          /* internal to tenancy/ */
    struct base_mailbox *reply_to; /* NULL: no caller waits, the op is freed with base_free */
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

    struct ten_registry *registry; /* internal to tenancy/ */
};

/* Deletes a table. It is invisible to every request once this is durable, and refuses writes of
 * requests that found it before; done is called when its rows are removed too. A start finishes a
 * deletion that a crash interrupted. After an error of the engine the table stays invisible, and
 * deleting it again resumes the removal. */
void ten_table_delete(struct ten_registry *r, struct ten_table_delete_op *op);

#endif
