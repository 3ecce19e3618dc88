/*
 * storage/rocksdb/tombstone_files.cc - a listener, because RocksDB reports the properties of a new
 * file.
 *
 * 1. RocksDB reports a file when it is written, before it is live, and when it is unlinked, after
 *    it was live. So the numbers cover the live files, if the list of those is read first.
 */
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <rocksdb/listener.h>
#include <rocksdb/table_properties.h>

#include "storage/rocksdb/native.h"

extern "C" {
#include "storage/rocksdb/tombstone_files.h"
}

namespace {

/* Returns the file number: "/any/where/000123.sst" -> 123; 0: not the name of a table file. */
uint64_t number_of(const std::string &path)
{
    uint64_t number = 0;
    size_t at = path.find_last_of('/');
    for (at = at == std::string::npos ? 0 : at + 1; at < path.size(); at++) {
        if (path[at] < '0' || path[at] > '9')
            break;
        number = number * 10 + static_cast<uint64_t>(path[at] - '0');
    }
    return number;
}

class Listener : public rocksdb::EventListener {
  public:
    void OnTableFileCreated(const rocksdb::TableFileCreationInfo &info) override
    {
        if (info.status.ok() && info.table_properties.num_range_deletions > 0)
            add(number_of(info.file_path));
    }

    void OnTableFileDeleted(const rocksdb::TableFileDeletionInfo &info) override
    {
        std::lock_guard<std::mutex> held(lock_);
        numbers_.erase(number_of(info.file_path));
    }

    void add(uint64_t number)
    {
        std::lock_guard<std::mutex> held(lock_);
        numbers_.insert(number);
    }

    bool has(uint64_t number)
    {
        std::lock_guard<std::mutex> held(lock_);
        return numbers_.count(number) != 0;
    }

    bool is_empty()
    {
        std::lock_guard<std::mutex> held(lock_);
        return numbers_.empty();
    }

  private:
    std::mutex lock_;
    std::set<uint64_t> numbers_;
};

} // namespace

struct rdb_tombstone_files {
    std::shared_ptr<Listener> listener;
};

/* Only a lack of memory throws, which ends the process as base_new does (docs/decisions/0001). */
extern "C" struct rdb_tombstone_files *sto_rdb_tombstone_files_new(void)
{
    return new rdb_tombstone_files{std::make_shared<Listener>()};
}

extern "C" void sto_rdb_tombstone_files_free(struct rdb_tombstone_files *files)
{
    delete files;
}

extern "C" void sto_rdb_tombstone_files_install(struct rdb_tombstone_files *files,
                                                rocksdb_options_t *options)
{
    sto_rdb_native_options(options).listeners.push_back(files->listener);
}

extern "C" enum err sto_rdb_tombstone_files_load(struct rdb_tombstone_files *files, rocksdb_t *db,
                                                 rocksdb_column_family_handle_t *family,
                                                 struct errbuf *eb)
{
    rocksdb::TablePropertiesCollection all;
    rocksdb::Status status =
        sto_rdb_native_db(db)->GetPropertiesOfAllTables(sto_rdb_native_family(family), &all);
    for (const auto &one : all)
        if (one.second->num_range_deletions > 0)
            files->listener->add(number_of(one.first));
    if (status.ok())
        return ERR_OK;
    return base_fail(eb, status.IsCorruption() ? ERR_CORRUPT : ERR_IO,
                     "the properties of the table files cannot be read: %s",
                     status.ToString().c_str());
}

extern "C" bool sto_rdb_tombstone_files_has(struct rdb_tombstone_files *files, uint64_t number)
{
    return files->listener->has(number);
}

extern "C" bool sto_rdb_tombstone_files_is_empty(struct rdb_tombstone_files *files)
{
    return files->listener->is_empty();
}
