/*
 * tests/tenancy/test_families.c - families change whole or not at all; drops are exactly counted.
 * Over 500 lines because creating, updating and dropping are tried together, each over a restart.
 */
#include "tests/tenancy/tent_rows.h"

#include "tenancy/internal.h"

#include "base/banned.h"

static struct tent tent;
static struct ten_tenant *owner;

static void setup(void)
{
    tent_make(&tent);
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

static const struct sto_schema *schema(void)
{
    const struct ten_tables *tables = ten_tenant_tables(owner);
    return tables->count == 0 ? NULL : tables->schemas[0];
}

static const struct sto_gc_node ONE = {.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};

static struct sto_family_spec family(const char *name)
{
    return (struct sto_family_spec){.name = base_slice_text(name)};
}

/* A table "devices" of the plain families a, b and the sum s. */
static void make_table(void)
{
    struct sto_family_spec families[] = {family("a"), family("b"), family("s")};
    families[2].aggregate = STO_AGGREGATE_SUM;
    ck_assert_int_eq(tent_try_table(&tent, owner, "devices", families, 3, NULL), ERR_OK);
}

static enum err change(const struct ten_families_change *c)
{
    return tent_change_families(&tent, owner, "devices", c);
}

static enum err drop_one(const char *name)
{
    struct slice drop = base_slice_text(name);
    return change(&(struct ten_families_change){.drop = &drop, .drop_count = 1});
}

static enum err create_one(const char *name)
{
    struct sto_family_spec create = family(name);
    return change(&(struct ten_families_change){.create = &create, .create_count = 1});
}

/* Until the schema lists no dropped family any more. */
static bool is_swept(void *arg)
{
    (void)arg;
    base_epoch_quiescent(tent.epoch, tent.slot);
    return schema() == NULL || schema()->dropped_count == 0;
}

static void await_sweep(void)
{
    process_await(is_swept, NULL, "the sweep of dropped families");
}

static void expect_families(const char *names)
{
    char text[256] = "";
    size_t n = 0;
    for (size_t i = 0; i < schema()->family_count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s ", schema()->families[i].name);
    ck_assert_str_eq(text, names);
}

/* --- changing --------------------------------------------------------------------------------- */

START_TEST(create_update_and_drop_happen_at_once)
{
    make_table();
    struct sto_family_spec create[] = {family("n"), family("m")};
    struct sto_family_spec update[] = {family("b"), family("n"), family("s")};
    struct slice drop[] = {SLICE_LIT("a"), SLICE_LIT("m")};
    update[2].keeps_type = true;
    update[0].gc_nodes = update[1].gc_nodes = update[2].gc_nodes = &ONE;
    update[0].gc_node_count = update[1].gc_node_count = update[2].gc_node_count = 1;
    ck_assert_int_eq(change(&(struct ten_families_change){.create = create,
                                                          .create_count = 2,
                                                          .update = update,
                                                          .update_count = 3,
                                                          .drop = drop,
                                                          .drop_count = 2}),
                     ERR_OK);
    expect_families("b s n ");
    ck_assert_uint_eq(schema()->revision, 2);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < 3; i++)
            ck_assert_uint_eq(schema()->families[i].gc.node_count, 1);
        ck_assert_int_eq(schema()->families[1].aggregate, STO_AGGREGATE_SUM);
        await_sweep();
        reopen();
    }
    ck_assert_int_eq(change(&(struct ten_families_change){.update = update + 1, .update_count = 1}),
                     ERR_OK);
    ck_assert_uint_eq(schema()->revision, 2); /* nothing changed */
}
END_TEST

START_TEST(an_update_keeps_what_it_is_told_to_keep)
{
    struct sto_family_spec update = {.name = SLICE_LIT("b"),
                                     .value_type = STO_VALUE_INT64,
                                     .gc_nodes = &ONE,
                                     .gc_node_count = 1};
    const struct ten_families_change c = {.update = &update, .update_count = 1};
    make_table();
    ck_assert_int_eq(change(&c), ERR_OK);
    update = (struct sto_family_spec){
        .name = SLICE_LIT("b"), .value_type = STO_VALUE_STRING, .keeps_gc = true};
    ck_assert_int_eq(change(&c), ERR_OK);
    ck_assert_int_eq(schema()->families[1].value_type, STO_VALUE_STRING);
    ck_assert_uint_eq(schema()->families[1].gc.node_count, 1);
    update.keeps_gc = false;
    update.keeps_type = true;
    update.value_type = STO_VALUE_UNTYPED;
    ck_assert_int_eq(change(&c), ERR_OK);
    ck_assert_uint_eq(schema()->revision, 4);
    reopen();
    ck_assert_int_eq(schema()->families[1].value_type, STO_VALUE_STRING);
    ck_assert_uint_eq(schema()->families[1].gc.node_count, 0);
}
END_TEST

START_TEST(what_cannot_be_changes_nothing_and_names_the_family)
{
    struct sto_family_spec fresh = family("n"), there = family("b"), odd = family("x:y");
    struct sto_family_spec typed = {.name = SLICE_LIT("s"), .aggregate = STO_AGGREGATE_MAX};
    struct sto_family_spec none = {
        .name = SLICE_LIT("b"), .gc_nodes = &(struct sto_gc_node){0}, .gc_node_count = 1};
    struct slice absent = SLICE_LIT("absent"), b = SLICE_LIT("b");
    struct slice twice[] = {SLICE_LIT("b"), SLICE_LIT("b")};
    const struct {
        struct ten_families_change change;
        enum err wanted;
        const char *says;
    } cases[] = {
        {{.create = &there, .create_count = 1}, ERR_EXISTS, "create: the table has a family \"b\""},
        {{.create = &odd, .create_count = 1}, ERR_INVALID, "character"},
        {{.update = &fresh, .update_count = 1}, ERR_NOT_FOUND, "update: the table has no family"},
        {{.update = &typed, .update_count = 1}, ERR_CONFLICT, "\"s\" has type sum"},
        {{.update = &none, .update_count = 1}, ERR_INVALID, "family \"b\""},
        {{.drop = &absent, .drop_count = 1}, ERR_NOT_FOUND, "no family \"absent\""},
        {{.drop = twice, .drop_count = 2}, ERR_NOT_FOUND, "no family \"b\""},
        {{.create = &fresh, .create_count = 1, .drop = &absent, .drop_count = 1},
         ERR_NOT_FOUND,
         "absent"},
        {{.create = &there, .create_count = 1, .drop = &b, .drop_count = 1}, ERR_EXISTS, "\"b\""},
    };
    make_table();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(change(&cases[i].change), cases[i].wanted);
        ck_assert_msg(strstr(tent.eb.text, cases[i].says) != NULL, "%zu: %s", i, tent.eb.text);
        expect_families("a b s ");
        ck_assert_uint_eq(schema()->revision, 1);
    }
    struct ten_families_change elsewhere = {.drop = &b, .drop_count = 1};
    ck_assert_int_eq(tent_change_families(&tent, owner, "nowhere", &elsewhere), ERR_NOT_FOUND);
    ck_assert_int_eq(tent_suspend(&tent, owner, "unpaid"), ERR_OK);
    ck_assert_int_eq(drop_one("b"), ERR_SUSPENDED);
}
END_TEST

START_TEST(families_are_limited_after_the_change)
{
    static char names[LIM_FAMILIES + 1][8];
    struct sto_family_spec families[LIM_FAMILIES + 1];
    for (size_t i = 0; i <= LIM_FAMILIES; i++) {
        (void)snprintf(names[i], sizeof names[i], "f%zu", i);
        families[i] = family(names[i]);
    }
    ck_assert_int_eq(tent_try_table(&tent, owner, "devices", families, LIM_FAMILIES, NULL), ERR_OK);
    ck_assert_int_eq(create_one("more"), ERR_TOO_BIG);
    struct slice drop = SLICE_LIT("f0");
    struct ten_families_change swap = {
        .create = &families[LIM_FAMILIES], .create_count = 1, .drop = &drop, .drop_count = 1};
    ck_assert_int_eq(change(&swap), ERR_OK);
    ck_assert_uint_eq(schema()->family_count, LIM_FAMILIES);
    await_sweep();
}
END_TEST

/* --- expectations and protection -------------------------------------------------------------- */

static enum err put_expecting(struct ten_expect expect, const char *notes)
{
    struct sto_family_spec f[] = {family("a"), family("b")};
    return tent_put_table(&tent, owner, "devices",
                          &(struct ten_table_wanted){.families = f,
                                                     .family_count = 2,
                                                     .has_row_key_notes = true,
                                                     .row_key_notes = base_slice_text(notes),
                                                     .expect = expect});
}

static enum err delete_revision(uint64_t revision)
{
    return tent_delete_table_if(&tent, owner, "devices", (struct ten_expect){.revision = revision},
                                NULL);
}

START_TEST(a_table_changes_only_as_it_was_expected)
{
    ck_assert_int_eq(put_expecting((struct ten_expect){.present = true}, ""), ERR_PRECONDITION);
    ck_assert_int_eq(put_expecting((struct ten_expect){.revision = 1}, ""), ERR_PRECONDITION);
    ck_assert_ptr_null(schema());
    ck_assert_int_eq(put_expecting((struct ten_expect){.absent = true}, "one"), ERR_OK);
    ck_assert_int_eq(put_expecting((struct ten_expect){.absent = true}, "two"), ERR_PRECONDITION);
    ck_assert_int_eq(put_expecting((struct ten_expect){.revision = 2}, "two"), ERR_PRECONDITION);
    ck_assert_int_eq(put_expecting((struct ten_expect){.revision = 1}, "two"), ERR_OK);
    ck_assert_int_eq(put_expecting((struct ten_expect){.revision = 1}, "two"), ERR_PRECONDITION);
    ck_assert_int_eq(put_expecting((struct ten_expect){.present = true}, "three"), ERR_OK);
    ck_assert_uint_eq(schema()->revision, 3);
    struct slice drop = SLICE_LIT("a");
    struct ten_families_change c = {.drop = &drop, .drop_count = 1, .expect = {.revision = 2}};
    ck_assert_int_eq(change(&c), ERR_PRECONDITION);
    c.expect.revision = 3;
    ck_assert_int_eq(change(&c), ERR_OK);
    await_sweep();
    ck_assert_uint_eq(schema()->revision, 4); /* the sweep is no change of the owner's */
    ck_assert_uint_gt(schema()->version, 4);
    reopen();
    ck_assert_uint_eq(schema()->revision, 4);
    ck_assert_int_eq(delete_revision(3), ERR_PRECONDITION);
    ck_assert_int_eq(delete_revision(4), ERR_OK);
    ck_assert_int_eq(delete_revision(4), ERR_NOT_FOUND);
}
END_TEST

static enum err protect(bool on)
{
    struct sto_family_spec f[] = {family("a"), family("b"), family("s")};
    f[2].aggregate = STO_AGGREGATE_SUM;
    return tent_put_table(
        &tent, owner, "devices",
        &(struct ten_table_wanted){
            .families = f, .family_count = 3, .has_protected = true, .protected = on});
}

START_TEST(deletion_protection_holds_until_it_is_taken_off)
{
    make_table();
    ck_assert_int_eq(protect(true), ERR_OK);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(drop_one("a"), ERR_CONFLICT);
        ck_assert_ptr_nonnull(strstr(tent.eb.text, "deletion protection"));
        ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", NULL), ERR_CONFLICT);
        ck_assert_ptr_nonnull(strstr(tent.eb.text, "deletion protection"));
        reopen();
    }
    make_table(); /* says nothing about protection: it stays */
    ck_assert(schema()->protected);
    ck_assert_int_eq(create_one("more"), ERR_OK);
    struct slice drop = SLICE_LIT("more");
    ck_assert_int_eq(change(&(struct ten_families_change){.drop = &drop, .drop_count = 1}),
                     ERR_CONFLICT);
    struct sto_family_spec f[] = {family("a"), family("b"), family("s"), family("more")};
    f[2].aggregate = STO_AGGREGATE_SUM;
    ck_assert_int_eq(tent_put_table(&tent, owner, "devices",
                                    &(struct ten_table_wanted){
                                        .families = f, .family_count = 4, .has_protected = true}),
                     ERR_OK);
    ck_assert_int_eq(drop_one("more"), ERR_OK);
    ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", NULL), ERR_OK);
}
END_TEST

/* --- what was dropped goes -------------------------------------------------------------------- */

/* Rows of n cells in the first family. */
static void fill(int rows, size_t cells)
{
    for (int i = 0; i < rows; i++) {
        char row[32];
        (void)snprintf(row, sizeof row, "row%d", i);
        tent_write_cells(&tent, owner, "devices", row, cells);
    }
}

static enum err write_number(const struct sto_table_scope *scope, const char *row, uint16_t number)
{
    bool done = false;
    struct sto_mutation m = {.kind = STO_SET_CELL,
                             .family = number,
                             .qualifier = SLICE_LIT("q"),
                             .timestamp_us = 1000,
                             .value = SLICE_LIT("v")};
    const struct sto_family *family = sto_schema_family_by_number(scope->schema, number);
    if (family != NULL && family->aggregate != STO_AGGREGATE_NONE) {
        m.kind = STO_ADD_TO_CELL;
        m.value = SLICE_LIT("\0\0\0\0\0\0\0\1");
    }
    struct sto_mutate_op op = {.reply_to = &tent.mail,
                               .done = tent_mutate_done,
                               .user = &done,
                               .scope = *scope,
                               .row_key = base_slice_text(row),
                               .mutations = &m,
                               .mutation_count = 1};
    sto_mutate_row(tent.engine, &op);
    tent_wait_flag(&tent, &done);
    tent.eb = op.detail;
    return op.result;
}

static struct sto_table_scope scope_now(void)
{
    struct sto_table_scope scope;
    ck_assert_int_eq(ten_scope_table(owner, SLICE_LIT("devices"), &scope, &tent.eb), ERR_OK);
    return scope;
}

START_TEST(cells_of_a_dropped_family_go_and_are_counted_off)
{
    make_table();
    fill(3, 9000); /* some commits of the drop */
    struct sto_table_scope scope = scope_now();
    ck_assert_int_eq(write_number(&scope, "row1", 2), ERR_OK);
    sto_table_scope_release(&scope);
    ck_assert_int_eq(drop_one("a"), ERR_OK);
    ck_assert_str_eq(tent_keys(&tent, owner, "devices"), "row1,"); /* at once */
    await_sweep();
    for (int round = 0; round < 2; round++) {
        struct sto_usage left = tent_recount(&tent, owner);
        ck_assert_uint_eq(left.cells, 1);
        ck_assert_uint_eq(left.rows, 1);
        ck_assert_uint_eq(left.bytes, 4 + 1 + 1 + 1 + 8);
        reopen();
    }
}
END_TEST

START_TEST(a_name_used_again_is_another_family)
{
    make_table();
    fill(2, 5000);
    ck_assert_int_eq(drop_one("a"), ERR_OK);
    ck_assert_int_eq(create_one("a"), ERR_OK);
    const struct sto_family *a = sto_schema_family(schema(), SLICE_LIT("a"));
    ck_assert_uint_eq(a->number, 4);
    struct sto_table_scope scope = scope_now();
    ck_assert_int_eq(write_number(&scope, "row0", 4), ERR_OK);
    sto_table_scope_release(&scope);
    await_sweep();
    ck_assert_str_eq(tent_keys(&tent, owner, "devices"), "row0,");
    ck_assert_uint_eq(tent_recount(&tent, owner).cells, 1);
}
END_TEST

START_TEST(late_writers_are_refused_for_that_family_only)
{
    make_table();
    struct sto_table_scope held = scope_now();
    ck_assert_int_eq(write_number(&held, "r", 1), ERR_OK);
    ck_assert_int_eq(drop_one("a"), ERR_OK);
    ck_assert_int_eq(write_number(&held, "r", 1), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "dropped"));
    ck_assert_int_eq(write_number(&held, "r", 2), ERR_OK);
    await_sweep();
    ck_assert_int_eq(write_number(&held, "r", 1), ERR_NOT_FOUND);
    ck_assert_int_eq(write_number(&held, "r", 2), ERR_OK);
    sto_table_scope_release(&held);
    ck_assert_uint_eq(tent_recount(&tent, owner).cells, 1);
}
END_TEST

START_TEST(families_dropped_while_others_go_follow)
{
    make_table();
    fill(3, 9000);
    struct sto_table_scope scope = scope_now();
    ck_assert_int_eq(write_number(&scope, "row2", 2), ERR_OK);
    ck_assert_int_eq(write_number(&scope, "row2", 3), ERR_OK);
    sto_table_scope_release(&scope);
    ck_assert_int_eq(drop_one("a"), ERR_OK);
    ck_assert_int_eq(drop_one("b"), ERR_OK);
    await_sweep();
    ck_assert_uint_eq(tent_recount(&tent, owner).cells, 1);
    expect_families("s ");
}
END_TEST

/* --- whatever happens in between -------------------------------------------------------------- */

START_TEST(closing_at_once_after_a_drop_loses_nothing)
{
    make_table();
    for (int round = 0; round < 4; round++) {
        fill(2, 6000);
        ck_assert_int_eq(drop_one("a"), ERR_OK);
        reopen();
        await_sweep();
        ck_assert_uint_eq(tent_recount(&tent, owner).cells, 0);
        ck_assert_int_eq(create_one("a"), ERR_OK);
        struct slice others[] = {SLICE_LIT("b"), SLICE_LIT("s")}; /* a is the first from now on */
        if (round == 0)
            ck_assert_int_eq(change(&(struct ten_families_change){.drop = others, .drop_count = 2}),
                             ERR_OK);
        await_sweep();
    }
}
END_TEST

/* commit 1: the schema; 2 the first of the drop; 4: the schema again, without the number */
START_TEST(a_failed_drop_goes_on_at_the_next_start)
{
    make_table();
    fill(1, 5000);
    sto_rocksdb_test_fail_commit(tent.engine, 2 + _i);
    ck_assert_int_eq(drop_one("a"), ERR_OK);
    tent_await_failure(&tent);
    ck_assert_uint_eq(schema()->dropped_count, 1);
    reopen();
    ck_assert_ptr_null(sto_schema_family(schema(), SLICE_LIT("a")));
    await_sweep();
    ck_assert_uint_eq(tent_recount(&tent, owner).cells, 0);
}
END_TEST

START_TEST(a_suspended_tenants_dropped_cells_go_all_the_same)
{
    make_table();
    fill(2, 9000);
    ck_assert_int_eq(drop_one("a"), ERR_OK);
    ck_assert_int_eq(tent_suspend(&tent, owner, "unpaid"), ERR_OK);
    reopen();
    await_sweep();
    ck_assert_int_eq(tent_resume(&tent, owner), ERR_OK);
    ck_assert_uint_eq(tent_recount(&tent, owner).cells, 0);
}
END_TEST

static void look_for_removals(struct tent *t, void *ctx)
{
    *(bool *)ctx = t->registry->removals_running == 0;
}

static bool no_removal_runs(void *is_quiet)
{
    tent_control(&tent, look_for_removals, is_quiet);
    return *(bool *)is_quiet;
}

/* The new table has the same numbers: a drop of the old one must not reach into it. */
START_TEST(a_table_deleted_and_made_again_meanwhile_keeps_its_cells)
{
    for (int round = 0; round < 5; round++) {
        make_table();
        fill(4, 9000);
        ck_assert_int_eq(drop_one("a"), ERR_OK);
        tent_pause_ms(round);
        struct sto_usage removed;
        ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", &removed), ERR_OK);
        make_table();
        fill(1, 100);
        process_await(no_removal_runs, &(bool){false}, "the end of every drop");
        ck_assert_uint_eq(tent_recount(&tent, owner).cells, 100);
        ck_assert_int_eq(tent_delete_table(&tent, owner, "devices", &removed), ERR_OK);
        ck_assert_uint_eq(removed.cells, 100);
    }
}
END_TEST

START_TEST(offboarding_waits_for_the_drop_and_leaves_nothing)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    make_table();
    fill(4, 9000);
    ck_assert_int_eq(drop_one("a"), ERR_OK);
    ck_assert_int_eq(tent_offboard(&tent, owner, id), ERR_OK);
    tent_await_job(&tent, id, &job);
    ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
    ck_assert_uint_eq(job.audit_after.physical_keys + job.audit_after.counters, 0);
}
END_TEST

Suite *suite_tenancy_families(void);
Suite *suite_tenancy_families(void)
{
    Suite *s = suite_create("tenancy_families");
    TCase *c = tcase_create("families");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, create_update_and_drop_happen_at_once);
    tcase_add_test(c, an_update_keeps_what_it_is_told_to_keep);
    tcase_add_test(c, what_cannot_be_changes_nothing_and_names_the_family);
    tcase_add_test(c, families_are_limited_after_the_change);
    tcase_add_test(c, a_table_changes_only_as_it_was_expected);
    tcase_add_test(c, deletion_protection_holds_until_it_is_taken_off);
    tcase_add_test(c, cells_of_a_dropped_family_go_and_are_counted_off);
    tcase_add_test(c, a_name_used_again_is_another_family);
    tcase_add_test(c, late_writers_are_refused_for_that_family_only);
    tcase_add_test(c, families_dropped_while_others_go_follow);
    tcase_add_test(c, closing_at_once_after_a_drop_loses_nothing);
    tcase_add_loop_test(c, a_failed_drop_goes_on_at_the_next_start, 0, 3);
    tcase_add_test(c, a_suspended_tenants_dropped_cells_go_all_the_same);
    tcase_add_test(c, a_table_deleted_and_made_again_meanwhile_keeps_its_cells);
    tcase_add_test(c, offboarding_waits_for_the_drop_and_leaves_nothing);
    suite_add_tcase(s, c);
    return s;
}
