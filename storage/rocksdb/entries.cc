/*
 * storage/rocksdb/entries.cc - iterators show what a read would give; this shows what is stored.
 */
#include <vector>

#include <rocksdb/utilities/debug.h>

#include "storage/rocksdb/native.h"

extern "C" {
#include "storage/rocksdb/entries.h"
}

/* Only a lack of memory throws, which ends the process as base_new does (docs/decisions/0001). */
extern "C" enum err sto_rdb_entries_any(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                                        struct slice first, struct slice last, bool *out,
                                        struct errbuf *eb)
{
    std::vector<rocksdb::KeyVersion> found;
    rocksdb::Status status = rocksdb::GetAllKeyVersions(
        sto_rdb_native_db(db), sto_rdb_native_family(family),
        rocksdb::Slice(reinterpret_cast<const char *>(first.ptr), first.len),
        rocksdb::Slice(reinterpret_cast<const char *>(last.ptr), last.len), 1, &found);
    if (!status.ok())
        return base_fail(eb, status.IsCorruption() ? ERR_CORRUPT : ERR_IO,
                         "the stored keys of a range cannot be read");
    *out = !found.empty();
    return ERR_OK;
}
