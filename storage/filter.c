/*
 * storage/filter.c - the tree of a filter: names, a walk, size on the wire.
 *
 * Mechanism: a walk visits the tree with a stack of LIM_FILTER_DEPTH frames, so an untrusted tree
 * cannot use more of our stack; it enters a filter before and leaves it after its members.
 */
#include "storage/filter.h"

#include "storage/filter_program.h"

#include "base/banned.h"

static const char *const names[STO_FILTER_KIND_COUNT] = {
    [STO_FILTER_NONE] = "none",
    [STO_FILTER_PASS_ALL] = "pass_all",
    [STO_FILTER_BLOCK_ALL] = "block_all",
    [STO_FILTER_SINK] = "sink",
    [STO_FILTER_CHAIN] = "chain",
    [STO_FILTER_INTERLEAVE] = "interleave",
    [STO_FILTER_CONDITION] = "condition",
    [STO_FILTER_ROW_KEY_REGEX] = "row_key_regex",
    [STO_FILTER_ROW_SAMPLE] = "row_sample",
    [STO_FILTER_FAMILY_REGEX] = "family_name_regex",
    [STO_FILTER_QUALIFIER_REGEX] = "column_qualifier_regex",
    [STO_FILTER_COLUMN_RANGE] = "column_range",
    [STO_FILTER_TIMESTAMP_RANGE] = "timestamp_range",
    [STO_FILTER_VALUE_REGEX] = "value_regex",
    [STO_FILTER_VALUE_RANGE] = "value_range",
    [STO_FILTER_VALUE_BITMASK] = "value_bitmask",
    [STO_FILTER_CELLS_PER_ROW_OFFSET] = "cells_per_row_offset",
    [STO_FILTER_CELLS_PER_ROW_LIMIT] = "cells_per_row_limit",
    [STO_FILTER_CELLS_PER_COLUMN_LIMIT] = "cells_per_column_limit",
    [STO_FILTER_STRIP_VALUE] = "strip_value",
    [STO_FILTER_APPLY_LABEL] = "apply_label",
};

const char *sto_filter_kind_name(enum sto_filter_kind kind)
{
    return (unsigned)kind < STO_FILTER_KIND_COUNT ? names[kind] : "unknown";
}

/* --- walking the tree ------------------------------------------------------------------------- */

static bool has_members(const struct sto_filter *f)
{
    return f->kind == STO_FILTER_CHAIN || f->kind == STO_FILTER_INTERLEAVE ||
           f->kind == STO_FILTER_CONDITION;
}

void sto_filter_walk_begin(struct filter_walk *w, const struct sto_filter *root)
{
    w->frames[0] = (struct filter_frame){.filter = root};
    w->depth = 1;
}

bool sto_filter_walk_enter(struct filter_walk *w, enum err *out_error)
{
    struct filter_frame *top = &w->frames[w->depth - 1];
    if (!has_members(top->filter) || top->member == top->filter->member_count)
        return false;
    if (w->depth == LIM_FILTER_DEPTH) {
        *out_error = ERR_TOO_BIG;
        return false;
    }
    bool under = top->under_a_condition || top->filter->kind == STO_FILTER_CONDITION;
    w->frames[w->depth++] = (struct filter_frame){.filter = &top->filter->members[top->member++],
                                                  .under_a_condition = under};
    return true;
}

/* --- the size on the wire --------------------------------------------------------------------- */

/* Adds, saturating at SIZE_MAX - 1: far above every limit, where the sum need not be exact. */
static size_t plus(size_t a, size_t b)
{
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX - 1 : sum;
}

static size_t varint_bytes(uint64_t value)
{
    size_t bytes = 1;
    for (; value >= 0x80; value >>= 7)
        bytes++;
    return bytes;
}

/* Returns the size of a field whose tag takes tag_bytes (1 for field numbers below 16, else 2). */
static size_t field_bytes(size_t tag_bytes, size_t len)
{
    return plus(tag_bytes + varint_bytes(len), len);
}

static size_t optional_bytes(size_t len)
{
    return len == 0 ? 0 : field_bytes(1, len);
}

static size_t optional_number_bytes(int64_t value)
{
    return value == 0 ? 0 : 1 + varint_bytes((uint64_t)value);
}

static size_t range_bytes(const struct sto_bytes_range *range)
{
    size_t bytes = 0;
    if (range->start.len > 0 || range->start_exclusive)
        bytes = field_bytes(1, range->start.len);
    if (range->has_end)
        bytes = plus(bytes, field_bytes(1, range->end.len));
    return bytes;
}

/* Returns the size of one filter. The field numbers of RowFilter decide between one and two bytes
 * of tag. */
static size_t filter_bytes(const struct sto_filter *f, size_t of_members)
{
    switch (f->kind) {
    case STO_FILTER_CHAIN:
    case STO_FILTER_INTERLEAVE:
    case STO_FILTER_CONDITION:
        return field_bytes(1, of_members);
    case STO_FILTER_PASS_ALL:
    case STO_FILTER_BLOCK_ALL:
    case STO_FILTER_SINK:
        return 2 + 1;
    case STO_FILTER_STRIP_VALUE:
        return 1 + 1;
    case STO_FILTER_ROW_SAMPLE:
        return 1 + sizeof(double);
    case STO_FILTER_ROW_KEY_REGEX:
    case STO_FILTER_FAMILY_REGEX:
    case STO_FILTER_QUALIFIER_REGEX:
    case STO_FILTER_VALUE_REGEX:
        return field_bytes(1, f->bytes.len);
    case STO_FILTER_APPLY_LABEL:
        return field_bytes(2, f->bytes.len);
    case STO_FILTER_VALUE_BITMASK:
        return field_bytes(2, optional_bytes(f->bytes.len));
    case STO_FILTER_COLUMN_RANGE:
        return field_bytes(1, plus(optional_bytes(f->bytes.len), range_bytes(&f->range)));
    case STO_FILTER_VALUE_RANGE:
        return field_bytes(1, range_bytes(&f->range));
    case STO_FILTER_TIMESTAMP_RANGE:
        return field_bytes(1,
                           optional_number_bytes(f->start_us) + optional_number_bytes(f->end_us));
    case STO_FILTER_CELLS_PER_ROW_OFFSET:
    case STO_FILTER_CELLS_PER_ROW_LIMIT:
    case STO_FILTER_CELLS_PER_COLUMN_LIMIT:
        return 1 + varint_bytes((uint64_t)f->count);
    case STO_FILTER_NONE:
    case STO_FILTER_KIND_COUNT:
        break;
    }
    return 0;
}

bool sto_filter_walk_leave(struct filter_walk *w, size_t *out_wire_bytes)
{
    const struct filter_frame *left = &w->frames[--w->depth];
    size_t bytes = filter_bytes(left->filter, left->wire_bytes);
    if (w->depth == 0) {
        *out_wire_bytes = bytes;
        return false;
    }
    struct filter_frame *parent = &w->frames[w->depth - 1];
    bool absent =
        left->filter->kind == STO_FILTER_NONE && parent->filter->kind == STO_FILTER_CONDITION;
    if (!absent)
        parent->wire_bytes = plus(parent->wire_bytes, field_bytes(1, bytes));
    if (left->labelled > 0 || left->filter->kind == STO_FILTER_APPLY_LABEL)
        parent->labelled++;
    return true;
}

size_t sto_filter_wire_bytes(const struct sto_filter *filter)
{
    struct filter_walk w;
    sto_filter_walk_begin(&w, filter);
    size_t bytes = 0;
    enum err e = ERR_OK;
    do {
        while (sto_filter_walk_enter(&w, &e))
            continue;
        if (e != ERR_OK)
            return SIZE_MAX;
    } while (sto_filter_walk_leave(&w, &bytes));
    return bytes;
}
