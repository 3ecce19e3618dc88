/*
 * storage/row_set.h - any set of row keys and ranges, as sorted ranges that do not overlap.
 *
 * Does:     accepts keys and ranges in any order, overlapping or not; checks, sorts and merges
 *           them.
 * Owns:     nothing; ranges and bytes stay in the caller's memory.
 * May use:  base/, storage/read.h.
 * Knows no: the engine, JSON, protobuf.
 * Threads:  one at a time.
 * Blocks:   no; sorting n ranges takes n log n.
 * Fails by: ERR_INVALID and ERR_TOO_BIG naming the element and its error.
 * Limits:   LIM_ROW_KEY of each key and bound, LIM_ROW_SET ranges.
 * Promises: 1. The resulting ranges hold exactly the requested keys, each once, in key order.
 */
#ifndef STORAGE_ROW_SET_H
#define STORAGE_ROW_SET_H

#include "storage/read.h"

/* Returns a key as a range: start and end are the key, end inclusive. */
struct sto_row_range sto_range_of_key(struct slice row_key);

/* Checks, sorts and merges `count` requested ranges. The array is rewritten in place and then
 * belongs to out. count 0 means every row. */
enum err sto_row_set_make(struct sto_row_range *ranges, size_t count, struct sto_row_set *out,
                          struct errbuf *eb) MUST_CHECK;
/* Intersect: the keys that are in both sets, as ranges in key order. They are written to ranges,
 * which must have room for sto_row_set_intersect_max, and belong to out. Bytes are not copied. */
size_t sto_row_set_intersect_max(const struct sto_row_set *a, const struct sto_row_set *b);
void sto_row_set_intersect(const struct sto_row_set *a, const struct sto_row_set *b,
                           struct sto_row_range *ranges, struct sto_row_set *out);
bool sto_row_set_holds(const struct sto_row_set *set, struct slice row_key);
/* Removes all keys up to and including last, from the front or (reversed) from the back: a page
 * continues after the last row of the previous page. ranges: those that belong to set, at least
 * one. */
void sto_row_set_continue(struct sto_row_range *ranges, struct sto_row_set *set, struct slice last,
                          bool reversed);

#endif
