/*
 * base/machine.h - what this process may use of the machine.
 *
 * Does:     count the processors that it may run on, and the bytes of memory that it may have.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: what depends on them.
 * Threads:  any.
 * Blocks:   on a few small files of /proc and /sys.
 * Fails by: does not fail: what cannot be asked counts as not limited.
 * Limits:   none.
 * Promises: 1. Bounds of the process' control group, and of each above it, count: a container gets
 *              threads and caches for its own size. Processors: version 2 (cpu.max) only.
 *           2. A quota of processors is rounded up.
 */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include <stdint.h>

#include "base/slice.h"

/* That are online, in the affinity of the calling thread, and within the quota; at least 1. */
int base_machine_processors(void);
/* Of the machine, of its control groups, of the limit RLIMIT_DATA. */
uint64_t base_machine_memory_bytes(void);

/* The bound in a control group's memory.max, such as "1073741824" or "max"; UINT64_MAX: none. */
uint64_t base_machine_memory_bound(struct slice text);
/* Processors by a control group's cpu.max, such as "150000 100000" (2) or "max 100000"; UINT64_MAX:
 * no bound. */
uint64_t base_machine_processor_bound(struct slice text);

#endif
