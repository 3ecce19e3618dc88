/*
 * tests/tenancy/test_certificate.c - what a certificate says, whose it is, and that there is one.
 *
 * Over 500 lines because every line of a certificate is compared with the departure that it tells
 * of.
 */
#define _GNU_SOURCE

#include <inttypes.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/erasure_page.h"
#include "base/file.h"
#include "base/sealed_line.h"
#include "base/text.h"
#include "storage/places.h"
#include "storage/rocksdb/rdb.h"
#include "tenancy/expiry.h"
#include "tests/tenancy/departure.h"

#include "base/banned.h"

static const char ZEROS[] = "0000000000000000000000000000000000000000000000000000000000000000";

/* --- a departure ------------------------------------------------------------------------------ */

static struct buf certificate_of(const char *tenant, bool is_expired)
{
    struct buf line;
    base_buf_init(&line, TEN_CERTIFICATE_MAX);
    enum err rc = ten_certificates_find(ten_registry_certificates(tent.registry),
                                        base_slice_text(tenant), is_expired, &line, &tent.eb);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    return line;
}

static EVP_PKEY *public_key(void)
{
    EVP_PKEY *key = NULL;
    struct buf pem;
    base_buf_init(&pem, BASE_SEAL_PEM_MAX);
    ck_assert_int_eq(
        ten_certificates_public_key(ten_registry_certificates(tent.registry), &pem, &tent.eb),
        ERR_OK);
    ck_assert_int_eq(base_seal_public_read(base_buf_slice(&pem), &key, &tent.eb), ERR_OK);
    base_buf_fini(&pem);
    return key;
}

static void depart(const char *tenant, struct ten_job *job)
{
    char id[TEN_JOB_ID + 1];
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, tenant), id), ERR_OK);
    tent_await_job(&tent, id, job);
    ck_assert_msg(job->state == TEN_JOB_DONE, "%s", job->error);
}

static const char *text_at(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));
    return text == NULL ? "(none)" : text;
}

static json_int_t number_at(const json_t *o, const char *name)
{
    const json_t *number = json_object_get(o, name);
    ck_assert_msg(json_is_integer(number), "%s", name);
    return json_integer_value(number);
}

static const json_t *named(const json_t *array, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(array, i, one) if (strcmp(text_at(one, "name"), name) == 0) return one;
    ck_abort_msg("there is no %s", name);
}

static json_t *parse(const struct buf *line)
{
    json_t *o = json_loadb((const char *)line->ptr, line->len, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(o);
    static char again[64 * 1024];
    size_t len =
        json_dumpb(o, again, sizeof again, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
    ck_assert(base_slice_equal(base_buf_slice(line), base_slice(again, len))); /* canonical */
    return o;
}

static void check_before_of(const json_t *checks, const char *name, uint64_t wanted)
{
    json_int_t before = number_at(named(checks, name), "before");
    ck_assert_msg((uint64_t)before == wanted, "%s: %" JSON_INTEGER_FORMAT " instead of %" PRIu64,
                  name, before, wanted);
}

static void check_checks(const json_t *o, const struct ten_job *job)
{
    static const char *const NAMES[] = {"visible_rows",  "physical_keys",   "live_files_inside",
                                        "documents",     "older_snapshots", "keys_in_files",
                                        "notes_in_logs", "obsolete_files",  "copies"};
    const json_t *checks = json_object_get(o, "checks");
    ck_assert_uint_eq(json_array_size(checks), sizeof NAMES / sizeof NAMES[0]);
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        const json_t *check = named(checks, NAMES[i]);
        ck_assert_int_eq(number_at(check, "after"), 0);
        ck_assert(json_is_true(json_object_get(check, "passed")));
    }
    check_before_of(checks, "visible_rows", job->usage_before.rows);
    check_before_of(checks, "physical_keys", job->audit_before.physical_keys);
    check_before_of(checks, "live_files_inside", job->audit_before.live_files_inside);
    check_before_of(checks, "documents", job->audit_before.counters);
    check_before_of(checks, "older_snapshots", job->audit_before.snapshots);
    check_before_of(checks, "keys_in_files", job->search_before.keys);
    check_before_of(checks, "notes_in_logs", job->search_before.notes);
    check_before_of(checks, "obsolete_files", job->search_before.obsolete);
}

static void check_time(const json_t *step, const char *name, int64_t us)
{
    char text[BASE_TIME_TEXT];
    base_time_format(us, text);
    ck_assert_str_eq(text_at(step, name), text);
}

/* All but the last, which is that of the certificate. Each begins when the one before has ended. */
static void check_steps(const json_t *o, const struct ten_job *job)
{
    const json_t *steps = json_object_get(o, "steps");
    int64_t start_us = job->requested_us;
    ck_assert_uint_eq(json_array_size(steps), TEN_JOB_STEPS - 1);
    for (uint32_t i = 0; i < TEN_JOB_STEPS - 1; i++) {
        const json_t *step = json_array_get(steps, i);
        int64_t end_us = job->step_done_us[i];
        double seconds = json_real_value(json_object_get(step, "seconds"));
        ck_assert_str_eq(text_at(step, "name"), ten_job_step_name(i));
        ck_assert_int_ge(end_us, start_us);
        check_time(step, "started", start_us);
        check_time(step, "finished", end_us);
        ck_assert_double_eq_tol(seconds, (double)(end_us - start_us) / 1e6, 1e-4 + seconds / 1e5);
        start_us = end_us;
    }
}

static void check_search(const json_t *o, const char *name, const struct sto_search *s)
{
    const json_t *search = json_object_get(o, name);
    ck_assert_int_eq(number_at(search, "files"), (int)s->files);
    ck_assert_int_eq(number_at(search, "bytes"), (int)s->bytes);
    ck_assert_int_eq(number_at(search, "listed_files"), (int)s->listed_files);
    ck_assert_int_eq(number_at(search, "listed_bytes"), (int)s->listed_bytes);
    ck_assert(json_boolean_value(json_object_get(search, "deep")) == s->deep);
    ck_assert_int_eq(number_at(search, "scrubbed_files"), (int)s->scrubbed_files);
    if (s->scrubbed_files > 0)
        check_time(search, "scrubbed_oldest", s->scrubbed_oldest_us);
    else
        ck_assert_ptr_null(json_object_get(search, "scrubbed_oldest"));
}

/* Each with a reason and an end, and the periods in days as they are configured. */
static void check_exceptions(const json_t *o)
{
    const json_t *exceptions = json_object_get(o, "exceptions");
    ck_assert_uint_eq(json_array_size(exceptions), STO_REMAINDERS - 1);
    for (int i = STO_REMAINS_NONE + 1; i < STO_REMAINDERS; i++) {
        const struct sto_remainder_text *text = sto_remainder_text((enum sto_remainder)i);
        const json_t *exception = json_array_get(exceptions, (size_t)i - 1);
        ck_assert_str_eq(text_at(exception, "kept"), text->kept);
        ck_assert_str_eq(text_at(exception, "why"), text->why);
        ck_assert_ptr_nonnull(strstr(text_at(exception, "until"), text->until));
    }
    const json_t *trail = json_array_get(exceptions, STO_REMAINS_AUDIT - 1);
    const json_t *bills = json_array_get(exceptions, STO_REMAINS_BILLS - 1);
    ck_assert_ptr_nonnull(strstr(text_at(trail, "until"), "400 days after each record"));
    ck_assert_str_eq(text_at(bills, "until"), "400 days after each hour");
}

START_TEST(it_says_what_was_done_and_found)
{
    struct ten_job job;
    fill_both();
    depart("altostrat", &job);
    struct buf line = certificate_of("altostrat", false);
    json_t *o = parse(&line);
    ck_assert_str_eq(text_at(o, "format"), "bigtent.erasure.5");
    ck_assert_str_eq(text_at(o, "event"), "purged");
    ck_assert_str_eq(text_at(o, "tenant"), "altostrat");
    ck_assert_str_eq(text_at(o, "job"), job.id);
    ck_assert_str_eq(text_at(o, "previous"), ZEROS);
    ck_assert_str_eq(text_at(o, "requested_by"), "k0123456789a");
    ck_assert_str_eq(text_at(json_object_get(o, "software"), "bigtent"), BIGTENT_VERSION);
    const char *version = text_at(json_object_get(o, "software"), "rocksdb");
    ck_assert_uint_ge(strlen(version), strlen("7.8.3"));
    ck_assert_uint_eq(strspn(version, "0123456789."), strlen(version));
    ck_assert_int_eq(number_at(json_object_get(o, "counts"), "rows"), ROWS_EACH);
    const json_t *range = json_array_get(json_object_get(o, "ranges"), 0);
    ck_assert_str_eq(text_at(range, "begin"), "616c746f737472617423"); /* altostrat# */
    ck_assert_str_eq(text_at(range, "end"), "616c746f737472617424");
    ck_assert_uint_eq(job.usage_before.rows, ROWS_EACH);
    ck_assert_uint_ge(job.search_before.keys, 2 * ROWS_EACH);
    check_search(o, "searched_before", &job.search_before);
    check_search(o, "searched_after", &job.search_after);
    check_steps(o, &job);
    ck_assert_uint_eq(json_array_size(json_object_get(o, "copies")), 0);
    check_exceptions(o);
    ck_assert(json_is_null(json_object_get(o, "key_destruction")));
    ck_assert_int_gt(number_at(json_object_get(o, "sequence"), "after"),
                     number_at(json_object_get(o, "sequence"), "before"));
    ck_assert_int_eq(number_at(json_object_get(o, "sequence"), "deleted"), (int)job.deleted_at);
    ck_assert_uint_gt(job.deleted_at, job.audit_before.sequence);
    const json_t *holders = json_object_get(o, "holders");
    ck_assert_int_eq(number_at(json_object_get(holders, "snapshots"), "after"), 0);
    ck_assert_int_ge(number_at(json_object_get(holders, "obsolete_bytes"), "before"), 0);
    ck_assert_int_ge(number_at(json_object_get(holders, "old_versions"), "before"), 0);
    check_checks(o, &job);
    json_decref(o);
    base_buf_fini(&line);
}
END_TEST

START_TEST(it_tells_nothing_that_only_the_tenant_knows)
{
    struct ten_job job;
    fill_both();
    depart("altostrat", &job);
    struct buf line = certificate_of("altostrat", false);
    static const char *const secrets[] = {CANARY, "Somebody", "row0", "devices", "altostrat2"};
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
        ck_assert_msg(memmem(line.ptr, line.len, secrets[i], strlen(secrets[i])) == NULL, "%s",
                      secrets[i]);
    base_buf_fini(&line);
}
END_TEST

START_TEST(it_is_signed_and_every_bit_of_it_counts)
{
    struct ten_job job;
    fill_both();
    depart("altostrat", &job);
    struct buf line = certificate_of("altostrat", false);
    EVP_PKEY *key = public_key();
    EVP_PKEY *other = NULL;
    ck_assert_int_eq(base_seal_key_make(&other, &tent.eb), ERR_OK);
    ck_assert_int_eq(base_seal_check(key, base_buf_slice(&line), &tent.eb), ERR_OK);
    ck_assert_int_eq(base_seal_check(other, base_buf_slice(&line), NULL), ERR_FORBIDDEN);
    for (size_t bit = 0; bit < line.len * 8; bit += 3) {
        line.ptr[bit / 8] ^= (uint8_t)(1U << bit % 8);
        ck_assert_msg(base_seal_check(key, base_buf_slice(&line), NULL) != ERR_OK, "bit %zu", bit);
        line.ptr[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    base_seal_key_free(key);
    base_seal_key_free(other);
    base_buf_fini(&line);
}
END_TEST

static enum err page_of(const char *tenant, struct buf *out)
{
    base_buf_truncate(out, 0);
    return ten_certificates_page(ten_registry_certificates(tent.registry), base_slice_text(tenant),
                                 false, out, &tent.eb);
}

/* The server checks with its own key, like anybody else. */
START_TEST(a_page_is_made_as_long_as_the_key_is_the_one_that_signed)
{
    char path[300];
    struct ten_job job;
    struct buf page;
    base_buf_init(&page, BASE_ERASURE_PAGE_MAX);
    fill_both();
    ck_assert_int_eq(page_of("altostrat", &page), ERR_NOT_FOUND);
    depart("altostrat", &job);
    ck_assert_int_eq(page_of("altostrat", &page), ERR_OK);
    ck_assert_ptr_nonnull(memmem(page.ptr, page.len, "<strong>Erased.</strong>", 24));
    tent_close(&tent);
    (void)snprintf(path, sizeof path, "%s/" TEN_CERTIFICATE_KEY_FILE, tent.dir);
    ck_assert_int_eq(unlink(path), 0);
    tent_open(&tent);
    ck_assert_int_eq(page_of("altostrat", &page), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "does not verify with this server's key"));
    ck_assert_uint_eq(page.len, 0);
    base_buf_fini(&page);
}
END_TEST

START_TEST(certificates_make_a_chain_that_a_restart_continues)
{
    struct ten_job job;
    fill_both();
    depart("altostrat", &job);
    struct buf first = certificate_of("altostrat", false);
    tent_reopen(&tent);
    struct buf again = certificate_of("altostrat", false);
    ck_assert(base_slice_equal(base_buf_slice(&first), base_buf_slice(&again)));
    depart("altostrat2", &job);
    struct buf second = certificate_of("altostrat2", false);
    EVP_PKEY *key = public_key();
    struct base_audit_hash head = {{0}};
    ck_assert_int_eq(base_line_follow(&head, base_buf_slice(&first), &tent.eb), ERR_OK);
    ck_assert_int_eq(base_line_follow(&head, base_buf_slice(&second), &tent.eb), ERR_OK);
    ck_assert_int_eq(base_seal_check(key, base_buf_slice(&first), &tent.eb), ERR_OK);
    ck_assert_int_eq(base_seal_check(key, base_buf_slice(&second), &tent.eb), ERR_OK);
    base_seal_key_free(key);
    base_buf_fini(&first);
    base_buf_fini(&again);
    base_buf_fini(&second);
}
END_TEST

START_TEST(nobody_has_one_before_leaving)
{
    struct buf line;
    base_buf_init(&line, TEN_CERTIFICATE_MAX);
    fill_both();
    struct ten_certificates *c = ten_registry_certificates(tent.registry);
    ck_assert_int_eq(ten_certificates_find(c, SLICE_LIT("altostrat"), false, &line, &tent.eb),
                     ERR_NOT_FOUND);
    ck_assert_int_eq(ten_certificates_find(c, SLICE_LIT("nobody"), true, &line, &tent.eb),
                     ERR_NOT_FOUND);
    ck_assert_uint_eq(line.len, 0);
}
END_TEST

/* A table of a third tenant alone rests on its list; those that the purge wrote are newer. */
START_TEST(it_says_when_what_it_rests_on_was_scrubbed)
{
    struct ten_job job;
    fill_both();
    tent_reopen(&tent);
    fill("cirrus", "a table of its own");
    tent_close(&tent);
    tent.scrub_bytes_per_s = MIB;
    sto_rdb_test_scrub_by_hand(true);
    tent_open(&tent);
    int64_t start_us = base_wall_us();
    sto_rdb_test_scrub(sto_rdb_engine(tent.engine), UINT64_MAX);
    int64_t end_us = base_wall_us();
    depart("altostrat", &job);
    const struct sto_search *s = &job.search_after;
    ck_assert_uint_ge(s->listed_files, s->scrubbed_files);
    ck_assert_uint_gt(s->scrubbed_files, 0);
    ck_assert_int_ge(s->scrubbed_oldest_us, start_us);
    ck_assert_int_le(s->scrubbed_oldest_us, end_us);
    struct buf line = certificate_of("altostrat", false);
    json_t *o = parse(&line);
    check_search(o, "searched_before", &job.search_before);
    check_search(o, "searched_after", s);
    json_decref(o);
    base_buf_fini(&line);
}
END_TEST

/* What others write, no matter what, keeps nobody from leaving. */
START_TEST(a_neighbour_who_writes_the_prefix_is_counted_as_outside)
{
    struct ten_job job;
    fill_both();
    struct ten_tenant *t = tent_find(&tent, "altostrat2");
    tent_write(&tent, t, "devices", "altostrat#devices#row", "altostrat#devices#value");
    tent.deep = _i == 1; /* else the neighbour's table is not read, by its own list */
    depart("altostrat", &job);
    check_purged(&job);
    ck_assert(job.search_before.deep == tent.deep && job.search_after.deep == tent.deep);
    ck_assert_uint_eq(job.search_after.outside >= 2, tent.deep);
    ck_assert_uint_eq(job.search_after.listed_files == 0, tent.deep);
    tent.deep = false;
}
END_TEST

#define MANY_COPIES (TEN_COPIES_LISTED + 5)

static struct ten_copy copies[MANY_COPIES];
static size_t copy_count;
static bool last_ends_when_visited;

static enum err visit_copies(void *ctx, ten_copy_visit *visit, void *visit_ctx, struct errbuf *eb)
{
    (void)ctx;
    (void)eb;
    for (size_t i = 0; i < copy_count; i++) {
        enum err rc = visit(visit_ctx, &copies[i]);
        if (rc != ERR_OK)
            return rc;
    }
    copy_count -= last_ends_when_visited;
    last_ends_when_visited = false;
    return ERR_OK;
}

/* --- the end of the last copy ----------------------------------------------------------------- */

static void do_look(struct tent *t, void *ctx)
{
    *(enum err *)ctx = ten_expiry_look(t->registry, &t->eb);
}

static void look(void)
{
    enum err rc = ERR_IO;
    tent_control(&tent, do_look, &rc);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
}

static void reopen_with_copies(void)
{
    base_epoch_quiescent(tent.epoch, tent.slot);
    ten_registry_close(tent.registry);
    const struct ten_certificates_options options = {.dir = tent.dir, .copies = visit_copies};
    ck_assert_int_eq(ten_registry_open(&(struct ten_registry_options){.engine = tent.engine,
                                                                      .epoch = tent.epoch,
                                                                      .certificates = &options},
                                       &tent.registry, &tent.eb),
                     ERR_OK);
}

/* The check of copies in the certificate of a tenant that leaves while there are some. */
static void check_of_copies(const char *tenant, json_int_t before, json_int_t after, bool passed)
{
    struct ten_job job;
    depart(tenant, &job);
    struct buf line = certificate_of(tenant, false);
    json_t *o = parse(&line);
    const json_t *check = named(json_object_get(o, "checks"), "copies");
    ck_assert_str_eq(text_at(check, "layer"), "copies");
    ck_assert_int_eq(number_at(check, "before"), before);
    ck_assert_int_eq(number_at(check, "after"), after);
    ck_assert_int_eq(json_is_true(json_object_get(check, "passed")), passed);
    ck_assert_uint_eq(json_array_size(json_object_get(o, "copies")), (size_t)after);
    json_decref(o);
    base_buf_fini(&line);
}

START_TEST(copies_are_counted_before_and_after)
{
    const int64_t made_us = 1700000000000000;
    fill_both();
    copies[0] = (struct ten_copy){.id = "b1", .created_us = made_us, .expires_us = 2 * made_us};
    copies[1] = (struct ten_copy){.id = "b2", .created_us = made_us, .tenant = "altostrat2"};
    copy_count = 2;
    reopen_with_copies();
    check_of_copies("altostrat", 1, 1, true);
    last_ends_when_visited = true; /* that is, after its purge began */
    check_of_copies("altostrat2", 2, 1, true);
}
END_TEST

START_TEST(a_copy_without_an_end_is_said_to_be_one)
{
    fill_both();
    copies[0] = (struct ten_copy){.id = "b1", .created_us = 1700000000000000};
    copy_count = 1;
    reopen_with_copies();
    check_of_copies("altostrat", 1, 1, false);
}
END_TEST

static struct ten_copies held_of(const char *tenant)
{
    struct ten_copies held;
    ck_assert_int_eq(ten_certificates_copies(ten_registry_certificates(tent.registry),
                                             base_slice_text(tenant), &held, &tent.eb),
                     ERR_OK);
    return held;
}

/* Those without an end first, then by their end, the latest first. */
static void expect_order(const struct ten_copies *held)
{
    for (size_t i = 1; i < held->listed; i++) {
        int64_t before_us = held->of[i - 1].expires_us;
        int64_t us = held->of[i].expires_us;
        ck_assert(before_us == 0 || (us != 0 && us <= before_us));
    }
}

START_TEST(the_copies_that_stay_longest_are_listed_and_the_others_counted)
{
    const int64_t made_us = 1700000000000000;
    struct ten_job job;
    fill_both();
    for (size_t i = 0; i < MANY_COPIES; i++) { /* in no order */
        copies[i] = (struct ten_copy){.created_us = made_us,
                                      .expires_us = 2 * made_us + (int64_t)(i * 7 % MANY_COPIES)};
        (void)snprintf(copies[i].id, sizeof copies[i].id, "b%zu", i);
    }
    copies[3].expires_us = 0;
    (void)snprintf(copies[5].tenant, sizeof copies[5].tenant, "altostrat2");
    copies[5].expires_us = 0;
    for (copy_count = 0; copy_count <= MANY_COPIES; copy_count++) {
        reopen_with_copies();
        struct ten_copies held = held_of("altostrat");
        size_t count = copy_count - (copy_count > 5); /* one is another tenant's */
        ck_assert_uint_eq(held.count, count);
        ck_assert_uint_eq(held.listed, count < TEN_COPIES_LISTED ? count : TEN_COPIES_LISTED);
        expect_order(&held);
    }
    copy_count = MANY_COPIES;
    struct ten_copies held = held_of("altostrat");
    ck_assert_str_eq(held.of[0].id, "b3");
    for (size_t i = 0; i < held.listed; i++)
        ck_assert_str_ne(held.of[i].id, "b5");
    ck_assert_int_eq(held.of[1].expires_us, 2 * made_us + MANY_COPIES - 1);
    depart("altostrat", &job);
    copies[0].created_us = base_wall_us() + 1; /* made after the purge: it holds nothing of it */
    ck_assert_uint_eq(held_of("altostrat").count, MANY_COPIES - 2);
    ck_assert_uint_eq(held_of("altostrat2").count, MANY_COPIES);
    copy_count = 0;
    ck_assert_uint_eq(held_of("altostrat").count, 0);
}
END_TEST

static enum ten_state state_of(const char *tenant)
{
    return (enum ten_state)atomic_load(&tent_find(&tent, tenant)->state);
}

START_TEST(a_tenant_expires_with_its_last_copy_and_no_other_does)
{
    struct ten_job job;
    fill_both();
    depart("altostrat2", &job); /* no copies */
    copies[0] = (struct ten_copy){.id = "b1", .created_us = 1700000000000000};
    copy_count = 1;
    reopen_with_copies();
    depart("altostrat", &job);
    look();
    ck_assert_int_eq(state_of("altostrat"), TEN_PURGED);
    copy_count = 0;
    look();
    ck_assert_int_eq(state_of("altostrat"), TEN_EXPIRED);
    ck_assert_int_eq(state_of("altostrat2"), TEN_PURGED);
    look();
    ck_assert_int_eq(certificates_of("altostrat"), 2);
    ck_assert_int_eq(certificates_of("altostrat2"), 1);
    ck_assert_int_eq(ten_access_check(tent_find(&tent, "altostrat"), TEN_READ, &tent.eb), ERR_GONE);
    reopen_with_copies();
    ck_assert_int_eq(state_of("altostrat"), TEN_EXPIRED);
}
END_TEST

/* As after a crash between line and batch. */
START_TEST(a_line_without_its_state_is_made_good_by_a_start)
{
    struct ten_job job;
    bool done = false;
    fill_both();
    copies[0] = (struct ten_copy){.id = "b1", .created_us = 1700000000000000};
    copy_count = 1;
    reopen_with_copies();
    depart("altostrat", &job);
    copy_count = 0;
    ck_assert_int_eq(ten_certificates_expire(ten_registry_certificates(tent.registry),
                                             SLICE_LIT("altostrat"), &done, &tent.eb),
                     ERR_OK);
    ck_assert(done);
    ck_assert_int_eq(state_of("altostrat"), TEN_PURGED);
    reopen_with_copies();
    look(); /* behind what the start does */
    ck_assert_int_eq(state_of("altostrat"), TEN_EXPIRED);
    ck_assert_int_eq(certificates_of("altostrat"), 2);
}
END_TEST

/* --- the store -------------------------------------------------------------------------------- */

static void make_dir(void)
{
    tent_make(&tent);
}

static void remove_dir(void)
{
    tent_remove(&tent);
}

static struct ten_certificates *open_store(const char *mirror)
{
    struct ten_certificates *c = NULL;
    const struct ten_certificates_options options = {
        .dir = tent.dir, .mirror_dir = mirror, .copies = visit_copies};
    enum err rc = ten_certificates_open(&options, &c, &tent.eb);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    return c;
}

static enum err issue(struct ten_certificates *c, const char *tenant, bool *out_has_copies)
{
    struct ten_job job = {.id = "0123456789abcdef", .requested_us = 1700000000000000};
    (void)snprintf(job.tenant, sizeof job.tenant, "%s", tenant);
    return ten_certificates_issue(c, &job, 400, SLICE_LIT("a#"), SLICE_LIT("a$"), out_has_copies,
                                  &tent.eb);
}

START_TEST(a_job_has_one_line_whatever_is_repeated)
{
    bool has_copies = true;
    struct ten_certificates *c = open_store(NULL);
    ck_assert_int_eq(issue(c, "altostrat", &has_copies), ERR_OK);
    ck_assert(!has_copies);
    ck_assert_int_eq(issue(c, "altostrat", &has_copies), ERR_OK);
    ten_certificates_close(c);
    c = open_store(NULL);
    ck_assert_int_eq(issue(c, "altostrat", &has_copies), ERR_OK);
    ck_assert_int_eq(certificates_of("altostrat"), 1);
    ten_certificates_close(c);
}
END_TEST

/* No two of them are the same, so that none can stand for another. */
START_TEST(each_number_of_a_job_is_in_its_place)
{
    bool has_copies = false;
    struct buf line;
    struct ten_job job = {.id = "0123456789abcdef",
                          .tenant = "altostrat",
                          .requested_us = 1700000000000000,
                          .usage_before = {.rows = 11},
                          .audit_before = {.physical_keys = 12,
                                           .live_files_inside = 13,
                                           .counters = 14,
                                           .snapshots = 15},
                          .search_before = {.keys = 16, .notes = 17, .obsolete = 18}};
    for (int64_t i = 0; i < TEN_JOB_STEPS; i++) /* steps of 1, 3, 5 ... seconds */
        job.step_done_us[i] = job.requested_us + (i + 1) * (i + 1) * 1000000;
    copy_count = 0;
    struct ten_certificates *c = open_store(NULL);
    ck_assert_int_eq(ten_certificates_issue(c, &job, 400, SLICE_LIT("a#"), SLICE_LIT("a$"),
                                            &has_copies, &tent.eb),
                     ERR_OK);
    ten_certificates_close(c);
    c = open_store(NULL);
    base_buf_init(&line, TEN_CERTIFICATE_MAX);
    ck_assert_int_eq(ten_certificates_find(c, SLICE_LIT("altostrat"), false, &line, &tent.eb),
                     ERR_OK);
    json_t *o = parse(&line);
    check_checks(o, &job);
    check_steps(o, &job);
    json_decref(o);
    base_buf_fini(&line);
    ten_certificates_close(c);
}
END_TEST

START_TEST(copies_from_before_are_named_and_later_ones_are_not)
{
    bool has_copies = false;
    struct buf line;
    base_buf_init(&line, TEN_CERTIFICATE_MAX);
    copies[0] = (struct ten_copy){.id = "b1", .created_us = 1700000000000000, .expires_us = 0};
    copies[1] = (struct ten_copy){.id = "b2", .created_us = INT64_MAX, .expires_us = INT64_MAX};
    copy_count = 2;
    struct ten_certificates *c = open_store(NULL);
    ck_assert_int_eq(issue(c, "altostrat", &has_copies), ERR_OK);
    ck_assert(has_copies);
    ck_assert_int_eq(ten_certificates_find(c, SLICE_LIT("altostrat"), false, &line, &tent.eb),
                     ERR_OK);
    json_t *o = parse(&line);
    const json_t *named_copies = json_object_get(o, "copies");
    ck_assert_uint_eq(json_array_size(named_copies), 1);
    const json_t *copy = json_array_get(named_copies, 0);
    ck_assert_str_eq(text_at(copy, "id"), "b1");
    ck_assert_str_eq(text_at(copy, "created"), "2023-11-14T22:13:20.000Z");
    ck_assert(json_is_null(json_object_get(copy, "expires")));
    json_decref(o);
    base_buf_fini(&line);
    ten_certificates_close(c);
}
END_TEST

/* "altostrat2" begins as its ID does. */
START_TEST(a_copy_of_another_tenant_only_is_none)
{
    bool has_copies = true, done = false;
    copies[0] = (struct ten_copy){.id = "b1", .tenant = "altostrat2", .created_us = 1700000000};
    copy_count = 1;
    struct ten_certificates *c = open_store(NULL);
    ck_assert_int_eq(issue(c, "altostrat", &has_copies), ERR_OK);
    ck_assert(!has_copies);
    ck_assert_int_eq(issue(c, "altostrat2", &has_copies), ERR_OK);
    ck_assert(has_copies);
    ck_assert_int_eq(ten_certificates_expire(c, SLICE_LIT("altostrat"), &done, &tent.eb), ERR_OK);
    ck_assert(done);
    ck_assert_int_eq(ten_certificates_expire(c, SLICE_LIT("altostrat2"), &done, &tent.eb), ERR_OK);
    ck_assert(!done);
    ten_certificates_close(c);
}
END_TEST

START_TEST(the_second_line_comes_with_the_end_of_the_last_copy_once)
{
    bool has_copies = false, done = true;
    copies[0] = (struct ten_copy){.id = "b1", .created_us = 1700000000000000};
    copy_count = 1;
    struct ten_certificates *c = open_store(NULL);
    ck_assert_int_eq(ten_certificates_expire(c, SLICE_LIT("altostrat"), &done, &tent.eb),
                     ERR_NOT_FOUND);
    ck_assert_int_eq(issue(c, "altostrat", &has_copies), ERR_OK);
    ck_assert_int_eq(ten_certificates_expire(c, SLICE_LIT("altostrat"), &done, &tent.eb), ERR_OK);
    ck_assert(!done);
    ck_assert_int_eq(certificates_of("altostrat"), 1);
    copy_count = 0;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ten_certificates_expire(c, SLICE_LIT("altostrat"), &done, &tent.eb),
                         ERR_OK);
        ck_assert(done);
        ck_assert_int_eq(certificates_of("altostrat"), 2);
    }
    struct buf line;
    base_buf_init(&line, TEN_CERTIFICATE_MAX);
    ck_assert_int_eq(ten_certificates_find(c, SLICE_LIT("altostrat"), true, &line, &tent.eb),
                     ERR_OK);
    json_t *o = parse(&line);
    ck_assert_str_eq(text_at(o, "event"), "expired");
    json_decref(o);
    base_buf_fini(&line);
    ten_certificates_close(c);
}
END_TEST

START_TEST(the_key_is_made_once_and_is_nobody_elses)
{
    char path[300];
    struct stat st;
    struct buf first, second;
    base_buf_init(&first, BASE_SEAL_PEM_MAX);
    base_buf_init(&second, BASE_SEAL_PEM_MAX);
    struct ten_certificates *c = open_store(NULL);
    ck_assert_int_eq(ten_certificates_public_key(c, &first, &tent.eb), ERR_OK);
    ten_certificates_close(c);
    (void)snprintf(path, sizeof path, "%s/certificate.key", tent.dir);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    (void)snprintf(path, sizeof path, "%s/certificate.pub", tent.dir);
    ck_assert_int_eq(unlink(path), 0); /* it comes back */
    c = open_store(NULL);
    ck_assert_int_eq(ten_certificates_public_key(c, &second, &tent.eb), ERR_OK);
    ck_assert(base_slice_equal(base_buf_slice(&first), base_buf_slice(&second)));
    ck_assert_int_eq(stat(path, &st), 0);
    ten_certificates_close(c);
    base_buf_fini(&first);
    base_buf_fini(&second);
}
END_TEST

START_TEST(a_damaged_key_is_refused_and_kept)
{
    char path[300];
    struct ten_certificates *c = NULL;
    struct buf kept;
    const struct ten_certificates_options options = {.dir = tent.dir};
    (void)snprintf(path, sizeof path, "%s/certificate.key", tent.dir);
    ck_assert_int_eq(base_file_create(path, SLICE_LIT("damaged"), 0600, &tent.eb), ERR_OK);
    ck_assert_int_eq(ten_certificates_open(&options, &c, &tent.eb), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "certificate.key"));
    ck_assert_int_eq(base_file_read(path, 100, &kept, &tent.eb), ERR_OK);
    ck_assert(base_slice_is(base_buf_slice(&kept), "damaged"));
    base_buf_fini(&kept);
}
END_TEST

Suite *suite_tenancy_certificate(void);
Suite *suite_tenancy_certificate(void)
{
    Suite *s = suite_create("tenancy_certificate");
    TCase *c = tcase_create("departure");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, it_says_what_was_done_and_found);
    tcase_add_test(c, it_says_when_what_it_rests_on_was_scrubbed);
    tcase_add_test(c, it_tells_nothing_that_only_the_tenant_knows);
    tcase_add_test(c, it_is_signed_and_every_bit_of_it_counts);
    tcase_add_test(c, a_page_is_made_as_long_as_the_key_is_the_one_that_signed);
    tcase_add_test(c, certificates_make_a_chain_that_a_restart_continues);
    tcase_add_test(c, nobody_has_one_before_leaving);
    tcase_add_loop_test(c, a_neighbour_who_writes_the_prefix_is_counted_as_outside, 0, 2);
    tcase_add_test(c, copies_are_counted_before_and_after);
    tcase_add_test(c, the_copies_that_stay_longest_are_listed_and_the_others_counted);
    tcase_add_test(c, a_copy_without_an_end_is_said_to_be_one);
    tcase_add_test(c, a_tenant_expires_with_its_last_copy_and_no_other_does);
    tcase_add_test(c, a_line_without_its_state_is_made_good_by_a_start);
    suite_add_tcase(s, c);
    c = tcase_create("store");
    tcase_add_checked_fixture(c, make_dir, remove_dir);
    tcase_add_test(c, a_job_has_one_line_whatever_is_repeated);
    tcase_add_test(c, each_number_of_a_job_is_in_its_place);
    tcase_add_test(c, copies_from_before_are_named_and_later_ones_are_not);
    tcase_add_test(c, a_copy_of_another_tenant_only_is_none);
    tcase_add_test(c, the_second_line_comes_with_the_end_of_the_last_copy_once);
    tcase_add_test(c, the_key_is_made_once_and_is_nobody_elses);
    tcase_add_test(c, a_damaged_key_is_refused_and_kept);
    suite_add_tcase(s, c);
    return s;
}
