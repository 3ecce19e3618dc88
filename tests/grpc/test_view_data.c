/*
 * tests/grpc/test_view_data.c - every data RPC of a real server through an authorized view, inside
 * and outside.
 */
#include "views.h"

#include "base/banned.h"

Suite *suite_grpc_view_data(void);

/* --- reading -----------------------------------------------------------------------------------
 */

static void put_cell(const char *key, const char *family, const char *qualifier)
{
    char body[256];
    (void)snprintf(body, sizeof body, "{'%s':{'%s':{'value':'v','timestamp':'1000'}}}", family,
                   qualifier);
    http_json(w.http, "PATCH", body, "/v1/tables/devices/rows/%s", key);
    ck_assert_msg(w.http->status <= 201, "%s", http_text(w.http));
}

/* Rows a, u1, u2 (nothing inside), u3, v. */
static void fill_rows(void)
{
    put_cell("a", "stats", "q");
    put_cell("u1", "stats", "n");
    put_cell("u1", "stats", "p1");
    put_cell("u1", "stats", "q");
    put_cell("u1", "stats", "qq");
    put_cell("u2", "stats", "n");
    put_cell("u3", "raw", "any");
    put_cell("v", "stats", "q");
    begin_with_view();
    request.table_name = text("");
    request.authorized_view_name = view_name;
    request.request_stats_view = BT__READ_ROWS_REQUEST__REQUEST_STATS_VIEW__REQUEST_STATS_FULL;
}

static void expect_cell(const char *key, const char *family, const char *qualifier)
{
    if (key != NULL)
        chunk_rows_begin(&expected, base_slice_text(key));
    chunk_rows_cell(&expected, base_slice_text(family), base_slice_text(qualifier), 1000,
                    SLICE_LIT("v"), SLICE_EMPTY);
}

static void expect_read(void)
{
    read_rows();
    ck_assert(base_slice_equal(base_buf_slice(&reader.rows), base_buf_slice(&expected)));
    ck_assert_uint_eq(reader.rows.len, expected.len);
}

START_TEST(a_read_gives_what_is_inside)
{
    fill_rows();
    expect_cell("u1", "stats", "p1");
    expect_cell(NULL, "stats", "q");
    expect_cell("u3", "raw", "any");
    expect_read();
    ck_assert_int_eq(reader.rows_seen, 2);
    ck_assert_int_eq(reader.cells_seen, 3);
}
END_TEST

START_TEST(rows_asked_for_outside_are_not_there)
{
    fill_rows();
    if (_i == 0) {
        range.start_key_case = BT__ROW_RANGE__START_KEY_START_KEY_CLOSED;
        range.start_key_closed = data_of("a");
        range.end_key_case = BT__ROW_RANGE__END_KEY_END_KEY_OPEN;
        range.end_key_open = data_of("u3");
        use_range();
    } else {
        keys[0] = data_of("a");
        keys[1] = data_of("u1");
        keys[2] = data_of("u2");
        keys[3] = data_of("v");
        use_keys(4);
    }
    expect_cell("u1", "stats", "p1");
    expect_cell(NULL, "stats", "q");
    expect_read();
}
END_TEST

START_TEST(a_single_row_is_inside_or_not_there)
{
    static const char *const rows_asked[] = {"a", "u1", "u2", "v"};
    fill_rows();
    keys[0] = data_of(rows_asked[_i]);
    use_keys(1);
    if (_i == 1) {
        expect_cell("u1", "stats", "p1");
        expect_cell(NULL, "stats", "q");
    }
    expect_read();
    ck_assert_int_eq(reader.rows_seen, _i == 1);
    ck_assert_int_eq(reader.cells_seen, _i == 1 ? 2 : 0);
}
END_TEST

START_TEST(filters_count_only_what_is_inside)
{
    fill_rows();
    filter.filter_case = BT__ROW_FILTER__FILTER_CELLS_PER_ROW_LIMIT_FILTER;
    filter.cells_per_row_limit_filter = 1; /* stats:n stands before */
    request.filter = &filter;
    expect_cell("u1", "stats", "p1");
    expect_cell("u3", "raw", "any");
    expect_read();
}
END_TEST

START_TEST(sinks_and_conditions_do_not_escape)
{
    Bt__RowFilter parts[3];
    Bt__RowFilter__Condition condition = BT__ROW_FILTER__CONDITION__INIT;
    fill_rows();
    for (size_t i = 0; i < 3; i++)
        bt__row_filter__init(&parts[i]);
    parts[0].filter_case = BT__ROW_FILTER__FILTER_COLUMN_QUALIFIER_REGEX_FILTER;
    parts[0].column_qualifier_regex_filter = data_of("n"); /* every u row's own, outside */
    parts[1].filter_case = BT__ROW_FILTER__FILTER_BLOCK_ALL_FILTER;
    parts[1].block_all_filter = true;
    parts[2].filter_case = BT__ROW_FILTER__FILTER_PASS_ALL_FILTER;
    parts[2].pass_all_filter = true;
    filter.filter_case = BT__ROW_FILTER__FILTER_CONDITION;
    filter.condition = &condition;
    condition.predicate_filter = &parts[0];
    condition.true_filter = &parts[1];
    condition.false_filter = &parts[2];
    if (_i == 1) {
        filter.filter_case = BT__ROW_FILTER__FILTER_SINK;
        filter.sink = true;
    }
    request.filter = &filter;
    expect_cell("u1", "stats", "p1");
    expect_cell(NULL, "stats", "q");
    expect_cell("u3", "raw", "any");
    expect_read();
}
END_TEST

START_TEST(a_table_and_its_view_are_not_named_together)
{
    fill_rows();
    request.table_name = table;
    expect_refused(GW_STATUS_INVALID_ARGUMENT, "both");
    request.table_name = text("");
    *strrchr(view_name, 'v') = 'x';
    expect_refused(GW_STATUS_NOT_FOUND, "view");
    request.authorized_view_name = table;
    expect_refused(GW_STATUS_INVALID_ARGUMENT, "authorizedViews");
}
END_TEST

/* The last sample's key and offset; all others of a view lie in it. */
static int64_t sample_end(const char *view, Bt__RowRange *row_range, char key[64],
                          size_t *out_count)
{
    Bt__SampleRowKeysRequest ask_samples = BT__SAMPLE_ROW_KEYS_REQUEST__INIT;
    int64_t offset = 0;
    ask_samples.row_range = row_range;
    ask_samples.table_name = view == NULL ? table : text("");
    ask_samples.authorized_view_name = text(view == NULL ? "" : view);
    ck_assert_int_eq(ask("/google.bigtable.v2.Bigtable/SampleRowKeys", &ask_samples.base),
                     GW_STATUS_OK);
    *out_count = grpc_message_count(call);
    for (size_t i = 0; i < *out_count; i++) {
        struct slice bytes = grpc_message(call, i);
        Bt__SampleRowKeysResponse *m =
            bt__sample_row_keys_response__unpack(NULL, bytes.len, bytes.ptr);
        ck_assert_ptr_nonnull(m);
        (void)snprintf(key, 64, "%.*s", (int)m->row_key.len, (const char *)m->row_key.data);
        ck_assert_msg(view == NULL || i + 1 == *out_count || strncmp(key, "row01", 5) == 0, "%s",
                      key);
        offset = m->offset_bytes;
        bt__sample_row_keys_response__free_unpacked(m, NULL);
    }
    return offset;
}

START_TEST(samples_lie_inside)
{
    struct subset s;
    char key[64];
    size_t all, inside, none;
    fill(3000, 10000);
    ck_assert_int_eq(create_view("v", subset_of(&s, "row01")), GW_STATUS_OK);
    int64_t whole = sample_end(NULL, NULL, key, &all);
    ck_assert_str_eq(key, "");
    int64_t part = sample_end(view_name, NULL, key, &inside);
    ck_assert_str_eq(key, "row02");
    ck_assert_uint_ge(inside, 2);
    ck_assert_uint_lt(inside, all);
    ck_assert_int_eq(part * 3, whole); /* row01000 to row01999 of 3000 */
    ck_assert_int_eq(create_view("none", subset_of(&s, "zzz")), GW_STATUS_OK);
    ck_assert_int_eq(sample_end(view_name, NULL, key, &none), 0);
    ck_assert_str_eq(key, "zz{");
    ck_assert_uint_eq(none, 1);
}
END_TEST

static void expect_sample_end(const char *start, const char *end, const char *wanted)
{
    char key[64];
    size_t count;
    bt__row_range__init(&range);
    range.start_key_case = BT__ROW_RANGE__START_KEY_START_KEY_CLOSED;
    range.start_key_closed = data_of(start);
    if (end != NULL) {
        range.end_key_case = BT__ROW_RANGE__END_KEY_END_KEY_OPEN;
        range.end_key_open = data_of(end);
    }
    (void)sample_end(view_name, &range, key, &count);
    ck_assert_str_eq(key, wanted);
}

START_TEST(samples_end_with_the_range_or_the_view)
{
    struct subset s;
    ProtobufCBinaryData prefixes[] = {data_of("u"), data_of("c")};
    Bta__AuthorizedView *view = subset_of(&s, "");
    s.subset.row_prefixes = prefixes;
    s.subset.n_row_prefixes = 2;
    ck_assert_int_eq(create_view("two", view), GW_STATUS_OK);
    expect_sample_end("a", NULL, "v");
    expect_sample_end("a", "x", "v");
    expect_sample_end("a", "u5", "u5");
    expect_sample_end("a", "b", "b");
    expect_sample_end("x", "y", "y");
    expect_sample_end("x", NULL, "");
    ck_assert_int_eq(create_view("all", subset_of(&s, "")), GW_STATUS_OK);
    expect_sample_end("a", NULL, "");
}
END_TEST

/* --- writing -----------------------------------------------------------------------------------
 */

static int mutate(const char *key, Bt__Mutation *mutation)
{
    Bt__MutateRowRequest ask_mutate = BT__MUTATE_ROW_REQUEST__INIT;
    ask_mutate.authorized_view_name = view_name;
    ask_mutate.row_key = data_of(key);
    ask_mutate.mutations = &mutation;
    ask_mutate.n_mutations = 1;
    return ask(BIGTABLE "MutateRow", &ask_mutate.base);
}

static void expect_stored_cell(const char *key, const char *family, const char *qualifier, bool is)
{
    http_get(w.http, "/v1/tables/devices/cells/%s/%s/%s", key, family, qualifier);
    EXPECT_STATUS(w.http, is ? 200 : 404);
}

START_TEST(cells_are_set_inside_only)
{
    struct set_cell s;
    begin_with_view();
    ck_assert_int_eq(mutate("u1", set_cell(&s, "stats", "q", "x")), GW_STATUS_OK);
    ck_assert_int_eq(mutate("u1", set_cell(&s, "stats", "pq", "x")), GW_STATUS_OK);
    ck_assert_int_eq(mutate("u1", set_cell(&s, "raw", "", "x")), GW_STATUS_OK);
    ck_assert_int_eq(mutate("u1", set_cell(&s, "stats", "r", "x")), GW_STATUS_PERMISSION_DENIED);
    ck_assert_ptr_nonnull(strstr(call->message, "\"r\""));
    ck_assert_int_eq(mutate("t", set_cell(&s, "stats", "q", "x")), GW_STATUS_PERMISSION_DENIED);
    ck_assert_ptr_nonnull(strstr(call->message, "row key"));
    expect_stored_cell("u1", "stats", "r", false);
    expect_stored_cell("t", "stats", "q", false);
    EXPECT_USAGE(admin_recount(w.op, w.tenant), tenant_usage(w.http).bytes, 1, 3);
}
END_TEST

START_TEST(deletes_reach_as_far_as_the_view)
{
    Bt__Mutation m = BT__MUTATION__INIT;
    Bt__Mutation__DeleteFromRow row = BT__MUTATION__DELETE_FROM_ROW__INIT;
    Bt__Mutation__DeleteFromFamily of_family = BT__MUTATION__DELETE_FROM_FAMILY__INIT;
    Bt__Mutation__DeleteFromColumn column = BT__MUTATION__DELETE_FROM_COLUMN__INIT;
    fill_rows();
    m.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_ROW;
    m.delete_from_row = &row;
    ck_assert_int_eq(mutate("u1", &m), GW_STATUS_PERMISSION_DENIED);
    m.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_FAMILY;
    m.delete_from_family = &of_family;
    of_family.family_name = text("stats");
    ck_assert_int_eq(mutate("u1", &m), GW_STATUS_PERMISSION_DENIED);
    of_family.family_name = text("raw");
    ck_assert_int_eq(mutate("u3", &m), GW_STATUS_OK);
    expect_stored_cell("u3", "raw", "any", false);
    m.mutation_case = BT__MUTATION__MUTATION_DELETE_FROM_COLUMN;
    m.delete_from_column = &column;
    column.family_name = text("stats");
    column.column_qualifier = data_of("n");
    ck_assert_int_eq(mutate("u1", &m), GW_STATUS_PERMISSION_DENIED);
    expect_stored_cell("u1", "stats", "n", true);
    column.column_qualifier = data_of("q");
    ck_assert_int_eq(mutate("u1", &m), GW_STATUS_OK);
    expect_stored_cell("u1", "stats", "q", false);
}
END_TEST

START_TEST(each_entry_of_many_is_inside_or_refused)
{
    struct set_cell sets[3];
    Bt__MutateRowsRequest ask_rows = BT__MUTATE_ROWS_REQUEST__INIT;
    Bt__MutateRowsRequest__Entry entries[3];
    Bt__MutateRowsRequest__Entry *list[3];
    Bt__Mutation *mutations[3] = {set_cell(&sets[0], "stats", "q", "x"),
                                  set_cell(&sets[1], "stats", "r", "x"),
                                  set_cell(&sets[2], "stats", "q", "x")};
    static const char *const row_keys[] = {"u1", "u2", "v"};
    int codes[3] = {-1, -1, -1};
    begin_with_view();
    for (size_t i = 0; i < 3; i++) {
        bt__mutate_rows_request__entry__init(&entries[i]);
        entries[i].row_key = data_of(row_keys[i]);
        entries[i].mutations = &mutations[i];
        entries[i].n_mutations = 1;
        list[i] = &entries[i];
    }
    ask_rows.authorized_view_name = view_name;
    ask_rows.entries = list;
    ask_rows.n_entries = 3;
    ck_assert_int_eq(ask(BIGTABLE "MutateRows", &ask_rows.base), GW_STATUS_OK);
    for (size_t n = 0; n < grpc_message_count(call); n++) {
        Bt__MutateRowsResponse *m = (Bt__MutateRowsResponse *)(void *)grpc_message_new(
            call, &bt__mutate_rows_response__descriptor, n);
        for (size_t i = 0; i < m->n_entries; i++)
            codes[m->entries[i]->index] = m->entries[i]->status->code;
        bt__mutate_rows_response__free_unpacked(m, NULL);
    }
    ck_assert_int_eq(codes[0], GW_STATUS_OK);
    ck_assert_int_eq(codes[1], GW_STATUS_PERMISSION_DENIED);
    ck_assert_int_eq(codes[2], GW_STATUS_PERMISSION_DENIED);
    EXPECT_USAGE(admin_recount(w.op, w.tenant), tenant_usage(w.http).bytes, 1, 1);
}
END_TEST

/* Whether the predicate matched; -1: refused. */
static int check_row(const char *key, Bt__RowFilter *predicate, Bt__Mutation *when_false)
{
    struct set_cell s;
    Bt__Mutation *yes[] = {set_cell(&s, "raw", "yes", "x")};
    Bt__CheckAndMutateRowRequest ask_check = BT__CHECK_AND_MUTATE_ROW_REQUEST__INIT;
    ask_check.authorized_view_name = view_name;
    ask_check.row_key = data_of(key);
    ask_check.predicate_filter = predicate;
    ask_check.true_mutations = yes;
    ask_check.n_true_mutations = 1;
    ask_check.false_mutations = &when_false;
    ask_check.n_false_mutations = when_false == NULL ? 0 : 1;
    if (ask(BIGTABLE "CheckAndMutateRow", &ask_check.base) != GW_STATUS_OK)
        return -1;
    Bt__CheckAndMutateRowResponse *m = (Bt__CheckAndMutateRowResponse *)(void *)grpc_message_new(
        call, &bt__check_and_mutate_row_response__descriptor, 0);
    int matched = m->predicate_matched;
    bt__check_and_mutate_row_response__free_unpacked(m, NULL);
    return matched;
}

START_TEST(a_predicate_sees_only_what_is_inside)
{
    struct set_cell s;
    fill_rows();
    filter.filter_case = BT__ROW_FILTER__FILTER_COLUMN_QUALIFIER_REGEX_FILTER;
    filter.column_qualifier_regex_filter = data_of("n");
    ck_assert_int_eq(check_row("u1", &filter, NULL), 0);
    filter.column_qualifier_regex_filter = data_of("q");
    ck_assert_int_eq(check_row("u1", &filter, NULL), 1);
    ck_assert_int_eq(check_row("u2", NULL, NULL), 0); /* the row has stats:n only */
    ck_assert_int_eq(check_row("u1", NULL, NULL), 1);
    ck_assert_int_eq(check_row("a", NULL, NULL), -1);
    ck_assert_int_eq(call->status, GW_STATUS_PERMISSION_DENIED);
    ck_assert_int_eq(check_row("u1", NULL, set_cell(&s, "stats", "n", "x")), -1);
    ck_assert_int_eq(call->status, GW_STATUS_PERMISSION_DENIED);
}
END_TEST

START_TEST(cells_are_modified_inside_only)
{
    static const struct {
        const char *key;
        const char *qualifier;
        int status;
    } tries[] = {{"u1", "q", GW_STATUS_OK},
                 {"u1", "n", GW_STATUS_PERMISSION_DENIED},
                 {"v", "q", GW_STATUS_PERMISSION_DENIED}};
    fill_rows();
    for (size_t i = 0; i < 3; i++) {
        Bt__ReadModifyWriteRowRequest ask_modify = BT__READ_MODIFY_WRITE_ROW_REQUEST__INIT;
        Bt__ReadModifyWriteRule rule = BT__READ_MODIFY_WRITE_RULE__INIT;
        Bt__ReadModifyWriteRule *list[] = {&rule};
        rule.family_name = text("stats");
        rule.column_qualifier = data_of(tries[i].qualifier);
        rule.rule_case = BT__READ_MODIFY_WRITE_RULE__RULE_APPEND_VALUE;
        rule.append_value = data_of("w");
        ask_modify.authorized_view_name = view_name;
        ask_modify.row_key = data_of(tries[i].key);
        ask_modify.rules = list;
        ask_modify.n_rules = 1;
        ck_assert_int_eq(ask(BIGTABLE "ReadModifyWriteRow", &ask_modify.base), tries[i].status);
        http_get(w.http, "/v1/tables/devices/cells/%s/stats/%s", tries[i].key, tries[i].qualifier);
        ck_assert_str_eq(http_text(w.http), i == 0 ? "vw" : "v");
    }
}
END_TEST

START_TEST(rows_are_not_dropped_through_a_view)
{
    Bta__DropRowRangeRequest drop = BTA__DROP_ROW_RANGE_REQUEST__INIT;
    fill_rows();
    drop.name = view_name;
    drop.target_case = BTA__DROP_ROW_RANGE_REQUEST__TARGET_ROW_KEY_PREFIX;
    drop.row_key_prefix = data_of("u");
    ck_assert_int_eq(ask(ADMIN "DropRowRange", &drop.base), GW_STATUS_INVALID_ARGUMENT);
    expect_stored_cell("u1", "stats", "q", true);
}
END_TEST

Suite *suite_grpc_view_data(void)
{
    Suite *s = suite_create("grpc_view_data");
    TCase *tc = add_case(s, "data");
    tcase_add_test(tc, a_read_gives_what_is_inside);
    tcase_add_loop_test(tc, rows_asked_for_outside_are_not_there, 0, 2);
    tcase_add_loop_test(tc, a_single_row_is_inside_or_not_there, 0, 4);
    tcase_add_test(tc, filters_count_only_what_is_inside);
    tcase_add_loop_test(tc, sinks_and_conditions_do_not_escape, 0, 2);
    tcase_add_test(tc, a_table_and_its_view_are_not_named_together);
    tcase_add_test(tc, samples_lie_inside);
    tcase_add_test(tc, samples_end_with_the_range_or_the_view);
    tcase_add_test(tc, cells_are_set_inside_only);
    tcase_add_test(tc, deletes_reach_as_far_as_the_view);
    tcase_add_test(tc, each_entry_of_many_is_inside_or_refused);
    tcase_add_test(tc, a_predicate_sees_only_what_is_inside);
    tcase_add_test(tc, cells_are_modified_inside_only);
    tcase_add_test(tc, rows_are_not_dropped_through_a_view);
    world_end(tc);
    return s;
}
