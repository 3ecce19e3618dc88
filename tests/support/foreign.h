/*
 * tests/support/foreign.h - RocksDB databases like those of other programs.
 */
#ifndef TESTS_SUPPORT_FOREIGN_H
#define TESTS_SUPPORT_FOREIGN_H

#include <check.h>
#include <rocksdb/c.h>
#include <string.h>

#include "base/slice.h"

/* With the column families "default" and "more". */
struct foreign {
    rocksdb_options_t *options;
    rocksdb_writeoptions_t *write;
    rocksdb_t *handle;
    rocksdb_column_family_handle_t *cf[2];
};

#define FOREIGN_OK(error)                                                                          \
    ck_assert_msg((error) == NULL, "RocksDB: %s", (error) != NULL ? (error) : "")

static inline struct foreign foreign_open(const char *path)
{
    static const char *const names[] = {"default", "more"};
    struct foreign f = {.options = rocksdb_options_create(),
                        .write = rocksdb_writeoptions_create()};
    const rocksdb_options_t *const options[] = {f.options, f.options};
    char *error = NULL;
    rocksdb_options_set_create_if_missing(f.options, 1);
    rocksdb_options_set_create_missing_column_families(f.options, 1);
    f.handle = rocksdb_open_column_families(f.options, path, 2, names, options, f.cf, &error);
    FOREIGN_OK(error);
    return f;
}

static inline void foreign_put_bytes(struct foreign *f, int cf, struct slice key,
                                     struct slice value)
{
    char *error = NULL;
    rocksdb_put_cf(f->handle, f->write, f->cf[cf], (const char *)key.ptr, key.len,
                   (const char *)value.ptr, value.len, &error);
    FOREIGN_OK(error);
}

static inline void foreign_put(struct foreign *f, int cf, const char *key, const char *value)
{
    foreign_put_bytes(f, cf, base_slice_text(key), base_slice_text(value));
}

/* Flushes memtables into files; later writes stay in the log. */
static inline void foreign_flush(struct foreign *f)
{
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *error = NULL;
    for (int i = 0; i < 2; i++) {
        rocksdb_flush_cf(f->handle, options, f->cf[i], &error);
        FOREIGN_OK(error);
    }
    rocksdb_flushoptions_destroy(options);
}

static inline void foreign_close(struct foreign *f)
{
    for (int i = 0; i < 2; i++)
        rocksdb_column_family_handle_destroy(f->cf[i]);
    rocksdb_close(f->handle);
    rocksdb_writeoptions_destroy(f->write);
    rocksdb_options_destroy(f->options);
}

#endif
