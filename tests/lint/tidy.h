/*
 * tests/lint/tidy.h - what clang's analyzer must know and cannot see, one file at a time.
 *
 * Included before every file by tests/lint/tidy.sh; nothing is compiled with it.
 *
 * Does:     say that base_fail returns the code it was given, so that what is written only on
 *           ERR_OK is not taken for read unwritten behind it.
 * Owns:     nothing.
 * May use:  base/err.h.
 * Knows no: anything else.
 * Threads:  none.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. The program it shows behaves as the real one.
 */
#ifndef TESTS_LINT_TIDY_H
#define TESTS_LINT_TIDY_H

/* As files that want more of glibc say first: after an #include it is too late. */
#define _GNU_SOURCE

#include "base/err.h"

#define base_fail(eb, code, ...) (base_fail((eb), (code), __VA_ARGS__), (code))

#endif
