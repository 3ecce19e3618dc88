/*
 * storage/rocksdb/foreign.c - see foreign.h.
 *
 * Opening read-only replays the log into memory and flushes nothing. RocksDB still wants to write
 * its info log: it gets a directory of its own for that, which is removed as soon as RocksDB has
 * opened it.
 */
#define _GNU_SOURCE
#include "storage/rocksdb/foreign.h"

#include <errno.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/text.h"
#include "storage/rocksdb/db.h"

#include "base/banned.h"

#define OPEN_FILES     128
#define READAHEAD      (2 * MIB)
#define LOG_LEVEL_WARN 2
#define DEFAULT_FAMILY "default"
#define FAMILIES_MAX   2
#define LIVE_BYTES     "rocksdb.estimate-live-data-size"
#define LOG_BYTES      "rocksdb.cur-size-all-mem-tables"

struct sto_foreign {
    rocksdb_options_t *options;
    rocksdb_t *handle;
    rocksdb_column_family_handle_t *cf[FAMILIES_MAX];
    size_t families; /* the last one is read */
    char *dir;
};

/* Adds what failed: RocksDB's text for a comparator of another name does not say what to do. */
static enum err failed(const struct sto_foreign *f, const char *doing, char *error,
                       struct errbuf *eb)
{
    enum err rc = sto_rdb_error_class(error);
    if (strstr(error, "does not exist") != NULL || strstr(error, "not found") != NULL)
        rc = ERR_NOT_FOUND;
    (void)base_fail(eb, rc, "the database %s cannot be %s: %s", f->dir, doing, error);
    rocksdb_free(error);
    return rc;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void make_options(struct sto_foreign *f, const char *log_dir)
{
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();
    f->options = rocksdb_options_create();
    rocksdb_block_based_options_set_no_block_cache(t, 1);
    rocksdb_options_set_block_based_table_factory(f->options, t);
    rocksdb_block_based_options_destroy(t);
    rocksdb_options_set_paranoid_checks(f->options, 1);
    rocksdb_options_set_max_open_files(f->options, OPEN_FILES);
    rocksdb_options_set_info_log_level(f->options, LOG_LEVEL_WARN);
    rocksdb_options_set_db_log_dir(f->options, log_dir);
    /* A program that was killed leaves a torn tail. */
    rocksdb_options_set_wal_recovery_mode(f->options,
                                          rocksdb_tolerate_corrupted_tail_records_recovery);
}

/* Every open has to include the default family. */
static enum err open_families(struct sto_foreign *f, const char *family, struct errbuf *eb)
{
    const char *const names[FAMILIES_MAX] = {DEFAULT_FAMILY, family};
    const rocksdb_options_t *const options[FAMILIES_MAX] = {f->options, f->options};
    char *error = NULL;
    f->families = strcmp(family, DEFAULT_FAMILY) == 0 ? 1 : 2;
    f->handle = rocksdb_open_for_read_only_column_families(f->options, f->dir, (int)f->families,
                                                           names, options, f->cf, 0, &error);
    return error == NULL ? ERR_OK : failed(f, "opened", error, eb);
}

static enum err make_log_dir(char out[BASE_PATH_BYTES], struct errbuf *eb)
{
    const char *tmp = getenv("TMPDIR");
    enum err rc = base_path_join(out, tmp != NULL && tmp[0] == '/' ? tmp : "/tmp",
                                 "bigtentd-foreign-XXXXXX", eb);
    if (rc == ERR_OK && mkdtemp(out) == NULL)
        rc = base_fail(eb, ERR_IO, "cannot make %s: %s", out, strerror(errno));
    return rc;
}

static enum err check_database(const char *dir, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = base_path_join(path, dir, "CURRENT", eb);
    if (rc == ERR_OK && access(path, R_OK) != 0)
        rc = base_fail(eb, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO,
                       "%s is no RocksDB database: no CURRENT in it can be read: %s", dir,
                       strerror(errno));
    return rc;
}

enum err sto_foreign_open(const char *dir, const char *family, struct sto_foreign **out,
                          struct errbuf *eb)
{
    char log_dir[BASE_PATH_BYTES];
    struct errbuf ignored = {0};
    enum err rc = check_database(dir, eb);
    if (rc == ERR_OK)
        rc = make_log_dir(log_dir, eb);
    if (rc != ERR_OK)
        return rc;
    struct sto_foreign *f = base_new(sizeof *f);
    f->dir = base_new_text(dir, strlen(dir));
    make_options(f, log_dir);
    rc = open_families(f, family, eb);
    enum err removed = base_dir_remove(log_dir, &ignored);
    (void)removed; /* an empty log in /tmp does no harm */
    if (rc == ERR_OK)
        *out = f;
    else
        sto_foreign_close(f);
    return rc;
}

void sto_foreign_close(struct sto_foreign *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; f->handle != NULL && i < f->families; i++)
        rocksdb_column_family_handle_destroy(f->cf[i]);
    if (f->handle != NULL)
        rocksdb_close(f->handle);
    rocksdb_options_destroy(f->options);
    base_free(f->dir);
    base_free(f);
}

/* --- properties ------------------------------------------------------------------------------ */

uint64_t sto_foreign_sequence(const struct sto_foreign *f)
{
    return rocksdb_get_latest_sequence_number(f->handle);
}

static uint64_t property(const struct sto_foreign *f, const char *name)
{
    uint64_t number = 0;
    char *text = rocksdb_property_value_cf(f->handle, f->cf[f->families - 1], name);
    if (text == NULL || base_parse_u64(base_slice_text(text), &number) != ERR_OK)
        number = 0;
    rocksdb_free(text);
    return number;
}

uint64_t sto_foreign_bytes(const struct sto_foreign *f)
{
    return property(f, LIVE_BYTES) + property(f, LOG_BYTES);
}

/* --- reading ---------------------------------------------------------------------------------- */

static struct slice key_of(const rocksdb_iterator_t *it)
{
    struct slice key;
    key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
    return key;
}

static void go_behind(rocksdb_iterator_t *it, struct slice after)
{
    rocksdb_iter_seek(it, (const char *)after.ptr, after.len);
    if (rocksdb_iter_valid(it) && base_slice_equal(key_of(it), after))
        rocksdb_iter_next(it);
}

enum err sto_foreign_read(struct sto_foreign *f, bool is_after, struct slice after,
                          enum err (*visit)(void *ctx, struct slice key, struct slice value),
                          void *ctx, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    char *error = NULL;
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(options, 1);
    rocksdb_readoptions_set_readahead_size(options, READAHEAD);
    rocksdb_readoptions_set_verify_checksums(options, 1);
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(f->handle, options, f->cf[f->families - 1]);
    if (is_after)
        go_behind(it, after);
    else
        rocksdb_iter_seek_to_first(it);
    for (; rc == ERR_OK && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        struct slice value;
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        rc = visit(ctx, key_of(it), value);
    }
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    if (error != NULL && rc != ERR_OK)
        rocksdb_free(error); /* the first failure is reported */
    else if (error != NULL)
        rc = failed(f, "read", error, eb);
    return rc;
}
