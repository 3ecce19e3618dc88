/*
 * storage/rocksdb/file_lock.cc - uses RocksDB's own functions: closing a second descriptor of the
 * file would release the lock of a database that this process has open.
 */
#include <string>

#include <rocksdb/env.h>

extern "C" {
#include "storage/rocksdb/file_lock.h"
}

/* Only a lack of memory throws, which ends the process as base_new does (docs/decisions/0001). */
extern "C" enum err sto_rdb_file_lock(const char *db_path, struct rdb_file_lock **out,
                                      struct errbuf *eb)
{
    rocksdb::FileLock *lock = nullptr;
    rocksdb::Status status =
        rocksdb::Env::Default()->LockFile(std::string(db_path) + "/LOCK", &lock);
    if (!status.ok()) {
        std::string text = status.ToString();
        bool is_locked = text.find("While lock file") != std::string::npos ||
                         text.find("lock hold by current process") != std::string::npos;
        return base_fail(eb, is_locked ? ERR_LOCKED : ERR_IO, "the database cannot be locked: %s",
                         text.c_str());
    }
    *out = reinterpret_cast<struct rdb_file_lock *>(lock);
    return ERR_OK;
}

extern "C" void sto_rdb_file_unlock(struct rdb_file_lock *lock)
{
    if (lock != nullptr)
        rocksdb::Env::Default()
            ->UnlockFile(reinterpret_cast<rocksdb::FileLock *>(lock))
            .PermitUncheckedError(); /* the next open takes the lock again, or fails */
}
