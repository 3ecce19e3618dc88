/*
 * storage/rocksdb/threads.cc - each thread of RocksDB joins its class when it starts to work.
 *
 * RocksDB creates threads when it needs them, from any calling thread, and reports them only when
 * it calls its listeners.
 */
#include <memory>

#include <rocksdb/listener.h>

#include "storage/rocksdb/native.h"

extern "C" {
#include "base/share.h"
#include "storage/rocksdb/threads.h"
}

namespace {

class Listener : public rocksdb::EventListener {
  public:
    void OnFlushBegin(rocksdb::DB *, const rocksdb::FlushJobInfo &) override
    {
        base_class_join(BASE_FLUSH);
    }

    void OnSubcompactionBegin(const rocksdb::SubcompactionJobInfo &) override
    {
        base_class_join(BASE_COMPACT);
    }
};

} // namespace

extern "C" void sto_rdb_threads_install(rocksdb_options_t *options)
{
    sto_rdb_native_options(options).listeners.push_back(std::make_shared<Listener>());
}
