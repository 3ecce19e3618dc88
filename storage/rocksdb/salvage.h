/*
 * storage/rocksdb/salvage.h - a sound database from what can be read of a damaged one.
 *
 * Does:     copies a database that nobody has open without its damaged blocks and files, opens the
 *           copy, and records the keys that are missing as lost (lost.h); replaces the rows of a
 *           lost range by others; counts what tables hold.
 * Owns:     the copy's engine, from open to close.
 * May use:  base/, storage/.
 * Knows no: backups, what a data directory holds beside its database.
 * Threads:  one.
 * Blocks:   yes, on the disk, for as long as copying takes.
 * Fails by: ERR_CORRUPT (the text says what cannot be salvaged, and what to do), ERR_UNSUPPORTED,
 *           ERR_STORAGE_FULL, ERR_IO, what a write of the engine fails by.
 * Limits:   a record of memory for each damaged block and lost range.
 * Promises: 1. Nothing is written to the directory that is read.
 *           2. Only files that the database uses are copied: what was deleted does not return.
 *           3. A key is in the copy, or in a lost range, or was in the part of the logs that is
 *              reported.
 */
#ifndef STORAGE_ROCKSDB_SALVAGE_H
#define STORAGE_ROCKSDB_SALVAGE_H

#include "base/buf.h"
#include "storage/range.h"
#include "storage/rocksdb/rocksdb_engine.h"

enum sto_salvage_kind {
    STO_SALVAGE_EARLIER, /* recorded as lost before: its size is not known any more */
    STO_SALVAGE_BLOCK,
    STO_SALVAGE_FILE, /* cannot be opened */
    STO_SALVAGE_MISSING_FILE
};

/* What was left out, with the keys that were in it. */
struct sto_salvage_piece {
    enum sto_salvage_kind kind;
    int family;
    uint64_t file;
    uint64_t offset;
    uint64_t bytes;
    struct slice from; /* as of struct rdb_lost_block; own memory */
    struct slice to;
};

struct sto_salvage {
    struct sto_engine *engine; /* of the copy */
    size_t piece_count;
    size_t piece_capacity;
    struct sto_salvage_piece *pieces;
    uint64_t files; /* copied, table files and logs */
    uint64_t bytes;
    bool is_log_cut;
    uint64_t log;        /* its number, if it is cut */
    uint64_t log_offset; /* behind it nothing was read */
    uint64_t log_bytes;  /* that were left out, with those of later logs */
    uint64_t sequence;   /* of the last change in the copy */
    uint64_t witnessed;  /* changes that were acknowledged, at least; 0: not known */
};

/* Copies the database of the data directory `from` into the data directory `to`, which has none,
 * and opens the copy with these options. The caller holds the lock of `from`. */
enum err sto_salvage_open(const char *from, const char *to,
                          const struct sto_rocksdb_options *options, struct sto_salvage *out,
                          struct errbuf *eb) MUST_CHECK;
/* Accepts a zeroed one. */
void sto_salvage_close(struct sto_salvage *s);
/* Bytes that copying will take at most. */
enum err sto_salvage_measure(const char *from, uint64_t *out, struct errbuf *eb) MUST_CHECK;

/* One lost range of one table. Slices are valid during the visit. */
struct sto_salvage_lost {
    const struct sto_salvage_piece *piece; /* NULL: of before */
    struct slice tenant;
    struct slice table;
    bool is_rows; /* else changes of its stream */
    uint64_t file;
    uint64_t offset;
    struct sto_span span; /* stored keys */
    struct slice record;  /* what names it to sto_salvage_fill_covers */
};
typedef enum err sto_salvage_visit(void *ctx, const struct sto_salvage_lost *lost);
/* In the order of tenants and tables. */
enum err sto_salvage_visit_lost(struct sto_salvage *s, sto_salvage_visit *visit, void *ctx,
                                struct errbuf *eb) MUST_CHECK;

/* Other rows in place of those in the range: begin removes what the copy has in the range, take
 * adds stored cells in their order (headers are made anew), end removes the records of the lost
 * ranges that it covers, so that they can be read again. */
struct sto_salvage_fill;
enum err sto_salvage_fill_begin(struct sto_salvage *s, struct sto_span span,
                                struct sto_salvage_fill **out, struct errbuf *eb) MUST_CHECK;
/* An sto_stored_visit; ctx: struct sto_salvage_fill. */
enum err sto_salvage_fill_take(void *ctx, struct slice key, struct slice value) MUST_CHECK;
void sto_salvage_fill_covers(struct sto_salvage_fill *f, struct slice record);
/* rc: how it went so far. Frees it. */
enum err sto_salvage_fill_end(struct sto_salvage_fill *f, enum err rc, uint64_t *out_rows,
                              struct errbuf *eb) MUST_CHECK;

/* Counts the rows of a table that can be read and stores the sum as its counters. name:
 * "tenant/table". */
enum err sto_salvage_recount(struct sto_salvage *s, struct slice name, struct sto_usage *out_before,
                             struct sto_usage *out_now, struct errbuf *eb) MUST_CHECK;

/* salvage_files.c: the part before the copy is opened. */
struct rdb_manifest_file;
enum err sto_rdb_salvage_files(struct sto_salvage *s, const char *from_db, const char *to_db,
                               struct errbuf *eb) MUST_CHECK;
/* Leaves the table file out of the copy: it cannot be opened. ERR_NOT_FOUND: the database has no
 * such file. */
enum err sto_rdb_salvage_drop(struct sto_salvage *s, const char *to_db, uint64_t number,
                              struct errbuf *eb) MUST_CHECK;

#endif
