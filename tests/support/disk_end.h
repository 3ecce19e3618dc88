/*
 * tests/support/disk_end.h - what a server whose storage engine failed says, and how it ends.
 *
 * Does:     look at a server that is held back at its end (disk_hold_end): at /readyz, /metrics, a
 *           write and a read; let it end, and say how it did.
 * Owns:     nothing.
 * May use:  tests/support/, libcheck.
 * Knows no: what failed.
 * Threads:  one.
 * Blocks:   until the server has ended.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. Nothing depends on when it is asked: all of it was looked at, or RocksDB ended the
 *              process by an assertion of its own, which the log must say.
 *           2. A server that has not failed yet is waited for; one that ends in any other way than
 *              these two fails the test.
 */
#ifndef TESTS_SUPPORT_DISK_END_H
#define TESTS_SUPPORT_DISK_END_H

#include "tests/support/disk.h"
#include "tests/support/world.h"

#define ENGINE_FAILED 3
#define ABORTED       134 /* Debian's RocksDB asserts when a file fails twice */

/* state: "full", "read_only" or "failed". The world has a table "devices". Returns the exit code:
 * ENGINE_FAILED or ABORTED. */
int disk_end_expect(struct disk *d, struct server *s, struct world *w, const char *state);
/* Of a server that has ended with that code: it may have been RocksDB that asserted. */
void disk_end_check(const struct server *s, int code);

#endif
