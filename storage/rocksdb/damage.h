/*
 * storage/rocksdb/damage.h - blocks of table files that do not match their checksums.
 *
 * Does:     distinguishes a read that met a damaged block from one that met a failing disk, counts
 *           the former, keeps a list of files with such blocks, and has those files rewritten
 *           without the blocks, after recording their keys as lost.
 * Owns:     the list and a thread, as long as the engine.
 * May use:  base/, storage/, RocksDB's texts.
 * Knows no: operations, tenants: a file is named by its number, never by its keys.
 * Threads:  start and stop from one; the others any.
 * Blocks:   briefly, on RocksDB's list of live files; wait: until files were read.
 * Fails by: sto_rdb_read_failed: ERR_CORRUPT (damage, of this read alone); the result of
 *           sto_rdb_fail for any other error, which latches the engine.
 * Limits:   STO_DAMAGED_FILES blocks are listed; all reads are counted.
 * Promises: 1. Damage of a table file never latches the engine.
 *           2. A file that is no longer in use leaves the list.
 *           3. No block is left out by a compaction before its keys are recorded as lost (lost.h).
 */
#ifndef STORAGE_ROCKSDB_DAMAGE_H
#define STORAGE_ROCKSDB_DAMAGE_H

#include <pthread.h>
#include <stdatomic.h>

#include "storage/engine.h"

struct rdb_engine;

struct rdb_damaged_block {
    struct sto_damaged_file at; /* family is empty until the list is requested */
    bool is_examined;           /* the file was read, and its damage recorded */
    bool is_stuck;              /* compactions cannot leave it out */
    /* monotonic time of an attempt that could not read the file to its end; 0: it was read */
    uint64_t unread_ns;
};

struct rdb_damage {
    _Atomic uint64_t reads; /* reads that met damaged bytes or lost keys */
    struct rdb_engine *engine;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* signals changes of the following fields */
    bool stopping;
    size_t count;
    struct rdb_damaged_block of[STO_DAMAGED_FILES];
};

void sto_rdb_damage_init(struct rdb_damage *d, struct rdb_engine *e);
void sto_rdb_damage_fini(struct rdb_damage *d);
enum err sto_rdb_damage_start(struct rdb_damage *d) MUST_CHECK;
/* Call after manual compactions have ended. */
void sto_rdb_damage_stop(struct rdb_damage *d);

/* Classifies the RocksDB error of a read, and frees the text. */
enum err sto_rdb_read_failed(struct rdb_engine *e, char *rocksdb_error) MUST_CHECK;
/* Counts a read whose bytes do not decode although RocksDB reported no error, or are in a lost
 * range. */
void sto_rdb_damage_count(struct rdb_engine *e);
/* Records a block that does not match its checksum or, if offset is 0, a file that cannot be read
 * because of its footer or properties. */
void sto_rdb_damage_found(struct rdb_engine *e, const struct sto_damaged_file *at);
/* A compaction failed with this text of RocksDB. ctx: the engine. */
void sto_rdb_damage_met(void *ctx, const char *text);

/* Returns whether a block of that file is listed. */
bool sto_rdb_damage_is_known(struct rdb_engine *e, uint64_t number);
/* Waits until the files that are known to be damaged were examined. False: not in time. */
bool sto_rdb_damage_wait(struct rdb_engine *e);
/* Returns the number of a file that compactions cannot get past, with keys between begin and end;
 * 0: none. */
uint64_t sto_rdb_damage_stuck(struct rdb_engine *e, int family, struct slice begin,
                              struct slice end);
/* Returns ERR_CORRUPT with a text that names the file for operators; 0: any file that compactions
 * cannot get past. */
enum err sto_rdb_damage_blame(struct rdb_engine *e, uint64_t number, struct errbuf *eb) MUST_CHECK;

/* Parses the place of the damage from RocksDB's text. False: the text names no table file. */
bool sto_rdb_damage_parse(const char *text, struct sto_damaged_file *out);

void sto_rdb_damage_get(struct sto_engine *engine, struct sto_damage *out);

#endif
