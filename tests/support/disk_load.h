/*
 * tests/support/disk_load.h - writers that remember what was acknowledged, on a failing disk.
 *
 * Does:     write new rows to the table "devices" of a tenant until told to stop or the server is
 *           gone; keep for each row whether it was acknowledged, refused, or nobody knows; compare
 *           with what is there.
 * Owns:     its threads and clients, from start to stop; the states of the rows, until
 *           disk_load_fini.
 * May use:  tests/support/, libcheck.
 * Knows no: disks.
 * Threads:  start, stop and expect from one.
 * Blocks:   stop until the writers have ended.
 * Fails by: ck_abort_msg.
 * Limits:   none: a writer goes on with new rows until it is stopped, whatever is refused.
 * Promises: 1. No answer but 2xx counts as acknowledged; 507 as refused; a busy machine's 503
 *              "overloaded", after which nothing may be there, as neither; all others as unknown.
 */
#ifndef TESTS_SUPPORT_DISK_LOAD_H
#define TESTS_SUPPORT_DISK_LOAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "tests/support/world.h"

#define DISK_LOAD_WRITERS 3

enum disk_load_state { DISK_LOAD_UNKNOWN, DISK_LOAD_REFUSED, DISK_LOAD_ACKED };

struct disk_load {
    const struct server *server;
    const char *key;
    size_t value_bytes;
    const _Atomic uint64_t *watched; /* NULL, or: acknowledgements of requests that were sent when
                                      * this was above 0 count as late */
    _Atomic bool stop;
    _Atomic uint64_t acked;
    _Atomic uint64_t refused; /* 507 */
    _Atomic uint64_t unknown;
    _Atomic int unknown_status; /* of the last such answer; 0: none came */
    _Atomic uint64_t late;
    struct disk_load_writer {
        struct disk_load *load;
        pthread_t thread;
        size_t number;
        struct buf rows; /* a byte for each row that was sent: enum disk_load_state */
    } writers[DISK_LOAD_WRITERS];
};

/* All counts are 0, no row was written: once, before the first start. Without disk_load_fini the
 * states stay until the test's process ends. */
void disk_load_init(struct disk_load *l, const struct server *s, const char *key,
                    size_t value_bytes);
void disk_load_fini(struct disk_load *l);
void disk_load_start(struct disk_load *l);
void disk_load_stop(struct disk_load *l);
/* Wait until *count is at least wanted, which must come within process_await_ms(), or the server is
 * gone (false). */
bool disk_load_await(struct disk_load *l, const _Atomic uint64_t *count, uint64_t wanted);
/* Every acknowledged row is there and whole, no refused one is; unknown ones may be. */
void disk_load_expect(const struct disk_load *l);

#endif
