/*
 * tests/tenancy/test_instance_doc.c - what is said of an instance is kept, and leaves with its
 * tenant.
 */
#include "tests/tenancy/departure.h"

#include "base/alloc.h"
#include "tenancy/instance_doc.h"
#include "tenancy/internal.h"

#include "base/banned.h"

Suite *suite_tenancy_instance_doc(void);

static struct ten_tenant *owner, *other;

/* --- on the control thread ---------------------------------------------------------------------
 */

struct call {
    struct ten_tenant *tenant;
    const char *id;
    struct slice body;
    uint64_t version;
    struct buf out;
    struct errbuf eb;
    enum err rc;
};

static void do_create(struct tent *t, void *ctx)
{
    struct call *c = ctx;
    c->rc = ten_tenant_create_keyless(t->registry, base_slice_text(c->id), SLICE_LIT("lab"),
                                      SLICE_EMPTY, &c->tenant, &c->eb);
}

static void do_read(struct tent *t, void *ctx)
{
    struct call *c = ctx;
    c->rc = ten_instance_doc_read(t->registry, c->tenant, &c->out, &c->version, &c->eb);
}

static void do_write(struct tent *t, void *ctx)
{
    struct call *c = ctx;
    c->rc = ten_instance_doc_write(t->registry, c->tenant, c->body, c->version, &c->eb);
}

static struct ten_tenant *make_keyless(const char *id)
{
    struct call c = {.id = id};
    tent_control(&tent, do_create, &c);
    ck_assert_msg(c.rc == ERR_OK, "%s", c.eb.text);
    return c.tenant;
}

static enum err write_doc(struct ten_tenant *tenant, struct slice body, uint64_t version)
{
    struct call c = {.tenant = tenant, .body = body, .version = version};
    tent_control(&tent, do_write, &c);
    return c.rc;
}

/* Its version, or 0: there is none. */
static uint64_t expect_doc(struct ten_tenant *tenant, const char *body)
{
    struct call c = {.tenant = tenant};
    base_buf_init(&c.out, LIM_INSTANCE_DOC);
    tent_control(&tent, do_read, &c);
    ck_assert_int_eq(c.rc, body == NULL ? ERR_NOT_FOUND : ERR_OK);
    if (body != NULL)
        ck_assert(base_slice_is(base_buf_slice(&c.out), body));
    base_buf_fini(&c.out);
    return body == NULL ? 0 : c.version;
}

static void set_up(void)
{
    setup();
    owner = make_keyless("dev");
    other = make_keyless("dev2");
}

/* --- tests -------------------------------------------------------------------------------------
 */

START_TEST(each_tenant_has_its_own_document_over_a_restart)
{
    (void)expect_doc(owner, NULL);
    ck_assert_int_eq(write_doc(owner, SLICE_LIT("one"), 0), ERR_OK);
    ck_assert_int_eq(write_doc(other, SLICE_LIT("another"), 0), ERR_OK);
    ck_assert_int_eq(write_doc(owner, SLICE_LIT("two"), 0), ERR_CONFLICT);
    ck_assert_int_eq(write_doc(owner, SLICE_LIT("two"), expect_doc(owner, "one")), ERR_OK);
    tent_reopen(&tent);
    owner = tent_find(&tent, "dev");
    other = tent_find(&tent, "dev2");
    (void)expect_doc(owner, "two");
    (void)expect_doc(other, "another");
}
END_TEST

START_TEST(it_has_a_limit)
{
    struct slice body = base_slice(base_new(LIM_INSTANCE_DOC + 1), LIM_INSTANCE_DOC + 1);
    ck_assert_int_eq(write_doc(owner, body, 0), ERR_TOO_BIG);
    body.len--;
    ck_assert_int_eq(write_doc(owner, body, 0), ERR_OK);
    base_free((void *)(uintptr_t)body.ptr);
}
END_TEST

START_TEST(a_tenant_that_leaves_takes_it_along)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    ck_assert_int_eq(write_doc(owner, SLICE_LIT("canary-of-dev"), 0), ERR_OK);
    ck_assert_int_eq(write_doc(other, SLICE_LIT("another"), 0), ERR_OK);
    ck_assert_uint_eq(docs_under("e/"), 2);
    struct sto_tenant_scope scope = ten_scope_tenant(owner);
    struct sto_audit audit;
    ck_assert_int_eq(sto_audit_range(tent.engine, &scope, &audit, &tent.eb), ERR_OK);
    ck_assert_uint_eq(audit.counters, 1);
    ck_assert_int_eq(tent_offboard(&tent, owner, id), ERR_OK);
    tent_await_job_done(&tent, id, &job);
    ck_assert_uint_eq(docs_under("e/dev/"), 0);
    ck_assert_uint_eq(docs_under("e/"), 1);
    ck_assert_uint_eq(job.audit_before.counters, 1);
    ck_assert_uint_eq(job.audit_after.counters, 0);
    ck_assert_int_eq(write_doc(owner, SLICE_LIT("later"), 0), ERR_GONE);
}
END_TEST

Suite *suite_tenancy_instance_doc(void)
{
    Suite *s = suite_create("tenancy_instance_doc");
    TCase *tc = tcase_create("documents");
    tcase_add_checked_fixture(tc, set_up, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, each_tenant_has_its_own_document_over_a_restart);
    tcase_add_test(tc, it_has_a_limit);
    tcase_add_test(tc, a_tenant_that_leaves_takes_it_along);
    suite_add_tcase(s, tc);
    return s;
}
