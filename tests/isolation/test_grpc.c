/*
 * tests/isolation/test_grpc.c - no gRPC method shows or changes a byte of another tenant's rows.
 */
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "base/alloc.h"
#include "grpc_tenants.h"
#include "tests/support/copies.h"

#define TABLES "/google.bigtable.admin.v2.BigtableTableAdmin/"

/* --- reading -----------------------------------------------------------------------------------
 */

START_TEST(an_empty_row_set_is_the_tenants_own_table)
{
    if (_i >= 1)
        request.rows = &rows;
    if (_i == 2) {
        rows.n_row_ranges = 1;
        rows.row_ranges = ranges;
    }
    read_as(OWN);
    for (size_t i = 0; i < KEY_COUNT; i++)
        expect_key(OWN, KEYS[i]);
    expect_read();
}
END_TEST

/* Bounds of ranges: none, or one of these, open or closed. */
static const char *const BOUNDS[] = {
    NULL,  "\x01", "#",        "-eu#devices#a",           "acme", "acme-eu#devices#a",
    "row", "\xff", "\xff\xff", "\xff\xff\xff\xff\xff\xff"};
#define BOUND_COUNT (sizeof BOUNDS / sizeof BOUNDS[0])

static bool is_within(const char *key, const char *start, bool start_open, const char *end,
                      bool end_open)
{
    int after_start = start == NULL ? 1 : strcmp(key, start);
    int before_end = end == NULL ? 1 : strcmp(end, key);
    return after_start >= (start_open ? 1 : 0) && before_end >= (end_open ? 1 : 0);
}

static void set_range(const char *start, bool start_open, const char *end, bool end_open)
{
    bt__row_range__init(&range);
    if (start != NULL) {
        range.start_key_case = start_open ? BT__ROW_RANGE__START_KEY_START_KEY_OPEN
                                          : BT__ROW_RANGE__START_KEY_START_KEY_CLOSED;
        range.start_key_closed = binary(start);
    }
    if (end != NULL) {
        range.end_key_case =
            end_open ? BT__ROW_RANGE__END_KEY_END_KEY_OPEN : BT__ROW_RANGE__END_KEY_END_KEY_CLOSED;
        range.end_key_closed = binary(end);
    }
    rows.n_row_ranges = 1;
    rows.row_ranges = ranges;
    request.rows = &rows;
}

static void forget_calls(struct grpc_client *c)
{
    grpc_close(c);
    grpc_open(c, &server, worlds[OWN].key, 0);
}

/* Each of the four kinds of bounds, each with every bound, and ranges without one. */
START_TEST(bounds_do_not_reach_beyond_the_tenant)
{
    bool start_open = _i % 2 == 1, end_open = _i / 2 == 1;
    for (size_t a = 0; a < BOUND_COUNT; a++) {
        for (size_t b = 0; b < BOUND_COUNT; b++) {
            bool is_empty =
                BOUNDS[a] != NULL && BOUNDS[b] != NULL && strcmp(BOUNDS[a], BOUNDS[b]) >= 0;
            if (is_empty)
                continue;
            set_range(BOUNDS[a], start_open, BOUNDS[b], end_open);
            read_as(OWN);
            for (size_t i = 0; i < KEY_COUNT; i++)
                if (is_within(KEYS[i], BOUNDS[a], start_open, BOUNDS[b], end_open))
                    expect_key(OWN, KEYS[i]);
            expect_read();
            if (clients[OWN].count == GRPC_CALLS)
                forget_calls(&clients[OWN]);
        }
    }
}
END_TEST

START_TEST(reversed_scans_stay_in_the_tenant)
{
    request.reversed = true;
    request.table_name = names[OWN];
    const struct grpc_call *call = ask(DATA "ReadRows", &request.base);
    expect_ok(call);
    reader.reversed = true;
    ck_assert_uint_eq(chunk_reader_feed(&reader, base_buf_slice(&call->body)), call->body.len);
    for (size_t i = KEY_COUNT; i > 0; i--)
        expect_key(OWN, KEYS[i - 1]);
    expect_read();
}
END_TEST

START_TEST(row_keys_are_the_tenants_own)
{
    request.rows = &rows;
    rows.row_keys = keys;
    rows.n_row_keys = 4;
    keys[0] = binary("acme-eu#devices#a"); /* one of its own rows */
    keys[1] = binary("acme-eu#devices#z");
    keys[2] = binary("acme#devices#a");
    keys[3] = binary("../acme-eu/devices/a");
    read_as(OWN);
    expect_key(OWN, "acme-eu#devices#a");
    expect_read();
}
END_TEST

/* A regular expression sees the key as the tenant wrote it, whole. */
START_TEST(row_key_expressions_see_the_tenants_keys)
{
    static const char *const patterns[] = {"acme.*", "^a$", "acme#.*", ".*#devices#.*"};
    static const char *const wanted[][3] = {{"acme", "acme-eu#devices#a", NULL},
                                            {"a", NULL, NULL},
                                            {NULL, NULL, NULL},
                                            {"-eu#devices#a", "acme-eu#devices#a", NULL}};
    filter.filter_case = BT__ROW_FILTER__FILTER_ROW_KEY_REGEX_FILTER;
    filter.row_key_regex_filter = binary(patterns[_i]);
    request.filter = &filter;
    read_as(OWN);
    for (size_t i = 0; wanted[_i][i] != NULL; i++)
        expect_key(OWN, wanted[_i][i]);
    expect_read();
}
END_TEST

static void fill(struct world *w, int count)
{
    struct buf body;
    base_buf_init(&body, 16 * MIB);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(base_buf_printf(&body,
                                         "{\"key\":\"fill%05d\",\"cells\":{\"raw\":{\"v\":{"
                                         "\"value\":\"%0100d\",\"timestamp\":\"1000\"}}}}\n",
                                         i, i),
                         ERR_OK);
    http_once(w->http, "Content-Type: application/x-ndjson");
    http_bytes(w->http, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
    EXPECT_STATUS(w->http, 200);
    base_buf_fini(&body);
}

static void use_filter_of_nothing(void)
{
    filter.filter_case = BT__ROW_FILTER__FILTER_VALUE_REGEX_FILTER;
    filter.value_regex_filter = binary("0*x");
    request.filter = &filter;
}

START_TEST(the_key_scanned_last_is_the_tenants_own)
{
    fill(&worlds[OWN], 30000);
    fill(&worlds[BEHIND], 1000);
    use_filter_of_nothing();
    request.reversed = _i == 1;
    request.table_name = names[OWN];
    const struct grpc_call *call = ask(DATA "ReadRows", &request.base);
    expect_ok(call);
    expect_no_leak(call);
    reader.reversed = _i == 1;
    ck_assert_uint_eq(chunk_reader_feed(&reader, base_buf_slice(&call->body)), call->body.len);
    ck_assert_uint_ge(reader.scanned_count, 1);
    ck_assert(base_slice_starts_with(base_buf_slice(&reader.bound), SLICE_LIT("fill")));
    ck_assert_uint_eq(reader.bound.len, 9);
}
END_TEST

/* Clients skip it by its name: it is the row's key, without what it is stored under. */
START_TEST(a_row_too_large_is_named_by_the_tenants_own_key)
{
    const size_t len = 10 * MIB;
    char *value = base_new(len);
    struct buf key;
    memset(value, 'v', len);
    base_buf_init(&key, LIM_ROW_KEY);
    http_bytes(worlds[OWN].http, "PUT", base_slice(value, len),
               "/v1/tables/devices/cells/%s/raw/v?timestamp=1000", pcts(KEYS[2]));
    EXPECT_STATUS(worlds[OWN].http, 204);
    request.filter = copies_filter(27);
    const struct grpc_call *call = ask(DATA "ReadRows", &request.base);
    ck_assert_int_eq(call->status, GW_STATUS_FAILED_PRECONDITION);
    grpc_large_row_key(call, &key);
    ck_assert(base_slice_is(base_buf_slice(&key), KEYS[2]));
    base_buf_fini(&key);
    base_free(value);
}
END_TEST

START_TEST(statistics_count_the_tenants_own_rows)
{
    fill(&worlds[BEFORE], 500);
    fill(&worlds[BEHIND], 500);
    use_filter_of_nothing();
    request.request_stats_view = BT__READ_ROWS_REQUEST__REQUEST_STATS_VIEW__REQUEST_STATS_FULL;
    read_as(OWN);
    ck_assert(reader.has_stats);
    ck_assert_int_eq(reader.rows_seen, KEY_COUNT);
    ck_assert_int_eq(reader.cells_seen, KEY_COUNT);
    ck_assert_int_eq(reader.rows_returned, 0);
}
END_TEST

/* --- samples -----------------------------------------------------------------------------------
 */

static bool is_own_key(struct slice key)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (base_slice_is(key, KEYS[i]))
            return true;
    return base_slice_starts_with(key, SLICE_LIT("fill")) && key.len == 9;
}

static struct grpc_call *sample(struct slice wanted_end)
{
    Bt__SampleRowKeysRequest r = BT__SAMPLE_ROW_KEYS_REQUEST__INIT;
    r.table_name = names[OWN];
    r.row_range = request.rows == NULL ? NULL : &range;
    struct grpc_call *call = ask(DATA "SampleRowKeys", &r.base);
    expect_ok(call);
    expect_no_leak(call);
    size_t count = grpc_message_count(call);
    ck_assert_uint_ge(count, 1);
    for (size_t n = 0; n < count; n++) {
        Bt__SampleRowKeysResponse *s = (Bt__SampleRowKeysResponse *)(void *)grpc_message_new(
            call, &bt__sample_row_keys_response__descriptor, n);
        struct slice key = base_slice(s->row_key.data, s->row_key.len);
        ck_assert(n + 1 == count ? base_slice_equal(key, wanted_end) : is_own_key(key));
        bt__sample_row_keys_response__free_unpacked(s, NULL);
    }
    return call;
}

/* Keys and offsets are the tenant's own: they are the same whatever its neighbours write. */
START_TEST(samples_do_not_change_when_neighbours_write)
{
    fill(&worlds[OWN], 20000);
    const struct grpc_call *before = sample(SLICE_EMPTY);
    fill(&worlds[BEFORE], 20000);
    fill(&worlds[BEHIND], 20000);
    const struct grpc_call *after = sample(SLICE_EMPTY);
    ck_assert(base_slice_equal(base_buf_slice(&before->body), base_buf_slice(&after->body)));
}
END_TEST

START_TEST(samples_of_a_range_end_where_the_range_does)
{
    fill(&worlds[OWN], 5000);
    fill(&worlds[BEHIND], 5000);
    set_range("a", false, "\xff\xff\xff", true);
    (void)sample(SLICE_LIT("\xff\xff\xff"));
    set_range("\xff\xff\xff", false, NULL, false);
    (void)sample(SLICE_EMPTY);
}
END_TEST

/* --- writing -----------------------------------------------------------------------------------
 */

START_TEST(modified_rows_come_with_the_tenants_key)
{
    Bt__ReadModifyWriteRowRequest r = BT__READ_MODIFY_WRITE_ROW_REQUEST__INIT;
    Bt__ReadModifyWriteRule rule = BT__READ_MODIFY_WRITE_RULE__INIT;
    Bt__ReadModifyWriteRule *rules[1] = {&rule};
    rule.family_name = (char *)(uintptr_t) "stats";
    rule.column_qualifier = binary("q");
    rule.rule_case = BT__READ_MODIFY_WRITE_RULE__RULE_APPEND_VALUE;
    rule.append_value = binary("!");
    r.table_name = names[OWN];
    r.row_key = binary("acme-eu#devices#a");
    r.rules = rules;
    r.n_rules = 1;
    const struct grpc_call *call = ask(DATA "ReadModifyWriteRow", &r.base);
    expect_ok(call);
    Bt__ReadModifyWriteRowResponse *reply =
        (Bt__ReadModifyWriteRowResponse *)(void *)grpc_message_new(
            call, &bt__read_modify_write_row_response__descriptor, 0);
    ck_assert(
        base_slice_is(base_slice(reply->row->key.data, reply->row->key.len), "acme-eu#devices#a"));
    const ProtobufCBinaryData *value = &reply->row->families[0]->columns[0]->cells[0]->value;
    ck_assert(base_slice_is(base_slice(value->data, value->len), "canarybravo!"));
    bt__read_modify_write_row_response__free_unpacked(reply, NULL);
    expect_neighbours_untouched();
}
END_TEST

START_TEST(writes_touch_the_tenants_own_rows)
{
    Bt__MutateRowsRequest r = BT__MUTATE_ROWS_REQUEST__INIT;
    Bt__MutateRowsRequest__Entry entries[KEY_COUNT];
    Bt__MutateRowsRequest__Entry *list[KEY_COUNT];
    make_mutation("changed");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        bt__mutate_rows_request__entry__init(&entries[i]);
        entries[i].row_key = binary(KEYS[i]);
        entries[i].mutations = mutations;
        entries[i].n_mutations = 1;
        list[i] = &entries[i];
    }
    r.table_name = names[OWN];
    r.entries = list;
    r.n_entries = KEY_COUNT;
    const struct grpc_call *call = ask(DATA "MutateRows", &r.base);
    expect_ok(call);
    expect_no_leak(call);
    read_as(OWN);
    ck_assert_uint_eq(reader.row_count, KEY_COUNT);
    ck_assert(!contains(base_buf_slice(&reader.rows), "canary"));
    expect_neighbours_untouched();
}
END_TEST

/* The condition looks at the tenant's own row: a neighbour's of the same key does not count. */
START_TEST(conditions_look_at_the_tenants_own_row)
{
    Bt__CheckAndMutateRowRequest r = BT__CHECK_AND_MUTATE_ROW_REQUEST__INIT;
    make_mutation("changed");
    tenant_put(worlds[BEHIND].http, "devices", "only", "stats", "q", "v");
    r.table_name = names[OWN];
    r.row_key = binary("only");
    r.true_mutations = mutations;
    r.n_true_mutations = 1;
    const struct grpc_call *call = ask(DATA "CheckAndMutateRow", &r.base);
    expect_ok(call);
    Bt__CheckAndMutateRowResponse *reply =
        (Bt__CheckAndMutateRowResponse *)(void *)grpc_message_new(
            call, &bt__check_and_mutate_row_response__descriptor, 0);
    ck_assert(!reply->predicate_matched);
    bt__check_and_mutate_row_response__free_unpacked(reply, NULL);
}
END_TEST

START_TEST(drops_remove_the_tenants_own_rows)
{
    static const char *const prefixes[] = {"acme", "-eu#devices#", "\xff", NULL};
    Bta__DropRowRangeRequest r = BTA__DROP_ROW_RANGE_REQUEST__INIT;
    r.name = names[OWN];
    r.target_case = prefixes[_i] == NULL
                        ? BTA__DROP_ROW_RANGE_REQUEST__TARGET_DELETE_ALL_DATA_FROM_TABLE
                        : BTA__DROP_ROW_RANGE_REQUEST__TARGET_ROW_KEY_PREFIX;
    if (prefixes[_i] == NULL)
        r.delete_all_data_from_table = true;
    else
        r.row_key_prefix = binary(prefixes[_i]);
    expect_ok(ask(TABLES "DropRowRange", &r.base));
    read_as(OWN);
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (prefixes[_i] != NULL &&
            !base_slice_starts_with(base_slice_text(KEYS[i]), base_slice_text(prefixes[_i])))
            expect_key(OWN, KEYS[i]);
    expect_read();
    expect_neighbours_untouched();
}
END_TEST

Suite *suite_isolation_grpc(void);
Suite *suite_isolation_grpc(void)
{
    Suite *s = suite_create("isolation_grpc");
    TCase *tc = add_case(s, "reads");
    tcase_add_loop_test(tc, an_empty_row_set_is_the_tenants_own_table, 0, 3);
    tcase_add_loop_test(tc, bounds_do_not_reach_beyond_the_tenant, 0, 4);
    tcase_add_test(tc, reversed_scans_stay_in_the_tenant);
    tcase_add_test(tc, row_keys_are_the_tenants_own);
    tcase_add_loop_test(tc, row_key_expressions_see_the_tenants_keys, 0, 4);
    tcase_add_loop_test(tc, the_key_scanned_last_is_the_tenants_own, 0, 2);
    tcase_add_test(tc, a_row_too_large_is_named_by_the_tenants_own_key);
    tcase_add_test(tc, statistics_count_the_tenants_own_rows);
    tcase_add_test(tc, samples_do_not_change_when_neighbours_write);
    tcase_add_test(tc, samples_of_a_range_end_where_the_range_does);
    tc = add_case(s, "writes");
    tcase_add_test(tc, modified_rows_come_with_the_tenants_key);
    tcase_add_test(tc, writes_touch_the_tenants_own_rows);
    tcase_add_test(tc, conditions_look_at_the_tenants_own_row);
    tcase_add_loop_test(tc, drops_remove_the_tenants_own_rows, 0, 4);
    return s;
}
