/*
 * storage/rocksdb/sample_work.h - one sampling of a table, and the division of a large table.
 *
 * Does:     adds samples; moves the iterator over rows; divides the table by the sizes of files,
 *           one part after the other.
 * Owns:     nothing; works on the sampling, whose creator frees its arena and iterator.
 * May use:  base/, storage/.
 * Knows no: the client, how small tables are walked through.
 * Threads:  the reader it runs on.
 * Blocks:   for the disk.
 * Fails by: ERR_IO, ERR_CORRUPT, ERR_NO_MEMORY; the errors that end a walk.
 * Limits:   those of sample.h; LIM_SPLITS.
 * Promises: 1. Samples added in the order of keys are in that order in the response.
 *           2. Between two steps nothing points into the iterator: the next step may have another
 *              one.
 */
#ifndef STORAGE_ROCKSDB_SAMPLE_WORK_H
#define STORAGE_ROCKSDB_SAMPLE_WORK_H

#include "storage/keycodec.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/slice_clock.h"

#define SAMPLE_PARTS_OPEN_MAX 64

struct sample_part {
    struct slice low; /* stored row prefixes, or bounds */
    struct slice high;
    uint64_t bytes;
};

struct sample_work {
    struct rdb_engine *engine;
    struct sto_sample_op *op;
    rocksdb_iterator_t *it;         /* of this slice; NULL: not created yet */
    rocksdb_readoptions_t *options; /* the iterator's */
    struct rdb_slice_clock clock;
    uint64_t steps; /* of this slice */
    bool has_begun;
    bool in_range;     /* one of the ranges is started and not finished */
    size_t range_next; /* index in the requested ranges */
    struct sto_usage usage;
    uint64_t between;    /* distance between samples, in bytes as the table counts them */
    uint64_t file_bytes; /* of the whole table */
    size_t found;        /* samples that are neither splits nor the end */
    size_t table_len;
    struct sto_key_bounds bounds; /* of the range in progress */
    uint64_t offset;      /* bytes passed so far; of a range that is divided: before the range */
    struct arena arena;   /* for splits and cuts */
    struct slice *splits; /* row prefixes */
    size_t split_count;
    size_t split_from; /* first split in the range */
    size_t split_to;

    /* small tables: a walk */
    uint64_t sampled; /* offset of the last sample */
    size_t splits_walked;
    size_t row_next_len;
    uint8_t row_next[STO_KEY_ROW_MAX]; /* where the walk continues */

    /* large tables: the space between two splits is divided; parts not processed yet are a stack
     * with the leftmost on top */
    size_t split_next;    /* the split after the parts */
    uint64_t part_offset; /* bytes of files in the range before the parts */
    size_t parts_open;
    struct sample_part parts[SAMPLE_PARTS_OPEN_MAX];
};

/* Adds a sample. row_prefix: as stored; empty: the end of the table. */
enum err sto_rdb_sample_add(struct sample_work *w, struct slice row_prefix,
                            uint64_t offset) MUST_CHECK;
/* Adds a sample that may be left out if there are enough. */
enum err sto_rdb_sample_found(struct sample_work *w, struct slice row_prefix,
                              uint64_t offset) MUST_CHECK;
enum err sto_rdb_sample_no_memory(struct sample_work *w) MUST_CHECK;

/* Counts a visit of rows, or of the sizes of files. */
void sto_rdb_sample_count_steps(struct sample_work *w);
/* Moves the iterator to the first key at or after target (back: to the last key at or before it),
 * and counts the move. ERR_CANCELLED, ERR_TIMEOUT, ERR_SUSPENDED, ERR_GONE, ERR_NOT_FOUND,
 * ERR_UNAVAILABLE: the sampling has to end. */
enum err sto_rdb_sample_seek(struct sample_work *w, struct slice target) MUST_CHECK;
enum err sto_rdb_sample_seek_back(struct sample_work *w, struct slice target) MUST_CHECK;
/* Returns the row prefix of the key under the iterator; empty: it is damaged. Valid until it
 * moves. */
struct slice sto_rdb_sample_row_now(const struct sample_work *w);
enum err sto_rdb_sample_iterator_error(struct sample_work *w) MUST_CHECK;

/* --- sample_divide.c --- */

/* Sets file_bytes of the table within bounds; 0: no file has any of its keys. */
enum err sto_rdb_table_measure(struct sample_work *w) MUST_CHECK;
/* Divides the range, step by step, until *out_done. */
void sto_rdb_divide_begin(struct sample_work *w);
enum err sto_rdb_divide_step(struct sample_work *w, bool *out_done) MUST_CHECK;

#endif
