/*
 * storage/rocksdb/tenant_collector.cc - a collector of table properties, which C cannot install.
 *
 * Mechanism: entries of a file arrive in the order of their keys, so nearly every key has the
 * prefix of the previous one: one comparison. Other keys are looked up in a map. Range tombstones
 * arrive after all others.
 *
 * Invariant: without memory a file that RocksDB writes gets no list, and no exception leaves this
 * file.
 */
#include <atomic>
#include <map>
#include <memory>
#include <new>
#include <string>

#include <rocksdb/table_properties.h>

#include "storage/rocksdb/native.h"

extern "C" {
#include "storage/rocksdb/catalogue.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/tenant_collector.h"
}

namespace {

std::atomic<int> test_mode{RDB_CATALOGUE_TRUE};

const struct slice SLICE_NONE = {nullptr, 0};

struct slice slice_of(const rocksdb::Slice &s)
{
    return base_slice(reinterpret_cast<const uint8_t *>(s.data()), s.size());
}

struct slice slice_of(const std::string &s)
{
    return base_slice(reinterpret_cast<const uint8_t *>(s.data()), s.size());
}

std::string text_of(struct slice s)
{
    return std::string(reinterpret_cast<const char *>(s.ptr), s.len);
}

/* Counts the tenants of the keys of one file. */
class TenantCount {
  public:
    /* Counts an entry. Throws std::bad_alloc. */
    void entry(struct slice key, struct slice range_end)
    {
        entries_++;
        if (too_many_)
            return;
        count(key);
        if (range_end.len > 0)
            count(range_end);
    }

    /* Creates the list. out: initialized here. */
    enum err list(enum rdb_catalogue_test mode, struct buf *out) const
    {
        struct rdb_catalogue_maker m;
        sto_rdb_catalogue_begin(&m, too_many_, entries_);
        size_t at = 0;
        for (const auto &tenant : tenants_) {
            at++;
            if (mode != RDB_CATALOGUE_EMPTY &&
                (mode != RDB_CATALOGUE_ENDS || at == 1 || at == tenants_.size()))
                sto_rdb_catalogue_add(&m, slice_of(tenant.first), tenant.second);
        }
        enum err rc = sto_rdb_catalogue_end(&m);
        if (rc == ERR_OK && mode == RDB_CATALOGUE_BROKEN)
            m.bytes.ptr[m.bytes.len - 1] ^= 1;
        *out = m.bytes;
        return rc;
    }

  private:
    void count(struct slice key)
    {
        if (current_ != nullptr && base_slice_starts_with(key, slice_of(prefix_))) {
            ++*current_;
            return;
        }
        struct rdb_key_tenants found = sto_rdb_key_tenants(key);
        current_ = nullptr;
        if (found.of_document.len > 0)
            ++*number_of(found.of_document);
        if (found.of_row.len == 0)
            return;
        current_ = number_of(found.of_row);
        ++*current_;
        prefix_.assign(reinterpret_cast<const char *>(key.ptr), found.of_row.len + 1);
        if (found.of_document.len > 0)
            current_ = nullptr; /* two candidates: each key is looked up */
    }

    uint64_t *number_of(struct slice id)
    {
        uint64_t *number = &tenants_[text_of(id)];
        if (tenants_.size() > RDB_CATALOGUE_TENANTS) {
            tenants_.clear();
            too_many_ = true;
            number = &unlisted_;
        }
        return number;
    }

    std::map<std::string, uint64_t> tenants_;
    std::string prefix_;          /* of the keys counted in *current_ */
    uint64_t *current_ = nullptr; /* in tenants_ */
    uint64_t entries_ = 0;
    uint64_t unlisted_ = 0;
    bool too_many_ = false;
};

class TenantCollector : public rocksdb::TablePropertiesCollector {
  public:
    rocksdb::Status AddUserKey(const rocksdb::Slice &key, const rocksdb::Slice &value,
                               rocksdb::EntryType type, rocksdb::SequenceNumber, uint64_t) override
    {
        if (failed_)
            return rocksdb::Status::OK();
        try {
            count_.entry(slice_of(key),
                         type == rocksdb::kEntryRangeDeletion ? slice_of(value) : SLICE_NONE);
        } catch (const std::bad_alloc &) {
            failed_ = true;
        }
        return rocksdb::Status::OK();
    }

    rocksdb::Status Finish(rocksdb::UserCollectedProperties *properties) override
    {
        auto mode = static_cast<enum rdb_catalogue_test>(test_mode.load());
        if (failed_ || mode == RDB_CATALOGUE_NONE)
            return rocksdb::Status::OK();
        struct buf list;
        enum err rc = count_.list(mode, &list);
        try {
            if (rc == ERR_OK)
                properties->emplace(RDB_CATALOGUE_PROPERTY, text_of(base_buf_slice(&list)));
        } catch (const std::bad_alloc &) {
            failed_ = true; /* no list: the file is searched fully */
        }
        base_buf_fini(&list);
        return rocksdb::Status::OK();
    }

    rocksdb::UserCollectedProperties GetReadableProperties() const override
    {
        return {}; /* RocksDB would print them into the log */
    }

    const char *Name() const override
    {
        return "bigtent.tenants.1";
    }

  private:
    TenantCount count_;
    bool failed_ = false;
};

class TenantCollectorFactory : public rocksdb::TablePropertiesCollectorFactory {
  public:
    rocksdb::TablePropertiesCollector *CreateTablePropertiesCollector(Context) override
    {
        return new TenantCollector; /* RocksDB cannot work without it; see docs/decisions/0001 */
    }

    const char *Name() const override
    {
        return "bigtent.tenants.1";
    }
};

} // namespace

extern "C" void sto_rdb_tenant_collector_add(rocksdb_options_t *options)
{
    sto_rdb_native_options(options).table_properties_collector_factories.emplace_back(
        std::make_shared<TenantCollectorFactory>());
}

extern "C" bool sto_rdb_tenant_list_of_open(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                                            struct slice low, struct slice high, uint64_t number,
                                            struct buf *out)
{
    rocksdb::TablePropertiesCollection all;
    rocksdb::Range range(rocksdb::Slice(reinterpret_cast<const char *>(low.ptr), low.len),
                         rocksdb::Slice(reinterpret_cast<const char *>(high.ptr), high.len));
    /* An error is that of another file, or means that this file is not there. */
    (void)sto_rdb_native_db(db)->GetPropertiesOfTablesInRange(sto_rdb_native_family(family), &range,
                                                              1, &all);
    for (const auto &one : all) {
        const std::string &path = one.first;
        const auto &own = one.second->user_collected_properties;
        auto list = own.find(RDB_CATALOGUE_PROPERTY);
        size_t name = path.find_last_of('/') + 1; /* 0 if there is none */
        if (sto_rdb_file_number(path.c_str() + name) == number && list != own.end())
            return base_buf_append(out,
                                   slice{reinterpret_cast<const uint8_t *>(list->second.data()),
                                         list->second.size()}) == ERR_OK;
    }
    return false;
}

extern "C" void sto_rdb_test_catalogue(enum rdb_catalogue_test what)
{
    test_mode.store(what);
}

struct rdb_tenant_count {
    TenantCount count;
};

/* As base_new: only a lack of memory throws, which ends the process (docs/decisions/0001). */
extern "C" struct rdb_tenant_count *sto_rdb_tenant_count_new(void)
{
    return new rdb_tenant_count;
}

extern "C" void sto_rdb_tenant_count_free(struct rdb_tenant_count *c)
{
    delete c;
}

extern "C" void sto_rdb_tenant_count_entry(struct rdb_tenant_count *c, struct slice key,
                                           struct slice range_end)
{
    c->count.entry(key, range_end);
}

extern "C" enum err sto_rdb_tenant_count_list(const struct rdb_tenant_count *c, struct buf *out)
{
    return c->count.list(RDB_CATALOGUE_TRUE, out);
}
