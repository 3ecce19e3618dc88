/*
 * storage/rocksdb/descriptors.c - distinguishes temporary errors from those of the disk.
 */
#include "storage/rocksdb/descriptors.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"

#include "base/banned.h"

#define NS_PER_MS 1000000L
#define NS_PER_S  1000000000ULL

static _Atomic uint64_t missed; /* of the process, like the descriptors */

bool sto_rdb_descriptors_lack(int error)
{
    return error == EMFILE || error == ENFILE;
}

bool sto_rdb_descriptor_await(uint64_t *since_ns)
{
    const struct timespec moment = {.tv_nsec = RDB_DESCRIPTOR_TRY_MS * NS_PER_MS};
    uint64_t now_ns = base_monotonic_ns();
    if (*since_ns == 0) {
        *since_ns = now_ns;
        sto_rdb_descriptor_missed();
    }
    if (now_ns - *since_ns > RDB_DESCRIPTOR_SECONDS * NS_PER_S)
        return false;
    (void)nanosleep(&moment, NULL); /* a wake-up only retries earlier */
    return true;
}

void sto_rdb_descriptor_missed(void)
{
    atomic_fetch_add_explicit(&missed, 1, memory_order_relaxed);
}

uint64_t sto_rdb_descriptors_missed(void)
{
    return atomic_load_explicit(&missed, memory_order_relaxed);
}
