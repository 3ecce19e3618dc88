/*
 * tests/isolation/test_eyes.c - a leak would be seen, and a new route or method without a request.
 */
#include <check.h>
#include <google/bigtable/v2/bigtable.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/isolation/answers.h"
#include "tests/isolation/message.h"
#include "tests/isolation/neighbours.h"
#include "tests/isolation/requests.h"
#include "tests/isolation/rpcs.h"

#include "base/banned.h"

/* --- secrets -----------------------------------------------------------------------------------
 */

static struct neighbours n;

static void add(const char *secret)
{
    (void)snprintf(n.secrets[n.secret_count++], NAME_BYTES, "%s", secret);
}

static bool is_seen(const char *text)
{
    return neighbours_secret(&n, base_slice_text(text)) != NULL;
}

START_TEST(a_secret_is_seen_in_text_and_anywhere_in_base64)
{
    add("secret-of-kiwi");
    ck_assert(!is_seen(""));
    ck_assert(!is_seen("secret-of-kiw"));
    ck_assert(is_seen("{\"v\":\"secret-of-kiwi\"}"));
    for (size_t shift = 0; shift < 7; shift++) {
        char plain[64];
        struct buf coded;
        base_buf_init(&coded, KIB);
        (void)snprintf(plain, sizeof plain, "%.*ssecret-of-kiwi and more", (int)shift, "abcdefg");
        ck_assert_int_eq(base_base64_encode(base_slice_text(plain), &coded), ERR_OK);
        ck_assert_msg(neighbours_secret(&n, base_buf_slice(&coded)) != NULL, "shift %zu", shift);
        base_buf_fini(&coded);
    }
}
END_TEST

START_TEST(a_number_is_seen_where_it_stands_alone)
{
    add("2003");
    ck_assert(is_seen("2003"));
    ck_assert(is_seen("{\"rows\":2003}"));
    ck_assert(is_seen("12003 2003"));
    ck_assert(!is_seen("{\"rows\":20030}"));
    ck_assert(!is_seen("x2003"));
}
END_TEST

START_TEST(answers_of_one_status_differ_in_any_byte)
{
    struct buf a, b;
    base_buf_init(&a, KIB);
    base_buf_init(&b, KIB);
    ck_assert_int_eq(base_buf_append_text(&a, "HTTP/2 404\r\nno such table"), ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&b, "HTTP/2 404\r\nno such table"), ERR_OK);
    ck_assert_ptr_null(answer_difference(&a, &b));
    ck_assert_int_eq(base_buf_append_byte(&b, ' '), ERR_OK);
    ck_assert_ptr_nonnull(answer_difference(&a, &b));
    base_buf_fini(&a);
    base_buf_fini(&b);
}
END_TEST

START_TEST(what_others_have_may_not_change)
{
    struct buf a, b;
    base_buf_init(&a, KIB);
    base_buf_init(&b, KIB);
    ck_assert_int_eq(base_buf_append_text(&a, "rows 1"), ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&b, "rows 2"), ERR_OK);
    neighbours_same(&a, &b, "a test");
}
END_TEST

/* --- requests ----------------------------------------------------------------------------------
 */

static const char *const NEW_QUERY[] = {"unheard_of", NULL};

static const struct gw_route NEW_ROUTES[] = {
    {.method = "POST", .pattern = "/v1/new", .body = GW_BODY_JSON},
    {.method = "GET", .pattern = "/v1/new", .query = NEW_QUERY},
    {.method = "GET", .pattern = "/v1/new/{unheard_of}"},
};

/* Ends with a failure: that is what is expected. */
START_TEST(a_route_without_a_request_fails)
{
    static struct request requests[REQUESTS_MAX];
    static struct names names;
    struct buf target;
    size_t count = requests_of(&NEW_ROUTES[_i], requests);
    base_buf_init(&target, KIB);
    for (size_t i = 0; i < count; i++)
        request_target(&requests[i], &names, &names, &target);
    base_buf_fini(&target);
}
END_TEST

static const struct gw_method NEW_METHODS[] = {
    {.service = "x.New", .name = "Unheard", .request = &bt__read_rows_request__descriptor},
    /* there is a form of a method so named, but for another request */
    {.service = "x.New", .name = "PingAndWarm", .request = &bt__mutate_row_request__descriptor},
};

START_TEST(a_method_without_a_request_fails)
{
    static struct rpc rpcs[RPCS_MAX];
    (void)rpcs_of(&NEW_METHODS[_i], rpcs);
}
END_TEST

START_TEST(messages_are_what_their_text_says)
{
    struct arena arena;
    base_arena_init(&arena, MIB);
    const Bt__MutateRowRequest *m = (const void *)message_make(
        &bt__mutate_row_request__descriptor,
        "table_name=t;row_key=k;mutations.set_cell.family_name=f;"
        "mutations.set_cell.timestamp_micros=1000;mutations.set_cell.value=v",
        &arena);
    ck_assert_str_eq(m->table_name, "t");
    ck_assert(base_slice_is(base_slice(m->row_key.data, m->row_key.len), "k"));
    ck_assert_uint_eq(m->n_mutations, 1);
    ck_assert_int_eq(m->mutations[0]->mutation_case, BT__MUTATION__MUTATION_SET_CELL);
    ck_assert_str_eq(m->mutations[0]->set_cell->family_name, "f");
    ck_assert_int_eq(m->mutations[0]->set_cell->timestamp_micros, 1000);
    ck_assert(message_names("table_name=t;rows.row_keys=k", "rows"));
    ck_assert(!message_names("table_name=t;rows.row_keys=k", "row"));
    base_arena_fini(&arena);
}
END_TEST

Suite *suite_isolation_eyes(void);
Suite *suite_isolation_eyes(void)
{
    Suite *s = suite_create("isolation_eyes");
    TCase *tc = tcase_create("eyes");
    tcase_add_test(tc, a_secret_is_seen_in_text_and_anywhere_in_base64);
    tcase_add_test(tc, a_number_is_seen_where_it_stands_alone);
    tcase_add_test(tc, answers_of_one_status_differ_in_any_byte);
    tcase_add_test(tc, messages_are_what_their_text_says);
    tcase_add_exit_test(tc, what_others_have_may_not_change, EXIT_FAILURE);
    tcase_add_loop_exit_test(tc, a_route_without_a_request_fails, EXIT_FAILURE, 0,
                             sizeof NEW_ROUTES / sizeof NEW_ROUTES[0]);
    tcase_add_loop_exit_test(tc, a_method_without_a_request_fails, EXIT_FAILURE, 0,
                             sizeof NEW_METHODS / sizeof NEW_METHODS[0]);
    suite_add_tcase(s, tc);
    return s;
}
