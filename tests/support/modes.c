/*
 * tests/support/modes.c - a walk over a tree.
 */
#define _GNU_SOURCE
#include "tests/support/modes.h"

#include <check.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/banned.h"

static bool is_excepted(const char *name, const char *const *excepted)
{
    for (; *excepted != NULL; excepted++)
        if (strcmp(*excepted, name) == 0)
            return true;
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static size_t is_open(const char *path, const struct stat *st)
{
    if ((st->st_mode & (S_IRWXG | S_IRWXO)) == 0)
        return 0;
    (void)fprintf(stderr, "%s has mode %04o\n", path, (unsigned)st->st_mode & 07777);
    return 1;
}

size_t modes_open_to_others(const char *dir, const char *const *excepted)
{
    struct stat st;
    size_t count = 0;
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    ck_assert_int_eq(stat(dir, &st), 0);
    count += is_open(dir, &st);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[PATH_MAX];
        if (is_excepted(e->d_name, excepted))
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (lstat(path, &st) != 0)
            continue; /* a running server removes files */
        count += S_ISDIR(st.st_mode) ? modes_open_to_others(path, excepted) : is_open(path, &st);
    }
    (void)closedir(d); /* it was only read */
    return count;
}
