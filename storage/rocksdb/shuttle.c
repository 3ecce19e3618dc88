/*
 * storage/rocksdb/shuttle.c - a counter.
 */
#include "storage/rocksdb/shuttle.h"

#include <time.h>

#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

void sto_rdb_shuttle_enter(struct rdb_engine *e)
{
    atomic_fetch_add(&e->shuttles, 1);
}

void sto_rdb_shuttle_leave(struct rdb_engine *e)
{
    atomic_fetch_sub(&e->shuttles, 1);
}

void sto_rdb_shuttle_drain(struct rdb_engine *e)
{
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    while (atomic_load(&e->shuttles) > 0) /* each ends with its slice */
        (void)nanosleep(&pause, NULL);    /* a wake-up only checks earlier */
}
