/*
 * storage/change.h - the records of a table's change stream: changes of rows, in order.
 *
 * Does:     describes a change as it was applied; encodes it in parts of bounded length and decodes
 *           them; builds the keys under which parts are stored.
 * Owns:     nothing; decoded slices point into the stored bytes.
 * May use:  base/, storage/.
 * Knows no: RocksDB, readers of streams, protobuf.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT when decoding, ERR_NO_MEMORY when encoding.
 * Limits:   LIM_CHANGE_PART per part, except for an aggregate input that is longer.
 * Promises: 1. memcmp order of keys = order of (tenant, table, position, part).
 *           2. The parts of a change, concatenated, are its original mutations. Only values of
 *              STO_SET_CELL are divided, and no piece is empty unless the value is.
 *           3. A change has at least one part, and its first part at least one mutation.
 *
 *   "<tenant>#<table>#" position (8, BE) part (4, BE)
 *     -> 01 flags [varint length, row key: in part 0] mutation...
 *   mutation: kind, varint length, family name, then
 *     set, add, merge: varint length, qualifier, varint timestamp, varint length of the value,
 *                      varint offset, varint length, piece
 *     delete column:   varint length, qualifier, varint start, varint end
 *
 * A position is the time of the commit in microseconds, made unique within the table: later changes
 * have greater positions. Therefore a position serves as commit timestamp and as resume point, and
 * expired changes are found by their keys alone.
 */
#ifndef STORAGE_CHANGE_H
#define STORAGE_CHANGE_H

#include "base/buf.h"
#include "storage/keycodec.h"
#include "storage/mutation.h"

#define STO_CHANGE_KEY_MAX (STO_KEY_TABLE_MAX + 8 + 4)

enum sto_change_type {
    STO_CHANGE_USER,    /* requested by a client */
    STO_CHANGE_GARBAGE, /* removal of cells that no read showed any more */
};

/* STO_SET_CELL, STO_ADD_TO_CELL, STO_MERGE_TO_CELL, STO_DELETE_FROM_COLUMN, STO_DELETE_FROM_FAMILY.
 * Families are stored by name: a change outlives its schema. */
struct sto_change_mutation {
    enum sto_mutation_kind kind;
    struct slice family;
    struct slice qualifier;
    int64_t timestamp_us;
    int64_t start_us; /* of a delete: [start, end); end 0: no end */
    int64_t end_us;
    struct slice value;  /* whole, or one piece */
    size_t value_size;   /* of the whole value */
    size_t value_offset; /* of the piece */
};

/* One part of a change. Its slices are valid as long as the stored bytes. */
struct sto_change_part {
    enum sto_change_type type;
    bool is_first;
    bool is_last;
    struct slice row_key; /* of the first part */
    struct slice body;    /* input of sto_change_next */
};

size_t sto_change_key(const struct sto_table_scope *scope, int64_t position, uint32_t part,
                      uint8_t out[STO_CHANGE_KEY_MAX]);
/* Decodes a key; ERR_CORRUPT unless it is a key of the table. */
enum err sto_change_key_decode(const struct sto_table_scope *scope, struct slice key,
                               int64_t *out_position, uint32_t *out_part) MUST_CHECK;

struct sto_change {
    enum sto_change_type type;
    struct slice row_key;
    const struct sto_change_mutation *mutations; /* with whole values */
    size_t count;                                /* not 0 */
};

/* Encodes the parts of change, in order, each in scratch, and passes each to put. */
enum err sto_change_encode(const struct sto_change *change, struct buf *scratch,
                           void (*put)(void *ctx, uint32_t part, struct slice bytes),
                           void *ctx) MUST_CHECK;

/* First byte of a part that storage/cipher.h encrypted. The rest is the ciphertext of a part, with
 * this byte as head. */
#define STO_CHANGE_SEALED 0x12

enum err sto_change_part_decode(struct slice stored, struct sto_change_part *out) MUST_CHECK;
/* Decodes the next mutation from a part's body, which must not be empty, and removes it. */
enum err sto_change_next(struct slice *body, struct sto_change_mutation *out) MUST_CHECK;

/* Receives a change part by part, on a reader's thread. Slices are valid during the call only. */
struct sto_change_sink {
    void (*part)(struct sto_change_sink *sink, int64_t position,
                 const struct sto_change_part *part);
    /* Called after each part: true ends the slice there. */
    bool (*is_full)(struct sto_change_sink *sink);
};

#endif
