/*
 * tests/migrations/test_backup_count.c - a backup reads the tables that are new, and knows of all
 * others how much they hold.
 */
#include "tests/migrations/vault.h"

#include "migrations/backup_internal.h"

#include "base/banned.h"

Suite *suite_migrations_backup_count(void);

#define ROWS 2000

static bool is_table(const struct mig_backup_file *file)
{
    return strstr(file->path, ".sst") != NULL;
}

static uint64_t table_bytes(const struct mig_backup *b)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < b->file_count; i++)
        bytes += is_table(&b->files[i]) ? b->files[i].content.size : 0;
    return bytes;
}

/* Returns how many bytes of tables were read to be counted. */
static uint64_t counted_backup(char id[MIG_BACKUP_ID + 1])
{
    struct mig_backup_watch watch = {.stop = NULL};
    ck_assert_msg(vault_try_backup(0, &watch, id) == ERR_OK, "%s", eb.text);
    return atomic_load(&watch.counted_bytes);
}

/* As it would be on the disk. */
static void list_put(const struct mig_backup *b)
{
    char path[700];
    struct buf text;
    base_buf_init(&text, LIM_BACKUP_MANIFEST_BYTES);
    ck_assert_int_eq(mig_backup_encode(b, &text, &eb), ERR_OK);
    (void)snprintf(path, sizeof path, "%s/backups/%s.json", vault_dir, b->id);
    ck_assert_int_eq(base_file_replace(path, base_buf_slice(&text), 0600, &eb), ERR_OK);
    base_buf_fini(&text);
}

static struct mig_backup_file *first_table(struct mig_backup *b)
{
    for (size_t i = 0; i < b->file_count; i++)
        if (is_table(&b->files[i]))
            return &b->files[i];
    ck_abort_msg("there is no table");
    return NULL;
}

START_TEST(a_table_is_read_when_it_is_new)
{
    char first[MIG_BACKUP_ID + 1], second[MIG_BACKUP_ID + 1], third[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", ROWS);
    uint64_t all = counted_backup(first);
    struct mig_backup a = vault_read(first);
    ck_assert_uint_ge(all, table_bytes(&a));
    ck_assert_uint_gt(table_bytes(&a), 10000);
    for (size_t i = 0; i < a.file_count; i++)
        ck_assert_int_eq(a.files[i].keys > 0, is_table(&a.files[i]));
    ck_assert_uint_eq(counted_backup(second), 0);
    struct mig_backup b = vault_read(second);
    ck_assert_mem_eq(b.counts.keys, a.counts.keys, sizeof a.counts.keys);
    ck_assert_uint_eq(b.counts.documents, 1);
    vault_fill("cirrus", 5);
    uint64_t some = counted_backup(third);
    ck_assert_uint_gt(some, 0);
    ck_assert_uint_lt(some, all);
    struct mig_backup c = vault_read(third);
    ck_assert_uint_eq(c.counts.documents, 2);
    ck_assert_uint_gt(c.counts.keys[STO_IMAGE_CELLS], a.counts.keys[STO_IMAGE_CELLS]);
    ck_assert_int_eq(vault_verify(first), ERR_OK);
    ck_assert_int_eq(vault_verify(second), ERR_OK);
    ck_assert_int_eq(vault_verify(third), ERR_OK);
    mig_backup_fini(&a);
    mig_backup_fini(&b);
    mig_backup_fini(&c);
}
END_TEST

/* A row's header is written again with each new cell: readers see the newest one. */
START_TEST(what_is_hidden_is_counted_where_it_is_stored)
{
    char id[MIG_BACKUP_ID + 1], later[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", ROWS);
    (void)counted_backup(id);
    struct mig_backup before = vault_read(id);
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    for (int i = 0; i < 10; i++) {
        char row[32];
        (void)snprintf(row, sizeof row, "row%05d", i);
        tent_write(&tent, t, "devices", row, "newer");
    }
    (void)counted_backup(later);
    struct mig_backup after = vault_read(later);
    ck_assert_uint_ge(after.counts.keys[STO_IMAGE_CELLS], before.counts.keys[STO_IMAGE_CELLS] + 20);
    ck_assert_int_eq(vault_verify(later), ERR_OK);
    mig_backup_fini(&before);
    mig_backup_fini(&after);
}
END_TEST

static void flip_in_database(const char *path)
{
    char full[700];
    (void)snprintf(full, sizeof full, "%s/%s", tent.dir, path);
    vault_flip(full);
}

/* Its hash would be that of the damage. */
START_TEST(a_new_table_that_is_damaged_makes_no_backup)
{
    char first[MIG_BACKUP_ID + 1], second[MIG_BACKUP_ID + 1], third[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", ROWS);
    (void)counted_backup(first);
    vault_fill("cirrus", ROWS);
    (void)counted_backup(second);
    struct mig_backup a = vault_read(first), b = vault_read(second);
    const struct mig_backup_file *largest = NULL; /* of those that only the second has */
    for (size_t i = 0; i < b.file_count; i++) {
        bool is_new = is_table(&b.files[i]);
        for (size_t k = 0; is_new && k < a.file_count; k++)
            is_new = strcmp(a.files[k].path, b.files[i].path) != 0;
        if (is_new && (largest == NULL || b.files[i].content.size > largest->content.size))
            largest = &b.files[i];
    }
    ck_assert_ptr_nonnull(largest);
    flip_in_database(largest->path);
    ck_assert_int_eq(mig_backups_delete(backups, base_slice_text(second), &eb), ERR_OK);
    ck_assert_int_eq(mig_backups_sweep(backups, &eb), ERR_OK);
    ck_assert_int_eq(vault_try_backup(0, NULL, third), ERR_CORRUPT);
    ck_assert_msg(strstr(eb.text, largest->path) != NULL, "%s", eb.text);
    ck_assert_uint_eq(vault_count(), 1);
    mig_backup_fini(&a);
    mig_backup_fini(&b);
}
END_TEST

/* Nobody reads it for the next backup: verifying does. And what was found damaged once is read. */
START_TEST(a_copy_that_rots_is_found_by_verifying)
{
    char first[MIG_BACKUP_ID + 1], second[MIG_BACKUP_ID + 1], path[BASE_PATH_BYTES];
    vault_fill("altostrat", ROWS);
    (void)counted_backup(first);
    struct mig_backup a = vault_read(first);
    const struct mig_backup_file *largest = first_table(&a);
    for (size_t i = 0; i < a.file_count; i++)
        if (is_table(&a.files[i]) && a.files[i].content.size > largest->content.size)
            largest = &a.files[i];
    ck_assert_int_eq(mig_files_path(vault_dir, largest->content.sha256, path, &eb), ERR_OK);
    vault_flip(path);
    ck_assert_uint_eq(counted_backup(second), 0);
    ck_assert_int_eq(vault_verify(second), ERR_CORRUPT);
    ck_assert_msg(strstr(eb.text, largest->path) != NULL, "%s", eb.text);
    const struct mig_verified found = {.finished_us = 1, .result = ERR_CORRUPT, .error = "x"};
    ck_assert_int_eq(mig_backups_set_verified(backups, base_slice_text(second), &found, &eb),
                     ERR_OK);
    ck_assert_int_eq(vault_try_backup(0, NULL, NULL), ERR_CORRUPT);
    vault_flip(path); /* sound again */
    struct mig_backup_watch watch = {.stop = NULL};
    ck_assert_int_eq(vault_try_backup(0, &watch, NULL), ERR_OK);
    ck_assert_uint_ge(atomic_load(&watch.counted_bytes), table_bytes(&a));
    mig_backup_fini(&a);
}
END_TEST

/* Which knows the number of keys only, and no table's. */
START_TEST(a_backup_of_an_earlier_version_is_verified_by_its_keys)
{
    char first[MIG_BACKUP_ID + 1], second[MIG_BACKUP_ID + 1], scratch[400];
    struct mig_backup_watch watch = {.stop = NULL};
    struct sto_image_counts counts;
    vault_fill("altostrat", ROWS);
    (void)counted_backup(first);
    struct mig_backup a = vault_read(first);
    (void)snprintf(scratch, sizeof scratch, "%s/scratch", vault_dir);
    ck_assert_int_eq(mig_backup_count(vault_dir, scratch, &a, &watch, &counts, &eb), ERR_OK);
    a.is_by_entries = false;
    a.counts = counts;
    for (size_t i = 0; i < a.file_count; i++)
        a.files[i].keys = 0;
    list_put(&a);
    ck_assert_int_eq(vault_verify(first), ERR_OK);
    ck_assert_uint_ge(counted_backup(second), table_bytes(&a)); /* once */
    ck_assert_int_eq(vault_verify(second), ERR_OK);
    a.counts.keys[STO_IMAGE_CELLS]++;
    list_put(&a);
    ck_assert_int_eq(vault_verify(first), ERR_CORRUPT);
    ck_assert_msg(strstr(eb.text, " keys of cells instead of ") != NULL, "%s", eb.text);
    mig_backup_fini(&a);
}
END_TEST

START_TEST(a_list_with_another_number_or_none_is_found)
{
    char id[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", ROWS);
    (void)counted_backup(id);
    struct mig_backup a = vault_read(id);
    struct mig_backup_file *file = first_table(&a);
    file->keys++;
    list_put(&a);
    ck_assert_int_eq(vault_verify(id), ERR_CORRUPT);
    ck_assert_msg(strstr(eb.text, " entries of ") != NULL, "%s", eb.text);
    file->keys = 0;
    list_put(&a);
    ck_assert_int_eq(vault_verify(id), ERR_CORRUPT);
    ck_assert_msg(strstr(eb.text, "does not say how many entries") != NULL, "%s", eb.text);
    mig_backup_fini(&a);
}
END_TEST

static bool stop_now(void *ctx)
{
    return ++*(int *)ctx > 1;
}

START_TEST(counting_can_be_stopped)
{
    char path[BASE_PATH_BYTES], id[MIG_BACKUP_ID + 1];
    int asked = 1;
    uint64_t entries = 0;
    const struct sto_table_count how = {.stop = stop_now, .ctx = &asked};
    vault_fill("altostrat", ROWS);
    (void)counted_backup(id);
    struct mig_backup a = vault_read(id);
    ck_assert_int_eq(mig_files_path(vault_dir, first_table(&a)->content.sha256, path, &eb), ERR_OK);
    ck_assert_int_eq(sto_rocksdb_table_count(path, &how, &entries, &eb), ERR_CANCELLED);
    ck_assert_int_eq(sto_rocksdb_table_count("/nowhere", &how, &entries, &eb), ERR_NOT_FOUND);
    mig_backup_fini(&a);
}
END_TEST

Suite *suite_migrations_backup_count(void)
{
    Suite *s = suite_create("migrations_backup_count");
    TCase *t = tcase_create("count");
    tcase_set_timeout(t, 180);
    tcase_add_checked_fixture(t, vault_setup, vault_teardown);
    tcase_add_test(t, a_table_is_read_when_it_is_new);
    tcase_add_test(t, what_is_hidden_is_counted_where_it_is_stored);
    tcase_add_test(t, a_new_table_that_is_damaged_makes_no_backup);
    tcase_add_test(t, a_copy_that_rots_is_found_by_verifying);
    tcase_add_test(t, a_backup_of_an_earlier_version_is_verified_by_its_keys);
    tcase_add_test(t, a_list_with_another_number_or_none_is_found);
    tcase_add_test(t, counting_can_be_stopped);
    suite_add_tcase(s, t);
    return s;
}
