/*
 * tests/support/disk_load.h - writers that record acknowledged rows, on a failing disk.
 *
 * Does:     write new rows to the table "devices" of a tenant until it is stopped or the server has
 *           ended; record for each row whether it was acknowledged, refused, or is unknown; compare
 *           with the stored rows.
 * Owns:     its threads and clients, from start to stop; the states of the rows, until
 *           disk_load_fini.
 * May use:  tests/support/, libcheck.
 * Knows no: disks.
 * Threads:  start, stop and expect from one.
 * Blocks:   stop until the writers have ended.
 * Fails by: ck_abort_msg.
 * Limits:   none: a writer continues with new rows until it is stopped, also after refusals.
 * Promises: 1. Only 2xx counts as acknowledged; 507 as refused; a busy machine's 503 "overloaded",
 *              after which the row must not exist, as neither; all other answers as unknown.
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
    _Atomic int unknown_status; /* of the last such answer; 0: none arrived */
    _Atomic uint64_t late;
    struct disk_load_writer {
        struct disk_load *load;
        pthread_t thread;
        size_t number;
        struct buf rows; /* a byte for each sent row: enum disk_load_state */
    } writers[DISK_LOAD_WRITERS];
};

/* Resets all counts and states; called once, before the first start. Without disk_load_fini the
 * states stay allocated until the test's process ends. */
void disk_load_init(struct disk_load *l, const struct server *s, const char *key,
                    size_t value_bytes);
void disk_load_fini(struct disk_load *l);
void disk_load_start(struct disk_load *l);
void disk_load_stop(struct disk_load *l);
/* Waits until *count is at least wanted, which must happen within process_await_ms(),
 * or the server has ended (false). */
bool disk_load_await(struct disk_load *l, const _Atomic uint64_t *count, uint64_t wanted);
/* Checks that every acknowledged row exists and is complete, that no refused row exists, and that
 * unknown rows exist completely or not at all. */
void disk_load_expect(const struct disk_load *l);

#endif
