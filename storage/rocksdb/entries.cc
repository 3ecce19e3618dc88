/*
 * storage/rocksdb/entries.cc - iterators show visible entries; this shows all stored ones.
 *
 * GetAllKeyVersions ends at the first file that it cannot read, as if there were no more entries,
 * and returns no error. If it shows nothing, an iterator seeks the same key, and does return the
 * error. That costs one seek in each level, in blocks that are in memory by then: if nothing is
 * stored between its bounds, it reads no further.
 */
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/utilities/debug.h>

#include "storage/rocksdb/native.h"

extern "C" {
#include "storage/rocksdb/entries.h"
}

/* Seeks with range tombstones ignored, because RocksDB 7.8.3 loses errors beside them
 * (docs/decisions/0038). */
static rocksdb::Status seek(rocksdb::DB *db, rocksdb::ColumnFamilyHandle *family,
                            const rocksdb::Slice &first, const rocksdb::Slice &last)
{
    std::string behind = last.ToString() + '\0';
    rocksdb::Slice end(behind);
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    options.ignore_range_deletions = true;
    options.iterate_upper_bound = &end;
    options.background_purge_on_iterator_cleanup = true;
    std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(options, family));
    it->Seek(first);
    return it->status();
}

/* Only a lack of memory throws, which ends the process as base_new does (docs/decisions/0001). */
extern "C" enum err sto_rdb_entries_any(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                                        struct slice first, struct slice last, bool *out)
{
    rocksdb::DB *from = sto_rdb_native_db(db);
    rocksdb::ColumnFamilyHandle *in = sto_rdb_native_family(family);
    rocksdb::Slice low(reinterpret_cast<const char *>(first.ptr), first.len);
    rocksdb::Slice high(reinterpret_cast<const char *>(last.ptr), last.len);
    std::vector<rocksdb::KeyVersion> found;
    rocksdb::Status status = rocksdb::GetAllKeyVersions(from, in, low, high, 1, &found);
    if (status.ok() && found.empty())
        status = seek(from, in, low, high);
    if (!status.ok())
        return status.IsCorruption() ? ERR_CORRUPT : ERR_IO;
    *out = !found.empty();
    return ERR_OK;
}
