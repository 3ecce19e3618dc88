/*
 * tests/bench/freed.c - when half of the bytes that a database has in table files are gone.
 *
 * One process that looks every few milliseconds: tools that a shell starts for each look hold the
 * processors for longer than a read takes, and would be what a neighbour's reads wait for.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/bench/bench.h"

#include "base/banned.h"

#define LOOK_NS    10000000L
#define PATIENCE_S 30

static bool is_table(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && strcmp(dot, ".sst") == 0;
}

/* Of the disk, as far as they are not deleted. */
static uint64_t table_bytes(DIR *dir)
{
    uint64_t bytes = 0;
    struct stat st;
    rewinddir(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (is_table(entry->d_name) && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
            bytes += (uint64_t)st.st_blocks * 512;
    }
    return bytes;
}

static double since_boot(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now); /* exists wherever this runs */
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* bench freed DIR: "freed_at", in seconds as /proc/uptime counts them; nothing when they are still
 * there after half a minute. */
int bench_freed(int argc, char **argv)
{
    if (argc != 1)
        bench_fail("usage: bench freed DIR");
    DIR *dir = opendir(argv[0]);
    if (dir == NULL)
        bench_fail("%s cannot be read", argv[0]);
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    double until = since_boot() + PATIENCE_S;
    uint64_t full = table_bytes(dir);
    bool there = full > 0;
    while (there && since_boot() < until) {
        (void)nanosleep(&pause, NULL); /* woken early: looks early */
        there = table_bytes(dir) * 2 > full;
    }
    if (!there)
        (void)printf("freed_at %.2f\n", since_boot());
    (void)closedir(dir);
    return EXIT_SUCCESS;
}
