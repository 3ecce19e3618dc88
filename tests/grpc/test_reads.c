/*
 * tests/grpc/test_reads.c - ReadRows of a real server: which rows come, and what is refused.
 */
#include "reads.h"

#include "base/banned.h"

/* --- which rows --------------------------------------------------------------------------------
 */

START_TEST(no_row_set_is_every_row_of_this_tenant)
{
    struct world other;
    world_init(&other, HTTP_2);
    put_all(other.http, "axz");
    put_all(w.http, "abc");
    read_rows();
    expect_rows("abc");
    world_fini(&other);
}
END_TEST

START_TEST(an_empty_row_set_is_every_row)
{
    put_all(w.http, "abc");
    request.rows = &rows;
    read_rows();
    expect_rows("abc");
}
END_TEST

START_TEST(an_empty_table_gives_nothing)
{
    read_rows();
    ck_assert_uint_eq(reader.message_count, 0);
}
END_TEST

START_TEST(ranges_are_open_or_closed)
{
    static const char *const wanted[] = {"bcd", "bc", "cd", "c"};
    put_all(w.http, "abcde");
    bool start_open = _i >= 2;
    bool end_open = _i % 2 == 1;
    range.start_key_case = start_open ? BT__ROW_RANGE__START_KEY_START_KEY_OPEN
                                      : BT__ROW_RANGE__START_KEY_START_KEY_CLOSED;
    range.start_key_closed = data_of("b");
    range.end_key_case =
        end_open ? BT__ROW_RANGE__END_KEY_END_KEY_OPEN : BT__ROW_RANGE__END_KEY_END_KEY_CLOSED;
    range.end_key_closed = data_of("d");
    use_range();
    read_rows();
    expect_rows(wanted[_i]);
}
END_TEST

START_TEST(keys_and_ranges_that_overlap_give_each_row_once)
{
    put_all(w.http, "abcde");
    keys[0] = data_of("e");
    keys[1] = data_of("c");
    keys[2] = data_of("c");
    keys[3] = data_of("nothing");
    range.start_key_case = BT__ROW_RANGE__START_KEY_START_KEY_CLOSED;
    range.start_key_closed = data_of("b");
    range.end_key_case = BT__ROW_RANGE__END_KEY_END_KEY_OPEN;
    range.end_key_open = data_of("d");
    use_keys(4);
    use_range();
    read_rows();
    expect_rows("bce");
}
END_TEST

START_TEST(one_key_gives_its_row_or_nothing)
{
    put_all(w.http, "ab");
    keys[0] = data_of("b");
    use_keys(1);
    read_rows();
    expect_rows("b");
    keys[0] = data_of("c");
    const struct grpc_call *call = grpc_ask(&client, READ_ROWS, &request.base);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    ck_assert_uint_eq(call->body.len, 0);
}
END_TEST

START_TEST(a_set_of_many_keys_is_taken)
{
    static ProtobufCBinaryData many[5000];
    static char names[5000][8];
    put_all(w.http, "abc");
    put(w.http, "k0042");
    for (size_t i = 0; i < 5000; i++) {
        (void)snprintf(names[i], sizeof names[i], "k%04zu", (i * 7) % 5000);
        many[i] = data_of(names[i]);
    }
    rows.n_row_keys = 5000;
    rows.row_keys = many;
    request.rows = &rows;
    read_rows();
    ck_assert_uint_eq(reader.row_count, 1);
}
END_TEST

START_TEST(the_limit_counts_rows_given)
{
    put_all(w.http, "abcde");
    request.rows_limit = 2;
    read_rows();
    expect_rows("ab");
}
END_TEST

START_TEST(reversed_begins_with_the_last_row)
{
    put_all(w.http, "abcde");
    request.reversed = true;
    request.rows_limit = 3;
    reader.reversed = true;
    read_rows();
    expect_rows("edc");
}
END_TEST

START_TEST(a_filter_chooses_cells)
{
    put_all(w.http, "abc");
    filter.filter_case = BT__ROW_FILTER__FILTER_ROW_KEY_REGEX_FILTER;
    filter.row_key_regex_filter = data_of("[bc]");
    request.filter = &filter;
    read_rows();
    expect_rows("bc");
}
END_TEST

/* --- what is refused ---------------------------------------------------------------------------
 */

START_TEST(requests_that_make_no_sense_are_refused)
{
    char view[WORLD_ID + 128];
    request.rows_limit = -1;
    expect_refused(GW_STATUS_INVALID_ARGUMENT, "rows_limit");
    request.rows_limit = 0;
    filter.filter_case = BT__ROW_FILTER__FILTER_ROW_KEY_REGEX_FILTER;
    filter.row_key_regex_filter = data_of("");
    request.filter = &filter;
    expect_refused(GW_STATUS_INVALID_ARGUMENT, "row_key_regex must not be empty");
    request.filter = NULL;
    keys[0] = data_of("");
    use_keys(1);
    expect_refused(GW_STATUS_INVALID_ARGUMENT, "non-empty");
    request.rows = NULL;
    request.filter = &filter;
    expect_refused(GW_STATUS_INVALID_ARGUMENT, "");
    request.filter = NULL;
    request.materialized_view_name = table;
    expect_refused(GW_STATUS_UNIMPLEMENTED, "materialized");
    request.materialized_view_name = (char *)(uintptr_t)protobuf_c_empty_string;
    (void)snprintf(view, sizeof view, "%s/authorizedViews/v", table);
    request.table_name = (char *)(uintptr_t)protobuf_c_empty_string;
    request.authorized_view_name = view;
    expect_refused(GW_STATUS_NOT_FOUND, "view");
}
END_TEST

START_TEST(a_table_that_is_not_there_is_not_found)
{
    char name[WORLD_ID + 64];
    (void)snprintf(name, sizeof name, "projects/%s/instances/main/tables/nothing", w.tenant);
    request.table_name = name;
    expect_refused(GW_STATUS_NOT_FOUND, "");
}
END_TEST

START_TEST(a_neighbours_table_cannot_be_read)
{
    struct world other;
    char name[WORLD_ID + 64];
    world_init(&other, HTTP_2);
    put_all(other.http, "secret");
    (void)snprintf(name, sizeof name, "projects/%s/instances/main/tables/devices", other.tenant);
    request.table_name = name;
    expect_refused(GW_STATUS_PERMISSION_DENIED, "");
    world_fini(&other);
}
END_TEST

/* --- beside the rows ---------------------------------------------------------------------------
 */

START_TEST(statistics_come_last_even_of_nothing)
{
    request.request_stats_view = BT__READ_ROWS_REQUEST__REQUEST_STATS_VIEW__REQUEST_STATS_FULL;
    read_rows();
    ck_assert(reader.has_stats);
    ck_assert_int_eq(reader.rows_seen, 0);
    put_all(w.http, "abc");
    chunk_reader_fini(&reader);
    chunk_reader_init(&reader);
    use_filter_of_nothing();
    filter.value_regex_filter = data_of("v");
    request.rows_limit = 2;
    read_rows();
    expect_rows("ab");
    ck_assert(reader.has_stats);
    ck_assert_int_eq(reader.rows_returned, 2);
    ck_assert_int_eq(reader.rows_seen, 2);
    ck_assert_int_eq(reader.cells_returned, 2);
    ck_assert_int_ge(reader.cells_seen, 2);
}
END_TEST

Suite *suite_grpc_reads(void);
Suite *suite_grpc_reads(void);
Suite *suite_grpc_reads(void)
{
    Suite *s = suite_create("grpc_reads");
    TCase *tc = add_case(s, "rows");
    tcase_add_test(tc, no_row_set_is_every_row_of_this_tenant);
    tcase_add_test(tc, an_empty_row_set_is_every_row);
    tcase_add_test(tc, an_empty_table_gives_nothing);
    tcase_add_loop_test(tc, ranges_are_open_or_closed, 0, 4);
    tcase_add_test(tc, keys_and_ranges_that_overlap_give_each_row_once);
    tcase_add_test(tc, one_key_gives_its_row_or_nothing);
    tcase_add_test(tc, a_set_of_many_keys_is_taken);
    tcase_add_test(tc, the_limit_counts_rows_given);
    tcase_add_test(tc, reversed_begins_with_the_last_row);
    tcase_add_test(tc, a_filter_chooses_cells);
    tcase_add_test(tc, requests_that_make_no_sense_are_refused);
    tcase_add_test(tc, a_table_that_is_not_there_is_not_found);
    tcase_add_test(tc, a_neighbours_table_cannot_be_read);
    tcase_add_test(tc, statistics_come_last_even_of_nothing);
    world_end(tc);
    return s;
}
