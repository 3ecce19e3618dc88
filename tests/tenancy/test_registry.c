/*
 * tests/tenancy/test_registry.c - tenants created, changed, listed and found again after a restart.
 */
#include "tests/tenancy/tent_rows.h"

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

/* --- creating --------------------------------------------------------------------------------- */

START_TEST(created_tenant_is_found_with_defaults)
{
    ck_assert_ptr_null(tent_find(&tent, "altostrat"));
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    ck_assert_ptr_eq(tent_find(&tent, "altostrat"), t);
    ck_assert_ptr_null(tent_find(&tent, "altostra"));
    ck_assert_ptr_null(tent_find(&tent, "altostrat2"));
    ck_assert(base_slice_is(ten_tenant_id(t), "altostrat"));
    ck_assert_int_eq(atomic_load(&t->state), TEN_ACTIVE);
    ck_assert_ptr_eq(t->account.memory, &t->memory); /* the engine counts in it */
    const struct ten_details *d = ten_tenant_details(t);
    ck_assert_str_eq(d->display_name, "Somebody");
    ck_assert_str_eq(d->reason, "");
    ck_assert_str_eq(d->job, "");
    ck_assert_uint_eq(d->doc_version, 1);
    ck_assert_int_gt(d->created_us, 1600000000000000);
    ck_assert_int_eq(d->state_since_us, d->created_us);
    ck_assert_uint_eq(d->quota.given, 0);
    ck_assert_uint_eq(d->quota.limits[STO_LIMIT_CELL], LIM_CELL_BYTES);
    ck_assert_uint_eq(d->quota.stored_bytes, UINT64_MAX);
    ck_assert_uint_eq(ten_tenant_tables(t)->count, 0);
    ck_assert_ptr_eq(ten_registry_engine(tent.registry), tent.engine);
}
END_TEST

START_TEST(an_id_is_created_once)
{
    (void)tent_create(&tent, "altostrat");
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("altostrat"), SLICE_EMPTY, NULL), ERR_EXISTS);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "never used again"));
    tent_reopen(&tent);
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("altostrat"), SLICE_EMPTY, NULL), ERR_EXISTS);
}
END_TEST

START_TEST(ids_are_checked_at_every_edge)
{
    static const char *const BAD[] = {
        "",     "a",  "-a",   "A1",    "aB", "a_b", "a.b", "a#b", "a/b", "a b", "\xc3\xa9t\xc3\xa9",
        "ab\n", "a$", "ab#c", "../etc"};
    static const char *const GOOD[] = {"ab", "00", "a-", "a--b", "0-9", "9z"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        ck_assert_msg(tent_try_create(&tent, base_slice_text(BAD[i]), SLICE_EMPTY, NULL) ==
                          ERR_INVALID,
                      "\"%s\"", BAD[i]);
    ck_assert_int_eq(tent_try_create(&tent, base_slice("ab\0", 3), SLICE_EMPTY, NULL), ERR_INVALID);
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++)
        ck_assert_msg(tent_try_create(&tent, base_slice_text(GOOD[i]), SLICE_EMPTY, NULL) == ERR_OK,
                      "\"%s\": %s", GOOD[i], tent.eb.text);
    char id[LIM_TENANT_ID + 2];
    memset(id, 'z', sizeof id);
    ck_assert_int_eq(tent_try_create(&tent, base_slice(id, LIM_TENANT_ID + 1), SLICE_EMPTY, NULL),
                     ERR_INVALID);
    ck_assert_int_eq(tent_try_create(&tent, base_slice(id, LIM_TENANT_ID), SLICE_EMPTY, NULL),
                     ERR_OK);
    ck_assert_int_eq(tent_try_create(&tent, base_slice(id, LIM_TENANT_ID - 1), SLICE_EMPTY, NULL),
                     ERR_OK);
    tent_reopen(&tent);
    ck_assert_ptr_nonnull(ten_tenant_find(tent.registry, base_slice(id, LIM_TENANT_ID)));
}
END_TEST

START_TEST(display_names_are_checked_at_every_edge)
{
    static char name[LIM_DISPLAY_NAME + 1];
    memset(name, 'n', sizeof name);
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("t1"), base_slice(name, sizeof name), NULL),
                     ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "257 bytes; the limit is 256"));
    ck_assert_int_eq(
        tent_try_create(&tent, SLICE_LIT("t1"), base_slice(name, LIM_DISPLAY_NAME), NULL), ERR_OK);
    ck_assert_uint_eq(strlen(ten_tenant_details(tent_find(&tent, "t1"))->display_name),
                      LIM_DISPLAY_NAME);
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("t2"), SLICE_LIT("\xff"), NULL), ERR_INVALID);
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("t2"), SLICE_LIT("a\nb"), NULL), ERR_INVALID);
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("t2"), SLICE_LIT("a\0b"), NULL), ERR_INVALID);
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("t2"), SLICE_LIT("a\x7f"), NULL),
                     ERR_INVALID);
    ck_assert_ptr_null(tent_find(&tent, "t2"));
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("t2"), SLICE_LIT("Z\xc3\xbcrich"), NULL),
                     ERR_OK);
}
END_TEST

/* --- suspending and resuming ------------------------------------------------------------------ */

START_TEST(suspend_and_resume_take_effect_at_once_and_last)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    ck_assert_int_eq(tent_suspend(&tent, t, "unpaid"), ERR_OK);
    ck_assert_int_eq(atomic_load(&t->state), TEN_SUSPENDED);
    ck_assert_str_eq(ten_tenant_details(t)->reason, "unpaid");
    ck_assert_uint_eq(atomic_load(&t->account.gate), STO_GATE_NO_READS | STO_GATE_NO_WRITES);
    tent_reopen(&tent);
    t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(atomic_load(&t->state), TEN_SUSPENDED);
    ck_assert_str_eq(ten_tenant_details(t)->reason, "unpaid");
    ck_assert_uint_eq(atomic_load(&t->account.gate), STO_GATE_NO_READS | STO_GATE_NO_WRITES);
    ck_assert_int_eq(tent_resume(&tent, t), ERR_OK);
    ck_assert_int_eq(atomic_load(&t->state), TEN_ACTIVE);
    ck_assert_str_eq(ten_tenant_details(t)->reason, "");
    ck_assert_uint_eq(atomic_load(&t->account.gate), 0);
    tent_reopen(&tent);
    t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(atomic_load(&t->state), TEN_ACTIVE);
    ck_assert_str_eq(ten_tenant_details(t)->reason, "");
}
END_TEST

START_TEST(repeating_suspend_and_resume_is_no_error)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    ck_assert_int_eq(tent_resume(&tent, t), ERR_OK);
    ck_assert_uint_eq(ten_tenant_details(t)->doc_version, 1);
    ck_assert_int_eq(tent_suspend(&tent, t, "unpaid"), ERR_OK);
    int64_t since = ten_tenant_details(t)->state_since_us;
    ck_assert_int_eq(tent_suspend(&tent, t, "unpaid"), ERR_OK);
    ck_assert_uint_eq(ten_tenant_details(t)->doc_version, 2);
    ck_assert_int_eq(tent_suspend(&tent, t, "abuse"), ERR_OK);
    ck_assert_str_eq(ten_tenant_details(t)->reason, "abuse");
    ck_assert_int_eq(ten_tenant_details(t)->state_since_us, since);
}
END_TEST

START_TEST(reasons_are_checked_at_every_edge)
{
    static char reason[LIM_REASON + 2];
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    memset(reason, 'r', LIM_REASON + 1);
    ck_assert_int_eq(tent_suspend(&tent, t, reason), ERR_INVALID);
    ck_assert_int_eq(atomic_load(&t->state), TEN_ACTIVE);
    reason[LIM_REASON] = '\0';
    ck_assert_int_eq(tent_suspend(&tent, t, reason), ERR_OK);
    ck_assert_uint_eq(strlen(ten_tenant_details(t)->reason), LIM_REASON);
    ck_assert_int_eq(tent_suspend(&tent, t, "\x01"), ERR_INVALID);
    ck_assert_int_eq(tent_suspend(&tent, t, ""), ERR_OK);
    ck_assert_str_eq(ten_tenant_details(t)->reason, "");
}
END_TEST

/* --- restart and lists ------------------------------------------------------------------------ */

START_TEST(reopen_keeps_tenants_tables_rows_and_counters)
{
    struct ten_tenant *a = tent_create(&tent, "altostrat");
    struct ten_tenant *b = tent_create(&tent, "brightleaf");
    tent_table(&tent, a, "devices");
    tent_table(&tent, a, "alarms");
    tent_table(&tent, b, "devices");
    tent_write(&tent, a, "devices", "r1", "one");
    tent_write(&tent, a, "alarms", "r1", "two");
    tent_write(&tent, b, "devices", "r9", "three");
    struct sto_usage before = tent_recount(&tent, a);
    int64_t created = ten_tenant_details(a)->created_us;
    tent_reopen(&tent);
    a = tent_find(&tent, "altostrat");
    b = tent_find(&tent, "brightleaf");
    const struct ten_tables *tables = ten_tenant_tables(a);
    ck_assert_uint_eq(tables->count, 2);
    ck_assert_str_eq(tables->schemas[0]->table->id, "alarms");
    ck_assert_str_eq(tables->schemas[1]->table->id, "devices");
    ck_assert_uint_eq(tables->schemas[0]->version, 1);
    ck_assert_uint_eq(sto_counters_read(&tables->schemas[1]->table->counters).rows, 1);
    ck_assert_int_eq(ten_tenant_details(a)->created_us, created);
    ck_assert_str_eq(tent_keys(&tent, a, "devices"), "r1,");
    ck_assert_str_eq(tent_keys(&tent, b, "devices"), "r9,");
    struct sto_usage after = tent_recount(&tent, a);
    ck_assert_int_eq(memcmp(&before, &after, sizeof after), 0);
    ck_assert_uint_eq(after.bytes, (2 + 1 + 1 + 3 + 8) * 2);
    tent_write(&tent, a, "devices", "r2", "goes on");
    ck_assert_uint_eq(tent_recount(&tent, a).rows, 3);
}
END_TEST

static void create_many(struct tent *t, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 1000; i++) {
        char id[32];
        struct ten_tenant *out;
        struct ten_tenant_wanted wanted = {.quota = NULL};
        (void)snprintf(id, sizeof id, "t%04d", i * 7 % 1000); /* not in order */
        if (ten_tenant_create(t->registry, base_slice_text(id), &wanted, &out, &t->eb) != ERR_OK)
            return;
    }
}

static void check_pages(void)
{
    char after[LIM_TENANT_ID + 1] = "";
    struct ten_tenant *page[64];
    int seen = 0;
    for (;;) {
        size_t got = tent_list(&tent, after, page, 64);
        for (size_t i = 0; i < got; i++, seen++) {
            char id[32];
            (void)snprintf(id, sizeof id, "t%04d", seen);
            ck_assert_str_eq(page[i]->id, id);
            ck_assert_ptr_eq(tent_find(&tent, id), page[i]);
        }
        if (got < 64)
            break;
        (void)snprintf(after, sizeof after, "%s", page[got - 1]->id);
    }
    ck_assert_int_eq(seen, 1000);
}

START_TEST(thousand_tenants_list_in_order_by_pages)
{
    tent_control(&tent, create_many, NULL);
    ck_assert_str_eq(tent.eb.text, "");
    check_pages();
    tent_reopen(&tent);
    check_pages();
    struct ten_tenant *one[1];
    ck_assert_uint_eq(tent_list(&tent, "t0500x", one, 1), 1); /* after what is not there */
    ck_assert_str_eq(one[0]->id, "t0501");
    ck_assert_uint_eq(tent_list(&tent, "t0999", one, 1), 0);
    ck_assert_uint_eq(tent_list(&tent, "", one, 0), 0);
}
END_TEST

/* body NULL: what stands under t/altostrat, which is all right but for its key. */
static void put_garbage(const char *key, const char *body)
{
    struct buf good;
    uint64_t version;
    base_buf_init(&good, 65536);
    ck_assert_int_eq(sto_doc_get(tent.engine, SLICE_LIT("t/altostrat"), &version, &good, &tent.eb),
                     ERR_OK);
    struct slice bytes = body != NULL ? base_slice_text(body) : base_buf_slice(&good);
    struct sto_doc_change change = {
        .key = base_slice_text(key), .body = bytes, .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
    base_buf_fini(&good);
}

static const struct {
    const char *key;
    const char *body;
} DAMAGE[] = {
    {"t/altostrat", "\xff\xff\xff"},
    {"t/NOT-AN-ID", NULL},
    {"t/altostrat#", NULL},
    {"t/x", NULL},
    {"s/altostrat/devices", "\xff\xff\xff"},
    {"s/nobody/devices", "\x02\x01"},
    {"s/altostrat", "\x02\x01"},
    {"s/altostrat/-bad-", "\x02\x01"},
};

START_TEST(damaged_documents_are_refused_at_open)
{
    (void)tent_create(&tent, "altostrat");
    put_garbage(DAMAGE[_i].key, DAMAGE[_i].body);
    ten_registry_close(tent.registry);
    ck_assert_int_eq(tent_open_registry(&tent), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "documents"));
    tent_close_engine(&tent);
    process_temp_dir_remove(tent.dir, tent.keeper);
    tent_make(&tent); /* for the teardown */
    tent_open(&tent);
}
END_TEST

START_TEST(what_was_read_once_stays_valid_until_quiescent)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    tent_table(&tent, t, "devices");
    ck_assert_int_eq(tent_suspend(&tent, t, "before"), ERR_OK);
    ck_assert_int_eq(tent_resume(&tent, t), ERR_OK);
    int slot = base_epoch_join(tent.epoch); /* another reader, which is not quiescent */
    const struct ten_details *d = ten_tenant_details(t);
    const struct ten_tables *tables = ten_tenant_tables(t);
    ck_assert_int_eq(tent_delete_table(&tent, t, "devices", NULL), ERR_OK);
    ck_assert_int_eq(tent_suspend(&tent, t, "after"), ERR_OK);
    ck_assert_str_eq(d->reason, "");
    ck_assert_str_eq(d->display_name, "Somebody");
    ck_assert_uint_eq(tables->count, 1);
    ck_assert_str_eq(tables->schemas[0]->table->id, "devices");
    ck_assert_str_eq(ten_tenant_details(t)->reason, "after");
    base_epoch_leave(tent.epoch, slot);
}
END_TEST

/* --- readers beside the control thread -------------------------------------------------------- */

static atomic_bool stop_reading;

static void *read_on(void *arg)
{
    (void)arg;
    int slot = base_epoch_join(tent.epoch);
    uint64_t seen = 0;
    while (!atomic_load(&stop_reading)) {
        struct ten_tenant *t = tent_find(&tent, "altostrat");
        const struct ten_details *d = ten_tenant_details(t);
        const struct ten_tables *tables = ten_tenant_tables(t);
        for (size_t i = 0; i < tables->count; i++)
            seen += tables->schemas[i]->family_count + tables->schemas[i]->table->id_len;
        seen += strlen(d->reason) + strlen(d->display_name);
        struct errbuf eb;
        enum err rc = ten_access_check(t, TEN_READ, &eb);
        INVARIANT(rc == ERR_OK || rc == ERR_SUSPENDED);
        base_epoch_quiescent(tent.epoch, slot);
    }
    base_epoch_leave(tent.epoch, slot);
    return seen > 0 ? arg : NULL;
}

START_TEST(readers_follow_changes_without_a_lock)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    pthread_t readers[2];
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(base_thread_start(&readers[i], "reader", read_on, NULL), ERR_OK);
    for (int round = 0; round < 30; round++) {
        char id[32];
        (void)snprintf(id, sizeof id, "other-%d", round);
        (void)tent_create(&tent, id);
        (void)snprintf(id, sizeof id, "table%d", round);
        tent_table(&tent, t, id);
        ck_assert_int_eq(tent_suspend(&tent, t, "a reason that is read by others"), ERR_OK);
        ck_assert_int_eq(tent_resume(&tent, t), ERR_OK);
    }
    atomic_store(&stop_reading, true);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(readers[i], NULL), 0);
}
END_TEST

/* --- engine failures -------------------------------------------------------------------------- */

START_TEST(a_change_that_is_not_durable_is_not_visible)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    sto_rocksdb_test_fail_commit(tent.engine, 1);
    ck_assert_int_eq(tent_suspend(&tent, t, "unpaid"), ERR_OUTCOME_UNKNOWN);
    ck_assert_int_eq(atomic_load(&t->state), TEN_ACTIVE);
    ck_assert_str_eq(ten_tenant_details(t)->reason, "");
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("late"), SLICE_EMPTY, NULL), ERR_UNAVAILABLE);
    ck_assert_ptr_null(tent_find(&tent, "late"));
}
END_TEST

Suite *suite_tenancy_registry(void);
Suite *suite_tenancy_registry(void)
{
    Suite *s = suite_create("tenancy_registry");
    TCase *c = tcase_create("create");
    tcase_set_timeout(c, 30);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, created_tenant_is_found_with_defaults);
    tcase_add_test(c, an_id_is_created_once);
    tcase_add_test(c, ids_are_checked_at_every_edge);
    tcase_add_test(c, display_names_are_checked_at_every_edge);
    suite_add_tcase(s, c);
    c = tcase_create("state");
    tcase_set_timeout(c, 30);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, suspend_and_resume_take_effect_at_once_and_last);
    tcase_add_test(c, repeating_suspend_and_resume_is_no_error);
    tcase_add_test(c, reasons_are_checked_at_every_edge);
    tcase_add_test(c, a_change_that_is_not_durable_is_not_visible);
    suite_add_tcase(s, c);
    c = tcase_create("restart");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, reopen_keeps_tenants_tables_rows_and_counters);
    tcase_add_test(c, thousand_tenants_list_in_order_by_pages);
    tcase_add_loop_test(c, damaged_documents_are_refused_at_open, 0,
                        (int)(sizeof DAMAGE / sizeof DAMAGE[0]));
    tcase_add_test(c, what_was_read_once_stays_valid_until_quiescent);
    tcase_add_test(c, readers_follow_changes_without_a_lock);
    suite_add_tcase(s, c);
    return s;
}
