/*
 * tests/hostile/wire.h - protobuf written field by field, as an attacker would.
 *
 * Does:     appends fields to a message; the few messages of Bigtable that attacks send.
 * May use:  base/.
 * Owns:     nothing; messages are the caller's buffers.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ck_abort_msg.
 * Limits:   WIRE_MAX of a message.
 * Promises: 1. A message is what Bigtable's proto files say, unless the caller makes it otherwise.
 */
#ifndef TESTS_HOSTILE_WIRE_H
#define TESTS_HOSTILE_WIRE_H

#include "base/buf.h"
#include "base/limits.h"

#define WIRE_MAX (64 * MIB)

void wire_init(struct buf *out);
void wire_bytes(struct buf *out, unsigned field, struct slice bytes);
void wire_text(struct buf *out, unsigned field, const char *text);
void wire_number(struct buf *out, unsigned field, uint64_t number);
/* Appends `inner` as a field and empties it. */
void wire_message(struct buf *out, unsigned field, struct buf *inner);

/* A RowFilter that gives a cell to each of `count` different value regexes, all slow to match. */
void wire_nasty_filter(struct buf *out, size_t count);
/* A mutation f:qualifier = value at timestamp 1000. */
void wire_set_cell(struct buf *out, unsigned field, struct slice qualifier, struct slice value);

#endif
