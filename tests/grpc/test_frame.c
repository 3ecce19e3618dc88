/*
 * Messages out of bodies that come in any pieces, and into bodies.
 */
#include <check.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/memory.h"
#include "gateway/grpc/frame.h"
#include "tests/support/random.h"

#include "base/banned.h"

#define MAX 1000

static struct gw_frame_reader reader;
static struct buf body;
static struct errbuf eb;
static size_t used;
static bool complete;

static void set_up(void)
{
    memset(&reader, 0, sizeof reader);
    gw_frame_reader_init(&reader, MAX, GW_ENCODING_IDENTITY);
    base_buf_init(&body, 64 * MIB);
    eb.text[0] = '\0';
}

static void tear_down(void)
{
    base_alloc_fail_after(-1);
    gw_frame_reader_fini(&reader);
    base_buf_fini(&body);
}

static void take_gzip(size_t max)
{
    gw_frame_reader_fini(&reader);
    gw_frame_reader_init(&reader, max, GW_ENCODING_GZIP);
}

static enum err feed(struct slice bytes)
{
    used = 12345;
    complete = false;
    enum err e = gw_frame_feed(&reader, bytes, &used, &complete, &eb);
    return e == ERR_OK && complete ? gw_frame_unpack(&reader, &eb) : e;
}

static enum err feed_body(void)
{
    return feed(base_buf_slice(&body));
}

static void put_head(uint8_t flags, uint32_t len)
{
    const uint8_t head[] = {flags, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                            (uint8_t)len};
    (void)base_buf_append(&body, base_slice(head, sizeof head));
}

/* window: 15 zlib's own format, 31 gzip, -15 neither. */
static void put_deflated(struct slice message, int window)
{
    uLong room = compressBound(message.len) + 64;
    uint8_t *out = base_try_alloc(room);
    z_stream z = {0};
    ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (uint8_t *)(uintptr_t)message.ptr;
    z.avail_in = (uInt)message.len;
    z.next_out = out;
    z.avail_out = (uInt)room;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    put_head(1, (uint32_t)z.total_out);
    (void)base_buf_append(&body, base_slice(out, z.total_out));
    (void)deflateEnd(&z);
    base_free(out);
}

static void put_zeros(size_t count)
{
    uint8_t *zeros = base_new(count);
    put_deflated(base_slice(zeros, count), 31);
    base_free(zeros);
}

/* --- reading --------------------------------------------------------------------------------- */

START_TEST(messages_come_out_however_they_are_cut)
{
    struct random numbers = {7};
    for (int i = 0; i < 20; i++) {
        size_t begin = gw_frame_begin(&body);
        for (int k = 0; k < i * 13 % 60; k++)
            (void)base_buf_append_byte(&body, (uint8_t)i);
        gw_frame_end(&body, begin);
    }
    for (uint32_t piece = 1; piece < 80; piece++) {
        struct slice rest = base_buf_slice(&body);
        for (int i = 0; i < 20; i++) {
            for (complete = false; !complete; rest = base_slice_skip(rest, used)) {
                size_t len = 1 + random_below(&numbers, piece);
                ck_assert_uint_gt(rest.len, 0);
                ck_assert_int_eq(feed(base_slice(rest.ptr, len < rest.len ? len : rest.len)),
                                 ERR_OK);
                ck_assert(!gw_frame_is_between(&reader));
            }
            struct slice message = gw_frame_message(&reader);
            ck_assert_uint_eq(message.len, (size_t)i * 13 % 60);
            ck_assert(message.len == 0 || message.ptr[message.len - 1] == i);
            gw_frame_next(&reader);
            ck_assert(gw_frame_is_between(&reader));
        }
        ck_assert_uint_eq(rest.len, 0);
    }
}
END_TEST

START_TEST(nothing_is_taken_between_complete_and_next)
{
    put_head(0, 2);
    (void)base_buf_append(&body, SLICE_LIT("abXYZ"));
    ck_assert_int_eq(feed_body(), ERR_OK);
    ck_assert(complete);
    ck_assert_uint_eq(used, 7);
    ck_assert_int_eq(feed(SLICE_LIT("XYZ")), ERR_OK);
    ck_assert(complete);
    ck_assert_uint_eq(used, 0);
    ck_assert(base_slice_is(gw_frame_message(&reader), "ab"));
}
END_TEST

START_TEST(no_bytes_change_nothing)
{
    ck_assert_int_eq(feed(SLICE_EMPTY), ERR_OK);
    ck_assert(!complete);
    ck_assert_uint_eq(used, 0);
    ck_assert(gw_frame_is_between(&reader));
    ck_assert_int_eq(feed(SLICE_LIT("\0\0\0")), ERR_OK);
    ck_assert(!gw_frame_is_between(&reader));
    ck_assert_int_eq(feed(SLICE_EMPTY), ERR_OK);
    ck_assert(!complete && !gw_frame_is_between(&reader));
}
END_TEST

START_TEST(message_may_be_as_long_as_the_limit)
{
    static const uint32_t LENGTHS[] = {MAX - 1, MAX, MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        base_buf_truncate(&body, 0);
        put_head(0, LENGTHS[i]);
        gw_frame_reader_fini(&reader);
        gw_frame_reader_init(&reader, MAX, GW_ENCODING_IDENTITY);
        ck_assert_int_eq(feed_body(), LENGTHS[i] <= MAX ? ERR_OK : ERR_TOO_BIG);
        ck_assert(LENGTHS[i] <= MAX || strstr(eb.text, "1000") != NULL);
    }
}
END_TEST

/* So that no message is begun for whose end there is no room. */
START_TEST(memory_is_counted_when_the_length_is_announced)
{
    struct base_memory budget = {.limit = 100 * MIB};
    struct base_memory_share share = {.budget = &budget};
    for (int i = 0; i < 2; i++) {
        gw_frame_reader_fini(&reader);
        gw_frame_reader_init(&reader, 100 * MIB, GW_ENCODING_IDENTITY);
        gw_frame_reader_charge(&reader, &share);
        base_buf_truncate(&body, 0);
        put_head(0, i == 0 ? 49 * MIB : 51 * MIB);
        ck_assert_int_eq(feed_body(), i == 0 ? ERR_OK : ERR_NO_MEMORY);
        ck_assert_uint_eq(atomic_load(&share.used), i == 0 ? 49 * MIB : 0);
    }
}
END_TEST

/* Of what is small anyway, any. */
START_TEST(a_message_inflates_to_a_bounded_multiple)
{
    take_gzip(100 * MIB);
    put_zeros(LIM_INFLATE_FREE_BYTES);
    ck_assert_int_eq(feed_body(), ERR_OK);
    gw_frame_next(&reader);
    base_buf_truncate(&body, 0);
    put_zeros(LIM_INFLATE_FREE_BYTES + 1);
    ck_assert_int_eq(feed_body(), ERR_TOO_BIG);
    ck_assert_ptr_nonnull(strstr(eb.text, "64 times"));
    ck_assert_uint_le(reader.inflated.capacity, 2 * LIM_INFLATE_FREE_BYTES);
}
END_TEST

START_TEST(large_memory_is_given_back_between_messages)
{
    take_gzip(16 * MIB);
    put_zeros(8 * MIB);
    ck_assert_int_eq(feed_body(), ERR_OK);
    ck_assert_uint_eq(gw_frame_message(&reader).len, 8 * MIB);
    gw_frame_next(&reader);
    ck_assert_ptr_null(reader.inflated.ptr);
}
END_TEST

START_TEST(flags_but_0_and_1_are_refused)
{
    for (unsigned flags = 2; flags < 256; flags++) {
        uint8_t head[GW_FRAME_HEAD] = {(uint8_t)flags};
        take_gzip(MAX);
        ck_assert_int_eq(feed(base_slice(head, sizeof head)), ERR_INVALID);
    }
}
END_TEST

START_TEST(no_memory_is_told)
{
    put_head(0, 3);
    (void)base_buf_append(&body, SLICE_LIT("abc"));
    base_alloc_fail_after(0);
    ck_assert_int_eq(feed_body(), ERR_NO_MEMORY);
}
END_TEST

/* --- gzip ------------------------------------------------------------------------------------ */

START_TEST(compressed_messages_are_inflated)
{
    take_gzip(MAX);
    put_deflated(SLICE_LIT("one one one one"), 31);
    size_t first = body.len;
    put_head(0, 2);
    (void)base_buf_append(&body, SLICE_LIT("ab"));
    put_deflated(SLICE_EMPTY, 31);
    ck_assert_int_eq(feed_body(), ERR_OK);
    ck_assert(complete);
    ck_assert_uint_eq(used, first);
    ck_assert(base_slice_is(gw_frame_message(&reader), "one one one one"));
    gw_frame_next(&reader);
    ck_assert_int_eq(feed(base_slice(body.ptr + first, body.len - first)), ERR_OK);
    ck_assert(base_slice_is(gw_frame_message(&reader), "ab"));
    gw_frame_next(&reader);
    ck_assert_int_eq(feed(base_slice(body.ptr + first + 7, body.len - first - 7)), ERR_OK);
    ck_assert(complete);
    ck_assert_uint_eq(gw_frame_message(&reader).len, 0);
}
END_TEST

START_TEST(compressed_message_without_an_encoding_is_refused)
{
    put_deflated(SLICE_LIT("abc"), 31);
    ck_assert_int_eq(feed_body(), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(eb.text, "grpc-encoding"));
}
END_TEST

START_TEST(only_gzip_is_gzip)
{
    static const int WINDOWS[] = {15, -15};
    for (size_t i = 0; i < 2; i++) {
        take_gzip(MAX);
        base_buf_truncate(&body, 0);
        put_deflated(SLICE_LIT("abcabc"), WINDOWS[i]);
        ck_assert_int_eq(feed_body(), ERR_INVALID);
    }
}
END_TEST

START_TEST(inflated_message_may_be_as_long_as_the_limit)
{
    for (size_t len = MAX - 1; len <= MAX + 1; len++) {
        take_gzip(MAX);
        base_buf_truncate(&body, 0);
        put_zeros(len);
        ck_assert_int_eq(feed_body(), len <= MAX ? ERR_OK : ERR_TOO_BIG);
        ck_assert(len <= MAX ? gw_frame_message(&reader).len == len
                             : strstr(eb.text, "1000") != NULL);
    }
}
END_TEST

START_TEST(bombs_end_at_the_limit)
{
    take_gzip(64 * KIB);
    put_zeros(32 * MIB);
    ck_assert_uint_lt(body.len, 64 * KIB);
    ck_assert_int_eq(feed_body(), ERR_TOO_BIG);
    ck_assert_uint_le(reader.inflated.capacity, 64 * KIB + 1);
}
END_TEST

START_TEST(damaged_gzip_is_refused_at_every_byte)
{
    put_deflated(SLICE_LIT("some text, some more text, and some more"), 31);
    for (size_t cut = GW_FRAME_HEAD; cut < body.len; cut++) {
        uint8_t raw[256];
        memcpy(raw, body.ptr, cut);
        raw[4] = (uint8_t)(cut - GW_FRAME_HEAD);
        take_gzip(MAX);
        ck_assert_int_eq(feed(base_slice(raw, cut)), ERR_INVALID);
        memcpy(raw, body.ptr, body.len);
        raw[cut] ^= 0x10;
        take_gzip(MAX);
        enum err e = feed(base_slice(raw, body.len));
        bool is_noted = cut < GW_FRAME_HEAD + 4 || cut >= GW_FRAME_HEAD + 10; /* time, system */
        ck_assert(is_noted ? e != ERR_OK : true);
    }
}
END_TEST

START_TEST(nothing_may_follow_the_gzip_data)
{
    take_gzip(MAX);
    put_deflated(SLICE_LIT("abc"), 31);
    body.ptr[4]++;
    (void)base_buf_append_byte(&body, 0);
    ck_assert_int_eq(feed_body(), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "behind"));
}
END_TEST

START_TEST(inflating_tells_that_memory_is_out)
{
    put_zeros(MAX);
    enum err e = ERR_NO_MEMORY;
    int failures = 0;
    for (; e != ERR_OK; failures++) {
        take_gzip(MAX);
        base_alloc_fail_after(failures);
        e = feed_body();
        base_alloc_fail_after(-1);
        ck_assert(e == ERR_OK || e == ERR_NO_MEMORY);
    }
    ck_assert_int_gt(failures, 3); /* ours, and zlib's */
}
END_TEST

/* --- writing --------------------------------------------------------------------------------- */

START_TEST(written_messages_have_their_length)
{
    (void)base_buf_append(&body, SLICE_LIT("before"));
    size_t begin = gw_frame_begin(&body);
    ck_assert_uint_eq(begin, 6);
    for (int i = 0; i < 0x10203; i++)
        (void)base_buf_append_byte(&body, 'x');
    gw_frame_end(&body, begin);
    ck_assert(base_slice_equal(base_slice(body.ptr, 12), base_slice("before\0\0\1\2\3x", 12)));
    ck_assert_uint_eq(body.len, 6 + GW_FRAME_HEAD + 0x10203);
}
END_TEST

START_TEST(writing_errors_latch)
{
    struct buf small;
    base_buf_init(&small, 7);
    size_t begin = gw_frame_begin(&small);
    (void)base_buf_append(&small, SLICE_LIT("abc"));
    gw_frame_end(&small, begin);
    ck_assert_int_eq(small.error, ERR_TOO_BIG);
    ck_assert_int_eq(gw_frame_deflate(&small, begin), ERR_TOO_BIG);
    base_buf_fini(&small);
    base_buf_init(&small, 4);
    begin = gw_frame_begin(&small);
    gw_frame_end(&small, begin);
    ck_assert_int_eq(small.error, ERR_TOO_BIG);
    base_buf_fini(&small);
}
END_TEST

/* Random bytes or runs of one, deflated if that helps, come back. */
START_TEST(deflated_messages_come_back)
{
    struct random numbers = {11};
    for (int i = 0; i < 200; i++) {
        struct buf wanted;
        base_buf_init(&wanted, 64 * KIB);
        base_buf_truncate(&body, 0);
        (void)base_buf_append(&body, SLICE_LIT("before"));
        size_t begin = gw_frame_begin(&body);
        size_t len = random_below(&numbers, 1u << (i % 15));
        for (size_t k = 0; k < len; k++)
            (void)base_buf_append_byte(&wanted, i % 2 == 0 ? 'x' : (uint8_t)random_next(&numbers));
        (void)base_buf_append(&body, base_buf_slice(&wanted));
        gw_frame_end(&body, begin);
        size_t plain = body.len;
        ck_assert_int_eq(gw_frame_deflate(&body, begin), ERR_OK);
        ck_assert_uint_le(body.len, plain);
        ck_assert_uint_eq(body.ptr[begin], body.len < plain);
        ck_assert(i % 2 == 1 || len < 64 || body.len < plain);
        take_gzip(64 * KIB);
        ck_assert_int_eq(feed(base_slice_skip(base_buf_slice(&body), begin)), ERR_OK);
        ck_assert(complete);
        ck_assert_uint_eq(used, body.len - begin);
        ck_assert(base_slice_equal(gw_frame_message(&reader), base_buf_slice(&wanted)));
        base_buf_fini(&wanted);
    }
}
END_TEST

START_TEST(deflating_without_memory_leaves_the_message)
{
    size_t begin = gw_frame_begin(&body);
    for (int i = 0; i < 500; i++)
        (void)base_buf_append_byte(&body, 'x');
    gw_frame_end(&body, begin);
    enum err e = ERR_NO_MEMORY;
    for (int failures = 0; e != ERR_OK; failures++) {
        base_alloc_fail_after(failures);
        e = gw_frame_deflate(&body, begin);
        base_alloc_fail_after(-1);
        ck_assert(e == ERR_OK || e == ERR_NO_MEMORY);
        ck_assert(e == ERR_OK || (body.len == 505 && body.ptr[0] == 0));
    }
    ck_assert_uint_lt(body.len, 100);
}
END_TEST

Suite *suite_grpc_frame(void);
Suite *suite_grpc_frame(void)
{
    Suite *suite = suite_create("grpc_frame");
    TCase *reading = tcase_create("reading");
    tcase_add_checked_fixture(reading, set_up, tear_down);
    tcase_add_test(reading, messages_come_out_however_they_are_cut);
    tcase_add_test(reading, nothing_is_taken_between_complete_and_next);
    tcase_add_test(reading, no_bytes_change_nothing);
    tcase_add_test(reading, message_may_be_as_long_as_the_limit);
    tcase_add_test(reading, memory_is_counted_when_the_length_is_announced);
    tcase_add_test(reading, a_message_inflates_to_a_bounded_multiple);
    tcase_add_test(reading, large_memory_is_given_back_between_messages);
    tcase_add_test(reading, flags_but_0_and_1_are_refused);
    tcase_add_test(reading, no_memory_is_told);
    suite_add_tcase(suite, reading);
    TCase *gzip = tcase_create("gzip");
    tcase_add_checked_fixture(gzip, set_up, tear_down);
    tcase_add_test(gzip, compressed_messages_are_inflated);
    tcase_add_test(gzip, compressed_message_without_an_encoding_is_refused);
    tcase_add_test(gzip, only_gzip_is_gzip);
    tcase_add_test(gzip, inflated_message_may_be_as_long_as_the_limit);
    tcase_add_test(gzip, bombs_end_at_the_limit);
    tcase_add_test(gzip, damaged_gzip_is_refused_at_every_byte);
    tcase_add_test(gzip, nothing_may_follow_the_gzip_data);
    tcase_add_test(gzip, inflating_tells_that_memory_is_out);
    suite_add_tcase(suite, gzip);
    TCase *writing = tcase_create("writing");
    tcase_add_checked_fixture(writing, set_up, tear_down);
    tcase_add_test(writing, written_messages_have_their_length);
    tcase_add_test(writing, writing_errors_latch);
    tcase_add_test(writing, deflated_messages_come_back);
    tcase_add_test(writing, deflating_without_memory_leaves_the_message);
    suite_add_tcase(suite, writing);
    return suite;
}
