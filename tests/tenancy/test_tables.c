/*
 * tests/tenancy/test_tables.c - tables made, changed, deleted and made again.
 * Over 500 lines because all deletions run twice, by points and as ranges.
 */
#include "tests/tenancy/tent_rows.h"

#include "tenancy/doc_key.h"

#include "base/banned.h"

static struct tent tent;
static struct ten_tenant *owner;

static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
    owner = tent_create(&tent, "altostrat");
}

/* Tables of more than one cell go as ranges. */
static void setup_ranges(void)
{
    tent_make(&tent);
    tent.drop_range_cells = 1;
    tent_open(&tent);
    owner = tent_create(&tent, "altostrat");
}

static void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

static void reopen(void)
{
    tent_reopen(&tent);
    owner = tent_find(&tent, "altostrat");
}

static const struct sto_schema *schema_of(const char *table)
{
    const struct ten_tables *tables = ten_tenant_tables(owner);
    for (size_t i = 0; i < tables->count; i++)
        if (strcmp(tables->schemas[i]->table->id, table) == 0)
            return tables->schemas[i];
    return NULL;
}

static bool rows_are(void *wanted)
{
    return sto_counters_read(&owner->account.total).rows == *(const uint64_t *)wanted;
}

static bool rows_reach(void *wanted)
{
    return sto_counters_read(&owner->account.total).rows >= *(const uint64_t *)wanted;
}

static void await_rows(uint64_t wanted)
{
    process_await(rows_are, &wanted, "a number of rows");
}

static uint16_t number_of(const char *table, const char *family)
{
    const struct sto_family *f = sto_schema_family(schema_of(table), base_slice_text(family));
    ck_assert_ptr_nonnull(f);
    return f->number;
}

static enum err put(const char *table, const char *const *names, size_t count, bool *out_created)
{
    struct sto_family_spec specs[LIM_FAMILIES + 1] = {{.name = SLICE_EMPTY}};
    for (size_t i = 0; i < count; i++)
        specs[i].name = base_slice_text(names[i]);
    return tent_try_table(&tent, owner, table, specs, count, out_created);
}

/* --- making and changing ---------------------------------------------------------------------- */

START_TEST(put_makes_then_changes_then_changes_nothing)
{
    static const char *const NAMES[] = {"stats", "raw", "extra"};
    bool created = false;
    ck_assert_int_eq(put("devices", NAMES, 2, &created), ERR_OK);
    ck_assert(created);
    ck_assert_uint_eq(schema_of("devices")->version, 1);
    ck_assert_uint_eq(number_of("devices", "stats"), 1);
    ck_assert_uint_eq(number_of("devices", "raw"), 2);
    const struct sto_table *identity = schema_of("devices")->table;
    ck_assert_int_eq(put("devices", NAMES, 3, &created), ERR_OK);
    ck_assert(!created);
    ck_assert_uint_eq(schema_of("devices")->version, 2);
    ck_assert_uint_eq(number_of("devices", "stats"), 1);
    ck_assert_uint_eq(number_of("devices", "extra"), 3);
    ck_assert_ptr_eq(schema_of("devices")->table, identity);
    ck_assert_int_eq(put("devices", NAMES, 3, &created), ERR_OK);
    ck_assert(!created);
    ck_assert_uint_eq(schema_of("devices")->version, 2);
    reopen();
    ck_assert_uint_eq(schema_of("devices")->version, 2);
    ck_assert_uint_eq(number_of("devices", "extra"), 3);
    ck_assert_uint_eq(schema_of("devices")->family_count, 3);
}
END_TEST

START_TEST(gc_rules_change_one_by_one_and_last)
{
    static const struct sto_gc_node ONE = {.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};
    static const struct sto_gc_node DAY = {.kind = STO_GC_MAX_AGE, .max_age_us = 86400000000};
    static const struct sto_gc_node EITHER = {.kind = STO_GC_UNION, .member_count = 2};
    static const struct sto_gc_node BOTH = {.kind = STO_GC_INTERSECTION, .member_count = 2};
    const struct sto_gc_node rules[][3] = {{ONE}, {EITHER, ONE, DAY}, {BOTH, ONE, DAY},
                                           {DAY}, {BOTH, DAY, ONE},   {{0}}};
    static const size_t COUNTS[] = {1, 3, 3, 1, 3, 0};
    struct sto_family_spec f = {.name = SLICE_LIT("f")};
    for (size_t i = 0; i < sizeof COUNTS / sizeof COUNTS[0]; i++) {
        f.gc_nodes = rules[i];
        f.gc_node_count = COUNTS[i];
        struct sto_gc wanted = {.nodes = rules[i], .node_count = (uint16_t)COUNTS[i]};
        ck_assert_int_eq(tent_try_table(&tent, owner, "devices", &f, 1, NULL), ERR_OK);
        ck_assert_uint_eq(schema_of("devices")->version, i + 1);
        reopen();
        ck_assert(sto_gc_equal(&schema_of("devices")->families[0].gc, &wanted));
    }
}
END_TEST

START_TEST(leaving_a_family_out_is_a_conflict_that_names_it)
{
    static const char *const NAMES[] = {"stats", "raw"};
    static const char *const OTHERS[] = {"stats", "new"};
    ck_assert_int_eq(put("devices", NAMES, 2, NULL), ERR_OK);
    ck_assert_int_eq(put("devices", NAMES, 1, NULL), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "\"raw\""));
    ck_assert_int_eq(put("devices", NAMES, 0, NULL), ERR_CONFLICT);
    ck_assert_int_eq(put("devices", OTHERS, 2, NULL), ERR_CONFLICT);
    ck_assert_uint_eq(schema_of("devices")->version, 1);
}
END_TEST

START_TEST(names_and_family_counts_are_checked)
{
    static char names[LIM_FAMILIES + 1][8];
    static const char *list[LIM_FAMILIES + 1];
    for (size_t i = 0; i <= LIM_FAMILIES; i++) {
        (void)snprintf(names[i], sizeof names[i], "f%zu", i);
        list[i] = names[i];
    }
    ck_assert_int_eq(put("devices", list, LIM_FAMILIES + 1, NULL), ERR_TOO_BIG);
    ck_assert_int_eq(put("devices", list, LIM_FAMILIES, NULL), ERR_OK);
    static const char *const TWICE[] = {"a", "a"};
    static const char *const BAD[] = {"a#b"};
    ck_assert_int_eq(put("t", TWICE, 2, NULL), ERR_INVALID);
    ck_assert_int_eq(put("t", BAD, 1, NULL), ERR_INVALID);
    ck_assert_int_eq(put("", list, 1, NULL), ERR_INVALID);
    ck_assert_int_eq(put("a#b", list, 1, NULL), ERR_INVALID);
    ck_assert_int_eq(put("a/b", list, 1, NULL), ERR_INVALID);
    char id[LIM_TABLE_ID + 2];
    memset(id, 't', sizeof id);
    id[LIM_TABLE_ID + 1] = '\0';
    ck_assert_int_eq(put(id, list, 1, NULL), ERR_INVALID);
    id[LIM_TABLE_ID] = '\0';
    ck_assert_int_eq(put(id, list, 1, NULL), ERR_OK);
    reopen();
    ck_assert_ptr_nonnull(schema_of(id));
    ck_assert_uint_eq(schema_of("devices")->family_count, LIM_FAMILIES);
}
END_TEST

static void make_all_tables(struct tent *t, void *ctx)
{
    struct sto_family_spec f = {.name = SLICE_LIT("f")};
    struct ten_table_wanted wanted = {.families = &f, .family_count = 1};
    enum err *rc = ctx;
    for (int i = 0; *rc == ERR_OK && i < LIM_TABLES; i++) {
        char id[32];
        bool created;
        (void)snprintf(id, sizeof id, "t%03d", i * 7 % LIM_TABLES);
        *rc = ten_table_put(t->registry, owner, base_slice_text(id), &wanted, &created, &t->eb);
    }
}

START_TEST(tables_are_limited_and_sorted)
{
    enum err rc = ERR_OK;
    tent_control(&tent, make_all_tables, &rc);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    static const char *const NAMES[] = {"f", "g"};
    ck_assert_int_eq(put("one-more", NAMES, 1, NULL), ERR_QUOTA);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "1000"));
    ck_assert_int_eq(put("t500", NAMES, 2, NULL), ERR_OK); /* changing one is still fine */
    const struct ten_tables *tables = ten_tenant_tables(owner);
    ck_assert_uint_eq(tables->count, LIM_TABLES);
    for (size_t i = 1; i < tables->count; i++)
        ck_assert_int_lt(strcmp(tables->schemas[i - 1]->table->id, tables->schemas[i]->table->id),
                         0);
}
END_TEST

START_TEST(suspended_and_leaving_tenants_make_no_tables)
{
    static const char *const NAMES[] = {"f"};
    char job[TEN_JOB_ID + 1];
    tent_table(&tent, owner, "devices");
    ck_assert_int_eq(tent_suspend(&tent, owner, "unpaid"), ERR_OK);
    ck_assert_int_eq(put("t", NAMES, 1, NULL), ERR_SUSPENDED);
    ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", NULL), ERR_SUSPENDED);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "unpaid"));
    ck_assert_ptr_nonnull(schema_of("devices"));
    ck_assert_int_eq(tent_offboard(&tent, owner, job), ERR_OK);
    ck_assert_int_eq(put("t", NAMES, 1, NULL), ERR_GONE);
    ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", NULL), ERR_GONE);
}
END_TEST

/* --- deleting --------------------------------------------------------------------------------- */

START_TEST(delete_removes_rows_and_counters_and_nothing_else)
{
    struct sto_usage removed;
    tent_table(&tent, owner, "devices");
    tent_table(&tent, owner, "device");
    tent_table(&tent, owner, "devices2");
    tent_write(&tent, owner, "devices", "r1", "one");
    tent_write(&tent, owner, "devices", "r2", "two");
    tent_write(&tent, owner, "device", "r3", "three");
    tent_write(&tent, owner, "devices2", "r4", "four");
    ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", &removed), ERR_OK);
    ck_assert_uint_eq(removed.rows, 2);
    ck_assert_uint_eq(removed.cells, 2);
    ck_assert_uint_eq(removed.bytes, 2 * (2 + 1 + 1 + 3 + 8));
    ck_assert_ptr_null(schema_of("devices"));
    ck_assert_int_eq(tent_try_write(&tent, owner, "devices", "r1", SLICE_EMPTY), ERR_NOT_FOUND);
    ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", NULL), ERR_NOT_FOUND);
    for (int round = 0; round < 2; round++) {
        ck_assert_ptr_null(schema_of("devices"));
        ck_assert_uint_eq(ten_tenant_tables(owner)->count, 2);
        ck_assert_str_eq(tent_keys(&tent, owner, "device"), "r3,");
        ck_assert_str_eq(tent_keys(&tent, owner, "devices2"), "r4,");
        ck_assert_uint_eq(tent_recount(&tent, owner).rows, 2);
        reopen();
    }
}
END_TEST

START_TEST(recreated_table_is_empty_with_fresh_numbers)
{
    static const char *const OLD[] = {"a", "b", "c"};
    static const char *const NEW[] = {"c", "z"};
    ck_assert_int_eq(put("devices", OLD, 3, NULL), ERR_OK);
    tent_write(&tent, owner, "devices", "r1", "old");
    ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", NULL), ERR_OK);
    bool created = false;
    ck_assert_int_eq(put("devices", NEW, 2, &created), ERR_OK);
    ck_assert(created);
    ck_assert_uint_eq(schema_of("devices")->version, 1);
    ck_assert_uint_eq(number_of("devices", "c"), 1);
    ck_assert_uint_eq(number_of("devices", "z"), 2);
    ck_assert_str_eq(tent_keys(&tent, owner, "devices"), "");
    tent_write(&tent, owner, "devices", "r2", "new");
    reopen();
    ck_assert_str_eq(tent_keys(&tent, owner, "devices"), "r2,");
    ck_assert_uint_eq(tent_recount(&tent, owner).rows, 1);
}
END_TEST

/* Several deletions posted at once, so that the second finds the first under way. */
START_TEST(table_under_removal_is_a_conflict_until_its_rows_are_gone)
{
    tent_table(&tent, owner, "devices");
    for (int i = 0; i < 50; i++) {
        char row[32];
        (void)snprintf(row, sizeof row, "row%d", i);
        tent_write(&tent, owner, "devices", row, "value");
    }
    bool done[2] = {false, false};
    struct ten_table_delete_op ops[2];
    for (int i = 0; i < 2; i++) {
        ops[i] = (struct ten_table_delete_op){.reply_to = &tent.mail,
                                              .done = tent_delete_done,
                                              .user = &done[i],
                                              .tenant = owner,
                                              .table_id = "devices"};
        ten_table_delete(tent.registry, &ops[i]);
    }
    tent_wait_flag(&tent, &done[1]);
    tent_wait_flag(&tent, &done[0]);
    ck_assert_int_eq(ops[0].result, ERR_OK);
    ck_assert_uint_eq(ops[0].removed.rows, 50);
    /* the second found it under way, or already gone */
    ck_assert(ops[1].result == ERR_CONFLICT || ops[1].result == ERR_NOT_FOUND);
}
END_TEST

START_TEST(delete_that_nobody_waits_for)
{
    tent_table(&tent, owner, "devices");
    tent_write(&tent, owner, "devices", "r1", "one");
    struct ten_table_delete_op *op = base_new(sizeof *op);
    op->tenant = owner;
    (void)snprintf(op->table_id, sizeof op->table_id, "devices");
    ten_table_delete(tent.registry, op);
    await_rows(0);
    ck_assert_uint_eq(tent_recount(&tent, owner).rows, 0);
}
END_TEST

START_TEST(late_writer_is_refused_and_leaves_nothing)
{
    tent_table(&tent, owner, "devices");
    tent_write(&tent, owner, "devices", "r1", "one");
    struct sto_table_scope held;
    ck_assert_int_eq(ten_scope_table(owner, SLICE_LIT("devices"), &held, &tent.eb), ERR_OK);
    ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", NULL), ERR_OK);
    ck_assert_int_eq(tent_write_scope(&tent, &held, "r2", SLICE_LIT("late")), ERR_NOT_FOUND);
    tent_table(&tent, owner, "devices");
    ck_assert_int_eq(tent_write_scope(&tent, &held, "r2", SLICE_LIT("late")), ERR_NOT_FOUND);
    sto_table_scope_release(&held);
    ck_assert_str_eq(tent_keys(&tent, owner, "devices"), "");
    ck_assert_uint_eq(tent_recount(&tent, owner).rows, 0);
}
END_TEST

/* --- writers that do not stop while the table goes ---------------------------------------------
 */

static atomic_bool stop_writing;
static _Atomic uint64_t written[2]; /* or refused, by each writer */
static struct sto_table_scope shared_scope;

static void *write_on(void *arg)
{
    struct tent mine = {.engine = tent.engine, .epoch = tent.epoch};
    mine.slot = base_epoch_join(tent.epoch);
    enum err rc = base_mailbox_init(&mine.mail);
    INVARIANT(rc == ERR_OK);
    for (int i = 0; !atomic_load(&stop_writing); i++) {
        char row[32];
        (void)snprintf(row, sizeof row, "%p-%d", (void *)&mine, i);
        rc = tent_write_scope(&mine, &shared_scope, row, SLICE_LIT("v"));
        INVARIANT(rc == ERR_OK || rc == ERR_NOT_FOUND);
        atomic_fetch_add((_Atomic uint64_t *)arg, 1);
    }
    base_mailbox_fini(&mine.mail);
    base_epoch_leave(tent.epoch, mine.slot);
    return NULL;
}

static bool writes_reach(void *wanted)
{
    return atomic_load(&written[0]) >= ((const uint64_t *)wanted)[0] &&
           atomic_load(&written[1]) >= ((const uint64_t *)wanted)[1];
}

START_TEST(writers_at_full_speed_leave_no_row_behind)
{
    pthread_t writers[2];
    tent_table(&tent, owner, "devices");
    ck_assert_int_eq(ten_scope_table(owner, SLICE_LIT("devices"), &shared_scope, &tent.eb), ERR_OK);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(base_thread_start(&writers[i], "writer", write_on, &written[i]), ERR_OK);
    process_await(rows_reach, &(uint64_t){20}, "rows of the writers");
    enum err rc = tent_delete_table(&tent, owner, "devices", NULL);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    tent_table(&tent, owner, "devices");
    uint64_t later[2] = {atomic_load(&written[0]) + 20, atomic_load(&written[1]) + 20};
    process_await(writes_reach, later, "writes after the table was made again");
    atomic_store(&stop_writing, true);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(writers[i], NULL), 0);
    sto_table_scope_release(&shared_scope);
    ck_assert_str_eq(tent_keys(&tent, owner, "devices"), "");
    ck_assert_uint_eq(tent_recount(&tent, owner).rows, 0);
}
END_TEST

/* --- restart in between ----------------------------------------------------------------------- */

/* What a crash leaves right after the table was marked: the mark, and all rows. */
static void mark_as_deleting(const char *table)
{
    struct sto_schema *deleting = sto_schema_make_deleting(schema_of(table));
    struct buf body;
    base_buf_init(&body, 65536);
    ck_assert_int_eq(sto_schema_encode(deleting, &body), ERR_OK);
    struct ten_doc_key key = ten_doc_key_schema(ten_tenant_id(owner), base_slice_text(table));
    struct sto_doc_change change = {
        .key = ten_doc_key_slice(&key), .body = base_buf_slice(&body), .expect = deleting->version};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
    base_buf_fini(&body);
    sto_schema_unref(deleting);
}

static bool is_put_again(void *arg)
{
    static const char *const NAMES[] = {"f"};
    (void)arg;
    enum err rc = put("devices", NAMES, 1, NULL);
    ck_assert(rc == ERR_OK || rc == ERR_CONFLICT);
    return rc == ERR_OK;
}

START_TEST(interrupted_removal_is_finished_at_the_next_start)
{
    tent_table(&tent, owner, "devices");
    tent_table(&tent, owner, "alarms");
    tent_write(&tent, owner, "devices", "r1", "one");
    tent_write(&tent, owner, "alarms", "r1", "stays");
    mark_as_deleting("devices");
    ck_assert_int_eq(tent_suspend(&tent, owner, "even while suspended"), ERR_OK);
    reopen();
    ck_assert_ptr_null(schema_of("devices"));
    await_rows(1);
    ck_assert_int_eq(tent_resume(&tent, owner), ERR_OK);
    ck_assert_uint_eq(tent_recount(&tent, owner).rows, 1);
    ck_assert_str_eq(tent_keys(&tent, owner, "alarms"), "r1,");
    process_await(is_put_again, NULL, "the table's name"); /* its document goes after the rows */
    ck_assert_str_eq(tent_keys(&tent, owner, "devices"), "");
    reopen();
    ck_assert_uint_eq(ten_tenant_tables(owner)->count, 2);
}
END_TEST

START_TEST(closing_at_once_after_delete_loses_nothing)
{
    for (int round = 0; round < 5; round++) {
        process_await(is_put_again, NULL, "the table's name"); /* a removal may still go on */
        for (int i = 0; i < 20; i++) {
            char row[32];
            (void)snprintf(row, sizeof row, "row%d", i);
            tent_write(&tent, owner, "devices", row, "value");
        }
        struct ten_table_delete_op *op = base_new(sizeof *op);
        op->tenant = owner;
        (void)snprintf(op->table_id, sizeof op->table_id, "devices");
        ten_table_delete(tent.registry, op);
        reopen();
        if (schema_of("devices") != NULL) /* closed before the deletion began */
            ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", NULL), ERR_OK);
        await_rows(0);
        ck_assert_uint_eq(tent_recount(&tent, owner).rows, 0);
        reopen();
    }
}
END_TEST

START_TEST(failed_removal_stays_hidden_and_goes_on_at_the_next_start)
{
    static const char *const NAMES[] = {"f"};
    tent_table(&tent, owner, "devices");
    tent_write(&tent, owner, "devices", "r1", "one");
    sto_rocksdb_test_fail_commit(tent.engine, 2); /* 1: the mark; 2: the drop's commit */
    enum err rc = tent_delete_table(&tent, owner, "devices", NULL);
    ck_assert_msg(rc == ERR_OUTCOME_UNKNOWN, "%s", tent.eb.text);
    ck_assert_ptr_null(schema_of("devices"));
    ck_assert_int_eq(put("devices", NAMES, 1, NULL), ERR_CONFLICT);
    ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", NULL), ERR_UNAVAILABLE);
    reopen();
    ck_assert_ptr_null(schema_of("devices"));
    await_rows(0);
    ck_assert_uint_eq(tent_recount(&tent, owner).rows, 0);
}
END_TEST

/* The tombstone and its note are still there, or on their way out; the purge finds and leaves
 * nothing. */
START_TEST(a_tenant_leaves_behind_a_table_that_went_as_a_range)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    tent_table(&tent, owner, "devices");
    tent_table(&tent, owner, "device");
    for (int i = 0; i < 50; i++) {
        char row[32];
        (void)snprintf(row, sizeof row, "row%d", i);
        tent_write(&tent, owner, "devices", row, "value");
        tent_write(&tent, owner, "device", row, "value");
    }
    ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", NULL), ERR_OK);
    ck_assert_uint_eq(tent_recount(&tent, owner).rows, 50);
    ck_assert_int_eq(tent_offboard(&tent, owner, id), ERR_OK);
    tent_await_job(&tent, id, &job);
    ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
    ck_assert_uint_eq(job.audit_after.physical_keys, 0);
    ck_assert_uint_eq(job.audit_after.counters, 0);
}
END_TEST

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

static void add_case(Suite *s, const char *name, void (*set_up)(void), const TTest *const *tests,
                     size_t count)
{
    TCase *c = tcase_create(name);
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, set_up, teardown);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(c, tests[i]);
    suite_add_tcase(s, c);
}

Suite *suite_tenancy_tables(void);
Suite *suite_tenancy_tables(void)
{
    Suite *s = suite_create("tenancy_tables");
    const TTest *const put_tests[] = {
        put_makes_then_changes_then_changes_nothing,
        gc_rules_change_one_by_one_and_last,
        leaving_a_family_out_is_a_conflict_that_names_it,
        names_and_family_counts_are_checked,
        tables_are_limited_and_sorted,
        suspended_and_leaving_tenants_make_no_tables,
    };
    const TTest *const delete_tests[] = {
        delete_removes_rows_and_counters_and_nothing_else,
        recreated_table_is_empty_with_fresh_numbers,
        table_under_removal_is_a_conflict_until_its_rows_are_gone,
        delete_that_nobody_waits_for,
        late_writer_is_refused_and_leaves_nothing,
        writers_at_full_speed_leave_no_row_behind,
    };
    const TTest *const restart_tests[] = {
        interrupted_removal_is_finished_at_the_next_start,
        closing_at_once_after_delete_loses_nothing,
        failed_removal_stays_hidden_and_goes_on_at_the_next_start,
    };
    const TTest *const range_tests[] = {
        a_tenant_leaves_behind_a_table_that_went_as_a_range,
    };
    add_case(s, "put", setup, put_tests, COUNT_OF(put_tests));
    add_case(s, "delete", setup, delete_tests, COUNT_OF(delete_tests));
    add_case(s, "restart", setup, restart_tests, COUNT_OF(restart_tests));
    add_case(s, "delete_range", setup_ranges, delete_tests, COUNT_OF(delete_tests));
    add_case(s, "restart_range", setup_ranges, restart_tests, COUNT_OF(restart_tests));
    add_case(s, "range", setup_ranges, range_tests, COUNT_OF(range_tests));
    return s;
}
