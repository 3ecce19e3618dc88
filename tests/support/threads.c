/*
 * tests/support/threads.c - /proc/PID/task.
 */
#include "tests/support/threads.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/text.h"

#include "base/banned.h"

int threads_count(pid_t pid, const char *prefix, int from, int to)
{
    char path[64 + NAME_MAX];
    int count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    ck_assert_msg(tasks != NULL, "no process %d", (int)pid);
    for (const struct dirent *d = readdir(tasks); d != NULL; d = readdir(tasks)) {
        struct buf name = {0};
        uint64_t tid;
        if (base_parse_u64(base_slice_text(d->d_name), &tid) != ERR_OK)
            continue;
        (void)snprintf(path, sizeof path, "/proc/%d/task/%s/comm", (int)pid, d->d_name);
        if (base_file_read(path, KIB, &name, NULL) == ERR_OK &&
            base_slice_starts_with(base_buf_slice(&name), base_slice_text(prefix))) {
            errno = 0;
            int nice = getpriority(PRIO_PROCESS, (id_t)tid);
            count += errno == 0 && nice >= from && nice <= to;
        }
        base_buf_fini(&name);
    }
    (void)closedir(tasks);
    return count;
}
