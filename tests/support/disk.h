/*
 * tests/support/disk.h - the disk of one server, which can be full, read-only or failing.
 *
 * Does:     put tests/faults/disk_fault.c in front of a server's libc, and tell it what fails.
 * Owns:     the mapped file in the server's root.
 * May use:  tests/faults/disk_fault.h, tests/support/server.h, libcheck.
 * Knows no: databases.
 * Threads:  any, between init and fini.
 * Blocks:   no.
 * Fails by: ck_abort_msg.
 * Limits:   one failure at a time.
 * Promises: 1. Only what lies under the directory given at init ever fails.
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
    uint64_t holds;     /* disk_hold_sync so far */
};

/* under: such as the server's data directory. */
void disk_init(struct disk *d, const struct server *s, const char *under);
void disk_fini(struct disk *d);

/* From the call behind `after` on, the calls named by the mask, on files whose path contains
 * `only` ("": all), fail with error. */
void disk_fail(struct disk *d, uint32_t calls, int error, const char *only, uint64_t after);
/* The same for one call only; then the disk is well again. */
void disk_fail_once(struct disk *d, uint32_t calls, int error, const char *only, uint64_t after);
/* The process that makes the call behind `after` of those is killed before it makes it. */
void disk_kill(struct disk *d, uint32_t calls, const char *only, uint64_t after);
/* Calls that the last of the above were about, since then. */
uint64_t disk_seen(const struct disk *d);
/* So much is free now, on a disk of this size; what is written from now on takes of it. */
void disk_leave_free(struct disk *d, uint64_t free_bytes);
void disk_read_only(struct disk *d);
/* Only new files fail. */
void disk_no_inodes(struct disk *d);
/* Nothing fails; what is made durable takes so much longer. */
void disk_slow(struct disk *d, uint32_t sync_ms);
/* From the sync behind `after` on, those of files whose path contains `only` ("": all) wait until
 * disk_let_go, or disk_heal, and then succeed. A process with a held sync can only be killed. */
void disk_hold_sync(struct disk *d, const char *only, uint64_t after);
/* Waits until a sync is held back. */
void disk_await_held(struct disk *d);
void disk_let_go(struct disk *d);
/* The server that runs goes on answering until it is let end, whatever becomes of its engine. To be
 * called before the disk fails; afterwards it may be too late. */
void disk_hold_end(struct disk *d);
void disk_let_end(struct disk *d);
/* All is well; an end that is held back still is. */
void disk_heal(struct disk *d);
/* Calls that failed since the last of the above. */
uint64_t disk_failed(const struct disk *d);
/* Blocks of all files there. */
uint64_t disk_used(const struct disk *d);

#endif
