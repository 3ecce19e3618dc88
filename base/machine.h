/*
 * base/machine.h - the processors and memory that this process may use.
 *
 * Does:     counts the processors that the process may run on, and the bytes of memory that it may
 *           use.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: how the numbers are used.
 * Threads:  any.
 * Blocks:   on a few small files of /proc and /sys.
 * Fails by: does not fail: a bound that cannot be read counts as no bound.
 * Limits:   none.
 * Promises: 1. Bounds of the process' control group, and of each group above it, apply: a container
 *              gets threads and caches for its own size. Processors: version 2 (cpu.max) only.
 *           2. A quota of processors is rounded up.
 */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include <stdint.h>

#include "base/slice.h"

/* Counts processors that are online, in the affinity of the calling thread, and within the quota;
 * at least 1. */
int base_machine_processors(void);
/* Returns the minimum of the machine's memory, its control groups' bounds and RLIMIT_DATA. */
uint64_t base_machine_memory_bytes(void);

/* Parses a control group's memory.max, such as "1073741824" or "max"; UINT64_MAX: no bound. */
uint64_t base_machine_memory_bound(struct slice text);
/* Parses a control group's cpu.max to processors, such as "150000 100000" (2) or "max 100000";
 * UINT64_MAX: no bound. */
uint64_t base_machine_processor_bound(struct slice text);

#endif
