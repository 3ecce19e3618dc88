/*
 * tests/support/bed.c - creates the initial files of tests' databases in a child process, and
 * copies them.
 *
 *   the last level    all rows, compacted
 *   a level between   every seventh row again: enough files of level 0 that RocksDB compacts them
 *   level 0           some rows again, and the deletions of the old rows, in two files
 */
#include "tests/storage/fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/text.h"
#include "storage/range.h"
#include "storage/rocksdb/ranges.h"
#include "tests/support/random.h"

#include "base/banned.h"

enum { TENANTS = 4, ROWS = 4000, OLD_ROWS = 108, BATCH = 400, LEVELS = 16 };

/* Before, between and after the fixture's tenants. */
static const char *const bed_names[TENANTS] = {"aa", "ab-1", "abcd", "cc"};

/* --- rows ------------------------------------------------------------------------------------- */

static void bed_row(char out[24], int i)
{
    (void)snprintf(out, 24, "row-%05d", i);
}

/* Formats the key of an old row, between the rows that tests have. */
static void bed_old_row(char out[24], int i)
{
    static const char first[] = "0abcdefghijklmnopqrstuvwxyz";
    (void)snprintf(out, 24, "%c-old-%d", first[i % 27], i / 27);
}

/* Writes, or deletes, rows first, first + step, ... below count; with incompressible values. */
static void bed_write(const struct sto_table_scope *scope, void (*row)(char out[24], int i),
                      int first, int step, int count, bool deletes)
{
    static struct bed_op {
        struct sto_mutate_op op;
        struct sto_mutation m;
        char row[24];
        uint64_t value[8];
    } ops[BATCH];
    struct random dice = {(uint64_t)first + 7};
    for (int i = first; i < count;) {
        int n = 0;
        for (; n < BATCH && i < count; n++, i += step) {
            struct bed_op *o = &ops[n];
            for (size_t k = 0; k < sizeof o->value / sizeof o->value[0]; k++)
                o->value[k] = random_next(&dice);
            row(o->row, i);
            o->m = deletes ? (struct sto_mutation){.kind = STO_DELETE_FROM_ROW}
                           : fix_set(1, "q", 1000, base_slice(o->value, sizeof o->value));
            o->op = (struct sto_mutate_op){.scope = *scope,
                                           .row_key = base_slice_text(o->row),
                                           .mutations = &o->m,
                                           .mutation_count = 1};
            fix_submit(&o->op);
        }
        for (int k = 0; k < n; k++) {
            fix_until_taken(&ops[k].op);
            ck_assert_int_eq(ops[k].op.result, ERR_OK);
        }
    }
}

/* --- promises --------------------------------------------------------------------------------- */

struct bed_level {
    int files;
    bool is_before[FIX_TENANTS]; /* a file starts before the tenant's rows, */
    bool is_behind[FIX_TENANTS]; /* and a file ends after them */
};

static struct slice bed_key(const char *(*get)(const rocksdb_livefiles_t *, int, size_t *),
                            const rocksdb_livefiles_t *files, int index)
{
    struct slice key;
    key.ptr = (const uint8_t *)get(files, index, &key.len);
    return key;
}

static void bed_levels_read(struct bed_level out[LEVELS])
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(sto_rdb_engine(fix.engine)->db.handle);
    memset(out, 0, LEVELS * sizeof out[0]);
    for (int i = 0; i < rocksdb_livefiles_count(files); i++) {
        struct bed_level *level = &out[rocksdb_livefiles_level(files, i)];
        if (strcmp(rocksdb_livefiles_column_family_name(files, i), "cells") != 0)
            continue;
        struct slice low = bed_key(rocksdb_livefiles_smallestkey, files, i);
        struct slice high = bed_key(rocksdb_livefiles_largestkey, files, i);
        level->files++;
        for (size_t n = 0; n < FIX_TENANTS; n++) {
            struct sto_range range = sto_range_of_tenant(&fix.tenants[n]);
            level->is_before[n] |= base_slice_compare(low, sto_range_begin(&range)) < 0;
            level->is_behind[n] |= base_slice_compare(high, sto_range_end(&range)) >= 0;
        }
    }
    rocksdb_livefiles_destroy(files);
}

static uint64_t bed_filter_bytes(void)
{
    static const char label[] = "filter block size=";
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    char *text =
        rocksdb_property_value_cf(e->db.handle, e->db.cells, "rocksdb.aggregated-table-properties");
    const char *at = strstr(text, label);
    ck_assert_ptr_nonnull(at);
    at += strlen(label);
    uint64_t bytes = 0;
    ck_assert_int_eq(base_parse_u64(base_slice(at, strspn(at, "0123456789")), &bytes), ERR_OK);
    rocksdb_free(text);
    return bytes;
}

static void bed_check(void)
{
    struct bed_level levels[LEVELS];
    int last = LEVELS - 1, between = 0;
    bed_levels_read(levels);
    while (last > 0 && levels[last].files == 0)
        last--;
    for (int i = 1; i < last; i++)
        between += levels[i].files;
    ck_assert_int_ge(levels[0].files, 2);
    ck_assert_int_ge(between, 3);
    ck_assert_int_ge(levels[last].files, 20);
    for (size_t n = 0; n < FIX_TENANTS; n++) {
        struct sto_usage u = sto_counters_read(&fix.accounts[n].total);
        ck_assert(levels[0].is_before[n] && levels[0].is_behind[n]);
        ck_assert(levels[last].is_before[n] && levels[last].is_behind[n]);
        ck_assert_uint_eq(u.bytes + u.rows + u.cells, 0);
    }
    ck_assert_uint_gt(bed_filter_bytes(), fix.options.cache_bytes);
}

/* --- creation --------------------------------------------------------------------------------- */

static void bed_flush(void)
{
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
}

static void bed_fill(const struct sto_table_scope of[TENANTS], bool has_old_rows)
{
    for (int part = 0; part < 10; part++) /* the last level */
        for (size_t n = 0; n < TENANTS; n++)
            bed_write(&of[n], bed_row, part, 10, ROWS, false);
    for (size_t n = 0; has_old_rows && n < FIX_TENANTS; n++)
        bed_write(&fix.tables[n][0], bed_old_row, 0, 1, OLD_ROWS, false);
    bed_flush();
    sto_rdb_range_compact(sto_rdb_engine(fix.engine), RDB_CF_CELLS, SLICE_LIT("a"), SLICE_LIT("z"));
    ck_assert_int_eq(sto_rdb_compactions_check(sto_rdb_engine(fix.engine), NULL), ERR_OK);
    process_await(fix_is_settled, NULL, "the last level of the bed");
    for (int part = 0; part < 4; part++) { /* enough files that RocksDB compacts them */
        for (size_t n = 0; n < TENANTS; n++)
            bed_write(&of[n], bed_row, 7 * part, 28, ROWS, false);
        bed_flush();
    }
    process_await(fix_is_settled, NULL, "a level of the bed");
    for (int part = 0; part < 2; part++) { /* level 0 */
        for (size_t n = 0; n < TENANTS; n++)
            bed_write(&of[n], bed_row, 50 * part, 100, ROWS, false);
        for (size_t n = 0; has_old_rows && n < FIX_TENANTS; n++)
            bed_write(&fix.tables[n][0], bed_old_row, part, 2, OLD_ROWS, true);
        bed_flush();
    }
}

static _Noreturn void bed_make_in(const char *dir, bool has_old_rows)
{
    static struct sto_account accounts[TENANTS];
    struct sto_table_scope of[TENANTS];
    const struct sto_family_spec family = {.name = SLICE_LIT("f")};
    struct sto_schema *schema = fix_schema("rows", NULL, &family, 1);
    char copied[sizeof fix.dir];
    size_t len = strlen(dir);
    ck_assert_uint_lt(len, sizeof copied);
    memcpy(copied, dir, len + 1);
    fix_prepare_in(copied);
    fix_open();
    for (uint32_t n = 0; n < TENANTS; n++) {
        struct sto_tenant_scope tenant;
        sto_account_init(&accounts[n], n);
        ck_assert_int_eq(sto_scope_open(base_slice_text(bed_names[n]), &accounts[n], &tenant),
                         ERR_OK);
        of[n] = sto_table_scope_make(&tenant, schema);
    }
    bed_fill(of, has_old_rows);
    bed_check();
    fix_close();
    _exit(0);
}

/* Copies the files, because a test may damage them. */
static void bed_copy(const char *from, const char *to)
{
    DIR *d = opendir(from);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char source[PROCESS_PATH + 300], target[PROCESS_PATH + 300];
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        (void)snprintf(source, sizeof source, "%s/%s", from, e->d_name);
        (void)snprintf(target, sizeof target, "%s/%s", to, e->d_name);
        ck_assert_int_eq(stat(source, &st), 0);
        if (S_ISDIR(st.st_mode)) {
            ck_assert_int_eq(mkdir(target, st.st_mode), 0);
            bed_copy(source, target);
            continue;
        }
        int in = open(source, O_RDONLY | O_CLOEXEC);
        int out = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode);
        ck_assert(in >= 0 && out >= 0);
        for (off_t left = st.st_size; left > 0;) {
            ssize_t n = sendfile(out, in, NULL, (size_t)left);
            ck_assert_msg(n > 0, "%s cannot be copied", source);
            left -= n;
        }
        ck_assert(close(in) == 0 && close(out) == 0);
    }
    (void)closedir(d);
}

void bed_lay(const char *dir, enum bed bed)
{
    char made[PROCESS_PATH + 32], making[PROCESS_PATH + 40];
    int status = 0;
    if (bed == BED_NONE)
        return;
    (void)snprintf(made, sizeof made, "%s/bed-%d", process_shared_dir(), (int)bed);
    (void)snprintf(making, sizeof making, "%s.new", made);
    if (access(made, F_OK) != 0) {
        if (access(making, F_OK) == 0) /* left by a test that was killed */
            ck_assert_int_eq(nftw(making, fix_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
        ck_assert_int_eq(mkdir(making, 0700), 0);
        (void)fflush(NULL);
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
            bed_make_in(making, bed == BED_OLD_ROWS);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(status == 0, "the bed cannot be made: status %d", status);
        ck_assert_int_eq(rename(making, made), 0);
    }
    bed_copy(made, dir);
}
