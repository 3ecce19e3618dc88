/*
 * storage/rocksdb/patient_files.cc - RocksDB returns no errno, but its text ends with errno's text.
 *
 * A failed open of a log, table or MANIFEST stops RocksDB's writes for good. Its automatic resume
 * is switched off (README.md), so the error must not reach it.
 */
#include <cerrno>
#include <cstring>

#include "storage/rocksdb/patient_files.h"

extern "C" {
#include "storage/rocksdb/descriptors.h"
}

namespace {

/* The text of ENFILE starts with that of EMFILE. */
bool lacks_descriptor(const rocksdb::IOStatus &status)
{
    return status.IsIOError() &&
           status.ToString().find(strerrordesc_np(EMFILE)) != std::string::npos;
}

template <typename Call> rocksdb::IOStatus try_patiently(Call call)
{
    uint64_t since_ns = 0;
    rocksdb::IOStatus status = call();
    while (lacks_descriptor(status) && sto_rdb_descriptor_await(&since_ns))
        status = call();
    return status;
}

class PatientFiles : public rocksdb::FileSystemWrapper {
  public:
    PatientFiles() : FileSystemWrapper(rocksdb::FileSystem::Default())
    {
    }

    const char *Name() const override
    {
        return "bigtent.patient_files";
    }

    rocksdb::IOStatus NewSequentialFile(const std::string &path,
                                        const rocksdb::FileOptions &options,
                                        std::unique_ptr<rocksdb::FSSequentialFile> *result,
                                        rocksdb::IODebugContext *dbg) override
    {
        return try_patiently(
            [&] { return FileSystemWrapper::NewSequentialFile(path, options, result, dbg); });
    }

    rocksdb::IOStatus NewRandomAccessFile(const std::string &path,
                                          const rocksdb::FileOptions &options,
                                          std::unique_ptr<rocksdb::FSRandomAccessFile> *result,
                                          rocksdb::IODebugContext *dbg) override
    {
        return try_patiently(
            [&] { return FileSystemWrapper::NewRandomAccessFile(path, options, result, dbg); });
    }

    rocksdb::IOStatus NewWritableFile(const std::string &path, const rocksdb::FileOptions &options,
                                      std::unique_ptr<rocksdb::FSWritableFile> *result,
                                      rocksdb::IODebugContext *dbg) override
    {
        return try_patiently(
            [&] { return FileSystemWrapper::NewWritableFile(path, options, result, dbg); });
    }

    rocksdb::IOStatus ReopenWritableFile(const std::string &path,
                                         const rocksdb::FileOptions &options,
                                         std::unique_ptr<rocksdb::FSWritableFile> *result,
                                         rocksdb::IODebugContext *dbg) override
    {
        return try_patiently(
            [&] { return FileSystemWrapper::ReopenWritableFile(path, options, result, dbg); });
    }

    rocksdb::IOStatus NewDirectory(const std::string &path, const rocksdb::IOOptions &options,
                                   std::unique_ptr<rocksdb::FSDirectory> *result,
                                   rocksdb::IODebugContext *dbg) override
    {
        return try_patiently(
            [&] { return FileSystemWrapper::NewDirectory(path, options, result, dbg); });
    }

    rocksdb::IOStatus GetChildren(const std::string &path, const rocksdb::IOOptions &options,
                                  std::vector<std::string> *result,
                                  rocksdb::IODebugContext *dbg) override
    {
        return try_patiently(
            [&] { return FileSystemWrapper::GetChildren(path, options, result, dbg); });
    }

    rocksdb::IOStatus NewLogger(const std::string &path, const rocksdb::IOOptions &options,
                                std::shared_ptr<rocksdb::Logger> *result,
                                rocksdb::IODebugContext *dbg) override
    {
        return try_patiently(
            [&] { return FileSystemWrapper::NewLogger(path, options, result, dbg); });
    }
};

} // namespace

std::shared_ptr<rocksdb::FileSystem> sto_rdb_patient_files()
{
    return std::make_shared<PatientFiles>();
}
