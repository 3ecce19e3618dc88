/*
 * storage/rocksdb/shares.c - computes lag as a number, four times a second.
 */
#include "storage/rocksdb/shares.h"

#include "base/share.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define NS_PER_MS 1000000ULL

static uint32_t worse(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

void sto_rdb_erasing_since(struct sto_engine *engine, uint64_t since_ns)
{
    atomic_store(&sto_rdb_engine(engine)->erasing_since_ns, since_ns);
}

static uint32_t erase_lag(struct rdb_engine *e, uint64_t now_ns)
{
    uint64_t since_ns = atomic_load(&e->erasing_since_ns);
    if (since_ns == 0 || since_ns > now_ns)
        return 0;
    return sto_rdb_sign((now_ns - since_ns) / NS_PER_MS, RDB_ERASE_CALM_MS, RDB_ERASE_FULL_MS);
}

void sto_rdb_shares_look(struct rdb_engine *e, uint64_t now_ns)
{
    const struct rdb_pressure *p = &e->pressure;
    uint32_t erase = erase_lag(e, now_ns);
    uint32_t flush =
        sto_rdb_sign(atomic_load(&p->memtables_waiting), RDB_MEMTABLES_CALM, RDB_MEMTABLES_LAG);
    uint32_t compact =
        worse(sto_rdb_sign(atomic_load(&p->level0_files), RDB_LEVEL0_CALM, RDB_LEVEL0_LAGS),
              sto_rdb_sign(atomic_load(&p->pending_bytes), RDB_PENDING_CALM, RDB_PENDING_LAGS));
    base_class_lag(BASE_ERASE, erase);
    base_class_lag(BASE_FLUSH, worse(erase, flush));
    base_class_lag(BASE_COMPACT, worse(erase, compact));
}
