/*
 * gateway/cell_fields.h - parts of a cell as strangers write them, whatever they came in.
 *
 * Does:     find a family by name; make the bytes of an integer; choose how an aggregate family
 *           takes an input.
 * Owns:     nothing; bytes lie in the arena.
 * May use:  base/, storage/.
 * Knows no: JSON, HTTP.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_NOT_FOUND naming the family, ERR_NO_MEMORY.
 * Limits:   none of its own.
 * Promises: 1. What is taken here has the form that sto_mutations_check wants, or is refused there.
 */
#ifndef GATEWAY_CELL_FIELDS_H
#define GATEWAY_CELL_FIELDS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "storage/mutation.h"

/* Aggregates without a timestamp go here: one cell of a column that everybody adds to. The server's
 * time would make a new one for each input. */
#define GW_AGGREGATE_TIMESTAMP 0

/* ERR_NOT_FOUND names it. */
enum err gw_family_find(const struct sto_schema *schema, struct slice name,
                        const struct sto_family **out, struct errbuf *eb) MUST_CHECK;

/* 8 bytes, big-endian, two's complement. */
enum err gw_integer_bytes(int64_t number, struct arena *arena, struct slice *out,
                          struct errbuf *eb) MUST_CHECK;

/* The other way; bytes are that long. */
int64_t gw_integer_of_bytes(struct slice bytes);

/* Sums, minima and maxima take integers, distinct counts take text or any bytes. */
enum err gw_input_check(const struct sto_family *family, bool is_integer,
                        struct errbuf *eb) MUST_CHECK;

#endif
