/*
 * tests/migrations/vault.h - a tent with tenants, and backups of it.
 *
 * Does:     fill, open backups, make, restore, damage, look what lies in a directory.
 * Owns:     the tent's directory, with the backups and what was restored in it.
 * May use:  base/, storage/, tenancy/, migrations/, tests/tenancy/tent_rows.h, libcheck.
 * Knows no: HTTP.
 * Threads:  the test's main thread.
 * Blocks:   yes.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: none.
 */
#ifndef TESTS_MIGRATIONS_VAULT_H
#define TESTS_MIGRATIONS_VAULT_H

#include "tests/tenancy/tent_rows.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "migrations/backup.h"
#include "migrations/datadir.h"
#include "migrations/restore.h"
#include "tenancy/erasure_ledger.h"
#include "tenancy/erasure_replay.h"
#include "tenancy/job_doc.h"

#define VAULT_FN static inline __attribute__((unused))

static struct tent tent;
static struct mig_backups *backups;
static struct errbuf eb;
static char vault_dir[300];    /* the backups' */
static char vault_home[256];   /* where the tent was made */
static char restored_dir[300]; /* not made */
static uint64_t vault_ms;      /* of the last ID */

VAULT_FN void vault_put_file(const char *dir, const char *name, const char *text)
{
    char path[700];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    ck_assert_int_eq(base_file_replace(path, base_slice_text(text), 0600, &eb), ERR_OK);
}

VAULT_FN void vault_make(void)
{
    tent_make(&tent);
    memcpy(vault_home, tent.dir, sizeof vault_home);
    (void)snprintf(vault_dir, sizeof vault_dir, "%s/backups", tent.dir);
    (void)snprintf(restored_dir, sizeof restored_dir, "%s/restored", tent.dir);
    vault_put_file(tent.dir, "pepper", "a secret of the tests");
    vault_put_file(tent.dir, "ca.pem", "a certificate");
    vault_ms = 1000000;
    memset(&eb, 0, sizeof eb);
}

static const char *vault_owner = "the vault of these tests";

VAULT_FN enum err vault_try_open(struct mig_backups **out)
{
    const struct mig_backups_options o = {.dir = vault_dir,
                                          .data = tent.dir,
                                          .owner = vault_owner,
                                          .data_format = MIG_FORMAT_VERSION,
                                          .software = "0.0.test",
                                          .keep_free_bytes = MIB,
                                          .engine = tent.engine};
    memset(&eb, 0, sizeof eb);
    return mig_backups_open(&o, out, &eb);
}

VAULT_FN void vault_open(void)
{
    tent_open(&tent);
    enum err rc = vault_try_open(&backups);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    vault_put_file(vault_dir, TEN_LEDGER_FILE, "");
}

VAULT_FN void vault_close(void)
{
    mig_backups_close(backups);
    backups = NULL;
    tent_close(&tent);
}

VAULT_FN void vault_setup(void)
{
    vault_make();
    vault_open();
}

VAULT_FN void vault_teardown(void)
{
    vault_close();
    memcpy(tent.dir, vault_home, sizeof tent.dir);
    tent_remove(&tent);
}

/* Up to VAULT_IN_FLIGHT writes share a commit. */
#define VAULT_IN_FLIGHT 100

struct vault_write {
    struct sto_mutate_op op;
    char row[32];
    bool done;
};

VAULT_FN void vault_fill(const char *id, int rows)
{
    struct sto_table_scope scope;
    struct ten_tenant *t = tent_create(&tent, id);
    tent_table(&tent, t, "devices");
    ck_assert_int_eq(ten_scope_table(t, SLICE_LIT("devices"), &scope, &tent.eb), ERR_OK);
    struct sto_mutation m = {.kind = STO_SET_CELL,
                             .family = scope.schema->families[0].number,
                             .qualifier = SLICE_LIT("q"),
                             .timestamp_us = STO_TIMESTAMP_SERVER,
                             .value = SLICE_LIT("value")};
    struct vault_write *writes = base_new_array(VAULT_IN_FLIGHT, sizeof *writes);
    for (int first = 0; first < rows; first += VAULT_IN_FLIGHT) {
        int count = rows - first < VAULT_IN_FLIGHT ? rows - first : VAULT_IN_FLIGHT;
        for (int i = 0; i < count; i++) {
            struct vault_write *w = &writes[i];
            uint64_t retry_ns;
            (void)snprintf(w->row, sizeof w->row, "row%05d", first + i);
            w->done = false;
            w->op = (struct sto_mutate_op){.reply_to = &tent.mail,
                                           .done = tent_mutate_done,
                                           .user = &w->done,
                                           .scope = scope,
                                           .row_key = base_slice_text(w->row),
                                           .mutations = &m,
                                           .mutation_count = 1};
            ck_assert_int_eq(tent_admit(&tent, t, TEN_WRITE, 1, &retry_ns), ERR_OK);
            ck_assert_int_eq(
                sto_mutations_check(scope.schema, scope.tenant.account, w->op.row_key, &m, 1, &eb),
                ERR_OK);
            sto_mutate_row(tent.engine, &w->op);
        }
        for (int i = 0; i < count; i++) {
            tent_wait_flag(&tent, &writes[i].done);
            ck_assert_msg(writes[i].op.result == ERR_OK, "%s", writes[i].op.detail.text);
        }
    }
    base_free(writes);
    sto_table_scope_release(&scope);
}

/* A backup of a moment, and when it expires; its ID goes to out_id when that is not NULL. */
VAULT_FN enum err vault_try_backup(int64_t expires_us, struct mig_backup_watch *watch,
                                   char out_id[MIG_BACKUP_ID + 1])
{
    struct mig_backup_watch own = {.stop = NULL};
    struct mig_backup_wanted wanted = {
        .now_us = (int64_t)vault_ms * 1000, .expires_us = expires_us, .note = "of a test"};
    memset(&eb, 0, sizeof eb);
    ten_job_id_make(vault_ms++, wanted.id);
    if (out_id != NULL)
        memcpy(out_id, wanted.id, sizeof wanted.id);
    return mig_backups_make(backups, &wanted, watch == NULL ? &own : watch, &eb);
}

/* Of a tenant; table "": all of it. */
VAULT_FN enum err vault_try_scoped(const char *tenant, const char *table, const char *name,
                                   struct mig_backup_watch *watch, char out_id[MIG_BACKUP_ID + 1])
{
    struct mig_backup_watch own = {.stop = NULL};
    struct sto_tenant_scope scope = ten_scope_tenant(tent_find(&tent, tenant));
    struct mig_backup_wanted wanted = {
        .now_us = (int64_t)vault_ms * 1000, .note = "of a tenant", .tenant = &scope};
    memset(&eb, 0, sizeof eb);
    (void)snprintf(wanted.scope.tenant, sizeof wanted.scope.tenant, "%s", tenant);
    (void)snprintf(wanted.scope.table, sizeof wanted.scope.table, "%s", table);
    (void)snprintf(wanted.scope.name, sizeof wanted.scope.name, "%s", name);
    ten_job_id_make(vault_ms++, wanted.id);
    if (out_id != NULL)
        memcpy(out_id, wanted.id, sizeof wanted.id);
    return mig_backups_make(backups, &wanted, watch == NULL ? &own : watch, &eb);
}

VAULT_FN void vault_scoped(const char *tenant, const char *table, const char *name,
                           char out_id[MIG_BACKUP_ID + 1])
{
    enum err rc = vault_try_scoped(tenant, table, name, NULL, out_id);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
}

VAULT_FN void vault_backup(char out_id[MIG_BACKUP_ID + 1])
{
    enum err rc = vault_try_backup(0, NULL, out_id);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
}

VAULT_FN enum err vault_verify(const char *id)
{
    struct mig_backup_watch watch = {.stop = NULL};
    memset(&eb, 0, sizeof eb);
    enum err rc = mig_backups_verify(backups, base_slice_text(id), &watch, &eb);
    ck_assert_int_eq(rc == ERR_OK, eb.text[0] == '\0');
    return rc;
}

VAULT_FN size_t vault_count(void)
{
    struct mig_backup_entry *entries = base_new_array(MIG_BACKUPS_MAX, sizeof *entries);
    size_t count = mig_backups_list(backups, entries, MIG_BACKUPS_MAX);
    base_free(entries);
    return count;
}

VAULT_FN enum err vault_restore(const char *id)
{
    const struct mig_restore_options o = {.data = restored_dir, .backups = vault_dir, .backup = id};
    struct mig_backup out;
    memset(&eb, 0, sizeof eb);
    return mig_restore(&o, &out, &eb);
}

VAULT_FN void vault_drop_restored(void)
{
    (void)nftw(restored_dir, tent_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Open what was restored as the tent; the other one is closed. */
VAULT_FN void vault_move_in(void)
{
    (void)snprintf(tent.dir, sizeof tent.dir, "%.255s", restored_dir);
}

VAULT_FN size_t vault_files_in(const char *dir)
{
    size_t count = 0;
    DIR *d = opendir(dir);
    if (d == NULL)
        return 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

/* The list of a backup, with its files. */
VAULT_FN struct mig_backup vault_read(const char *id)
{
    struct mig_backup out;
    char path[700];
    struct buf text = {0};
    (void)snprintf(path, sizeof path, "%s/backups/%s.json", vault_dir, id);
    ck_assert_int_eq(base_file_read(path, LIM_BACKUP_MANIFEST_BYTES, &text, &eb), ERR_OK);
    ck_assert_int_eq(mig_backup_decode(base_buf_slice(&text), &out, &eb), ERR_OK);
    base_buf_fini(&text);
    return out;
}

/* Change a bit of the byte in the middle. */
VAULT_FN void vault_flip(const char *path)
{
    uint8_t byte;
    int fd = open(path, O_RDWR);
    struct stat st;
    ck_assert_msg(fd >= 0 && fstat(fd, &st) == 0, "%s", path);
    ck_assert_int_eq(pread(fd, &byte, 1, st.st_size / 2), 1);
    byte ^= 0x04;
    ck_assert_int_eq(pwrite(fd, &byte, 1, st.st_size / 2), 1);
    close(fd);
}

VAULT_FN uint64_t vault_rows(const char *id)
{
    struct tent_sink sink;
    tent_sink_init(&sink);
    ck_assert_int_eq(tent_scan(&tent, tent_find(&tent, id), "devices", &sink), ERR_OK);
    uint64_t rows = sink.rows;
    tent_sink_fini(&sink);
    return rows;
}

#endif
