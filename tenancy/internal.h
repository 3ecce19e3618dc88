/*
 * tenancy/internal.h - declarations that the files of this directory share.
 *
 * Does:     lays out the registry; publishes changes of a tenant; passes table removals and purges
 *           from thread to thread.
 * Owns:     see registry.h.
 * May use:  base/, storage/, tenancy/.
 * Knows no: API keys, HTTP.
 * Threads:  everything here is the control thread's, unless it says otherwise.
 * Blocks:   where marked.
 * Fails by: as said per function.
 * Limits:   those of registry.h.
 * Promises: 1. Details, tables, map and removals are changed by the control thread only (by the
 *              opening thread before it starts). 2. A tenant's document is written by the control
 *              thread only, its job's document by the job worker once the job is posted, except the
 *              last write, which finishes both.
 */
#ifndef TENANCY_INTERNAL_H
#define TENANCY_INTERNAL_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/epoch.h"
#include "base/hashmap.h"
#include "base/worker.h"
#include "storage/engine.h"
#include "tenancy/audit.h"
#include "tenancy/offboard.h"
#include "tenancy/registry.h"
#include "tenancy/sweeper.h"
#include "tenancy/tenant.h"
#include "tenancy/threshold.h"

#define TEN_REGISTRY_MAGIC 0x7e4a4702u
#define TEN_PURGES_AT_ONCE 256 /* these share their steps; others wait for the next group */

/* The part of a table to remove: all of it, or the cells of its dropped families. */
struct ten_removal {
    struct ten_removal *next;
    struct ten_registry *registry;
    struct ten_tenant *tenant;
    struct sto_schema *schema; /* one ref; whole: the one marked as deleting */
    bool whole;
    bool running;                   /* false: failed before, waits for the next try */
    struct ten_table_delete_op *op; /* gets the result when a whole table is gone; may be NULL */
    uint16_t family;                /* of the cells being dropped; 0: rows */
    struct sto_drop_op drop;
};

struct ten_audit;
struct ten_certificates;
struct ten_metering;

/* Tenants that wait for the end of their grace period; the one that ends first is last. */
struct ten_grace {
    struct ten_waiting *waiting;
    size_t count;
    size_t capacity;
    uint64_t retry_ns; /* a purge could not start: no scan before this time */
};

/* Purges that are in progress, and failed ones that will be retried. */
struct ten_purge_retries {
    struct ten_purge_retry *entries;
    size_t count;
    size_t capacity;
};

struct ten_purge;

/* Purges that wait for the job worker, and those it works on: purge_queue.c. */
struct ten_purge_queue {
    pthread_mutex_t lock; /* guards all but progress */
    struct ten_purge *first, *last;
    size_t waiting;
    uint64_t began_ns; /* when the group started; 0: there is none */
    uint64_t group_ns; /* duration of the last group; 0: there was none */
    uint32_t told_step;
    size_t told_count;
    char told[TEN_PURGES_AT_ONCE][TEN_JOB_ID + 1]; /* jobs that run that step together */
    uint64_t told_ns;
    struct sto_progress progress; /* of the step; written by the job worker */
};

struct ten_registry {
    uint32_t magic;
    struct sto_engine *engine;
    struct base_epoch *epoch;
    struct ten_keystore *keystore; /* may be NULL */
    struct ten_fair_worker control;
    struct base_worker jobs; /* runs purges */
    struct ten_purge_queue purges;
    struct ten_sweeper *sweeper;
    struct ten_audit *audit;
    struct ten_metering *metering;
    struct ten_certificates *certificates;
    struct ten_overload overload; /* any thread */
    struct base_memory *memory;   /* as in the options */
    struct base_memory schemas;   /* control thread: tenants' schemas; limit 0: not counted */
    atomic_bool stopping;
    struct base_msg claim_msg; /* first message of the control worker */
    struct base_msg resume_msg;

    /* looked up on any thread; changed on the control thread */
    struct base_hashmap *by_id;

    /* control thread */
    struct ten_key_holder keys; /* strip NULL: none is attached */
    bool awaits_keys;           /* as in the options, until keys are attached */
    struct ten_tenant **sorted; /* by ID */
    size_t tenant_count;
    size_t tenant_capacity;
    struct ten_plan **plans; /* by ID, space for LIM_PLANS; NULL: none yet */
    size_t plan_count;
    size_t threshold_next; /* index of the next tenant to check */
    struct ten_threshold_counts thresholds;
    void (*_Atomic threshold_told)(const struct ten_threshold_event *event);
    struct ten_removal *removals;
    size_t removals_running;
    struct ten_table_restore *restores; /* tables that are not visible yet */
    uint64_t last_job_ms;
    struct ten_grace grace;
    struct ten_purge_retries retries;
    void (*purge_failed)(const struct ten_purge_failure *failure); /* as in options; may be NULL */
    uint64_t activity_marked_ns;                                   /* tenancy/activity.c */
    uint64_t top_ns[2]; /* tenancy/top.c: when samples were made; 0: not yet */
    struct base_msg drain_msg;
    bool draining;
    sem_t drained; /* posted once no removal is running after draining was set */
};

/* Aborts unless this is r's control thread. */
void ten_control_check(const struct ten_registry *r);

/* --- tenant.c --------------------------------------------------------------------------------- */

/* Copies details; the tenant starts without tables, with gate, ceilings and rates set. */
struct ten_tenant *ten_tenant_new(struct slice id, enum ten_state state,
                                  const struct ten_details *details);
void ten_tenant_free(struct ten_tenant *t);
enum ten_state ten_tenant_state(const struct ten_tenant *t);
/* Sets gate, ceilings and rates again after a change of its plan. */
void ten_tenant_apply(struct ten_tenant *t);
/* Allocates space for count schemas, not filled. */
struct ten_tables *ten_tables_new(size_t count);
/* Makes tables_take the tenant's list; retires the old one. */
void ten_tables_publish(struct ten_registry *r, struct ten_tenant *t,
                        struct ten_tables *tables_take);
/* Blocking. Stores state and details (doc_version is set here) and the other changes in one batch;
 * then makes them visible. */
enum err ten_tenant_commit(struct ten_registry *r, struct ten_tenant *t, enum ten_state state,
                           const struct ten_details *wanted, const struct sto_doc_change *also,
                           size_t also_count, struct errbuf *eb) MUST_CHECK;

/* --- registry.c, registry_load.c -------------------------------------------------------------- */

/* Returns the index of the first tenant whose ID is not below id (or, if after, is above it). */
size_t ten_registry_bound(const struct ten_registry *r, struct slice id, bool after);
/* Adds the tenant to map and sorted list. ERR_EXISTS. */
enum err ten_registry_add(struct ten_registry *r, struct ten_tenant *t) MUST_CHECK;
/* Blocking, before the workers start: loads tenants, schemas, counters. */
enum err ten_registry_load(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;

/* --- encryption.c ----------------------------------------------------------------------------- */

/* Blocking, before the workers start: loads the ciphers of encrypted tenants. A tenant whose keys
 * are missing gets a cipher that refuses. */
enum err ten_ciphers_load(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
/* Blocking. Creates a new tenant's cipher; destroys keys left under its ID by a creation that
 * failed. */
enum err ten_cipher_create(struct ten_registry *r, struct slice tenant_id, struct sto_cipher **out,
                           struct errbuf *eb) MUST_CHECK;
/* Blocking, job worker. Makes all values that the tenant stored unreadable, wherever copies of them
 * exist. No read or write may be in flight. */
enum err ten_cipher_destroy(struct ten_registry *r, struct ten_tenant *t,
                            struct errbuf *eb) MUST_CHECK;

/* --- plan.c ----------------------------------------------------------------------------------- */

/* Blocking, before the workers start, and before the tenants are loaded. */
enum err ten_plans_load(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
void ten_plans_free_all(struct ten_registry *r);
/* Does what ten_plan_find does, also for the opening thread. */
struct ten_plan *ten_plan_of(const struct ten_registry *r, struct slice id);
enum err ten_plan_id_check(struct slice id, struct errbuf *eb) MUST_CHECK;

/* --- views.c ---------------------------------------------------------------------------------- */

/* Blocking, before the workers start: loads the views of visible tables. */
enum err ten_views_load(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
/* Blocking. Adds a view, from its encoded form, to a table that is not visible yet. ERR_CORRUPT,
 * ERR_TOO_BIG. */
enum err ten_view_restore(struct ten_registry *r, struct ten_tenant *t,
                          const struct sto_schema *schema, struct slice id, struct slice body,
                          struct errbuf *eb) MUST_CHECK;
/* ERR_CONFLICT when a view of the table has deletion protection. */
enum err ten_views_protection_check(const struct sto_schema *schema, struct errbuf *eb) MUST_CHECK;

/* --- tables.c, table_families.c --------------------------------------------------------------- */

/* Returns the index of the table, or where it belongs. Any thread. */
bool ten_tables_search(const struct ten_tables *tables, struct slice table_id, size_t *out_at);
/* Copy the list with one table added or replaced, or with one fewer; schemas are ref-counted. */
struct ten_tables *ten_tables_with(const struct ten_tables *old, struct sto_schema *schema_take);
struct ten_tables *ten_tables_without(const struct ten_tables *old, size_t at);

/* Blocking. Stores the schema in place of version `expect`, and sets its version. Does not publish
 * it. */
enum err ten_schema_commit(struct ten_registry *r, struct ten_tenant *t, struct sto_schema *schema,
                           uint64_t expect, struct errbuf *eb) MUST_CHECK;

/* Blocking. Does the same for several schemas, each in place of its current version, in one batch
 * with other changes. */
enum err ten_schemas_commit(struct ten_registry *r, struct ten_tenant *t,
                            struct sto_schema *const *schemas, size_t count,
                            const struct sto_doc_change *also, size_t also_count,
                            struct errbuf *eb) MUST_CHECK;
/* Returns the number of tables that count against its quota: tables being restored count, those
 * being deleted do not. */
size_t ten_tables_used(const struct ten_tenant *t);
/* Returns whether the tenant may have one more table (old: NULL), or family_count families in
 * it. */
enum err ten_tables_growth_check(const struct ten_tenant *t, const struct sto_schema *old,
                                 size_t family_count, struct errbuf *eb) MUST_CHECK;

/* Checks whether an object that takes `before` bytes of memory may grow to `after` bytes: against
 * schema_bytes of the tenant's quota, and the memory that all schemas share. */
enum err ten_schema_bytes_check(struct ten_registry *r, const struct ten_tenant *t, size_t before,
                                size_t after, struct errbuf *eb) MUST_CHECK;
/* Recounts the memory of the visible tables, of those being restored, and of their views, after a
 * change. */
void ten_schema_bytes_count(struct ten_registry *r, struct ten_tenant *t);
uint64_t ten_schema_and_views_bytes(const struct sto_schema *schema);
/* Sets that memory if it is known. */
void ten_schema_bytes_set(struct ten_registry *r, struct ten_tenant *t, uint64_t bytes);

/* ERR_PRECONDITION; schema: NULL when there is no such table. */
enum err ten_expect_check(const struct ten_expect *expect, const struct sto_schema *schema,
                          struct errbuf *eb) MUST_CHECK;
/* Finds the table and checks that it may be changed: ERR_CONFLICT while it is being deleted. *out
 * is NULL when there is none. */
enum err ten_table_for_change(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                              const struct ten_expect *expect, struct sto_schema **out,
                              struct errbuf *eb) MUST_CHECK;
/* Blocking. Creates the table (old: NULL) or its next schema, if it differs, and publishes it. */
enum err ten_table_store(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                         struct sto_schema *old, const struct sto_table_spec *spec,
                         struct errbuf *eb) MUST_CHECK;

/* --- table_restore.c -------------------------------------------------------------------------- */

struct ten_table_restore;
bool ten_table_is_restoring(const struct ten_registry *r, const struct ten_tenant *t,
                            struct slice table_id);
/* Returns the memory of the tenant's tables that are being restored, with their views. */
uint64_t ten_table_restores_bytes(const struct ten_registry *r, const struct ten_tenant *t);

/* --- tables_replace.c ------------------------------------------------------------------------- */

/* ERR_UNAVAILABLE while all tables of the tenant are being replaced. */
enum err ten_tables_replacing_check(const struct ten_tenant *t, struct errbuf *eb) MUST_CHECK;
/* Fails with the same error, otherwise with ERR_NOT_FOUND: the reason why a table is missing. Any
 * thread. */
enum err ten_tables_fail_missing(const struct ten_tenant *t, struct errbuf *eb) MUST_CHECK;

/* --- removal.c, table_removal.c, family_removal.c ----------------------------------------------
 */

/* NULL when the table has no pending removal. */
struct ten_removal *ten_removal_find(struct ten_registry *r, const struct ten_tenant *t,
                                     struct slice table_id);
struct ten_removal *ten_removal_add(struct ten_registry *r, struct ten_tenant *t,
                                    struct sto_schema *schema_take);
/* Removes it from the list and frees it. */
void ten_removal_free(struct ten_removal *m);
/* Drops m->family, or the rows; then calls the next step with m->drop.result set. */
void ten_removal_drop(struct ten_removal *m);
/* Starts running. */
void ten_removal_enter(struct ten_removal *m);
/* Stops running, finally (ERR_OK: m is freed) or until the next try. */
void ten_removal_leave(struct ten_removal *m, enum err result);
/* Returns the removal of a table that was just hidden; it may already have one for dropped
 * families. */
struct ten_removal *ten_table_removal_of(struct ten_registry *r, struct ten_tenant *t,
                                         struct sto_schema *deleting_take);
void ten_table_removal_run(struct ten_removal *m);
void ten_table_removal_dropped(struct ten_removal *m);
/* Starts the removal of the dropped families of a schema that was just published, if it has any. */
void ten_family_removal_begin(struct ten_registry *r, struct ten_tenant *t,
                              struct sto_schema *schema);
void ten_family_removal_run(struct ten_removal *m);
void ten_family_removal_dropped(struct ten_removal *m);
/* Returns whether a removal of the tenant is running: a purge must wait for it. */
bool ten_removal_is_running(const struct ten_registry *r, const struct ten_tenant *t);
/* Discards removals of the tenant that are not running; its purge does their work. */
void ten_removal_discard(struct ten_registry *r, const struct ten_tenant *t);
/* Resumes the removals that were loaded at open. */
void ten_removal_resume_all(struct ten_registry *r);
void ten_removal_free_all(struct ten_registry *r);

/* --- offboard.c, job_list.c, purge_queue.c ---------------------------------------------------- */

/* Blocking, before the workers start: ERR_CORRUPT when a tenant that is being deleted has no
 * job. */
enum err ten_offboard_load(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
/* Blocking: sets PURGING and the job RUNNING, with a record of its own. */
enum err ten_offboard_grace_is_over(struct ten_registry *r, struct ten_tenant *t,
                                    struct errbuf *eb) MUST_CHECK;
/* Posts the purge of every purging tenant, oldest job first. */
void ten_offboard_resume_all(struct ten_registry *r);
/* Blocking, any thread. ERR_NOT_FOUND. */
enum err ten_job_read(struct ten_registry *r, struct slice id, uint64_t *out_version,
                      struct ten_job *out, struct errbuf *eb) MUST_CHECK;
/* Passes the purge of a tenant to the job worker; called by purge_retry.c only. */
void ten_purge_run(struct ten_registry *r, struct ten_tenant *t);

/* --- purge_retry.c, control thread ------------------------------------------------------------ */

/* Posts the purge of a tenant in PURGING, once. While it is in progress, requests another run if it
 * fails. */
void ten_purge_post(struct ten_registry *r, struct ten_tenant *t);
/* Removes the entry of a purge that is done, or whose retry is useless and was not requested
 * again. */
void ten_purge_ended(struct ten_registry *r, struct ten_tenant *t);
/* Posts the purges that are due. */
void ten_purge_tick(struct ten_registry *r);

/* --- grace.c ---------------------------------------------------------------------------------- */

/* Adds a tenant that is in DELETE_REQUESTED and not held: its purge starts at delete_at_us. */
void ten_grace_add(struct ten_registry *r, struct ten_tenant *t);
/* Does nothing when the tenant does not wait. */
void ten_grace_remove(struct ten_registry *r, const struct ten_tenant *t);
/* Before the workers start: adds all waiting tenants. */
void ten_grace_load(struct ten_registry *r);
/* Blocking. Starts the purges that are due. */
void ten_grace_tick(struct ten_registry *r);

#endif
