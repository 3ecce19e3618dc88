/*
 * storage/row_set.h - any set of row keys and ranges, as sorted ranges that do not overlap.
 *
 * Does:     take keys and ranges in any order, overlapping or not; check, sort and merge them.
 * Owns:     nothing; ranges and bytes stay where the caller put them.
 * May use:  base/, storage/read.h.
 * Knows no: the engine, JSON, protobuf.
 * Threads:  one at a time.
 * Blocks:   no; sorting n ranges takes n log n.
 * Fails by: ERR_INVALID and ERR_TOO_BIG naming the element and what is wrong with it.
 * Limits:   LIM_ROW_KEY of each key and bound, LIM_ROW_SET ranges.
 * Promises: 1. The ranges made hold exactly the keys that were asked for, each once, in key order.
 */
#ifndef STORAGE_ROW_SET_H
#define STORAGE_ROW_SET_H

#include "storage/read.h"

/* Keys are ranges whose start and end are the key, end inclusive: sto_range_of_key. */
struct sto_row_range sto_range_of_key(struct slice row_key);

/* ranges: as asked for, `count` of them, rewritten in place and then owned by out. No range at all
 * is every row. */
enum err sto_row_set_make(struct sto_row_range *ranges, size_t count, struct sto_row_set *out,
                          struct errbuf *eb) MUST_CHECK;
/* The keys that are in both, as ranges in the order of keys: written to ranges, which have room for
 * sto_row_set_intersect_max, and owned by out. Bytes stay where they are. */
size_t sto_row_set_intersect_max(const struct sto_row_set *a, const struct sto_row_set *b);
void sto_row_set_intersect(const struct sto_row_set *a, const struct sto_row_set *b,
                           struct sto_row_range *ranges, struct sto_row_set *out);
bool sto_row_set_holds(const struct sto_row_set *set, struct slice row_key);
/* Leave out everything up to last, from the front or (reversed) from the back: a page goes on
 * behind the last row of the one before. ranges: those that out owns, at least one. */
void sto_row_set_continue(struct sto_row_range *ranges, struct sto_row_set *set, struct slice last,
                          bool reversed);

#endif
