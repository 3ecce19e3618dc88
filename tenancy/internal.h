/*
 * tenancy/internal.h - what the files of this room share and nobody else sees.
 *
 * Does:     lay out the registry; publish changes of a tenant; hand table removals and purges from
 *           thread to thread.
 * Owns:     see registry.h.
 * May use:  base/, storage/, tenancy/.
 * Knows no: API keys, HTTP.
 * Threads:  everything here is the control thread's, unless it says otherwise.
 * Blocks:   where marked.
 * Fails by: as said per function.
 * Limits:   those of registry.h.
 * Promises: 1. Details, tables, map and removals are changed by the control thread only (by the
 *              opening thread before it starts). 2. A tenant's document is written by the control
 *              thread only, its job's document by the job worker once the job is posted, but for
 *              the last one, which finishes both.
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
#define TEN_PURGES_AT_ONCE 256 /* share their steps; more wait for the next group */

/* What of a table has to go: all of it, or the cells of its dropped families. */
struct ten_removal {
    struct ten_removal *next;
    struct ten_registry *registry;
    struct ten_tenant *tenant;
    struct sto_schema *schema; /* one ref; whole: the one marked as deleting */
    bool whole;
    bool running;                   /* false: failed before, waits for the next try */
    struct ten_table_delete_op *op; /* who is answered when a whole table is gone; may be NULL */
    uint16_t family;                /* whose cells are being dropped; 0: rows */
    struct sto_drop_op drop;
};

struct ten_audit;
struct ten_certificates;
struct ten_metering;

/* Those that wait for the end of their grace period, the first one last. */
struct ten_grace {
    struct ten_waiting *waiting;
    size_t count;
    size_t capacity;
    uint64_t retry_ns; /* one could not begin: no look before */
};

/* Purges that are under way, and those that failed and will be tried again. */
struct ten_purge_retries {
    struct ten_purge_retry *entries;
    size_t count;
    size_t capacity;
};

struct ten_purge;

/* Purges that wait for the job worker, and those it works on: purge_queue.c. */
struct ten_purge_queue {
    pthread_mutex_t lock; /* over all but progress */
    struct ten_purge *first, *last;
    size_t waiting;
    uint64_t began_ns; /* the group; 0: there is none */
    uint64_t group_ns; /* how long the last one took; 0: there was none */
    uint32_t told_step;
    size_t told_count;
    char told[TEN_PURGES_AT_ONCE][TEN_JOB_ID + 1]; /* jobs that are at that step together */
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
    struct base_memory *memory;   /* as given */
    struct base_memory schemas;   /* control thread: tenants' schemas; limit 0: not counted */
    atomic_bool stopping;
    struct base_msg claim_msg; /* first message of the control worker */
    struct base_msg resume_msg;

    /* finds run on any thread; changes on the control thread */
    struct base_hashmap *by_id;

    /* control thread */
    struct ten_key_holder keys; /* strip NULL: nobody keeps any */
    bool awaits_keys;           /* as given, until they are there */
    struct ten_tenant **sorted; /* by ID */
    size_t tenant_count;
    size_t tenant_capacity;
    struct ten_plan **plans; /* by ID, room for LIM_PLANS; NULL: none yet */
    size_t plan_count;
    size_t threshold_next; /* index of the tenant that is looked at next */
    struct ten_threshold_counts thresholds;
    void (*_Atomic threshold_told)(const struct ten_threshold_event *event);
    struct ten_removal *removals;
    size_t removals_running;
    struct ten_table_restore *restores; /* tables that nobody sees yet */
    uint64_t last_job_ms;
    struct ten_grace grace;
    struct ten_purge_retries retries;
    void (*purge_failed)(const struct ten_purge_failure *failure); /* as given; may be NULL */
    uint64_t activity_marked_ns;                                   /* tenancy/activity.c */
    uint64_t top_ns[2]; /* tenancy/top.c: when samples were made; 0: not yet */
    struct base_msg drain_msg;
    bool draining;
    sem_t drained; /* posted once no removal is running after draining was set */
};

/* Abort unless this is r's control thread. */
void ten_control_check(const struct ten_registry *r);

/* --- tenant.c --------------------------------------------------------------------------------- */

/* Copies details; the tenant starts with no tables and its gate, ceilings and rates set. */
struct ten_tenant *ten_tenant_new(struct slice id, enum ten_state state,
                                  const struct ten_details *details);
void ten_tenant_free(struct ten_tenant *t);
enum ten_state ten_tenant_state(const struct ten_tenant *t);
/* Set gate, ceilings and rates anew: its plan was changed. */
void ten_tenant_apply(struct ten_tenant *t);
/* Space for count schemas, not filled. */
struct ten_tables *ten_tables_new(size_t count);
/* Make tables_take the tenant's list; the old one is retired. */
void ten_tables_publish(struct ten_registry *r, struct ten_tenant *t,
                        struct ten_tables *tables_take);
/* Blocking. Store state and details (doc_version is set here) together with the other changes in
 * one batch; then make them visible. */
enum err ten_tenant_commit(struct ten_registry *r, struct ten_tenant *t, enum ten_state state,
                           const struct ten_details *wanted, const struct sto_doc_change *also,
                           size_t also_count, struct errbuf *eb) MUST_CHECK;

/* --- registry.c, registry_load.c -------------------------------------------------------------- */

/* Index of the first tenant whose ID is not below id (or, if after, is above it). */
size_t ten_registry_bound(const struct ten_registry *r, struct slice id, bool after);
/* Add to map and sorted list. ERR_EXISTS. */
enum err ten_registry_add(struct ten_registry *r, struct ten_tenant *t) MUST_CHECK;
/* Blocking, before the workers run: tenants, schemas, counters. */
enum err ten_registry_load(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;

/* --- encryption.c ----------------------------------------------------------------------------- */

/* Blocking, before the workers run: of tenants that are encrypted. One whose keys are not there
 * has a cipher that refuses. */
enum err ten_ciphers_load(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
/* Blocking. Of a new tenant: what one that was never made left under its ID is destroyed. */
enum err ten_cipher_create(struct ten_registry *r, struct slice tenant_id, struct sto_cipher **out,
                           struct errbuf *eb) MUST_CHECK;
/* Blocking, job worker. Nothing that the tenant stored, wherever a copy of it is, is readable from
 * now on. Nobody may be reading or writing. */
enum err ten_cipher_destroy(struct ten_registry *r, struct ten_tenant *t,
                            struct errbuf *eb) MUST_CHECK;

/* --- plan.c ----------------------------------------------------------------------------------- */

/* Blocking, before the workers run, and before the tenants. */
enum err ten_plans_load(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
void ten_plans_free_all(struct ten_registry *r);
/* As ten_plan_find, for the opening thread too. */
struct ten_plan *ten_plan_of(const struct ten_registry *r, struct slice id);
enum err ten_plan_id_check(struct slice id, struct errbuf *eb) MUST_CHECK;

/* --- views.c ---------------------------------------------------------------------------------- */

/* Blocking, before the workers run: the views of visible tables. */
enum err ten_views_load(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
/* Blocking. Of a table that nobody sees yet: as it was encoded. ERR_CORRUPT, ERR_TOO_BIG. */
enum err ten_view_restore(struct ten_registry *r, struct ten_tenant *t,
                          const struct sto_schema *schema, struct slice id, struct slice body,
                          struct errbuf *eb) MUST_CHECK;
/* ERR_CONFLICT when one of the table's views keeps it from being deleted. */
enum err ten_views_protection_check(const struct sto_schema *schema, struct errbuf *eb) MUST_CHECK;

/* --- tables.c, table_families.c --------------------------------------------------------------- */

/* Index of the table, or where it belongs. Any thread. */
bool ten_tables_search(const struct ten_tables *tables, struct slice table_id, size_t *out_at);
/* A copy of the list with one more, one replaced or one fewer; schemas are ref-counted. */
struct ten_tables *ten_tables_with(const struct ten_tables *old, struct sto_schema *schema_take);
struct ten_tables *ten_tables_without(const struct ten_tables *old, size_t at);

/* Blocking. Store schema where version `expect` is; sets its version. It is not published yet. */
enum err ten_schema_commit(struct ten_registry *r, struct ten_tenant *t, struct sto_schema *schema,
                           uint64_t expect, struct errbuf *eb) MUST_CHECK;

/* Blocking. The same for several, each where the version is that it has now, in one batch with
 * other changes. */
enum err ten_schemas_commit(struct ten_registry *r, struct ten_tenant *t,
                            struct sto_schema *const *schemas, size_t count,
                            const struct sto_doc_change *also, size_t also_count,
                            struct errbuf *eb) MUST_CHECK;
/* What counts against its quota of tables: those being restored do, those being deleted do not. */
size_t ten_tables_used(const struct ten_tenant *t);
/* Whether the tenant may have one table more (old: NULL), or so many families in it. */
enum err ten_tables_growth_check(const struct ten_tenant *t, const struct sto_schema *old,
                                 size_t family_count, struct errbuf *eb) MUST_CHECK;

/* schema_bytes of its quota, and the memory that all schemas share: whether what takes so much
 * memory may take so much more. */
enum err ten_schema_bytes_check(struct ten_registry *r, const struct ten_tenant *t, size_t before,
                                size_t after, struct errbuf *eb) MUST_CHECK;
/* Anew, of the visible tables, those that are being restored, and their views, after these
 * changed. */
void ten_schema_bytes_count(struct ten_registry *r, struct ten_tenant *t);
uint64_t ten_schema_and_views_bytes(const struct sto_schema *schema);
/* What that is, if it is known. */
void ten_schema_bytes_set(struct ten_registry *r, struct ten_tenant *t, uint64_t bytes);

/* ERR_PRECONDITION; schema: NULL when there is no such table. */
enum err ten_expect_check(const struct ten_expect *expect, const struct sto_schema *schema,
                          struct errbuf *eb) MUST_CHECK;
/* The table and whether it may be changed: ERR_CONFLICT while it is being deleted. *out is NULL
 * when there is none. */
enum err ten_table_for_change(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                              const struct ten_expect *expect, struct sto_schema **out,
                              struct errbuf *eb) MUST_CHECK;
/* Blocking. Make the table (old: NULL) or its next schema, if it differs, and publish it. */
enum err ten_table_store(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                         struct sto_schema *old, const struct sto_table_spec *spec,
                         struct errbuf *eb) MUST_CHECK;

/* --- table_restore.c -------------------------------------------------------------------------- */

struct ten_table_restore;
bool ten_table_is_restoring(const struct ten_registry *r, const struct ten_tenant *t,
                            struct slice table_id);
/* Memory of the tenant's tables that are being restored, with their views. */
uint64_t ten_table_restores_bytes(const struct ten_registry *r, const struct ten_tenant *t);

/* --- tables_replace.c ------------------------------------------------------------------------- */

/* ERR_UNAVAILABLE while all tables of the tenant are being replaced. */
enum err ten_tables_replacing_check(const struct ten_tenant *t, struct errbuf *eb) MUST_CHECK;
/* The same, else ERR_NOT_FOUND: why there is no such table. Any thread. */
enum err ten_tables_fail_missing(const struct ten_tenant *t, struct errbuf *eb) MUST_CHECK;

/* --- removal.c, table_removal.c, family_removal.c ----------------------------------------------
 */

/* NULL when nothing of the table has to go. */
struct ten_removal *ten_removal_find(struct ten_registry *r, const struct ten_tenant *t,
                                     struct slice table_id);
struct ten_removal *ten_removal_add(struct ten_registry *r, struct ten_tenant *t,
                                    struct sto_schema *schema_take);
/* Take it off the list. */
void ten_removal_free(struct ten_removal *m);
/* Drop m->family, or the rows; what comes next is called with m->drop.result set. */
void ten_removal_drop(struct ten_removal *m);
/* Begin to run. */
void ten_removal_enter(struct ten_removal *m);
/* It stops running, for good (ERR_OK: m is freed) or until somebody tries again. */
void ten_removal_leave(struct ten_removal *m, enum err result);
/* Of a table that was just hidden; it may have a removal of dropped families already. */
struct ten_removal *ten_table_removal_of(struct ten_registry *r, struct ten_tenant *t,
                                         struct sto_schema *deleting_take);
void ten_table_removal_run(struct ten_removal *m);
void ten_table_removal_dropped(struct ten_removal *m);
/* Take care of the dropped families of a schema that was just published, if it has any. */
void ten_family_removal_begin(struct ten_registry *r, struct ten_tenant *t,
                              struct sto_schema *schema);
void ten_family_removal_run(struct ten_removal *m);
void ten_family_removal_dropped(struct ten_removal *m);
/* One of the tenant's is running: a purge has to wait. */
bool ten_removal_is_running(const struct ten_registry *r, const struct ten_tenant *t);
/* Forget those of the tenant that are not running; its purge does their work. */
void ten_removal_discard(struct ten_registry *r, const struct ten_tenant *t);
/* Go on with what was loaded at open. */
void ten_removal_resume_all(struct ten_registry *r);
void ten_removal_free_all(struct ten_registry *r);

/* --- offboard.c, job_list.c, purge_queue.c ---------------------------------------------------- */

/* Blocking, before the workers run: ERR_CORRUPT when a tenant that is being deleted has no job. */
enum err ten_offboard_load(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
/* Blocking: PURGING and the job RUNNING, with a record of its own. */
enum err ten_offboard_grace_is_over(struct ten_registry *r, struct ten_tenant *t,
                                    struct errbuf *eb) MUST_CHECK;
/* Post the purge of every purging tenant, oldest job first. */
void ten_offboard_resume_all(struct ten_registry *r);
/* Blocking, any thread. ERR_NOT_FOUND. */
enum err ten_job_read(struct ten_registry *r, struct slice id, uint64_t *out_version,
                      struct ten_job *out, struct errbuf *eb) MUST_CHECK;
/* Hand the purge of a tenant to the job worker; by purge_retry.c only. */
void ten_purge_run(struct ten_registry *r, struct ten_tenant *t);

/* --- purge_retry.c, control thread ------------------------------------------------------------ */

/* Post the purge of a tenant in PURGING, once: again when the one that is under way has failed. */
void ten_purge_post(struct ten_registry *r, struct ten_tenant *t);
/* It is done, or there is no use in trying it again. */
void ten_purge_ended(struct ten_registry *r, struct ten_tenant *t);
/* Post those that are due. */
void ten_purge_tick(struct ten_registry *r);

/* --- grace.c ---------------------------------------------------------------------------------- */

/* It is in DELETE_REQUESTED and not held: its purge begins when its time has come. */
void ten_grace_add(struct ten_registry *r, struct ten_tenant *t);
/* Nothing when it does not wait. */
void ten_grace_remove(struct ten_registry *r, const struct ten_tenant *t);
/* Before the workers run: all that wait. */
void ten_grace_load(struct ten_registry *r);
/* Blocking. Begin the purges that are due. */
void ten_grace_tick(struct ten_registry *r);

#endif
