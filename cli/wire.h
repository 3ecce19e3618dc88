/*
 * cli/wire.h - protobuf, as little of it as is needed here.
 *
 * Does:     write fields; take a message apart, field by field.
 * Owns:     nothing; bytes of fields lie in the message.
 * May use:  base/.
 * Knows no: which fields a message has: the numbers are those of google/bigtable/v2/.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: false: the bytes are no message.
 * Limits:   none.
 * Promises: 1. No byte outside the message is read, whatever its lengths say.
 *           2. A field that is not asked for, or has another type than it should, is passed over.
 */
#ifndef CLI_WIRE_H
#define CLI_WIRE_H

#include "base/buf.h"

enum cli_wire_type { CLI_WIRE_NUMBER = 0, CLI_WIRE_8 = 1, CLI_WIRE_BYTES = 2, CLI_WIRE_4 = 5 };

/* What stands in front of a field. */
#define CLI_WIRE_TAG(field, type) ((uint64_t)(field) << 3 | (type))

struct cli_wire_field {
    uint64_t tag;
    uint64_t number;    /* of CLI_WIRE_NUMBER */
    struct slice bytes; /* of CLI_WIRE_BYTES; never without a pointer */
};

void cli_wire_put_number(struct buf *out, unsigned field, uint64_t number);
/* What stands in front of so many bytes. */
void cli_wire_put_head(struct buf *out, unsigned field, size_t len);
void cli_wire_put_bytes(struct buf *out, unsigned field, struct slice bytes);

/* Take the first field of *in; false also where *in is empty. */
bool cli_wire_next(struct slice *in, struct cli_wire_field *out);
/* The last field of a tag, as protobuf has it; bytes without a pointer and 0: there is none. */
bool cli_wire_find(struct slice message, uint64_t tag, struct cli_wire_field *out);

#endif
