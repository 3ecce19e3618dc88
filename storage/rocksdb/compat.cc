/*
 * storage/rocksdb/compat.cc - see compat.h. The compiler chooses by the signature that is declared,
 * so that no list of versions has to be kept.
 */
extern "C" {
#include "storage/rocksdb/compat.h"
}

/* With `force`: whether it ends all of them. */
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
