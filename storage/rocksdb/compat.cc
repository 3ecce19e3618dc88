/*
 * storage/rocksdb/compat.cc - see compat.h. Where possible, the compiler chooses by the declared
 * signature, so that no list of versions is needed.
 */
#include <rocksdb/version.h>

extern "C" {
#include "storage/rocksdb/compat.h"
}

/* With `force`: ends all of them. */
[[maybe_unused]] static void enable(void (*f)(rocksdb_t *, unsigned char, char **), rocksdb_t *db,
                                    char **error)
{
    f(db, 0, error);
}

[[maybe_unused]] static void enable(void (*f)(rocksdb_t *, char **), rocksdb_t *db, char **error)
{
    f(db, error);
}

extern "C" void sto_rdb_enable_file_deletions(rocksdb_t *db, char **error)
{
    enable(rocksdb_enable_file_deletions, db, error);
}

/* 8.6 and later compare the number of entries that a compaction processed with that of its input
 * files. */
extern "C" const char *sto_rdb_version_options(void)
{
#if ROCKSDB_MAJOR > 8 || (ROCKSDB_MAJOR == 8 && ROCKSDB_MINOR >= 6)
    return ";compaction_verify_record_count=false";
#else
    return "";
#endif
}

extern "C" bool sto_rdb_tombstones_hide_errors(void)
{
    return ROCKSDB_MAJOR * 10000 + ROCKSDB_MINOR * 100 + ROCKSDB_PATCH < 80502;
}
