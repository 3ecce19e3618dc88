/*
 * tests/grpc/test_priority.c - the metadata bigtent-priority: three words, others are refused, and
 * what is high goes ahead of what is low.
 */
#include <check.h>
#include <stdio.h>

#include "base/alloc.h"
#include "gateway/grpc/status.h"
#include "tests/grpc/writes.h"

#include "base/banned.h"

Suite *suite_grpc_priority(void);

#define PRIORITY "bigtent-priority"

static struct world w;
static struct grpc_client client;
static char table[TABLE_NAME];

static void begin(void)
{
    world_init(&w, HTTP_2);
    grpc_open(&client, world_server(), w.key, 0);
    (void)table_name(table, &w);
}

static void tear_down(void)
{
    grpc_close(&client);
    world_fini(&w);
}

/* --- requests --------------------------------------------------------------------------------- */

static struct set_cell cell;
static Bt__Mutation *one_cell[1];

static struct grpc_call *start_one(void)
{
    Bt__MutateRowRequest request = BT__MUTATE_ROW_REQUEST__INIT;
    request.table_name = table;
    request.row_key = binary("one");
    one_cell[0] = set_cell(&cell, "stats", "q", "v");
    request.mutations = one_cell;
    request.n_mutations = 1;
    return grpc_start(&client, BIGTABLE "MutateRow", &request.base, NULL);
}

/* One row, that many times. */
static struct grpc_call *start_many(const char *key, size_t count)
{
    Bt__MutateRowsRequest__Entry entry = BT__MUTATE_ROWS_REQUEST__ENTRY__INIT;
    Bt__MutateRowsRequest request = BT__MUTATE_ROWS_REQUEST__INIT;
    Bt__MutateRowsRequest__Entry **all = base_new_array(count, sizeof *all);
    one_cell[0] = set_cell(&cell, "stats", "q", "v");
    entry.row_key = binary(key);
    entry.mutations = one_cell;
    entry.n_mutations = 1;
    for (size_t i = 0; i < count; i++)
        all[i] = &entry;
    request.table_name = table;
    request.entries = all;
    request.n_entries = count;
    struct grpc_call *call = grpc_start(&client, BIGTABLE "MutateRows", &request.base, NULL);
    base_free(all);
    return call;
}

static struct grpc_call *start_read(void)
{
    Bt__ReadRowsRequest request = BT__READ_ROWS_REQUEST__INIT;
    request.table_name = table;
    return grpc_start(&client, BIGTABLE "ReadRows", &request.base, NULL);
}

static struct grpc_call *start_samples(void)
{
    Bt__SampleRowKeysRequest request = BT__SAMPLE_ROW_KEYS_REQUEST__INIT;
    request.table_name = table;
    return grpc_start(&client, BIGTABLE "SampleRowKeys", &request.base, NULL);
}

static struct grpc_call *start(int kind)
{
    return kind == 0   ? start_one()
           : kind == 1 ? start_many("many", 3)
           : kind == 2 ? start_read()
                       : start_samples();
}

enum { KINDS = 4 };

/* --- words ------------------------------------------------------------------------------------ */

START_TEST(a_priority_is_one_of_three_words)
{
    static const char *const words[] = {"high", "medium", "low"};
    begin();
    for (size_t i = 0; i < 3; i++) {
        client.more_count = 0;
        grpc_add_header(&client, PRIORITY, words[i]);
        struct grpc_call *call = start(_i);
        grpc_await(&client);
        ck_assert_msg(call->status == GW_STATUS_OK, "%s: %s", words[i], call->message);
    }
}
END_TEST

static void expect_refused(struct grpc_call *call)
{
    grpc_await(&client);
    ck_assert_int_eq(call->status, GW_STATUS_INVALID_ARGUMENT);
    ck_assert_str_eq(call->message, "bigtent-priority must be high, medium or low, once");
}

START_TEST(another_word_is_refused_as_over_http)
{
    static const char *const bad[] = {"background", "HIGH", "1", "high, low", ""};
    begin();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        client.more_count = 0;
        grpc_add_header(&client, PRIORITY, bad[i]);
        expect_refused(start(_i));
    }
    client.more_count = 0;
    grpc_add_header(&client, PRIORITY, "high");
    grpc_add_header(&client, PRIORITY, "low");
    expect_refused(start(_i));
}
END_TEST

/* --- order ------------------------------------------------------------------------------------ */

enum { BACKLOG = 4, BACKLOG_ROWS = 8000, EARLIER_ROWS = LIM_BULK_INFLIGHT - 1, ATTEMPTS = 20 };

/* Row key behind EARLIER_ROWS others: all of them wait at once. */
static struct grpc_call *start_earlier(const char *key)
{
    Bt__MutateRowsRequest__Entry other = BT__MUTATE_ROWS_REQUEST__ENTRY__INIT;
    Bt__MutateRowsRequest__Entry last = BT__MUTATE_ROWS_REQUEST__ENTRY__INIT;
    Bt__MutateRowsRequest__Entry *all[EARLIER_ROWS + 1];
    Bt__MutateRowsRequest request = BT__MUTATE_ROWS_REQUEST__INIT;
    one_cell[0] = set_cell(&cell, "stats", "q", "v");
    other.row_key = binary("other");
    last.row_key = binary(key);
    other.mutations = last.mutations = one_cell;
    other.n_mutations = last.n_mutations = 1;
    for (size_t i = 0; i < EARLIER_ROWS; i++)
        all[i] = &other;
    all[EARLIER_ROWS] = &last;
    request.table_name = table;
    request.entries = all;
    request.n_entries = EARLIER_ROWS + 1;
    return grpc_start(&client, BIGTABLE "MutateRows", &request.base, NULL);
}

/* Its answer tells whether the row was there when its turn came. */
static struct grpc_call *start_later(const char *key)
{
    Bt__CheckAndMutateRowRequest request = BT__CHECK_AND_MUTATE_ROW_REQUEST__INIT;
    request.table_name = table;
    request.row_key = binary(key);
    one_cell[0] = set_cell(&cell, "stats", "later", "v");
    request.false_mutations = one_cell;
    request.n_false_mutations = 1;
    return grpc_start(&client, BIGTABLE "CheckAndMutateRow", &request.base, NULL);
}

static bool found_row(const struct grpc_call *later)
{
    ck_assert_int_eq(later->status, GW_STATUS_OK);
    Bt__CheckAndMutateRowResponse *answer = (Bt__CheckAndMutateRowResponse *)grpc_message_new(
        later, &bt__check_and_mutate_row_response__descriptor, 0);
    bool found = answer->predicate_matched;
    protobuf_c_message_free_unpacked(&answer->base, NULL);
    return found;
}

/* Much to do; then a row behind many with one priority, and after it a look at that row with
 * another. True: the look went ahead. */
static bool is_ahead(const char *of_earlier, const char *of_later, int nth)
{
    struct grpc_call *first = NULL;
    char key[16];
    client.more_count = 0;
    for (int i = 0; i < BACKLOG; i++) {
        (void)snprintf(key, sizeof key, "b%d", i);
        struct grpc_call *call = start_many(key, BACKLOG_ROWS);
        first = first == NULL ? call : first;
    }
    grpc_await_bytes(&client, first, 1); /* it is under way */
    (void)snprintf(key, sizeof key, "row%d", nth);
    grpc_add_header(&client, PRIORITY, of_earlier);
    struct grpc_call *earlier = start_earlier(key);
    client.more_count = 0;
    grpc_add_header(&client, PRIORITY, of_later);
    struct grpc_call *later = start_later(key);
    grpc_await(&client);
    ck_assert_int_eq(earlier->status, GW_STATUS_OK);
    bool is = !found_row(later);
    grpc_forget(&client);
    return is;
}

/* Once is enough: a busy machine may have done all that waited before it hears of the later one. */
START_TEST(high_goes_ahead_of_low_that_came_earlier)
{
    begin();
    int i = 0;
    while (i < ATTEMPTS && !is_ahead("low", "high", i))
        i++;
    ck_assert_int_lt(i, ATTEMPTS);
}
END_TEST

START_TEST(with_the_same_priority_who_came_earlier_is_done_earlier)
{
    static const char *const words[] = {"high", "medium", "low"};
    begin();
    ck_assert(!is_ahead(words[_i], words[_i], 0));
}
END_TEST

Suite *suite_grpc_priority(void)
{
    Suite *s = suite_create("grpc_priority");
    TCase *tc = tcase_create("priority");
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, a_priority_is_one_of_three_words, 0, KINDS);
    tcase_add_loop_test(tc, another_word_is_refused_as_over_http, 0, KINDS);
    tcase_add_test(tc, high_goes_ahead_of_low_that_came_earlier);
    tcase_add_loop_test(tc, with_the_same_priority_who_came_earlier_is_done_earlier, 0, 3);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}
