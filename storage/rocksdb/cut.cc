/*
 * storage/rocksdb/cut.cc - RocksDB's partitioner of table files, which its C interface lacks.
 *
 * 1. RocksDB calls the partitioner once for each key that a compaction writes, with the previous
 *    key. Keys come in ascending order, so one position in the sorted list is all that a compaction
 *    has to keep.
 * 2. A compaction keeps the list that it started with, whatever is set later.
 * 3. A file that spans a key is not moved to another level as it is: it is rewritten.
 */
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <rocksdb/sst_partitioner.h>

#include "storage/rocksdb/native.h"

extern "C" {
#include "storage/rocksdb/cut.h"
}

namespace {

using Keys = std::vector<std::string>;

class Partitioner : public rocksdb::SstPartitioner {
  public:
    explicit Partitioner(std::shared_ptr<const Keys> keys) : keys_(std::move(keys))
    {
    }

    const char *Name() const override
    {
        return "bigtent.cut";
    }

    rocksdb::PartitionerResult ShouldPartition(const rocksdb::PartitionerRequest &request) override
    {
        if (!started_) {
            next_ = first_after(*request.prev_user_key);
            started_ = true;
        }
        bool is_passed = false;
        while (next_ < keys_->size() && request.current_user_key->compare((*keys_)[next_]) >= 0) {
            next_++;
            is_passed = true;
        }
        return is_passed ? rocksdb::kRequired : rocksdb::kNotRequired;
    }

    bool CanDoTrivialMove(const rocksdb::Slice &smallest, const rocksdb::Slice &largest) override
    {
        size_t next = first_after(smallest);
        return next == keys_->size() || largest.compare((*keys_)[next]) < 0;
    }

  private:
    size_t first_after(const rocksdb::Slice &key) const
    {
        auto found = std::upper_bound(keys_->begin(), keys_->end(), key,
                                      [](const rocksdb::Slice &left, const std::string &right) {
                                          return left.compare(right) < 0;
                                      });
        return static_cast<size_t>(found - keys_->begin());
    }

    const std::shared_ptr<const Keys> keys_;
    size_t next_ = 0;
    bool started_ = false;
};

class Factory : public rocksdb::SstPartitionerFactory {
  public:
    const char *Name() const override
    {
        return "bigtent.cut";
    }

    std::unique_ptr<rocksdb::SstPartitioner>
    CreatePartitioner(const rocksdb::SstPartitioner::Context &) const override
    {
        std::shared_ptr<const Keys> keys = current();
        if (keys == nullptr)
            return nullptr;
        return std::unique_ptr<rocksdb::SstPartitioner>(new Partitioner(std::move(keys)));
    }

    void set(std::shared_ptr<const Keys> keys)
    {
        std::lock_guard<std::mutex> held(lock_);
        keys_ = std::move(keys);
    }

  private:
    std::shared_ptr<const Keys> current() const
    {
        std::lock_guard<std::mutex> held(lock_);
        return keys_;
    }

    mutable std::mutex lock_;
    std::shared_ptr<const Keys> keys_; /* null: none */
};

std::string text_of(struct slice s)
{
    return std::string(reinterpret_cast<const char *>(s.ptr), s.len);
}

} // namespace

struct rdb_cuts {
    std::shared_ptr<Factory> factory;
};

/* Only a lack of memory throws, which ends the process as base_new does (docs/decisions/0001). */
extern "C" struct rdb_cuts *sto_rdb_cuts_new(void)
{
    return new rdb_cuts{std::make_shared<Factory>()};
}

extern "C" void sto_rdb_cuts_free(struct rdb_cuts *cuts)
{
    delete cuts;
}

extern "C" void sto_rdb_cuts_install(struct rdb_cuts *cuts, rocksdb_options_t *options)
{
    sto_rdb_native_options(options).sst_partitioner_factory = cuts->factory;
}

extern "C" void sto_rdb_cuts_set(struct rdb_cuts *cuts, const struct slice *keys, size_t count)
{
    std::shared_ptr<Keys> copy;
    if (count > 0) {
        copy = std::make_shared<Keys>();
        for (size_t i = 0; i < count; i++)
            copy->push_back(text_of(keys[i]));
        std::sort(copy->begin(), copy->end());
        copy->erase(std::unique(copy->begin(), copy->end()), copy->end());
    }
    cuts->factory->set(std::move(copy));
}
