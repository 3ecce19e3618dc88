/*
 * storage/row_set.c - sorts by start, then merges neighbors.
 *
 * 1. A bound is compared as the point where it cuts the order of keys: before its key, or after it
 *    if the key itself is excluded (start) or included (end). An empty end cuts after everything.
 */
#include "storage/row_set.h"

#include <stdlib.h>

#include "base/banned.h"

struct sto_row_range sto_range_of_key(struct slice row_key)
{
    return (struct sto_row_range){.start = row_key, .end = row_key, .end_inclusive = true};
}

/* --- order of bounds ------------------------------------------------------------------------ */

static int cut_compare(struct slice a, bool a_behind, struct slice b, bool b_behind)
{
    int order = base_slice_compare(a, b);
    return order != 0 ? order : (int)a_behind - (int)b_behind;
}

static int start_compare(const void *a, const void *b)
{
    const struct sto_row_range *x = a;
    const struct sto_row_range *y = b;
    return cut_compare(x->start, x->start_exclusive, y->start, y->start_exclusive);
}

static int end_compare(const struct sto_row_range *a, const struct sto_row_range *b)
{
    if (a->end.len == 0 || b->end.len == 0)
        return (int)(a->end.len == 0) - (int)(b->end.len == 0);
    return cut_compare(a->end, a->end_inclusive, b->end, b->end_inclusive);
}

/* Returns whether no key is between the start of one range and the end of the other. */
static bool is_empty(const struct sto_row_range *start, const struct sto_row_range *end)
{
    return end->end.len != 0 &&
           cut_compare(start->start, start->start_exclusive, end->end, end->end_inclusive) >= 0;
}

/* --- making --------------------------------------------------------------------------------- */

static enum err range_check(const struct sto_row_range *range, size_t index, struct errbuf *eb)
{
    if (range->start.len > LIM_ROW_KEY || range->end.len > LIM_ROW_KEY)
        return base_fail(eb, ERR_TOO_BIG,
                         "row set, element %zu: keys have at most %d bytes; start has %zu, end %zu",
                         index, LIM_ROW_KEY, range->start.len, range->end.len);
    if (is_empty(range, range))
        return base_fail(eb, ERR_INVALID, "row set, element %zu: the start must be before the end",
                         index);
    return ERR_OK;
}

enum err sto_row_set_make(struct sto_row_range *ranges, size_t count, struct sto_row_set *out,
                          struct errbuf *eb)
{
    if (count > LIM_ROW_SET)
        return base_fail(eb, ERR_TOO_BIG, "the row set has %zu keys and ranges; the limit is %d",
                         count, LIM_ROW_SET);
    for (size_t i = 0; i < count; i++) {
        enum err rc = range_check(&ranges[i], i, eb);
        if (rc != ERR_OK)
            return rc;
    }
    if (count > 1)
        qsort(ranges, count, sizeof(ranges[0]), start_compare);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct sto_row_range *last = used > 0 ? &ranges[used - 1] : NULL;
        if (last == NULL || is_empty(&ranges[i], last)) {
            ranges[used++] = ranges[i];
        } else if (end_compare(&ranges[i], last) > 0) {
            last->end = ranges[i].end;
            last->end_inclusive = ranges[i].end_inclusive;
        }
    }
    *out = (struct sto_row_set){.ranges = ranges, .count = used};
    return ERR_OK;
}

/* --- intersecting and continuing -------------------------------------------------------------- */

/* Returns a set of every row as one range. */
static struct sto_row_set spelled_out(const struct sto_row_set *set)
{
    static const struct sto_row_range every;
    if (set->count > 0 || set->none)
        return (struct sto_row_set){.ranges = set->ranges, .count = set->none ? 0 : set->count};
    return (struct sto_row_set){.ranges = &every, .count = 1};
}

size_t sto_row_set_intersect_max(const struct sto_row_set *a, const struct sto_row_set *b)
{
    return spelled_out(a).count + spelled_out(b).count;
}

/* Walks both sets in parallel: of two ranges, the one that ends first cannot intersect a
 * later one. */
void sto_row_set_intersect(const struct sto_row_set *a, const struct sto_row_set *b,
                           struct sto_row_range *ranges, struct sto_row_set *out)
{
    struct sto_row_set left = spelled_out(a);
    struct sto_row_set right = spelled_out(b);
    size_t used = 0;
    while (left.count > 0 && right.count > 0) {
        const struct sto_row_range *start =
            start_compare(left.ranges, right.ranges) >= 0 ? left.ranges : right.ranges;
        bool left_ends = end_compare(left.ranges, right.ranges) <= 0;
        const struct sto_row_range *end = left_ends ? left.ranges : right.ranges;
        if (!is_empty(start, end))
            ranges[used++] = (struct sto_row_range){.start = start->start,
                                                    .start_exclusive = start->start_exclusive,
                                                    .end = end->end,
                                                    .end_inclusive = end->end_inclusive};
        struct sto_row_set *passed = left_ends ? &left : &right;
        passed->ranges++;
        passed->count--;
    }
    *out = (struct sto_row_set){.ranges = ranges, .count = used, .none = used == 0};
}

bool sto_row_set_holds(const struct sto_row_set *set, struct slice row_key)
{
    struct sto_row_set s = spelled_out(set);
    size_t low = 0; /* the first range that does not end before the key */
    size_t high = s.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct sto_row_range *r = &s.ranges[middle];
        if (r->end.len != 0 && cut_compare(r->end, r->end_inclusive, row_key, false) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s.count &&
           cut_compare(s.ranges[low].start, s.ranges[low].start_exclusive, row_key, false) <= 0;
}

void sto_row_set_continue(struct sto_row_range *ranges, struct sto_row_set *set, struct slice last,
                          bool reversed)
{
    struct sto_row_range cut = {.start = last, .start_exclusive = !reversed, .end = last};
    size_t used = 0;
    for (size_t i = 0; i < set->count; i++) {
        struct sto_row_range left = ranges[i];
        if (!reversed && start_compare(&cut, &left) > 0) {
            left.start = last;
            left.start_exclusive = true;
        } else if (reversed && end_compare(&cut, &left) < 0) {
            left.end = last;
            left.end_inclusive = false;
        }
        if (!is_empty(&left, &left))
            ranges[used++] = left;
    }
    set->count = used;
    set->none = used == 0;
}
