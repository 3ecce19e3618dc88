/*
 * storage/rocksdb/salvage.h - builds a sound database from the readable parts of a damaged one.
 *
 * Does:     copies a database that is not open, without its damaged blocks and files, opens the
 *           copy, and records the missing keys as lost (lost.h); replaces the rows of a lost range
 *           by others; counts the rows of tables.
 * Owns:     the copy's engine, from open to close.
 * May use:  base/, storage/.
 * Knows no: backups, the rest of a data directory.
 * Threads:  one.
 * Blocks:   yes, on the disk, for as long as copying takes.
 * Fails by: ERR_CORRUPT (the text says which part cannot be salvaged, and what to do),
 *           ERR_UNSUPPORTED, ERR_STORAGE_FULL, ERR_IO, errors of the engine's writes.
 * Limits:   a record of memory for each damaged block and lost range.
 * Promises: 1. Nothing is written to the directory that is read.
 *           2. Only files that the database uses are copied: deleted data does not return.
 *           3. A key is in the copy, or in a lost range, or was in the part of the logs that is
 *              reported.
 */
#ifndef STORAGE_ROCKSDB_SALVAGE_H
#define STORAGE_ROCKSDB_SALVAGE_H

#include "base/buf.h"
#include "storage/range.h"
#include "storage/rocksdb/rocksdb_engine.h"

enum sto_salvage_kind {
    STO_SALVAGE_EARLIER, /* recorded as lost before; its size is no longer known */
    STO_SALVAGE_BLOCK,
    STO_SALVAGE_FILE, /* a file that cannot be opened */
    STO_SALVAGE_MISSING_FILE
};

/* A part that was left out, with the keys in it. */
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
    uint64_t files; /* copied table files and logs */
    uint64_t bytes;
    bool is_log_cut;
    uint64_t log;        /* its number, if it is cut */
    uint64_t log_offset; /* offset at which reading stopped */
    uint64_t log_bytes;  /* bytes left out, including later logs */
    uint64_t sequence;   /* of the last change in the copy */
    uint64_t witnessed;  /* acknowledged changes, a lower bound; 0: not known */
};

/* Copies the database of the data directory `from` into the data directory `to`, which has none,
 * and opens the copy with these options. The caller holds the lock of `from`. */
enum err sto_salvage_open(const char *from, const char *to,
                          const struct sto_rocksdb_options *options, struct sto_salvage *out,
                          struct errbuf *eb) MUST_CHECK;
/* Accepts a zeroed struct. */
void sto_salvage_close(struct sto_salvage *s);
/* Returns the largest number of bytes that copying can take. */
enum err sto_salvage_measure(const char *from, uint64_t *out, struct errbuf *eb) MUST_CHECK;

/* One lost range of one table. Slices are valid during the visit. */
struct sto_salvage_lost {
    const struct sto_salvage_piece *piece; /* NULL: lost before this salvage */
    struct slice tenant;
    struct slice table;
    bool is_rows; /* false: changes of its stream */
    uint64_t file;
    uint64_t offset;
    struct sto_span span; /* stored keys */
    struct slice record;  /* its name for sto_salvage_fill_covers */
};
typedef enum err sto_salvage_visit(void *ctx, const struct sto_salvage_lost *lost);
/* Visits lost ranges in the order of tenants and tables. */
enum err sto_salvage_visit_lost(struct sto_salvage *s, sto_salvage_visit *visit, void *ctx,
                                struct errbuf *eb) MUST_CHECK;

/* Replaces the rows in the range by others: begin removes the copy's rows in the range; take adds
 * stored cells in their order (headers are recreated); end removes the records of the lost ranges
 * that the fill covers, so that they can be read again. */
struct sto_salvage_fill;
enum err sto_salvage_fill_begin(struct sto_salvage *s, struct sto_span span,
                                struct sto_salvage_fill **out, struct errbuf *eb) MUST_CHECK;
/* Is an sto_stored_visit; ctx: struct sto_salvage_fill. */
enum err sto_salvage_fill_take(void *ctx, struct slice key, struct slice value) MUST_CHECK;
void sto_salvage_fill_covers(struct sto_salvage_fill *f, struct slice record);
/* Finishes the fill and frees it. rc: the result so far. */
enum err sto_salvage_fill_end(struct sto_salvage_fill *f, enum err rc, uint64_t *out_rows,
                              struct errbuf *eb) MUST_CHECK;

/* Counts the readable rows of a table and stores the sum as its counters. name: "tenant/table". */
enum err sto_salvage_recount(struct sto_salvage *s, struct slice name, struct sto_usage *out_before,
                             struct sto_usage *out_now, struct errbuf *eb) MUST_CHECK;

/* salvage_files.c: the part before the copy is opened. */
struct rdb_manifest_file;
enum err sto_rdb_salvage_files(struct sto_salvage *s, const char *from_db, const char *to_db,
                               struct errbuf *eb) MUST_CHECK;
/* Leaves a table file that cannot be opened out of the copy. ERR_NOT_FOUND: the database has no
 * such file. */
enum err sto_rdb_salvage_drop(struct sto_salvage *s, const char *to_db, uint64_t number,
                              struct errbuf *eb) MUST_CHECK;

#endif
