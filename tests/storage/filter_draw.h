/*
 * tests/storage/filter_draw.h - random filters and rows with few names, so that filters match.
 *
 * Does:     draw trees of every kind of filter, and rows of three families.
 * Owns:     nothing; the maker holds the nodes of a tree.
 * May use:  base/, storage/, tests/support/.
 * Knows no: the comparison.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   NODES of a tree, ORACLE_CELLS of a row.
 * Promises: 1. Equal seeds draw equal values.
 */
#ifndef TESTS_STORAGE_FILTER_DRAW_H
#define TESTS_STORAGE_FILTER_DRAW_H

#include "tests/storage/filter_rows.h"

#define NODES       400
#define MEMBERS_MAX 4

static const char *const family_names[] = {"a", "bc", "b"};

static const char *const texts[] = {"", "a", "ab", "b", "ba", "\xff", "c-d"};
static const char *const patterns[] = {"a",     "a.*",  "b.*", ".*", "a|b",
                                       "[ab]+", "\\C*", "c.d", "",   "a?"};
static const char *const row_keys[] = {"a", "ab", "b", "bb"};

static inline struct slice text_of(struct random *r)
{
    return base_slice_text(texts[random_below(r, sizeof texts / sizeof texts[0])]);
}

static inline struct slice pattern_of(struct random *r)
{
    return base_slice_text(patterns[random_below(r, sizeof patterns / sizeof patterns[0])]);
}

/* --- construction -----------------------------------------------------------------------------
 */

struct maker {
    struct random *random;
    struct sto_filter nodes[NODES];
    size_t used;
    bool has_sample;
};

static inline struct sto_bytes_range range_of(struct random *r)
{
    return (struct sto_bytes_range){.start = text_of(r),
                                    .start_exclusive = random_below(r, 2) == 0,
                                    .has_end = random_below(r, 3) != 0,
                                    .end = text_of(r),
                                    .end_inclusive = random_below(r, 2) == 0};
}

static inline void make_leaf(struct maker *m, struct sto_filter *f, bool may_label, bool may_sink)
{
    struct random *r = m->random;
    static const enum sto_filter_kind first = STO_FILTER_PASS_ALL;
    do {
        f->kind = first + random_below(r, STO_FILTER_KIND_COUNT - first);
    } while (f->kind == STO_FILTER_CHAIN || f->kind == STO_FILTER_INTERLEAVE ||
             f->kind == STO_FILTER_CONDITION || (f->kind == STO_FILTER_SINK && !may_sink) ||
             (f->kind == STO_FILTER_APPLY_LABEL && !may_label) ||
             (f->kind == STO_FILTER_ROW_SAMPLE && m->has_sample));
    m->has_sample |= f->kind == STO_FILTER_ROW_SAMPLE;
    f->probability = 0.5;
    f->count = 1 + random_below(r, random_below(r, 2) == 0 ? 2 : 6);
    f->range = range_of(r);
    f->start_us = random_below(r, 4) * 1000;
    f->end_us = random_below(r, 2) == 0 ? 0 : f->start_us + 1000 * (1 + random_below(r, 3));
    if (f->kind == STO_FILTER_ROW_KEY_REGEX || f->kind == STO_FILTER_FAMILY_REGEX ||
        f->kind == STO_FILTER_QUALIFIER_REGEX || f->kind == STO_FILTER_VALUE_REGEX)
        f->bytes = pattern_of(r);
    if (f->kind == STO_FILTER_ROW_KEY_REGEX && f->bytes.len == 0)
        f->bytes = SLICE_LIT("a?"); /* no row key is empty */
    if (f->kind == STO_FILTER_COLUMN_RANGE)
        f->bytes = base_slice_text(family_names[random_below(r, 3)]);
    if (f->kind == STO_FILTER_VALUE_BITMASK)
        f->bytes = text_of(r);
    if (f->kind == STO_FILTER_APPLY_LABEL)
        f->bytes = random_below(r, 2) == 0 ? SLICE_LIT("l") : SLICE_LIT("m");
    bool counts = f->kind == STO_FILTER_CELLS_PER_ROW_OFFSET ||
                  f->kind == STO_FILTER_CELLS_PER_ROW_LIMIT ||
                  f->kind == STO_FILTER_CELLS_PER_COLUMN_LIMIT;
    f->count = counts ? f->count : 0;
}

static inline void make_filter(struct maker *m, struct sto_filter *f, unsigned depth,
                               bool may_label, bool may_sink)
{
    struct random *r = m->random;
    size_t members = 2 + random_below(r, MEMBERS_MAX - 1);
    if (depth == 0 || random_below(r, 5) < 2 || m->used + MEMBERS_MAX > NODES) {
        make_leaf(m, f, may_label, may_sink);
        return;
    }
    f->kind = STO_FILTER_CHAIN + random_below(r, 3);
    if (f->kind == STO_FILTER_CONDITION)
        members = 3;
    struct sto_filter *of = &m->nodes[m->used];
    m->used += members;
    f->members = of;
    f->member_count = members;
    size_t labelled = random_below(r, (uint32_t)members);
    for (size_t i = 0; i < members; i++) {
        bool is_condition = f->kind == STO_FILTER_CONDITION;
        if (is_condition && i > 0 && random_below(r, 4) == 0) {
            of[i].kind = STO_FILTER_NONE;
            continue;
        }
        bool label = may_label && (f->kind != STO_FILTER_CHAIN || i == labelled);
        make_filter(m, &of[i], depth - 1, label, may_sink && !is_condition);
    }
}

static inline void make_row(struct random *r, const struct sto_schema *schema,
                            struct oracle_row *row)
{
    row->key = base_slice_text(row_keys[random_below(r, 4)]);
    row->count = 0;
    uint32_t density = 1 + random_below(r, 8);
    static const char *const qualifiers[] = {"", "a", "ab", "b", "c-d"};
    for (size_t f = 0; f < 3; f++)
        for (size_t q = 0; q < 5; q++)
            for (int64_t time = 4; time >= 0; time--)
                if (random_below(r, 8) < density && random_below(r, 3) == 0 && row->count < 64)
                    row->cells[row->count++] =
                        (struct sto_cell){.family = &schema->families[f],
                                          .qualifier = base_slice_text(qualifiers[q]),
                                          .timestamp_us = time * 1000,
                                          .value = text_of(r)};
}

#endif
