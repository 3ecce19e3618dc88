/*
 * tests/support/disk_end.h - checks a server whose storage engine failed, and its exit code.
 *
 * Does:     check a server whose end is held (disk_hold_end): /readyz, /metrics, a write and a
 *           read; let it end, and return its exit code.
 * Owns:     nothing.
 * May use:  tests/support/, libcheck.
 * Knows no: the cause of the failure.
 * Threads:  one.
 * Blocks:   until the server has ended.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. The result does not depend on timing: either every check was made, or RocksDB ended
 *              the process by an assertion of its own, which must be in the log.
 *           2. The call waits for a server that has not failed yet; any other end of the server
 *              than these two fails the test.
 */
#ifndef TESTS_SUPPORT_DISK_END_H
#define TESTS_SUPPORT_DISK_END_H

#include "tests/support/disk.h"
#include "tests/support/world.h"

#define ENGINE_FAILED 3
#define ABORTED       134 /* Debian's RocksDB asserts when a file fails twice */

/* Checks the server and lets it end. state: "full", "read_only" or "failed". The world has a table
 * "devices". Returns the exit code: ENGINE_FAILED or ABORTED. */
int disk_end_expect(struct disk *d, struct server *s, struct world *w, const char *state);
/* Checks the log of a server that ended with that code, in case RocksDB asserted. */
void disk_end_check(const struct server *s, int code);

#endif
