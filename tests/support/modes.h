/*
 * tests/support/modes.h - who may look into files.
 *
 * Does:     counts files and directories of a tree that others than their owner may do anything
 *           with.
 * Owns:     nothing after a call.
 * May use:  libcheck.
 * Knows no: servers.
 * Threads:  any.
 * Blocks:   on the disk.
 * Fails by: ck_assert.
 * Limits:   none.
 * Promises: 1. Each of them is named on stderr.
 */
#ifndef TESTS_SUPPORT_MODES_H
#define TESTS_SUPPORT_MODES_H

#include <stddef.h>

/* excepted: names that are not looked at; NULL ends them. */
size_t modes_open_to_others(const char *dir, const char *const *excepted);

#endif
