/*
 * tests/migrations/test_backup.c - making, listing, deleting and expiring backups.
 */
#include "tests/migrations/vault.h"

#include <pthread.h>

#include "migrations/backup_copies.h"

#include "base/banned.h"

Suite *suite_migrations_backup(void);

#define ROWS 200

START_TEST(backup_says_what_it_holds)
{
    char id[MIG_BACKUP_ID + 1];
    struct mig_backup_entry entry;
    vault_fill("altostrat", ROWS);
    vault_backup(id);
    ck_assert_int_eq(mig_backups_get(backups, base_slice_text(id), &entry, &eb), ERR_OK);
    ck_assert(!entry.is_damaged);
    ck_assert_str_eq(entry.backup.note, "of a test");
    ck_assert_str_eq(entry.backup.software, "0.0.test");
    ck_assert_uint_eq(entry.backup.counts.documents, 1);
    ck_assert_uint_eq(entry.backup.counts.keys[1], 2 * ROWS + STO_CANARIES);
    ck_assert_uint_gt(entry.backup.sequence, 0);
    ck_assert_uint_gt(entry.backup.bytes, 0);
    ck_assert_uint_eq(entry.backup.new_bytes, entry.backup.bytes);
    ck_assert_uint_gt(entry.backup.file_count, 4);
    ck_assert_int_eq(vault_verify(id), ERR_OK);
    char path[700];
    (void)snprintf(path, sizeof path, "%s/checkpoint", tent.dir);
    ck_assert_int_ne(access(path, F_OK), 0);
    (void)snprintf(path, sizeof path, "%s/scratch", vault_dir);
    ck_assert_int_ne(access(path, F_OK), 0);
    struct stat st;
    ck_assert_int_eq(stat(vault_dir, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0700);
}
END_TEST

START_TEST(second_backup_copies_only_what_is_new)
{
    char first[MIG_BACKUP_ID + 1], second[MIG_BACKUP_ID + 1];
    struct mig_backup_watch watch = {.stop = NULL};
    vault_fill("altostrat", 2000);
    vault_backup(first);
    vault_fill("cirrus", 5);
    ck_assert_int_eq(vault_try_backup(0, &watch, second), ERR_OK);
    struct mig_backup a = vault_read(first), b = vault_read(second);
    uint64_t shared = 0;
    for (size_t i = 0; i < a.file_count; i++)
        for (size_t k = 0; k < b.file_count; k++)
            if (strcmp(a.files[i].path, b.files[k].path) == 0 &&
                strstr(a.files[i].path, ".sst") != NULL) {
                ck_assert_str_eq(a.files[i].content.sha256, b.files[k].content.sha256);
                shared += a.files[i].content.size;
            }
    ck_assert_uint_gt(shared, 0);
    ck_assert_uint_le(b.new_bytes, b.bytes - shared);
    ck_assert_uint_le(atomic_load(&watch.done_bytes), b.bytes - shared); /* not even read */
    mig_backup_fini(&a);
    mig_backup_fini(&b);
    ck_assert_int_eq(vault_verify(second), ERR_OK);
}
END_TEST

START_TEST(deleting_takes_only_files_that_no_other_names)
{
    char first[MIG_BACKUP_ID + 1], second[MIG_BACKUP_ID + 1], files[400];
    (void)snprintf(files, sizeof files, "%s/files", vault_dir);
    vault_fill("altostrat", ROWS);
    vault_backup(first);
    vault_fill("cirrus", ROWS);
    vault_backup(second);
    size_t with_both = vault_files_in(files);
    ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(first), &eb), ERR_OK);
    ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(first), &eb), ERR_NOT_FOUND);
    ck_assert_uint_eq(vault_files_in(files), with_both);
    ck_assert_int_eq(mig_backups_sweep(backups, &eb), ERR_OK);
    ck_assert_uint_lt(vault_files_in(files), with_both);
    ck_assert_int_eq(vault_verify(second), ERR_OK);
    ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(second), &eb), ERR_OK);
    ck_assert_int_eq(mig_backups_sweep(backups, &eb), ERR_OK);
    ck_assert_uint_eq(vault_files_in(files), 0);
    ck_assert_uint_eq(vault_count(), 0);
}
END_TEST

START_TEST(list_is_the_same_after_a_restart)
{
    char first[MIG_BACKUP_ID + 1], second[MIG_BACKUP_ID + 1];
    struct mig_backup_entry before, after;
    vault_fill("altostrat", ROWS);
    vault_backup(first);
    vault_backup(second);
    ck_assert_int_eq(mig_backups_get(backups, base_slice_text(first), &before, &eb), ERR_OK);
    vault_close();
    vault_open();
    ck_assert_uint_eq(vault_count(), 2);
    ck_assert_int_eq(mig_backups_get(backups, base_slice_text(first), &after, &eb), ERR_OK);
    ck_assert_int_eq(memcmp(&before, &after, sizeof before), 0);
}
END_TEST

START_TEST(one_server_has_the_directory)
{
    struct mig_backups *other = NULL;
    ck_assert_int_eq(vault_try_open(&other), ERR_LOCKED);
    ck_assert_ptr_nonnull(strstr(eb.text, "another server's"));
}
END_TEST

START_TEST(a_directory_stays_its_first_servers)
{
    struct mig_backups *other = NULL;
    const char *ours = vault_owner;
    mig_backups_close(backups);
    backups = NULL;
    vault_owner = "somebody else";
    ck_assert_int_eq(vault_try_open(&other), ERR_EXISTS);
    ck_assert_ptr_nonnull(strstr(eb.text, "of another data directory"));
    ck_assert_ptr_null(other);
    vault_owner = ours;
    ck_assert_int_eq(vault_try_open(&backups), ERR_OK);
}
END_TEST

START_TEST(full_disk_is_refused_before_anything_is_copied)
{
    char files[400];
    (void)snprintf(files, sizeof files, "%s/files", vault_dir);
    vault_fill("altostrat", ROWS);
    mig_files_test_free(MIB + 100);
    ck_assert_int_eq(vault_try_backup(0, NULL, NULL), ERR_STORAGE_FULL);
    ck_assert_ptr_nonnull(strstr(eb.text, "1048676 are free, of which 1048576 have to stay so"));
    ck_assert_uint_eq(vault_files_in(files), 0);
    ck_assert_uint_eq(vault_count(), 0);
    mig_files_test_free(UINT64_MAX);
    vault_backup(NULL);
}
END_TEST

static bool stop_behind_first(void *ctx)
{
    return ++*(int *)ctx > 1;
}

START_TEST(stopped_backup_leaves_nothing)
{
    int asked = 0;
    char files[400];
    struct mig_backup_watch watch = {.stop = stop_behind_first, .ctx = &asked};
    (void)snprintf(files, sizeof files, "%s/files", vault_dir);
    vault_fill("altostrat", ROWS);
    ck_assert_int_eq(vault_try_backup(0, &watch, NULL), ERR_CANCELLED);
    ck_assert_uint_eq(vault_files_in(files), 0);
    ck_assert_uint_eq(vault_count(), 0);
}
END_TEST

/* --- expiry ----------------------------------------------------------------------------------- */

START_TEST(expired_ones_go_but_never_the_newest)
{
    char ids[3][MIG_BACKUP_ID + 1], due[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", 10);
    ck_assert_int_eq(vault_try_backup(5000, NULL, ids[0]), ERR_OK);
    ck_assert_int_eq(vault_try_backup(0, NULL, ids[1]), ERR_OK);
    ck_assert_int_eq(vault_try_backup(5000, NULL, ids[2]), ERR_OK);
    ck_assert(!mig_backups_expired(backups, 4999, due));
    ck_assert(mig_backups_expired(backups, 5000, due));
    ck_assert_str_eq(due, ids[0]);
    ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(due), &eb), ERR_OK);
    ck_assert(!mig_backups_expired(backups, INT64_MAX, due)); /* one never does, one is the last */
    vault_backup(NULL);
    ck_assert(mig_backups_expired(backups, 5000, due));
    ck_assert_str_eq(due, ids[2]);
}
END_TEST

START_TEST(damaged_one_is_not_the_newest)
{
    char ids[2][MIG_BACKUP_ID + 1], due[MIG_BACKUP_ID + 1], path[700];
    vault_fill("altostrat", 10);
    ck_assert_int_eq(vault_try_backup(1, NULL, ids[0]), ERR_OK);
    ck_assert_int_eq(vault_try_backup(1, NULL, ids[1]), ERR_OK);
    (void)snprintf(path, sizeof path, "%s/backups/%s.json", vault_dir, ids[1]);
    vault_close();
    vault_flip(path);
    vault_open();
    ck_assert(!mig_backups_expired(backups, INT64_MAX, due));
}
END_TEST

/* --- copies, as certificates name them ---------------------------------------------------------
 */

static enum err count_copy(void *ctx, const struct ten_copy *copy)
{
    ck_assert_uint_eq(strlen(copy->id), MIG_BACKUP_ID);
    ck_assert_int_gt(copy->created_us, 0);
    ++*(int *)ctx;
    return ERR_OK;
}

static int copies(void)
{
    int count = 0;
    ck_assert_int_eq(mig_backup_copies_visit(backups, count_copy, &count, &eb), ERR_OK);
    return count;
}

static bool look_at_copies(void *ctx)
{
    *(int *)ctx = copies();
    return false;
}

START_TEST(copy_is_told_of_from_its_first_byte_to_its_last)
{
    char id[MIG_BACKUP_ID + 1];
    int meanwhile = 0;
    struct mig_backup_watch watch = {.stop = look_at_copies, .ctx = &meanwhile};
    vault_fill("altostrat", 10);
    ck_assert_int_eq(copies(), 0);
    ck_assert_int_eq(vault_try_backup(0, &watch, id), ERR_OK);
    ck_assert_int_eq(meanwhile, 1);
    ck_assert_int_eq(copies(), 1);
    ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(id), &eb), ERR_OK);
    ck_assert_int_eq(copies(), 1); /* its files are still there */
    ck_assert_int_eq(mig_backups_sweep(backups, &eb), ERR_OK);
    ck_assert_int_eq(copies(), 0);
}
END_TEST

/* --- under load ------------------------------------------------------------------------------- */

struct writer {
    struct tent tent; /* with a mailbox of its own */
    const char *id;
    atomic_int acked; /* rows 0 to acked - 1 are durable */
    atomic_bool stop;
};

static void *write_on(void *arg)
{
    struct writer *w = arg;
    w->tent.slot = base_epoch_join(w->tent.epoch);
    struct ten_tenant *t = tent_find(&w->tent, w->id);
    while (!atomic_load(&w->stop)) {
        char row[32];
        (void)snprintf(row, sizeof row, "row%05d", atomic_load(&w->acked));
        tent_write(&w->tent, t, "devices", row, "value");
        atomic_fetch_add(&w->acked, 1);
    }
    base_epoch_leave(w->tent.epoch, w->tent.slot);
    return NULL;
}

struct acked {
    const struct writer *writer;
    int least;
};

static bool is_acked(void *arg)
{
    const struct acked *a = arg;
    return atomic_load(&a->writer->acked) >= a->least;
}

static void await_acked(const struct writer *w, int least)
{
    process_await(is_acked, &(struct acked){w, least}, w->id);
}

#define WRITES_BESIDE 10 /* one is under way and may end whatever happens */

struct beside {
    struct writer *writers; /* two */
    bool is_asked;
};

/* The backup waits in here until both have written on. */
static bool await_writes(void *ctx)
{
    struct beside *b = ctx;
    int before[2];
    if (b->is_asked)
        return false;
    b->is_asked = true;
    for (int i = 0; i < 2; i++)
        before[i] = atomic_load(&b->writers[i].acked);
    for (int i = 0; i < 2; i++)
        await_acked(&b->writers[i], before[i] + WRITES_BESIDE);
    return false;
}

START_TEST(everything_acknowledged_before_is_in_it)
{
    static struct writer writers[2] = {{.id = "altostrat"}, {.id = "cirrus"}};
    struct beside beside = {.writers = writers};
    struct mig_backup_watch watch = {.stop = await_writes, .ctx = &beside};
    pthread_t threads[2];
    int acked[2];
    char id[MIG_BACKUP_ID + 1];
    for (int i = 0; i < 2; i++) {
        vault_fill(writers[i].id, 0);
        writers[i].tent = tent;
        ck_assert_int_eq(base_mailbox_init(&writers[i].tent.mail), ERR_OK);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_on, &writers[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        await_acked(&writers[i], 100);
    for (int i = 0; i < 2; i++)
        acked[i] = atomic_load(&writers[i].acked);
    ck_assert_int_eq(vault_try_backup(0, &watch, id), ERR_OK);
    ck_assert(beside.is_asked);
    for (int i = 0; i < 2; i++) {
        atomic_store(&writers[i].stop, true);
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        base_mailbox_fini(&writers[i].tent.mail);
    }
    ck_assert_int_eq(vault_restore(id), ERR_OK);
    vault_close();
    vault_move_in();
    tent_open(&tent);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_ge(vault_rows(writers[i].id), (uint64_t)acked[i]);
        ck_assert_uint_eq(tent_recount(&tent, tent_find(&tent, writers[i].id)).rows,
                          vault_rows(writers[i].id));
    }
    tent_close(&tent);
    memcpy(tent.dir, vault_home, sizeof tent.dir);
    tent_open(&tent);
}
END_TEST

/* --- killed ----------------------------------------------------------------------------------- */

static void make_and_die(int point)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char id[MIG_BACKUP_ID + 1];
        vault_open();
        vault_fill("altostrat", ROWS);
        if (point == MIG_POINT_UNLISTED)
            vault_backup(id);
        mig_backup_test_die_at(point);
        if (point == MIG_POINT_UNLISTED)
            ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(id), &eb), ERR_OK);
        else
            vault_backup(id);
        _exit(1);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 137, "status %d", status);
}

START_TEST(killed_anywhere_there_is_a_whole_backup_or_none)
{
    char path[400];
    vault_make();
    make_and_die(_i);
    vault_open();
    size_t expected = _i == MIG_POINT_LISTED;
    ck_assert_uint_eq(vault_count(), expected);
    (void)snprintf(path, sizeof path, "%s/files", vault_dir);
    ck_assert_int_eq(vault_files_in(path) > 0, expected > 0);
    (void)snprintf(path, sizeof path, "%s/scratch", vault_dir);
    ck_assert_int_ne(access(path, F_OK), 0);
    (void)snprintf(path, sizeof path, "%s/checkpoint", tent.dir);
    ck_assert_int_ne(access(path, F_OK), 0);
    vault_ms += 1000;
    char id[MIG_BACKUP_ID + 1];
    vault_backup(id);
    ck_assert_int_eq(vault_verify(id), ERR_OK);
    ck_assert_uint_eq(vault_count(), expected + 1);
    vault_teardown();
}
END_TEST

Suite *suite_migrations_backup(void)
{
    Suite *suite = suite_create("migrations_backup");
    TCase *making = tcase_create("making");
    tcase_add_checked_fixture(making, vault_setup, vault_teardown);
    tcase_set_timeout(making, 600);
    tcase_add_test(making, backup_says_what_it_holds);
    tcase_add_test(making, second_backup_copies_only_what_is_new);
    tcase_add_test(making, deleting_takes_only_files_that_no_other_names);
    tcase_add_test(making, list_is_the_same_after_a_restart);
    tcase_add_test(making, one_server_has_the_directory);
    tcase_add_test(making, a_directory_stays_its_first_servers);
    tcase_add_test(making, full_disk_is_refused_before_anything_is_copied);
    tcase_add_test(making, stopped_backup_leaves_nothing);
    tcase_add_test(making, expired_ones_go_but_never_the_newest);
    tcase_add_test(making, damaged_one_is_not_the_newest);
    tcase_add_test(making, copy_is_told_of_from_its_first_byte_to_its_last);
    tcase_add_test(making, everything_acknowledged_before_is_in_it);
    suite_add_tcase(suite, making);
    TCase *killed = tcase_create("killed");
    tcase_set_timeout(killed, 600);
    tcase_add_loop_test(killed, killed_anywhere_there_is_a_whole_backup_or_none, 0,
                        MIG_POINT_UNLISTED + 1);
    suite_add_tcase(suite, killed);
    return suite;
}
