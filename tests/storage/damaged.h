/*
 * tests/storage/damaged.h - one flipped byte in the block of one row.
 *
 * Does:     writes rows whose values can be found in the table files, flips a byte of one.
 * May use:  tests/storage/fixture.h, check.
 * Threads:  one.
 * Fails by: ck_assert.
 * Promises: 1. The byte belongs to a data block: values are random, so no block is compressed.
 */
#ifndef TESTS_STORAGE_DAMAGED_H
#define TESTS_STORAGE_DAMAGED_H

#include "fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "storage/rocksdb/table_file.h"

#define DAMAGED_VALUE 1000

/* Outputs "<tenant>/<row>/<version>!" and incompressible bytes. */
static void damaged_value(char out[DAMAGED_VALUE + 1], size_t tenant, int row, int version)
{
    uint32_t dice = (uint32_t)(row * 7919 + version * 104729) + (uint32_t)tenant;
    int n = snprintf(out, DAMAGED_VALUE, "%zu/%05d/%d!", tenant, row, version);
    for (int i = n; i < DAMAGED_VALUE; i++) {
        dice = dice * 1664525u + 1013904223u;
        out[i] = (char)('"' + (dice >> 16) % 90);
    }
    out[DAMAGED_VALUE] = '\0';
}

static void damaged_row_key(char out[16], int row)
{
    (void)snprintf(out, 16, "%05d", row);
}

UNUSED_FN static void damaged_put(size_t tenant, int from, int to, int version)
{
    for (int i = from; i < to; i++) {
        char row[16], value[DAMAGED_VALUE + 1];
        damaged_row_key(row, i);
        damaged_value(value, tenant, i, version);
        ck_assert_int_eq(fix_put(&fix.tables[tenant][0], row, value), ERR_OK);
    }
}

/* Returns the value's position in the file; -1: not found. */
static off_t damaged_find(const char *path, const char *value)
{
    struct buf b;
    off_t at = -1;
    if (base_file_read(path, 256 * MIB, &b, NULL) == ERR_OK && b.len > 0) {
        const uint8_t *found = memmem(b.ptr, b.len, value, DAMAGED_VALUE);
        at = found == NULL ? -1 : (off_t)(found - b.ptr);
    }
    base_buf_fini(&b);
    return at;
}

struct damaged_kind {
    enum rdb_block_kind wanted;
    bool is_met;
};

static enum err damaged_see_block(void *ctx, const struct rdb_bad_block *block)
{
    struct damaged_kind *k = ctx;
    k->is_met = k->is_met || block->kind == k->wanted;
    return ERR_OK;
}

static void damaged_byte_flip(const char *path, off_t at)
{
    uint8_t byte;
    int fd = open(path, O_RDWR);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
    ck_assert_int_eq(close(fd), 0);
}

/* Flips a byte in a block of that kind; returns false when the file has none. */
UNUSED_FN static bool damaged_flip_kind(const char *path, enum rdb_block_kind kind)
{
    struct damaged_kind k = {.wanted = kind};
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    for (off_t at = st.st_size - 1; at >= 0; at -= 8) {
        damaged_byte_flip(path, at);
        enum err rc = sto_rdb_table_check(path, damaged_see_block, &k);
        if (rc == ERR_OK && k.is_met)
            return true;
        damaged_byte_flip(path, at);
    }
    return false;
}

/* Outputs the table file under dir that holds the row's value. */
UNUSED_FN static void damaged_file_of(const char *dir, size_t tenant, int row, int version,
                                      char out[600])
{
    char value[DAMAGED_VALUE + 1];
    bool is_found = false;
    damaged_value(value, tenant, row, version);
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; !is_found && (e = readdir(d)) != NULL;) {
        (void)snprintf(out, 600, "%.300s/%s", dir, e->d_name);
        is_found = strstr(e->d_name, ".sst") != NULL && damaged_find(out, value) >= 0;
    }
    (void)closedir(d);
    ck_assert(is_found);
}

/* Flips a byte in each table file under dir that holds the row's value; returns their number. */
UNUSED_FN static int damaged_flip_in(const char *dir, size_t tenant, int row, int version)
{
    char value[DAMAGED_VALUE + 1];
    int files = 0;
    damaged_value(value, tenant, row, version);
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[600];
        size_t len = strlen(e->d_name);
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (len < 4 || strcmp(e->d_name + len - 4, ".sst") != 0)
            continue;
        off_t at = damaged_find(path, value);
        if (at < 0)
            continue;
        int fd = open(path, O_WRONLY);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(pwrite(fd, " ", 1, at + DAMAGED_VALUE / 2), 1); /* not in any value */
        ck_assert_int_eq(close(fd), 0);
        files++;
    }
    (void)closedir(d);
    return files;
}

UNUSED_FN static void damaged_flip(size_t tenant, int row, int version)
{
    char db[300];
    (void)snprintf(db, sizeof db, "%s/db", fix.dir);
    ck_assert_int_ge(damaged_flip_in(db, tenant, row, version), 1);
}

/* Reads one row, by a reader or first in memory. */
UNUSED_FN static enum err damaged_read(size_t tenant, int row, bool try_inline)
{
    char key[16];
    struct fix_sink s;
    damaged_row_key(key, row);
    fix_sink_init(&s);
    enum err rc =
        fix_read(&fix.tables[tenant][0], &(struct sto_read_spec){.row_key = base_slice_text(key)},
                 &s, try_inline);
    if (rc == ERR_OK && s.text.len <= 1)
        rc = ERR_NOT_FOUND;
    base_buf_fini(&s.text);
    return rc;
}

/* Scans rows [from, to); *out_rows: the number of rows returned. */
UNUSED_FN static enum err damaged_scan(size_t tenant, int from, int to, bool reversed,
                                       uint64_t *out_rows)
{
    char start[16], end[16];
    struct fix_sink s;
    damaged_row_key(start, from);
    damaged_row_key(end, to);
    struct sto_read_spec spec = {
        .rows = FIX_RANGE(.start = base_slice_text(start), .end = base_slice_text(end)),
        .reversed = reversed};
    struct sto_read_op op = {.scope = fix.tables[tenant][0], .spec = spec};
    fix_sink_init(&s);
    do {
        fix_slice(&op, &s, false);
    } while (op.state == STO_READ_MORE);
    sto_read_finish(fix.engine, &op);
    base_buf_fini(&s.text);
    *out_rows = op.rows_given;
    return op.state == STO_READ_END ? ERR_OK : op.result;
}

UNUSED_FN static void damaged_assert_sound(void)
{
    struct sto_health health;
    sto_health_get(fix.engine, &health);
    ck_assert_msg(!health.failed, "%s", health.reason);
}

static bool damaged_is_rewritten(void *arg)
{
    struct sto_damage damage;
    (void)arg;
    damaged_assert_sound();
    sto_damage_get(fix.engine, &damage);
    return damage.lost_ranges > 0 && damage.count == 0;
}

/* Waits until the damaged file, which a read found earlier, is examined and rewritten. */
UNUSED_FN static void damaged_await_rewritten(void)
{
    process_await(damaged_is_rewritten, NULL, "the rewriting of a damaged file");
}

#endif
