/*
 * storage/projection.c - boxes of columns and versions.
 *
 * Mechanism: each bound of an interval has an order of its own. A start is lower the more it
 * admits: by its bytes, then inclusive before exclusive. An end is higher the more it admits: by
 * its bytes, then inclusive after exclusive, and no end after all ends.
 */
#include "storage/projection.h"

#include "base/banned.h"

static int compare_starts(const struct sto_bytes_range *a, const struct sto_bytes_range *b)
{
    int c = base_slice_compare(a->start, b->start);
    return c != 0 ? c : (int)a->start_exclusive - (int)b->start_exclusive;
}

static int compare_ends(const struct sto_bytes_range *a, const struct sto_bytes_range *b)
{
    if (!a->has_end || !b->has_end)
        return (int)b->has_end - (int)a->has_end;
    int c = base_slice_compare(a->end, b->end);
    return c != 0 ? c : (int)a->end_inclusive - (int)b->end_inclusive;
}

static void take_start(struct sto_bytes_range *range, const struct sto_bytes_range *from)
{
    range->start = from->start;
    range->start_exclusive = from->start_exclusive;
}

static void take_end(struct sto_bytes_range *range, const struct sto_bytes_range *from)
{
    range->has_end = from->has_end;
    range->end = from->end;
    range->end_inclusive = from->end_inclusive;
}

bool sto_bytes_range_holds(const struct sto_bytes_range *range, struct slice bytes)
{
    int from_start = base_slice_compare(bytes, range->start);
    if (from_start < 0 || (from_start == 0 && range->start_exclusive))
        return false;
    if (!range->has_end)
        return true;
    int from_end = base_slice_compare(bytes, range->end);
    return from_end < 0 || (from_end == 0 && range->end_inclusive);
}

bool sto_bytes_range_is_empty(const struct sto_bytes_range *range)
{
    if (!range->has_end)
        return false;
    int c = base_slice_compare(range->start, range->end);
    if (c >= 0)
        return c > 0 || range->start_exclusive || !range->end_inclusive;
    /* No string is between a string and the same string followed by a zero byte. */
    bool adjacent = range->end.len == range->start.len + 1 &&
                    range->end.ptr[range->start.len] == 0 &&
                    base_slice_starts_with(range->end, range->start);
    return adjacent && range->start_exclusive && !range->end_inclusive;
}

void sto_bytes_range_intersect(struct sto_bytes_range *range, const struct sto_bytes_range *with)
{
    if (compare_starts(with, range) > 0)
        take_start(range, with);
    if (compare_ends(with, range) < 0)
        take_end(range, with);
}

void sto_bytes_range_join(struct sto_bytes_range *range, const struct sto_bytes_range *with)
{
    if (sto_bytes_range_is_empty(with))
        return;
    if (sto_bytes_range_is_empty(range)) {
        *range = *with;
        return;
    }
    if (compare_starts(with, range) < 0)
        take_start(range, with);
    if (compare_ends(with, range) > 0)
        take_end(range, with);
}

void sto_projection_all(const struct sto_schema *schema, struct sto_projection *out)
{
    INVARIANT(schema->family_count <= LIM_FAMILIES);
    *out = (struct sto_projection){0};
    for (size_t i = 0; i < schema->family_count; i++)
        out->families[i / 64] |= (uint64_t)1 << i % 64;
}

void sto_projection_none(struct sto_projection *out)
{
    *out = (struct sto_projection){0};
}

void sto_projection_family(struct sto_projection *p, size_t family_index)
{
    INVARIANT(family_index < LIM_FAMILIES);
    memset(p->families, 0, sizeof p->families);
    p->families[family_index / 64] = (uint64_t)1 << family_index % 64;
}

void sto_projection_drop_family(struct sto_projection *p, size_t family_index)
{
    INVARIANT(family_index < LIM_FAMILIES);
    p->families[family_index / 64] &= ~((uint64_t)1 << family_index % 64);
}

bool sto_projection_has_family(const struct sto_projection *p, size_t family_index)
{
    return family_index < LIM_FAMILIES &&
           (p->families[family_index / 64] >> family_index % 64 & 1) != 0;
}

bool sto_projection_is_empty(const struct sto_projection *p)
{
    uint64_t any = 0;
    for (size_t i = 0; i < STO_FAMILY_WORDS; i++)
        any |= p->families[i];
    return any == 0 || sto_bytes_range_is_empty(&p->qualifiers) ||
           (p->until_us != 0 && p->until_us <= p->since_us);
}

void sto_projection_intersect(struct sto_projection *p, const struct sto_projection *with)
{
    for (size_t i = 0; i < STO_FAMILY_WORDS; i++)
        p->families[i] &= with->families[i];
    sto_bytes_range_intersect(&p->qualifiers, &with->qualifiers);
    if (with->since_us > p->since_us)
        p->since_us = with->since_us;
    if (p->until_us == 0 || (with->until_us != 0 && with->until_us < p->until_us))
        p->until_us = with->until_us;
}

void sto_projection_join(struct sto_projection *p, const struct sto_projection *with)
{
    if (sto_projection_is_empty(with))
        return;
    if (sto_projection_is_empty(p)) {
        *p = *with;
        return;
    }
    for (size_t i = 0; i < STO_FAMILY_WORDS; i++)
        p->families[i] |= with->families[i];
    sto_bytes_range_join(&p->qualifiers, &with->qualifiers);
    if (with->since_us < p->since_us)
        p->since_us = with->since_us;
    if (with->until_us == 0 || (p->until_us != 0 && with->until_us > p->until_us))
        p->until_us = with->until_us;
}
