/*
 * tests/tenancy/test_audit.c - actions are recorded with what they change; whoever changes a record
 * is found out.
 *
 * Over 500 lines because the forger's tests need the trail that the others' actions make.
 */
#include "tests/tenancy/tent_rows.h"

#include "base/audit_record.h"
#include "base/text.h"
#include "tenancy/audit.h"
#include "tenancy/audit_doc.h"
#include "tenancy/doc_key.h"

#include "base/banned.h"

static struct tent tent;

static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
}

static void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

/* --- the trail as a test sees it -------------------------------------------------------------- */

#define TRAIL_MAX 64

struct trail {
    size_t count;
    struct base_audit_record records[TRAIL_MAX];
    char texts[TRAIL_MAX][9][LIM_AUDIT_TEXT + 1];
    size_t limit;
};

static struct slice keep(char *to, struct slice from)
{
    ck_assert_uint_le(from.len, LIM_AUDIT_TEXT);
    if (from.len > 0)
        memcpy(to, from.ptr, from.len);
    to[from.len] = '\0';
    return base_slice(to, from.len);
}

static enum err take(void *ctx, const struct base_audit_record *r)
{
    struct trail *t = ctx;
    ck_assert_uint_lt(t->count, TRAIL_MAX);
    struct base_audit_record *kept = &t->records[t->count];
    char(*texts)[LIM_AUDIT_TEXT + 1] = t->texts[t->count];
    *kept = *r;
    kept->tenant = keep(texts[0], r->tenant);
    kept->time = keep(texts[1], r->time);
    kept->key = keep(texts[2], r->key);
    kept->kind = keep(texts[3], r->kind);
    kept->address = keep(texts[4], r->address);
    kept->action = keep(texts[5], r->action);
    kept->target = keep(texts[6], r->target);
    kept->detail = keep(texts[7], r->detail);
    kept->outcome = keep(texts[8], r->outcome);
    t->count++;
    return ERR_OK;
}

static struct trail trail;

static const struct trail *read_trail(const char *tenant)
{
    trail.count = 0;
    enum err rc = ten_audit_read(tent.registry, base_slice_text(tenant), 1, TRAIL_MAX, take, &trail,
                                 &tent.eb);
    ck_assert_msg(rc == ERR_OK, "trail: %s", tent.eb.text);
    return &trail;
}

/* NULL: whole. */
static const char *check_chain(const struct trail *t)
{
    struct base_audit_head head = {0};
    for (size_t i = 0; i < t->count; i++) {
        const char *wrong = base_audit_follow(&head, &t->records[i]);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static const char *check_tenant_chain(const struct trail *t)
{
    struct base_audit_head head = {0};
    for (size_t i = 0; i < t->count; i++) {
        const char *wrong = base_audit_follow_tenant(&head, &t->records[i]);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static void expect_record(const struct trail *t, size_t i, const char *action, const char *tenant,
                          const char *outcome)
{
    ck_assert_uint_lt(i, t->count);
    ck_assert_str_eq((const char *)t->records[i].action.ptr, action);
    ck_assert_str_eq((const char *)t->records[i].tenant.ptr, tenant);
    ck_assert_str_eq((const char *)t->records[i].outcome.ptr, outcome);
}

/* --- actions ---------------------------------------------------------------------------------- */

struct deed {
    const char *name;
    const char *tenant;
    const char *detail;
    enum err (*work)(const struct deed *d);
    enum err result;
};

static void do_deed(struct tent *t, void *ctx)
{
    struct deed *d = ctx;
    const struct ten_action action = {.actor = {"k0123456789a", "operator", "192.0.2.7"},
                                      .name = d->name,
                                      .tenant = base_slice_text(d->tenant),
                                      .target = SLICE_LIT("target"),
                                      .detail = d->detail};
    ten_audit_begin(t->registry, &action);
    d->result = d->work(d);
    d->result = ten_audit_end(t->registry, d->result, &t->eb);
}

static enum err run(const char *name, const char *tenant, enum err (*work)(const struct deed *d))
{
    struct deed d = {.name = name, .tenant = tenant, .work = work};
    tent_control(&tent, do_deed, &d);
    return d.result;
}

static enum err make_tenant(const struct deed *d)
{
    struct ten_tenant *t;
    struct ten_tenant_wanted wanted = {0};
    return ten_tenant_create(tent.registry, base_slice_text(d->tenant), &wanted, &t, &tent.eb);
}

static enum err suspend(const struct deed *d)
{
    return ten_tenant_suspend(tent.registry, tent_find(&tent, d->tenant),
                              STO_GATE_NO_READS | STO_GATE_NO_WRITES, SLICE_LIT("why"), &tent.eb);
}

static enum err do_nothing(const struct deed *d)
{
    (void)d;
    return ERR_OK;
}

static enum err refuse(const struct deed *d)
{
    (void)d;
    return base_fail(&tent.eb, ERR_CONFLICT, "no");
}

static void make_some(void)
{
    ck_assert_int_eq(run("tenant.create", "ab", make_tenant), ERR_OK);
    ck_assert_int_eq(run("tenant.create", "abc", make_tenant), ERR_OK);
    ck_assert_int_eq(run("tenant.suspend", "ab", suspend), ERR_OK);
    ck_assert_int_eq(run("tenant.suspend", "abc", suspend), ERR_OK);
    ck_assert_int_eq(run("tenant.suspend", "ab", refuse), ERR_CONFLICT);
}

START_TEST(an_empty_trail_has_no_head)
{
    struct base_audit_head head = {.number = 7};
    char time[BASE_TIME_TEXT] = "x";
    ten_audit_head(tent.registry, &head, time);
    ck_assert_uint_eq(head.number, 0);
    ck_assert_str_eq(time, "");
    ck_assert_uint_eq(read_trail("")->count, 0);
    ck_assert_uint_eq(read_trail("ab")->count, 0);
}
END_TEST

START_TEST(an_action_says_who_did_what_from_where)
{
    make_some();
    const struct trail *t = read_trail("");
    ck_assert_uint_eq(t->count, 5);
    expect_record(t, 0, "tenant.create", "ab", "done");
    expect_record(t, 3, "tenant.suspend", "abc", "done");
    expect_record(t, 4, "tenant.suspend", "ab", "conflict");
    ck_assert_str_eq((const char *)t->records[0].key.ptr, "k0123456789a");
    ck_assert_str_eq((const char *)t->records[0].kind.ptr, "operator");
    ck_assert_str_eq((const char *)t->records[0].address.ptr, "192.0.2.7");
    ck_assert_str_eq((const char *)t->records[0].target.ptr, "target");
    ck_assert_uint_eq(t->records[0].time.len, strlen("2026-11-20T10:00:00.000Z"));
    ck_assert_ptr_null(check_chain(t));
}
END_TEST

START_TEST(a_change_without_an_action_has_no_record)
{
    (void)tent_create(&tent, "ab");
    ck_assert_uint_eq(read_trail("")->count, 0);
}
END_TEST

START_TEST(an_action_that_changes_nothing_is_recorded_alone)
{
    ck_assert_int_eq(run("nothing", "", do_nothing), ERR_OK);
    const struct trail *t = read_trail("");
    expect_record(t, 0, "nothing", "", "done");
    ck_assert_uint_eq(t->records[0].tenant_number, 0);
}
END_TEST

START_TEST(a_tenant_sees_its_own_numbers)
{
    make_some();
    const struct trail *t = read_trail("abc");
    ck_assert_uint_eq(t->count, 2);
    ck_assert_uint_eq(t->records[0].tenant_number, 1);
    ck_assert_uint_eq(t->records[1].tenant_number, 2);
    ck_assert_ptr_null(check_tenant_chain(t));
    ck_assert_uint_eq(read_trail("ab")->count, 3);
    ck_assert_ptr_null(check_tenant_chain(&trail));
}
END_TEST

START_TEST(pages_begin_and_end_where_they_are_asked_to)
{
    make_some();
    trail.count = 0;
    ck_assert_int_eq(ten_audit_read(tent.registry, SLICE_EMPTY, 2, 3, take, &trail, &tent.eb),
                     ERR_OK);
    ck_assert_uint_eq(trail.count, 3);
    ck_assert_uint_eq(trail.records[0].number, 2);
    trail.count = 0;
    ck_assert_int_eq(ten_audit_read(tent.registry, SLICE_LIT("ab"), 3, 9, take, &trail, &tent.eb),
                     ERR_OK);
    ck_assert_uint_eq(trail.count, 1);
    ck_assert_uint_eq(trail.records[0].number, 5);
    trail.count = 0;
    ck_assert_int_eq(ten_audit_read(tent.registry, SLICE_EMPTY, 6, 3, take, &trail, &tent.eb),
                     ERR_OK);
    ck_assert_uint_eq(trail.count, 0);
}
END_TEST

START_TEST(a_refused_creation_has_no_tenant)
{
    ck_assert_int_eq(run("tenant.create", "nobody", refuse), ERR_CONFLICT);
    const struct trail *t = read_trail("");
    expect_record(t, 0, "tenant.create", "", "conflict");
    ck_assert_uint_eq(read_trail("nobody")->count, 0);
}
END_TEST

START_TEST(the_chains_go_on_after_a_restart)
{
    struct base_audit_head before, after;
    char time[BASE_TIME_TEXT];
    make_some();
    ten_audit_head(tent.registry, &before, time);
    tent_reopen(&tent);
    ten_audit_head(tent.registry, &after, time);
    ck_assert_uint_eq(after.number, before.number);
    ck_assert_mem_eq(after.hash.bytes, before.hash.bytes, BASE_AUDIT_HASH);
    ck_assert_int_eq(run("tenant.suspend", "ab", refuse), ERR_CONFLICT);
    ck_assert_uint_eq(read_trail("")->count, 6);
    ck_assert_ptr_null(check_chain(&trail));
    ck_assert_uint_eq(read_trail("ab")->count, 4);
    ck_assert_ptr_null(check_tenant_chain(&trail));
}
END_TEST

/* The change and its record are one batch: neither is there when it fails. */
START_TEST(a_failed_commit_leaves_neither_change_nor_record)
{
    make_some();
    sto_rocksdb_test_fail_commit(tent.engine, 1);
    ck_assert_int_ne(run("tenant.create", "abcd", make_tenant), ERR_OK);
    tent_reopen(&tent);
    ck_assert_ptr_null(tent_find(&tent, "abcd"));
    ck_assert_uint_eq(read_trail("")->count, 5);
    ck_assert_ptr_null(check_chain(&trail));
    ck_assert_int_eq(run("tenant.create", "abcd", make_tenant), ERR_OK);
    ck_assert_uint_eq(read_trail("")->count, 6);
    ck_assert_ptr_null(check_chain(&trail));
}
END_TEST

static uint64_t sequence(void)
{
    struct sto_health health;
    sto_health_get(tent.engine, &health);
    return health.sequence;
}

/* Commits are counted by failing the second one: the action needs no second. */
START_TEST(an_action_is_one_commit)
{
    make_some();
    uint64_t before = sequence();
    sto_rocksdb_test_fail_commit(tent.engine, 2);
    ck_assert_int_eq(run("tenant.create", "abcd", make_tenant), ERR_OK);
    /* tenant, its canaries, record, index: in one batch */
    ck_assert_uint_eq(sequence() - before, 3 + STO_CANARIES);
}
END_TEST

START_TEST(what_no_record_may_hold_is_replaced)
{
    struct deed d = {.name = "x", .tenant = "", .detail = "a\nb\x01\xff", .work = do_nothing};
    tent_control(&tent, do_deed, &d);
    const struct trail *t = read_trail("");
    ck_assert_str_eq((const char *)t->records[0].detail.ptr, "a?b??");
    ck_assert_ptr_null(check_chain(t));
}
END_TEST

START_TEST(a_long_detail_is_cut)
{
    char text[LIM_AUDIT_TEXT * 2];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct deed d = {.name = "x", .tenant = "", .detail = text, .work = do_nothing};
    tent_control(&tent, do_deed, &d);
    ck_assert_uint_eq(read_trail("")->records[0].detail.len, LIM_AUDIT_TEXT);
    ck_assert_ptr_null(check_chain(&trail));
}
END_TEST

/* --- a tenant that left ----------------------------------------------------------------------- */

START_TEST(a_purge_is_recorded_and_leaves_the_records)
{
    char job[TEN_JOB_ID + 1];
    struct ten_job done;
    make_some();
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "ab"), job), ERR_OK);
    tent_await_job(&tent, job, &done);
    ck_assert_int_eq(done.state, TEN_JOB_DONE);
    ck_assert_uint_eq(done.audit_after.counters, 0);
    const struct trail *t = read_trail("ab");
    expect_record(t, 3, "purge.start", "ab", "done");
    expect_record(t, 4, "purge.finish", "ab", "done");
    ck_assert_str_eq((const char *)t->records[4].target.ptr, job);
    ck_assert_str_eq((const char *)t->records[4].kind.ptr, "server");
    ck_assert_uint_eq(t->count, 5);
    tent_reopen(&tent);
    ck_assert_uint_eq(read_trail("ab")->count, 5);
    ck_assert_ptr_null(check_tenant_chain(&trail));
    ck_assert_uint_eq(read_trail("")->count, 7);
    ck_assert_ptr_null(check_chain(&trail));
}
END_TEST

/* --- refusals from elsewhere ------------------------------------------------------------------ */

static void wait_control(struct tent *t, void *ctx)
{
    (void)t;
    (void)ctx;
}

START_TEST(refusals_are_recorded_without_waiting)
{
    const struct ten_action action = {.actor = {"k0123456789a", "tenant", "192.0.2.7"},
                                      .name = "table.put",
                                      .tenant = SLICE_LIT("ab"),
                                      .target = SLICE_LIT("devices")};
    make_some();
    ten_audit_refused(tent.registry, &action, "forbidden");
    ten_audit_refused(tent.registry, &action, "invalid");
    tent_control(&tent, wait_control, NULL);
    const struct trail *t = read_trail("ab");
    expect_record(t, 3, "table.put", "ab", "forbidden");
    expect_record(t, 4, "table.put", "ab", "invalid");
    ck_assert_ptr_null(check_tenant_chain(t));
}
END_TEST

START_TEST(a_flood_of_refusals_is_counted)
{
    const struct ten_action action = {.actor = {"k0123456789a", "tenant", ""}, .name = "table.put"};
    /* Keys share buckets by chance; so many do not all share that of the flood. */
    static const char *const others[] = {"k9876543210b", "k9876543210c", "k9876543210d",
                                         "k9876543210e", "k9876543210f", "k9876543210g"};
    const size_t other_count = sizeof others / sizeof others[0];
    uint64_t kept = 0, skipped = 0;
    for (int i = 0; i < 1000; i++)
        ten_audit_refused(tent.registry, &action, "forbidden");
    for (size_t i = 0; i < other_count; i++) { /* another key is heard */
        const struct ten_action other = {.actor = {others[i], "tenant", ""}, .name = "table.put"};
        ten_audit_refused(tent.registry, &other, "forbidden");
    }
    tent_reopen(&tent); /* the rest of the count is written */
    const struct trail *t = read_trail("");
    bool is_heard = false;
    for (size_t i = 0; i < t->count; i++) {
        uint64_t number = 0;
        if (base_slice_is(t->records[i].action, "audit.skip")) {
            ck_assert_int_eq(
                base_parse_u64(base_slice_skip(t->records[i].detail, strlen("refusals=")), &number),
                ERR_OK);
            skipped += number;
        } else {
            kept++;
        }
        is_heard = is_heard || base_slice_starts_with(t->records[i].key, SLICE_LIT("k9876543210"));
    }
    ck_assert(is_heard);
    ck_assert_uint_eq(kept + skipped, 1000 + other_count);
    /* it took less than two seconds */
    ck_assert_uint_le(kept, 3 * TEN_AUDIT_REFUSED_PER_S + other_count);
    ck_assert_ptr_null(check_chain(t));
}
END_TEST

/* --- tampering -------------------------------------------------------------------------------- */

static void store_record(const struct base_audit_record *r)
{
    struct ten_doc_key key = ten_doc_key_audit(r->number);
    struct buf body;
    base_buf_init(&body, TEN_AUDIT_DOC_MAX);
    ck_assert_int_eq(ten_audit_encode(r, &body), ERR_OK);
    struct sto_doc_change change = {
        .key = ten_doc_key_slice(&key), .body = base_buf_slice(&body), .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
    base_buf_fini(&body);
}

static void remove_record(uint64_t number)
{
    struct ten_doc_key key = ten_doc_key_audit(number);
    struct sto_doc_change change = {.key = ten_doc_key_slice(&key), .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
}

#define FIELDS 14

static void tamper(struct base_audit_record *r, int field)
{
    struct slice *texts[] = {&r->tenant, &r->time,   &r->key,    &r->kind,   &r->address,
                             &r->action, &r->target, &r->detail, &r->outcome};
    struct base_audit_hash *hashes[] = {&r->tenant_before, &r->entry, &r->before, &r->hash};
    if (field < 9)
        *texts[field] = texts[field]->len == 6 ? SLICE_LIT("forged!") : SLICE_LIT("forged");
    else if (field < 13)
        hashes[field - 9]->bytes[31] ^= 1;
    else
        r->tenant_number++;
}

/* Neither chain alone needs to see it: verify follows both. One that says to have a subject apart,
 * and has none, is not even read. */
static bool is_noticed(void)
{
    struct base_audit_head head = {0};
    struct base_audit_head of_tenant = {0};
    trail.count = 0;
    enum err rc = ten_audit_read(tent.registry, SLICE_EMPTY, 1, TRAIL_MAX, take, &trail, &tent.eb);
    ck_assert_msg(rc == ERR_OK || rc == ERR_CORRUPT, "trail: %s", tent.eb.text);
    if (rc != ERR_OK)
        return true;
    for (size_t i = 0; i < trail.count; i++) {
        bool is_ours = base_slice_is(trail.records[i].tenant, "ab");
        if (base_audit_follow(&head, &trail.records[i]) != NULL ||
            (is_ours && base_audit_follow_tenant(&of_tenant, &trail.records[i]) != NULL))
            return true;
    }
    return false;
}

START_TEST(every_field_of_every_record_is_covered)
{
    make_some();
    (void)read_trail("");
    struct base_audit_record whole = trail.records[_i];
    char texts[9][LIM_AUDIT_TEXT + 1];
    memcpy(texts, trail.texts[_i], sizeof texts);
    struct slice *slices[] = {&whole.tenant, &whole.time,    &whole.key,
                              &whole.kind,   &whole.address, &whole.action,
                              &whole.target, &whole.detail,  &whole.outcome};
    for (int i = 0; i < 9; i++)
        slices[i]->ptr = (const uint8_t *)texts[i];
    for (int field = 0; field < FIELDS; field++) {
        struct base_audit_record forged = whole;
        tamper(&forged, field);
        store_record(&forged);
        ck_assert_msg(is_noticed(), "record %d, field %d: nobody notices", _i + 1, field);
        store_record(&whole);
        ck_assert(!is_noticed());
    }
}
END_TEST

/* Whoever forges an entry and its hash as well is found at the next record. */
START_TEST(a_record_sealed_anew_breaks_the_next_one)
{
    make_some();
    (void)read_trail("");
    struct base_audit_record forged = trail.records[1];
    forged.detail = SLICE_LIT("harmless");
    base_audit_seal(&forged);
    store_record(&forged);
    ck_assert(is_noticed());
}
END_TEST

START_TEST(removing_and_swapping_is_noticed)
{
    make_some();
    (void)read_trail("");
    struct base_audit_record first = trail.records[1], second = trail.records[2];
    first.number = 3;
    second.number = 2;
    store_record(&first);
    store_record(&second);
    ck_assert(is_noticed());
    remove_record(2);
    ck_assert(is_noticed());
}
END_TEST

/* What nothing in the trail tells any more, the noted head does: tests/cli/test_audit.c. But the
 * tenant's chain remembers. */
START_TEST(what_follows_a_cut_end_does_not_fit_the_tenants_chain)
{
    make_some();
    remove_record(5);
    remove_record(4);
    remove_record(3);
    tent_reopen(&tent);
    ck_assert(!is_noticed());
    ck_assert_int_eq(run("tenant.suspend", "ab", refuse), ERR_CONFLICT);
    ck_assert(is_noticed());
}
END_TEST

START_TEST(a_damaged_record_is_an_error)
{
    make_some();
    struct ten_doc_key key = ten_doc_key_audit(2);
    struct sto_doc_change change = {
        .key = ten_doc_key_slice(&key), .body = SLICE_LIT("\x01"), .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
    trail.count = 0;
    ck_assert_int_eq(ten_audit_read(tent.registry, SLICE_EMPTY, 1, 9, take, &trail, &tent.eb),
                     ERR_CORRUPT);
    ck_assert_uint_eq(trail.count, 1);
    ck_assert_int_eq(ten_audit_read(tent.registry, SLICE_LIT("abc"), 1, 9, take, &trail, &tent.eb),
                     ERR_CORRUPT);
    remove_record(4);
    ck_assert_int_eq(ten_audit_read(tent.registry, SLICE_LIT("abc"), 2, 9, take, &trail, &tent.eb),
                     ERR_CORRUPT);
}
END_TEST

Suite *suite_tenancy_audit(void);

Suite *suite_tenancy_audit(void)
{
    Suite *s = suite_create("tenancy_audit");
    TCase *actions = tcase_create("actions");
    tcase_add_checked_fixture(actions, setup, teardown);
    tcase_set_timeout(actions, 60);
    tcase_add_test(actions, an_empty_trail_has_no_head);
    tcase_add_test(actions, an_action_says_who_did_what_from_where);
    tcase_add_test(actions, a_change_without_an_action_has_no_record);
    tcase_add_test(actions, an_action_that_changes_nothing_is_recorded_alone);
    tcase_add_test(actions, a_tenant_sees_its_own_numbers);
    tcase_add_test(actions, pages_begin_and_end_where_they_are_asked_to);
    tcase_add_test(actions, a_refused_creation_has_no_tenant);
    tcase_add_test(actions, the_chains_go_on_after_a_restart);
    tcase_add_test(actions, a_failed_commit_leaves_neither_change_nor_record);
    tcase_add_test(actions, an_action_is_one_commit);
    tcase_add_test(actions, what_no_record_may_hold_is_replaced);
    tcase_add_test(actions, a_long_detail_is_cut);
    tcase_add_test(actions, a_purge_is_recorded_and_leaves_the_records);
    tcase_add_test(actions, refusals_are_recorded_without_waiting);
    tcase_add_test(actions, a_flood_of_refusals_is_counted);
    suite_add_tcase(s, actions);
    TCase *tampering = tcase_create("tampering");
    tcase_add_checked_fixture(tampering, setup, teardown);
    tcase_set_timeout(tampering, 60);
    tcase_add_loop_test(tampering, every_field_of_every_record_is_covered, 0, 5);
    tcase_add_test(tampering, a_record_sealed_anew_breaks_the_next_one);
    tcase_add_test(tampering, removing_and_swapping_is_noticed);
    tcase_add_test(tampering, what_follows_a_cut_end_does_not_fit_the_tenants_chain);
    tcase_add_test(tampering, a_damaged_record_is_an_error);
    suite_add_tcase(s, tampering);
    return s;
}
