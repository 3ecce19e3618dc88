/*
 * tests/support/memory.c - RssAnon of /proc/PID/status.
 */
#include "tests/support/memory.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#include "base/banned.h"

uint64_t memory_of(pid_t pid)
{
    char path[64], line[256];
    uint64_t kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)(pid != 0 ? pid : getpid()));
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f) != NULL) {
        const char *digits = line + strcspn(line, "0123456789");
        if (strncmp(line, "RssAnon:", 8) == 0)
            ck_assert_int_eq(base_parse_u64(base_slice(digits, strspn(digits, "0123456789")), &kib),
                             ERR_OK);
    }
    (void)fclose(f);
    ck_assert_uint_gt(kib, 0);
    return kib * 1024;
}

void memory_watch_begin(struct memory_watch *w, pid_t pid)
{
    uint64_t now = memory_of(pid);
    *w = (struct memory_watch){.pid = pid, .before = now, .most = now};
}

void memory_watch_look(struct memory_watch *w)
{
    uint64_t now = memory_of(w->pid);
    w->most = now > w->most ? now : w->most;
}

uint64_t memory_watch_growth(const struct memory_watch *w)
{
    return w->most - w->before;
}
