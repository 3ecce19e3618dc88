/*
 * storage/rocksdb/scrub.h - rereads every table file periodically, to find damage before a read
 * needs the data.
 *
 * Does:     reads the table files in use one after the other, first the one that has waited
 *           longest, and with a file of the metadata its copy (meta_copies.h); compares checksums,
 *           and the tenants of keys with the file's list; reports damaged blocks to damage.h;
 *           records when each file was read (scrub_log.h).
 * Owns:     its thread and its records.
 * May use:  base/, storage/.
 * Knows no: how damaged files are handled. No tenant: files are numbers.
 * Threads:  init, start, stop and fini from one; get any.
 * Blocks:   stop joins.
 * Fails by: findings, which are counted; a disk that fails to write the records latches.
 * Limits:   bytes_per_s; RDB_SCRUB_REST_S, RDB_SCRUB_YOUNG_S.
 * Promises: 1. It reads at most bytes_per_s / RDB_SCRUB_QUANTA bytes in a quantum, and at most one
 *              read more before the next; a quantum lasts 1 s / RDB_SCRUB_QUANTA or longer.
 *           2. Data that it reads stays neither in the page cache nor in the block cache.
 *           3. A process that is killed has to read one file again, not more.
 */
#ifndef STORAGE_ROCKSDB_SCRUB_H
#define STORAGE_ROCKSDB_SCRUB_H

#include <pthread.h>
#include <stdatomic.h>

#include "storage/engine.h"
#include "storage/rocksdb/scrub_log.h"

#define RDB_SCRUB_QUANTA 4 /* per second */
/* Lowest rate, and the time in which all data is read, if bytes_per_s is STO_SCRUB_AUTO. */
#define RDB_SCRUB_LEAST_BYTES_PER_S (4 * MIB)
#define RDB_SCRUB_PERIOD_S          (7UL * 24 * 3600)
/* Seconds after which a file is read again, at the earliest. */
#define RDB_SCRUB_REST_S (24 * 3600)
/* Least age of a file for its first scrub: compactions replace many files sooner. */
#define RDB_SCRUB_YOUNG_S 600
/* Seconds between two checks for new files while there is nothing to read. */
#define RDB_SCRUB_PLAN_S 60

struct rdb_engine;

struct rdb_scrub {
    struct rdb_engine *engine;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* signals changes of the following fields, under lock */
    bool stopping;
    bool is_resting; /* its thread waits until a test releases it */
    uint64_t granted;
    struct rdb_scrub_log log; /* under lock; written by its thread only */

    /* its thread */
    bool by_hand; /* test tool */
    bool is_loaded;
    int64_t opened_us;
    int64_t budget_bytes; /* of the quantum; negative: deducted from the next quanta */

    _Atomic uint64_t bytes_per_s; /* 0: off */
    _Atomic uint64_t quanta;
    _Atomic uint64_t bytes;
    _Atomic uint64_t files;
    _Atomic uint64_t findings[STO_SCRUB_KINDS];
    _Atomic uint64_t last_file[STO_SCRUB_KINDS];
    _Atomic int64_t oldest_us; /* 0: not known yet */
};

void sto_rdb_scrub_init(struct rdb_scrub *s, struct rdb_engine *e);
void sto_rdb_scrub_fini(struct rdb_scrub *s);
/* Loads the records. is_new: the database was placed there; records of another one are removed. */
enum err sto_rdb_scrub_load(struct rdb_scrub *s, bool is_new, struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_scrub_start(struct rdb_scrub *s) MUST_CHECK;
void sto_rdb_scrub_stop(struct rdb_scrub *s);

/* Returns bytes per second for an option's value, with all_bytes of table files. */
uint64_t sto_rdb_scrub_rate(uint64_t option, uint64_t all_bytes);

/* Returns the record of a file. False: it was never read to its end. */
bool sto_rdb_scrub_find(struct rdb_scrub *s, uint64_t number, uint64_t bytes,
                        struct rdb_scrubbed *out);
void sto_rdb_scrub_get(struct rdb_scrub *s, struct sto_scrub *out);
/* Records that another part found the file's list wrong. */
void sto_rdb_scrub_doubt(struct rdb_scrub *s, uint64_t number, uint64_t bytes);

/* Test tool, before an engine is opened: its scrub continues only when sto_rdb_test_scrub is
 * called, and reads new files at once. */
void sto_rdb_test_scrub_by_hand(bool by_hand);
/* Then: lets `quanta` quanta pass; returns after them, or when nothing is left to read. */
void sto_rdb_test_scrub(struct rdb_engine *e, uint64_t quanta);

#endif
