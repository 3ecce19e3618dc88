/*
 * tests/support/filter_oracle.c - filters over whole rows, in the simplest way.
 *
 * A filter is a recursive function from a list of cells to a list of cells. Every output item
 * records the input item that it copies, so that the branches of an interleave can be merged: all
 * copies of the first input item, in the order of the branches, then all of the second one.
 */
#include "tests/support/filter_oracle.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "storage/pattern.h"

#include "base/banned.h"

struct evaluation {
    struct slice row_key;
    bool sampled;
    struct oracle_list output; /* output of sinks */
};

void oracle_list_add(struct oracle_list *l, struct oracle_item item)
{
    if (l->count == l->capacity) {
        l->capacity = l->capacity == 0 ? 16 : l->capacity * 2;
        l->items = base_try_realloc(l->items, l->capacity * sizeof *l->items);
        INVARIANT(l->items != NULL);
    }
    l->items[l->count++] = item;
}

void oracle_list_free(struct oracle_list *l)
{
    base_free(l->items);
    *l = (struct oracle_list){0};
}

static int compare_items(const void *left, const void *right)
{
    const struct oracle_item *a = left;
    const struct oracle_item *b = right;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    int c = base_slice_compare(a->cell.label, b->cell.label);
    return c != 0 ? c : base_slice_compare(a->cell.value, b->cell.value);
}

void oracle_list_sort(struct oracle_list *l)
{
    if (l->count > 1)
        qsort(l->items, l->count, sizeof *l->items, compare_items);
}

bool oracle_list_equal(const struct oracle_list *a, const struct oracle_list *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (compare_items(&a->items[i], &b->items[i]) != 0)
            return false;
    return true;
}

/* --- evaluation -------------------------------------------------------------------------------
 */

/* Returns a compiled pattern. Tests use few patterns many times:
 * the last ones stay cached until the process ends. */
static const struct sto_pattern *compiled(struct slice text)
{
    static struct {
        char *text;
        size_t len;
        struct sto_pattern *pattern;
    } kept[64];
    size_t i = 0;
    while (i < 64 && kept[i].text != NULL &&
           !base_slice_equal(base_slice(kept[i].text, kept[i].len), text))
        i++;
    i %= 64;
    if (kept[i].text == NULL || !base_slice_equal(base_slice(kept[i].text, kept[i].len), text)) {
        base_free(kept[i].text);
        sto_pattern_free(kept[i].pattern);
        kept[i].text = base_new_text(text.ptr, text.len);
        kept[i].len = text.len;
        INVARIANT(sto_pattern_compile(text, LIM_FILTER_REGEX_BYTES, &kept[i].pattern, NULL) ==
                  ERR_OK);
    }
    return kept[i].pattern;
}

static bool matches(struct slice pattern, struct slice bytes)
{
    struct sto_match match;
    return sto_pattern_match(compiled(pattern), bytes, &match) == ERR_OK && match.yes;
}

static bool in_range(const struct sto_bytes_range *range, struct slice bytes)
{
    int start = base_slice_compare(bytes, range->start);
    int end = range->has_end ? base_slice_compare(bytes, range->end) : -1;
    return (range->start_exclusive ? start > 0 : start >= 0) &&
           (range->end_inclusive ? end <= 0 : end < 0);
}

static bool has_all_bits(struct slice value, struct slice mask)
{
    bool all = value.len == mask.len;
    for (size_t i = 0; all && i < mask.len; i++)
        all = (value.ptr[i] & mask.ptr[i]) == mask.ptr[i];
    return all;
}

static struct slice family_name(const struct sto_cell *cell)
{
    return base_slice(cell->family->name, cell->family->name_len);
}

/* Returns the number of earlier items of the same column. */
static size_t number_in_column(const struct oracle_list *in, size_t index)
{
    const struct sto_cell *cell = &in->items[index].cell;
    size_t number = 0;
    for (size_t i = 0; i < index; i++)
        if (in->items[i].cell.family == cell->family &&
            base_slice_equal(in->items[i].cell.qualifier, cell->qualifier))
            number++;
    return number;
}

/* Evaluates a filter that depends only on one item and its position. */
static bool lets_pass(const struct evaluation *e, const struct sto_filter *f,
                      const struct oracle_list *in, size_t index)
{
    const struct sto_cell *cell = &in->items[index].cell;
    switch (f->kind) {
    case STO_FILTER_PASS_ALL:
    case STO_FILTER_STRIP_VALUE:
    case STO_FILTER_APPLY_LABEL:
        return true;
    case STO_FILTER_ROW_KEY_REGEX:
        return matches(f->bytes, e->row_key);
    case STO_FILTER_ROW_SAMPLE:
        return e->sampled;
    case STO_FILTER_FAMILY_REGEX:
        return matches(f->bytes, family_name(cell));
    case STO_FILTER_QUALIFIER_REGEX:
        return matches(f->bytes, cell->qualifier);
    case STO_FILTER_COLUMN_RANGE:
        return base_slice_equal(f->bytes, family_name(cell)) &&
               in_range(&f->range, cell->qualifier);
    case STO_FILTER_TIMESTAMP_RANGE:
        return cell->timestamp_us >= f->start_us &&
               (f->end_us == 0 || cell->timestamp_us < f->end_us);
    case STO_FILTER_VALUE_REGEX:
        return matches(f->bytes, cell->value);
    case STO_FILTER_VALUE_RANGE:
        return in_range(&f->range, cell->value);
    case STO_FILTER_VALUE_BITMASK:
        return has_all_bits(cell->value, f->bytes);
    case STO_FILTER_CELLS_PER_ROW_OFFSET:
        return index >= (uint64_t)f->count;
    case STO_FILTER_CELLS_PER_ROW_LIMIT:
        return index < (uint64_t)f->count;
    case STO_FILTER_CELLS_PER_COLUMN_LIMIT:
        return number_in_column(in, index) < (uint64_t)f->count;
    case STO_FILTER_NONE:
    case STO_FILTER_BLOCK_ALL:
    case STO_FILTER_SINK:
    case STO_FILTER_CHAIN:
    case STO_FILTER_INTERLEAVE:
    case STO_FILTER_CONDITION:
    case STO_FILTER_KIND_COUNT:
        break;
    }
    return false;
}

static struct oracle_list evaluate(struct evaluation *e, const struct sto_filter *f,
                                   const struct oracle_list *in);

static struct oracle_list evaluate_leaf(struct evaluation *e, const struct sto_filter *f,
                                        const struct oracle_list *in)
{
    struct oracle_list out = {0};
    for (size_t i = 0; i < in->count; i++) {
        struct oracle_item item = in->items[i];
        item.from = i;
        if (f->kind == STO_FILTER_SINK)
            oracle_list_add(&e->output, item);
        if (!lets_pass(e, f, in, i))
            continue;
        if (f->kind == STO_FILTER_STRIP_VALUE)
            item.cell.value = SLICE_EMPTY;
        if (f->kind == STO_FILTER_APPLY_LABEL)
            item.cell.label = f->bytes;
        oracle_list_add(&out, item);
    }
    return out;
}

static struct oracle_list evaluate_chain(struct evaluation *e, const struct sto_filter *f,
                                         const struct oracle_list *in)
{
    struct oracle_list at = {0};
    for (size_t i = 0; i < in->count; i++) {
        oracle_list_add(&at, in->items[i]);
        at.items[i].from = i;
    }
    for (size_t m = 0; m < f->member_count; m++) {
        struct oracle_list out = evaluate(e, &f->members[m], &at);
        for (size_t i = 0; i < out.count; i++) {
            INVARIANT(out.items[i].from < at.count && at.items != NULL);
            out.items[i].from = at.items[out.items[i].from].from;
        }
        oracle_list_free(&at);
        at = out;
    }
    return at;
}

static struct oracle_list evaluate_interleave(struct evaluation *e, const struct sto_filter *f,
                                              const struct oracle_list *in)
{
    struct oracle_list *branches = base_new_array(f->member_count, sizeof *branches);
    for (size_t m = 0; m < f->member_count; m++)
        branches[m] = evaluate(e, &f->members[m], in);
    struct oracle_list out = {0};
    for (size_t from = 0; from < in->count; from++)
        for (size_t m = 0; m < f->member_count; m++)
            for (size_t i = 0; i < branches[m].count; i++)
                if (branches[m].items[i].from == from)
                    oracle_list_add(&out, branches[m].items[i]);
    for (size_t m = 0; m < f->member_count; m++)
        oracle_list_free(&branches[m]);
    base_free(branches);
    return out;
}

static struct oracle_list evaluate(struct evaluation *e, const struct sto_filter *f,
                                   const struct oracle_list *in)
{
    if (f->kind == STO_FILTER_CHAIN)
        return evaluate_chain(e, f, in);
    if (f->kind == STO_FILTER_INTERLEAVE)
        return evaluate_interleave(e, f, in);
    if (f->kind != STO_FILTER_CONDITION)
        return evaluate_leaf(e, f, in);
    struct oracle_list predicate = evaluate(e, &f->members[0], in);
    bool is_true = predicate.count > 0;
    oracle_list_free(&predicate);
    return evaluate(e, &f->members[is_true ? 1 : 2], in);
}

struct oracle_list oracle_evaluate(const struct sto_filter *filter, const struct oracle_row *row,
                                   bool sampled)
{
    struct evaluation e = {.row_key = row->key, .sampled = sampled};
    struct oracle_list in = {0};
    for (size_t i = 0; i < row->count; i++)
        oracle_list_add(&in, (struct oracle_item){.cell = row->cells[i], .position = i});
    struct oracle_list out = evaluate(&e, filter, &in);
    for (size_t i = 0; i < out.count; i++)
        oracle_list_add(&e.output, out.items[i]);
    oracle_list_free(&out);
    oracle_list_free(&in);
    oracle_list_sort(&e.output);
    return e.output;
}

/* --- printing ---------------------------------------------------------------------------------
 */

static void print_bytes(FILE *to, struct slice s)
{
    (void)fputc('"', to);
    for (size_t i = 0; i < s.len; i++) {
        bool plain = s.ptr[i] > 0x1f && s.ptr[i] < 0x7f && s.ptr[i] != '"';
        (void)fprintf(to, plain ? "%c" : "\\x%02x", s.ptr[i]);
    }
    (void)fputc('"', to);
}

static void print_range(FILE *to, const struct sto_bytes_range *range)
{
    (void)fputc(range->start_exclusive ? '(' : '[', to);
    print_bytes(to, range->start);
    (void)fputs(", ", to);
    if (range->has_end)
        print_bytes(to, range->end);
    (void)fputc(range->end_inclusive ? ']' : ')', to);
}

static void print_arguments(FILE *to, const struct sto_filter *f)
{
    if (f->bytes.len > 0)
        print_bytes(to, f->bytes);
    if (f->kind == STO_FILTER_COLUMN_RANGE || f->kind == STO_FILTER_VALUE_RANGE)
        print_range(to, &f->range);
    if (f->kind == STO_FILTER_TIMESTAMP_RANGE)
        (void)fprintf(to, "%" PRId64 ", %" PRId64, f->start_us, f->end_us);
    if (f->count != 0)
        (void)fprintf(to, "%" PRId64, f->count);
    if (f->kind == STO_FILTER_ROW_SAMPLE)
        (void)fprintf(to, "%g", f->probability);
}

void oracle_print_filter(FILE *to, const struct sto_filter *f)
{
    (void)fprintf(to, "%s(", sto_filter_kind_name(f->kind));
    print_arguments(to, f);
    for (size_t i = 0; i < f->member_count; i++) {
        if (i > 0)
            (void)fputs(", ", to);
        oracle_print_filter(to, &f->members[i]);
    }
    (void)fputc(')', to);
}

static void print_cell(FILE *to, const struct sto_cell *cell)
{
    (void)fprintf(to, "  %s:", cell->family->name);
    print_bytes(to, cell->qualifier);
    (void)fprintf(to, " @%" PRId64 " = ", cell->timestamp_us);
    print_bytes(to, cell->value);
    if (cell->label.len > 0) {
        (void)fputs(" label ", to);
        print_bytes(to, cell->label);
    }
    (void)fputc('\n', to);
}

void oracle_print_row(FILE *to, const struct oracle_row *row)
{
    (void)fputs("row ", to);
    print_bytes(to, row->key);
    (void)fputc('\n', to);
    for (size_t i = 0; i < row->count; i++)
        print_cell(to, &row->cells[i]);
}

void oracle_print_list(FILE *to, const struct oracle_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        print_cell(to, &l->items[i].cell);
}
