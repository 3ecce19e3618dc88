/*
 * storage/filter_check.c - checks a tree of filters before it is compiled.
 *
 * Mechanism: size and depth are checked first, which bounds the walk over single filters. Checks
 * that need the schema or a pattern's text are made by storage/filter_compile.c.
 */
#include <inttypes.h>

#include "storage/filter_program.h"

#include "base/banned.h"

static enum err check_members(const struct sto_filter *f, struct errbuf *eb)
{
    const char *name = sto_filter_kind_name(f->kind);
    if (f->kind != STO_FILTER_CONDITION) {
        if (f->member_count < 2)
            return base_fail(eb, ERR_INVALID, "%s has %zu members; it needs two or more", name,
                             f->member_count);
        return ERR_OK;
    }
    if (f->member_count != 3)
        return base_fail(eb, ERR_INVALID,
                         "%s has %zu members; it needs a predicate and two branches", name,
                         f->member_count);
    if (f->members[0].kind == STO_FILTER_NONE)
        return base_fail(eb, ERR_INVALID, "%s has no predicate", name);
    return ERR_OK;
}

static enum err check_label(struct slice label, struct errbuf *eb)
{
    if (label.len > LIM_LABEL)
        return base_fail(eb, ERR_TOO_BIG, "apply_label is %zu bytes; the limit is %d", label.len,
                         LIM_LABEL);
    bool good = label.len > 0;
    for (size_t i = 0; i < label.len; i++) {
        uint8_t c = label.ptr[i];
        good = good && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-');
    }
    if (!good)
        return base_fail(eb, ERR_INVALID,
                         "apply_label must be one or more of a to z, 0 to 9 and \"-\"");
    return ERR_OK;
}

static enum err check_family_regex(struct slice pattern, struct errbuf *eb)
{
    if (pattern.len > 0 && memchr(pattern.ptr, ':', pattern.len) != NULL)
        return base_fail(eb, ERR_INVALID, "family_name_regex must not contain \":\"");
    return ERR_OK;
}

static enum err check_times(const struct sto_filter *f, struct errbuf *eb)
{
    if (f->end_us == 0 || f->start_us < f->end_us)
        return ERR_OK;
    return base_fail(eb, ERR_INVALID,
                     "timestamp_range must start before it ends; it is %" PRId64 " to %" PRId64,
                     f->start_us, f->end_us);
}

static enum err check_one(const struct filter_frame *frame, bool may_be_absent, struct errbuf *eb)
{
    const struct sto_filter *f = frame->filter;
    switch (f->kind) {
    case STO_FILTER_NONE:
        if (may_be_absent)
            return ERR_OK;
        return base_fail(eb, ERR_INVALID, "a filter is there without saying what it filters");
    case STO_FILTER_CHAIN:
    case STO_FILTER_INTERLEAVE:
    case STO_FILTER_CONDITION:
        return check_members(f, eb);
    case STO_FILTER_SINK:
        if (!frame->under_a_condition)
            return ERR_OK;
        return base_fail(eb, ERR_INVALID, "sink must not be inside a condition");
    case STO_FILTER_ROW_SAMPLE:
        if (f->probability > 0 && f->probability < 1)
            return ERR_OK;
        return base_fail(eb, ERR_INVALID, "row_sample is %g; it must be above 0 and below 1",
                         f->probability);
    case STO_FILTER_CELLS_PER_ROW_OFFSET:
    case STO_FILTER_CELLS_PER_ROW_LIMIT:
    case STO_FILTER_CELLS_PER_COLUMN_LIMIT:
        if (f->count > 0)
            return ERR_OK;
        return base_fail(eb, ERR_INVALID, "%s is %" PRId64 "; it must be above 0",
                         sto_filter_kind_name(f->kind), f->count);
    case STO_FILTER_TIMESTAMP_RANGE:
        return check_times(f, eb);
    case STO_FILTER_ROW_KEY_REGEX:
        if (f->bytes.len > 0)
            return ERR_OK;
        return base_fail(eb, ERR_INVALID, "row_key_regex must not be empty: no row key is");
    case STO_FILTER_FAMILY_REGEX:
        return check_family_regex(f->bytes, eb);
    case STO_FILTER_APPLY_LABEL:
        return check_label(f->bytes, eb);
    case STO_FILTER_PASS_ALL:
    case STO_FILTER_BLOCK_ALL:
    case STO_FILTER_STRIP_VALUE:
    case STO_FILTER_QUALIFIER_REGEX:
    case STO_FILTER_VALUE_REGEX:
    case STO_FILTER_COLUMN_RANGE:
    case STO_FILTER_VALUE_RANGE:
    case STO_FILTER_VALUE_BITMASK:
        return ERR_OK;
    case STO_FILTER_KIND_COUNT:
        break;
    }
    return base_fail(eb, ERR_INVALID, "filter of unknown kind %d", (int)f->kind);
}

static void count(const struct sto_filter *f, struct filter_census *census)
{
    census->filters++;
    if (f->kind == STO_FILTER_CONDITION)
        census->conditions++;
    if (f->kind == STO_FILTER_INTERLEAVE)
        census->branches += f->member_count;
    if (f->kind == STO_FILTER_ROW_KEY_REGEX || f->kind == STO_FILTER_QUALIFIER_REGEX ||
        f->kind == STO_FILTER_VALUE_REGEX || f->kind == STO_FILTER_FAMILY_REGEX) {
        uint64_t weight = sto_pattern_weight(f->bytes);
        census->patterns++;
        census->regexes += weight > 0;
        census->weight += weight;
        census->classes += sto_pattern_classes(f->bytes);
    }
}

static enum err enter_checked(struct filter_walk *w, struct filter_census *census,
                              struct errbuf *eb)
{
    const struct filter_frame *top = &w->frames[w->depth - 1];
    bool may_be_absent =
        w->depth > 1 && w->frames[w->depth - 2].filter->kind == STO_FILTER_CONDITION;
    count(top->filter, census);
    return check_one(top, may_be_absent, eb);
}

enum err sto_filter_check(const struct sto_filter *filter, struct filter_census *out,
                          struct errbuf *eb)
{
    size_t bytes = sto_filter_wire_bytes(filter);
    if (bytes == SIZE_MAX)
        return base_fail(eb, ERR_TOO_BIG, "filter is nested more than %d deep", LIM_FILTER_DEPTH);
    if (bytes > LIM_FILTER_BYTES)
        return base_fail(eb, ERR_TOO_BIG, "filter is %zu bytes; the limit is %d", bytes,
                         LIM_FILTER_BYTES);
    struct filter_census census = {.wire_bytes = bytes};
    struct filter_walk w;
    sto_filter_walk_begin(&w, filter);
    enum err e = enter_checked(&w, &census, eb);
    if (e != ERR_OK)
        return e;
    do {
        while (sto_filter_walk_enter(&w, &e)) {
            e = enter_checked(&w, &census, eb);
            if (e != ERR_OK)
                return e;
        }
        const struct filter_frame *top = &w.frames[w.depth - 1];
        if (top->filter->kind == STO_FILTER_CHAIN && top->labelled > 1)
            return base_fail(eb, ERR_INVALID,
                             "chain has apply_label in %zu of its members; one is the limit",
                             top->labelled);
    } while (sto_filter_walk_leave(&w, &bytes));
    if (census.regexes > LIM_FILTER_REGEXES)
        return base_fail(eb, ERR_TOO_BIG, "filter has %zu regular expressions; the limit is %d",
                         census.regexes, LIM_FILTER_REGEXES);
    if (census.classes > LIM_FILTER_CLASSES)
        return base_fail(
            eb, ERR_TOO_BIG,
            "filter has %zu Unicode classes (\\p) in its regular expressions; the limit "
            "is %d: bytes are matched, and [a-z] or \\w say which",
            census.classes, LIM_FILTER_CLASSES);
    *out = census;
    return ERR_OK;
}

/* A refused filter counts as small: it is refused before any pattern is compiled. */
bool sto_filter_is_small(const struct sto_filter *filter)
{
    struct filter_census census;
    struct errbuf eb;
    return sto_filter_check(filter, &census, &eb) != ERR_OK || filter_is_small(&census);
}
