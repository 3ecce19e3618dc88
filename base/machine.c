/*
 * base/machine.c - a control group is bound by its own files and by those of all groups above it.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/machine.h"

#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

#include "base/banned.h"

#define FILE_BYTES 4096

/* --- control groups --------------------------------------------------------------------------- */

static struct slice line_of(struct slice text)
{
    while (text.len > 0 && text.ptr[text.len - 1] == '\n')
        text.len--;
    return text;
}

uint64_t base_machine_memory_bound(struct slice text)
{
    uint64_t bytes = 0;
    return base_parse_u64(line_of(text), &bytes) == ERR_OK && bytes > 0 ? bytes : UINT64_MAX;
}

uint64_t base_machine_processor_bound(struct slice text)
{
    struct slice quota = line_of(text), period;
    const uint8_t *space = quota.len == 0 ? NULL : memchr(quota.ptr, ' ', quota.len);
    uint64_t quota_us = 0, period_us = 0;
    if (space == NULL)
        return UINT64_MAX;
    period = base_slice_skip(quota, (size_t)(space - quota.ptr) + 1);
    quota.len = (size_t)(space - quota.ptr);
    bool is_bound = base_parse_u64(quota, &quota_us) == ERR_OK && quota_us > 0 &&
                    base_parse_u64(period, &period_us) == ERR_OK && period_us > 0;
    return is_bound ? quota_us / period_us + (quota_us % period_us > 0) : UINT64_MAX;
}

static uint64_t bound_in(const char *path, uint64_t (*bound_of)(struct slice text))
{
    struct buf text = {0};
    uint64_t bound = UINT64_MAX;
    if (base_file_read(path, FILE_BYTES, &text, NULL) == ERR_OK)
        bound = bound_of(base_buf_slice(&text));
    base_buf_fini(&text);
    return bound;
}

/* Returns the minimum of the bounds of this process' control group and all groups above it:
 * "0::/a/b" in /proc/self/cgroup. */
static uint64_t group_bound(const char *file, uint64_t (*bound_of)(struct slice text))
{
    struct buf text = {0};
    uint64_t bound = UINT64_MAX;
    char path[BASE_PATH_BYTES];
    if (base_file_read("/proc/self/cgroup", FILE_BYTES, &text, NULL) != ERR_OK)
        text.len = 0;
    struct slice line = base_buf_slice(&text);
    size_t len = 0;
    if (base_slice_starts_with(line, SLICE_LIT("0::/"))) {
        line = base_slice_skip(line, 3);
        while (len < line.len && line.ptr[len] != '\n')
            len++;
    }
    for (;; len--) {
        int n = snprintf(path, sizeof path, "/sys/fs/cgroup%.*s/%s", (int)len,
                         (const char *)line.ptr, file);
        uint64_t here = n > 0 && (size_t)n < sizeof path ? bound_in(path, bound_of) : UINT64_MAX;
        bound = here < bound ? here : bound;
        while (len > 0 && line.ptr[len - 1] != '/')
            len--;
        if (len == 0)
            break;
    }
    base_buf_fini(&text);
    return bound;
}

/* --- the machine ------------------------------------------------------------------------------ */

int base_machine_processors(void)
{
    cpu_set_t set;
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof set, &set) == 0) /* EINVAL: the machine has more processors than
                                                      * the set */
        count = CPU_COUNT(&set);
    uint64_t quota = group_bound("cpu.max", base_machine_processor_bound);
    if (count < 1)
        count = 1;
    return quota < (uint64_t)count ? (int)quota : (int)count;
}

uint64_t base_machine_memory_bytes(void)
{
    static const char VERSION_1[] = "/sys/fs/cgroup/memory/memory.limit_in_bytes";
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    uint64_t group = group_bound("memory.max", base_machine_memory_bound);
    uint64_t group_1 = bound_in(VERSION_1, base_machine_memory_bound);
    struct rlimit own;
    if (group < bytes)
        bytes = group;
    if (group_1 < bytes)
        bytes = group_1;
    if (getrlimit(RLIMIT_DATA, &own) == 0 && own.rlim_cur != RLIM_INFINITY && own.rlim_cur < bytes)
        bytes = own.rlim_cur;
    return bytes;
}
