/*
 * gateway/cell_fields.h - untrusted parts of a cell, independent of the format that they arrived
 * in.
 *
 * Does:     finds a family by name; encodes integers as bytes; checks which inputs an aggregate
 *           family accepts.
 * Owns:     nothing; bytes are in the arena.
 * May use:  base/, storage/.
 * Knows no: JSON, HTTP.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_NOT_FOUND naming the family, ERR_NO_MEMORY.
 * Limits:   none of its own.
 * Promises: 1. Values accepted here have the form that sto_mutations_check requires, or are refused
 *              there.
 */
#ifndef GATEWAY_CELL_FIELDS_H
#define GATEWAY_CELL_FIELDS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "storage/mutation.h"

/* Timestamp of inputs to aggregates that name none: all of them go to one cell of the column. The
 * server's time would create a new cell for each input. */
#define GW_AGGREGATE_TIMESTAMP 0

/* Finds the family of that name; the text of ERR_NOT_FOUND names it. */
enum err gw_family_find(const struct sto_schema *schema, struct slice name,
                        const struct sto_family **out, struct errbuf *eb) MUST_CHECK;

/* Encodes an integer as 8 bytes, big-endian, two's complement. */
enum err gw_integer_bytes(int64_t number, struct arena *arena, struct slice *out,
                          struct errbuf *eb) MUST_CHECK;

/* Decodes an integer that gw_integer_bytes encoded; bytes must be 8 long. */
int64_t gw_integer_of_bytes(struct slice bytes);

/* Checks that the family accepts the kind of input: sums, minima and maxima accept integers,
 * distinct counts accept text or any bytes. */
enum err gw_input_check(const struct sto_family *family, bool is_integer,
                        struct errbuf *eb) MUST_CHECK;

#endif
