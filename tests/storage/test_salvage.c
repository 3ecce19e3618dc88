/*
 * tests/storage/test_salvage.c - a copy of a damaged database holds everything that can be read,
 * and says what it lacks.
 *
 * Over 500 lines because every kind of damage is set up from the same rows.
 */
#include "damaged.h"

#include <sys/stat.h>

#include "storage/rocksdb/file_copy.h"
#include "storage/rocksdb/manifest.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/salvage.h"
#include "storage/rocksdb/witness.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_storage_salvage(void);

enum { ROWS = 600, HIT = 300, NEAR = 40 /* rows of a file, and then some */, BYTES = 24 };

static char damaged_dir[300]; /* as the test left it */
static char copy_dir[300];
static int copy_keeper;
static struct sto_salvage salvage;
static struct errbuf eb;

/* --- directories ------------------------------------------------------------------------------ */

static void path_make(char out[600], const char *dir, const char *name)
{
    (void)snprintf(out, 600, "%s/%s", dir, name);
}

static void dir_remove(const char *dir)
{
    (void)nftw(dir, fix_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Whether every table file that its MANIFEST names is there. */
static bool dir_is_whole(const char *dir)
{
    struct rdb_manifest m = {0};
    char db[600], name[40], path[600];
    path_make(db, dir, "db");
    bool is_whole = sto_rdb_manifest_read(db, &m, &eb) == ERR_OK;
    for (size_t i = 0; i < m.file_count; i++) {
        (void)snprintf(name, sizeof name, "%06llu.sst", (unsigned long long)m.files[i].number);
        path_make(path, db, name);
        is_whole = is_whole && access(path, F_OK) == 0;
    }
    sto_rdb_manifest_fini(&m);
    return is_whole;
}

/* Of one whose engine may run: a file may come or go meanwhile. */
static void dir_copy(const char *from, const char *to)
{
    const char *const argv[] = {"/bin/cp", "-r", from, to, NULL};
    struct process_result *r = base_new(sizeof *r);
    bool is_copied = false;
    for (int tries = 0; tries < 20 && !is_copied; tries++) {
        dir_remove(to);
        process_run(argv, NULL, 60000, r);
        is_copied = r->exit_code == 0 && dir_is_whole(to);
    }
    ck_assert_msg(is_copied, "%s%s", r->output, eb.text);
    base_free(r);
}

/* The copy is what is damaged from then on. */
static void running_copy(void)
{
    (void)snprintf(damaged_dir, sizeof damaged_dir, "%.200s-again", fix.dir);
    dir_copy(fix.dir, damaged_dir);
}

static void running_close(void)
{
    fix_close();
    dir_remove(fix.dir);
}

/* The names and bytes of everything in it, as one number. */
static uint64_t dir_sum(const char *dir)
{
    uint64_t sum = 0;
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[600];
        struct stat st;
        struct buf b = {0};
        uint64_t one = 14695981039346656037u;
        if (e->d_name[0] == '.')
            continue;
        path_make(path, dir, e->d_name);
        ck_assert_int_eq(stat(path, &st), 0);
        if (S_ISDIR(st.st_mode)) {
            sum += dir_sum(path);
            continue;
        }
        ck_assert_int_eq(base_file_read(path, 256 * MIB, &b, NULL), ERR_OK);
        for (const char *c = e->d_name; *c != '\0'; c++)
            one = (one ^ (uint8_t)*c) * 1099511628211u;
        for (size_t i = 0; i < b.len; i++)
            one = (one ^ b.ptr[i]) * 1099511628211u;
        base_buf_fini(&b);
        sum += one;
    }
    (void)closedir(d);
    return sum;
}

static void file_of_row(size_t tenant, int row, int version, char out[600])
{
    char db[600];
    path_make(db, damaged_dir, "db");
    damaged_file_of(db, tenant, row, version, out);
}

/* --- salvaging -------------------------------------------------------------------------------- */

static enum err salvage_try(void)
{
    memset(&eb, 0, sizeof eb);
    dir_remove(copy_dir);
    ck_assert_int_eq(base_dir_make(copy_dir, 0700, &eb), ERR_OK);
    return sto_salvage_open(damaged_dir, copy_dir, &fix.options, &salvage, &eb);
}

static enum err lost_recount(void *ctx, const struct sto_salvage_lost *lost)
{
    char name[LIM_TENANT_ID + LIM_TABLE_ID + 2];
    struct sto_usage before, now;
    size_t *count = ctx;
    int len = snprintf(name, sizeof name, "%.*s/%.*s", (int)lost->tenant.len,
                       (const char *)lost->tenant.ptr, (int)lost->table.len,
                       (const char *)lost->table.ptr);
    (*count)++;
    ck_assert(lost->is_rows);
    return sto_salvage_recount(&salvage, base_slice(name, (size_t)len), &before, &now, &eb);
}

/* Salvages, counts anew, and opens the copy as the fixture. Returns how many ranges are lost. */
static size_t salvage_and_open(void)
{
    size_t lost = 0;
    uint64_t before = dir_sum(damaged_dir);
    enum err rc = salvage_try();
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    ck_assert_str_eq(eb.text, "");
    rc = sto_salvage_visit_lost(&salvage, lost_recount, &lost, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    ck_assert_uint_eq(dir_sum(damaged_dir), before); /* promise 1 */
    sto_engine_close(salvage.engine);
    salvage.engine = NULL;
    (void)snprintf(fix.dir, sizeof fix.dir, "%.200s", copy_dir);
    fix_open();
    return lost;
}

static void copy_close(void)
{
    fix_close();
    sto_salvage_close(&salvage);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Whether the row has exactly that value. */
static enum err row_check(size_t tenant, int row, int version)
{
    char key[16], value[DAMAGED_VALUE + 1];
    struct fix_sink s;
    damaged_row_key(key, row);
    damaged_value(value, tenant, row, version);
    fix_sink_init(&s);
    enum err rc = fix_read(&fix.tables[tenant][0],
                           &(struct sto_read_spec){.row_key = base_slice_text(key)}, &s, false);
    if (rc == ERR_OK && (s.text.len < DAMAGED_VALUE ||
                         memmem(s.text.ptr, s.text.len, value, DAMAGED_VALUE) == NULL))
        rc = ERR_NOT_FOUND;
    base_buf_fini(&s.text);
    return rc;
}

/* Every row is there as it was written, or is an error near HIT. Returns how many are errors. */
static int rows_check(size_t tenant, int near)
{
    int lost = 0;
    for (int i = 0; i < ROWS; i++) {
        enum err rc = row_check(tenant, i, 1);
        ck_assert_msg(rc == ERR_OK || (rc == ERR_CORRUPT && abs(i - HIT) < near),
                      "tenant %zu row %d: %d", tenant, i, (int)rc);
        lost += rc == ERR_CORRUPT;
    }
    return lost;
}

static void counters_check(void)
{
    for (size_t i = 0; i < FIX_TENANTS; i++) {
        struct sto_recount_op op = {.scope = fix.tenants[i],
                                    .skip_lost = true,
                                    .reply_to = &fix.mailbox,
                                    .done = fix_recount_done};
        fix.outstanding++;
        sto_recount(fix.engine, &op);
        fix_wait();
        ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
        ck_assert_uint_eq(op.counted.bytes, op.recorded.bytes);
        ck_assert_uint_eq(op.counted.rows, op.recorded.rows);
        ck_assert_uint_eq(op.counted.cells, op.recorded.cells);
    }
}

static enum err bad_block_count(void *ctx, const struct rdb_bad_block *block)
{
    (void)block;
    ++*(int *)ctx;
    return ERR_OK;
}

/* Of all table files of the copy, which nobody has open. */
static int bad_blocks(void)
{
    char db[600];
    int count = 0;
    path_make(db, copy_dir, "db");
    DIR *d = opendir(db);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[600];
        (void)snprintf(path, sizeof path, "%.300s/%s", db, e->d_name);
        if (strstr(e->d_name, ".sst") != NULL)
            ck_assert_int_eq(sto_rdb_table_check(path, bad_block_count, &count), ERR_OK);
    }
    (void)closedir(d);
    return count;
}

/* In files of the last level, so that a file's keys are near each other. */
static void setup(void)
{
    fix_setup();
    (void)snprintf(damaged_dir, sizeof damaged_dir, "%s", fix.dir);
    char dir[PROCESS_PATH];
    copy_keeper = process_temp_dir(dir);
    (void)snprintf(copy_dir, sizeof copy_dir, "%.299s", dir);
    damaged_put(0, 0, ROWS, 1);
    damaged_put(1, 0, ROWS, 1);
    fix_flush();
    sto_rdb_range_compact(sto_rdb_engine(fix.engine), RDB_CF_CELLS, SLICE_LIT("ab#"),
                          SLICE_LIT("b-0$"));
    fix_close();
}

static void teardown(void)
{
    if (fix.engine != NULL)
        copy_close();
    sto_salvage_close(&salvage);
    base_mailbox_fini(&fix.mailbox);
    process_temp_dir_remove(copy_dir, copy_keeper);
    dir_remove(damaged_dir);
}

/* --- tests ------------------------------------------------------------------------------------ */

START_TEST(a_sound_database_is_copied_whole)
{
    ck_assert_uint_eq(salvage_and_open(), 0);
    ck_assert_uint_eq(salvage.piece_count, 0);
    ck_assert_uint_gt(salvage.files, 10);
    ck_assert_uint_ge(salvage.sequence, salvage.witnessed);
    ck_assert_uint_gt(salvage.witnessed, 0);
    ck_assert_int_eq(rows_check(0, 0) + rows_check(1, 0), 0);
    counters_check();
}
END_TEST

START_TEST(a_damaged_block_is_left_out_and_its_rows_are_named)
{
    char path[600], value[DAMAGED_VALUE + 1];
    file_of_row(0, HIT, 1, path);
    damaged_value(value, 0, HIT, 1);
    damaged_byte_flip(path, damaged_find(path, value) + 10);
    ck_assert_uint_eq(salvage_and_open(), 1);
    ck_assert_uint_eq(salvage.piece_count, 1);
    ck_assert_int_eq(salvage.pieces[0].kind, STO_SALVAGE_BLOCK);
    ck_assert_uint_gt(salvage.pieces[0].bytes, 1000);
    ck_assert_uint_lt(salvage.pieces[0].bytes, 20000);
    int lost = rows_check(0, 20);
    ck_assert_int_ge(lost, 1);
    ck_assert_int_le(lost, 20);
    ck_assert_int_eq(row_check(0, HIT, 1), ERR_CORRUPT);
    ck_assert_int_eq(rows_check(1, 0), 0);
    counters_check();
    fix_reopen();
    ck_assert_int_eq(rows_check(0, 20), lost);
    counters_check();
    struct sto_damage damage; /* the copy has no damaged block */
    sto_damage_get(fix.engine, &damage);
    ck_assert_uint_eq(damage.count, 0);
    fix_close();
    ck_assert_int_eq(bad_blocks(), 0);
    fix_open();
}
END_TEST

/* Data, parts of index and filter, their lists, properties, footer: whatever it is. */
START_TEST(any_byte_of_a_file_may_be_damaged)
{
    char path[600];
    struct stat st;
    file_of_row(0, HIT, 1, path);
    ck_assert_int_eq(stat(path, &st), 0);
    off_t tail = 4000 < st.st_size ? 4000 : st.st_size; /* everything but data, and some of that */
    off_t at = _i < BYTES / 8 ? st.st_size * _i / (BYTES / 8)
                              : st.st_size - tail + tail * (_i - BYTES / 8) / (BYTES - BYTES / 8);
    damaged_byte_flip(path, at);
    (void)salvage_and_open();
    (void)rows_check(0, NEAR);
    ck_assert_int_eq(rows_check(1, 0), 0);
    counters_check();
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    sto_rdb_range_compact(e, RDB_CF_CELLS, SLICE_LIT("ab#"), SLICE_LIT("b-0$"));
    ck_assert_int_eq(sto_rdb_compactions_check(e, NULL), ERR_OK);
    (void)rows_check(0, NEAR);
    damaged_assert_sound();
}
END_TEST

/* No key is lost with a part of a filter, nor with the list of its parts. */
START_TEST(a_damaged_filter_costs_nothing)
{
    char path[600];
    file_of_row(0, HIT, 1, path);
    ck_assert(damaged_flip_kind(path, _i == 0 ? RDB_BLOCK_FILTER : RDB_BLOCK_FILTERS));
    ck_assert_uint_eq(salvage_and_open(), 0);
    ck_assert_uint_eq(salvage.piece_count, 0);
    ck_assert_int_eq(rows_check(0, 0) + rows_check(1, 0), 0);
    ck_assert_int_eq(row_check(0, ROWS + 5, 1), ERR_NOT_FOUND);
    counters_check();
    fix_close();
    ck_assert_int_eq(bad_blocks(), _i == 0 ? 0 : 1); /* the list is no part: nothing reads it */
    fix_open();
}
END_TEST

START_TEST(a_damaged_part_of_the_index_loses_what_it_names)
{
    char path[600];
    file_of_row(0, HIT, 1, path);
    ck_assert(damaged_flip_kind(path, RDB_BLOCK_INDEX));
    ck_assert_uint_eq(salvage_and_open(), 1);
    ck_assert_int_eq(salvage.pieces[0].kind, STO_SALVAGE_BLOCK);
    ck_assert_int_gt(rows_check(0, NEAR), 0);
    ck_assert_int_eq(rows_check(1, 0), 0);
    counters_check();
}
END_TEST

START_TEST(a_file_that_is_cut_off_or_missing_is_left_out)
{
    char path[600];
    struct stat st;
    file_of_row(0, HIT, 1, path);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(_i == 0 ? unlink(path) : truncate(path, st.st_size / 2), 0);
    ck_assert_uint_eq(salvage_and_open(), 1);
    ck_assert_int_eq(salvage.pieces[0].kind, _i == 0 ? STO_SALVAGE_MISSING_FILE : STO_SALVAGE_FILE);
    ck_assert_uint_eq(salvage.pieces[0].bytes, (uint64_t)st.st_size);
    ck_assert_int_gt(rows_check(0, NEAR), 10);
    ck_assert_int_eq(row_check(0, HIT, 1), ERR_CORRUPT);
    ck_assert_int_eq(rows_check(1, 0), 0);
    counters_check();
    fix_reopen();
    ck_assert_int_eq(rows_check(1, 0), 0);
}
END_TEST

/* --- what is refused -------------------------------------------------------------------------- */

static void refuse(const char *says)
{
    uint64_t before = dir_sum(damaged_dir);
    ck_assert_int_eq(salvage_try(), ERR_CORRUPT);
    ck_assert_msg(strstr(eb.text, says) != NULL && strstr(eb.text, "restore a backup") != NULL,
                  "%s", eb.text);
    ck_assert_uint_eq(dir_sum(damaged_dir), before);
}

static void manifest_get(struct rdb_manifest *out)
{
    char db[600];
    path_make(db, damaged_dir, "db");
    enum err rc = sto_rdb_manifest_read(db, out, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
}

static void file_of_metadata(char out[600])
{
    struct rdb_manifest m;
    char name[40];
    bool is_found = false;
    manifest_get(&m);
    for (size_t i = 0; i < m.file_count && !is_found; i++) {
        is_found = m.files[i].family == RDB_CF_META;
        (void)snprintf(name, sizeof name, "db/%06llu.sst", (unsigned long long)m.files[i].number);
    }
    sto_rdb_manifest_fini(&m);
    ck_assert(is_found);
    path_make(out, damaged_dir, name);
}

START_TEST(damaged_metadata_is_refused)
{
    char path[600];
    file_of_metadata(path);
    damaged_byte_flip(path, 5);
    refuse("keys and schemas of all tenants");
    damaged_byte_flip(path, 5);
    ck_assert_int_eq(unlink(path), 0);
    refuse("is missing");
}
END_TEST

/* Damaged, and missing. */
START_TEST(metadata_comes_from_its_copy)
{
    char path[600], copy[620];
    uint64_t bytes;
    file_of_metadata(path);
    (void)snprintf(copy, sizeof copy, "%s.copy", path);
    ck_assert_int_eq(sto_file_copy(path, copy, 0600, false, &bytes, &eb), ERR_OK);
    if (_i == 0)
        damaged_byte_flip(path, 5);
    else
        ck_assert_int_eq(unlink(path), 0);
    ck_assert_uint_eq(salvage_and_open(), 0);
    ck_assert_int_eq(rows_check(0, 0), 0);
    counters_check();
    copy_close();
}
END_TEST

START_TEST(a_damaged_or_missing_manifest_is_refused)
{
    struct rdb_manifest m;
    char path[600];
    manifest_get(&m);
    damaged_byte_flip(m.path, (off_t)m.end / 2);
    refuse("MANIFEST");
    damaged_byte_flip(m.path, (off_t)m.end / 2);
    path_make(path, damaged_dir, "db/CURRENT");
    damaged_byte_flip(path, 3);
    refuse("CURRENT");
    damaged_byte_flip(path, 3);
    ck_assert_int_eq(unlink(m.path), 0);
    refuse("MANIFEST");
    sto_rdb_manifest_fini(&m);
}
END_TEST

/* --- logs ------------------------------------------------------------------------------------- */

enum { LOGGED = 60 };

/* As kill -9 leaves it: the rows behind ROWS are in a log only. */
static void setup_logged(void)
{
    char running[300];
    setup();
    fix_open();
    damaged_put(0, ROWS, ROWS + LOGGED, 1);
    (void)snprintf(running, sizeof running, "%s", damaged_dir);
    (void)snprintf(damaged_dir, sizeof damaged_dir, "%.200s-killed", running);
    dir_copy(running, damaged_dir);
    fix_close();
    dir_remove(running);
}

static void log_of_row(int row, char out[600], off_t *out_at)
{
    char value[DAMAGED_VALUE + 1], db[400];
    damaged_value(value, 0, row, 1);
    (void)snprintf(db, sizeof db, "%s/db", damaged_dir);
    DIR *d = opendir(db);
    ck_assert_ptr_nonnull(d);
    *out_at = -1;
    for (const struct dirent *e; *out_at < 0 && (e = readdir(d)) != NULL;) {
        path_make(out, db, e->d_name);
        if (strstr(e->d_name, ".log") != NULL)
            *out_at = damaged_find(out, value);
    }
    (void)closedir(d);
    ck_assert_int_ge(*out_at, 0);
}

START_TEST(a_sound_log_is_copied_and_one_that_was_cut_off_too)
{
    char path[600];
    off_t at;
    log_of_row(ROWS + LOGGED - 1, path, &at);
    if (_i == 1)
        ck_assert_int_eq(truncate(path, at + 10), 0);
    ck_assert_uint_eq(salvage_and_open(), 0);
    ck_assert(!salvage.is_log_cut);
    for (int i = ROWS; i < ROWS + LOGGED - _i; i++)
        ck_assert_int_eq(row_check(0, i, 1), ERR_OK);
    if (_i == 1)
        ck_assert_int_eq(row_check(0, ROWS + LOGGED - 1, 1), ERR_NOT_FOUND);
    counters_check();
}
END_TEST

/* A log that is gone leaves no trace but the witness. */
START_TEST(a_missing_log_is_told_from_the_witness)
{
    char path[600];
    off_t at;
    struct rdb_witness witness;
    ck_assert_int_eq(sto_rdb_witness_read(damaged_dir, &witness, &eb), ERR_OK);
    witness.sequence += LOGGED; /* as a second after the writes */
    ck_assert_int_eq(sto_rdb_witness_write(damaged_dir, &witness, &eb), ERR_OK);
    log_of_row(ROWS, path, &at);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_uint_eq(salvage_and_open(), 0);
    ck_assert_uint_eq(salvage.witnessed, witness.sequence);
    ck_assert_uint_lt(salvage.sequence, salvage.witnessed);
    ck_assert_int_eq(rows_check(0, 0) + rows_check(1, 0), 0);
    ck_assert_int_eq(row_check(0, ROWS, 1), ERR_NOT_FOUND);
    counters_check();
}
END_TEST

START_TEST(a_damaged_log_is_read_up_to_the_damage)
{
    char path[600];
    off_t at;
    struct stat st;
    log_of_row(ROWS + LOGGED / 2, path, &at);
    ck_assert_int_eq(stat(path, &st), 0);
    damaged_byte_flip(path, at + 100);
    ck_assert_uint_eq(salvage_and_open(), 0);
    ck_assert(salvage.is_log_cut);
    ck_assert_uint_lt(salvage.log_offset, (uint64_t)at);
    ck_assert_uint_ge(salvage.log_offset + salvage.log_bytes, (uint64_t)st.st_size);
    for (int i = ROWS; i < ROWS + LOGGED; i++)
        ck_assert_int_eq(row_check(0, i, 1), i < ROWS + LOGGED / 2 ? ERR_OK : ERR_NOT_FOUND);
    ck_assert_int_eq(rows_check(0, 0) + rows_check(1, 0), 0);
    counters_check();
}
END_TEST

/* Rows went into a table file behind the damage: a copy would have them, but not their counters. */
START_TEST(a_log_that_files_are_ahead_of_is_refused)
{
    char path[600];
    off_t at;
    (void)snprintf(fix.dir, sizeof fix.dir, "%.200s", damaged_dir);
    fix_open();
    damaged_put(0, ROWS + LOGGED, ROWS + LOGGED + 20, 1);
    fix_flush();
    damaged_put(0, ROWS + LOGGED + 20, ROWS + LOGGED + 40, 1);
    running_copy();
    running_close();
    log_of_row(ROWS + LOGGED + 5, path, &at);
    damaged_byte_flip(path, at + 100);
    refuse("table files hold writes from after that");
}
END_TEST

/* --- what was deleted ------------------------------------------------------------------------- */

/* The file with the deletion of all rows of a table is gone: they do not come back with a table of
 * that name. */
START_TEST(rows_of_a_removed_table_do_not_return)
{
    struct rdb_manifest m;
    char name[40], path[600];
    uint64_t newest = 0;
    (void)snprintf(fix.dir, sizeof fix.dir, "%.200s", damaged_dir);
    fix.options.reclaim_after_s = 100000;
    fix.options.drop_range_cells = 10;
    fix_open();
    /* The deletion stays in a file of its own: no compaction of ours, and none of RocksDB's, which
     * from 8.0 on takes a file to be as large as what its deletions cover. */
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    char *error = NULL;
    rocksdb_set_options_cf(e->db.handle, e->db.cells, 1,
                           (const char *const[]){"disable_auto_compactions"},
                           (const char *const[]){"true"}, &error);
    ck_assert_msg(error == NULL, "%s", error);
    ck_assert_int_eq(pthread_mutex_lock(&e->compact_lock), 0);
    struct sto_drop_op op = fix_drop_table(&fix.tables[0][0]);
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert_int_eq(sto_table_forget(fix.engine, &fix.tables[0][0], NULL, 0, &eb), ERR_OK);
    fix_flush();
    running_copy();
    ck_assert_int_eq(pthread_mutex_unlock(&e->compact_lock), 0);
    running_close();
    manifest_get(&m);
    for (size_t i = 0; i < m.file_count; i++)
        if (m.files[i].family == RDB_CF_CELLS && m.files[i].number > newest)
            newest = m.files[i].number;
    sto_rdb_manifest_fini(&m);
    (void)snprintf(name, sizeof name, "db/%06llu.sst", (unsigned long long)newest);
    path_make(path, damaged_dir, name);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_uint_eq(salvage_and_open(), 0);
    ck_assert_uint_eq(salvage.piece_count, 1);
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq(row_check(0, i, 1), ERR_NOT_FOUND);
    ck_assert_int_eq(rows_check(1, 0), 0);
    counters_check();
}
END_TEST

Suite *suite_storage_salvage(void)
{
    Suite *s = suite_create("storage_salvage");
    TCase *t = tcase_create("salvaging");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_sound_database_is_copied_whole);
    tcase_add_test(t, a_damaged_block_is_left_out_and_its_rows_are_named);
    tcase_add_loop_test(t, any_byte_of_a_file_may_be_damaged, 0, BYTES);
    tcase_add_loop_test(t, a_damaged_filter_costs_nothing, 0, 2);
    tcase_add_test(t, a_damaged_part_of_the_index_loses_what_it_names);
    tcase_add_loop_test(t, a_file_that_is_cut_off_or_missing_is_left_out, 0, 2);
    tcase_add_test(t, damaged_metadata_is_refused);
    tcase_add_loop_test(t, metadata_comes_from_its_copy, 0, 2);
    tcase_add_test(t, a_damaged_or_missing_manifest_is_refused);
    tcase_add_test(t, rows_of_a_removed_table_do_not_return);
    suite_add_tcase(s, t);
    t = tcase_create("logs");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup_logged, teardown);
    tcase_add_loop_test(t, a_sound_log_is_copied_and_one_that_was_cut_off_too, 0, 2);
    tcase_add_test(t, a_missing_log_is_told_from_the_witness);
    tcase_add_test(t, a_damaged_log_is_read_up_to_the_damage);
    tcase_add_test(t, a_log_that_files_are_ahead_of_is_refused);
    suite_add_tcase(s, t);
    return s;
}
