/*
 * storage/rocksdb/pressure.c - the maximum of several indicators.
 *
 * Each indicator grows from 0, half way to the point where RocksDB starts to delay, to full at that
 * point: refusing writes in between gives flushes and compactions the time that they need. An
 * existing delay counts as full: it delays the writes of all tenants, because all go through one
 * log.
 */
#include "storage/rocksdb/pressure.h"

#include "base/clock.h"

#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

uint32_t sto_rdb_sign(uint64_t value, uint64_t calm, uint64_t slow)
{
    if (value <= calm)
        return 0;
    if (value >= slow)
        return RDB_PRESSURE_FULL;
    return (uint32_t)((double)(value - calm) / (double)(slow - calm) * RDB_PRESSURE_FULL);
}

static uint32_t worse(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

uint32_t sto_rdb_pressure_of(const struct rdb_signs *s)
{
    if (s->stopped || s->delayed_write_rate != 0)
        return RDB_PRESSURE_FULL;
    uint32_t level = sto_rdb_sign(s->level0_files, RDB_LEVEL0_SLOW / 2, RDB_LEVEL0_SLOW);
    level = worse(level, sto_rdb_sign(s->pending_bytes, RDB_PENDING_SLOW / 2, RDB_PENDING_SLOW));
    return worse(level, sto_rdb_sign(s->memtables_waiting, 1, RDB_MEMTABLES - 1));
}

static uint64_t property(const struct rdb_engine *e, const char *name)
{
    uint64_t value = 0;
    return rocksdb_property_int_cf(e->db.handle, e->db.cells, name, &value) == 0 ? value : 0;
}

/* RocksDB does not return this property as a number. */
static uint64_t level0_files(const struct rdb_engine *e)
{
    char *text =
        rocksdb_property_value_cf(e->db.handle, e->db.cells, "rocksdb.num-files-at-level0");
    uint64_t files = 0;
    for (const char *p = text; p != NULL && *p >= '0' && *p <= '9'; p++)
        files = files * 10 + (uint64_t)(*p - '0');
    rocksdb_free(text);
    return files;
}

static void add(_Atomic uint64_t *sum, uint64_t by)
{
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + by,
                          memory_order_relaxed); /* one thread writes */
}

void sto_rdb_pressure_pass(struct rdb_pressure *p, uint64_t now_ns)
{
    uint64_t before_ns = atomic_exchange(&p->looked_ns, now_ns);
    uint64_t passed_ns = before_ns == 0 || before_ns > now_ns ? 0 : now_ns - before_ns;
    if (atomic_load(&p->stopped))
        add(&p->stopped_ns, passed_ns);
    else if (atomic_load(&p->delayed_write_rate) != 0)
        add(&p->delayed_ns, passed_ns);
}

void sto_rdb_pressure_look(struct rdb_engine *e)
{
    struct rdb_pressure *p = &e->pressure;
    sto_rdb_pressure_pass(p, base_monotonic_ns());
    struct rdb_signs signs = {
        .level0_files = level0_files(e),
        .pending_bytes = property(e, "rocksdb.estimate-pending-compaction-bytes"),
        .memtables_waiting = property(e, "rocksdb.num-immutable-mem-table"),
        .delayed_write_rate = property(e, "rocksdb.actual-delayed-write-rate"),
        .stopped = property(e, "rocksdb.is-write-stopped") != 0,
    };
    atomic_store(&p->level0_files, signs.level0_files);
    atomic_store(&p->pending_bytes, signs.pending_bytes);
    atomic_store(&p->memtables_waiting, signs.memtables_waiting);
    atomic_store(&p->delayed_write_rate, signs.delayed_write_rate);
    atomic_store(&p->stopped, signs.stopped);
    atomic_store(&p->level, worse(sto_rdb_pressure_of(&signs), atomic_load(&p->pretended)));
}
