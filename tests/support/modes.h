/*
 * tests/support/modes.h - access permissions of files.
 *
 * Does:     counts files and directories of a tree that users other than the owner may access.
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

/* Counts them. excepted: names to skip; NULL ends the list. */
size_t modes_open_to_others(const char *dir, const char *const *excepted);

#endif
