/*
 * storage/rocksdb/damage_io.cc - a listener and a file system, which C cannot install.
 *
 * RocksDB 7.8.3 retries a failed compaction after a second, with the same files, which it chooses
 * by their sizes. So one damaged block stops all compactions of its level, and in level 0 that ends
 * in a write stop for all tenants. RocksDB has no way to leave a block out. But it reads files
 * through rocksdb::FileSystem, and a block of the form "no restart points" has no entries
 * (block.cc, NewDataIterator, NewIndexIterator): whatever its size, such a block consists of zeros.
 * A compaction that reads one in place of the damaged block writes all other entries of the file,
 * and the damaged file is deleted after it.
 *
 * 1. A thread is in a compaction between OnSubcompactionBegin and OnSubcompactionCompleted, which
 *    RocksDB calls on it for every part of every compaction. Only there a replaced block is empty.
 *    Mended bytes are those that were written: every read gets them. In a compaction, a failed read
 *    of the disk counts as damage of the file as well: otherwise RocksDB accepts no more writes,
 *    and after each start the same compaction meets the block again. No acknowledged write depends
 *    on it.
 * 2. Compactions read with fill_cache off: a replacement never enters the block cache.
 * 3. OnBackgroundError may set the error to OK: RocksDB then continues as if there were none.
 */
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>

#include "storage/rocksdb/native.h"
#include "storage/rocksdb/patient_files.h"

extern "C" {
#include "storage/rocksdb/damage_io.h"
}

namespace ROCKSDB_NAMESPACE {
/* From table/format.cc: exported by the library, in no public header. */
uint32_t ComputeBuiltinChecksum(ChecksumType type, const char *data, size_t size);
} // namespace ROCKSDB_NAMESPACE

namespace {

thread_local int compactions_here = 0;

constexpr size_t TRAILER_BYTES = 5;

/* Returns the file number: "/any/where/000123.sst" -> 123; 0: not the name of a table file. */
uint64_t number_of(const std::string &path)
{
    size_t end = path.size() < 4 ? 0 : path.size() - 4;
    if (path.compare(end, 4, ".sst") != 0)
        return 0;
    size_t slash = path.find_last_of('/');
    uint64_t number = 0;
    for (size_t at = slash == std::string::npos ? 0 : slash + 1; at < end; at++) {
        if (path[at] < '0' || path[at] > '9')
            return 0;
        number = number * 10 + static_cast<uint64_t>(path[at] - '0');
    }
    return number;
}

struct Block {
    std::string bytes; /* with its trailer */
    bool is_mended;    /* the bytes as they were written; else an empty block */
};

/* Blocks by file and offset. */
class Replacements {
  public:
    void add(uint64_t file, uint64_t offset, Block block)
    {
        std::lock_guard<std::mutex> held(lock_);
        blocks_[{file, offset}] = std::move(block);
        any_.store(true, std::memory_order_release);
    }

    void remove(uint64_t file)
    {
        if (!any())
            return;
        std::lock_guard<std::mutex> held(lock_);
        blocks_.erase(blocks_.lower_bound({file, 0}), blocks_.lower_bound({file + 1, 0}));
        any_.store(!blocks_.empty(), std::memory_order_release);
    }

    bool any() const
    {
        return any_.load(std::memory_order_acquire);
    }

    /* Writes the part of the file's replacements that overlaps [offset, offset + len). */
    void apply(uint64_t file, uint64_t offset, char *bytes, size_t len, bool for_compaction) const
    {
        std::lock_guard<std::mutex> held(lock_);
        for (auto at = blocks_.lower_bound({file, 0});
             at != blocks_.end() && at->first.first == file && at->first.second < offset + len;
             ++at) {
            const std::string &block = at->second.bytes;
            if (!at->second.is_mended && !for_compaction)
                continue;
            uint64_t from = std::max(at->first.second, offset);
            uint64_t to = std::min(at->first.second + block.size(), offset + len);
            if (from < to)
                memcpy(bytes + (from - offset), block.data() + (from - at->first.second),
                       to - from);
        }
    }

  private:
    mutable std::mutex lock_;
    std::atomic<bool> any_{false};
    std::map<std::pair<uint64_t, uint64_t>, Block> blocks_;
};

class File : public rocksdb::FSRandomAccessFileOwnerWrapper {
  public:
    File(std::unique_ptr<rocksdb::FSRandomAccessFile> &&file, uint64_t number,
         std::shared_ptr<const Replacements> replacements)
        : FSRandomAccessFileOwnerWrapper(std::move(file)), number_(number),
          replacements_(std::move(replacements))
    {
    }

    rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions &options,
                           rocksdb::Slice *result, char *scratch,
                           rocksdb::IODebugContext *dbg) const override
    {
        rocksdb::IOStatus status =
            FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, dbg);
        if (!status.ok() && compactions_here != 0)
            return rocksdb::IOStatus::Corruption("unreadable block in " + std::to_string(number_) +
                                                 ".sst offset " + std::to_string(offset) +
                                                 " size " + std::to_string(n));
        if (!replacements_->any() || !status.ok() || result->empty())
            return status;
        if (result->data() != scratch)
            memcpy(scratch, result->data(), result->size());
        replacements_->apply(number_, offset, scratch, result->size(), compactions_here != 0);
        *result = rocksdb::Slice(scratch, result->size());
        return status;
    }

  private:
    const uint64_t number_;
    const std::shared_ptr<const Replacements> replacements_;
};

class Files : public rocksdb::FileSystemWrapper {
  public:
    explicit Files(std::shared_ptr<const Replacements> replacements)
        : FileSystemWrapper(sto_rdb_patient_files()), replacements_(std::move(replacements))
    {
    }

    const char *Name() const override
    {
        return "bigtent.files";
    }

    rocksdb::IOStatus NewRandomAccessFile(const std::string &path,
                                          const rocksdb::FileOptions &options,
                                          std::unique_ptr<rocksdb::FSRandomAccessFile> *result,
                                          rocksdb::IODebugContext *dbg) override
    {
        std::unique_ptr<rocksdb::FSRandomAccessFile> file;
        rocksdb::IOStatus status =
            FileSystemWrapper::NewRandomAccessFile(path, options, &file, dbg);
        uint64_t number = number_of(path);
        if (status.ok() && number != 0)
            result->reset(new File(std::move(file), number, replacements_));
        else
            *result = std::move(file);
        return status;
    }

  private:
    const std::shared_ptr<const Replacements> replacements_;
};

class Listener : public rocksdb::EventListener {
  public:
    Listener(std::shared_ptr<Replacements> replacements, void (*met)(void *, const char *),
             void *ctx)
        : replacements_(std::move(replacements)), met_(met), ctx_(ctx)
    {
    }

    void OnSubcompactionBegin(const rocksdb::SubcompactionJobInfo &) override
    {
        compactions_here = 1;
    }

    void OnSubcompactionCompleted(const rocksdb::SubcompactionJobInfo &) override
    {
        compactions_here = 0;
    }

    void OnTableFileDeleted(const rocksdb::TableFileDeletionInfo &info) override
    {
        replacements_->remove(number_of(info.file_path));
    }

    /* A text without a file is not about a block: it stops the database. */
    void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status *error) override
    {
        std::string text = error->ToString();
        if (reason != rocksdb::BackgroundErrorReason::kCompaction || !error->IsCorruption() ||
            text.find(".sst") == std::string::npos) {
            stops(text);
            return;
        }
        failures_.fetch_add(1);
        met_(ctx_, text.c_str());
        *error = rocksdb::Status::OK();
    }

    uint64_t failures() const
    {
        return failures_.load();
    }

    std::string reason()
    {
        std::lock_guard<std::mutex> held(lock_);
        return reason_;
    }

  private:
    /* Keeps the first error that stops the database, because others may follow from it. */
    void stops(const std::string &text)
    {
        std::lock_guard<std::mutex> held(lock_);
        if (reason_.empty())
            reason_ = text;
    }

    const std::shared_ptr<Replacements> replacements_;
    void (*const met_)(void *, const char *);
    void *const ctx_;
    std::atomic<uint64_t> failures_{0};
    std::mutex lock_;
    std::string reason_;
};

} // namespace

struct rdb_damage_io {
    std::shared_ptr<Replacements> replacements;
    std::shared_ptr<Listener> listener;
    std::unique_ptr<rocksdb::Env> env;
};

/* Only a lack of memory throws, which ends the process as base_new does (docs/decisions/0001). */
extern "C" struct rdb_damage_io *sto_rdb_damage_io_new(void (*met)(void *ctx, const char *text),
                                                       void *ctx)
{
    auto *io = new rdb_damage_io;
    io->replacements = std::make_shared<Replacements>();
    io->listener = std::make_shared<Listener>(io->replacements, met, ctx);
    io->env = rocksdb::NewCompositeEnv(std::make_shared<Files>(io->replacements));
    return io;
}

extern "C" void sto_rdb_damage_io_free(struct rdb_damage_io *io)
{
    delete io;
}

extern "C" void sto_rdb_damage_io_install(struct rdb_damage_io *io, rocksdb_options_t *options)
{
    rocksdb::Options &o = sto_rdb_native_options(options);
    o.env = io->env.get();
    o.listeners.push_back(io->listener);
}

extern "C" uint64_t sto_rdb_damage_io_failures(const struct rdb_damage_io *io)
{
    return io->listener->failures();
}

extern "C" void sto_rdb_damage_io_reason(const struct rdb_damage_io *io, char *out, size_t size)
{
    std::string reason = io->listener->reason();
    size_t len = std::min(reason.size(), size - 1);
    memcpy(out, reason.data(), len);
    out[len] = '\0';
}

extern "C" enum err sto_rdb_compact_range(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                                          struct slice begin, struct slice end, int bottommost)
{
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction =
        static_cast<rocksdb::BottommostLevelCompaction>(bottommost);
    options.exclusive_manual_compaction = false;
    rocksdb::Slice from(reinterpret_cast<const char *>(begin.ptr), begin.len);
    rocksdb::Slice to(reinterpret_cast<const char *>(end.ptr), end.len);
    rocksdb::Status status =
        sto_rdb_native_db(db)->CompactRange(options, sto_rdb_native_family(family), &from, &to);
    if (status.ok())
        return ERR_OK;
    if (status.IsIncomplete() || status.IsShutdownInProgress() || status.IsAborted())
        return ERR_CANCELLED;
    return status.IsCorruption() ? ERR_CORRUPT : ERR_IO;
}

extern "C" uint32_t sto_rdb_block_checksum(int checksum_type, const uint8_t *bytes, uint64_t len)
{
    return rocksdb::ComputeBuiltinChecksum(static_cast<rocksdb::ChecksumType>(checksum_type),
                                           reinterpret_cast<const char *>(bytes), len);
}

extern "C" void sto_rdb_damage_io_replace(struct rdb_damage_io *io, uint64_t file, uint64_t offset,
                                          uint64_t bytes, int checksum_type)
{
    std::string block(bytes + TRAILER_BYTES, '\0');
    uint32_t sum = sto_rdb_block_checksum(
        checksum_type, reinterpret_cast<const uint8_t *>(block.data()), bytes + 1);
    for (size_t i = 0; i < 4; i++)
        block[bytes + 1 + i] = static_cast<char>(sum >> (8 * i));
    io->replacements->add(file, offset, Block{std::move(block), false});
}

extern "C" void sto_rdb_damage_io_mend(struct rdb_damage_io *io, uint64_t file, uint64_t offset,
                                       struct slice block)
{
    io->replacements->add(
        file, offset,
        Block{std::string(reinterpret_cast<const char *>(block.ptr), block.len), true});
}
