/*
 * cli/wire.h - the part of protobuf's wire format that the command line needs.
 *
 * Does:     write fields; parse a message field by field.
 * Owns:     nothing; bytes of fields point into the message.
 * May use:  base/.
 * Knows no: the fields of messages; their numbers are those of google/bigtable/v2/.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: false: the bytes are not a message.
 * Limits:   none.
 * Promises: 1. No byte outside the message is read, regardless of the lengths in it.
 *           2. A field that is not requested, or has an unexpected type, is skipped.
 */
#ifndef CLI_WIRE_H
#define CLI_WIRE_H

#include "base/buf.h"

enum cli_wire_type { CLI_WIRE_NUMBER = 0, CLI_WIRE_8 = 1, CLI_WIRE_BYTES = 2, CLI_WIRE_4 = 5 };

/* The tag before a field. */
#define CLI_WIRE_TAG(field, type) ((uint64_t)(field) << 3 | (type))

struct cli_wire_field {
    uint64_t tag;
    uint64_t number;    /* of CLI_WIRE_NUMBER */
    struct slice bytes; /* of CLI_WIRE_BYTES; never without a pointer */
};

void cli_wire_put_number(struct buf *out, unsigned field, uint64_t number);
/* Appends the tag and length before a field of len bytes. */
void cli_wire_put_head(struct buf *out, unsigned field, size_t len);
void cli_wire_put_bytes(struct buf *out, unsigned field, struct slice bytes);

/* Consumes the first field of *in; returns false also when *in is empty. */
bool cli_wire_next(struct slice *in, struct cli_wire_field *out);
/* Finds the last field with a tag, as protobuf specifies;
 * bytes without a pointer and number 0: there is none. */
bool cli_wire_find(struct slice message, uint64_t tag, struct cli_wire_field *out);

#endif
