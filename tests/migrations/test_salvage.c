/*
 * tests/migrations/test_salvage.c - a damaged data directory becomes a sound one, and its lost rows
 * come from the newest backup that has them.
 *
 * Over 500 lines because every kind of backup and of table is tried with the same rows.
 */
#include "tests/migrations/vault.h"

#include <jansson.h>

#include "migrations/salvage.h"
#include "storage/rocksdb/manifest.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/table_file.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_migrations_salvage(void);

enum { ROWS = 400, HIT = 200, VALUE = 900 };

static struct mig_salvaged salvaged;
static char beside[PROCESS_PATH];
static int keeper_fd;
static struct mig_salvage_options options;

/* --- rows ------------------------------------------------------------------------------------- */

/* Bytes that do not compress, so that a row is found in a file. */
static void value_make(char out[VALUE + 1], const char *tenant, int row, int version)
{
    uint32_t dice = (uint32_t)(row * 7919 + version * 104729) + (uint32_t)tenant[0] * 31u;
    int n = snprintf(out, VALUE, "%s/%05d/%d!", tenant, row, version);
    for (int i = n; i < VALUE; i++) {
        dice = dice * 1664525u + 1013904223u;
        out[i] = (char)('"' + (dice >> 16) % 90);
    }
    out[VALUE] = '\0';
}

static void rows_write(const char *tenant, int from, int to, int version)
{
    struct ten_tenant *t = tent_find(&tent, tenant);
    for (int i = from; i < to; i++) {
        char row[16], value[VALUE + 1];
        (void)snprintf(row, sizeof row, "row%05d", i);
        value_make(value, tenant, i, version);
        tent_write(&tent, t, "devices", row, value);
    }
}

static void tenant_fill(const char *tenant)
{
    struct ten_tenant *t = tent_create(&tent, tenant);
    tent_table(&tent, t, "devices");
    rows_write(tenant, 0, ROWS, 1);
}

/* All rows are in files of the last level, each tenant's in one of its own. */
static void rows_settle(void)
{
    struct rdb_engine *e = sto_rdb_engine(tent.engine);
    ck_assert_int_eq(sto_rdb_flush(e), ERR_OK);
    sto_rdb_range_compact(e, RDB_CF_CELLS, SLICE_LIT("a"), SLICE_LIT("z"));
}

/* ERR_OK: it is there, and its newest value is of that version. */
static enum err row_read(const char *tenant, int row, int version)
{
    char key[16], value[VALUE + 1];
    struct tent_sink sink;
    bool done = false;
    struct sto_read_op op = {
        .reply_to = &tent.mail, .done = tent_read_done, .user = &done, .sink = &sink.sink};
    (void)snprintf(key, sizeof key, "row%05d", row);
    value_make(value, tenant, row, version);
    op.spec.row_key = base_slice_text(key);
    tent_sink_init(&sink);
    ck_assert_int_eq(
        ten_scope_table(tent_find(&tent, tenant), SLICE_LIT("devices"), &op.scope, &eb), ERR_OK);
    do {
        done = false;
        if (!sto_read_rows(tent.engine, &op, false))
            tent_wait_flag(&tent, &done);
    } while (op.state == STO_READ_MORE);
    sto_read_finish(tent.engine, &op);
    sto_table_scope_release(&op.scope);
    enum err rc = op.state == STO_READ_FAILED ? op.result : ERR_OK;
    if (rc == ERR_OK && (sink.values.len < VALUE || memcmp(sink.values.ptr, value, VALUE) != 0))
        rc = ERR_NOT_FOUND;
    tent_sink_fini(&sink);
    return rc;
}

static void rows_are(const char *tenant, int from, int to, int version)
{
    for (int i = from; i < to; i++)
        ck_assert_msg(row_read(tenant, i, version) == ERR_OK, "%s row %d", tenant, i);
}

/* --- damage ----------------------------------------------------------------------------------- */

/* A byte of the row's value in every table file under dir. */
static void row_damage_in(const char *dir, const char *tenant, int row, int version)
{
    char value[VALUE + 1];
    int files = 0;
    value_make(value, tenant, row, version);
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[700];
        struct buf b = {0};
        (void)snprintf(path, sizeof path, "%.400s/%s", dir, e->d_name);
        const uint8_t *at = NULL;
        if (e->d_name[0] != '.' && base_file_read(path, 256 * MIB, &b, NULL) == ERR_OK && b.len > 0)
            at = memmem(b.ptr, b.len, value, VALUE);
        if (at != NULL) {
            int fd = open(path, O_WRONLY);
            ck_assert_int_eq(pwrite(fd, " ", 1, at - b.ptr + VALUE / 2), 1); /* no value has one */
            ck_assert_int_eq(close(fd), 0);
            files++;
        }
        base_buf_fini(&b);
    }
    closedir(d);
    ck_assert_int_gt(files, 0);
}

static void row_damage(const char *tenant, int row, int version)
{
    char db[400];
    (void)snprintf(db, sizeof db, "%s/db", vault_home);
    row_damage_in(db, tenant, row, version);
}

/* --- salvaging -------------------------------------------------------------------------------- */

static enum err salvage_try(bool with_backups)
{
    memset(&eb, 0, sizeof eb);
    mig_salvaged_fini(&salvaged);
    options = (struct mig_salvage_options){.data = vault_home, .to = restored_dir};
    if (with_backups) {
        options.backups = vault_dir;
        options.owner = vault_owner;
    }
    return mig_salvage(&options, &salvaged, &eb);
}

/* And opens the copy as the tent. */
static void salvage(bool with_backups)
{
    enum err rc = salvage_try(with_backups);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    vault_move_in();
    tent_open(&tent);
}

/* As bigtentd check does. */
static void counters_are_right(const char *tenant)
{
    bool done = false;
    struct sto_recount_op op = {.reply_to = &tent.mail,
                                .done = tent_recount_done,
                                .user = &done,
                                .skip_lost = true,
                                .scope = ten_scope_tenant(tent_find(&tent, tenant))};
    sto_recount(tent.engine, &op);
    tent_wait_flag(&tent, &done);
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_eq(op.counted.bytes, op.recorded.bytes);
    ck_assert_uint_eq(op.counted.rows, op.recorded.rows);
    ck_assert_uint_eq(op.counted.cells, op.recorded.cells);
}

static const char *bound(size_t at, bool is_end)
{
    static char text[200];
    struct buf b;
    base_buf_init(&b, sizeof text - 1);
    text[0] = '\0';
    if (mig_missing_bound(&salvaged.missing[at], is_end, &b))
        (void)snprintf(text, sizeof text, "%.*s", (int)b.len, (const char *)b.ptr);
    base_buf_fini(&b);
    return text;
}

static void setup(void)
{
    vault_make();
    keeper_fd = process_temp_dir(beside); /* the report stands beside the copy */
    (void)snprintf(restored_dir, sizeof restored_dir, "%.255s/salvaged", beside);
    vault_put_file(tent.dir, "FORMAT", "bigtent data 2\n");
    vault_open();
    tenant_fill("altostrat");
    tenant_fill("cirrus");
}

static void teardown(void)
{
    mig_salvaged_fini(&salvaged);
    if (backups != NULL)
        mig_backups_close(backups);
    if (tent.registry != NULL)
        tent_close(&tent);
    memcpy(tent.dir, vault_home, sizeof tent.dir);
    vault_drop_restored();
    process_temp_dir_remove(beside, keeper_fd);
    tent_remove(&tent);
}

static uint64_t tent_stored(struct ten_tenant *t)
{
    return sto_counters_read(&t->account.total).cells;
}

static void damage_after_close(const char *tenant, int row, int version)
{
    rows_settle();
    vault_close();
    row_damage(tenant, row, version);
}

/* --- tests ------------------------------------------------------------------------------------ */

static json_t *report_read(void)
{
    json_error_t error;
    json_t *report = json_load_file(salvaged.report, 0, &error);
    ck_assert_msg(report != NULL, "%s", error.text);
    return report;
}

START_TEST(what_is_missing_is_reported_and_the_rest_is_there)
{
    damage_after_close("altostrat", HIT, 1);
    salvage(false);
    ck_assert_uint_eq(salvaged.count, 1);
    ck_assert_uint_eq(salvaged.restored, 0);
    const struct mig_missing *m = &salvaged.missing[0];
    ck_assert_str_eq(m->tenant, "altostrat");
    ck_assert_str_eq(m->table, "devices");
    ck_assert(m->is_rows);
    ck_assert_int_eq(m->kind, STO_SALVAGE_BLOCK);
    ck_assert_uint_gt(m->bytes, VALUE);
    ck_assert_str_le(bound(0, false), "row00200");
    ck_assert_str_gt(bound(0, false), "row00180");
    ck_assert_str_gt(bound(0, true), "row00200");
    ck_assert_str_lt(bound(0, true), "row00220");
    json_t *report = report_read();
    json_t *one = json_array_get(json_object_get(report, "missing"), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(report, "missing")), 1);
    ck_assert_str_eq(json_string_value(json_object_get(one, "tenant")), "altostrat");
    ck_assert_str_eq(json_string_value(json_object_get(one, "table")), "devices");
    ck_assert_str_eq(json_string_value(json_object_get(one, "lost_with")), "block");
    ck_assert_str_eq(json_string_value(json_object_get(one, "begin")), bound(0, false));
    ck_assert_str_eq(json_string_value(json_object_get(one, "end")), bound(0, true));
    ck_assert(json_is_null(json_object_get(one, "restored")));
    json_decref(report);
    ck_assert_int_eq(row_read("altostrat", HIT, 1), ERR_CORRUPT);
    rows_are("altostrat", 0, HIT - 20, 1);
    rows_are("altostrat", HIT + 20, ROWS, 1);
    rows_are("cirrus", 0, ROWS, 1);
    counters_are_right("altostrat");
    counters_are_right("cirrus");
}
END_TEST

/* Of everything, of a tenant, of a table. */
static void backup_make(int kind, char out_id[MIG_BACKUP_ID + 1])
{
    if (kind == 0)
        vault_backup(out_id);
    else
        vault_scoped("altostrat", kind == 1 ? "" : "devices", "before", out_id);
}

START_TEST(lost_rows_come_from_a_backup_and_others_stay_newer)
{
    char made[MIG_BACKUP_ID + 1];
    backup_make(_i, made);
    rows_write("altostrat", 0, ROWS, 2);
    rows_write("altostrat", ROWS, ROWS + 10, 2);
    damage_after_close("altostrat", HIT, 2);
    salvage(true);
    ck_assert_uint_eq(salvaged.count, 1);
    ck_assert_uint_eq(salvaged.restored, 1);
    const struct mig_missing *m = &salvaged.missing[0];
    ck_assert_str_eq(m->backup, made);
    ck_assert_int_gt(m->backup_us, 0);
    ck_assert_uint_ge(m->rows, 1);
    uint64_t older = 0;
    for (int i = 0; i < ROWS; i++) {
        enum err rc = row_read("altostrat", i, 2);
        if (rc == ERR_OK)
            continue;
        ck_assert_int_eq(row_read("altostrat", i, 1), ERR_OK);
        ck_assert(abs(i - HIT) < 20);
        older++;
    }
    ck_assert_uint_eq(older, m->rows);
    ck_assert_int_eq(row_read("altostrat", HIT, 1), ERR_OK);
    rows_are("altostrat", ROWS, ROWS + 10, 2);
    rows_are("cirrus", 0, ROWS, 1);
    (void)tent_recount(&tent, tent_find(&tent, "altostrat")); /* nothing is lost any more */
    (void)tent_recount(&tent, tent_find(&tent, "cirrus"));
    tent_reopen(&tent);
    ck_assert_int_eq(row_read("altostrat", HIT, 1), ERR_OK);
    struct sto_damage damage;
    sto_damage_get(tent.engine, &damage);
    ck_assert_uint_eq(damage.lost_ranges, 0);
}
END_TEST

/* Rows that were written after the backup are in the range: the backup has none in their place. */
START_TEST(a_range_is_as_the_backup_has_it)
{
    char made[MIG_BACKUP_ID + 1];
    tent_table(&tent, tent_find(&tent, "cirrus"), "empty");
    vault_backup(made);
    struct ten_tenant *t = tent_find(&tent, "cirrus");
    for (int i = 0; i < 3; i++) {
        char row[16], value[VALUE + 1];
        (void)snprintf(row, sizeof row, "new%d", i);
        value_make(value, "cirrus", i, 3);
        tent_write(&tent, t, "empty", row, value);
    }
    damage_after_close("cirrus", 1, 3);
    salvage(true);
    for (size_t i = 0; i < salvaged.count; i++)
        ck_assert_str_eq(salvaged.missing[i].backup, made);
    ck_assert_str_eq(tent_keys(&tent, tent_find(&tent, "cirrus"), "empty"), "");
    (void)tent_recount(&tent, tent_find(&tent, "cirrus"));
}
END_TEST

START_TEST(an_older_backup_does_when_a_newer_one_is_damaged)
{
    char older[MIG_BACKUP_ID + 1], newer[MIG_BACKUP_ID + 1], files[400];
    (void)snprintf(files, sizeof files, "%s/files", vault_dir);
    vault_backup(older);
    rows_write("altostrat", 0, ROWS, 2);
    vault_backup(newer);
    row_damage_in(files, "altostrat", HIT, 2);
    rows_write("altostrat", 0, ROWS, 3);
    damage_after_close("altostrat", HIT, 3);
    salvage(true);
    ck_assert_uint_eq(salvaged.restored, 1);
    ck_assert_str_eq(salvaged.missing[0].backup, older);
    ck_assert_int_eq(row_read("altostrat", HIT, 1), ERR_OK);
    rows_are("altostrat", 0, HIT - 20, 3);
    (void)tent_recount(&tent, tent_find(&tent, "altostrat"));
}
END_TEST

/* A row that is stored twice, in two files, both damaged: two ranges that overlap. */
START_TEST(ranges_that_overlap_are_restored_together)
{
    char older[MIG_BACKUP_ID + 1], newer[MIG_BACKUP_ID + 1];
    vault_backup(older);
    rows_settle();
    for (int i = HIT; i < HIT + 3; i++)
        rows_write("altostrat", i, i + 1, 2);
    vault_backup(newer);
    vault_close();
    row_damage("altostrat", HIT, 1);
    row_damage("altostrat", HIT + 1, 2);
    salvage(true);
    ck_assert_uint_eq(salvaged.count, 2);
    ck_assert_uint_eq(salvaged.restored, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(salvaged.missing[i].backup, newer);
        ck_assert_uint_eq(salvaged.missing[i].rows, salvaged.missing[0].rows);
    }
    rows_are("altostrat", 0, HIT, 1);
    rows_are("altostrat", HIT, HIT + 3, 2);
    rows_are("altostrat", HIT + 3, ROWS, 1);
    (void)tent_recount(&tent, tent_find(&tent, "altostrat"));
}
END_TEST

/* Without one that has them, the rows stay an error. */
START_TEST(a_table_that_was_made_again_is_not_filled_from_the_one_before)
{
    char made[MIG_BACKUP_ID + 1];
    const struct sto_family_spec family = {.name = SLICE_LIT("other")};
    const struct ten_table_wanted wanted = {.families = &family, .family_count = 1};
    vault_backup(made);
    ck_assert_int_eq(tent_delete_table(&tent, tent_find(&tent, "altostrat"), "devices", NULL),
                     ERR_OK);
    ck_assert_int_eq(tent_put_table(&tent, tent_find(&tent, "altostrat"), "devices", &wanted),
                     ERR_OK);
    rows_write("altostrat", 0, ROWS, 2);
    damage_after_close("altostrat", HIT, 2);
    salvage(true);
    ck_assert_uint_eq(salvaged.restored, 0);
    ck_assert_ptr_nonnull(strstr(salvaged.missing[0].why.text, "made again"));
    ck_assert_int_eq(row_read("altostrat", HIT, 2), ERR_CORRUPT);
    rows_are("altostrat", 0, HIT - 20, 2);
    counters_are_right("altostrat");
}
END_TEST

static bool devices_are_empty(void *t)
{
    return strcmp(tent_keys(&tent, t, "devices"), "") == 0 && tent_stored(t) == 0;
}

START_TEST(cells_of_a_dropped_family_do_not_return)
{
    char made[MIG_BACKUP_ID + 1];
    struct sto_table_scope scope;
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(ten_scope_table(t, SLICE_LIT("devices"), &scope, &eb), ERR_OK);
    const struct sto_family_spec create = {.name = SLICE_LIT("newer")};
    struct slice drop = base_slice_text(scope.schema->families[0].name);
    const struct ten_families_change change = {
        .create = &create, .create_count = 1, .drop = &drop, .drop_count = 1};
    vault_backup(made);
    ck_assert_int_eq(tent_change_families(&tent, t, "devices", &change), ERR_OK);
    sto_table_scope_release(&scope);
    process_await(devices_are_empty, t, "the end of the family's cells");
    rows_write("altostrat", 0, ROWS, 2);
    damage_after_close("altostrat", HIT, 2);
    salvage(true);
    ck_assert_uint_eq(salvaged.restored, 1);
    ck_assert_uint_eq(salvaged.missing[0].rows, 0);
    ck_assert_int_eq(row_read("altostrat", HIT, 2), ERR_NOT_FOUND);
    rows_are("altostrat", 0, HIT - 20, 2);
    counters_are_right("altostrat");
}
END_TEST

START_TEST(a_purged_tenant_stays_purged)
{
    char made[MIG_BACKUP_ID + 1], job_id[TEN_JOB_ID + 1];
    struct ten_job job;
    vault_backup(made);
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "altostrat"), job_id), ERR_OK);
    tent_await_job(&tent, job_id, &job);
    ck_assert_int_eq(job.state, TEN_JOB_DONE);
    damage_after_close("cirrus", HIT, 1);
    salvage(true);
    ck_assert_uint_eq(salvaged.restored, 1);
    ck_assert_int_eq(atomic_load(&tent_find(&tent, "altostrat")->state), TEN_PURGED);
    struct rdb_engine *e = sto_rdb_engine(tent.engine);
    rocksdb_readoptions_t *o =
        sto_rdb_scan_options(SLICE_LIT("altostrat#"), SLICE_LIT("altostrat$"));
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, o, e->db.cells);
    rocksdb_iter_seek_to_first(it);
    ck_assert(!rocksdb_iter_valid(it));
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(o);
    rows_are("cirrus", 0, ROWS, 1);
}
END_TEST

static void refuse(enum err expected, const char *says)
{
    struct mig_datadir d;
    enum err rc = mig_salvage(&options, &salvaged, &eb);
    ck_assert_msg(rc == expected && strstr(eb.text, says) != NULL, "%d: %s", (int)rc, eb.text);
    if (strcmp(options.to, restored_dir) == 0)
        ck_assert_int_ne(mig_datadir_open(restored_dir, &d, NULL), ERR_OK);
}

START_TEST(what_cannot_be_is_refused)
{
    char inside[400];
    struct mig_datadir locked;
    vault_close();
    (void)snprintf(inside, sizeof inside, "%s/inside", vault_home);
    options = (struct mig_salvage_options){.data = vault_home, .to = inside};
    refuse(ERR_INVALID, "is inside the damaged directory");
    options.to = restored_dir;
    options.backups = vault_dir;
    options.owner = "somebody else";
    refuse(ERR_EXISTS, "are those of another data directory");
    options.backups = "/nowhere";
    refuse(ERR_NOT_FOUND, "there are no backups");
    options.backups = NULL;
    ck_assert_int_eq(mig_datadir_open(vault_home, &locked, &eb), ERR_OK);
    refuse(ERR_LOCKED, "in use by another process");
    mig_datadir_close(&locked);
    ck_assert_int_eq(base_dir_make(restored_dir, 0700, &eb), ERR_OK);
    vault_put_file(restored_dir, "something", "of somebody");
    refuse(ERR_EXISTS, "has files in it");
    mig_files_test_free(1000);
    vault_drop_restored();
    refuse(ERR_STORAGE_FULL, "the copy needs");
    mig_files_test_free(UINT64_MAX);
}
END_TEST

Suite *suite_migrations_salvage(void)
{
    Suite *s = suite_create("migrations_salvage");
    TCase *t = tcase_create("salvage");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, what_is_missing_is_reported_and_the_rest_is_there);
    tcase_add_loop_test(t, lost_rows_come_from_a_backup_and_others_stay_newer, 0, 3);
    tcase_add_test(t, a_range_is_as_the_backup_has_it);
    tcase_add_test(t, an_older_backup_does_when_a_newer_one_is_damaged);
    tcase_add_test(t, ranges_that_overlap_are_restored_together);
    tcase_add_test(t, a_table_that_was_made_again_is_not_filled_from_the_one_before);
    tcase_add_test(t, cells_of_a_dropped_family_do_not_return);
    tcase_add_test(t, a_purged_tenant_stays_purged);
    tcase_add_test(t, what_cannot_be_is_refused);
    suite_add_tcase(s, t);
    return s;
}
