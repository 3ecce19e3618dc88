/*
 * storage/engine.h - the boundary between the product and the engine that stores the rows.
 *
 * Does:     accepts operations on rows of one table scope and returns them later on the submitter's
 *           thread; stores small versioned documents; drops ranges; counts stored rows. Over 500
 *           lines because it is the whole boundary.
 * Owns:     the engine's threads and files. An operation belongs to the engine from its submission
 *           until its done runs, then to its submitter again.
 * May use:  base/, storage/.
 * Knows no: tenants' names for things, HTTP, callers and their keys.
 * Threads:  submit from any thread that owns a mailbox; done runs on the thread of reply_to.
 *           Functions marked "blocking" wait for the disk: control and job threads only.
 * Blocks:   only where marked.
 * Fails by: ERR_SUSPENDED and ERR_GONE (gate), ERR_PRECONDITION, ERR_QUOTA, ERR_STORAGE_FULL,
 *           ERR_OVERLOADED, ERR_TOO_BIG (row over its limit), ERR_UNAVAILABLE (engine failed or
 *           closing), ERR_TIMEOUT (nothing was done), ERR_OUTCOME_UNKNOWN (the write may or may not
 *           be stored), ERR_CANCELLED (a read, by its submitter), ERR_CORRUPT, ERR_IO.
 * Limits:   the queue and slice limits of base/limits.h.
 * Promises: 1. A row is read and written atomically. 2. A scan is not a snapshot across rows.
 *           3. done runs exactly once per submission, never before the submission returned.
 *           4. ERR_OK of a mutation means that the mutation survives power loss (embedded engine).
 *           5. A disk error latches: every later call returns ERR_UNAVAILABLE until the process
 *              restarts. A damaged block returns ERR_CORRUPT only to the operations that need it.
 *           6. A cancelled read holds no iterator once its slice has ended.
 *           7. When demand exceeds capacity, tenants are served by their shares
 *              (storage/fair_queue.h); a priority counts among a tenant's own operations only.
 */
#ifndef STORAGE_ENGINE_H
#define STORAGE_ENGINE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mailbox.h"
#include "storage/canary.h"
#include "storage/change.h"
#include "storage/filter.h"
#include "storage/mutation.h"
#include "storage/read.h"
#include "storage/scope.h"

struct sto_engine;

/* --- changing one row ------------------------------------------------------------------------ */

/* Check and mutate: applies the operation's mutations if the predicate emits a cell of the row's
 * current state, `otherwise` if it does not. The check and the mutations are one atomic step. */
struct sto_check {
    struct sto_filter_program *predicate; /* NULL: true if the row has any cell */
    const struct sto_view *view;          /* NULL: none; else the predicate sees only the view's
                                           * cells */
    struct sto_mutation *otherwise;
    size_t otherwise_count;
    bool matched; /* out */
};

/* Read-modify-write: the cells written by STO_APPEND and STO_INCREMENT, one for each column, in the
 * order of the row; copied into the submitter's arena. */
struct sto_modified {
    struct arena *arena;    /* used by the committer while the operation is submitted */
    struct sto_cell *cells; /* out */
    size_t count;           /* out */
};

/* A retry with the same token within LIM_IDEMPOTENCY_US changes nothing and succeeds. It returns
 * commit_us, row_existed and matched of the first attempt, and the modified cells as they are now.
 * The same token with another table, row key or mutations is ERR_CONFLICT. */
struct sto_idempotency {
    struct slice token; /* empty: none */
    int64_t start_us;   /* start of the first attempt; ERR_CONFLICT if older than
                         * LIM_IDEMPOTENCY_US, or more than LIM_IDEMPOTENCY_AHEAD_US in the
                         * future */
};

/* Returns true if an operation's `unwanted` flag exists and is set. */
static inline bool sto_is_unwanted(const _Atomic bool *unwanted)
{
    return unwanted != NULL && atomic_load_explicit(unwanted, memory_order_relaxed);
}

struct sto_mutate_op {
    struct base_msg msg; /* belongs to the engine while submitted */
    struct base_mailbox *reply_to;
    void (*done)(struct sto_mutate_op *op);
    void *user;

    struct sto_table_scope scope; /* released by the submitter after done */
    struct slice row_key;         /* checked with sto_mutations_check before submission */
    struct sto_mutation *mutations;
    size_t mutation_count;
    bool must_exist;               /* ERR_PRECONDITION, and no change, if the row has no cell */
    bool must_not_exist;           /* ERR_PRECONDITION, and no change, if the row has a cell */
    struct sto_check *check;       /* NULL: unconditional */
    struct sto_modified *modified; /* NULL unless APPEND or INCREMENT are among the mutations */
    uint64_t deadline_ns; /* monotonic; 0: none. ERR_TIMEOUT, and no change, if it passes before the
                           * operation is served */
    const _Atomic bool *unwanted; /* may become true at any time: a long operation then ends soon
                                   * with ERR_CANCELLED and changes nothing. NULL: never */
    struct sto_idempotency idempotency;
    enum sto_priority priority; /* among the tenant's own operations */

    enum err result;
    struct errbuf detail;
    uint64_t retry_ns;      /* with ERR_OVERLOADED: time after which a retry makes sense */
    int64_t commit_us;      /* the timestamp assigned to STO_TIMESTAMP_SERVER cells */
    uint64_t bytes_seen;    /* of cells read by its condition: qualifiers, timestamps and values,
                             * counted as in a read */
    uint64_t work_ns;       /* cost of its predicate, computed as in a read; 0 without regular
                             * expressions */
    uint64_t bytes_deleted; /* of cells deleted by its mutations, counted as bytes_seen */
    bool row_existed;       /* before this operation */
    bool repeated;          /* the idempotency token was known: no mutation was applied again */
};

void sto_mutate_row(struct sto_engine *e, struct sto_mutate_op *op);

/* --- reading rows, slice by slice ------------------------------------------------------------- */

enum sto_read_state {
    STO_READ_MORE, /* the slice is full: call sto_read_rows again for the next one */
    STO_READ_END,  /* every requested row was emitted */
    STO_READ_FAILED,
};

struct sto_read_op {
    struct base_msg msg;
    struct base_mailbox *reply_to;
    void (*done)(struct sto_read_op *op);
    void *user;

    struct sto_table_scope scope; /* released by the submitter after the last done */
    struct sto_read_spec spec;    /* unchanged by the engine */
    struct sto_row_sink *sink;
    struct buf *last_passed; /* receives the key of the newest completed row, whether any cell of it
                              * was emitted or not; its reader empties it. NULL: not wanted */
    _Atomic bool cancelled;  /* set by the submitter at any time, on any thread: the slice in
                              * progress ends soon with ERR_CANCELLED */
    uint64_t deadline_ns;    /* monotonic; 0: none. A slice that reaches it ends soon with
                              * ERR_TIMEOUT */
    enum sto_priority priority; /* as in sto_mutate_op */

    enum sto_read_state state;
    enum err result; /* reason, if STO_READ_FAILED */
    struct errbuf detail;
    uint64_t retry_ns;   /* as in sto_mutate_op */
    uint64_t rows_given; /* over all slices */
    uint64_t rows_seen;  /* visited, whether any cell of them was emitted or not */
    uint64_t cells_seen; /* visited, for charging; cells of a restarted row count once */
    uint64_t bytes_seen; /* visited keys and values: the key of each row, and the qualifier,
                          * timestamp and value of each cell, as stored */
    uint64_t cells_given;
    uint64_t work_ns;               /* cost of the filter, for charging: estimated, not measured
                                     * (storage/pattern.h) */
    uint64_t seeks;                 /* of the engine's iterator */
    uint64_t steps;                 /* of the engine's iterator to the next key; seeks not
                                     * included */
    struct sto_read_cursor *cursor; /* the engine's memory between slices; starts as NULL */
};

/* Runs the next slice. Returns true if the slice completed at once on this thread, from memory;
 * done will not be called. Returns false if done comes later. try_inline is for point reads on a
 * loop. ERR_NOT_FOUND: the table was deleted. */
bool sto_read_rows(struct sto_engine *e, struct sto_read_op *op, bool try_inline) MUST_CHECK;
/* Releases the cursor. Called after the last done, or instead of requesting the next slice. */
void sto_read_finish(struct sto_engine *e, struct sto_read_op *op);

/* --- reading a table's change stream, slice by slice ------------------------------------------ */

struct sto_change_op {
    struct base_msg msg;
    struct base_mailbox *reply_to;
    void (*done)(struct sto_change_op *op);
    void *user;

    struct sto_table_scope scope; /* released by the submitter after the last done */
    struct sto_row_range range;   /* only changes of these rows */
    int64_t since_us;             /* since_us of the stream when the reading started: any other
                                   * stream is refused */
    int64_t until_us;             /* emits no changes after this time; 0: no end */
    struct sto_change_sink *sink;
    _Atomic bool cancelled;     /* as in sto_read_op */
    uint64_t deadline_ns;       /* as in sto_read_op */
    enum sto_priority priority; /* as in sto_mutate_op */

    /* in and out: every change up to this time was emitted; the submitter sets the start */
    int64_t passed_us;
    int64_t at_us; /* a change that was emitted in part; 0: none */
    uint32_t part; /* the next part of that change */

    enum sto_read_state state; /* MORE: the slice is full; END: no newer change exists now */
    enum err result;
    struct errbuf detail;
    uint64_t retry_ns;         /* as in sto_mutate_op */
    uint64_t parts_seen;       /* in this slice: emitted, or skipped because they belong to other
                                * rows */
    uint64_t bytes_seen;       /* keys and values of these parts, as stored */
    struct sto_engine *engine; /* the engine's own */
};

/* Runs the next slice on a reader; done always comes later. Emits the changes committed before the
 * submission, in commit order. At an END, no later commit gets a time before passed_us.
 * ERR_NOT_FOUND: the table was deleted. ERR_CONFLICT: the table has no stream or another stream, or
 * passed_us is older than its retention. Holds no memory between slices. */
void sto_read_changes(struct sto_engine *e, struct sto_change_op *op);
/* Returns whether a slice would emit a change or return an error; costs a few loads. Any thread. */
bool sto_changes_wait_for(const struct sto_change_op *op);

/* --- sampling where a table can be divided ---------------------------------------------------- */

struct sto_sample {
    struct slice row_key;  /* empty in the last sample: the end of the rows */
    uint64_t offset_bytes; /* approximate stored bytes of these rows before row_key */
};

struct sto_sample_op {
    struct base_msg msg;
    struct base_mailbox *reply_to;
    void (*done)(struct sto_sample_op *op);
    void *user;

    struct sto_table_scope scope;
    struct sto_row_set rows;      /* rows to sample; all zero: the whole table */
    uint64_t bytes_between;       /* target distance between two samples; 0: the engine chooses. The
                                   * table's splits are always samples. */
    struct arena *arena;          /* the submitter's; samples and keys are written into it */
    const _Atomic bool *unwanted; /* may become true at any time: the operation then ends soon with
                                   * ERR_CANCELLED. NULL: never */
    uint64_t deadline_ns;         /* as in sto_read_op */
    enum sto_priority priority;   /* as in sto_mutate_op */

    enum err result;
    struct errbuf detail;
    uint64_t retry_ns;          /* as in sto_mutate_op */
    uint64_t rows_seen;         /* rows the iterator was moved to, for charging, also after a
                                 * failure */
    uint64_t bytes_seen;        /* keys and headers of these rows, as stored */
    struct sto_sample *samples; /* ascending keys, offsets that never decrease */
    size_t count;
    void *engine_state; /* belongs to the engine; starts as NULL */
};

void sto_sample_row_keys(struct sto_engine *e, struct sto_sample_op *op);

/* --- removing many rows of one table, exactly counted ----------------------------------------- */

struct sto_drop_op {
    struct base_msg msg;
    struct base_mailbox *reply_to;
    void (*done)(struct sto_drop_op *op);
    void *user;

    struct sto_table_scope scope;
    struct sto_row_range range;
    uint16_t family; /* 0: whole rows; else only this family's cells, even if the schema lacks it */
    bool expired_only;    /* the sweeper: removes only cells that no read shows, by the rules of the
                           * scope's schema: too old, too many, or of a removed family */
    bool dry_run;         /* change nothing: `removed` is the sum that a drop would remove from the
                           * rows of one slice */
    uint64_t steps_max;   /* a sweep ends before the first row after this many stored keys; 0: no
                           * bound */
    struct buf *resume;   /* with steps_max or dry_run: the row key where the next operation starts;
                           * empty: nothing is left. Empty at the submission */
    bool ignore_gate;     /* removal of a table marked as deleting; tenancy only */
    bool table_ends;      /* with ignore_gate and sto_table.forgotten: removes all rows, then all
                           * changes; many of either are removed as one range. sto_table_forget
                           * follows */
    uint64_t deadline_ns; /* as in sto_mutate_op; a drop that has started continues. Of a dry run:
                           * as in sto_read_op */
    const _Atomic bool *stop;   /* NULL: none. Soon after it is set the drop ends with
                                 * ERR_CANCELLED: the current slice is completed, the rest stays */
    enum sto_priority priority; /* as in sto_mutate_op; the removal of a table is always background
                                 * work */

    enum err result;
    struct errbuf detail;
    uint64_t retry_ns; /* as in sto_mutate_op */
    struct sto_usage removed;
    uint64_t steps;      /* stored keys inspected; one per row in a dry run */
    uint64_t bytes_seen; /* dry_run: of these keys and their values, for charging */
    uint64_t look_ns;    /* expired_only: processor time of the search */
    int64_t expires_us;  /* expired_only: earliest time at which a cell that was inspected and kept
                          * becomes garbage, if no cell is added; STO_GC_NEVER: no cell becomes
                          * garbage by age */
    void *engine_state;  /* belongs to the engine; freed before done */
};

/* Removes the rows written before the submission; they are gone when done reports ERR_OK. Works
 * in bounded commits, so other writes proceed in between. A crash leaves a drop partly done and
 * exactly counted. A dry run is one slice on a reader: its submitter charges it and submits the
 * next one. A sweep (expired_only) ends with ERR_CONFLICT as soon as the scope's schema is no
 * longer the table's newest (sto_table.published), because garbage under older rules may not be
 * garbage under newer ones. It ends with ERR_NOT_FOUND if the table was deleted. So does any
 * other drop of rows of a deleted table, except for the removal of the table and of its
 * families' cells. */
void sto_drop_rows(struct sto_engine *e, struct sto_drop_op *op);

/* --- recounting stored rows ------------------------------------------------------------------- */

struct sto_recount_op {
    struct base_msg msg;
    struct base_mailbox *reply_to;
    void (*done)(struct sto_recount_op *op);
    void *user;

    struct sto_tenant_scope scope;
    bool ignore_gate; /* count even if the gate is closed. The tenant must not be purged at the same
                       * time, or the count is incomplete */
    bool skip_lost;   /* leave out rows lost with a damaged block; else ERR_CORRUPT */

    enum err result;
    struct errbuf detail;
    struct sto_usage counted;  /* by iterating over a snapshot */
    struct sto_usage recorded; /* the counters at that same snapshot */
    uint64_t counted_changes;  /* bytes of stored changes, at that same snapshot */
    uint64_t recorded_changes;
    int begun;          /* number of starts. The recount gives way to deletions; it ends with
                         * ERR_TIMEOUT after LIM_RECOUNT_BEGINS starts */
    void *engine_state; /* belongs to the engine; starts as NULL */
};

void sto_recount(struct sto_engine *e, struct sto_recount_op *op);

/* --- fencing a closed gate -------------------------------------------------------------------- */

struct sto_fence_op {
    struct base_msg msg;
    struct base_mailbox *reply_to;
    void (*done)(struct sto_fence_op *op);
    void *user;

    struct sto_tenant_scope scope;
};

/* Always calls done, once each write that the tenant's gate admitted before the submission is
 * durable and visible to reads, or was refused. If the gate was closed before the submission, no
 * write that it forbids follows done. Bypasses the fair queue: waits for the batch in progress
 * only. */
void sto_fence(struct sto_engine *e, struct sto_fence_op *op);

/* --- small versioned documents (registry, keys, schemas, jobs) -------------------------------- */

#define STO_DOC_ABSENT   0          /* as expect: the document must not exist */
#define STO_DOC_ANY      UINT64_MAX /* as expect: any version, or none */
#define STO_DOC_KEY_MAX  255
#define STO_DOC_BODY_MAX (1024 * 1024)

struct sto_doc_change {
    struct slice key;  /* starts with the letter of its kind and '/', e.g. "t/altostrat" */
    struct slice body; /* ptr NULL deletes */
    uint64_t expect;   /* version that must be stored now */
};

/* Blocking. Commits all changes in one synced batch, or none: ERR_CONFLICT names the first key
 * whose version differs. Each stored document's new version is its old one plus 1 (1 when new). */
enum err sto_docs_commit(struct sto_engine *e, const struct sto_doc_change *changes, size_t count,
                         struct errbuf *eb) MUST_CHECK;
/* Blocking. Appends the body to out; ERR_NOT_FOUND. */
enum err sto_doc_get(struct sto_engine *e, struct slice key, uint64_t *out_version, struct buf *out,
                     struct errbuf *eb) MUST_CHECK;
/* Blocking. Calls visit in key order until it returns an error; returns that error. */
enum err sto_docs_scan(struct sto_engine *e, struct slice key_prefix,
                       enum err (*visit)(void *ctx, struct slice key, uint64_t version,
                                         struct slice body),
                       void *ctx, struct errbuf *eb) MUST_CHECK;

/* A part of a scan. */
struct sto_docs_page {
    struct slice prefix; /* as of sto_docs_scan */
    struct slice from;   /* first key, inclusive; empty: the start of the prefix, or its end if
                          * backwards */
    size_t limit;        /* maximum number of documents */
    bool backwards;      /* towards lower keys */
};

/* Blocking. Scans one page; visit works as in sto_docs_scan. */
enum err sto_docs_read(struct sto_engine *e, const struct sto_docs_page *page,
                       enum err (*visit)(void *ctx, struct slice key, uint64_t version,
                                         struct slice body),
                       void *ctx, struct errbuf *eb) MUST_CHECK;

/* --- counters --------------------------------------------------------------------------------- */

/* Blocking. Loads the stored counters of a table and adds them to its tenant's account; at startup,
 * before the account is used. Zero if none are stored. */
enum err sto_counters_load(struct sto_engine *e, const struct sto_table_scope *scope,
                           struct errbuf *eb) MUST_CHECK;
/* Blocking. Removes the counters of a table (they must be 0) after a drop with table_ends, and
 * changes the documents that are removed with it in the same batch. Takes the time of one
 * commit. */
enum err sto_table_forget(struct sto_engine *e, const struct sto_table_scope *scope,
                          const struct sto_doc_change *docs, size_t doc_count,
                          struct errbuf *eb) MUST_CHECK;

/* --- removing a tenant, with proof ------------------------------------------------------------ */

/* The physical steps, in this order. Each is blocking and idempotent, and may be repeated after a
 * crash. Until the last one is done, only the gate hides the remaining bytes. */
enum sto_purge_step {
    STO_PURGE_FENCE,        /* gate must be GONE: waits for commits in flight and open reads */
    STO_PURGE_DELETE_FILES, /* files entirely inside the tenant's range */
    STO_PURGE_DELETE_RANGE, /* one synced batch: counters 0, `changes` */
    STO_PURGE_FLUSH,        /* all memtables, so that the log holds no byte of the tenant */
    STO_PURGE_COMPACT,      /* removes the tenant's remaining bytes from the files */
    STO_PURGE_STEP_COUNT
};
const char *sto_purge_step_name(enum sto_purge_step step);

/* Runs one step. changes: documents to change in the same batch; used by STO_PURGE_DELETE_RANGE
 * only. */
enum err sto_purge_run(struct sto_engine *e, const struct sto_tenant_scope *scope,
                       enum sto_purge_step step, const struct sto_doc_change *changes,
                       size_t change_count, struct errbuf *eb) MUST_CHECK;
/* Runs STO_PURGE_FLUSH or STO_PURGE_COMPACT for several tenants; their shared work is done once. An
 * error applies to all of them. */
enum err sto_purge_run_all(struct sto_engine *e, const struct sto_tenant_scope *const *scopes,
                           size_t count, enum sto_purge_step step, struct errbuf *eb) MUST_CHECK;

struct sto_audit {
    uint64_t physical_keys;       /* cells and changes in the range, range tombstones ignored */
    uint64_t live_files_inside;   /* live files with a boundary key inside the range */
    uint64_t live_files_spanning; /* live files around the range: boundary keys outside, on both
                                   * sides */
    uint64_t counters;            /* remaining counters, schemas, sweeps, views and tokens */
    uint64_t sequence;            /* the engine's sequence number at the audit */
    uint64_t snapshots;           /* all live snapshots of the engine, of any tenant */
    uint64_t oldest_snapshot;     /* its sequence number; 0: no snapshot */
    uint64_t old_versions;        /* of the engine's index, held by iterators or background work */
    uint64_t obsolete_bytes;      /* of tables that are no longer in use and not yet deleted */
};

/* Returns the number of snapshots that see the state at that sequence number: all of them if the
 * oldest one does, because only the oldest one's number is known. */
uint64_t sto_audit_snapshots_of(const struct sto_audit *audit, uint64_t sequence);

/* Blocking. Counts what the tenant still has in the database and its files. */
enum err sto_audit_range(struct sto_engine *e, const struct sto_tenant_scope *scope,
                         struct sto_audit *out, struct errbuf *eb) MUST_CHECK;

/* Blocking. Stores canaries among the keys of a tenant that is being created, and its documents in
 * the same batch. No read, scan, count or drop sees canaries; only a purge removes them. */
enum err sto_canaries_plant(struct sto_engine *e, const struct sto_tenant_scope *scope,
                            const uint8_t canaries[][STO_CANARY_BYTES], size_t count,
                            const struct sto_doc_change *docs, size_t doc_count,
                            struct errbuf *eb) MUST_CHECK;

struct sto_search_spec {
    bool only_its_own;        /* skip tables whose bounds exclude every target */
    bool deep;                /* also read tables whose own list names no target */
    const _Atomic bool *stop; /* ERR_CANCELLED soon after it is set */
};

/* Result of a search of the engine's files, read without the engine's own index. A table that lists
 * its tenants, and lists no target, is not read: its list was made from every key when the table
 * was written. Values in such a table are not searched; a deep search reads them. */
struct sto_search {
    uint64_t files;    /* read */
    uint64_t bytes;    /* read of any file, lists included */
    uint64_t keys;     /* the tenant's, in tables: live, old, deleted, in ranges and in indexes */
    uint64_t canaries; /* anywhere */
    uint64_t notes;    /* its prefix in the engine's own log and options */
    uint64_t outside;  /* its prefix elsewhere: other tenants' keys and values may hold any text */
    uint64_t obsolete; /* files that are no longer in use and hold its prefix or a canary */
    char engine[32];   /* version, according to the files */
    uint64_t listed_files; /* tables not read because of their lists */
    uint64_t listed_bytes;
    bool deep;                  /* no table was skipped by its list: all were to be read */
    uint64_t scrubbed_files;    /* of listed_files: read again since they were written, and
                                 * intact */
    int64_t scrubbed_oldest_us; /* earliest time at which one of scrubbed_files was last read; wall
                                 * clock; 0: there is none */
};

/* A tenant to search for. */
struct sto_search_target {
    const struct sto_tenant_scope *scope;
    const struct sto_canary *canaries;
    size_t canary_count;
    struct sto_search found; /* out: files and bytes count the whole search */
};

/* Blocking, for long: reads every file that may hold bytes of a target, once for all targets. */
enum err sto_search_files(struct sto_engine *e, struct sto_search_target *targets, size_t count,
                          const struct sto_search_spec *spec, struct errbuf *eb) MUST_CHECK;

/* Progress of a purge's step, audit or search. Any thread reads; the numbers are not one
 * snapshot. */
enum sto_progress_unit { STO_PROGRESS_NONE, STO_PROGRESS_KEYS, STO_PROGRESS_BYTES };
struct sto_progress {
    _Atomic uint32_t unit;
    _Atomic uint64_t done;
    _Atomic uint64_t all;      /* 0: unknown */
    _Atomic uint64_t since_ns; /* monotonic start time */
};

/* Sets when the oldest unfinished erasure was requested (monotonic). The longer ago that is, the
 * larger the share of the processors that erasures get. 0: there is none. */
void sto_erasing_since(struct sto_engine *e, uint64_t since_ns);

/* Selects where later steps report their progress; NULL: nowhere. Job threads. */
void sto_progress_watch(struct sto_engine *e, struct sto_progress *progress);

/* --- health ----------------------------------------------------------------------------------- */

/* State of the disk, derived from a failure or from the free space. */
enum sto_disk {
    STO_DISK_OK,
    STO_DISK_FULL,      /* not failed: growing writes are refused, everything else continues */
    STO_DISK_READ_ONLY, /* failed: the file system accepts no changes */
    STO_DISK_FAILED,    /* failed in any other way */
    STO_DISK_STATES
};
const char *sto_disk_name(enum sto_disk disk);

struct sto_health {
    bool failed;   /* latched engine error */
    bool disk_low; /* free space is at the headroom: growing writes are refused */
    enum sto_disk disk;
    uint64_t disk_free_bytes;
    uint64_t descriptors_missed; /* opens that had to wait, or failed, for want of file
                                  * descriptors */
    uint64_t sequence;
    char reason[160]; /* first failure, without keys or values */
};

void sto_health_get(struct sto_engine *e, struct sto_health *out);

/* A table file in use that holds a block which does not match its checksum, as found by a read or a
 * compaction since the engine was opened. Damage that no read or compaction met is not listed. */
#define STO_DAMAGED_FILES 64
struct sto_damaged_file {
    uint64_t number;      /* as in the file's name */
    uint64_t offset;      /* of the block */
    uint64_t block_bytes; /* 0: unknown */
    char family[16];      /* column family: cells, changes, meta */
};
struct sto_damage {
    uint64_t lost_ranges;        /* of keys: their bytes are lost, reads of them return
                                  * ERR_CORRUPT */
    struct errbuf reclaim_stuck; /* for operators: the file that keeps bytes of drops; "": none */
    uint64_t meta_uncopied;      /* files of the metadata without a second copy */
    size_t count;
    struct sto_damaged_file files[STO_DAMAGED_FILES];
};

void sto_damage_get(struct sto_engine *e, struct sto_damage *out);

/* The scrub: rereads all table files repeatedly, to find damage before a request needs the
 * block. */
enum sto_scrub_kind {
    STO_SCRUB_BLOCK,      /* a block does not match its checksum; listed in sto_damage */
    STO_SCRUB_LIST,       /* a table's list of tenants differs from its keys */
    STO_SCRUB_UNREADABLE, /* the disk did not return a table */
    STO_SCRUB_COPY,       /* the copy of a metadata file was damaged; a new copy was made */
    STO_SCRUB_KINDS
};
const char *sto_scrub_kind_name(enum sto_scrub_kind kind);

/* State of the scrub. */
struct sto_scrub {
    uint64_t bytes_per_s; /* maximum; 0: off */
    uint64_t bytes;       /* read since the engine was opened, like all counts below */
    uint64_t files;
    uint64_t findings[STO_SCRUB_KINDS];
    uint64_t last_file[STO_SCRUB_KINDS]; /* number of the last such table */
    int64_t oldest_us; /* of the table not read for longest: when it was last read, or written if
                        * never read; wall clock; 0: not known yet */
};

/* Histogram: bucket i counts values at most 2^i and above 2^(i-1); the last bucket counts all
 * above. */
#define STO_BUCKETS 24
struct sto_buckets {
    uint64_t count[STO_BUCKETS];
    uint64_t sum;
};

/* Kinds of reads. One slice in 61 of each thread is sampled. */
enum sto_read_kind { STO_READ_ROW, STO_READ_ROWS, STO_READ_ROWS_REVERSED, STO_READ_KINDS };

struct sto_read_sample {
    uint64_t slices;
    uint64_t removed; /* keys passed: tombstones, and versions hidden by newer ones */
};

/* A table in which reads pass removed keys that are not rewritten yet. */
struct sto_removed_table {
    char tenant[LIM_TENANT_ID + 1];
    char table[LIM_TABLE_ID + 1];
    uint64_t passed; /* keys */
};
#define STO_REMOVED_TABLES 16

/* Counters since the engine was opened, and gauges of now. The numbers are not one snapshot. */
struct sto_engine_stats {
    uint64_t commit_queue_ops; /* waiting now */
    uint64_t commit_queue_bytes;
    uint64_t point_queue_ops; /* waiting for readers */
    uint64_t scan_queue_ops;
    uint64_t commit_refused; /* because a queue was full */
    uint64_t commit_shed;    /* because RocksDB would have stalled */
    uint64_t commit_rested;  /* because the tenant's last large write kept other tenants waiting */
    uint64_t read_refused;
    struct sto_buckets commit_ops; /* per batch */
    struct sto_buckets sync_us;    /* of the synced write of a batch */
    uint64_t commit_held_ns_max;   /* longest time that one operation kept its committer, since the
                                    * start */
    uint64_t writes_planned;       /* computed on readers, because they would have kept the
                                    * committer too long */

    uint32_t pressure; /* 0: admits all writes; 1000: only a tenth of even shares */
    uint64_t level0_files;
    uint64_t compaction_pending_bytes;
    uint64_t memtables_waiting;  /* waiting for a flush */
    uint64_t delayed_write_rate; /* bytes per second; 0: RocksDB delays no writes */
    bool writes_stopped;
    uint64_t delayed_ns; /* total time during which RocksDB delayed writes, sampled four times a
                          * second */
    uint64_t stopped_ns;
    uint64_t reads_handed_over; /* tried on a loop and passed to a reader, because they needed the
                                 * disk */
    bool range_tombstones;      /* some may exist: readers run their tenants' reads */
    uint64_t corrupt_reads;     /* ended with ERR_CORRUPT: a file or a stored value is damaged */
    uint64_t drops_waiting;     /* drops whose bytes are still in the files */
    uint64_t reclaim_rested_ns; /* time that rewriting paused in favor of other work, since the
                                 * start */
    uint64_t removed_passed;    /* removed keys that reads passed, since the start */
    uint64_t removed_rewritten; /* stretches of removed keys rewritten, since the start */
    size_t removed_table_count; /* at most STO_REMOVED_TABLES; each table once */
    struct sto_removed_table removed_tables[STO_REMOVED_TABLES];
    struct sto_read_sample read_samples[STO_READ_KINDS];
    uint64_t cache_hits; /* blocks, in one sampled slice of reads in about sixty */
    uint64_t cache_misses;
    uint64_t cache_used_bytes;
    uint64_t cache_bytes; /* capacity */
    uint64_t memtable_bytes;
    uint64_t file_bytes;    /* of all RocksDB tables */
    uint64_t garbage_bytes; /* bytes of live files minus RocksDB's estimate of live data */
    uint64_t flushes_running;
    uint64_t compactions_running;
    struct sto_scrub scrub;
};

/* Copies the statistics: a few loads, and RocksDB's state as of the last quarter of a second. Any
 * thread. */
void sto_engine_stats_get(struct sto_engine *e, struct sto_engine_stats *out);

/* Blocking. Finishes queued work, flushes, writes the witness, closes. Every read must be finished
 * before (sto_read_finish): a cursor may refer to objects closed here. */
void sto_engine_close(struct sto_engine *e);

#endif
