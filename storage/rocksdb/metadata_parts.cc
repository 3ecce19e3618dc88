/*
 * storage/rocksdb/metadata_parts.cc - a table factory in front of two of RocksDB's.
 *
 * 1. RocksDB's reader determines the form from the file itself, and uses what the file and the
 *    factory's options have in common: so the factory with more in its filters reads all files.
 * 2. To RocksDB the factory is its block-based one: RocksDB identifies it by name, and reads its
 *    options.
 */
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include <rocksdb/table.h>

#include "storage/rocksdb/native.h"

extern "C" {
#include "storage/rocksdb/metadata_parts.h"
}

namespace {

using InParts = std::shared_ptr<std::atomic<bool>>;

class Factory : public rocksdb::TableFactory {
  public:
    Factory(std::shared_ptr<rocksdb::TableFactory> parts,
            std::shared_ptr<rocksdb::TableFactory> whole, InParts in_parts)
        : parts_(std::move(parts)), whole_(std::move(whole)), in_parts_(std::move(in_parts))
    {
    }

    using rocksdb::TableFactory::NewTableReader;

    const char *Name() const override
    {
        return whole_->Name();
    }

    rocksdb::Status NewTableReader(const rocksdb::ReadOptions &read,
                                   const rocksdb::TableReaderOptions &options,
                                   std::unique_ptr<rocksdb::RandomAccessFileReader> &&file,
                                   uint64_t bytes, std::unique_ptr<rocksdb::TableReader> *out,
                                   bool prefetch) const override
    {
        return whole_->NewTableReader(read, options, std::move(file), bytes, out, prefetch);
    }

    rocksdb::TableBuilder *NewTableBuilder(const rocksdb::TableBuilderOptions &options,
                                           rocksdb::WritableFileWriter *file) const override
    {
        const auto &factory = in_parts_->load() ? parts_ : whole_;
        return factory->NewTableBuilder(options, file);
    }

    rocksdb::Status ValidateOptions(const rocksdb::DBOptions &db,
                                    const rocksdb::ColumnFamilyOptions &family) const override
    {
        return whole_->ValidateOptions(db, family);
    }

    /* Newer RocksDB (9.10) needs it, 7.8 does not know it: so it is not marked as an override. */
    std::unique_ptr<rocksdb::TableFactory> Clone() const
    {
        return std::make_unique<Factory>(parts_, whole_, in_parts_);
    }

    bool IsDeleteRangeSupported() const override
    {
        return true;
    }

    const rocksdb::Customizable *Inner() const override
    {
        return whole_.get();
    }

    const void *GetOptionsPtr(const std::string &name) const override
    {
        return whole_->GetOptionsPtr(name);
    }

  private:
    const std::shared_ptr<rocksdb::TableFactory> parts_;
    const std::shared_ptr<rocksdb::TableFactory> whole_;
    const InParts in_parts_;
};

} // namespace

struct rdb_metadata_parts {
    InParts in_parts;
};

/* Only a lack of memory throws, which ends the process as base_new does (docs/decisions/0001). */
extern "C" struct rdb_metadata_parts *sto_rdb_metadata_parts_new(void)
{
    return new rdb_metadata_parts{std::make_shared<std::atomic<bool>>(true)};
}

extern "C" void sto_rdb_metadata_parts_free(struct rdb_metadata_parts *parts)
{
    delete parts;
}

extern "C" void sto_rdb_metadata_parts_install(struct rdb_metadata_parts *parts,
                                               rocksdb_options_t *options)
{
    auto &factory = sto_rdb_native_options(options).table_factory;
    auto whole = *factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    whole.partition_filters = false;
    whole.index_type = rocksdb::BlockBasedTableOptions::kBinarySearch;
    whole.whole_key_filtering = true;
    std::shared_ptr<rocksdb::TableFactory> second(rocksdb::NewBlockBasedTableFactory(whole));
    factory = std::make_shared<Factory>(factory, second, parts->in_parts);
}

extern "C" void sto_rdb_metadata_parts_set(struct rdb_metadata_parts *parts, bool in_parts)
{
    parts->in_parts->store(in_parts);
}
