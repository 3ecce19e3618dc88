/*
 * storage/rocksdb/log_file.h - the records of a RocksDB log or MANIFEST, read without RocksDB.
 *
 * Does:     returns record after record; reports the place of the first damaged one; finds a record
 *           that starts after it; returns all bytes of a file; appends records.
 * Owns:     one block of 32 KiB and a descriptor for each open file.
 * May use:  base/, RocksDB's checksum.
 * Knows no: the database, witness, which file is the last.
 * Threads:  one at a time for each file.
 * Blocks:   on the disk.
 * Fails by: ERR_NOT_FOUND, ERR_IO; ERR_UNSUPPORTED (a record of a kind that this program never
 *           writes); ERR_TOO_BIG (a payload longer than its buffer's maximum).
 * Limits:   memory: one block, whatever the file's length.
 * Promises: 1. A record was written completely: its checksums match, its fragments follow each
 *              other.
 *           2. Zeros up to the end of the file are its end, not damage.
 *           3. The same bytes always give the same records.
 */
#ifndef STORAGE_ROCKSDB_LOG_FILE_H
#define STORAGE_ROCKSDB_LOG_FILE_H

#include "base/buf.h"

struct rdb_log_file;

struct rdb_log_record {
    uint64_t offset;   /* of the record's first fragment; of the damage; of the end */
    uint64_t bytes;    /* payload */
    uint64_t sequence; /* of a batch: its first change; 0 if the payload is too short for a batch */
    uint32_t count;    /* of a batch: number of changes */
    bool is_cut;       /* damage: the file ends too early, which a crash explains */
};

enum rdb_log_found { RDB_LOG_RECORD, RDB_LOG_END, RDB_LOG_DAMAGE };

#define RDB_LOG_BATCH_HEAD 12 /* bytes of payload: sequence (8) and count (4), low byte first */

enum err sto_rdb_log_open(const char *path, struct rdb_log_file **out,
                          struct errbuf *eb) MUST_CHECK;
void sto_rdb_log_close(struct rdb_log_file *f);
uint64_t sto_rdb_log_bytes(const struct rdb_log_file *f);

/* Reads the next record. payload: NULL, or receives the record's bytes. The offset of damage is the
 * start of the record that has a wrong or missing byte; nothing is read after it. */
enum err sto_rdb_log_next(struct rdb_log_file *f, struct buf *payload, enum rdb_log_found *out,
                          struct rdb_log_record *out_record, struct errbuf *eb) MUST_CHECK;

/* Returns the bytes of any file, run after run, in memory of f. RDB_LOG_RECORD: one fragment of a
 * record, at most 32 KiB. RDB_LOG_DAMAGE: no fragment; the rest of the block as it is, and the next
 * block is read as usual. Do not mix with sto_rdb_log_next. */
enum err sto_rdb_log_run(struct rdb_log_file *f, enum rdb_log_found *out, struct slice *out_bytes,
                         struct errbuf *eb) MUST_CHECK;
/* Returns the offset of the next run. */
uint64_t sto_rdb_log_at(const struct rdb_log_file *f);

/* Searches after damage for the first fragment of a batch whose sequence is above `sequence`, the
 * number of the last change before the damage; 0: not known. The writer of such a batch had the
 * damaged record synced before. */
enum err sto_rdb_log_find_later(struct rdb_log_file *f, uint64_t damage, uint64_t sequence,
                                bool *out_found, struct rdb_log_record *out_record,
                                struct errbuf *eb) MUST_CHECK;

/* Cuts the file off at `end`, where no record continues, and writes records there, synced. */
enum err sto_rdb_log_append(const char *path, uint64_t end, const struct slice *records,
                            size_t count, struct errbuf *eb) MUST_CHECK;

#endif
