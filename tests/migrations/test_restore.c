/*
 * tests/migrations/test_restore.c - damage is found, and who left does not return.
 */
#include "tests/migrations/vault.h"

#include "tenancy/audit.h"

#include "base/banned.h"

Suite *suite_migrations_restore(void);

#define ROWS 200

/* --- damage ----------------------------------------------------------------------------------- */

static void path_of(const struct mig_backup_file *file, char out[700])
{
    (void)snprintf(out, 700, "%s/files/%s", vault_dir, file->content.sha256);
}

static void restore_fails(enum err expected, const char *says)
{
    ck_assert_int_eq(vault_restore(NULL), expected);
    ck_assert_msg(strstr(eb.text, says) != NULL, "\"%s\" lacks \"%s\"", eb.text, says);
    struct mig_datadir d;
    ck_assert_int_ne(mig_datadir_open(restored_dir, &d, &eb), ERR_OK);
    vault_drop_restored();
}

/* Every file of a backup: flipped, cut, missing; each time put right again. */
START_TEST(damage_of_any_file_is_found_and_not_restored)
{
    char id[MIG_BACKUP_ID + 1], path[700], aside[700];
    vault_fill("altostrat", ROWS);
    vault_backup(id);
    struct mig_backup backup = vault_read(id);
    (void)snprintf(aside, sizeof aside, "%s/aside", tent.dir);
    for (size_t i = 0; i < backup.file_count; i++) {
        const struct mig_backup_file *file = &backup.files[i];
        path_of(file, path);
        if (file->content.size > 0) {
            vault_flip(path);
            ck_assert_int_eq(vault_verify(id), ERR_CORRUPT);
            ck_assert_ptr_nonnull(strstr(eb.text, file->path));
            restore_fails(ERR_CORRUPT, file->content.sha256);
            vault_flip(path);
        }
        ck_assert_int_eq(rename(path, aside), 0);
        ck_assert_int_eq(vault_verify(id), ERR_CORRUPT);
        restore_fails(ERR_NOT_FOUND, file->content.sha256);
        ck_assert_int_eq(rename(aside, path), 0);
    }
    ck_assert_int_eq(vault_verify(id), ERR_OK);
    mig_backup_fini(&backup);
}
END_TEST

START_TEST(cut_file_is_found)
{
    char id[MIG_BACKUP_ID + 1], path[700];
    vault_fill("altostrat", ROWS);
    vault_backup(id);
    struct mig_backup backup = vault_read(id);
    for (size_t i = 0; i < backup.file_count; i++) {
        path_of(&backup.files[i], path);
        if (backup.files[i].content.size == 0)
            continue;
        ck_assert_int_eq(truncate(path, (off_t)backup.files[i].content.size - 1), 0);
        break;
    }
    ck_assert_int_eq(vault_verify(id), ERR_CORRUPT);
    restore_fails(ERR_CORRUPT, "is damaged");
    mig_backup_fini(&backup);
}
END_TEST

START_TEST(another_number_of_keys_is_found)
{
    char id[MIG_BACKUP_ID + 1], path[700];
    struct buf text;
    vault_fill("altostrat", ROWS);
    vault_backup(id);
    struct mig_backup backup = vault_read(id);
    backup.counts.keys[1]++;
    base_buf_init(&text, MIB);
    ck_assert_int_eq(mig_backup_encode(&backup, &text, &eb), ERR_OK);
    (void)snprintf(path, sizeof path, "%s/backups/%s.json", vault_dir, id);
    ck_assert_int_eq(base_file_replace(path, base_buf_slice(&text), 0600, &eb), ERR_OK);
    ck_assert_int_eq(vault_verify(id), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(eb.text, "404 entries of cells instead of 405"));
    base_buf_fini(&text);
    mig_backup_fini(&backup);
}
END_TEST

START_TEST(damaged_list_is_shown_and_keeps_every_file)
{
    char first[MIG_BACKUP_ID + 1], second[MIG_BACKUP_ID + 1], path[700], files[400];
    struct mig_backup_entry entry;
    (void)snprintf(files, sizeof files, "%s/files", vault_dir);
    vault_fill("altostrat", ROWS);
    vault_backup(first);
    vault_fill("cirrus", ROWS);
    vault_backup(second);
    size_t count = vault_files_in(files);
    (void)snprintf(path, sizeof path, "%s/backups/%s.json", vault_dir, first);
    vault_close();
    vault_flip(path);
    vault_open();
    ck_assert_uint_eq(vault_files_in(files), count);
    ck_assert_int_eq(mig_backups_get(backups, base_slice_text(first), &entry, &eb), ERR_OK);
    ck_assert(entry.is_damaged);
    ck_assert_str_eq(entry.backup.id, first);
    ck_assert_int_gt(entry.backup.created_us, 0);
    ck_assert_int_eq(vault_verify(first), ERR_CORRUPT);
    ck_assert_int_eq(vault_restore(first), ERR_CORRUPT);
    ck_assert_int_eq(vault_verify(second), ERR_OK);
    ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(first), &eb), ERR_OK);
    ck_assert_int_eq(mig_backups_sweep(backups, &eb), ERR_OK);
    ck_assert_uint_lt(vault_files_in(files), count);
    ck_assert_int_eq(vault_verify(second), ERR_OK);
}
END_TEST

/* Promise 2 of the list: every bit of it. */
START_TEST(no_flipped_bit_of_a_list_goes_unnoticed)
{
    char id[MIG_BACKUP_ID + 1], path[700];
    struct buf text, again;
    vault_backup(id);
    (void)snprintf(path, sizeof path, "%s/backups/%s.json", vault_dir, id);
    ck_assert_int_eq(base_file_read(path, MIB, &text, &eb), ERR_OK);
    for (size_t i = 0; i < text.len; i++) {
        struct mig_backup backup;
        text.ptr[i] ^= (uint8_t)(1u << (i % 8));
        if (mig_backup_decode(base_buf_slice(&text), &backup, &eb) == ERR_OK) {
            text.ptr[i] ^= (uint8_t)(1u << (i % 8));
            base_buf_init(&again, MIB);
            ck_assert_int_eq(mig_backup_encode(&backup, &again, &eb), ERR_OK);
            ck_assert(base_slice_equal(base_buf_slice(&text), base_buf_slice(&again)));
            base_buf_fini(&again);
            mig_backup_fini(&backup);
        } else {
            text.ptr[i] ^= (uint8_t)(1u << (i % 8));
        }
    }
    base_buf_fini(&text);
}
END_TEST

START_TEST(no_path_of_a_list_leads_out)
{
    static const char *const paths[] = {"../pepper", "/etc/passwd", "db/../x", "db/",       "a/b",
                                        "",          ".hidden",     "db/.x",   "db/a b.sst"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct mig_backup_file file = {.mode = 0600};
        struct mig_backup backup = {.id = "0123456789abcdef", .file_count = 1, .files = &file};
        struct mig_backup out;
        struct buf text;
        memset(file.content.sha256, 'a', MIG_SHA256_TEXT);
        base_buf_init(&text, MIB);
        (void)snprintf(file.path, sizeof file.path, "db/fine-1.sst");
        ck_assert_int_eq(mig_backup_encode(&backup, &text, &eb), ERR_OK);
        ck_assert_int_eq(mig_backup_decode(base_buf_slice(&text), &out, &eb), ERR_OK);
        mig_backup_fini(&out);
        base_buf_truncate(&text, 0);
        (void)snprintf(file.path, sizeof file.path, "%s", paths[i]);
        ck_assert_int_eq(mig_backup_encode(&backup, &text, &eb), ERR_OK);
        ck_assert_int_eq(mig_backup_decode(base_buf_slice(&text), &out, &eb), ERR_CORRUPT);
        base_buf_fini(&text);
    }
}
END_TEST

/* --- restoring -------------------------------------------------------------------------------- */

START_TEST(restored_directory_is_whole_and_ours)
{
    char id[MIG_BACKUP_ID + 1], path[700];
    struct mig_datadir d;
    struct buf text;
    struct stat st;
    vault_fill("altostrat", ROWS);
    vault_backup(id);
    vault_fill("cirrus", ROWS); /* behind the backup */
    ck_assert_msg(vault_restore(id) == ERR_OK, "%s", eb.text);
    ck_assert_int_eq(mig_datadir_open(restored_dir, &d, &eb), ERR_OK);
    mig_datadir_close(&d);
    (void)snprintf(path, sizeof path, "%s/pepper", restored_dir);
    ck_assert_int_eq(base_file_read(path, 100, &text, &eb), ERR_OK);
    ck_assert(base_slice_is(base_buf_slice(&text), "a secret of the tests"));
    base_buf_fini(&text);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    vault_close();
    vault_move_in();
    tent_open(&tent);
    ck_assert_uint_eq(vault_rows("altostrat"), ROWS);
    ck_assert_ptr_null(tent_find(&tent, "cirrus"));
    tent_reopen(&tent); /* the witness watches again */
    ck_assert_uint_eq(vault_rows("altostrat"), ROWS);
    ck_assert_int_eq(vault_try_open(&backups), ERR_OK);
}
END_TEST

START_TEST(newest_is_restored_unless_told_otherwise)
{
    char first[MIG_BACKUP_ID + 1], second[MIG_BACKUP_ID + 1];
    struct mig_backup out;
    struct mig_restore_options o = {.data = restored_dir, .backups = vault_dir};
    vault_fill("altostrat", 10);
    vault_backup(first);
    vault_backup(second);
    ck_assert_int_eq(mig_restore(&o, &out, &eb), ERR_OK);
    ck_assert_str_eq(out.id, second);
    vault_drop_restored();
    o.backup = first;
    ck_assert_int_eq(mig_restore(&o, &out, &eb), ERR_OK);
    ck_assert_str_eq(out.id, first);
    vault_drop_restored();
    o.backup = "0000000000000000";
    ck_assert_int_eq(mig_restore(&o, &out, &eb), ERR_NOT_FOUND);
    o.backup = "../../x";
    ck_assert_int_eq(mig_restore(&o, &out, &eb), ERR_NOT_FOUND);
    ck_assert_int_ne(access(restored_dir, F_OK), 0);
}
END_TEST

START_TEST(directory_with_anything_in_it_is_refused)
{
    vault_fill("altostrat", 10);
    vault_backup(NULL);
    ck_assert_int_eq(mkdir(restored_dir, 0700), 0);
    vault_put_file(restored_dir, "mine", "precious");
    ck_assert_int_eq(vault_restore(NULL), ERR_EXISTS);
    ck_assert_uint_eq(vault_files_in(restored_dir), 1);
}
END_TEST

START_TEST(nothing_is_restored_without_a_ledger)
{
    char path[700];
    vault_fill("altostrat", 10);
    vault_backup(NULL);
    (void)snprintf(path, sizeof path, "%s/" TEN_LEDGER_FILE, vault_dir);
    ck_assert_int_eq(unlink(path), 0);
    restore_fails(ERR_NOT_FOUND, "tenants that were deleted would return");
    vault_put_file(vault_dir, TEN_LEDGER_FILE, "{\"no\":\"ledger\"}\n{}\n");
    restore_fails(ERR_CORRUPT, "");
}
END_TEST

START_TEST(backup_of_a_newer_format_is_refused)
{
    char id[MIG_BACKUP_ID + 1], path[700];
    struct buf text;
    vault_fill("altostrat", 10);
    vault_backup(id);
    struct mig_backup backup = vault_read(id);
    backup.data_format = MIG_FORMAT_VERSION + 1;
    base_buf_init(&text, MIB);
    ck_assert_int_eq(mig_backup_encode(&backup, &text, &eb), ERR_OK);
    (void)snprintf(path, sizeof path, "%s/backups/%s.json", vault_dir, id);
    ck_assert_int_eq(base_file_replace(path, base_buf_slice(&text), 0600, &eb), ERR_OK);
    restore_fails(ERR_UNSUPPORTED, "data format 3");
    base_buf_fini(&text);
    mig_backup_fini(&backup);
}
END_TEST

START_TEST(full_disk_is_refused)
{
    vault_fill("altostrat", 10);
    vault_backup(NULL);
    mig_files_test_free(1000);
    restore_fails(ERR_STORAGE_FULL, "1000 are free");
    mig_files_test_free(UINT64_MAX);
}
END_TEST

/* --- who left --------------------------------------------------------------------------------- */

/* The ledger that the purges left, as its copy beside the backups. */
static void copy_ledger(void)
{
    char path[700];
    struct buf text;
    (void)snprintf(path, sizeof path, "%s/" TEN_LEDGER_FILE, tent.dir);
    ck_assert_int_eq(base_file_read(path, MIB, &text, &eb), ERR_OK);
    (void)snprintf(path, sizeof path, "%s/" TEN_LEDGER_FILE, vault_dir);
    ck_assert_int_eq(base_file_replace(path, base_buf_slice(&text), 0600, &eb), ERR_OK);
    base_buf_fini(&text);
}

/* As a server opens: engine, replay, registry. */
static size_t open_restored(void)
{
    char ledger[700];
    size_t changed = 0;
    (void)snprintf(ledger, sizeof ledger, "%s/" TEN_LEDGER_FILE, tent.dir);
    ck_assert_int_eq(tent_open_engine(&tent), ERR_OK);
    enum err rc = ten_erasure_replay(tent.engine, tent.epoch, ledger, &changed, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    rc = tent_open_registry(&tent);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    return changed;
}

static void assert_gone(const char *id)
{
    struct ten_tenant *t = tent_find(&tent, id);
    struct sto_audit audit;
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(ten_access_check(t, TEN_READ, &tent.eb), ERR_GONE);
    ck_assert_int_eq(ten_access_check(t, TEN_WRITE, &tent.eb), ERR_GONE);
    ck_assert_uint_eq(ten_tenant_tables(t)->count, 0);
    char job[TEN_JOB_ID + 1];
    struct ten_job done;
    (void)snprintf(job, sizeof job, "%s", ten_tenant_details(t)->job);
    tent_await_job(&tent, job, &done);
    ck_assert_msg(done.state == TEN_JOB_DONE, "%s", done.error);
    ck_assert_str_eq(done.requested_by, "restore");
    ck_assert_uint_gt(done.audit_before.physical_keys, 0);
    struct sto_tenant_scope scope = ten_scope_tenant(t);
    ck_assert_int_eq(sto_audit_range(tent.engine, &scope, &audit, &tent.eb), ERR_OK);
    ck_assert_uint_eq(audit.physical_keys, 0);
    ck_assert_uint_eq(audit.counters, 0);
    ck_assert_int_eq(atomic_load(&t->state), TEN_PURGED);
    ck_assert_int_eq(tent_try_create(&tent, base_slice_text(id), SLICE_EMPTY, NULL), ERR_EXISTS);
}

/* A backup of three; then altostrat and stratus leave, and nimbus that came later. */
static void leave_and_restore(void)
{
    char job[TEN_JOB_ID + 1];
    struct ten_job done;
    static const char *const leaving[] = {"altostrat", "stratus", "nimbus"};
    vault_fill("altostrat", ROWS);
    vault_fill("cirrus", ROWS);
    vault_fill("stratus", ROWS);
    vault_backup(NULL);
    vault_fill("nimbus", ROWS);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, leaving[i]), job), ERR_OK);
        tent_await_job(&tent, job, &done);
        ck_assert_int_eq(done.state, TEN_JOB_DONE);
    }
    copy_ledger();
    ck_assert_msg(vault_restore(NULL) == ERR_OK, "%s", eb.text);
}

START_TEST(who_left_since_does_not_return)
{
    leave_and_restore();
    vault_close();
    vault_move_in();
    ck_assert_uint_eq(open_restored(), 3);
    assert_gone("altostrat");
    assert_gone("stratus");
    struct ten_tenant *nimbus = tent_find(&tent, "nimbus");
    ck_assert_ptr_nonnull(nimbus);
    ck_assert_int_eq(atomic_load(&nimbus->state), TEN_PURGED);
    ck_assert_int_eq(ten_access_check(nimbus, TEN_READ, &tent.eb), ERR_GONE);
    char job[TEN_JOB_ID + 1]; /* that the ledger names; it has no document here */
    ck_assert_int_eq(tent_offboard(&tent, nimbus, job), ERR_OK);
    ck_assert_str_eq(job, ten_tenant_details(nimbus)->job);
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("nimbus"), SLICE_EMPTY, NULL), ERR_EXISTS);
    ck_assert_uint_eq(vault_rows("cirrus"), ROWS);
    tent_close(&tent);
    ck_assert_uint_eq(open_restored(), 0); /* again it changes nothing */
    ck_assert_uint_eq(vault_rows("cirrus"), ROWS);
    ck_assert_int_eq(vault_try_open(&backups), ERR_OK);
}
END_TEST

static enum err count_record(void *ctx, const struct base_audit_record *record)
{
    (void)record;
    ++*(size_t *)ctx;
    return ERR_OK;
}

START_TEST(each_change_is_in_the_trail)
{
    size_t before = 0, after = 0;
    leave_and_restore();
    vault_close();
    vault_move_in();
    ck_assert_int_eq(tent_open_engine(&tent), ERR_OK);
    tent_close_engine(&tent);
    tent_open(&tent);
    ck_assert_int_eq(
        ten_audit_read(tent.registry, SLICE_EMPTY, 1, 1000, count_record, &before, &eb), ERR_OK);
    tent_close(&tent);
    ck_assert_uint_eq(open_restored(), 3);
    ck_assert_int_eq(
        ten_audit_read(tent.registry, SLICE_LIT("nimbus"), 1, 1000, count_record, &after, &eb),
        ERR_OK);
    ck_assert_uint_eq(after, 1); /* of one that this database never knew */
    after = 0;
    ck_assert_int_eq(ten_audit_read(tent.registry, SLICE_EMPTY, 1, 1000, count_record, &after, &eb),
                     ERR_OK);
    ck_assert_uint_ge(after, before + 3);
    ck_assert_int_eq(vault_try_open(&backups), ERR_OK);
}
END_TEST

/* The first start behind a restore ends behind each step of the first purge. */
START_TEST(killed_while_they_are_purged_again_they_stay_gone)
{
    vault_make();
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        vault_open();
        leave_and_restore();
        vault_close();
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    vault_move_in();
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        ten_offboard_test_die_after(_i);
        (void)open_restored();
        for (;;) /* until it dies */
            (void)pause();
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 137, "status %d", status);
    ck_assert_uint_eq(open_restored(), 0);
    assert_gone("altostrat");
    assert_gone("stratus");
    ck_assert_uint_eq(vault_rows("cirrus"), ROWS);
    tent_close(&tent);
    memcpy(tent.dir, vault_home, sizeof tent.dir);
    tent_remove(&tent);
}
END_TEST

START_TEST(damaged_ledger_stops_the_start)
{
    size_t changed = 0;
    char path[700];
    vault_put_file(tent.dir, "bad.ndjson", "{\"no\":\"ledger\"}\n{}\n");
    (void)snprintf(path, sizeof path, "%s/bad.ndjson", tent.dir);
    ck_assert_int_eq(ten_erasure_replay(tent.engine, tent.epoch, path, &changed, &eb), ERR_CORRUPT);
    (void)snprintf(path, sizeof path, "%s/none.ndjson", tent.dir);
    ck_assert_int_eq(ten_erasure_replay(tent.engine, tent.epoch, path, &changed, &eb), ERR_OK);
    ck_assert_uint_eq(changed, 0);
}
END_TEST

Suite *suite_migrations_restore(void)
{
    Suite *suite = suite_create("migrations_restore");
    TCase *damage = tcase_create("damage");
    tcase_add_checked_fixture(damage, vault_setup, vault_teardown);
    tcase_set_timeout(damage, 600);
    tcase_add_test(damage, damage_of_any_file_is_found_and_not_restored);
    tcase_add_test(damage, cut_file_is_found);
    tcase_add_test(damage, another_number_of_keys_is_found);
    tcase_add_test(damage, damaged_list_is_shown_and_keeps_every_file);
    tcase_add_test(damage, no_flipped_bit_of_a_list_goes_unnoticed);
    tcase_add_test(damage, no_path_of_a_list_leads_out);
    suite_add_tcase(suite, damage);
    TCase *restoring = tcase_create("restoring");
    tcase_add_checked_fixture(restoring, vault_setup, vault_teardown);
    tcase_set_timeout(restoring, 600);
    tcase_add_test(restoring, restored_directory_is_whole_and_ours);
    tcase_add_test(restoring, newest_is_restored_unless_told_otherwise);
    tcase_add_test(restoring, directory_with_anything_in_it_is_refused);
    tcase_add_test(restoring, nothing_is_restored_without_a_ledger);
    tcase_add_test(restoring, backup_of_a_newer_format_is_refused);
    tcase_add_test(restoring, full_disk_is_refused);
    suite_add_tcase(suite, restoring);
    TCase *left = tcase_create("left");
    tcase_add_checked_fixture(left, vault_setup, vault_teardown);
    tcase_set_timeout(left, 600);
    tcase_add_test(left, who_left_since_does_not_return);
    tcase_add_test(left, each_change_is_in_the_trail);
    tcase_add_test(left, damaged_ledger_stops_the_start);
    suite_add_tcase(suite, left);
    TCase *killed = tcase_create("killed");
    tcase_set_timeout(killed, 600);
    tcase_add_loop_test(killed, killed_while_they_are_purged_again_they_stay_gone, 0,
                        TEN_JOB_STEPS);
    suite_add_tcase(suite, killed);
    return suite;
}
