/*
 * storage/rocksdb/damage.h - bytes of table files that do not match their checksums.
 *
 * Does:     tells a read that met a damaged block from one that met a failing disk, counts the
 *           former, keeps which files hold such blocks, and has those files rewritten without
 *           them, after what they held was recorded as lost.
 * Owns:     the list and a thread, as long as the engine.
 * May use:  base/, storage/, RocksDB's texts.
 * Knows no: operations, tenants: a file is named by its number, never by its keys.
 * Threads:  start and stop from one; all others any.
 * Blocks:   shortly, on RocksDB's list of live files; wait: until files were read.
 * Fails by: sto_rdb_read_failed: ERR_CORRUPT (damage, of this read alone); what sto_rdb_fail
 *           returns for anything else, which latches the engine.
 * Limits:   STO_DAMAGED_FILES blocks are listed; all reads are counted.
 * Promises: 1. Damage of a table file never latches the engine.
 *           2. A file that is not in use any more leaves the list.
 *           3. No block is left out by a compaction before its keys are recorded as lost (lost.h).
 */
#ifndef STORAGE_ROCKSDB_DAMAGE_H
#define STORAGE_ROCKSDB_DAMAGE_H

#include <pthread.h>
#include <stdatomic.h>

#include "storage/engine.h"

struct rdb_engine;

struct rdb_damaged_block {
    struct sto_damaged_file at; /* family is empty until the list is asked for */
    bool is_examined;           /* the file was read, and what is damaged in it recorded */
    bool is_stuck;              /* compactions cannot leave it out */
    uint64_t unread_ns; /* monotonic time at which it could not be read to its end; 0: it was */
};

struct rdb_damage {
    _Atomic uint64_t reads; /* that met damaged bytes, or keys that were lost */
    struct rdb_engine *engine;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* what follows */
    bool stopping;
    size_t count;
    struct rdb_damaged_block of[STO_DAMAGED_FILES];
};

void sto_rdb_damage_init(struct rdb_damage *d, struct rdb_engine *e);
void sto_rdb_damage_fini(struct rdb_damage *d);
enum err sto_rdb_damage_start(struct rdb_damage *d) MUST_CHECK;
/* Behind the end of manual compactions. */
void sto_rdb_damage_stop(struct rdb_damage *d);

/* A read ended with this error of RocksDB, which is freed. */
enum err sto_rdb_read_failed(struct rdb_engine *e, char *rocksdb_error) MUST_CHECK;
/* Bytes were read without an error, but do not decode; or are those of a lost range. */
void sto_rdb_damage_count(struct rdb_engine *e);
/* Somebody met a block that does not match its checksum, or, where offset is 0, a file that cannot
 * be read for what it says of itself. */
void sto_rdb_damage_found(struct rdb_engine *e, const struct sto_damaged_file *at);
/* A compaction ended with this text of RocksDB. ctx: the engine. */
void sto_rdb_damage_met(void *ctx, const char *text);

/* Whether a block of that file is listed. */
bool sto_rdb_damage_is_known(struct rdb_engine *e, uint64_t number);
/* Waits until the files that are known to be damaged were examined. False: not in time. */
bool sto_rdb_damage_wait(struct rdb_engine *e);
/* The number of a file that compactions cannot get past, with keys between the two; 0: none. */
uint64_t sto_rdb_damage_stuck(struct rdb_engine *e, int family, struct slice begin,
                              struct slice end);
/* ERR_CORRUPT: names that file, for operators; 0: any that compactions cannot get past. */
enum err sto_rdb_damage_blame(struct rdb_engine *e, uint64_t number, struct errbuf *eb) MUST_CHECK;

/* Where the text says that the damage is. False: it names no table file. */
bool sto_rdb_damage_parse(const char *text, struct sto_damaged_file *out);

void sto_rdb_damage_get(struct sto_engine *engine, struct sto_damage *out);

#endif
