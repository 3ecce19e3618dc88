/*
 * tests/base/test_erasure_page.c - pages of certificates: what they say, and of what there is none.
 */
#define _GNU_SOURCE

#include "tests/base/check_base.h"

#include <stdio.h>

#include "base/erasure_page.h"
#include "base/file.h"
#include "base/sealed_line.h"
#include "base/text.h"

#include "base/banned.h"

Suite *suite_base_erasure_page(void);

#define ZEROS        "0000000000000000000000000000000000000000000000000000000000000000"
#define FIRST_FORMAT "tests/tenancy/fixtures/erasures-1"

#define CHECK(name, layer, after, passed)                                                          \
    "{\"after\":" after ",\"before\":1234,\"layer\":\"" layer "\",\"name\":\"" name                \
    "\",\"passed\":" passed "}"
#define CHECKS                                                                                     \
    CHECK("visible_rows", "api", "0", "true")                                                      \
    "," CHECK("physical_keys", "engine", "0", "true") "," CHECK("keys_in_files", "files", "0",     \
                                                                "true")
#define ID                                                                                         \
    "\"format\":\"bigtent.erasure.5\",\"job\":\"01m7ydqkhr6kn8n0\",\"previous\":\"" ZEROS          \
    "\",\"public_key\":\"AAAA\",\"purged\":\"2026-11-21T06:47:06.525Z\",\"software\":"             \
    "{\"bigtent\":\"0.1.0\",\"rocksdb\":\"7.8.3\"},\"tenant\":\"altostrat\""
#define FACTS                                                                                      \
    "\"canaries\":{\"found_after\":0,\"found_before\":4,\"planted\":4},\"counts\":{\"cells\":9,"   \
    "\"rows\":1234567,\"stored_bytes\":9876543210},\"requested\":\"2026-11-21T06:47:06.040Z\","    \
    "\"requested_by\":\"k0123456789a\",\"reason\":\"contract ended\",\"searched_after\":"          \
    "{\"bytes\":268337,\"deep\":false,\"files\":11,\"listed_bytes\":98765,\"listed_files\":3,"     \
    "\"scrubbed_files\":2},\"steps\":[{\"finished\":\"2026-11-21T06:47:06.091Z\",\"name\":"        \
    "\"fence\",\"seconds\":0.051055,\"started\":\"2026-11-21T06:47:06.040Z\"}]"
#define NO_KEY "\"key_destruction\":null"
#define EXCEPTIONS                                                                                 \
    "\"exceptions\":[{\"kept\":\"bills\",\"until\":\"400 days after each hour\",\"why\":"          \
    "\"so that it can be charged for\"}]"
#define PURGED "{\"event\":\"purged\"," FACTS "," EXCEPTIONS ","

static struct errbuf eb;
static struct buf out;
static EVP_PKEY *key;

static void setup(void)
{
    base_buf_init(&out, BASE_ERASURE_PAGE_MAX);
    ck_assert_int_eq(base_seal_key_make(&key, &eb), ERR_OK);
}

static void teardown(void)
{
    base_seal_key_free(key);
    base_buf_fini(&out);
}

/* The object with a signature as its first member. */
static struct buf sealed(const char *object)
{
    uint8_t signature[BASE_SEAL_SIGNATURE];
    struct buf line;
    base_buf_init(&line, LIM_CERTIFICATE_BYTES);
    ck_assert_int_eq(base_seal_sign(key, base_slice_text(object), signature, &eb), ERR_OK);
    (void)base_buf_append_text(&line, "{\"signature\":\"");
    (void)base_base64_encode(base_slice(signature, sizeof signature), &line);
    (void)base_buf_append_text(&line, "\",");
    ck_assert_int_eq(base_buf_append_text(&line, object + 1), ERR_OK);
    return line;
}

static const char *page_of_line(struct slice line)
{
    base_buf_truncate(&out, 0);
    enum err rc = base_erasure_page(key, line, &out, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    ck_assert_int_eq(base_buf_append_byte(&out, 0), ERR_OK);
    return (const char *)out.ptr;
}

static const char *page_of(const char *object)
{
    struct buf line = sealed(object);
    const char *page = page_of_line(base_buf_slice(&line));
    base_buf_fini(&line);
    return page;
}

static void expect_in(const char *page, const char *text)
{
    ck_assert_msg(strstr(page, text) != NULL, "no \"%s\" in: %s", text, page);
}

static void expect_not_in(const char *page, const char *text)
{
    ck_assert_msg(strstr(page, text) == NULL, "\"%s\" in: %s", text, page);
}

/* One behind the other. */
static void expect_order(const char *page, const char *const *texts)
{
    for (const char *at = page; *texts != NULL; texts++) {
        at = strstr(at, *texts);
        ck_assert_msg(at != NULL, "\"%s\" is not there, or too early: %s", *texts, page);
    }
}

static void expect_refused(struct slice line, enum err wanted, const char *why)
{
    eb.text[0] = '\0';
    base_buf_truncate(&out, 0);
    ck_assert_int_eq(base_buf_append_text(&out, "before"), ERR_OK);
    ck_assert_int_eq(base_erasure_page(key, line, &out, &eb), wanted);
    ck_assert_msg(strstr(eb.text, why) != NULL, "%s", eb.text);
    assert_buf_text(&out, "before");
}

/* --- what it says ----------------------------------------------------------------------------- */

START_TEST(the_verdict_and_the_signature_come_first_then_what_people_ask)
{
    static const char *const ORDER[] = {
        "<h1>Certificate of erasure</h1>",
        "<bdi>altostrat</bdi>",
        "<strong>Erased.</strong>",
        "no data of the tenant was found",
        "No backup holds its data.",
        "<strong>The signature is valid.</strong>",
        "<h2>Who, what, when, how much</h2>",
        "<bdi>k0123456789a</bdi>",
        "<bdi>contract ended</bdi>",
        "<span class=\"time\">2026-11-21&nbsp;06:47:06&nbsp;UTC</span>",
        "1,234,567",
        "9,876,543,210&nbsp;bytes",
        "<h2>How it was deleted</h2>",
        "Access was closed",
        "0.051055&nbsp;s",
        "<h2>How it was checked</h2>",
        "Rows that a request can read",
        "<td data-label=\"In\">answers to requests</td><td data-label=\"Before\" "
        "class=\"number\">1,234</td>"
        "<td data-label=\"After\" class=\"number\">0</td><td data-label=\"Passed\">yes</td>",
        "11 files (268,337 bytes) were read",
        "3 further files (98,765 bytes) were not read",
        "4 random markers",
        "found 4 of them before the deletion and 0 after",
        "<h2>What remains, where, and until when</h2>",
        "No backup held data of the tenant",
        "<bdi>bills</bdi>",
        "<bdi>so that it can be charged for</bdi>",
        "<bdi>400 days after each hour</bdi>",
        "<h2>For a technical check</h2>",
        "bigtent.erasure.5",
        NULL};
    const char *page = page_of(PURGED "\"checks\":[" CHECKS "],\"copies\":[]," NO_KEY "," ID "}");
    expect_order(page, ORDER);
    expect_not_in(page, "<strong>no</strong>");
    expect_not_in(page, "Legal hold");
    expect_not_in(page, "not stated");
}
END_TEST

#define COPY(id, expires)                                                                          \
    "{\"created\":\"2026-10-01T00:00:00.000Z\",\"expires\":" expires ",\"id\":\"" id "\"}"
#define TWO_COPIES                                                                                 \
    "\"copies\":[" COPY("b1", "\"2026-12-24T10:11:12.000Z\"") "," COPY(                            \
        "b2", "\"2026-12-01T00:00:00.000Z\"") "],"

START_TEST(backups_are_named_with_their_ends)
{
    const char *page = page_of(PURGED "\"checks\":[" CHECKS "]," TWO_COPIES NO_KEY "," ID "}");
    expect_in(page, "<strong>Erased from the database.</strong>");
    expect_in(page, "2 backups still held its data when this certificate was written. "
                    "The last of them expires on <span "
                    "class=\"time\">2026-12-24&nbsp;10:11:12&nbsp;UTC</span>.");
    expect_in(page, "<td data-label=\"Backup\"><bdi>b2</bdi></td>"
                    "<td data-label=\"Created\"><span "
                    "class=\"time\">2026-10-01&nbsp;00:00:00&nbsp;UTC</span></td>"
                    "<td data-label=\"Kept until\"><span "
                    "class=\"time\">2026-12-01&nbsp;00:00:00&nbsp;UTC</span></td>");
    expect_not_in(page, "No backup");
    page = page_of(PURGED "\"checks\":[" CHECKS "]," TWO_COPIES
                          "\"key_destruction\":{\"destroyed\":\"2026-11-21T06:47:06.050Z\","
                          "\"versions\":2}," ID "}");
    expect_in(page, "The data in backups is unreadable");
}
END_TEST

START_TEST(what_did_not_pass_is_said_at_once)
{
    const char *page = page_of(PURGED "\"checks\":[" CHECKS "," CHECK(
        "copies", "copies", "1", "false") "],\"copies\":[" COPY("b1", "null") "]," NO_KEY "," ID
                                                                              "}");
    expect_in(page, "class=\"verdict open\"");
    expect_in(page, "<strong>Erased from the database, but not every check passed.</strong>");
    expect_in(page, "1 check did not pass");
    expect_in(page, "1 backup has no expiry date and must be deleted by hand.");
    expect_in(page, "<td data-label=\"Before\" class=\"number\">1,234</td><td data-label=\"After\" "
                    "class=\"number\">1</td>"
                    "<td data-label=\"Passed\"><strong>no</strong></td>");
    expect_in(page, "<td data-label=\"Kept until\">deleted by hand: it has no expiry date</td>");
    page = page_of(PURGED "\"checks\":[" CHECK("physical_keys", "engine", "7",
                                               "false") "],\"copies\":[]," NO_KEY "," ID "}");
    expect_in(page, "<strong>Not proven.</strong>");
    expect_not_in(page, "no data of the tenant was found");
}
END_TEST

START_TEST(legal_holds_are_told)
{
    const char *page =
        page_of(PURGED "\"checks\":[" CHECKS "],\"copies\":[],\"holds\":[{\"action\":\"hold\","
                       "\"at\":\"2026-11-20T00:00:00.000Z\",\"by\":null,\"record\":17},"
                       "{\"action\":\"release\",\"at\":\"2026-11-21T00:00:00.000Z\",\"by\":\"k1\","
                       "\"record\":18}]," NO_KEY "," ID "}");
    expect_in(
        page,
        "<td data-label=\"Legal hold\">deletion forbidden</td>"
        "<td data-label=\"When\"><span class=\"time\">2026-11-20&nbsp;00:00:00&nbsp;UTC</span></td>"
        "<td data-label=\"By API key\">the server's operator</td>"
        "<td data-label=\"Audit record\" class=\"number\">17</td>");
    expect_in(
        page,
        "<td data-label=\"Legal hold\">released</td>"
        "<td data-label=\"When\"><span class=\"time\">2026-11-21&nbsp;00:00:00&nbsp;UTC</span></td>"
        "<td data-label=\"By API key\"><bdi>k1</bdi></td>");
}
END_TEST

START_TEST(a_second_certificate_and_one_written_again_have_pages)
{
    const char *page = page_of(
        "{\"copies\":[],\"event\":\"expired\",\"expired\":\"2026-12-24T10:11:12.000Z\"," ID "}");
    expect_in(page, "<strong>Erased, and no backup is left.</strong>");
    expect_in(page, "gone on <span class=\"time\">2026-12-24&nbsp;10:11:12&nbsp;UTC</span>");
    expect_not_in(page, "How it was checked");
    expect_not_in(page, "verdict open");
    page = page_of(
        "{\"copies\":[],\"event\":\"purged\",\"reissued\":\"2026-12-24T10:11:12.000Z\"," ID "}");
    expect_in(
        page,
        "this one replaced it on <span class=\"time\">2026-12-24&nbsp;10:11:12&nbsp;UTC</span>");
    expect_in(page, "verdict open");
    expect_not_in(page, "no data of the tenant was found");
}
END_TEST

/* Of a version that wrote format 1, with the key of that time. */
START_TEST(the_first_format_has_a_page)
{
    struct buf pem, lines;
    base_seal_key_free(key);
    ck_assert_int_eq(base_file_read(FIRST_FORMAT ".pub", BASE_SEAL_PEM_MAX, &pem, &eb), ERR_OK);
    ck_assert_int_eq(base_seal_public_read(base_buf_slice(&pem), &key, &eb), ERR_OK);
    ck_assert_int_eq(base_file_read(FIRST_FORMAT ".ndjson", 64 * KIB, &lines, &eb), ERR_OK);
    const uint8_t *end = memchr(lines.ptr, '\n', lines.len);
    const char *page = page_of_line(base_slice(lines.ptr, (size_t)(end - lines.ptr)));
    expect_in(page, "<strong>Erased.</strong>");
    expect_in(page, "No file was left out.");
    expect_in(page, "bigtent.erasure.1");
    base_buf_fini(&pem);
    base_buf_fini(&lines);
}
END_TEST

/* --- what it refuses -------------------------------------------------------------------------- */

START_TEST(what_does_not_verify_has_no_page)
{
    struct buf line = sealed(PURGED "\"checks\":[" CHECKS "],\"copies\":[]," NO_KEY "," ID "}");
    for (size_t i = 0; i < line.len; i++) {
        line.ptr[i] ^= 1;
        ck_assert_int_ne(base_erasure_page(key, base_buf_slice(&line), &out, NULL), ERR_OK);
        ck_assert_uint_eq(out.len, 0);
        line.ptr[i] ^= 1;
    }
    expect_refused(SLICE_LIT("{}"), ERR_INVALID, "not signed");
    expect_refused(SLICE_EMPTY, ERR_INVALID, "not signed");
    base_seal_key_free(key);
    ck_assert_int_eq(base_seal_key_make(&key, &eb), ERR_OK);
    expect_refused(base_buf_slice(&line), ERR_FORBIDDEN, "not by this key");
    base_buf_fini(&line);
}
END_TEST

/* The key signs statements of the audit trail, too, and newer versions may write other formats. */
START_TEST(what_is_signed_and_no_certificate_has_no_page)
{
    static const struct {
        const char *object;
        enum err rc;
        const char *why;
    } OTHERS[] = {
        {"{\"format\":\"bigtent.audit.cut.1\",\"tenant\":\"altostrat\"}", ERR_UNSUPPORTED,
         "its format is not bigtent.erasure.1 to 5"},
        {"{\"format\":\"bigtent.erasure.6\",\"tenant\":\"altostrat\"}", ERR_UNSUPPORTED,
         "a newer version"},
        {"{\"format\":\"bigtent.erasure.0\",\"tenant\":\"altostrat\"}", ERR_UNSUPPORTED, "format"},
        {"{\"format\":\"bigtent.erasure.51\",\"tenant\":\"altostrat\"}", ERR_UNSUPPORTED, "format"},
        {"{\"format\":\"bigtent.erasure.\",\"tenant\":\"altostrat\"}", ERR_UNSUPPORTED, "format"},
        {"{\"tenant\":\"altostrat\"}", ERR_UNSUPPORTED, "format"},
        {"{\"event\":\"purged\",\"format\":\"bigtent.erasure.5\",\"tenant\":[]}", ERR_INVALID,
         "no text \"tenant\""},
        {"{\"event\":\"purged\",\"format\":\"bigtent.erasure.5\",\"tenant\":\"a\"}", ERR_INVALID,
         "no text \"job\""},
        {"{\"format\":\"bigtent.erasure.5\",\"tenant\": \"a\"}", ERR_INVALID, "no JSON"},
    };
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        struct buf line = sealed(OTHERS[i].object);
        expect_refused(base_buf_slice(&line), OTHERS[i].rc, OTHERS[i].why);
        base_buf_fini(&line);
    }
}
END_TEST

START_TEST(a_page_that_does_not_fit_adds_nothing)
{
    struct buf line = sealed(PURGED "\"checks\":[" CHECKS "],\"copies\":[]," NO_KEY "," ID "}");
    struct buf small;
    base_buf_init(&small, 3000);
    ck_assert_int_eq(base_buf_append_text(&small, "before"), ERR_OK);
    ck_assert_int_eq(base_erasure_page(key, base_buf_slice(&line), &small, &eb), ERR_TOO_BIG);
    assert_buf_text(&small, "before");
    base_buf_fini(&small);
    base_buf_fini(&line);
}
END_TEST

/* --- hostile values --------------------------------------------------------------------------- */

#define HOSTILE                                                                                    \
    "</td></table><script>alert('1')</script><img src=x onerror=\\\"x\\\">&lt;\\u003cb\\u003e"

/* Every text of a certificate but its format is HOSTILE; there are no others. */
START_TEST(no_byte_of_it_becomes_markup)
{
    static const char *const TAGS[] = {"<script", "<img", "<b>", "onerror=\"", "alert('1')"};
    const char *page = page_of(
        "{\"canaries\":{\"found_after\":\"" HOSTILE "\",\"found_before\":\"" HOSTILE
        "\",\"planted\":\"" HOSTILE "\"},\"checks\":[{\"after\":\"" HOSTILE
        "\",\"before\":\"" HOSTILE "\",\"layer\":\"" HOSTILE "\",\"name\":\"" HOSTILE
        "\",\"passed\":\"" HOSTILE "\"}],\"copies\":[{\"created\":\"" HOSTILE
        "\",\"expires\":\"" HOSTILE "\",\"id\":\"" HOSTILE "\"}],\"counts\":{\"cells\":\"" HOSTILE
        "\",\"rows\":\"" HOSTILE "\",\"stored_bytes\":\"" HOSTILE "\"},\"event\":\"" HOSTILE
        "\",\"exceptions\":[{\"kept\":\"" HOSTILE "\",\"until\":\"" HOSTILE "\",\"why\":\"" HOSTILE
        "\"}],\"expired\":\"" HOSTILE "\",\"format\":\"bigtent.erasure.5\",\"holds\":["
        "{\"action\":\"" HOSTILE "\",\"at\":\"" HOSTILE "\",\"by\":\"" HOSTILE
        "\",\"record\":\"" HOSTILE "\"}],\"job\":\"" HOSTILE
        "\",\"key_destruction\":{\"destroyed\":\"" HOSTILE "\",\"versions\":\"" HOSTILE
        "\"},\"previous\":\"" HOSTILE "\",\"public_key\":\"" HOSTILE "\",\"purged\":\"" HOSTILE
        "\",\"ranges\":[{\"begin\":\"" HOSTILE "\",\"end\":\"" HOSTILE "\",\"family\":\"" HOSTILE
        "\"}],\"reason\":\"" HOSTILE "\",\"reissued\":\"" HOSTILE "\",\"requested\":\"" HOSTILE
        "\",\"requested_by\":\"" HOSTILE "\",\"searched_after\":"
        "{\"bytes\":\"" HOSTILE "\",\"files\":\"" HOSTILE "\",\"listed_bytes\":\"" HOSTILE
        "\",\"listed_files\":1,\"scrubbed_files\":\"" HOSTILE
        "\"},\"sequence\":{\"after\":\"" HOSTILE "\",\"before\":\"" HOSTILE
        "\",\"deleted\":\"" HOSTILE "\"},\"software\":"
        "{\"bigtent\":\"" HOSTILE "\",\"rocksdb\":\"" HOSTILE
        "\"},\"steps\":[{\"finished\":\"" HOSTILE "\",\"name\":\"" HOSTILE
        "\",\"seconds\":\"" HOSTILE "\"}],\"tenant\":\"" HOSTILE "\"}");
    for (size_t i = 0; i < sizeof TAGS / sizeof TAGS[0]; i++)
        expect_not_in(page, TAGS[i]);
    expect_in(page, "<bdi>&lt;/td&gt;&lt;/table&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"
                    "&lt;img src=x onerror=&quot;x&quot;&gt;&amp;lt;&lt;b&gt;</bdi>");
    size_t shown = 0;
    for (const char *at = page; (at = strstr(at, "&lt;script&gt;")) != NULL; at++)
        shown++;
    ck_assert_uint_ge(shown, 45); /* all of them, some twice */
}
END_TEST

START_TEST(a_page_loads_and_runs_nothing)
{
    static const char *const LOADING[] = {"http://", "https://", "<script", "<link", "<img",
                                          "<a ",     "url(",     "@import", "src=",  "javascript"};
    const char *page = page_of(PURGED "\"checks\":[" CHECKS "]," TWO_COPIES NO_KEY "," ID "}");
    for (size_t i = 0; i < sizeof LOADING / sizeof LOADING[0]; i++)
        expect_not_in(page, LOADING[i]);
    expect_in(page, "content=\"default-src 'none'; style-src 'unsafe-inline'\"");
    expect_in(page, "@page{size:A4");
}
END_TEST

Suite *suite_base_erasure_page(void)
{
    Suite *s = suite_create("base_erasure_page");
    TCase *c = tcase_create("page");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, the_verdict_and_the_signature_come_first_then_what_people_ask);
    tcase_add_test(c, backups_are_named_with_their_ends);
    tcase_add_test(c, what_did_not_pass_is_said_at_once);
    tcase_add_test(c, legal_holds_are_told);
    tcase_add_test(c, a_second_certificate_and_one_written_again_have_pages);
    tcase_add_test(c, the_first_format_has_a_page);
    tcase_add_test(c, what_does_not_verify_has_no_page);
    tcase_add_test(c, what_is_signed_and_no_certificate_has_no_page);
    tcase_add_test(c, a_page_that_does_not_fit_adds_nothing);
    tcase_add_test(c, no_byte_of_it_becomes_markup);
    tcase_add_test(c, a_page_loads_and_runs_nothing);
    suite_add_tcase(s, c);
    return s;
}
