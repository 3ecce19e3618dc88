/*
 * tests/tenancy/test_erasure_lost.c - a ledger of erasures that lacks tenants which the database
 * knows as gone.
 */
#define _GNU_SOURCE

#include <jansson.h>

#include "base/file.h"
#include "base/sealed_line.h"
#include "base/text.h"
#include "tenancy/doc_key.h"
#include "tenancy/erasure_ledger.h"
#include "tenancy/erasure_replay.h"
#include "tenancy/expiry.h"
#include "tenancy/job_doc.h"
#include "tests/tenancy/departure.h"

#include "base/banned.h"

Suite *suite_tenancy_erasure_lost(void);

static char ledger[300];
static struct buf whole; /* the ledger as it was */
static size_t reissued;
static struct ten_copy copy = {.id = "b1", .created_us = 1700000000000000};
static size_t copy_count;

static enum err visit_copies(void *ctx, ten_copy_visit *visit, void *visit_ctx, struct errbuf *eb)
{
    (void)ctx;
    (void)eb;
    return copy_count == 0 ? ERR_OK : visit(visit_ctx, &copy);
}

static void set_up(void)
{
    setup();
    (void)snprintf(ledger, sizeof ledger, "%s/%s", tent.dir, TEN_LEDGER_FILE);
    reissued = 0;
    copy_count = 0;
}

static void tear_down(void)
{
    base_buf_fini(&whole);
    teardown();
}

static void registry_close(void)
{
    base_epoch_quiescent(tent.epoch, tent.slot);
    ten_registry_close(tent.registry);
    tent.registry = NULL;
}

static enum err registry_open(bool reissue)
{
    const struct ten_certificates_options certificates = {.dir = tent.dir, .copies = visit_copies};
    const struct ten_registry_options options = {.engine = tent.engine,
                                                 .epoch = tent.epoch,
                                                 .certificates = &certificates,
                                                 .reissue_erasures = reissue,
                                                 .out_reissued = &reissued};
    reissued = 0;
    memset(&tent.eb, 0, sizeof tent.eb);
    return ten_registry_open(&options, &tent.registry, &tent.eb);
}

static void depart(const char *tenant, struct ten_job *job)
{
    char id[TEN_JOB_ID + 1];
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, tenant), id), ERR_OK);
    tent_await_job(&tent, id, job);
    ck_assert_msg(job->state == TEN_JOB_DONE, "%s", job->error);
}

/* Closes the registry; keep: how many bytes of the ledger. */
static void ledger_cut(size_t keep)
{
    registry_close();
    base_buf_fini(&whole);
    ck_assert_int_eq(base_file_read(ledger, MIB, &whole, &tent.eb), ERR_OK);
    ck_assert_uint_lt(keep, whole.len);
    ck_assert_int_eq(base_file_replace(ledger, base_slice(whole.ptr, keep), 0600, &tent.eb),
                     ERR_OK);
}

static void expect_refused(unsigned tenants)
{
    char text[64];
    (void)snprintf(text, sizeof text, "lacks %u tenants", tenants);
    for (int i = 0; i < 2; i++) { /* trying again changes nothing */
        ck_assert_int_eq(registry_open(false), ERR_CORRUPT);
        ck_assert_msg(strstr(tent.eb.text, text) != NULL, "%s", tent.eb.text);
        ck_assert_ptr_nonnull(strstr(tent.eb.text, ledger));
        ck_assert_ptr_nonnull(strstr(tent.eb.text, "--accept-lost-erasure-ledger"));
        ck_assert_ptr_null(strstr(tent.eb.text, "altostrat"));
    }
}

/* And from then on it opens as ever. */
static void expect_reissued(size_t tenants)
{
    enum err rc = registry_open(true);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    ck_assert_uint_eq(reissued, tenants);
    registry_close();
    rc = registry_open(false);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    ck_assert_uint_eq(reissued, 0);
}

static json_t *certificate_of(const char *tenant, bool is_expired)
{
    struct buf line, pem;
    EVP_PKEY *key = NULL;
    struct ten_certificates *c = ten_registry_certificates(tent.registry);
    base_buf_init(&line, TEN_CERTIFICATE_MAX);
    base_buf_init(&pem, BASE_SEAL_PEM_MAX);
    enum err rc = ten_certificates_find(c, base_slice_text(tenant), is_expired, &line, &tent.eb);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    ck_assert_int_eq(ten_certificates_public_key(c, &pem, &tent.eb), ERR_OK);
    ck_assert_int_eq(base_seal_public_read(base_buf_slice(&pem), &key, &tent.eb), ERR_OK);
    ck_assert_int_eq(base_seal_check(key, base_buf_slice(&line), &tent.eb), ERR_OK);
    json_t *o = json_loadb((const char *)line.ptr, line.len, 0, NULL);
    ck_assert_ptr_nonnull(o);
    base_seal_key_free(key);
    base_buf_fini(&pem);
    base_buf_fini(&line);
    return o;
}

static const char *text_at(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));
    return text == NULL ? "(none)" : text;
}

START_TEST(a_lost_ledger_is_refused_and_written_again_when_that_is_accepted)
{
    struct ten_job job, other;
    fill_both();
    depart("altostrat", &job);
    depart("altostrat2", &other);
    json_t *before = certificate_of("altostrat", false);
    ledger_cut(0);
    expect_refused(2);
    ck_assert_int_eq(unlink(ledger), 0);
    expect_refused(2);
    expect_reissued(2);
    json_t *after = certificate_of("altostrat", false);
    static const char *const SAME[] = {
        "counts", "ranges", "sequence",  "steps",    "checks",         "holds",  "tenant",
        "job",    "reason", "requested", "canaries", "searched_after", "format", "key_destruction"};
    for (size_t i = 0; i < sizeof SAME / sizeof SAME[0]; i++)
        ck_assert_msg(json_equal(json_object_get(before, SAME[i]), json_object_get(after, SAME[i])),
                      "%s", SAME[i]);
    char finished[BASE_TIME_TEXT];
    base_time_format(job.finished_us, finished);
    ck_assert_str_eq(text_at(after, "purged"), finished);
    ck_assert_str_eq(text_at(before, "reissued"), "(none)");
    ck_assert_str_ne(text_at(after, "reissued"), "(none)");
    json_decref(before);
    json_decref(after);
}
END_TEST

START_TEST(only_the_lines_that_are_missing_are_written_again)
{
    struct ten_job job;
    fill_both();
    depart("altostrat", &job);
    registry_close();
    ck_assert_int_eq(base_file_read(ledger, MIB, &whole, &tent.eb), ERR_OK);
    size_t first = whole.len;
    ck_assert_int_eq(registry_open(false), ERR_OK);
    depart("altostrat2", &job);
    ledger_cut(first);
    expect_refused(1);
    expect_reissued(1);
    json_t *kept = certificate_of("altostrat", false);
    json_t *again = certificate_of("altostrat2", false);
    ck_assert_str_eq(text_at(kept, "reissued"), "(none)");
    ck_assert_str_ne(text_at(again, "reissued"), "(none)");
    ck_assert_str_ne(text_at(again, "previous"), text_at(kept, "previous"));
    json_decref(kept);
    json_decref(again);
}
END_TEST

static void do_look(struct tent *t, void *ctx)
{
    *(enum err *)ctx = ten_expiry_look(t->registry, &t->eb);
}

START_TEST(a_lost_second_line_is_missed_too)
{
    struct ten_job job;
    enum err rc = ERR_IO;
    fill_both();
    copy_count = 1;
    registry_close();
    ck_assert_int_eq(registry_open(false), ERR_OK);
    depart("altostrat", &job);
    registry_close();
    ck_assert_int_eq(base_file_read(ledger, MIB, &whole, &tent.eb), ERR_OK);
    size_t first = whole.len;
    copy_count = 0;
    ck_assert_int_eq(registry_open(false), ERR_OK);
    tent_control(&tent, do_look, &rc);
    ck_assert_int_eq(rc, ERR_OK);
    ck_assert_int_eq(atomic_load(&tent_find(&tent, "altostrat")->state), TEN_EXPIRED);
    ledger_cut(first);
    expect_refused(1);
    expect_reissued(1);
    json_decref(certificate_of("altostrat", true));
    ledger_cut(0); /* both of them */
    expect_refused(1);
    expect_reissued(1);
    json_decref(certificate_of("altostrat", true));
    json_t *line = certificate_of("altostrat", false);
    ck_assert_str_ne(text_at(line, "reissued"), "(none)");
    json_decref(line);
}
END_TEST

START_TEST(a_tenant_that_only_a_ledger_told_of_is_missed_too)
{
    static const char line[] =
        "{\"event\":\"purged\",\"job\":\"0123456789abcdef\",\"previous\":\"" /* of a first line */
        "0000000000000000000000000000000000000000000000000000000000000000\","
        "\"purged\":\"2026-11-20T10:00:00.123000Z\",\"tenant\":\"elsewhere\"}\n";
    size_t changed = 0;
    registry_close();
    ck_assert_int_eq(base_file_replace(ledger, base_slice_text(line), 0600, &tent.eb), ERR_OK);
    ck_assert_int_eq(ten_erasure_replay(tent.engine, tent.epoch, ledger, &changed, &tent.eb),
                     ERR_OK);
    ck_assert_uint_eq(changed, 1);
    ck_assert_int_eq(registry_open(false), ERR_OK);
    ledger_cut(0);
    expect_refused(1);
    expect_reissued(1);
    json_t *again = certificate_of("elsewhere", false);
    ck_assert_str_eq(text_at(again, "job"), "0123456789abcdef");
    ck_assert_str_eq(text_at(again, "purged"), "2026-11-20T10:00:00.123Z");
    ck_assert_ptr_null(json_object_get(again, "checks")); /* nobody knows */
    json_decref(again);
}
END_TEST

/* As a program before there were certificates left it. */
START_TEST(a_tenant_whose_job_issued_no_certificate_is_not_missed)
{
    struct ten_job job;
    struct buf body;
    uint64_t version = 0;
    fill_both();
    depart("altostrat", &job);
    ledger_cut(0);
    struct ten_doc_key key = ten_doc_key_job(base_slice_text(job.id));
    base_buf_init(&body, TEN_JOB_DOC_MAX);
    ck_assert_int_eq(sto_doc_get(tent.engine, ten_doc_key_slice(&key), &version, &body, &tent.eb),
                     ERR_OK);
    base_buf_truncate(&body, 0);
    job.steps_done = TEN_STEP_CERTIFICATE;
    ck_assert_int_eq(ten_job_encode(&job, &body), ERR_OK);
    const struct sto_doc_change change = {
        .key = ten_doc_key_slice(&key), .body = base_buf_slice(&body), .expect = version};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
    base_buf_fini(&body);
    enum err rc = registry_open(false);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    ck_assert_uint_eq(reissued, 0);
}
END_TEST

START_TEST(the_audit_trail_has_a_record_of_lines_that_are_written_again)
{
    struct ten_job job;
    fill_both();
    depart("altostrat", &job);
    ledger_cut(0);
    ck_assert_int_eq(registry_open(true), ERR_OK);
    struct buf body;
    bool found = false;
    base_buf_init(&body, MIB);
    for (uint64_t number = 1; !found && number < 1000; number++) {
        struct ten_doc_key key = ten_doc_key_audit(number);
        uint64_t version = 0;
        base_buf_truncate(&body, 0);
        if (sto_doc_get(tent.engine, ten_doc_key_slice(&key), &version, &body, NULL) != ERR_OK)
            continue;
        found = memmem(body.ptr, body.len, "erasures.reissue", 16) != NULL &&
                memmem(body.ptr, body.len, "tenants=1", 9) != NULL;
    }
    ck_assert(found);
    base_buf_fini(&body);
}
END_TEST

Suite *suite_tenancy_erasure_lost(void)
{
    Suite *s = suite_create("tenancy_erasure_lost");
    TCase *t = tcase_create("erasure_lost");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_lost_ledger_is_refused_and_written_again_when_that_is_accepted);
    tcase_add_test(t, only_the_lines_that_are_missing_are_written_again);
    tcase_add_test(t, a_lost_second_line_is_missed_too);
    tcase_add_test(t, a_tenant_that_only_a_ledger_told_of_is_missed_too);
    tcase_add_test(t, a_tenant_whose_job_issued_no_certificate_is_not_missed);
    tcase_add_test(t, the_audit_trail_has_a_record_of_lines_that_are_written_again);
    suite_add_tcase(s, t);
    return s;
}
