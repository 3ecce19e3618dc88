/*
 * tests/tenancy/test_views.c - authorized views made, changed, deleted, and gone with what they are
 * of. Over 500 lines because all of it is about the same few views, whose helpers are here.
 */
#include "tests/tenancy/departure.h"

#include "tenancy/internal.h"
#include "tenancy/view_doc.h"
#include "tenancy/views.h"

#include "base/banned.h"

Suite *suite_tenancy_views(void);

static struct ten_tenant *owner;

static void set_up(void)
{
    setup();
    owner = tent_create(&tent, "altostrat");
    tent_table(&tent, owner, "devices");
}

static void reopen(void)
{
    tent_reopen(&tent);
    owner = tent_find(&tent, "altostrat");
}

static const struct sto_schema *schema_of(const char *table)
{
    const struct ten_tables *tables = ten_tenant_tables(owner);
    size_t at;
    return ten_tables_search(tables, base_slice_text(table), &at) ? tables->schemas[at] : NULL;
}

/* NULL when there is no such view; no ref: nothing changes it meanwhile. */
static const struct sto_view *view_of(const char *table, const char *id)
{
    struct sto_view *view = NULL;
    if (ten_view_find(schema_of(table), base_slice_text(id), &view, NULL) != ERR_OK)
        return NULL;
    sto_view_unref(view);
    return view;
}

/* --- on the control thread ---------------------------------------------------------------------
 */

struct call {
    struct ten_tenant *tenant;
    const char *table;
    const char *id;
    const struct sto_view_spec *spec;
    struct ten_view_change change;
    const char *etag;
    enum err rc;
};

static void do_create(struct tent *t, void *ctx)
{
    struct call *c = ctx;
    struct sto_view *view = NULL;
    c->rc = ten_view_create(t->registry, c->tenant, base_slice_text(c->table),
                            base_slice_text(c->id), c->spec, &view, &t->eb);
    if (c->rc == ERR_OK)
        sto_view_unref(view);
}

static enum err create_of(struct ten_tenant *t, const char *table, const char *id,
                          const struct sto_view_spec *spec)
{
    struct call c = {.tenant = t, .table = table, .id = id, .spec = spec};
    tent_control(&tent, do_create, &c);
    return c.rc;
}

static const struct slice every[] = {SLICE_LIT("")};
static const struct slice user[] = {SLICE_LIT("user#"), SLICE_LIT("")};
static const struct slice two[] = {SLICE_LIT("q"), SLICE_LIT("\x00\xff")};
static const struct sto_view_family_spec family = {.name = SLICE_LIT("f"),
                                                   .qualifiers = two,
                                                   .qualifier_count = 2,
                                                   .prefixes = every,
                                                   .prefix_count = 1};
static const struct sto_view_spec plain = {
    .row_prefixes = user, .row_prefix_count = 1, .families = &family, .family_count = 1};

static enum err create(const char *id)
{
    return create_of(owner, "devices", id, &plain);
}

static void do_update(struct tent *t, void *ctx)
{
    struct call *c = ctx;
    struct sto_view *view = NULL;
    c->rc = ten_view_update(t->registry, owner, base_slice_text(c->table), base_slice_text(c->id),
                            &c->change, &view, &t->eb);
    if (c->rc == ERR_OK)
        sto_view_unref(view);
}

static enum err update(const char *id, struct ten_view_change change)
{
    struct call c = {.table = "devices", .id = id, .change = change};
    tent_control(&tent, do_update, &c);
    return c.rc;
}

static void do_delete(struct tent *t, void *ctx)
{
    struct call *c = ctx;
    c->rc = ten_view_delete(t->registry, owner, base_slice_text(c->table), base_slice_text(c->id),
                            base_slice_text(c->etag), &t->eb);
}

static enum err delete (const char *id, const char *etag) {
    struct call c = {.table = "devices", .id = id, .etag = etag};
    tent_control(&tent, do_delete, &c);
    return c.rc;
}

static enum err protect(const char *id, bool on)
{
    return update(id, (struct ten_view_change){.has_protected = true, .protected = on});
}

/* --- documents ---------------------------------------------------------------------------------
 */

START_TEST(a_document_says_what_the_view_says)
{
    const struct sto_view_family_spec families[] = {family, {.name = SLICE_LIT("empty")}};
    const struct sto_view_spec spec = {.row_prefixes = user,
                                       .row_prefix_count = 2,
                                       .families = families,
                                       .family_count = 2,
                                       .protected = true};
    struct sto_view *view = NULL;
    struct buf body, again;
    base_buf_init(&body, TEN_VIEW_DOC_MAX);
    base_buf_init(&again, TEN_VIEW_DOC_MAX);
    ck_assert_int_eq(sto_view_make(SLICE_LIT("v"), &spec, &view, NULL), ERR_OK);
    ck_assert_int_eq(ten_view_encode(&view->spec, &body), ERR_OK);
    sto_view_unref(view);
    ck_assert_int_eq(ten_view_decode(SLICE_LIT("v"), base_buf_slice(&body), &view), ERR_OK);
    ck_assert(view->spec.protected);
    ck_assert_uint_eq(view->spec.row_prefix_count, 2);
    ck_assert_uint_eq(view->spec.family_count, 2);
    ck_assert(base_slice_is(view->spec.families[0].name, "empty"));
    ck_assert(base_slice_equal(view->spec.families[1].qualifiers[1], two[1]));
    ck_assert_uint_eq(view->spec.families[1].prefix_count, 1);
    ck_assert_int_eq(ten_view_encode(&view->spec, &again), ERR_OK);
    ck_assert(base_slice_equal(base_buf_slice(&body), base_buf_slice(&again)));
    sto_view_unref(view);
    for (size_t len = 0; len < body.len; len++) /* cut anywhere: read, or refused, never more */
        if (ten_view_decode(SLICE_LIT("v"), base_slice(body.ptr, len), &view) == ERR_OK)
            sto_view_unref(view);
    ck_assert_int_eq(ten_view_decode(SLICE_LIT("v"), SLICE_LIT("\xff"), &view), ERR_CORRUPT);
    base_buf_fini(&body);
    base_buf_fini(&again);
}
END_TEST

START_TEST(the_largest_view_fits_into_its_document)
{
    static struct slice list[LIM_VIEW_PARTS];
    static uint8_t bytes[LIM_VIEW_BYTES / LIM_VIEW_PARTS];
    const struct sto_view_spec spec = {.row_prefixes = list, .row_prefix_count = LIM_VIEW_PARTS};
    for (size_t i = 0; i < LIM_VIEW_PARTS; i++)
        list[i] = base_slice(bytes, sizeof bytes);
    ck_assert_int_eq(create_of(owner, "devices", "large", &spec), ERR_OK);
    reopen();
    ck_assert_uint_eq(view_of("devices", "large")->spec.row_prefix_count, LIM_VIEW_PARTS);
}
END_TEST

/* --- making and changing ------------------------------------------------------------------------
 */

START_TEST(a_view_is_there_when_it_was_made_and_after_a_restart)
{
    ck_assert_int_eq(create("v"), ERR_OK);
    ck_assert_int_eq(create("w"), ERR_OK);
    uint64_t digest = view_of("devices", "v")->digest;
    for (int round = 0; round < 2; round++) {
        const struct sto_view *view = view_of("devices", "v");
        ck_assert_ptr_nonnull(view);
        ck_assert_uint_eq(view->digest, digest);
        ck_assert_uint_eq(view->version, 1);
        ck_assert_uint_eq(ten_views_of(schema_of("devices"))->count, 2);
        ck_assert(base_slice_is(view->spec.row_prefixes[0], "user#"));
        ck_assert_int_eq(create("v"), ERR_EXISTS);
        reopen();
    }
}
END_TEST

START_TEST(a_view_names_a_table_and_families_that_are_there)
{
    const struct sto_view_family_spec other = {.name = SLICE_LIT("g")};
    const struct sto_view_spec spec = {.families = &other, .family_count = 1};
    ck_assert_int_eq(create_of(owner, "nothing", "v", &plain), ERR_NOT_FOUND);
    ck_assert_int_eq(create_of(owner, "devices", "v", &spec), ERR_NOT_FOUND);
    ck_assert_int_eq(create_of(owner, "devices", "v/w", &plain), ERR_INVALID);
    ck_assert_uint_eq(docs_under("v/"), 0);
}
END_TEST

START_TEST(views_of_a_table_are_bounded)
{
    char id[16];
    for (int i = 0; i < LIM_VIEWS; i++) {
        (void)snprintf(id, sizeof id, "v%d", i);
        ck_assert_int_eq(create(id), ERR_OK);
    }
    ck_assert_int_eq(create("more"), ERR_TOO_BIG);
    ck_assert_int_eq(delete ("v7", ""), ERR_OK);
    ck_assert_int_eq(create("more"), ERR_OK);
}
END_TEST

static void set_schema_bytes(uint64_t max)
{
    struct ten_quota q;
    ten_quota_default(&q);
    GIVE(&q, schema_bytes, max);
    ck_assert_int_eq(tent_set_quota(&tent, owner, &q), ERR_OK);
}

/* What is counted is what there is; and the same after a start. */
static void expect_schema_bytes_hold(uint64_t bytes)
{
    ck_assert_uint_eq(atomic_load(&owner->schema_bytes), bytes);
    reopen();
    ck_assert_uint_eq(atomic_load(&owner->schema_bytes), bytes);
}

START_TEST(schemas_and_views_have_a_quota)
{
    enum { MAX = 64 * KIB };
    char id[16];
    enum err rc = ERR_OK;
    uint64_t empty = schema_of("devices")->bytes;
    expect_schema_bytes_hold(empty);
    set_schema_bytes(MAX);
    size_t count = 0;
    while (rc == ERR_OK && count < LIM_VIEWS) {
        (void)snprintf(id, sizeof id, "v%zu", count);
        rc = create(id);
        count += rc == ERR_OK;
    }
    ck_assert_int_eq(rc, ERR_QUOTA);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "(schema_bytes)"));
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "limit 65536"));
    uint64_t each = view_of("devices", "v0")->bytes;
    ck_assert_uint_eq(count, (MAX - empty) / each);
    ck_assert_int_eq(docs_under("v/"), count);
    expect_schema_bytes_hold(empty + count * each);

    static const struct sto_view_spec nothing;
    ck_assert_int_eq(update("v1", (struct ten_view_change){.spec = &nothing}), ERR_OK);
    ck_assert_int_eq(delete ("v0", ""), ERR_OK);
    ck_assert_int_eq(create("again"), ERR_OK);
    uint64_t fewer = view_of("devices", "v1")->bytes;
    expect_schema_bytes_hold(empty + (count - 1) * each + fewer);

    ck_assert_int_eq(tent_delete_table_if(&tent, owner, "devices", (struct ten_expect){0}, NULL),
                     ERR_OK);
    expect_schema_bytes_hold(0);
}
END_TEST

/* A start with that much memory for requests, and so for schemas. */
static void reopen_with(struct base_memory *memory)
{
    const struct ten_certificates_options certificates = {.dir = tent.dir};
    const struct ten_registry_options options = {.engine = tent.engine,
                                                 .epoch = tent.epoch,
                                                 .memory = memory,
                                                 .certificates = &certificates,
                                                 .sweeper = tent.sweeper};
    base_epoch_quiescent(tent.epoch, tent.slot);
    ten_registry_close(tent.registry);
    ck_assert_int_eq(ten_registry_open(&options, &tent.registry, &tent.eb), ERR_OK);
    owner = tent_find(&tent, "altostrat");
}

/* Until one is refused; how many are new. */
static size_t create_large(struct ten_tenant *t, const char *name, enum err *out_rc)
{
    enum { PARTS = 900 };
    static char bytes[PARTS][32];
    static struct slice prefixes[PARTS];
    struct sto_view_spec large = {.row_prefixes = prefixes, .row_prefix_count = PARTS};
    char id[16];
    size_t count = 0;
    for (size_t i = 0; i < PARTS; i++) {
        (void)snprintf(bytes[i], sizeof bytes[i], "prefix-of-some-length-%04zu", i);
        prefixes[i] = base_slice_text(bytes[i]);
    }
    do {
        (void)snprintf(id, sizeof id, "%s%zu", name, count);
        *out_rc = create_of(t, "devices", id, &large);
        count += *out_rc == ERR_OK;
    } while (*out_rc == ERR_OK && count < LIM_VIEWS);
    return count;
}

/* Of all tenants. */
static size_t schemas_used(void)
{
    return atomic_load(&tent.registry->schemas.used);
}

static size_t beyond_free(const struct ten_tenant *t)
{
    return atomic_load(&t->schema_bytes) - LIM_SCHEMA_BYTES_FREE;
}

START_TEST(schemas_of_all_tenants_share_memory)
{
    struct base_memory memory = {.limit = MIB};
    enum err rc;
    struct ten_tenant *other = tent_create(&tent, "contoso");
    tent_table(&tent, other, "devices");
    reopen_with(&memory);
    other = tent_find(&tent, "contoso");
    ck_assert_uint_eq(schemas_used(), 0); /* small ones are not counted */

    size_t first = create_large(owner, "v", &rc);
    ck_assert_int_eq(rc, ERR_NO_MEMORY);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "--request-mb"));
    ck_assert_int_eq(docs_under("v/"), first);
    size_t each = view_of("devices", "v0")->bytes;
    ck_assert_uint_eq(schemas_used(), beyond_free(owner));
    ck_assert_uint_le(beyond_free(owner), MIB / 2);
    ck_assert_uint_gt(beyond_free(owner) + each, MIB / 2);

    size_t second = create_large(other, "v", &rc); /* of what is left, and still something is */
    ck_assert_int_eq(rc, ERR_NO_MEMORY);
    ck_assert_uint_gt(second, 0);
    ck_assert_uint_eq(schemas_used(), beyond_free(owner) + beyond_free(other));
    ck_assert_uint_lt(schemas_used(), MIB);
    ck_assert_uint_eq(atomic_load(&memory.used), 0); /* that of requests */

    reopen_with(&memory); /* what is there is counted */
    other = tent_find(&tent, "contoso");
    ck_assert_uint_eq(schemas_used(), beyond_free(owner) + beyond_free(other));
    ck_assert_int_eq(tent_delete_table_if(&tent, owner, "devices", (struct ten_expect){0}, NULL),
                     ERR_OK);
    ck_assert_uint_eq(schemas_used(), beyond_free(other));
    ck_assert_uint_gt(create_large(other, "w", &rc), 0);
}
END_TEST

START_TEST(changes_replace_what_they_name_only)
{
    static const struct sto_view_spec nothing;
    char before[TEN_VIEW_ETAG_BYTES], after[TEN_VIEW_ETAG_BYTES];
    ck_assert_int_eq(create("v"), ERR_OK);
    ten_view_etag(view_of("devices", "v"), before);
    ck_assert_int_eq(protect("v", true), ERR_OK);
    ten_view_etag(view_of("devices", "v"), after);
    ck_assert_str_ne(before, after);
    ck_assert_uint_eq(view_of("devices", "v")->spec.row_prefix_count, 1);
    struct ten_view_change change = {.etag = base_slice_text(before), .spec = &nothing};
    ck_assert_int_eq(update("v", change), ERR_PRECONDITION);
    ck_assert_uint_eq(view_of("devices", "v")->spec.row_prefix_count, 1);
    change.etag = base_slice_text(after);
    ck_assert_int_eq(update("v", change), ERR_OK);
    reopen();
    ck_assert_uint_eq(view_of("devices", "v")->spec.row_prefix_count, 0);
    ck_assert(view_of("devices", "v")->spec.protected);
    ck_assert_uint_eq(view_of("devices", "v")->version, 3);
    ck_assert_int_eq(update("w", change), ERR_NOT_FOUND);
}
END_TEST

START_TEST(a_view_in_use_outlives_its_change)
{
    struct sto_view *held = NULL;
    ck_assert_int_eq(create("v"), ERR_OK);
    ck_assert_int_eq(ten_view_find(schema_of("devices"), SLICE_LIT("v"), &held, NULL), ERR_OK);
    ck_assert_int_eq(delete ("v", ""), ERR_OK);
    for (int i = 0; i < 3; i++)
        base_epoch_quiescent(tent.epoch, tent.slot);
    ck_assert(base_slice_is(held->spec.row_prefixes[0], "user#"));
    sto_view_unref(held);
    ck_assert_ptr_null(view_of("devices", "v"));
}
END_TEST

START_TEST(a_change_of_families_leaves_views_alone)
{
    const struct slice drop = SLICE_LIT("f");
    const struct ten_families_change change = {.drop = &drop, .drop_count = 1};
    ck_assert_int_eq(create("v"), ERR_OK);
    ck_assert_int_eq(tent_change_families(&tent, owner, "devices", &change), ERR_OK);
    ck_assert_ptr_nonnull(view_of("devices", "v"));
    ck_assert_int_eq(protect("v", true), ERR_OK); /* its family is not looked for again */
}
END_TEST

START_TEST(nothing_changes_when_the_commit_fails)
{
    ck_assert_int_eq(create("v"), ERR_OK);
    sto_rocksdb_test_fail_commit(tent.engine, 1);
    if (_i == 0)
        ck_assert_int_ne(create("w"), ERR_OK);
    else if (_i == 1)
        ck_assert_int_ne(protect("v", true), ERR_OK);
    else
        ck_assert_int_ne(delete ("v", ""), ERR_OK);
    ck_assert_ptr_null(view_of("devices", "w"));
    ck_assert(!view_of("devices", "v")->spec.protected);
}
END_TEST

/* --- deleting ----------------------------------------------------------------------------------
 */

START_TEST(deleting_asks_for_the_etag_and_the_protection)
{
    ck_assert_int_eq(create("v"), ERR_OK);
    ck_assert_int_eq(delete ("w", ""), ERR_NOT_FOUND);
    ck_assert_int_eq(delete ("v", "0123456789abcdef"), ERR_PRECONDITION);
    ck_assert_int_eq(protect("v", true), ERR_OK);
    ck_assert_int_eq(delete ("v", ""), ERR_CONFLICT);
    ck_assert_int_eq(protect("v", false), ERR_OK);
    ck_assert_int_eq(delete ("v", ""), ERR_OK);
    ck_assert_int_eq(delete ("v", ""), ERR_NOT_FOUND);
    ck_assert_uint_eq(docs_under("v/"), 0);
    reopen();
    ck_assert_ptr_null(view_of("devices", "v"));
}
END_TEST

START_TEST(a_table_takes_its_views_along)
{
    tent_table(&tent, owner, "devices2");
    ck_assert_int_eq(create("v"), ERR_OK);
    ck_assert_int_eq(create("w"), ERR_OK);
    ck_assert_int_eq(create_of(owner, "devices2", "v", &plain), ERR_OK);
    ck_assert_int_eq(protect("v", true), ERR_OK);
    ck_assert_int_eq(tent_delete_table_if(&tent, owner, "devices", (struct ten_expect){0}, NULL),
                     ERR_CONFLICT);
    ck_assert_ptr_nonnull(schema_of("devices"));
    ck_assert_int_eq(protect("v", false), ERR_OK);
    ck_assert_int_eq(tent_delete_table_if(&tent, owner, "devices", (struct ten_expect){0}, NULL),
                     ERR_OK);
    ck_assert_uint_eq(docs_under("v/altostrat/devices/"), 0);
    ck_assert_uint_eq(docs_under("v/altostrat/devices2/"), 1);
    tent_table(&tent, owner, "devices");
    ck_assert_ptr_null(view_of("devices", "v"));
    reopen();
    ck_assert_ptr_null(view_of("devices", "v"));
    ck_assert_ptr_nonnull(view_of("devices2", "v"));
}
END_TEST

START_TEST(a_tenant_that_leaves_takes_its_views_along)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    struct ten_tenant *neighbour = tent_create(&tent, "altostrat2");
    tent_table(&tent, neighbour, "devices");
    ck_assert_int_eq(create("v"), ERR_OK);
    ck_assert_int_eq(protect("v", true), ERR_OK);
    ck_assert_int_eq(create_of(neighbour, "devices", "v", &plain), ERR_OK);
    struct sto_tenant_scope scope = ten_scope_tenant(owner);
    struct sto_audit audit;
    ck_assert_int_eq(sto_audit_range(tent.engine, &scope, &audit, &tent.eb), ERR_OK);
    ck_assert_uint_eq(audit.counters, 2); /* schema, view: no cell was ever counted */
    ck_assert_int_eq(tent_offboard(&tent, owner, id), ERR_OK);
    tent_await_job(&tent, id, &job);
    ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
    ck_assert_uint_eq(job.audit_after.counters, 0);
    ck_assert_uint_eq(docs_under("v/altostrat/"), 0);
    ck_assert_uint_eq(docs_under("v/altostrat2/"), 1);
}
END_TEST

START_TEST(views_of_a_suspended_tenant_do_not_change)
{
    ck_assert_int_eq(create("v"), ERR_OK);
    ck_assert_int_eq(tent_suspend(&tent, owner, "x"), ERR_OK);
    ck_assert_int_eq(create("w"), ERR_SUSPENDED);
    ck_assert_int_eq(protect("v", true), ERR_SUSPENDED);
    ck_assert_int_eq(delete ("v", ""), ERR_SUSPENDED);
}
END_TEST

Suite *suite_tenancy_views(void)
{
    Suite *s = suite_create("tenancy_views");
    TCase *tc = tcase_create("views");
    tcase_add_checked_fixture(tc, set_up, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_document_says_what_the_view_says);
    tcase_add_test(tc, the_largest_view_fits_into_its_document);
    tcase_add_test(tc, a_view_is_there_when_it_was_made_and_after_a_restart);
    tcase_add_test(tc, a_view_names_a_table_and_families_that_are_there);
    tcase_add_test(tc, views_of_a_table_are_bounded);
    tcase_add_test(tc, schemas_and_views_have_a_quota);
    tcase_add_test(tc, schemas_of_all_tenants_share_memory);
    tcase_add_test(tc, changes_replace_what_they_name_only);
    tcase_add_test(tc, a_view_in_use_outlives_its_change);
    tcase_add_test(tc, a_change_of_families_leaves_views_alone);
    tcase_add_loop_test(tc, nothing_changes_when_the_commit_fails, 0, 3);
    tcase_add_test(tc, deleting_asks_for_the_etag_and_the_protection);
    tcase_add_test(tc, a_table_takes_its_views_along);
    tcase_add_test(tc, a_tenant_that_leaves_takes_its_views_along);
    tcase_add_test(tc, views_of_a_suspended_tenant_do_not_change);
    suite_add_tcase(s, tc);
    return s;
}
