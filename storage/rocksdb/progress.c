/*
 * storage/rocksdb/progress.c - a few numbers that other threads may read.
 */
#include "storage/rocksdb/progress.h"

#include "base/clock.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

void sto_rdb_progress_watch(struct sto_engine *engine, struct sto_progress *progress)
{
    sto_rdb_engine(engine)->progress = progress;
}

void sto_rdb_progress_begin(struct rdb_engine *e, enum sto_progress_unit unit, uint64_t all)
{
    struct sto_progress *p = e->progress;
    if (p == NULL)
        return;
    atomic_store(&p->unit, STO_PROGRESS_NONE); /* the other fields are inconsistent from here */
    atomic_store(&p->done, 0);
    atomic_store(&p->all, all);
    atomic_store(&p->since_ns, base_monotonic_ns());
    atomic_store(&p->unit, (uint32_t)unit);
}

void sto_rdb_progress_add(struct rdb_engine *e, uint64_t done)
{
    if (e->progress != NULL)
        atomic_fetch_add(&e->progress->done, done);
}
