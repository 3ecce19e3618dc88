/*
 * gateway/grpc/filter_proto.c - one message, one filter.
 *
 * Filters inside filters wait in a list, so that nesting costs no stack.
 */
#include "gateway/grpc/filter_proto.h"

#include "gateway/grpc/decode.h"

#include "base/banned.h"

struct pending {
    struct pending *next;
    const Bt__RowFilter *message;
    struct sto_filter *out;
};

struct reader {
    struct arena *arena;
    struct pending *pending;
    const Bt__RowFilter *message; /* the filter being read */
    struct errbuf *eb;
};

static enum err no_memory(const struct reader *r)
{
    return base_fail(r->eb, ERR_NO_MEMORY, "out of memory for the filter");
}

/* --- members -------------------------------------------------------------------------------- */

static enum err wait(struct reader *r, const Bt__RowFilter *message, struct sto_filter *out)
{
    struct pending *p = base_arena_alloc(r->arena, sizeof *p);
    if (p == NULL)
        return no_memory(r);
    *p = (struct pending){.next = r->pending, .message = message, .out = out};
    r->pending = p;
    return ERR_OK;
}

/* Reads members; those that are NULL stay STO_FILTER_NONE. */
static enum err read_members(struct reader *r, struct sto_filter *f, Bt__RowFilter *const *messages,
                             size_t count)
{
    struct sto_filter *members = base_arena_zalloc(r->arena, (count + 1) * sizeof *members);
    if (members == NULL)
        return no_memory(r);
    f->members = members;
    f->member_count = count;
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < count; i++) {
        if (messages[i] != NULL)
            e = wait(r, messages[i], &members[i]);
    }
    return e;
}

static enum err read_chain(struct reader *r, struct sto_filter *f)
{
    const Bt__RowFilter__Chain *chain = r->message->chain;
    return read_members(r, f, chain->filters, chain->n_filters);
}

static enum err read_interleave(struct reader *r, struct sto_filter *f)
{
    const Bt__RowFilter__Interleave *interleave = r->message->interleave;
    return read_members(r, f, interleave->filters, interleave->n_filters);
}

static enum err read_condition(struct reader *r, struct sto_filter *f)
{
    const Bt__RowFilter__Condition *condition = r->message->condition;
    Bt__RowFilter *const parts[] = {condition->predicate_filter, condition->true_filter,
                                    condition->false_filter};
    return read_members(r, f, parts, 3);
}

/* --- values --------------------------------------------------------------------------------- */

static enum err must_be_true(struct reader *r, const struct sto_filter *f, protobuf_c_boolean value)
{
    if (value)
        return ERR_OK;
    return base_fail(r->eb, ERR_INVALID, "filter \"%s\" must be true",
                     sto_filter_kind_name(f->kind));
}

static enum err read_pass_all(struct reader *r, struct sto_filter *f)
{
    return must_be_true(r, f, r->message->pass_all_filter);
}

static enum err read_block_all(struct reader *r, struct sto_filter *f)
{
    return must_be_true(r, f, r->message->block_all_filter);
}

static enum err read_sink(struct reader *r, struct sto_filter *f)
{
    return must_be_true(r, f, r->message->sink);
}

static enum err read_strip_value(struct reader *r, struct sto_filter *f)
{
    return must_be_true(r, f, r->message->strip_value_transformer);
}

static enum err read_row_key_regex(struct reader *r, struct sto_filter *f)
{
    f->bytes = gw_proto_bytes(r->message->row_key_regex_filter);
    return ERR_OK;
}

static enum err read_qualifier_regex(struct reader *r, struct sto_filter *f)
{
    f->bytes = gw_proto_bytes(r->message->column_qualifier_regex_filter);
    return ERR_OK;
}

static enum err read_value_regex(struct reader *r, struct sto_filter *f)
{
    f->bytes = gw_proto_bytes(r->message->value_regex_filter);
    return ERR_OK;
}

static enum err read_family_regex(struct reader *r, struct sto_filter *f)
{
    f->bytes = base_slice_text(r->message->family_name_regex_filter);
    return ERR_OK;
}

static enum err read_label(struct reader *r, struct sto_filter *f)
{
    f->bytes = base_slice_text(r->message->apply_label_transformer);
    return ERR_OK;
}

static enum err read_mask(struct reader *r, struct sto_filter *f)
{
    f->bytes = gw_proto_bytes(r->message->value_bitmask_filter->mask);
    return ERR_OK;
}

static enum err read_sample(struct reader *r, struct sto_filter *f)
{
    f->probability = r->message->row_sample_filter;
    return ERR_OK;
}

static enum err read_offset(struct reader *r, struct sto_filter *f)
{
    f->count = r->message->cells_per_row_offset_filter;
    return ERR_OK;
}

static enum err read_row_limit(struct reader *r, struct sto_filter *f)
{
    f->count = r->message->cells_per_row_limit_filter;
    return ERR_OK;
}

static enum err read_column_limit(struct reader *r, struct sto_filter *f)
{
    f->count = r->message->cells_per_column_limit_filter;
    return ERR_OK;
}

/* --- ranges --------------------------------------------------------------------------------- */

static enum err read_column_range(struct reader *r, struct sto_filter *f)
{
    const Bt__ColumnRange *range = r->message->column_range_filter;
    f->bytes = base_slice_text(range->family_name);
    if (range->start_qualifier_case == BT__COLUMN_RANGE__START_QUALIFIER_START_QUALIFIER_CLOSED) {
        f->range.start = gw_proto_bytes(range->start_qualifier_closed);
    } else if (range->start_qualifier_case ==
               BT__COLUMN_RANGE__START_QUALIFIER_START_QUALIFIER_OPEN) {
        f->range.start = gw_proto_bytes(range->start_qualifier_open);
        f->range.start_exclusive = true;
    }
    if (range->end_qualifier_case == BT__COLUMN_RANGE__END_QUALIFIER_END_QUALIFIER_CLOSED) {
        f->range.end = gw_proto_bytes(range->end_qualifier_closed);
        f->range.end_inclusive = true;
        f->range.has_end = true;
    } else if (range->end_qualifier_case == BT__COLUMN_RANGE__END_QUALIFIER_END_QUALIFIER_OPEN) {
        f->range.end = gw_proto_bytes(range->end_qualifier_open);
        f->range.has_end = true;
    }
    if (f->bytes.len == 0)
        return base_fail(r->eb, ERR_INVALID, "filter \"column_range\" needs \"family_name\"");
    return ERR_OK;
}

static enum err read_value_range(struct reader *r, struct sto_filter *f)
{
    const Bt__ValueRange *range = r->message->value_range_filter;
    if (range->start_value_case == BT__VALUE_RANGE__START_VALUE_START_VALUE_CLOSED) {
        f->range.start = gw_proto_bytes(range->start_value_closed);
    } else if (range->start_value_case == BT__VALUE_RANGE__START_VALUE_START_VALUE_OPEN) {
        f->range.start = gw_proto_bytes(range->start_value_open);
        f->range.start_exclusive = true;
    }
    if (range->end_value_case == BT__VALUE_RANGE__END_VALUE_END_VALUE_CLOSED) {
        f->range.end = gw_proto_bytes(range->end_value_closed);
        f->range.end_inclusive = true;
        f->range.has_end = true;
    } else if (range->end_value_case == BT__VALUE_RANGE__END_VALUE_END_VALUE_OPEN) {
        f->range.end = gw_proto_bytes(range->end_value_open);
        f->range.has_end = true;
    }
    return ERR_OK;
}

static enum err read_timestamp_range(struct reader *r, struct sto_filter *f)
{
    const Bt__TimestampRange *range = r->message->timestamp_range_filter;
    f->start_us = range->start_timestamp_micros;
    f->end_us = range->end_timestamp_micros;
    return ERR_OK;
}

/* --- kinds ---------------------------------------------------------------------------------- */

static const struct kind {
    Bt__RowFilter__FilterCase from;
    enum sto_filter_kind to;
    enum err (*read)(struct reader *r, struct sto_filter *f);
} KINDS[] = {
    {BT__ROW_FILTER__FILTER_CHAIN, STO_FILTER_CHAIN, read_chain},
    {BT__ROW_FILTER__FILTER_INTERLEAVE, STO_FILTER_INTERLEAVE, read_interleave},
    {BT__ROW_FILTER__FILTER_CONDITION, STO_FILTER_CONDITION, read_condition},
    {BT__ROW_FILTER__FILTER_SINK, STO_FILTER_SINK, read_sink},
    {BT__ROW_FILTER__FILTER_PASS_ALL_FILTER, STO_FILTER_PASS_ALL, read_pass_all},
    {BT__ROW_FILTER__FILTER_BLOCK_ALL_FILTER, STO_FILTER_BLOCK_ALL, read_block_all},
    {BT__ROW_FILTER__FILTER_ROW_KEY_REGEX_FILTER, STO_FILTER_ROW_KEY_REGEX, read_row_key_regex},
    {BT__ROW_FILTER__FILTER_ROW_SAMPLE_FILTER, STO_FILTER_ROW_SAMPLE, read_sample},
    {BT__ROW_FILTER__FILTER_FAMILY_NAME_REGEX_FILTER, STO_FILTER_FAMILY_REGEX, read_family_regex},
    {BT__ROW_FILTER__FILTER_COLUMN_QUALIFIER_REGEX_FILTER, STO_FILTER_QUALIFIER_REGEX,
     read_qualifier_regex},
    {BT__ROW_FILTER__FILTER_COLUMN_RANGE_FILTER, STO_FILTER_COLUMN_RANGE, read_column_range},
    {BT__ROW_FILTER__FILTER_TIMESTAMP_RANGE_FILTER, STO_FILTER_TIMESTAMP_RANGE,
     read_timestamp_range},
    {BT__ROW_FILTER__FILTER_VALUE_REGEX_FILTER, STO_FILTER_VALUE_REGEX, read_value_regex},
    {BT__ROW_FILTER__FILTER_VALUE_RANGE_FILTER, STO_FILTER_VALUE_RANGE, read_value_range},
    {BT__ROW_FILTER__FILTER_VALUE_BITMASK_FILTER, STO_FILTER_VALUE_BITMASK, read_mask},
    {BT__ROW_FILTER__FILTER_CELLS_PER_ROW_OFFSET_FILTER, STO_FILTER_CELLS_PER_ROW_OFFSET,
     read_offset},
    {BT__ROW_FILTER__FILTER_CELLS_PER_ROW_LIMIT_FILTER, STO_FILTER_CELLS_PER_ROW_LIMIT,
     read_row_limit},
    {BT__ROW_FILTER__FILTER_CELLS_PER_COLUMN_LIMIT_FILTER, STO_FILTER_CELLS_PER_COLUMN_LIMIT,
     read_column_limit},
    {BT__ROW_FILTER__FILTER_STRIP_VALUE_TRANSFORMER, STO_FILTER_STRIP_VALUE, read_strip_value},
    {BT__ROW_FILTER__FILTER_APPLY_LABEL_TRANSFORMER, STO_FILTER_APPLY_LABEL, read_label},
};

static enum err read_one(struct reader *r, struct sto_filter *out)
{
    *out = (struct sto_filter){.kind = STO_FILTER_NONE};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (KINDS[i].from == r->message->filter_case) {
            out->kind = KINDS[i].to;
            return KINDS[i].read(r, out);
        }
    }
    return base_fail(r->eb, ERR_INVALID,
                     "a filter says nothing of what it filters, or is of a kind not known here");
}

enum err gw_filter_from_proto(const Bt__RowFilter *message, struct arena *arena,
                              struct sto_filter *out, struct errbuf *eb)
{
    struct reader r = {.arena = arena, .message = message, .eb = eb};
    enum err e = read_one(&r, out);
    while (e == ERR_OK && r.pending != NULL) {
        struct pending *p = r.pending;
        r.pending = p->next;
        r.message = p->message;
        e = read_one(&r, p->out);
    }
    return e;
}

bool gw_filter_is_small(const Bt__RowFilter *message, struct arena *arena)
{
    struct sto_filter filter;
    struct errbuf eb;
    if (message == NULL)
        return true;
    return protobuf_c_message_get_packed_size(&message->base) <= LIM_FILTER_SMALL_BYTES &&
           (gw_filter_from_proto(message, arena, &filter, &eb) != ERR_OK ||
            sto_filter_is_small(&filter));
}
