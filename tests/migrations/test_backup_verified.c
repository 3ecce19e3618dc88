/*
 * tests/migrations/test_backup_verified.c - what a verification found is known after a restart.
 */
#include "tests/migrations/workshop.h"

#include "migrations/backup_verified.h"

#include "base/banned.h"

Suite *suite_migrations_backup_verified(void);

#define ROWS 30

static char made[MIG_BACKUP_ID + 1];

static void ask_verify(struct tent *t, void *ctx)
{
    (void)t;
    *(enum err *)ctx = mig_service_ask_verify(service, base_slice_text(made), &eb);
}

static bool has_ended(void *work)
{
    mig_service_work(service, MIG_WORK_VERIFY, work);
    return ((const struct mig_work *)work)->state != MIG_WORK_RUNNING;
}

static void verify(enum mig_work_state expected)
{
    struct mig_work work;
    enum err rc = ERR_OK;
    tent_control(&tent, ask_verify, &rc);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    process_await(has_ended, &work, "the end of the verification");
    ck_assert_msg(work.state == expected, "%s", work.error);
}

static struct mig_verified found(void)
{
    struct mig_backup_entry entry;
    ck_assert_int_eq(mig_backups_get(backups, base_slice_text(made), &entry, &eb), ERR_OK);
    return entry.verified;
}

static void note_path(const char *id, char out[700])
{
    (void)snprintf(out, 700, "%s/" MIG_VERIFIED_NAME "/%s", vault_dir, id);
}

static void damage(void)
{
    char path[700];
    struct mig_backup backup = vault_read(made);
    (void)snprintf(path, sizeof path, "%s/files/%s", vault_dir, backup.files[0].content.sha256);
    vault_flip(path);
    mig_backup_fini(&backup);
}

static void set_up(void)
{
    shop_setup();
    vault_fill("altostrat", ROWS);
    vault_backup(made);
}

START_TEST(what_was_found_is_known_after_a_restart)
{
    ck_assert_int_eq(found().finished_us, 0);
    int64_t before_us = base_wall_us();
    verify(MIG_WORK_DONE);
    shop_close();
    shop_open();
    struct mig_verified good = found();
    ck_assert_int_ge(good.finished_us, before_us);
    ck_assert_int_eq(good.result, ERR_OK);
    ck_assert_str_eq(good.error, "");
    damage();
    verify(MIG_WORK_FAILED);
    shop_close();
    shop_open();
    struct mig_verified bad = found();
    ck_assert_int_gt(bad.finished_us, good.finished_us);
    ck_assert_int_eq(bad.result, ERR_CORRUPT);
    ck_assert_str_ne(bad.error, "");
}
END_TEST

START_TEST(it_goes_with_the_backup)
{
    char path[700], orphan[700];
    verify(MIG_WORK_DONE);
    note_path(made, path);
    note_path("0123456789abcdef", orphan);
    ck_assert_int_eq(access(path, F_OK), 0);
    ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(made), &eb), ERR_OK);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(base_file_create(orphan, SLICE_LIT("x"), 0600, &eb), ERR_OK);
    shop_close();
    shop_open();
    ck_assert_int_ne(access(orphan, F_OK), 0);
    const struct mig_verified none = {.finished_us = 1};
    ck_assert_int_eq(mig_backups_set_verified(backups, base_slice_text(made), &none, &eb),
                     ERR_NOT_FOUND);
}
END_TEST

/* The longest text there is, and what somebody else wrote. */
START_TEST(note_is_read_as_it_was_written_or_not_at_all)
{
    char path[700];
    struct mig_verified back, note = {.finished_us = 5, .result = ERR_CORRUPT};
    memset(note.error, 'e', sizeof note.error - 1);
    ck_assert_int_eq(mig_verified_store(vault_dir, made, &note, &eb), ERR_OK);
    ck_assert_int_eq(mig_verified_read(vault_dir, made, &back, &eb), ERR_OK);
    ck_assert_int_eq(memcmp(&note, &back, sizeof back), 0);
    note_path(made, path);
    static char long_text[4096];
    memset(long_text, 'x', sizeof long_text);
    const struct slice bad[] = {SLICE_LIT("x"), SLICE_LIT("\xff\xff\xff\xff"),
                                base_slice(long_text, sizeof long_text)};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(base_file_replace(path, bad[i], 0600, &eb), ERR_OK);
        ck_assert_msg(mig_verified_read(vault_dir, made, &back, &eb) == ERR_OK, "%s", eb.text);
        ck_assert_int_eq(back.finished_us, 0);
    }
}
END_TEST

Suite *suite_migrations_backup_verified(void)
{
    Suite *s = suite_create("migrations_backup_verified");
    TCase *tc = tcase_create("verified");
    tcase_add_checked_fixture(tc, set_up, shop_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, what_was_found_is_known_after_a_restart);
    tcase_add_test(tc, it_goes_with_the_backup);
    tcase_add_test(tc, note_is_read_as_it_was_written_or_not_at_all);
    suite_add_tcase(s, tc);
    return s;
}
