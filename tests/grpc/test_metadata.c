/*
 * Headers of gRPC requests.
 */
#include <check.h>

#include "gateway/grpc/metadata.h"

#include "base/banned.h"

static struct gw_exchange ex;
static struct gw_header headers[4];
static struct gw_metadata got;
static struct errbuf eb;

static void set_up(void)
{
    memset(&ex, 0, sizeof ex);
    ex.headers = headers;
}

static void set(const char *name, const char *value)
{
    ex.header_count = 1;
    headers[0] = (struct gw_header){base_slice_text(name), base_slice_text(value)};
}

static void add(const char *name, const char *value)
{
    headers[ex.header_count++] = (struct gw_header){base_slice_text(name), base_slice_text(value)};
}

static enum err read_headers(void)
{
    memset(&got, 0xee, sizeof got);
    eb.text[0] = '\0';
    return gw_metadata_read(&ex, &got, &eb);
}

START_TEST(content_type_of_grpc_is_known)
{
    static const struct {
        const char *type;
        bool is_grpc;
    } CASES[] = {
        {"application/grpc", true},
        {"application/grpc+proto", true},
        {"Application/GRPC+Proto", true},
        {"application/grpc;charset=utf-8", true},
        {"application/grpc+proto ; a=b", true},
        {" application/grpc ", true},
        {"application/grpc+json", false},
        {"application/grpc+protobuf", false},
        {"application/grpc-web", false},
        {"application/grpc-web+proto", false},
        {"application/grp", false},
        {"application/json", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        set("content-type", CASES[i].type);
        ck_assert_int_eq(gw_metadata_is_grpc(&ex), CASES[i].is_grpc);
    }
    ex.header_count = 0;
    ck_assert(!gw_metadata_is_grpc(&ex));
    add("content-type", "application/grpc");
    add("content-type", "application/grpc");
    ck_assert(!gw_metadata_is_grpc(&ex));
}
END_TEST

START_TEST(no_headers_say_the_usual)
{
    ck_assert_int_eq(read_headers(), ERR_OK);
    ck_assert_uint_eq(got.timeout_ns, 0);
    ck_assert_int_eq(got.encoding, GW_ENCODING_IDENTITY);
    ck_assert_int_eq(got.reply, GW_ENCODING_IDENTITY);
}
END_TEST

START_TEST(timeout_is_digits_and_a_unit)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } GOOD[] = {
        {"1n", 1},
        {"25u", 25000},
        {"3m", 3000000},
        {"4S", 4000000000U},
        {"5M", 300000000000U},
        {"6H", 21600000000000U},
        {"007S", 7000000000U},
        {"99999999n", 99999999},
        {"0n", 1},
        {"00000000H", 1},
        {"99999999M", 5999999940000000000U},
        {"2562047H", 9223369200000000000U},
        {"2562048H", INT64_MAX},
        {"99999999H", INT64_MAX},
    };
    static const char *const BAD[] = {"",           "1",   "S",   "-1S",  "+1S",  "1s",
                                      "1 S",        " 1S", "1S ", "1.5S", "1ms",  "1h",
                                      "123456789n", "aS",  "1:S", "1/S",  "1\x80"};
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        set("grpc-timeout", GOOD[i].text);
        ck_assert_int_eq(read_headers(), ERR_OK);
        ck_assert_uint_eq(got.timeout_ns, GOOD[i].ns);
    }
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        set("grpc-timeout", BAD[i]);
        ck_assert_int_eq(read_headers(), ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(eb.text, "grpc-timeout"));
        ck_assert_uint_eq(got.encoding, 0xeeeeeeee); /* untouched */
    }
    ex.header_count = 1;
    headers[0].value = SLICE_EMPTY;
    ck_assert_int_eq(read_headers(), ERR_INVALID);
}
END_TEST

START_TEST(encoding_is_identity_or_gzip)
{
    set("grpc-encoding", "identity");
    ck_assert_int_eq(read_headers(), ERR_OK);
    ck_assert_int_eq(got.encoding, GW_ENCODING_IDENTITY);
    set("grpc-encoding", "gzip");
    ck_assert_int_eq(read_headers(), ERR_OK);
    ck_assert_int_eq(got.encoding, GW_ENCODING_GZIP);
    static const char *const UNKNOWN[] = {"deflate", "snappy", "gzip,identity", "GZIP", ""};
    for (size_t i = 0; i < sizeof UNKNOWN / sizeof UNKNOWN[0]; i++) {
        set("grpc-encoding", UNKNOWN[i]);
        ck_assert_int_eq(read_headers(), ERR_UNSUPPORTED);
        ck_assert_ptr_nonnull(strstr(eb.text, "grpc-encoding"));
    }
}
END_TEST

START_TEST(replies_are_gzip_when_requests_are_and_the_peer_takes_it)
{
    static const struct {
        const char *list;
        bool takes;
    } CASES[] = {{"gzip", true},
                 {"identity,deflate,gzip", true},
                 {"identity, gzip ,x", true},
                 {"gzip\t,x", true},
                 {"", false},
                 {"identity", false},
                 {"gzipp,xgzip", false},
                 {"g zip", false},
                 {",,", false},
                 {",gzip", true}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        for (int asks = 0; asks < 2; asks++) {
            set("grpc-encoding", asks ? "gzip" : "identity");
            add("grpc-accept-encoding", CASES[i].list);
            ck_assert_int_eq(read_headers(), ERR_OK);
            ck_assert_int_eq(got.reply == GW_ENCODING_GZIP, asks && CASES[i].takes);
        }
}
END_TEST

START_TEST(headers_that_come_once_are_refused_twice)
{
    static const char *const ONCE[] = {"grpc-timeout", "grpc-encoding"};
    static const char *const VALUES[] = {"1S", "gzip"};
    for (size_t i = 0; i < 2; i++) {
        set(ONCE[i], VALUES[i]);
        ck_assert_int_eq(read_headers(), ERR_OK);
        add(ONCE[i], VALUES[i]);
        ck_assert_int_eq(read_headers(), ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(eb.text, ONCE[i]));
    }
}
END_TEST

START_TEST(the_project_is_found_where_clients_put_it)
{
    static const struct {
        const char *params, *project;
    } CASES[] = {
        {"table_name=projects%2Facme%2Finstances%2Fmain%2Ftables%2Ft&app_profile_id=p", "acme"},
        {"app_profile_id=&table_name=projects/acme/instances/main/tables/t", "acme"},
        {"name=projects%2facme", "acme"},
        {"parent=projects/acme&x=y", "acme"},
        {"parent=Projects%2Facme/", "acme"},
        {"name=projects%2Facm%65", ""},
        {"name=projects/Acme", ""},
        {"name=projects/\xc3\x28", ""},
        {"name=projects%2F", ""},
        {"name=projects", ""},
        {"name=project%2Facme", ""},
        {"projects%2Facme", ""},
        {"name=", ""},
        {"=", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        set("x-goog-request-params", CASES[i].params);
        ck_assert_msg(base_slice_is(gw_metadata_project(&ex), CASES[i].project), "%s",
                      CASES[i].params);
    }
    set("x-goog-request-params", CASES[0].params);
    add("x-goog-request-params", CASES[0].params);
    ck_assert_uint_eq(gw_metadata_project(&ex).len, 0);
    ex.header_count = 0;
    ck_assert_uint_eq(gw_metadata_project(&ex).len, 0);
}
END_TEST

START_TEST(accepted_encodings_may_come_in_several_headers)
{
    set("grpc-encoding", "gzip");
    add("grpc-accept-encoding", "identity");
    add("grpc-accept-encoding", "gzip");
    ck_assert_int_eq(read_headers(), ERR_OK);
    ck_assert_int_eq(got.reply, GW_ENCODING_GZIP);
}
END_TEST

Suite *suite_grpc_metadata(void);
Suite *suite_grpc_metadata(void)
{
    Suite *suite = suite_create("grpc_metadata");
    TCase *of_headers = tcase_create("headers");
    tcase_add_checked_fixture(of_headers, set_up, NULL);
    tcase_add_test(of_headers, content_type_of_grpc_is_known);
    tcase_add_test(of_headers, no_headers_say_the_usual);
    tcase_add_test(of_headers, timeout_is_digits_and_a_unit);
    tcase_add_test(of_headers, encoding_is_identity_or_gzip);
    tcase_add_test(of_headers, replies_are_gzip_when_requests_are_and_the_peer_takes_it);
    tcase_add_test(of_headers, headers_that_come_once_are_refused_twice);
    tcase_add_test(of_headers, accepted_encodings_may_come_in_several_headers);
    tcase_add_test(of_headers, the_project_is_found_where_clients_put_it);
    suite_add_tcase(suite, of_headers);
    return suite;
}
