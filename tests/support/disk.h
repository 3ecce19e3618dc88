/*
 * tests/support/disk.h - one server's simulated disk, which can be full, read-only or failing.
 *
 * Does:     preload tests/faults/disk_fault.c before a server's libc, and configure its failures.
 * Owns:     the mapped file in the server's root.
 * May use:  tests/faults/disk_fault.h, tests/support/server.h, libcheck.
 * Knows no: databases.
 * Threads:  any, between init and fini.
 * Blocks:   no.
 * Fails by: ck_abort_msg.
 * Limits:   one failure at a time.
 * Promises: 1. Only files under the directory passed to init ever fail.
 */
#ifndef TESTS_SUPPORT_DISK_H
#define TESTS_SUPPORT_DISK_H

#include <errno.h>

#include "tests/faults/disk_fault.h"
#include "tests/support/server.h"

struct disk {
    struct disk_fault *fault;
    char names[3][2 * PROCESS_PATH];
    const char *env[4]; /* for server_start and process_run */
    uint64_t holds;     /* number of disk_hold_sync calls so far */
};

/* Initializes d. under: the affected directory, such as the server's data directory. */
void disk_init(struct disk *d, const struct server *s, const char *under);
void disk_fini(struct disk *d);

/* Makes the calls in the mask, on files whose path contains `only` ("": all), fail with error; the
 * first `after` calls succeed. */
void disk_fail(struct disk *d, uint32_t calls, int error, const char *only, uint64_t after);
/* Does the same for one call only; later calls succeed. */
void disk_fail_once(struct disk *d, uint32_t calls, int error, const char *only, uint64_t after);
/* Kills the process that makes the next such call after the first `after`, before the call. */
void disk_kill(struct disk *d, uint32_t calls, const char *only, uint64_t after);
/* Returns the number of calls that matched the last of the above, since it was set. */
uint64_t disk_seen(const struct disk *d);
/* Leaves free_bytes of free space on a disk of the current size; later writes consume it. */
void disk_leave_free(struct disk *d, uint64_t free_bytes);
void disk_read_only(struct disk *d);
/* Makes only the creation of files fail. */
void disk_no_inodes(struct disk *d);
/* Delays every sync by sync_ms; nothing fails. */
void disk_slow(struct disk *d, uint32_t sync_ms);
/* Blocks syncs of files whose path contains `only` ("": all), after the first `after`, until
 * disk_let_go or disk_heal; then they succeed. A process with a held sync can only be killed. */
void disk_hold_sync(struct disk *d, const char *only, uint64_t after);
/* Waits until a sync is held. */
void disk_await_held(struct disk *d);
void disk_let_go(struct disk *d);
/* Keeps the running server answering until disk_let_end, even if its engine fails. Must be called
 * before the disk fails; afterwards it may be too late. */
void disk_hold_end(struct disk *d);
void disk_let_end(struct disk *d);
/* Removes all failures; a held end remains held. */
void disk_heal(struct disk *d);
/* Returns the number of calls that failed since the last of the above. */
uint64_t disk_failed(const struct disk *d);
/* Returns the size of the blocks of all files there. */
uint64_t disk_used(const struct disk *d);

#endif
