/*
 * What clients are told of a failure: read again with protobuf-c's own unpacking.
 */
#include <check.h>
#include <google/rpc/error_details.pb-c.h>
#include <google/rpc/status.pb-c.h>

#include "base/alloc.h"
#include "base/text.h"
#include "gateway/grpc/status.h"
#include "gateway/problem.h"

#include "base/banned.h"

#define TYPE   "type.googleapis.com/google.rpc."
#define SECOND 1000000000U

static struct gw_exchange *ex;
static Rpc__Status *status;
static Rpc__ErrorInfo *error_info;
static Rpc__RetryInfo *retry_info;
static Rpc__QuotaFailure *quota_failure;

static void start(struct gw_exchange *one)
{
    (void)one;
}

static const struct gw_transport TRANSPORT = {.start = start, .more = start};

static void set_up(void)
{
    ex = base_new(sizeof *ex);
    gw_exchange_init(ex, NULL, &TRANSPORT);
}

static void forget(void)
{
    if (status != NULL)
        rpc__status__free_unpacked(status, NULL);
    if (error_info != NULL)
        rpc__error_info__free_unpacked(error_info, NULL);
    if (retry_info != NULL)
        rpc__retry_info__free_unpacked(retry_info, NULL);
    if (quota_failure != NULL)
        rpc__quota_failure__free_unpacked(quota_failure, NULL);
    status = NULL;
    error_info = NULL;
    retry_info = NULL;
    quota_failure = NULL;
}

static void tear_down(void)
{
    base_alloc_fail_after(-1);
    forget();
    base_free(ex);
}

static void unpack(struct slice bytes)
{
    forget();
    status = rpc__status__unpack(NULL, bytes.len, bytes.ptr);
    ck_assert_ptr_nonnull(status);
    for (size_t i = 0; i < status->n_details; i++) {
        const Google__Protobuf__Any *any = status->details[i];
        const char *type = any->type_url;
        if (strcmp(type, TYPE "ErrorInfo") == 0)
            error_info = rpc__error_info__unpack(NULL, any->value.len, any->value.data);
        else if (strcmp(type, TYPE "RetryInfo") == 0)
            retry_info = rpc__retry_info__unpack(NULL, any->value.len, any->value.data);
        else if (strcmp(type, TYPE "QuotaFailure") == 0)
            quota_failure = rpc__quota_failure__unpack(NULL, any->value.len, any->value.data);
        else
            ck_abort_msg("unexpected detail %s", type);
    }
    ck_assert_uint_eq(status->n_details, (error_info != NULL) + (retry_info != NULL) +
                                             (size_t)(quota_failure != NULL));
}

static void write_status(int problem, const char *detail, uint64_t retry_ns)
{
    struct buf out;
    base_buf_init(&out, GW_STATUS_DETAILS);
    const struct gw_problem_extra extra = {.retry_ns = retry_ns};
    gw_status_write(&out, problem, detail, &extra);
    ck_assert_int_eq(out.error, ERR_OK);
    unpack(base_buf_slice(&out));
    base_buf_fini(&out);
}

/* ptr NULL: absent. */
static struct slice find(const struct gw_header *list, size_t count, const char *name)
{
    struct slice found = SLICE_EMPTY;
    for (size_t i = 0; i < count; i++)
        if (base_slice_is(list[i].name, name)) {
            ck_assert_ptr_null(found.ptr);
            found = list[i].value;
        }
    return found;
}

static struct slice trailer(const char *name)
{
    return find(ex->trailers, ex->trailer_count, name);
}

static void put(int problem, const char *detail, uint64_t retry_ns)
{
    gw_exchange_init(ex, NULL, &TRANSPORT);
    const struct gw_problem_extra extra = {.retry_ns = retry_ns};
    gw_status_put(ex, GW_STATUS_IN_TRAILERS, problem, detail, &extra, NULL);
}

/* base64, as gRPC wants it. */
static void unpack_trailer(void)
{
    struct buf padded, raw;
    base_buf_init(&padded, 16 * KIB);
    base_buf_init(&raw, 16 * KIB);
    ck_assert_int_eq(base_buf_append(&padded, trailer("grpc-status-details-bin")), ERR_OK);
    while (padded.len % 4 != 0)
        ck_assert_int_eq(base_buf_append_byte(&padded, '='), ERR_OK);
    ck_assert_int_eq(base_base64_decode(base_buf_slice(&padded), &raw), ERR_OK);
    unpack(base_buf_slice(&raw));
    base_buf_fini(&padded);
    base_buf_fini(&raw);
}

/* --- codes ----------------------------------------------------------------------------------- */

START_TEST(every_problem_has_a_code)
{
    for (int problem = 1; problem < GW_PROBLEM_COUNT; problem++) {
        enum gw_status_code code = gw_status_code_of(problem);
        ck_assert_msg(code > GW_STATUS_OK && code <= GW_STATUS_UNAUTHENTICATED, "%d", problem);
        ck_assert_int_ne(code, GW_STATUS_UNKNOWN);
    }
    ck_assert_int_eq(gw_status_code_of(ERR_OK), GW_STATUS_INTERNAL);
    ck_assert_int_eq(gw_status_code_of(-1), GW_STATUS_INTERNAL);
    ck_assert_int_eq(gw_status_code_of(GW_PROBLEM_COUNT), GW_STATUS_INTERNAL);
}
END_TEST

START_TEST(codes_are_those_of_bigtable)
{
    static const struct {
        int problem;
        enum gw_status_code code;
    } CASES[] = {
        {ERR_INVALID, GW_STATUS_INVALID_ARGUMENT},
        {ERR_TOO_BIG, GW_STATUS_INVALID_ARGUMENT},
        {ERR_NOT_FOUND, GW_STATUS_NOT_FOUND},
        {ERR_EXISTS, GW_STATUS_ALREADY_EXISTS},
        {ERR_CONFLICT, GW_STATUS_FAILED_PRECONDITION},
        {ERR_PRECONDITION, GW_STATUS_ABORTED},
        {ERR_UNAUTHENTICATED, GW_STATUS_UNAUTHENTICATED},
        {ERR_FORBIDDEN, GW_STATUS_PERMISSION_DENIED},
        {ERR_SUSPENDED, GW_STATUS_PERMISSION_DENIED},
        {ERR_GONE, GW_STATUS_NOT_FOUND},
        {ERR_QUOTA, GW_STATUS_RESOURCE_EXHAUSTED},
        {ERR_RATE_LIMITED, GW_STATUS_RESOURCE_EXHAUSTED},
        {ERR_OVERLOADED, GW_STATUS_UNAVAILABLE},
        {ERR_STORAGE_FULL, GW_STATUS_RESOURCE_EXHAUSTED},
        {ERR_UNAVAILABLE, GW_STATUS_UNAVAILABLE},
        {ERR_OUTCOME_UNKNOWN, GW_STATUS_UNAVAILABLE},
        {ERR_CORRUPT, GW_STATUS_DATA_LOSS},
        {ERR_IO, GW_STATUS_INTERNAL},
        {ERR_NO_MEMORY, GW_STATUS_RESOURCE_EXHAUSTED},
        {ERR_CANCELLED, GW_STATUS_CANCELLED},
        {ERR_LOCKED, GW_STATUS_UNAVAILABLE},
        {ERR_UNSUPPORTED, GW_STATUS_UNIMPLEMENTED},
        {ERR_TIMEOUT, GW_STATUS_DEADLINE_EXCEEDED},
        {ERR_HELD, GW_STATUS_FAILED_PRECONDITION},
        {GW_PROBLEM_METHOD, GW_STATUS_UNIMPLEMENTED},
        {GW_PROBLEM_MEDIA_TYPE, GW_STATUS_INVALID_ARGUMENT},
        {GW_PROBLEM_TARGET, GW_STATUS_INVALID_ARGUMENT},
        {GW_PROBLEM_HEADERS, GW_STATUS_INVALID_ARGUMENT},
    };
    ck_assert_uint_eq(sizeof CASES / sizeof CASES[0], GW_PROBLEM_COUNT - 1);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        ck_assert_int_eq(gw_status_code_of(CASES[i].problem), CASES[i].code);
}
END_TEST

/* --- details --------------------------------------------------------------------------------- */

START_TEST(error_info_names_the_problem)
{
    for (int problem = 1; problem < GW_PROBLEM_COUNT; problem++) {
        write_status(problem, "what happened", 0);
        ck_assert_int_eq(status->code, (int)gw_status_code_of(problem));
        ck_assert_str_eq(status->message, "what happened");
        ck_assert_str_eq(error_info->domain, "bigtent");
        ck_assert_str_eq(error_info->reason, gw_problem_get(problem)->code);
        if (problem < ERR_COUNT)
            ck_assert_str_eq(error_info->reason, base_err_name((enum err)problem));
    }
}
END_TEST

START_TEST(retry_info_stands_where_a_retry_may_help_and_nothing_was_done)
{
    for (int problem = 0; problem <= GW_PROBLEM_COUNT; problem++) {
        bool is_wanted = problem == ERR_RATE_LIMITED || problem == ERR_OVERLOADED ||
                         problem == ERR_UNAVAILABLE || problem == ERR_LOCKED ||
                         problem == ERR_NO_MEMORY;
        write_status(problem, NULL, 5 * SECOND);
        ck_assert_msg((retry_info != NULL) == is_wanted, "problem %d", problem);
        ck_assert_msg(!is_wanted || gw_problem_get(problem)->retry, "problem %d", problem);
    }
}
END_TEST

START_TEST(retry_delay_is_the_one_given_or_the_usual)
{
    write_status(ERR_RATE_LIMITED, NULL, 3 * (uint64_t)SECOND + 7);
    ck_assert_int_eq(retry_info->retry_delay->seconds, 3);
    ck_assert_int_eq(retry_info->retry_delay->nanos, 7);
    write_status(ERR_RATE_LIMITED, NULL, 1);
    ck_assert_int_eq(retry_info->retry_delay->seconds, 0);
    ck_assert_int_eq(retry_info->retry_delay->nanos, 100000000); /* no less */
    write_status(ERR_UNAVAILABLE, NULL, 0);
    ck_assert_int_eq(retry_info->retry_delay->seconds,
                     gw_problem_get(ERR_UNAVAILABLE)->retry_after_s);
    ck_assert_int_eq(retry_info->retry_delay->nanos, 0);
    write_status(ERR_RATE_LIMITED, NULL, UINT64_MAX);
    ck_assert_int_eq(retry_info->retry_delay->seconds, UINT64_MAX / SECOND);
}
END_TEST

START_TEST(full_quota_comes_with_quota_failure)
{
    for (int problem = 1; problem < GW_PROBLEM_COUNT; problem++) {
        write_status(problem, "10 GiB of 10 GiB are used", 0);
        ck_assert_int_eq(quota_failure != NULL, problem == ERR_QUOTA);
        if (problem != ERR_QUOTA)
            continue;
        ck_assert_uint_eq(quota_failure->n_violations, 1);
        ck_assert_str_eq(quota_failure->violations[0]->description, "10 GiB of 10 GiB are used");
    }
}
END_TEST

START_TEST(without_a_detail_the_title_is_told)
{
    write_status(ERR_GONE, NULL, 0);
    ck_assert_str_eq(status->message, gw_problem_get(ERR_GONE)->title);
    write_status(ERR_GONE, "", 0);
    ck_assert_str_eq(status->message, gw_problem_get(ERR_GONE)->title);
}
END_TEST

START_TEST(message_is_utf8_that_ends_with_a_whole_character)
{
    static const char *const LAST[] = {"x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < 4; i++)
        for (size_t len = ERRBUF_BYTES - 8; len < ERRBUF_BYTES + 8; len++) {
            char detail[2 * ERRBUF_BYTES] = {0};
            memset(detail, 'a', len);
            memcpy(detail + len, LAST[i], strlen(LAST[i]));
            write_status(ERR_QUOTA, detail, 0);
            size_t whole = len + strlen(LAST[i]);
            size_t wanted = whole < ERRBUF_BYTES ? whole
                            : len < ERRBUF_BYTES ? len
                                                 : ERRBUF_BYTES - 1;
            ck_assert_uint_eq(strlen(status->message), wanted);
            ck_assert(base_utf8_is_valid(base_slice_text(status->message)));
        }
    write_status(ERR_INVALID,
                 "a\xff"
                 "b\xe2\x82",
                 0);
    ck_assert_str_eq(status->message, "a?b??");
}
END_TEST

START_TEST(writing_latches_when_there_is_no_room)
{
    struct buf out;
    base_buf_init(&out, 10);
    gw_status_write(&out, ERR_INVALID, "too long for it", NULL);
    ck_assert_int_eq(out.error, ERR_TOO_BIG);
    ck_assert_uint_eq(out.len, 0);
    base_buf_fini(&out);
}
END_TEST

/* --- headers --------------------------------------------------------------------------------- */

START_TEST(code_message_and_details_are_put_into_trailers)
{
    for (int problem = 1; problem < GW_PROBLEM_COUNT; problem++) {
        put(problem, "no", 2 * SECOND);
        ck_assert_uint_eq(ex->trailer_count, 3);
        ck_assert_uint_eq(ex->response_header_count, 0);
        ck_assert(base_slice_is(trailer("grpc-message"), "no"));
        uint64_t code = 0;
        ck_assert_int_eq(base_parse_u64(trailer("grpc-status"), &code), ERR_OK);
        ck_assert_uint_eq(code, gw_status_code_of(problem));
        struct slice bin = trailer("grpc-status-details-bin");
        ck_assert_ptr_null(memchr(bin.ptr, '=', bin.len));
        unpack_trailer();
        ck_assert_int_eq(status->code, (int)code);
        ck_assert_str_eq(status->message, "no");
    }
}
END_TEST

START_TEST(status_may_stand_in_the_head)
{
    gw_status_put(ex, GW_STATUS_IN_HEAD, ERR_UNAUTHENTICATED, NULL, NULL, NULL);
    ck_assert_uint_eq(ex->trailer_count, 0);
    ck_assert_uint_eq(ex->response_header_count, 3);
    ck_assert(base_slice_is(find(ex->response_headers, 3, "grpc-status"), "16"));
    ck_assert(
        base_slice_is(find(ex->response_headers, 3, "grpc-message"), "Authentication required"));
}
END_TEST

START_TEST(success_is_code_0_alone)
{
    gw_status_put_ok(ex);
    ck_assert_uint_eq(ex->trailer_count, 1);
    ck_assert(base_slice_is(trailer("grpc-status"), "0"));
}
END_TEST

START_TEST(messages_are_percent_encoded)
{
    static const struct {
        const char *detail;
        const char *encoded;
    } CASES[] = {
        {"plain text, with ~ and \"quotes\"", "plain text, with ~ and \"quotes\""},
        {"100%", "100%25"},
        {"a\r\nb: c\t\x7f\x1f", "a%0D%0Ab: c%09%7F%1F"},
        {"caf\xc3\xa9 \xe2\x82\xac", "caf%C3%A9 %E2%82%AC"},
        {" in the middle ", "%20in the middle%20"},
        {" ", "%20"},
        {"\xff", "?"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        put(ERR_INVALID, CASES[i].detail, 0);
        ck_assert(base_slice_is(trailer("grpc-message"), CASES[i].encoded));
    }
}
END_TEST

/* RFC 9113 6.5.2: what clients count before they refuse heads and trailers. */
static size_t trailers_size(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < ex->trailer_count; i++)
        bytes += ex->trailers[i].name.len + ex->trailers[i].value.len + 32;
    return bytes;
}

/* Up to the longest, which 8 KiB of trailers just hold beside a message like that of such rows. */
START_TEST(an_info_is_the_only_error_info)
{
    static const size_t LENGTHS[] = {4, 1000, GW_STATUS_INFO_VALUE};
    static char value[GW_STATUS_INFO_VALUE + 1];
    static const struct gw_status_info info = {"LargeRowReadError", "bigtable.googleapis.com",
                                               "rowKeyBase64Encoded", value};
    char detail[121];
    memset(value, 'A', LENGTHS[_i]);
    memset(detail, 'd', sizeof detail - 1);
    detail[sizeof detail - 1] = '\0';
    gw_status_put(ex, GW_STATUS_IN_TRAILERS, ERR_CONFLICT, detail, 0, &info);
    unpack_trailer();
    ck_assert(base_slice_is(trailer("grpc-status"), "9"));
    ck_assert(base_slice_is(trailer("grpc-message"), detail));
    ck_assert_uint_eq(status->n_details, 1);
    ck_assert_str_eq(status->message, detail);
    ck_assert_str_eq(error_info->reason, info.reason);
    ck_assert_str_eq(error_info->domain, info.domain);
    ck_assert_uint_eq(error_info->n_metadata, 1);
    ck_assert_str_eq(error_info->metadata[0]->key, info.name);
    ck_assert_str_eq(error_info->metadata[0]->value, value);
    ck_assert_uint_le(trailers_size(), 8 * KIB);
    gw_exchange_fini(ex);
}
END_TEST

/* The longest details, messages that grow threefold, and heads that leave any room for them. */
START_TEST(no_status_is_too_long_for_the_room)
{
    static const char *const UNITS[] = {"x", "%", "\xf0\x9f\x98\x80", " "};
    static char filler[GW_RESPONSE_HEADER_BYTES];
    memset(filler, 'f', sizeof filler);
    for (size_t u = 0; u < 4; u++)
        for (size_t heads = 0; heads + 16 < sizeof filler; heads += 7) {
            char detail[ERRBUF_BYTES + 8] = "a";
            while (strlen(detail) < ERRBUF_BYTES)
                memcpy(detail + strlen(detail), UNITS[u], strlen(UNITS[u]) + 1);
            gw_exchange_init(ex, NULL, &TRANSPORT);
            gw_exchange_add_header(ex, "x", base_slice(filler, heads));
            gw_status_put(ex, GW_STATUS_IN_TRAILERS, ERR_QUOTA, detail, NULL, NULL);
            ck_assert(base_slice_is(trailer("grpc-status"), "8"));
            struct slice message = trailer("grpc-message");
            ck_assert(message.len == 0 || message.ptr[message.len - 1] != ' ');
            for (size_t i = 0; i < message.len; i++)
                ck_assert(message.ptr[i] != '%' || i + 2 < message.len);
            ck_assert(heads > 100 || message.len >= 300);
            ck_assert(heads > 100 || trailer("grpc-status-details-bin").ptr != NULL);
        }
}
END_TEST

START_TEST(without_memory_code_and_message_are_told)
{
    base_alloc_fail_after(0);
    put(ERR_NO_MEMORY, "none", 0);
    base_alloc_fail_after(-1);
    ck_assert_uint_eq(ex->trailer_count, 2);
    ck_assert(base_slice_is(trailer("grpc-status"), "8"));
    ck_assert(base_slice_is(trailer("grpc-message"), "none"));
}
END_TEST

Suite *suite_grpc_status(void);
Suite *suite_grpc_status(void)
{
    Suite *suite = suite_create("grpc_status");
    TCase *codes = tcase_create("codes");
    tcase_add_checked_fixture(codes, set_up, tear_down);
    tcase_add_test(codes, every_problem_has_a_code);
    tcase_add_test(codes, codes_are_those_of_bigtable);
    suite_add_tcase(suite, codes);
    TCase *details = tcase_create("details");
    tcase_add_checked_fixture(details, set_up, tear_down);
    tcase_add_test(details, error_info_names_the_problem);
    tcase_add_test(details, retry_info_stands_where_a_retry_may_help_and_nothing_was_done);
    tcase_add_test(details, retry_delay_is_the_one_given_or_the_usual);
    tcase_add_test(details, full_quota_comes_with_quota_failure);
    tcase_add_test(details, without_a_detail_the_title_is_told);
    tcase_add_test(details, message_is_utf8_that_ends_with_a_whole_character);
    tcase_add_test(details, writing_latches_when_there_is_no_room);
    suite_add_tcase(suite, details);
    TCase *headers = tcase_create("headers");
    tcase_add_checked_fixture(headers, set_up, tear_down);
    tcase_add_test(headers, code_message_and_details_are_put_into_trailers);
    tcase_add_test(headers, status_may_stand_in_the_head);
    tcase_add_loop_test(headers, an_info_is_the_only_error_info, 0, 3);
    tcase_add_test(headers, success_is_code_0_alone);
    tcase_add_test(headers, messages_are_percent_encoded);
    tcase_add_test(headers, no_status_is_too_long_for_the_room);
    tcase_add_test(headers, without_memory_code_and_message_are_told);
    suite_add_tcase(suite, headers);
    return suite;
}
