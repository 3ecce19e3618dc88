/*
 * The exchange by itself: a transport that only takes notes.
 */
#include <check.h>

#include "gateway/exchange.h"

#include "base/banned.h"

static int starts;
static int mores;
static int aborts;
static size_t windows;
static int drains;
static int gones;

static void on_start(struct gw_exchange *ex)
{
    (void)ex;
    starts++;
}

static void on_more(struct gw_exchange *ex)
{
    (void)ex;
    mores++;
}

static void on_abort(struct gw_exchange *ex)
{
    (void)ex;
    aborts++;
}

static void on_read_more(struct gw_exchange *ex, size_t consumed)
{
    (void)ex;
    windows += consumed;
}

static const struct gw_transport TRANSPORT = {on_start,     on_more, on_abort,
                                              on_read_more, NULL,    NULL};

static void on_drained(struct gw_exchange *ex, void *user)
{
    ck_assert_ptr_eq(user, &drains);
    ck_assert_uint_lt(ex->out_bytes, LIM_OUT_HIGH_BYTES / 2);
    drains++;
}

static void on_gone(struct gw_exchange *ex, void *user)
{
    (void)ex;
    ck_assert_ptr_eq(user, &drains);
    gones++;
}

static const struct gw_events EVENTS = {.drained = on_drained, .gone = on_gone};
static struct gw_exchange ex;

static void set_up(void)
{
    gw_exchange_init(&ex, NULL, &TRANSPORT);
    ex.method = SLICE_LIT("GET");
    gw_exchange_listen(&ex, &EVENTS, &drains);
}

static void send_bytes(size_t count, bool end)
{
    struct buf b;
    base_buf_init(&b, 2 * MIB);
    ck_assert_int_eq(base_buf_reserve(&b, count), ERR_OK);
    for (size_t i = 0; i < count; i++)
        b.ptr[i] = (uint8_t)(i % 251);
    b.len = count;
    gw_exchange_send_take(&ex, &b, end);
    ck_assert_uint_eq(b.len, 0);
    ck_assert_ptr_null(b.ptr);
    ck_assert_uint_eq(b.max, 2 * MIB);
}

START_TEST(finds_headers)
{
    const struct gw_header headers[] = {{SLICE_LIT("a"), SLICE_LIT("1")},
                                        {SLICE_LIT("b"), SLICE_LIT("2")},
                                        {SLICE_LIT("a"), SLICE_LIT("3")}};
    size_t count = 9;
    ex.headers = headers;
    ex.header_count = 3;
    ck_assert(base_slice_is(gw_exchange_header(&ex, "a", &count), "1"));
    ck_assert_uint_eq(count, 2);
    ck_assert(base_slice_is(gw_exchange_header(&ex, "b", NULL), "2"));
    ck_assert_ptr_null(gw_exchange_header(&ex, "c", &count).ptr);
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(keeps_copies_of_response_headers)
{
    char value[] = "text/plain";
    gw_exchange_add_header(&ex, "content-type", base_slice_text(value));
    gw_exchange_add_header(&ex, "x-empty", SLICE_EMPTY);
    value[0] = 'X';
    ck_assert(base_slice_is(ex.response_headers[0].name, "content-type"));
    ck_assert(base_slice_is(ex.response_headers[0].value, "text/plain"));
    ck_assert_uint_eq(ex.response_headers[1].value.len, 0);
    ck_assert_uint_eq(ex.response_header_count, 2);
    gw_exchange_add_header(&ex, "x-split", SLICE_LIT("a\r\nb: c\x7f"));
    ck_assert(base_slice_is(ex.response_headers[2].value, "a  b: c "));
}
END_TEST

static struct buf long_value_of(char c)
{
    struct buf value;
    base_buf_init(&value, 4 * GW_RESPONSE_HEADER_BYTES);
    for (size_t i = 0; i < 2 * GW_RESPONSE_HEADER_BYTES; i++)
        ck_assert_int_eq(base_buf_append_byte(&value, (uint8_t)c), ERR_OK);
    return value;
}

/* It is given back with the exchange; the leak checker looks. */
START_TEST(takes_one_long_value)
{
    struct buf value = long_value_of(_i == 0 ? 'h' : 't');
    value.ptr[5] = '\n';
    if (_i == 0)
        gw_exchange_add_header_take(&ex, "x-long", &value);
    else
        gw_exchange_add_trailer_take(&ex, "x-long", &value);
    ck_assert_uint_eq(value.len, 0);
    const struct gw_header *kept = _i == 0 ? ex.response_headers : ex.trailers;
    ck_assert_uint_eq(_i == 0 ? ex.response_header_count : ex.trailer_count, 1);
    ck_assert(base_slice_is(kept->name, "x-long"));
    ck_assert_uint_eq(kept->value.len, 2 * GW_RESPONSE_HEADER_BYTES);
    ck_assert_int_eq(kept->value.ptr[4], _i == 0 ? 'h' : 't');
    ck_assert_int_eq(kept->value.ptr[5], ' ');
    gw_exchange_fini(&ex);
}
END_TEST

START_TEST(a_second_long_value_is_a_bug)
{
    struct buf first = long_value_of('a');
    struct buf second = long_value_of('b');
    gw_exchange_add_header_take(&ex, "x-first", &first);
    gw_exchange_add_trailer_take(&ex, "x-second", &second);
}
END_TEST

START_TEST(queue_comes_out_in_order_and_once)
{
    uint8_t out[100];
    gw_exchange_start(&ex, 200, -1);
    send_bytes(40, false);
    send_bytes(0, false);
    send_bytes(30, false);
    send_bytes(30, true);
    ck_assert_int_eq(starts, 1);
    ck_assert_int_eq(mores, 4);
    ck_assert_uint_eq(ex.out_bytes, 100);
    ck_assert_uint_eq(gw_exchange_peek(&ex, 10).len, 10);
    ck_assert_uint_eq(gw_exchange_peek(&ex, 1000).len, 40);
    gw_exchange_took(&ex, 35);
    ck_assert_uint_eq(gw_exchange_peek(&ex, 1000).len, 5);
    ck_assert_int_eq(gw_exchange_peek(&ex, 1000).ptr[0], 35);
    gw_exchange_copy_out(&ex, out, 65);
    ck_assert_int_eq(out[4], 39);
    ck_assert_int_eq(out[5], 0);
    ck_assert_int_eq(out[64], 29);
    ck_assert_uint_eq(ex.out_bytes, 0);
    ck_assert_ptr_null(gw_exchange_peek(&ex, 1000).ptr);
    gw_exchange_fini(&ex);
    ck_assert_int_eq(gones, 1);
}
END_TEST

START_TEST(drained_is_owed_once_after_full)
{
    gw_exchange_start(&ex, 200, -1);
    send_bytes(LIM_OUT_HIGH_BYTES - 1, false);
    ck_assert(!gw_exchange_is_full(&ex));
    send_bytes(1, false);
    gw_exchange_took(&ex, LIM_OUT_HIGH_BYTES);
    ck_assert(!gw_exchange_is_drained(&ex)); /* nobody asked */
    send_bytes(LIM_OUT_HIGH_BYTES, false);
    ck_assert(gw_exchange_is_full(&ex));
    gw_exchange_took(&ex, LIM_OUT_HIGH_BYTES / 2);
    ck_assert(!gw_exchange_is_drained(&ex));
    gw_exchange_took(&ex, 1);
    ck_assert(gw_exchange_is_drained(&ex));
    gw_exchange_tell_drained(&ex);
    ck_assert_int_eq(drains, 1);
    ck_assert(!gw_exchange_is_drained(&ex));
    gw_exchange_fini(&ex);
}
END_TEST

START_TEST(static_bytes_are_sent_as_they_lie_and_never_freed)
{
    static const char text[] = "not from the heap";
    gw_exchange_start(&ex, 200, 3 + 2 * (sizeof text - 1));
    gw_exchange_send_static(&ex, SLICE_LIT(text), false);
    ck_assert_ptr_eq(gw_exchange_peek(&ex, 100).ptr, text);
    send_bytes(3, false);
    gw_exchange_send_static(&ex, SLICE_LIT(text), true);
    ck_assert(ex.ended);
    ck_assert_uint_eq(ex.out_bytes, 3 + 2 * (sizeof text - 1));
    gw_exchange_took(&ex, sizeof text + 4);
    ck_assert_ptr_eq(gw_exchange_peek(&ex, 100).ptr, text + 2);
    gw_exchange_fini(&ex);
    set_up();
    ex.method = SLICE_LIT("HEAD");
    gw_exchange_start(&ex, 200, sizeof text - 1);
    gw_exchange_send_static(&ex, SLICE_LIT(text), true);
    ck_assert_uint_eq(ex.out_bytes, 0);
    gw_exchange_fini(&ex);
}
END_TEST

START_TEST(silent_bodies_are_thrown_away)
{
    ex.method = SLICE_LIT("HEAD");
    gw_exchange_start(&ex, 200, 10);
    send_bytes(10, true);
    ck_assert_uint_eq(ex.out_bytes, 0);
    ck_assert(ex.ended);
    gw_exchange_fini(&ex);
    set_up();
    gw_exchange_start(&ex, 204, 0);
    send_bytes(3, true);
    ck_assert_uint_eq(ex.out_bytes, 0);
    gw_exchange_fini(&ex);
}
END_TEST

START_TEST(fini_frees_what_is_queued)
{
    gw_exchange_start(&ex, 200, -1);
    send_bytes(1000, false);
    send_bytes(1000, false);
    gw_exchange_took(&ex, 1500);
    gw_exchange_fini(&ex);
    ck_assert_int_eq(gones, 1);
    gw_exchange_fini(&ex);
    ck_assert_int_eq(gones, 1);
}
END_TEST

START_TEST(passes_window_and_abort_on)
{
    gw_exchange_consumed(&ex, 0);
    gw_exchange_consumed(&ex, 70);
    ck_assert_uint_eq(windows, 70);
    gw_exchange_abort(&ex);
    ck_assert_int_eq(aborts, 1);
}
END_TEST

START_TEST(too_many_headers_are_a_bug)
{
    for (int i = 0; i <= GW_RESPONSE_HEADERS; i++)
        gw_exchange_add_header(&ex, "a", SLICE_LIT("b"));
}
END_TEST

START_TEST(starting_twice_is_a_bug)
{
    gw_exchange_start(&ex, 200, 0);
    gw_exchange_start(&ex, 200, 0);
}
END_TEST

START_TEST(sending_after_the_end_is_a_bug)
{
    gw_exchange_start(&ex, 200, -1);
    send_bytes(0, true);
    send_bytes(1, false);
}
END_TEST

START_TEST(wrong_length_is_a_bug)
{
    gw_exchange_start(&ex, 200, 10);
    send_bytes((size_t)_i, true);
}
END_TEST

Suite *suite_gateway_exchange(void);
Suite *suite_gateway_exchange(void)
{
    Suite *s = suite_create("gateway_exchange");
    TCase *t = tcase_create("queue");
    tcase_add_checked_fixture(t, set_up, NULL);
    tcase_add_test(t, finds_headers);
    tcase_add_test(t, keeps_copies_of_response_headers);
    tcase_add_loop_test(t, takes_one_long_value, 0, 2);
    tcase_add_test(t, queue_comes_out_in_order_and_once);
    tcase_add_test(t, drained_is_owed_once_after_full);
    tcase_add_test(t, static_bytes_are_sent_as_they_lie_and_never_freed);
    tcase_add_test(t, silent_bodies_are_thrown_away);
    tcase_add_test(t, fini_frees_what_is_queued);
    tcase_add_test(t, passes_window_and_abort_on);
    suite_add_tcase(s, t);
    TCase *bugs = tcase_create("bugs");
    tcase_add_checked_fixture(bugs, set_up, NULL);
    tcase_add_test_raise_signal(bugs, too_many_headers_are_a_bug, 6);
    tcase_add_test_raise_signal(bugs, a_second_long_value_is_a_bug, 6);
    tcase_add_test_raise_signal(bugs, starting_twice_is_a_bug, 6);
    tcase_add_test_raise_signal(bugs, sending_after_the_end_is_a_bug, 6);
    tcase_add_loop_test_raise_signal(bugs, wrong_length_is_a_bug, 6, 9, 10);
    tcase_add_loop_test_raise_signal(bugs, wrong_length_is_a_bug, 6, 11, 12);
    suite_add_tcase(s, bugs);
    return s;
}
