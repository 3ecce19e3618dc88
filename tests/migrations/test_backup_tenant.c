/*
 * tests/migrations/test_backup_tenant.c - backups of one tenant or table: what is in them, and what
 * is not.
 */
#include "tests/migrations/vault.h"

#include "migrations/backup_copies.h"

#include "base/banned.h"

Suite *suite_migrations_backup_tenant(void);

#define ROWS 300

static void small_parts(void)
{
    mig_backup_test_part_bytes(2 * KIB, 2 * KIB);
    vault_setup();
}

static void write_rows(const char *tenant, const char *table, int from, int to, const char *value)
{
    struct ten_tenant *t = tent_find(&tent, tenant);
    for (int i = from; i < to; i++) {
        char row[32];
        (void)snprintf(row, sizeof row, "row%05d", i);
        tent_write(&tent, t, table, row, value);
    }
}

/* Whether any file of the backup holds these bytes: parts of tests are written without LZ4's
 * matches across so few bytes. */
static bool some_file_holds(const struct mig_backup *backup, const char *text)
{
    bool found = false;
    for (size_t i = 0; !found && i < backup->file_count; i++) {
        char path[700];
        struct buf bytes = {0};
        (void)snprintf(path, sizeof path, "%s/files/%s", vault_dir,
                       backup->files[i].content.sha256);
        ck_assert_int_eq(base_file_read(path, 64 * MIB, &bytes, &eb), ERR_OK);
        found = memmem(bytes.ptr, bytes.len, text, strlen(text)) != NULL;
        base_buf_fini(&bytes);
    }
    return found;
}

START_TEST(holds_that_tenant_and_nobody_else)
{
    char id[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", ROWS);
    vault_fill("cirrus", ROWS);
    tent_table(&tent, tent_find(&tent, "altostrat"), "alarms");
    vault_scoped("altostrat", "", "", id);
    struct mig_backup backup = vault_read(id);
    ck_assert_str_eq(backup.scope.tenant, "altostrat");
    ck_assert_str_eq(backup.scope.table, "");
    ck_assert_uint_eq(backup.counts.documents, 2);
    ck_assert_uint_eq(backup.counts.keys[STO_IMAGE_CELLS], 2 * ROWS);
    ck_assert_uint_gt(backup.sequence, 0);
    ck_assert_int_gt(backup.made_us, 0);
    ck_assert(some_file_holds(&backup, "altostrat"));
    ck_assert(!some_file_holds(&backup, "cirrus"));
    ck_assert_int_eq(vault_verify(id), ERR_OK);
    mig_backup_fini(&backup);
}
END_TEST

START_TEST(of_one_table_holds_no_other)
{
    char id[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", ROWS);
    tent_table(&tent, tent_find(&tent, "altostrat"), "devices-old");
    write_rows("altostrat", "devices-old", 0, 7, "old");
    vault_scoped("altostrat", "devices-old", "b1", id);
    struct mig_backup backup = vault_read(id);
    ck_assert_uint_eq(backup.counts.documents, 1);
    ck_assert_uint_eq(backup.counts.keys[STO_IMAGE_CELLS], 2 * 7);
    ck_assert_str_eq(backup.scope.table, "devices-old");
    ck_assert_str_eq(backup.scope.name, "b1");
    mig_backup_fini(&backup);
    ck_assert_int_eq(vault_try_scoped("altostrat", "nothing", "b2", NULL, NULL), ERR_NOT_FOUND);
    ck_assert_str_eq(eb.text, "the tenant has no such table");
}
END_TEST

START_TEST(empty_table_is_a_backup_too)
{
    char id[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", 0);
    vault_scoped("altostrat", "devices", "b", id);
    ck_assert_int_eq(vault_verify(id), ERR_OK);
    struct mig_backup backup = vault_read(id);
    ck_assert_uint_eq(backup.file_count, 1);
    mig_backup_fini(&backup);
    tent_create(&tent, "cirrus");
    ck_assert_int_eq(vault_try_scoped("cirrus", "", "", NULL, NULL), ERR_NOT_FOUND);
    ck_assert_str_eq(eb.text, "the tenant has no tables");
}
END_TEST

START_TEST(what_did_not_change_is_stored_once)
{
    char first[MIG_BACKUP_ID + 1], second[MIG_BACKUP_ID + 1], third[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", 2000);
    vault_scoped("altostrat", "devices", "b1", first);
    vault_scoped("altostrat", "devices", "b2", second);
    struct mig_backup a = vault_read(first), b = vault_read(second);
    ck_assert_uint_gt(a.file_count, 8);
    ck_assert_uint_eq(a.new_bytes, a.bytes);
    ck_assert_uint_eq(b.new_bytes, 0);
    ck_assert_uint_eq(b.file_count, a.file_count);
    write_rows("altostrat", "devices", 1000, 1001, "another value");
    vault_scoped("altostrat", "devices", "b3", third);
    struct mig_backup c = vault_read(third);
    ck_assert_uint_gt(c.new_bytes, 0);
    ck_assert_uint_lt(c.new_bytes, c.bytes / 4); /* the parts before and behind are the same */
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(vault_verify(i == 0 ? first : third), ERR_OK);
    mig_backup_fini(&a);
    mig_backup_fini(&b);
    mig_backup_fini(&c);
}
END_TEST

START_TEST(deleting_one_leaves_what_another_shares)
{
    char first[MIG_BACKUP_ID + 1], second[MIG_BACKUP_ID + 1], files[400];
    (void)snprintf(files, sizeof files, "%s/files", vault_dir);
    vault_fill("altostrat", ROWS);
    vault_scoped("altostrat", "devices", "b1", first);
    vault_scoped("altostrat", "devices", "b2", second);
    ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(first), &eb), ERR_OK);
    ck_assert_int_eq(mig_backups_sweep(backups, &eb), ERR_OK);
    ck_assert_int_eq(vault_verify(second), ERR_OK);
    ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(second), &eb), ERR_OK);
    ck_assert_int_eq(mig_backups_sweep(backups, &eb), ERR_OK);
    ck_assert_uint_eq(vault_files_in(files), 0);
}
END_TEST

START_TEST(damage_of_any_file_is_found)
{
    char id[MIG_BACKUP_ID + 1], path[700];
    vault_fill("altostrat", ROWS);
    vault_scoped("altostrat", "devices", "b1", id);
    struct mig_backup backup = vault_read(id);
    ck_assert_uint_gt(backup.file_count, 2);
    for (size_t i = 0; i < backup.file_count; i++) {
        (void)snprintf(path, sizeof path, "%s/files/%s", vault_dir, backup.files[i].content.sha256);
        vault_flip(path);
        ck_assert_int_eq(vault_verify(id), ERR_CORRUPT);
        ck_assert_ptr_nonnull(strstr(eb.text, backup.files[i].path));
        vault_flip(path);
    }
    ck_assert_int_eq(vault_verify(id), ERR_OK);
    mig_backup_fini(&backup);
}
END_TEST

/* The list is changed as if it were true: hashes fit, and only counting tells. */
static void change_list(const struct mig_backup *backup)
{
    char path[700];
    struct buf text;
    base_buf_init(&text, MIB);
    ck_assert_int_eq(mig_backup_encode(backup, &text, &eb), ERR_OK);
    (void)snprintf(path, sizeof path, "%s/backups/%s.json", vault_dir, backup->id);
    ck_assert_int_eq(base_file_replace(path, base_buf_slice(&text), 0600, &eb), ERR_OK);
    base_buf_fini(&text);
}

START_TEST(parts_that_do_not_fit_together_are_found)
{
    char id[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", ROWS);
    vault_scoped("altostrat", "devices", "b1", id);
    struct mig_backup backup = vault_read(id);
    struct mig_backup_file swapped = backup.files[1];
    backup.files[1] = backup.files[2];
    backup.files[2] = swapped;
    change_list(&backup);
    ck_assert_int_eq(vault_verify(id), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(eb.text, "in no order"));
    backup.files[2] = backup.files[1];
    backup.files[1] = swapped;
    backup.files[1].keys++;
    change_list(&backup);
    ck_assert_int_eq(vault_verify(id), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(eb.text, "keys instead of"));
    backup.files[1].keys--;
    (void)snprintf(backup.scope.tenant, sizeof backup.scope.tenant, "cirrus");
    change_list(&backup);
    ck_assert_int_eq(vault_verify(id), ERR_CORRUPT);
    mig_backup_fini(&backup);
}
END_TEST

START_TEST(list_is_the_same_after_a_restart)
{
    char id[MIG_BACKUP_ID + 1];
    struct mig_backup_entry before, after;
    vault_fill("altostrat", 5);
    vault_scoped("altostrat", "devices", "b1", id);
    ck_assert_int_eq(mig_backups_set_expiry(backups, base_slice_text(id), 77, &eb), ERR_OK);
    ck_assert_int_eq(mig_backups_get(backups, base_slice_text(id), &before, &eb), ERR_OK);
    ck_assert_int_eq(before.backup.expires_us, 77);
    vault_close();
    vault_open();
    ck_assert_int_eq(mig_backups_get(backups, base_slice_text(id), &after, &eb), ERR_OK);
    ck_assert_int_eq(memcmp(&before, &after, sizeof before), 0);
    ck_assert_int_eq(mig_backups_set_expiry(backups, SLICE_LIT("nothing"), 1, &eb), ERR_NOT_FOUND);
}
END_TEST

START_TEST(expires_also_as_the_newest_and_never_instead_of_everything)
{
    char whole[MIG_BACKUP_ID + 1], scoped[MIG_BACKUP_ID + 1], due[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", 5);
    ck_assert_int_eq(vault_try_backup(5000, NULL, whole), ERR_OK);
    vault_scoped("altostrat", "devices", "b1", scoped);
    ck_assert(!mig_backups_expired(backups, 5000, due)); /* whole is the newest of everything */
    ck_assert_int_eq(mig_backups_set_expiry(backups, base_slice_text(scoped), 6000, &eb), ERR_OK);
    ck_assert(!mig_backups_expired(backups, 5999, due));
    ck_assert(mig_backups_expired(backups, 6000, due));
    ck_assert_str_eq(due, scoped);
}
END_TEST

START_TEST(copy_shares_the_files_and_outlives_the_first)
{
    char id[MIG_BACKUP_ID + 1], files[400];
    struct mig_backup_wanted wanted = {.now_us = (int64_t)vault_ms * 1000,
                                       .expires_us = 99,
                                       .note = "",
                                       .scope = {.tenant = "altostrat", .name = "b2"}};
    (void)snprintf(files, sizeof files, "%s/files", vault_dir);
    memcpy(wanted.scope.source, "b1", 3);
    vault_fill("altostrat", ROWS);
    vault_scoped("altostrat", "devices", "b1", id);
    size_t count = vault_files_in(files);
    ten_job_id_make(vault_ms++, wanted.id);
    ck_assert_int_eq(mig_backups_copy(backups, base_slice_text(id), &wanted, &eb), ERR_OK);
    ck_assert_uint_eq(vault_files_in(files), count);
    ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(id), &eb), ERR_OK);
    ck_assert_int_eq(mig_backups_sweep(backups, &eb), ERR_OK);
    ck_assert_int_eq(vault_verify(wanted.id), ERR_OK);
    struct mig_backup copy = vault_read(wanted.id);
    ck_assert_str_eq(copy.scope.table, "devices");
    ck_assert_str_eq(copy.scope.name, "b2");
    ck_assert_str_eq(copy.scope.source, "b1");
    ck_assert_int_eq(copy.expires_us, 99);
    ck_assert_uint_eq(copy.new_bytes, 0);
    mig_backup_fini(&copy);
}
END_TEST

START_TEST(is_not_restored_as_everything)
{
    char whole[MIG_BACKUP_ID + 1], scoped[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", 5);
    vault_backup(whole);
    vault_scoped("altostrat", "devices", "b1", scoped);
    ck_assert_int_eq(vault_restore(scoped), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(eb.text, "is of one tenant"));
    vault_drop_restored();
    ck_assert_int_eq(vault_restore(NULL), ERR_OK); /* the newest of everything */
}
END_TEST

/* --- copies, as certificates name them ---------------------------------------------------------
 */

struct seen {
    int all; /* that hold everybody */
    int scoped;
};

static enum err see_copy(void *ctx, const struct ten_copy *copy)
{
    struct seen *seen = ctx;
    if (copy->tenant[0] == '\0')
        seen->all++;
    else
        seen->scoped++;
    return ERR_OK;
}

static struct seen copies(void)
{
    struct seen seen = {0, 0};
    ck_assert_int_eq(mig_backup_copies_visit(backups, see_copy, &seen, &eb), ERR_OK);
    return seen;
}

static bool look(void *ctx)
{
    struct seen *most = ctx, now = copies();
    if (now.all > most->all)
        most->all = now.all;
    return false;
}

START_TEST(copy_of_everybody_while_there_is_an_image_then_of_one)
{
    struct seen most = {0, 0};
    char id[MIG_BACKUP_ID + 1];
    struct mig_backup_watch watch = {.stop = look, .ctx = &most};
    vault_fill("altostrat", ROWS);
    ck_assert_int_eq(vault_try_scoped("altostrat", "", "", &watch, id), ERR_OK);
    ck_assert_int_eq(most.all, 1);
    ck_assert_int_eq(copies().all, 0);
    ck_assert_int_eq(copies().scoped, 1);
    ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(id), &eb), ERR_OK);
    ck_assert_int_eq(copies().scoped, 1); /* its files are still there */
    ck_assert_int_eq(mig_backups_sweep(backups, &eb), ERR_OK);
    ck_assert_int_eq(copies().scoped, 0);
}
END_TEST

static bool stop_at_once(void *ctx)
{
    (void)ctx;
    return true;
}

START_TEST(stopped_or_refused_one_leaves_nothing)
{
    char files[400], path[700];
    struct mig_backup_watch watch = {.stop = stop_at_once};
    (void)snprintf(files, sizeof files, "%s/files", vault_dir);
    (void)snprintf(path, sizeof path, "%s/checkpoint", tent.dir);
    vault_fill("altostrat", ROWS);
    ck_assert_int_eq(vault_try_scoped("altostrat", "", "", &watch, NULL), ERR_CANCELLED);
    ck_assert_uint_eq(vault_files_in(files), 0);
    ck_assert_int_ne(access(path, F_OK), 0);
    mig_files_test_free(MIB + 100);
    ck_assert_int_eq(vault_try_scoped("altostrat", "", "", NULL, NULL), ERR_STORAGE_FULL);
    ck_assert_ptr_nonnull(strstr(eb.text, "1048676 are free, of which 1048576 have to stay so"));
    mig_files_test_free(UINT64_MAX);
    ck_assert_uint_eq(vault_files_in(files), 0);
    ck_assert_uint_eq(vault_count(), 0);
    ck_assert_int_eq(copies().all, 0);
    vault_scoped("altostrat", "", "", NULL);
}
END_TEST

/* --- killed in the middle ----------------------------------------------------------------------
 */

/* In a child: the process ends at a point. */
static void die_at(int point)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        vault_open();
        mig_backup_test_die_at(point);
        (void)vault_try_scoped("altostrat", "", "b9", NULL, NULL);
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 137);
}

START_TEST(killed_at_any_point_it_is_whole_or_not_there)
{
    char files[400];
    (void)snprintf(files, sizeof files, "%s/files", vault_dir);
    vault_fill("altostrat", ROWS);
    vault_close();
    die_at(_i);
    vault_open();
    if (_i == MIG_POINT_LISTED) {
        struct mig_backup_entry entry;
        ck_assert_uint_eq(mig_backups_list(backups, &entry, 1), 1);
        ck_assert_int_eq(vault_verify(entry.backup.id), ERR_OK);
    } else {
        ck_assert_uint_eq(vault_count(), 0);
        ck_assert_uint_eq(vault_files_in(files), 0);
    }
}
END_TEST

Suite *suite_migrations_backup_tenant(void)
{
    Suite *s = suite_create("migrations_backup_tenant");
    TCase *tc = tcase_create("content");
    tcase_add_checked_fixture(tc, small_parts, vault_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, holds_that_tenant_and_nobody_else);
    tcase_add_test(tc, of_one_table_holds_no_other);
    tcase_add_test(tc, empty_table_is_a_backup_too);
    tcase_add_test(tc, what_did_not_change_is_stored_once);
    tcase_add_test(tc, deleting_one_leaves_what_another_shares);
    tcase_add_test(tc, damage_of_any_file_is_found);
    tcase_add_test(tc, parts_that_do_not_fit_together_are_found);
    suite_add_tcase(s, tc);
    tc = tcase_create("list");
    tcase_add_checked_fixture(tc, small_parts, vault_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, list_is_the_same_after_a_restart);
    tcase_add_test(tc, expires_also_as_the_newest_and_never_instead_of_everything);
    tcase_add_test(tc, copy_shares_the_files_and_outlives_the_first);
    tcase_add_test(tc, is_not_restored_as_everything);
    tcase_add_test(tc, copy_of_everybody_while_there_is_an_image_then_of_one);
    tcase_add_test(tc, stopped_or_refused_one_leaves_nothing);
    tcase_add_loop_test(tc, killed_at_any_point_it_is_whole_or_not_there, MIG_POINT_IMAGE_MADE,
                        MIG_POINT_UNLISTED);
    suite_add_tcase(s, tc);
    return s;
}
