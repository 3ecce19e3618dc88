/*
 * storage/engine.h - the boundary between the product and whatever keeps the rows.
 *
 * Does:     take operations on rows of one table scope, answer them later on the caller's own
 *           thread; keep small versioned documents; drop ranges; count what is there. Over 500
 *           lines because it is the whole boundary.
 * Owns:     the engine's threads and files. An operation belongs to the engine from submission
 *           until its done runs, then to its maker again.
 * May use:  base/, storage/.
 * Knows no: tenants' names for things, HTTP, who is asking.
 * Threads:  submit from any thread that owns a mailbox; done runs on the thread of reply_to.
 *           Functions marked "blocking" wait for the disk: control and job threads only.
 * Blocks:   only where marked.
 * Fails by: ERR_SUSPENDED and ERR_GONE (gate), ERR_PRECONDITION, ERR_QUOTA, ERR_STORAGE_FULL,
 *           ERR_OVERLOADED, ERR_TOO_BIG (row over its limit), ERR_UNAVAILABLE (engine failed
 *           or closing), ERR_TIMEOUT (nothing was done), ERR_OUTCOME_UNKNOWN (the write may or
 *           may not be there), ERR_CANCELLED (a read, by its maker), ERR_CORRUPT, ERR_IO.
 * Limits:   the queue and slice limits of base/limits.h.
 * Promises: 1. A row is read and written atomically. 2. A scan is not a snapshot across rows.
 *           3. done runs exactly once per submission, never before the submission returned.
 *           4. ERR_OK of a mutation means it survives power loss (embedded engine).
 *           5. An error of the disk latches: everything later is ERR_UNAVAILABLE until the
 *              process restarts. A damaged block is ERR_CORRUPT of what needs it, alone.
 *           6. A read that was cancelled holds no iterator once its slice has ended.
 *           7. When more is asked for than can be done, tenants are served by their shares
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

/* Check and mutate: the operation's mutations happen when the predicate gives a cell of the row as
 * it is then, `otherwise` when not. Atomic with the reading. */
struct sto_check {
    struct sto_filter_program *predicate; /* NULL: whether the row has any cell */
    const struct sto_view *view;          /* NULL: none; else the predicate sees no more than it */
    struct sto_mutation *otherwise;
    size_t otherwise_count;
    bool matched; /* out */
};

/* Read-modify-write: the cells that STO_APPEND and STO_INCREMENT made, one for each column, in the
 * order of the row; copied into the maker's arena. */
struct sto_modified {
    struct arena *arena;    /* used by the committer while the operation is submitted */
    struct sto_cell *cells; /* out */
    size_t count;           /* out */
};

/* A retry with the same token within LIM_IDEMPOTENCY_US changes nothing and succeeds; commit_us,
 * row_existed and matched are those of the first attempt, modified cells are as they are now. The
 * same token with another table, row key or mutations is ERR_CONFLICT. */
struct sto_idempotency {
    struct slice token; /* empty: none */
    int64_t start_us;   /* when the first attempt began; ERR_CONFLICT when that is longer ago, or
                         * more than LIM_IDEMPOTENCY_AHEAD_US in the future */
};

/* Of an operation's `unwanted`. */
static inline bool sto_is_unwanted(const _Atomic bool *unwanted)
{
    return unwanted != NULL && atomic_load_explicit(unwanted, memory_order_relaxed);
}

struct sto_mutate_op {
    struct base_msg msg; /* the engine's while submitted */
    struct base_mailbox *reply_to;
    void (*done)(struct sto_mutate_op *op);
    void *user;

    struct sto_table_scope scope; /* released by the maker after done */
    struct slice row_key;         /* checked with sto_mutations_check before submission */
    struct sto_mutation *mutations;
    size_t mutation_count;
    bool must_exist;         /* ERR_PRECONDITION, and nothing changes, when the row has no cell */
    bool must_not_exist;     /* the same when it has one */
    struct sto_check *check; /* NULL: unconditional */
    struct sto_modified *modified; /* NULL unless APPEND or INCREMENT are among the mutations */
    uint64_t deadline_ns; /* monotonic; 0: none. ERR_TIMEOUT, and nothing changes, when it has
                           * passed before the operation's turn comes */
    const _Atomic bool *unwanted; /* true at any time: an operation that takes long ends soon, with
                                   * ERR_CANCELLED, and nothing changes. NULL: never */
    struct sto_idempotency idempotency;
    enum sto_priority priority; /* among the tenant's own operations */

    enum err result;
    struct errbuf detail;
    uint64_t retry_ns;      /* with ERR_OVERLOADED: when another try makes sense */
    int64_t commit_us;      /* the timestamp given to STO_TIMESTAMP_SERVER cells */
    uint64_t bytes_seen;    /* of cells that its condition looked at: qualifiers, timestamps and
                          * values, as of a read */
    uint64_t work_ns;       /* of its predicate, as of reads: nothing, if it has no expressions */
    uint64_t bytes_deleted; /* as bytes_seen, of cells that its mutations deleted */
    bool row_existed;       /* before this operation */
    bool repeated;          /* the idempotency token was known: nothing was done again */
};

void sto_mutate_row(struct sto_engine *e, struct sto_mutate_op *op);

/* --- reading rows, slice by slice --------------------------------------------------------------
 */

enum sto_read_state {
    STO_READ_MORE, /* the slice is full: call sto_read_rows again for the next one */
    STO_READ_END,  /* everything asked for was given */
    STO_READ_FAILED,
};

struct sto_read_op {
    struct base_msg msg;
    struct base_mailbox *reply_to;
    void (*done)(struct sto_read_op *op);
    void *user;

    struct sto_table_scope scope; /* released by the maker after the last done */
    struct sto_read_spec spec;    /* unchanged by the engine */
    struct sto_row_sink *sink;
    struct buf *last_passed; /* gets the key of the newest row that is done with, whether anything
                             * of it was given or not; emptied by whoever looks. NULL: not wanted */
    _Atomic bool cancelled; /* set by the maker at any time, on any thread: the slice under way ends
                             * soon, with ERR_CANCELLED */
    uint64_t deadline_ns; /* monotonic; 0: none. A slice that runs into it ends soon: ERR_TIMEOUT */
    enum sto_priority priority; /* as of mutations */

    enum sto_read_state state;
    enum err result; /* why, when STO_READ_FAILED */
    struct errbuf detail;
    uint64_t retry_ns;   /* as of mutations */
    uint64_t rows_given; /* over all slices */
    uint64_t rows_seen;  /* visited, whether anything of them was given or not */
    uint64_t cells_seen; /* visited, for charging; those of a restarted row count once */
    uint64_t bytes_seen; /* of their keys and values: each row's key, and of each cell qualifier,
                          * timestamp and value, as they are stored */
    uint64_t cells_given;
    uint64_t work_ns;               /* of the filter: reckoned (storage/pattern.h), for charging */
    uint64_t seeks;                 /* of the engine's iterator */
    uint64_t steps;                 /* of the same, to the next key; beside the seeks */
    struct sto_read_cursor *cursor; /* the engine's memory between slices; starts as NULL */
};

/* ERR_NOT_FOUND: the table was deleted. Run the next slice. Returns true when it was done at once
 * on this thread, from memory, and done will not be called; false when done comes later. try_inline
 * is for point reads on a loop. */
bool sto_read_rows(struct sto_engine *e, struct sto_read_op *op, bool try_inline) MUST_CHECK;
/* After the last done (or instead of asking for more): give the cursor back. */
void sto_read_finish(struct sto_engine *e, struct sto_read_op *op);

/* --- reading a table's change stream, slice by slice ------------------------------------------
 */

struct sto_change_op {
    struct base_msg msg;
    struct base_mailbox *reply_to;
    void (*done)(struct sto_change_op *op);
    void *user;

    struct sto_table_scope scope; /* released by the maker after the last done */
    struct sto_row_range range;   /* changes of these rows */
    int64_t since_us;             /* the stream's, when the reading began: another one is refused */
    int64_t until_us;             /* no changes behind this; 0: no end */
    struct sto_change_sink *sink;
    _Atomic bool cancelled;     /* as of sto_read_op */
    uint64_t deadline_ns;       /* the same */
    enum sto_priority priority; /* as of mutations */

    /* in and out: all changes up to here were given; the maker sets where it begins */
    int64_t passed_us;
    int64_t at_us; /* a change of which parts were given; 0: none */
    uint32_t part; /* its next one */

    enum sto_read_state state; /* MORE: the slice is full; END: there is nothing newer now */
    enum err result;
    struct errbuf detail;
    uint64_t retry_ns;         /* as of mutations */
    uint64_t parts_seen;       /* of the slice: given, and passed over for they are of other rows */
    uint64_t bytes_seen;       /* of their keys and values, as they are stored */
    struct sto_engine *engine; /* the engine's own */
};

/* Run the next slice on a reader; done comes later, always. What was committed before the
 * submission is given, in the order of commits; at an END, passed_us is a time before which nothing
 * will be committed any more. ERR_NOT_FOUND: the table was deleted; ERR_CONFLICT: it has no stream,
 * not the same one any more, or passed_us is longer ago than it keeps changes. No memory is kept
 * between slices. */
void sto_read_changes(struct sto_engine *e, struct sto_change_op *op);
/* Whether a slice would give something, or an error; costs a few loads. Any thread. */
bool sto_changes_wait_for(const struct sto_change_op *op);

/* --- where a table could be divided -------------------------------------------------------------
 */

struct sto_sample {
    struct slice row_key;  /* empty, as the last one: the end of the rows */
    uint64_t offset_bytes; /* of stored bytes in front of it, of these rows, approximately */
};

struct sto_sample_op {
    struct base_msg msg;
    struct base_mailbox *reply_to;
    void (*done)(struct sto_sample_op *op);
    void *user;

    struct sto_table_scope scope;
    struct sto_row_set rows;      /* of which samples are wanted; all zero: the table */
    uint64_t bytes_between;       /* wanted between two samples; 0: the engine chooses. The table's
                                 * splits are samples in any case. */
    struct arena *arena;          /* of the maker: samples and keys are written into it */
    const _Atomic bool *unwanted; /* true at any time: it ends soon, with ERR_CANCELLED. NULL: it
                                   * is wanted to its end */
    uint64_t deadline_ns;         /* as of reads */
    enum sto_priority priority;   /* as of mutations */

    enum err result;
    struct errbuf detail;
    uint64_t retry_ns;          /* as of mutations */
    uint64_t rows_seen;         /* the iterator was moved to, for charging, even if it failed */
    uint64_t bytes_seen;        /* of their keys and headers, as they are stored */
    struct sto_sample *samples; /* keys rising, offsets never falling */
    size_t count;
    void *engine_state; /* the engine's; starts as NULL */
};

void sto_sample_row_keys(struct sto_engine *e, struct sto_sample_op *op);

/* --- removing many rows of one table, exactly counted ------------------------------------------
 */

struct sto_drop_op {
    struct base_msg msg;
    struct base_mailbox *reply_to;
    void (*done)(struct sto_drop_op *op);
    void *user;

    struct sto_table_scope scope;
    struct sto_row_range range;
    uint16_t
        family; /* 0: whole rows; else only this family's cells, whether in the schema or not */
    bool expired_only;  /* the sweeper: only cells that no read shows any more, by the rules of the
                         * scope's schema: too old, too many, or of a family that was removed */
    bool dry_run;       /* change nothing: `removed` is what would go of the rows of one slice */
    uint64_t steps_max; /* a sweep's end: the first row behind so many stored keys; 0: no bound */
    struct buf *resume; /* with steps_max or dry_run: the row key where the next operation begins;
                         * empty: that was all. Empty at the submission */
    bool ignore_gate;   /* the removal of a table marked as deleting, by tenancy only */
    bool table_ends;    /* beside ignore_gate, with sto_table.forgotten set: all rows, then all
                         * changes, to be followed by sto_table_forget; where there are many of
                         * either they go as one range */
    uint64_t deadline_ns; /* as of mutations; what has begun goes on. Of a dry run: as of reads */
    const _Atomic bool *stop;   /* NULL: none. ERR_CANCELLED soon after it is set: a slice is whole,
                                 * the rest is left */
    enum sto_priority priority; /* as of mutations; the removal of a table is background work in
                                 * any case */

    enum err result;
    struct errbuf detail;
    uint64_t retry_ns; /* as of mutations */
    struct sto_usage removed;
    uint64_t steps;      /* stored keys looked at; of a dry run one a row */
    uint64_t bytes_seen; /* dry_run: of those keys and their values, for charging */
    uint64_t look_ns;    /* expired_only: what looking took of processors */
    int64_t expires_us;  /* expired_only: before then no cell that it looked at and left becomes
                         * garbage, if none is added; STO_GC_NEVER: age makes none of them so */
    void *engine_state;  /* the engine's; freed before done */
};

/* Rows written before the submission are gone when done says ERR_OK; in bounded commits, so other
 * writes go on in between; a crash leaves it partly done and exactly counted. A dry run is a slice
 * on a reader: its maker charges it and submits the next one. A sweep
 * (expired_only) ends with ERR_CONFLICT as soon as the scope's schema is not the table's newest one
 * any more (sto_table.published), and with ERR_NOT_FOUND when the table was deleted: what was
 * garbage by older rules may not be it by newer ones. So does any other drop of rows of a table
 * that was deleted (ERR_NOT_FOUND), but for the removal of the table and of its families' cells. */
void sto_drop_rows(struct sto_engine *e, struct sto_drop_op *op);

/* --- counting what is really there ---------------------------------------------------------------
 */

struct sto_recount_op {
    struct base_msg msg;
    struct base_mailbox *reply_to;
    void (*done)(struct sto_recount_op *op);
    void *user;

    struct sto_tenant_scope scope;
    bool ignore_gate; /* count behind a closed gate, too: nobody may purge the tenant meanwhile, or
                       * what is counted is half of it */
    bool skip_lost;   /* rows that were lost with a damaged block are left out; else ERR_CORRUPT */

    enum err result;
    struct errbuf detail;
    struct sto_usage counted;  /* by iterating over a snapshot */
    struct sto_usage recorded; /* the counters at that same snapshot */
    uint64_t counted_changes;  /* bytes of stored changes, likewise */
    uint64_t recorded_changes;
    int begun;          /* how often: it gives way to deletions, and ends with ERR_TIMEOUT when
                         * that was LIM_RECOUNT_BEGINS times */
    void *engine_state; /* the engine's; starts as NULL */
};

void sto_recount(struct sto_engine *e, struct sto_recount_op *op);

/* --- behind a gate that was closed -------------------------------------------------------------
 */

struct sto_fence_op {
    struct base_msg msg;
    struct base_mailbox *reply_to;
    void (*done)(struct sto_fence_op *op);
    void *user;

    struct sto_tenant_scope scope;
};

/* done comes, always, when each write that the tenant's gate let pass before the submission is
 * durable and seen by reads, or was refused. Of a gate that was closed before, nothing that it
 * forbids comes behind that. It waits for no one's turn: for the batch under way alone. */
void sto_fence(struct sto_engine *e, struct sto_fence_op *op);

/* --- small versioned documents (registry, keys, schemas, jobs)
 * ------------------------------------- */

#define STO_DOC_ABSENT   0          /* expect: must not exist */
#define STO_DOC_ANY      UINT64_MAX /* expect: whatever is there */
#define STO_DOC_KEY_MAX  255
#define STO_DOC_BODY_MAX (1024 * 1024)

struct sto_doc_change {
    struct slice key;  /* starts with a room's own letter and '/', e.g. "t/altostrat" */
    struct slice body; /* ptr NULL deletes */
    uint64_t expect;   /* version that must be there now */
};

/* Blocking. All changes in one synced batch, or none: ERR_CONFLICT names the first key whose
 * version differs. Each stored document's new version is its old one plus 1 (1 when new). */
enum err sto_docs_commit(struct sto_engine *e, const struct sto_doc_change *changes, size_t count,
                         struct errbuf *eb) MUST_CHECK;
/* Blocking. Body appended to out; ERR_NOT_FOUND. */
enum err sto_doc_get(struct sto_engine *e, struct slice key, uint64_t *out_version, struct buf *out,
                     struct errbuf *eb) MUST_CHECK;
/* Blocking. In key order; visit returns ERR_OK to go on, anything else ends with that. */
enum err sto_docs_scan(struct sto_engine *e, struct slice key_prefix,
                       enum err (*visit)(void *ctx, struct slice key, uint64_t version,
                                         struct slice body),
                       void *ctx, struct errbuf *eb) MUST_CHECK;

/* A part of a scan. */
struct sto_docs_page {
    struct slice prefix; /* as of sto_docs_scan */
    struct slice from;   /* first key, itself included; empty: where the prefix begins, or ends */
    size_t limit;        /* at most so many documents */
    bool backwards;      /* to lower keys */
};

/* Blocking. As sto_docs_scan. */
enum err sto_docs_read(struct sto_engine *e, const struct sto_docs_page *page,
                       enum err (*visit)(void *ctx, struct slice key, uint64_t version,
                                         struct slice body),
                       void *ctx, struct errbuf *eb) MUST_CHECK;

/* --- counters
 * ---------------------------------------------------------------------------------------- */

/* Blocking. Load the stored counters of a table, and add them to its tenant's account; at start,
 * before the account is used. Zero when there are none. */
enum err sto_counters_load(struct sto_engine *e, const struct sto_table_scope *scope,
                           struct errbuf *eb) MUST_CHECK;
/* Blocking. Forget the counters of a table (they must be 0) after a drop with table_ends; the
 * documents that leave with it are changed in the same batch. Takes the time of one commit. */
enum err sto_table_forget(struct sto_engine *e, const struct sto_table_scope *scope,
                          const struct sto_doc_change *docs, size_t doc_count,
                          struct errbuf *eb) MUST_CHECK;

/* --- removing a tenant, with proof
 * ----------------------------------------------------------------------- */

/* The physical steps, in this order. Each is blocking, idempotent and may be repeated after a
 * crash. Until the last one is done, only the gate hides what is there. */
enum sto_purge_step {
    STO_PURGE_FENCE,        /* gate must be GONE: wait for commits in flight and open reads */
    STO_PURGE_DELETE_FILES, /* files wholly inside the tenant */
    STO_PURGE_DELETE_RANGE, /* one synced batch: counters 0, `changes` */
    STO_PURGE_FLUSH,        /* all that is in memory, so that the log holds nothing of it */
    STO_PURGE_COMPACT,      /* everything else of it leaves the files */
    STO_PURGE_STEP_COUNT
};
const char *sto_purge_step_name(enum sto_purge_step step);

/* changes: documents to change in the same batch; used by STO_PURGE_DELETE_RANGE only. */
enum err sto_purge_run(struct sto_engine *e, const struct sto_tenant_scope *scope,
                       enum sto_purge_step step, const struct sto_doc_change *changes,
                       size_t change_count, struct errbuf *eb) MUST_CHECK;
/* STO_PURGE_FLUSH or STO_PURGE_COMPACT of several tenants, at the cost of one for what they share.
 * One error is everybody's. */
enum err sto_purge_run_all(struct sto_engine *e, const struct sto_tenant_scope *const *scopes,
                           size_t count, enum sto_purge_step step, struct errbuf *eb) MUST_CHECK;

struct sto_audit {
    uint64_t physical_keys;       /* cells and changes in the range, range tombstones ignored */
    uint64_t live_files_inside;   /* live files with a boundary key inside the range */
    uint64_t live_files_spanning; /* live files around the range: boundaries outside, both sides */
    uint64_t counters;            /* counters, schemas, sweeps, views and tokens left */
    uint64_t sequence;            /* engine's sequence number when it was taken */
    uint64_t snapshots;           /* of the engine, live, anybody's */
    uint64_t oldest_snapshot;     /* its sequence number; 0: there is none */
    uint64_t old_versions;        /* of the engine's index, held by iterators or background work */
    uint64_t obsolete_bytes;      /* of tables that are not in use and not deleted yet */
};

/* Snapshots that see what was there at that sequence number: all of them when the oldest one does,
 * for only that one's is known. */
uint64_t sto_audit_snapshots_of(const struct sto_audit *audit, uint64_t sequence);

/* Blocking. Look at what is physically there. */
enum err sto_audit_range(struct sto_engine *e, const struct sto_tenant_scope *scope,
                         struct sto_audit *out, struct errbuf *eb) MUST_CHECK;

/* Blocking. Store canaries among the keys of a tenant that is being created, and its documents in
 * the same batch: no read, scan, count or drop sees them, only a purge removes them. */
enum err sto_canaries_plant(struct sto_engine *e, const struct sto_tenant_scope *scope,
                            const uint8_t canaries[][STO_CANARY_BYTES], size_t count,
                            const struct sto_doc_change *docs, size_t doc_count,
                            struct errbuf *eb) MUST_CHECK;

struct sto_search_spec {
    bool only_its_own;        /* leave out tables whose bounds say that they hold nothing of them */
    bool deep;                /* read tables as well whose own list names none of them */
    const _Atomic bool *stop; /* ERR_CANCELLED soon after it is set */
};

/* What the bytes of the engine's files say, read without the engine's own index. A table that lists
 * its tenants, and none of those that are looked for, is not read: its list was made of every key
 * when the table was written. Values in it are not searched: a deep search does. */
struct sto_search {
    uint64_t files;    /* that were read */
    uint64_t bytes;    /* that were read of any file, lists included */
    uint64_t keys;     /* the tenant's, in tables: live, old, deleted, in ranges and in indexes */
    uint64_t canaries; /* anywhere */
    uint64_t notes;    /* its prefix in the engine's own log and options */
    uint64_t outside;  /* its prefix elsewhere: others' keys and values may hold any text */
    uint64_t obsolete; /* files not in use any more that hold its prefix or a canary */
    char engine[32];   /* version, as the files say */
    uint64_t listed_files; /* tables that rest on their lists */
    uint64_t listed_bytes;
    bool deep;                  /* none does, because all were to be read */
    uint64_t scrubbed_files;    /* of listed_files: read again since they were written, and sound */
    int64_t scrubbed_oldest_us; /* when the one of them was for which that is longest ago; wall
                                 * clock; 0: there is none */
};

/* One of the tenants that are looked for. */
struct sto_search_target {
    const struct sto_tenant_scope *scope;
    const struct sto_canary *canaries;
    size_t canary_count;
    struct sto_search found; /* out: files and bytes are those of the whole search */
};

/* Blocking, for long: reads every file that may hold something of them, once for all targets. */
enum err sto_search_files(struct sto_engine *e, struct sto_search_target *targets, size_t count,
                          const struct sto_search_spec *spec, struct errbuf *eb) MUST_CHECK;

/* How far a purge's step, audit or search is. Any thread reads; each number for itself. */
enum sto_progress_unit { STO_PROGRESS_NONE, STO_PROGRESS_KEYS, STO_PROGRESS_BYTES };
struct sto_progress {
    _Atomic uint32_t unit;
    _Atomic uint64_t done;
    _Atomic uint64_t all;      /* 0: not known */
    _Atomic uint64_t since_ns; /* monotonic: when it began */
};

/* since_ns: monotonic, when the oldest erasure that is not over was asked for: the longer ago, the
 * larger the share of the processors that it gets. 0: there is none. */
void sto_erasing_since(struct sto_engine *e, uint64_t since_ns);

/* Job threads: from now on such a step is told here; NULL: nowhere. */
void sto_progress_watch(struct sto_engine *e, struct sto_progress *progress);

/* --- health
 * ---------------------------------------------------------------------------------------------- */

/* What a failure, or the lack of space, says of the disk. */
enum sto_disk {
    STO_DISK_OK,
    STO_DISK_FULL,      /* not failed: growing writes are refused, everything else goes on */
    STO_DISK_READ_ONLY, /* failed: the file system takes no changes */
    STO_DISK_FAILED,    /* failed in any other way */
    STO_DISK_STATES
};
const char *sto_disk_name(enum sto_disk disk);

struct sto_health {
    bool failed;   /* latched engine error */
    bool disk_low; /* at the headroom: growing writes are refused */
    enum sto_disk disk;
    uint64_t disk_free_bytes;
    uint64_t descriptors_missed; /* files that could not be opened at once, for want of them */
    uint64_t sequence;
    char reason[160]; /* first failure, without keys or values */
};

void sto_health_get(struct sto_engine *e, struct sto_health *out);

/* A table file in use that holds a block which does not match its checksum. Met by a read or a
 * compaction since the engine was opened; what nobody met is not listed. */
#define STO_DAMAGED_FILES 64
struct sto_damaged_file {
    uint64_t number;      /* as in its name */
    uint64_t offset;      /* of the block */
    uint64_t block_bytes; /* 0: not known */
    char family[16];      /* of columns: cells, changes, meta */
};
struct sto_damage {
    uint64_t lost_ranges;        /* of keys: their bytes are gone, reads of them are ERR_CORRUPT */
    struct errbuf reclaim_stuck; /* which file keeps bytes of drops, for operators; "": none */
    uint64_t meta_uncopied;      /* files of the metadata that are on the disk only once */
    size_t count;
    struct sto_damaged_file files[STO_DAMAGED_FILES];
};

void sto_damage_get(struct sto_engine *e, struct sto_damage *out);

/* Reading all table files again and again, before somebody needs what is damaged in them. */
enum sto_scrub_kind {
    STO_SCRUB_BLOCK,      /* a block does not match its checksum: sto_damage has it */
    STO_SCRUB_LIST,       /* a table's list of tenants is not what its keys say */
    STO_SCRUB_UNREADABLE, /* the disk did not return a table */
    STO_SCRUB_COPY,       /* the copy of a file of the metadata was damaged; another was made */
    STO_SCRUB_KINDS
};
const char *sto_scrub_kind_name(enum sto_scrub_kind kind);

struct sto_scrub {
    uint64_t bytes_per_s; /* at most; 0: off */
    uint64_t bytes;       /* read since the engine was opened, as all below */
    uint64_t files;
    uint64_t findings[STO_SCRUB_KINDS];
    uint64_t last_file[STO_SCRUB_KINDS]; /* the number of the last such table */
    int64_t oldest_us; /* when the table that waits longest was read, or written if it never was;
                        * wall clock; 0: not known yet */
};

/* How many were at most 2^i and above 2^(i-1), and the last one: all above. */
#define STO_BUCKETS 24
struct sto_buckets {
    uint64_t count[STO_BUCKETS];
    uint64_t sum;
};

/* What the engine counts since it was opened, and how it is now; each number for itself, not all
 * of one moment. */
/* Kinds of reads, of which one slice in 61 of each thread is counted. */
enum sto_read_kind { STO_READ_ROW, STO_READ_ROWS, STO_READ_ROWS_REVERSED, STO_READ_KINDS };

struct sto_read_sample {
    uint64_t slices;
    uint64_t removed; /* keys that they passed: tombstones, and versions hidden by newer ones */
};

/* A table in which reads walk through removed keys that were not rewritten yet. */
struct sto_removed_table {
    char tenant[LIM_TENANT_ID + 1];
    char table[LIM_TABLE_ID + 1];
    uint64_t passed; /* keys */
};
#define STO_REMOVED_TABLES 16

struct sto_engine_stats {
    uint64_t commit_queue_ops; /* waiting now */
    uint64_t commit_queue_bytes;
    uint64_t point_queue_ops; /* at the readers */
    uint64_t scan_queue_ops;
    uint64_t commit_refused; /* because a queue was full */
    uint64_t commit_shed;    /* because RocksDB would have stalled */
    uint64_t commit_rested;  /* because the tenant's last one kept others waiting */
    uint64_t read_refused;
    struct sto_buckets commit_ops; /* of a batch */
    struct sto_buckets sync_us;    /* of its synced write */
    uint64_t commit_held_ns_max;   /* that one operation kept its committer, since the start */
    uint64_t writes_planned;       /* worked out on readers, because they would have kept it long */

    uint32_t pressure; /* 0: takes all writes, to 1000: only a tenth of even shares */
    uint64_t level0_files;
    uint64_t compaction_pending_bytes;
    uint64_t memtables_waiting;  /* to be flushed */
    uint64_t delayed_write_rate; /* bytes a second; 0: RocksDB delays nothing */
    bool writes_stopped;
    uint64_t delayed_ns; /* for so long RocksDB has delayed writes, seen four times a second */
    uint64_t stopped_ns;
    uint64_t reads_handed_over; /* tried on a loop, and a reader had to ask the disk */
    bool range_tombstones;      /* there may be some: their tenants' reads go to readers */
    uint64_t corrupt_reads;     /* ended with ERR_CORRUPT: a file or a stored value is damaged */
    uint64_t drops_waiting;     /* whose bytes are still in the files */
    uint64_t reclaim_rested_ns; /* of rewriting them away, beside others; since the start */
    uint64_t removed_passed;    /* removed keys that reads walked through, since the start */
    uint64_t removed_rewritten; /* stretches of them, since the start */
    size_t removed_table_count; /* at most STO_REMOVED_TABLES; each table once */
    struct sto_removed_table removed_tables[STO_REMOVED_TABLES];
    struct sto_read_sample read_samples[STO_READ_KINDS];
    uint64_t cache_hits; /* blocks, of one slice of reads in sixty or so */
    uint64_t cache_misses;
    uint64_t cache_used_bytes;
    uint64_t cache_bytes; /* it may use */
    uint64_t memtable_bytes;
    uint64_t file_bytes;    /* of all tables of RocksDB */
    uint64_t garbage_bytes; /* of those, in files whose keys are all within newer or lower ones */
    uint64_t flushes_running;
    uint64_t compactions_running;
    struct sto_scrub scrub;
};

/* Any thread; a few loads, and what was seen of RocksDB in the last quarter of a second. */
void sto_engine_stats_get(struct sto_engine *e, struct sto_engine_stats *out);

/* Blocking. Finish queued work, flush, write the witness, close. Every read must have been finished
 * (sto_read_finish) before: a cursor may hold what is closed here. */
void sto_engine_close(struct sto_engine *e);

#endif
