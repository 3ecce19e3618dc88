/*
 * storage/rocksdb/test_tools.c - lets tests make the engine fail, stop or pretend.
 */
#include <time.h>
#include <unistd.h>

#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/rocksdb_engine.h"

#include "base/banned.h"

#define EXIT_AS_KILLED 137

void sto_rocksdb_test_fail_commit(struct sto_engine *engine, int after)
{
    atomic_store(&sto_rdb_engine(engine)->fail_commit, after);
}

void sto_rocksdb_test_pressure(struct sto_engine *engine, uint32_t level)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    atomic_store(&e->pressure.pretended, level);
    sto_rdb_pressure_look(e);
}

void sto_rocksdb_test_held_free(struct sto_engine *engine, uint64_t ns)
{
    atomic_store(&sto_rdb_engine(engine)->held_free_ns, ns);
}

void sto_rocksdb_test_apply_steps(struct sto_engine *engine, uint64_t steps)
{
    atomic_store(&sto_rdb_engine(engine)->apply_steps, steps);
}

void sto_rocksdb_test_disk_free(struct sto_engine *engine, uint64_t bytes)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    atomic_store(&e->headroom.pretended_bytes, bytes);
    sto_rdb_headroom_check(&e->headroom);
}

void sto_rocksdb_test_die_at(struct sto_engine *engine, enum sto_die_point point)
{
    atomic_store(&sto_rdb_engine(engine)->die_at, (int)point);
}

void sto_rdb_test_point(struct rdb_engine *e, enum sto_die_point point)
{
    if (atomic_load_explicit(&e->die_at, memory_order_relaxed) == (int)point)
        _exit(EXIT_AS_KILLED);
    if (atomic_load_explicit(&e->hold_at, memory_order_relaxed) != (int)point)
        return;
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    atomic_fetch_add(&e->held, 1);
    while (atomic_load(&e->hold_at) == (int)point)
        (void)nanosleep(&pause, NULL); /* a wake-up only checks earlier */
    atomic_fetch_sub(&e->held, 1);
}

void sto_rocksdb_test_hold_at(struct sto_engine *engine, enum sto_die_point point)
{
    atomic_store(&sto_rdb_engine(engine)->hold_at, (int)point);
}

bool sto_rocksdb_test_is_held(struct sto_engine *engine)
{
    return atomic_load(&sto_rdb_engine(engine)->held) > 0;
}
