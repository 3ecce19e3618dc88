/*
 * storage/change.h - what a table's change stream consists of: changes of rows, in order.
 *
 * Does:     describe a change as it was applied; encode it in parts of bounded length and decode
 *           them; make the keys under which they are stored.
 * Owns:     nothing; what is decoded points into the stored bytes.
 * May use:  base/, storage/.
 * Knows no: RocksDB, who reads, protobuf.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT when decoding, ERR_NO_MEMORY when encoding.
 * Limits:   LIM_CHANGE_PART a part, but for one aggregate input that is longer.
 * Promises: 1. memcmp order of keys = order of (tenant, table, position, part).
 *           2. Parts of a change, put together, are the mutations it was made of; only values of
 *              STO_SET_CELL are divided, and no piece is empty unless the value is.
 *           3. A change has a part, and its first part a mutation.
 *
 *   "<tenant>#<table>#" position (8, BE) part (4, BE)
 *     -> 01 flags [varint length, row key: in part 0] mutation...
 *   mutation: kind, varint length, family name, then
 *     set, add, merge: varint length, qualifier, varint timestamp, varint length of the value,
 *                      varint offset, varint length, piece
 *     delete column:   varint length, qualifier, varint start, varint end
 *
 * A position is the time of the commit in microseconds, made unique within the table: later changes
 * have greater ones. That is why it serves as a commit timestamp, as a place to go on at, and to
 * find what is too old without looking at it.
 */
#ifndef STORAGE_CHANGE_H
#define STORAGE_CHANGE_H

#include "base/buf.h"
#include "storage/keycodec.h"
#include "storage/mutation.h"

#define STO_CHANGE_KEY_MAX (STO_KEY_TABLE_MAX + 8 + 4)

enum sto_change_type {
    STO_CHANGE_USER,    /* somebody asked for it */
    STO_CHANGE_GARBAGE, /* cells that no read showed any more were removed */
};

/* STO_SET_CELL, STO_ADD_TO_CELL, STO_MERGE_TO_CELL, STO_DELETE_FROM_COLUMN, STO_DELETE_FROM_FAMILY.
 * Families have names here: a change outlives its schema. */
struct sto_change_mutation {
    enum sto_mutation_kind kind;
    struct slice family;
    struct slice qualifier;
    int64_t timestamp_us;
    int64_t start_us; /* of a delete: [start, end); end 0: no end */
    int64_t end_us;
    struct slice value;  /* or a piece of it */
    size_t value_size;   /* of the whole value */
    size_t value_offset; /* of the piece */
};

/* One part of a change; slices as long as the stored bytes are there. */
struct sto_change_part {
    enum sto_change_type type;
    bool is_first;
    bool is_last;
    struct slice row_key; /* of the first part */
    struct slice body;    /* for sto_change_next */
};

size_t sto_change_key(const struct sto_table_scope *scope, int64_t position, uint32_t part,
                      uint8_t out[STO_CHANGE_KEY_MAX]);
/* ERR_CORRUPT unless key is one of the table. */
enum err sto_change_key_decode(const struct sto_table_scope *scope, struct slice key,
                               int64_t *out_position, uint32_t *out_part) MUST_CHECK;

struct sto_change {
    enum sto_change_type type;
    struct slice row_key;
    const struct sto_change_mutation *mutations; /* with whole values */
    size_t count;                                /* not 0 */
};

/* The parts of change, in order, each made in scratch and given to put. */
enum err sto_change_encode(const struct sto_change *change, struct buf *scratch,
                           void (*put)(void *ctx, uint32_t part, struct slice bytes),
                           void *ctx) MUST_CHECK;

/* The first byte of a part that storage/cipher.h sealed; what follows is sealed, with this byte in
 * front, and is a part. */
#define STO_CHANGE_SEALED 0x12

enum err sto_change_part_decode(struct slice stored, struct sto_change_part *out) MUST_CHECK;
/* The next mutation off a part's body, which is not empty. */
enum err sto_change_next(struct slice *body, struct sto_change_mutation *out) MUST_CHECK;

/* Gets a change part by part. On a reader's thread; slices are valid during the call only. */
struct sto_change_sink {
    void (*part)(struct sto_change_sink *sink, int64_t position,
                 const struct sto_change_part *part);
    /* Asked after each part: true ends the slice there. */
    bool (*is_full)(struct sto_change_sink *sink);
};

#endif
