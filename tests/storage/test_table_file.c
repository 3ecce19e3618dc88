/*
 * tests/storage/test_table_file.c - every entry of a table file is seen, and a damaged one is no
 * crash.
 */
#include "fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/table_file.h"

#include "base/banned.h"

Suite *suite_storage_table_file(void);

enum { ROWS = 60 };

struct seen {
    size_t data, index, ranges;
    size_t values; /* that begin as ours do */
    size_t old;    /* of the value that was written over */
};

static enum err see(void *ctx, enum rdb_entry_kind kind, struct slice key, struct slice value)
{
    struct seen *s = ctx;
    (void)key; /* any bytes */
    s->data += kind == RDB_ENTRY_DATA;
    s->index += kind == RDB_ENTRY_INDEX;
    s->ranges += kind == RDB_ENTRY_RANGE;
    s->values += value.len >= 3 && memcmp(value.ptr + value.len - 3, "new", 3) == 0;
    s->old += value.len >= 3 && memcmp(value.ptr + value.len - 3, "old", 3) == 0;
    return ERR_OK;
}

static void put(int row, const char *value)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    char key[32];
    char text[600];
    (void)snprintf(key, sizeof key, "ab#t#row-%03d", row);
    memset(text, 'x', sizeof text); /* compressible, and several blocks of them */
    memcpy(text + sizeof text - 3, value, 3);
    rocksdb_writebatch_put_cf(batch, e->db.cells, key, strlen(key), text, sizeof text);
    ck_assert_int_eq(sto_rdb_write(e, batch), ERR_OK);
    rocksdb_writebatch_destroy(batch);
}

/* Everything in one file. */
static void setup(void)
{
    fix_prepare_alone();
    fix.options.memtable_bytes = 4 * MIB;
    fix_open();
    /* Its first look flushes where it meets a range tombstone. */
    fix_await_flag(&sto_rdb_engine(fix.engine)->reclaim.is_idle, "the reclaim thread to be idle");
}

/* The largest table of the directory: that of the rows. */
static void largest_table(char out[BASE_PATH_BYTES])
{
    char db[BASE_PATH_BYTES];
    off_t most = 0;
    ck_assert_int_eq(base_path_join(db, sto_rdb_engine(fix.engine)->dir, "db", NULL), ERR_OK);
    DIR *dir = opendir(db);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *d = readdir(dir); d != NULL; d = readdir(dir)) {
        char path[BASE_PATH_BYTES];
        struct stat st;
        ck_assert_int_eq(base_path_join(path, db, d->d_name, NULL), ERR_OK);
        if (strstr(d->d_name, ".sst") == NULL || stat(path, &st) != 0 || st.st_size <= most)
            continue;
        most = st.st_size;
        memcpy(out, path, sizeof path);
    }
    (void)closedir(dir);
    ck_assert_int_gt(most, 0);
}

/* A file with two versions of each row, held by a snapshot, and its bytes. */
static void make_table(char path[BASE_PATH_BYTES])
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    const rocksdb_snapshot_t *snapshot = NULL;
    for (int i = 0; i < ROWS; i++)
        put(i, "old");
    snapshot = rocksdb_create_snapshot(e->db.handle);
    for (int i = 0; i < ROWS; i++)
        put(i, "new");
    ck_assert_int_eq(sto_rdb_flush(e), ERR_OK);
    rocksdb_release_snapshot(e->db.handle, snapshot);
    largest_table(path);
}

START_TEST(every_version_of_every_key_is_seen)
{
    char path[BASE_PATH_BYTES];
    struct seen s = {0};
    struct errbuf eb = {{0}};
    uint64_t bytes = 0;
    make_table(path);
    ck_assert_msg(sto_rdb_table_visit(path, see, &s, &bytes, &eb) == ERR_OK, "%s", eb.text);
    ck_assert_uint_eq(s.values, ROWS);
    ck_assert_uint_eq(s.old, ROWS);
    ck_assert_uint_ge(s.data, 2 * ROWS);
    ck_assert_uint_ge(s.index, 2); /* blocks */
    ck_assert_uint_eq(s.ranges, 0);
    ck_assert_uint_gt(bytes, 1000);
    ck_assert_uint_lt(bytes, 2 * ROWS * 600); /* they were compressed */
}
END_TEST

static enum err visit_bytes(const char *path, struct slice bytes)
{
    struct seen s = {0};
    uint64_t size;
    ck_assert_int_eq(base_file_replace(path, bytes, 0600, NULL), ERR_OK);
    return sto_rdb_table_visit(path, see, &s, &size, NULL);
}

/* Whatever comes of it: no crash, no endless loop, nothing read behind the end. */
START_TEST(damage_anywhere_is_survived)
{
    char path[BASE_PATH_BYTES];
    char copy[BASE_PATH_BYTES];
    struct buf bytes;
    size_t refused = 0;
    make_table(path);
    ck_assert_int_eq(base_file_read(path, MIB, &bytes, NULL), ERR_OK);
    ck_assert_int_eq(base_path_join(copy, sto_rdb_engine(fix.engine)->dir, "copy", NULL), ERR_OK);
    ck_assert_int_eq(visit_bytes(copy, base_buf_slice(&bytes)), ERR_OK);
    size_t tail = bytes.len > 700 ? bytes.len - 700 : 0; /* index and footer, byte by byte */
    for (size_t at = 0; at < bytes.len; at += at < tail ? 97 : 1) {
        uint8_t was = bytes.ptr[at];
        bytes.ptr[at] ^= 0xff;
        refused += visit_bytes(copy, base_buf_slice(&bytes)) != ERR_OK;
        bytes.ptr[at] = was;
    }
    ck_assert_uint_gt(refused, 20);
    for (size_t len = 0; len < bytes.len; len += 131)
        ck_assert_int_ne(visit_bytes(copy, base_slice(bytes.ptr, len)), ERR_OK);
    base_buf_fini(&bytes);
}
END_TEST

static enum err scrub_pass(void *ctx, uint64_t bytes)
{
    (void)bytes;
    ++*(size_t *)ctx;
    return ERR_OK;
}

static enum err scrub_bad(void *ctx, const struct rdb_bad_block *block)
{
    (void)ctx;
    ck_assert_uint_gt(block->bytes, 0);
    return ERR_CORRUPT;
}

static enum err scrub_entry(void *ctx, enum rdb_entry_kind kind, struct slice key,
                            struct slice value)
{
    (void)ctx;
    (void)key;
    (void)value;
    ck_assert_int_ne(kind, RDB_ENTRY_INDEX);
    return ERR_OK;
}

static enum err scrub(const char *path)
{
    size_t reads = 0;
    const struct rdb_table_scrub how = {
        .pass = scrub_pass, .bad = scrub_bad, .entry = scrub_entry, .ctx = &reads};
    return sto_rdb_table_scrub(path, &how);
}

/* Of rows, range tombstones, indexes, filters, properties and names: of all but the footer, which
 * has padding. */
START_TEST(a_scrub_finds_every_flipped_byte)
{
    enum { FOOTER = 53 };
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    char path[BASE_PATH_BYTES];
    char copy[BASE_PATH_BYTES];
    struct buf bytes;
    for (int i = 0; i < ROWS; i++) { /* filters hold whole rows only */
        char row[16];
        (void)snprintf(row, sizeof row, "row-%03d", i);
        ck_assert_int_eq(fix_put(&fix.tables[0][0], row, "value"), ERR_OK);
    }
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    const struct sto_span none = {SLICE_LIT("zz#t#a"), SLICE_LIT("zz#t#b")};
    sto_rdb_range_delete(e, batch, RDB_CF_CELLS, none, NULL);
    ck_assert_int_eq(sto_rdb_write(e, batch), ERR_OK);
    rocksdb_writebatch_destroy(batch);
    make_table(path);
    ck_assert_int_eq(base_file_read(path, MIB, &bytes, NULL), ERR_OK);
    ck_assert_ptr_nonnull(memmem(bytes.ptr, bytes.len, "partitionedfilter.", 18));
    ck_assert_ptr_nonnull(memmem(bytes.ptr, bytes.len, "rocksdb.range_del", 17));
    ck_assert_int_eq(base_path_join(copy, sto_rdb_engine(fix.engine)->dir, "copy", NULL), ERR_OK);
    ck_assert_int_eq(base_file_replace(copy, base_buf_slice(&bytes), 0600, NULL), ERR_OK);
    ck_assert_int_eq(scrub(copy), ERR_OK);
    int fd = open(copy, O_WRONLY);
    ck_assert_int_ge(fd, 0);
    for (size_t at = 0; at + FOOTER < bytes.len; at += 1 + (at * 7 + 3) % 5) {
        uint8_t flipped = bytes.ptr[at] ^ 0x10;
        ck_assert_int_eq(pwrite(fd, &flipped, 1, (off_t)at), 1);
        ck_assert_msg(scrub(copy) == ERR_CORRUPT, "byte %zu of %zu", at, bytes.len);
        ck_assert_int_eq(pwrite(fd, &bytes.ptr[at], 1, (off_t)at), 1);
    }
    ck_assert_int_eq(scrub(copy), ERR_OK);
    ck_assert_int_eq(close(fd), 0);
    base_buf_fini(&bytes);
}
END_TEST

START_TEST(what_is_no_table_says_so)
{
    char path[BASE_PATH_BYTES];
    struct seen s = {0};
    uint64_t size;
    ck_assert_int_eq(base_path_join(path, sto_rdb_engine(fix.engine)->dir, "copy", NULL), ERR_OK);
    ck_assert_int_eq(sto_rdb_table_visit(path, see, &s, &size, NULL), ERR_NOT_FOUND);
    ck_assert_int_eq(visit_bytes(path, SLICE_EMPTY), ERR_CORRUPT);
    ck_assert_int_eq(visit_bytes(path, SLICE_LIT("no table, however long the text may be, and it "
                                                 "is longer than a footer is")),
                     ERR_CORRUPT);
}
END_TEST

Suite *suite_storage_table_file(void)
{
    Suite *s = suite_create("storage_table_file");
    TCase *c = tcase_create("file");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, fix_teardown);
    tcase_add_test(c, every_version_of_every_key_is_seen);
    tcase_add_test(c, damage_anywhere_is_survived);
    tcase_add_test(c, what_is_no_table_says_so);
    tcase_add_test(c, a_scrub_finds_every_flipped_byte);
    suite_add_tcase(s, c);
    return s;
}
