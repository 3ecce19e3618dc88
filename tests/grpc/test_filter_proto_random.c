/*
 * tests/grpc/test_filter_proto_random.c - any filter: storage knows its size on the wire.
 */
#include <check.h>

#include "gateway/grpc/filter_proto.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_grpc_filter_proto_random(void);

enum { RANDOM_FILTERS = 20000, DEPTH_MAX = 6, MEMBERS_MAX = 3, TODO_MAX = 64 };

static struct arena arena;

static void teardown(void)
{
    base_arena_fini(&arena);
}

/* --- values ------------------------------------------------------------------------------------
 */

static void *make(size_t bytes)
{
    void *memory = base_arena_zalloc(&arena, bytes);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

static ProtobufCBinaryData random_bytes(struct random *r, uint32_t least)
{
    size_t len = least + random_below(r, random_below(r, 8) == 0 ? 300 : 5);
    uint8_t *bytes = make(len + 1);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)('a' + random_below(r, 26));
    return (ProtobufCBinaryData){len, bytes};
}

static char *random_text(struct random *r)
{
    return (char *)random_bytes(r, 1).data;
}

static int64_t random_number(struct random *r)
{
    return (int64_t)(random_next(r) >> random_below(r, 64)) * (random_below(r, 8) == 0 ? -1 : 1);
}

/* A closed start that is empty says nothing, and storage does not keep that it was said. */
static void random_column_range(struct random *r, Bt__ColumnRange *range)
{
    bt__column_range__init(range);
    range->family_name = random_text(r);
    uint32_t start = random_below(r, 3);
    if (start != 0) {
        range->start_qualifier_case = start == 1
                                          ? BT__COLUMN_RANGE__START_QUALIFIER_START_QUALIFIER_CLOSED
                                          : BT__COLUMN_RANGE__START_QUALIFIER_START_QUALIFIER_OPEN;
        range->start_qualifier_open = random_bytes(r, start == 1 ? 1 : 0);
    }
    uint32_t end = random_below(r, 3);
    if (end != 0) {
        range->end_qualifier_case = end == 1 ? BT__COLUMN_RANGE__END_QUALIFIER_END_QUALIFIER_CLOSED
                                             : BT__COLUMN_RANGE__END_QUALIFIER_END_QUALIFIER_OPEN;
        range->end_qualifier_open = random_bytes(r, 0);
    }
}

static void random_value_range(struct random *r, Bt__ValueRange *range)
{
    bt__value_range__init(range);
    uint32_t start = random_below(r, 3);
    if (start != 0) {
        range->start_value_case = start == 1 ? BT__VALUE_RANGE__START_VALUE_START_VALUE_CLOSED
                                             : BT__VALUE_RANGE__START_VALUE_START_VALUE_OPEN;
        range->start_value_open = random_bytes(r, start == 1 ? 1 : 0);
    }
    uint32_t end = random_below(r, 3);
    if (end != 0) {
        range->end_value_case = end == 1 ? BT__VALUE_RANGE__END_VALUE_END_VALUE_CLOSED
                                         : BT__VALUE_RANGE__END_VALUE_END_VALUE_OPEN;
        range->end_value_open = random_bytes(r, 0);
    }
}

static void random_range(struct random *r, Bt__RowFilter *f)
{
    switch (random_below(r, 4)) {
    case 0:
        f->filter_case = BT__ROW_FILTER__FILTER_COLUMN_RANGE_FILTER;
        random_column_range(r, f->column_range_filter = make(sizeof(Bt__ColumnRange)));
        break;
    case 1:
        f->filter_case = BT__ROW_FILTER__FILTER_VALUE_RANGE_FILTER;
        random_value_range(r, f->value_range_filter = make(sizeof(Bt__ValueRange)));
        break;
    case 2:
        f->filter_case = BT__ROW_FILTER__FILTER_TIMESTAMP_RANGE_FILTER;
        f->timestamp_range_filter = make(sizeof(Bt__TimestampRange));
        bt__timestamp_range__init(f->timestamp_range_filter);
        f->timestamp_range_filter->start_timestamp_micros = random_number(r);
        f->timestamp_range_filter->end_timestamp_micros = random_number(r);
        break;
    default:
        f->filter_case = BT__ROW_FILTER__FILTER_VALUE_BITMASK_FILTER;
        f->value_bitmask_filter = make(sizeof(Bt__ValueBitmask));
        bt__value_bitmask__init(f->value_bitmask_filter);
        f->value_bitmask_filter->mask = random_bytes(r, 0);
        break;
    }
}

static void random_leaf(struct random *r, Bt__RowFilter *f)
{
    static const Bt__RowFilter__FilterCase flags[] = {
        BT__ROW_FILTER__FILTER_SINK, BT__ROW_FILTER__FILTER_PASS_ALL_FILTER,
        BT__ROW_FILTER__FILTER_BLOCK_ALL_FILTER, BT__ROW_FILTER__FILTER_STRIP_VALUE_TRANSFORMER};
    static const Bt__RowFilter__FilterCase patterns[] = {
        BT__ROW_FILTER__FILTER_ROW_KEY_REGEX_FILTER, BT__ROW_FILTER__FILTER_VALUE_REGEX_FILTER,
        BT__ROW_FILTER__FILTER_COLUMN_QUALIFIER_REGEX_FILTER};
    static const Bt__RowFilter__FilterCase texts[] = {
        BT__ROW_FILTER__FILTER_FAMILY_NAME_REGEX_FILTER,
        BT__ROW_FILTER__FILTER_APPLY_LABEL_TRANSFORMER};
    static const Bt__RowFilter__FilterCase counts[] = {
        BT__ROW_FILTER__FILTER_CELLS_PER_ROW_OFFSET_FILTER,
        BT__ROW_FILTER__FILTER_CELLS_PER_ROW_LIMIT_FILTER,
        BT__ROW_FILTER__FILTER_CELLS_PER_COLUMN_LIMIT_FILTER};
    switch (random_below(r, 6)) {
    case 0:
        f->filter_case = flags[random_below(r, 4)];
        f->sink = true;
        break;
    case 1:
        f->filter_case = patterns[random_below(r, 3)];
        f->value_regex_filter = random_bytes(r, 0);
        break;
    case 2:
        f->filter_case = texts[random_below(r, 2)];
        f->apply_label_transformer = random_text(r);
        break;
    case 3:
        f->filter_case = counts[random_below(r, 3)];
        f->cells_per_row_limit_filter = (int32_t)random_number(r);
        break;
    case 4:
        f->filter_case = BT__ROW_FILTER__FILTER_ROW_SAMPLE_FILTER;
        f->row_sample_filter = 1.0 / (1 + random_below(r, 100));
        break;
    default:
        random_range(r, f);
        break;
    }
}

/* --- trees -------------------------------------------------------------------------------------
 */

struct todo {
    Bt__RowFilter *filter;
    size_t depth;
};

/* Filters whose members are still to be made. */
struct maker {
    struct random *random;
    struct todo todo[TODO_MAX];
    size_t count;
};

static Bt__RowFilter *member(struct maker *m, size_t depth)
{
    Bt__RowFilter *f = make(sizeof *f);
    bt__row_filter__init(f);
    if (depth < DEPTH_MAX && m->count < TODO_MAX)
        m->todo[m->count++] = (struct todo){f, depth};
    else
        random_leaf(m->random, f);
    return f;
}

static Bt__RowFilter **members(struct maker *m, size_t count, size_t depth)
{
    Bt__RowFilter **list = make((count + 1) * sizeof(Bt__RowFilter *));
    for (size_t i = 0; i < count; i++)
        list[i] = member(m, depth);
    return list;
}

static Bt__RowFilter *optional(struct maker *m, size_t depth)
{
    return random_below(m->random, 3) == 0 ? NULL : member(m, depth);
}

static void random_node(struct maker *m, struct todo at)
{
    Bt__RowFilter *f = at.filter;
    uint32_t choice = random_below(m->random, 5);
    size_t count = random_below(m->random, MEMBERS_MAX + 1);
    if (choice == 0) {
        f->filter_case = BT__ROW_FILTER__FILTER_CHAIN;
        bt__row_filter__chain__init(f->chain = make(sizeof(Bt__RowFilter__Chain)));
        f->chain->filters = members(m, count, at.depth + 1);
        f->chain->n_filters = count;
    } else if (choice == 1) {
        f->filter_case = BT__ROW_FILTER__FILTER_INTERLEAVE;
        bt__row_filter__interleave__init(f->interleave = make(sizeof(Bt__RowFilter__Interleave)));
        f->interleave->filters = members(m, count, at.depth + 1);
        f->interleave->n_filters = count;
    } else if (choice == 2) {
        f->filter_case = BT__ROW_FILTER__FILTER_CONDITION;
        bt__row_filter__condition__init(f->condition = make(sizeof(Bt__RowFilter__Condition)));
        f->condition->predicate_filter = optional(m, at.depth + 1);
        f->condition->true_filter = optional(m, at.depth + 1);
        f->condition->false_filter = optional(m, at.depth + 1);
    } else {
        random_leaf(m->random, f);
    }
}

START_TEST(storage_knows_the_size_of_any_filter_on_the_wire)
{
    struct random random = {.state = 11};
    size_t large = 0;
    for (size_t i = 0; i < RANDOM_FILTERS; i++) {
        struct maker m = {.random = &random};
        base_arena_fini(&arena);
        base_arena_init(&arena, 64 * MIB);
        Bt__RowFilter *root = member(&m, 0);
        while (m.count > 0)
            random_node(&m, m.todo[--m.count]);
        struct sto_filter filter;
        struct errbuf eb;
        ck_assert_int_eq(gw_filter_from_proto(root, &arena, &filter, &eb), ERR_OK);
        size_t bytes = bt__row_filter__get_packed_size(root);
        ck_assert_uint_eq(sto_filter_wire_bytes(&filter), bytes);
        large += bytes > 128;
    }
    ck_assert_uint_gt(large, RANDOM_FILTERS / 20);
}
END_TEST

Suite *suite_grpc_filter_proto_random(void);
Suite *suite_grpc_filter_proto_random(void)
{
    Suite *s = suite_create("grpc_filter_proto_random");
    TCase *tc = tcase_create("any filter");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_test(tc, storage_knows_the_size_of_any_filter_on_the_wire);
    suite_add_tcase(s, tc);
    return s;
}
