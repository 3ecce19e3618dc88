/*
 * tests/isolation/test_grpc_keys.c - row keys in other places than reads and writes of rows: deep
 * in filters, views, splits, change streams; and the longest ones.
 */
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "base/clock.h"
#include "grpc_tenants.h"
#include "tests/isolation/message.h"

#define TABLES   "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define INSTANCE "projects/acme/instances/main"

static struct arena arena;

static void begin(void)
{
    set_up();
    base_arena_init(&arena, 16 * MIB);
}

static void end(void)
{
    base_arena_fini(&arena);
    tear_down();
}

static struct grpc_call *tell(const char *method, const ProtobufCMessageDescriptor *type,
                              const char *form)
{
    return ask(method, message_make(type, form, &arena));
}

static bool is_key(ProtobufCBinaryData data, const char *key)
{
    return base_slice_is(base_slice(data.data, data.len), key);
}

static bool starts_with(const char *key, const char *prefix)
{
    return base_slice_starts_with(base_slice_text(key), base_slice_text(prefix));
}

/* --- filters -----------------------------------------------------------------------------------
 */

static Bt__RowFilter *filter_of(Bt__RowFilter__FilterCase kind)
{
    Bt__RowFilter *f = base_arena_alloc(&arena, sizeof *f);
    ck_assert_ptr_nonnull(f);
    bt__row_filter__init(f);
    f->filter_case = kind;
    f->pass_all_filter = true; /* of either kind */
    return f;
}

/* The same filter in one of another kind. */
static Bt__RowFilter *within(Bt__RowFilter__FilterCase kind, Bt__RowFilter *inner)
{
    static Bt__RowFilter__Chain chain;
    static Bt__RowFilter__Interleave interleave;
    static Bt__RowFilter__Condition condition;
    static Bt__RowFilter *members[2][2];
    Bt__RowFilter *f = filter_of(kind);
    if (kind == BT__ROW_FILTER__FILTER_CHAIN) {
        bt__row_filter__chain__init(&chain);
        members[0][0] = filter_of(BT__ROW_FILTER__FILTER_PASS_ALL_FILTER);
        members[0][1] = inner;
        chain.filters = members[0];
        chain.n_filters = 2;
        f->chain = &chain;
    } else if (kind == BT__ROW_FILTER__FILTER_INTERLEAVE) {
        bt__row_filter__interleave__init(&interleave);
        members[1][0] = filter_of(BT__ROW_FILTER__FILTER_BLOCK_ALL_FILTER);
        members[1][1] = inner;
        interleave.filters = members[1];
        interleave.n_filters = 2;
        f->interleave = &interleave;
    } else {
        bt__row_filter__condition__init(&condition);
        condition.predicate_filter = inner;
        condition.true_filter = filter_of(BT__ROW_FILTER__FILTER_PASS_ALL_FILTER);
        f->condition = &condition;
    }
    return f;
}

/* Wherever it stands, it is held against the key as the tenant wrote it. */
START_TEST(expressions_deep_in_a_filter_see_the_tenants_keys)
{
    static const Bt__RowFilter__FilterCase kinds[] = {BT__ROW_FILTER__FILTER_CHAIN,
                                                      BT__ROW_FILTER__FILTER_INTERLEAVE,
                                                      BT__ROW_FILTER__FILTER_CONDITION};
    Bt__RowFilter *f = filter_of(BT__ROW_FILTER__FILTER_ROW_KEY_REGEX_FILTER);
    f->row_key_regex_filter = binary("acme.*");
    for (int i = 0; i < 3; i++)
        if (_i == i || _i == 3)
            f = within(kinds[i], f);
    request.filter = f;
    read_as(OWN);
    expect_key(OWN, "acme");
    expect_key(OWN, "acme-eu#devices#a");
    expect_read();
}
END_TEST

/* --- views -------------------------------------------------------------------------------------
 */

static const char *const PREFIXES[] = {"acme", "-eu#devices#", "a",
                                       "#",    "\xff",         "acme-eu#devices#z"};
#define PREFIX_COUNT (int)(sizeof PREFIXES / sizeof PREFIXES[0])

static void make_view(const char *prefix)
{
    char form[512];
    (void)snprintf(form, sizeof form,
                   "parent=" INSTANCE "/tables/devices;authorized_view_id=v;"
                   "authorized_view.subset_view.row_prefixes=%s;"
                   "authorized_view.subset_view.family_subsets.key=stats;"
                   "authorized_view.subset_view.family_subsets.value.qualifier_prefixes=",
                   prefix);
    const struct grpc_call *call =
        tell(TABLES "CreateAuthorizedView", &bta__create_authorized_view_request__descriptor, form);
    expect_ok(call);
}

static char view_name[] = INSTANCE "/tables/devices/authorizedViews/v";

static void expect_view_says(const char *prefix)
{
    Bta__GetAuthorizedViewRequest get = BTA__GET_AUTHORIZED_VIEW_REQUEST__INIT;
    get.name = view_name;
    get.view = BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__FULL;
    const struct grpc_call *call = ask(TABLES "GetAuthorizedView", &get.base);
    expect_ok(call);
    Bta__AuthorizedView *view =
        (Bta__AuthorizedView *)(void *)grpc_message_new(call, &bta__authorized_view__descriptor, 0);
    ck_assert_uint_eq(view->subset_view->n_row_prefixes, 1);
    ck_assert(is_key(view->subset_view->row_prefixes[0], prefix));
    bta__authorized_view__free_unpacked(view, NULL);
}

START_TEST(prefixes_of_views_are_of_the_tenants_keys)
{
    const char *prefix = PREFIXES[_i];
    make_view(prefix);
    expect_view_says(prefix);
    char no_name[] = "";
    names[OWN][0] = '\0'; /* the view alone is named */
    request.authorized_view_name = view_name;
    request.request_stats_view = BT__READ_ROWS_REQUEST__REQUEST_STATS_VIEW__REQUEST_STATS_FULL;
    request.table_name = no_name;
    read_as(OWN);
    int64_t inside = 0;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (!starts_with(KEYS[i], prefix))
            continue;
        expect_key(OWN, KEYS[i]);
        inside++;
    }
    expect_read();
    ck_assert_int_eq(reader.rows_seen, inside);
}
END_TEST

/* Through a view, too, a row of a key is the tenant's own or nobody's. */
START_TEST(writes_through_a_view_touch_the_tenants_own_rows)
{
    make_view("acme");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        Bt__MutateRowRequest r = BT__MUTATE_ROW_REQUEST__INIT;
        make_mutation("changed");
        r.authorized_view_name = view_name;
        r.row_key = binary(KEYS[i]);
        r.mutations = mutations;
        r.n_mutations = 1;
        const struct grpc_call *call = ask(DATA "MutateRow", &r.base);
        ck_assert_int_eq(call->status,
                         starts_with(KEYS[i], "acme") ? GW_STATUS_OK : GW_STATUS_PERMISSION_DENIED);
        expect_no_leak(call);
        if (clients[OWN].count == GRPC_CALLS)
            grpc_forget(&clients[OWN]);
    }
    expect_neighbours_untouched();
}
END_TEST

/* --- splits ------------------------------------------------------------------------------------
 */

static void expect_samples(size_t tenant, const char *split)
{
    Bt__SampleRowKeysRequest r = BT__SAMPLE_ROW_KEYS_REQUEST__INIT;
    char name[NAME];
    (void)snprintf(name, sizeof name, "projects/%s/instances/main/tables/split", IDS[tenant]);
    r.table_name = name;
    const struct grpc_call *call = grpc_ask(&clients[tenant], DATA "SampleRowKeys", &r.base);
    expect_ok(call);
    ck_assert_uint_eq(grpc_message_count(call), 2);
    for (size_t n = 0; n < 2; n++) {
        Bt__SampleRowKeysResponse *s = (Bt__SampleRowKeysResponse *)(void *)grpc_message_new(
            call, &bt__sample_row_keys_response__descriptor, n);
        ck_assert(is_key(s->row_key, n == 0 ? split : ""));
        ck_assert_int_eq(s->offset_bytes, 0);
        bt__sample_row_keys_response__free_unpacked(s, NULL);
    }
}

/* What a new table is split at is a key of its own, however much it looks like a neighbour's. */
START_TEST(splits_are_the_tenants_own)
{
    static const char *const splits[] = {"m", "acme-eu#split#m", "n"};
    for (size_t i = 0; i < TENANTS; i++) {
        char form[256];
        (void)snprintf(form, sizeof form,
                       "parent=projects/%s/instances/main;table_id=split;table=;"
                       "initial_splits.key=%s",
                       IDS[i], splits[i]);
        const struct grpc_call *call =
            grpc_ask(&clients[i], TABLES "CreateTable",
                     message_make(&bta__create_table_request__descriptor, form, &arena));
        expect_ok(call);
    }
    for (size_t i = 0; i < TENANTS; i++)
        expect_samples(i, splits[i]);
}
END_TEST

/* --- change streams ----------------------------------------------------------------------------
 */

static void stream_all(void)
{
    for (size_t i = 0; i < TENANTS; i++) {
        http_json(worlds[i].http, "PUT",
                  "{'families':{'stats':{},'raw':{}},'change_stream_retention':'86400s'}",
                  "/v1/tables/devices");
        EXPECT_STATUS(worlds[i].http, 200);
    }
    for (size_t i = 0; i < TENANTS; i++)
        write_rows(&worlds[i], CANARIES[i]);
}

START_TEST(a_partition_is_bounded_by_nobodys_key)
{
    stream_all();
    const struct grpc_call *call =
        tell(DATA "GenerateInitialChangeStreamPartitions",
             &bt__generate_initial_change_stream_partitions_request__descriptor,
             "table_name=" INSTANCE "/tables/devices");
    expect_ok(call);
    expect_no_leak(call);
    ck_assert_uint_eq(grpc_message_count(call), 1);
    Bt__GenerateInitialChangeStreamPartitionsResponse *reply =
        (Bt__GenerateInitialChangeStreamPartitionsResponse *)(void *)grpc_message_new(
            call, &bt__generate_initial_change_stream_partitions_response__descriptor, 0);
    ck_assert_uint_eq(reply->partition->row_range->start_key_closed.len, 0);
    ck_assert_uint_eq(reply->partition->row_range->end_key_open.len, 0);
    bt__generate_initial_change_stream_partitions_response__free_unpacked(reply, NULL);
}
END_TEST

/* The next of the tenant's own keys in the range, from *at on. */
static const char *next_key(size_t *at, const char *start, const char *end)
{
    for (; *at < KEY_COUNT; (*at)++) {
        const char *key = KEYS[*at];
        if ((start == NULL || strcmp(key, start) >= 0) && (end == NULL || strcmp(key, end) < 0))
            return KEYS[(*at)++];
    }
    return NULL;
}

static void expect_change(const Bt__ReadChangeStreamResponse__DataChange *change, const char *key)
{
    ck_assert_ptr_nonnull(key);
    ck_assert(is_key(change->row_key, key));
    ck_assert_uint_gt(change->n_chunks, 0); /* what was in the row goes before */
    const Bt__Mutation *last = change->chunks[change->n_chunks - 1]->mutation;
    ck_assert_int_eq(last->mutation_case, BT__MUTATION__MUTATION_SET_CELL);
    ck_assert(is_key(last->set_cell->value, CANARIES[OWN]));
}

/* All changes of the rows from start, which is among them, to end, which is not. */
static void expect_changes(const char *start, const char *end)
{
    Bt__ReadChangeStreamRequest r = BT__READ_CHANGE_STREAM_REQUEST__INIT;
    Bt__StreamPartition partition = BT__STREAM_PARTITION__INIT;
    Google__Protobuf__Timestamp from = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    Google__Protobuf__Timestamp to = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    int64_t now_us = base_wall_us();
    from.seconds = now_us / 1000000 - 3600;
    to.seconds = now_us / 1000000;
    to.nanos = (int32_t)(now_us % 1000000) * 1000;
    bt__row_range__init(&range);
    range.start_key_case = BT__ROW_RANGE__START_KEY_START_KEY_CLOSED;
    range.start_key_closed = binary(start == NULL ? "" : start);
    range.end_key_case = BT__ROW_RANGE__END_KEY_END_KEY_OPEN;
    range.end_key_open = binary(end == NULL ? "" : end);
    partition.row_range = &range;
    r.table_name = names[OWN];
    r.partition = &partition;
    r.start_from_case = BT__READ_CHANGE_STREAM_REQUEST__START_FROM_START_TIME;
    r.start_time = &from;
    r.end_time = &to;
    const struct grpc_call *call = ask(DATA "ReadChangeStream", &r.base);
    expect_ok(call);
    size_t at = 0, count = grpc_message_count(call);
    for (size_t n = 0; n < count; n++) {
        Bt__ReadChangeStreamResponse *m = (Bt__ReadChangeStreamResponse *)(void *)grpc_message_new(
            call, &bt__read_change_stream_response__descriptor, n);
        if (m->stream_record_case == BT__READ_CHANGE_STREAM_RESPONSE__STREAM_RECORD_DATA_CHANGE)
            expect_change(m->data_change, next_key(&at, start, end));
        bt__read_change_stream_response__free_unpacked(m, NULL);
    }
    ck_assert_ptr_null(next_key(&at, start, end));
}

START_TEST(partitions_of_any_bounds_tell_the_tenants_own_changes)
{
    static const char *const bounds[] = {
        NULL, "\x01", "#", "-eu#devices#a", "acme", "acme-eu#devices#a", "row", "\xff\xff\xff"};
    const size_t count = sizeof bounds / sizeof bounds[0];
    stream_all();
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b < count; b++) {
            if (bounds[a] != NULL && bounds[b] != NULL && strcmp(bounds[a], bounds[b]) >= 0)
                continue;
            expect_changes(bounds[a], bounds[b]);
            if (clients[OWN].count == GRPC_CALLS)
                grpc_forget(&clients[OWN]);
        }
    }
}
END_TEST

/* --- the longest -------------------------------------------------------------------------------
 */

#define LONGEST_ID    "t23456789012345678901234567890123456789012345678901234567890123"
#define LONGEST_TABLE "table67890123456789012345678901234567890123456789a"
#define LONGEST_NAME  "projects/" LONGEST_ID "/instances/main/tables/" LONGEST_TABLE

static struct world longest;
static struct grpc_client its;
static char row_key[LIM_ROW_KEY + 1];
static char longest_name[] = LONGEST_NAME;

static ProtobufCBinaryData row_key_of(size_t len)
{
    return (ProtobufCBinaryData){.data = (uint8_t *)row_key, .len = len};
}

static void expect_status(const struct grpc_call *call, enum gw_status_code status)
{
    ck_assert_msg(call->status == (int)status, "status %d: %s", call->status, call->message);
    if (status != GW_STATUS_OK)
        ck_assert_ptr_nonnull(strstr(call->message, "4096"));
}

static void write_longest(size_t len, enum gw_status_code status)
{
    Bt__MutateRowRequest one = BT__MUTATE_ROW_REQUEST__INIT;
    Bt__ReadModifyWriteRowRequest modify = BT__READ_MODIFY_WRITE_ROW_REQUEST__INIT;
    Bt__ReadModifyWriteRule rule = BT__READ_MODIFY_WRITE_RULE__INIT;
    Bt__ReadModifyWriteRule *rules[1] = {&rule};
    make_mutation("v");
    one.table_name = longest_name;
    one.row_key = row_key_of(len);
    one.mutations = mutations;
    one.n_mutations = 1;
    expect_status(grpc_ask(&its, DATA "MutateRow", &one.base), status);
    modify.table_name = longest_name;
    modify.row_key = row_key_of(len);
    modify.rules = rules;
    modify.n_rules = 1;
    rule.family_name = cell.family_name;
    rule.column_qualifier = binary("modified");
    rule.rule_case = BT__READ_MODIFY_WRITE_RULE__RULE_APPEND_VALUE;
    rule.append_value = binary("w");
    expect_status(grpc_ask(&its, DATA "ReadModifyWriteRow", &modify.base), status);
}

/* So many rows, with the whole key; read by all of the table, or by that key. */
static void expect_longest(bool by_key, size_t len, size_t count)
{
    bt__read_rows_request__init(&request);
    bt__row_set__init(&rows);
    request.table_name = longest_name;
    keys[0] = row_key_of(len);
    rows.row_keys = keys;
    rows.n_row_keys = 1;
    request.rows = by_key ? &rows : NULL;
    const struct grpc_call *call = grpc_ask(&its, DATA "ReadRows", &request.base);
    expect_status(call, GW_STATUS_OK);
    if (count == 0) {
        ck_assert_uint_eq(call->body.len, 0);
        return;
    }
    Bt__ReadRowsResponse *reply = (Bt__ReadRowsResponse *)(void *)grpc_message_new(
        call, &bt__read_rows_response__descriptor, 0);
    ck_assert_uint_eq(reply->n_chunks, 2);
    ck_assert_uint_eq(reply->chunks[0]->row_key.len, len);
    ck_assert_int_eq(memcmp(reply->chunks[0]->row_key.data, row_key, len), 0);
    bt__read_rows_response__free_unpacked(reply, NULL);
}

static void drop_longest(size_t len, enum gw_status_code status)
{
    Bta__DropRowRangeRequest r = BTA__DROP_ROW_RANGE_REQUEST__INIT;
    r.name = longest_name;
    r.target_case = BTA__DROP_ROW_RANGE_REQUEST__TARGET_ROW_KEY_PREFIX;
    r.row_key_prefix = row_key_of(len);
    expect_status(grpc_ask(&its, TABLES "DropRowRange", &r.base), status);
}

/* 4096 bytes are the client's own, whatever stands before them, and however they are stored. */
START_TEST(the_limit_of_a_key_is_that_of_the_tenants_own)
{
    ck_assert_uint_eq(strlen(LONGEST_ID), LIM_TENANT_ID);
    ck_assert_uint_eq(strlen(LONGEST_TABLE), LIM_TABLE_ID);
    world_init_on(&longest, &server, HTTP_2, LONGEST_ID);
    http_json(longest.http, "PUT", "{'families':{'stats':{}}}", "/v1/tables/" LONGEST_TABLE);
    EXPECT_STATUS(longest.http, 201);
    memset(row_key, _i, sizeof row_key);
    grpc_open(&its, &server, longest.key, 0);
    write_longest(LIM_ROW_KEY, GW_STATUS_OK);
    write_longest(LIM_ROW_KEY + 1, GW_STATUS_INVALID_ARGUMENT);
    expect_longest(true, LIM_ROW_KEY, 1);
    expect_longest(false, LIM_ROW_KEY, 1);
    drop_longest(LIM_ROW_KEY + 1, GW_STATUS_INVALID_ARGUMENT);
    drop_longest(LIM_ROW_KEY, GW_STATUS_OK);
    expect_longest(false, LIM_ROW_KEY, 0);
    grpc_close(&its);
    world_fini(&longest);
}
END_TEST

static TCase *add_keys(Suite *s, const char *name)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_set_timeout(tc, 240);
    suite_add_tcase(s, tc);
    return tc;
}

Suite *suite_isolation_grpc_keys(void);
Suite *suite_isolation_grpc_keys(void)
{
    Suite *s = suite_create("isolation_grpc_keys");
    TCase *tc = add_keys(s, "keys");
    tcase_add_loop_test(tc, expressions_deep_in_a_filter_see_the_tenants_keys, 0, 4);
    tcase_add_loop_test(tc, prefixes_of_views_are_of_the_tenants_keys, 0, PREFIX_COUNT);
    tcase_add_test(tc, writes_through_a_view_touch_the_tenants_own_rows);
    tcase_add_test(tc, splits_are_the_tenants_own);
    tcase_add_test(tc, a_partition_is_bounded_by_nobodys_key);
    tcase_add_test(tc, partitions_of_any_bounds_tell_the_tenants_own_changes);
    tcase_add_loop_test(tc, the_limit_of_a_key_is_that_of_the_tenants_own, 0, 1); /* bytes of 0 */
    tcase_add_loop_test(tc, the_limit_of_a_key_is_that_of_the_tenants_own, 255, 256);
    return s;
}
