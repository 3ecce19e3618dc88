/*
 * tests/support/disk.c - one server's simulated disk, which can be full, read-only or failing.
 *
 * Under AddressSanitizer the library is loaded before the sanitizer's, and passes calls on to it.
 */
#define _GNU_SOURCE
#include "tests/support/disk.h"

#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

#define BLOCK_BYTES 512 /* of st_blocks */

void disk_init(struct disk *d, const struct server *s, const char *under)
{
    char path[PROCESS_PATH + 16];
    char library[PROCESS_PATH];
    const char *asan = getenv("ASAN_OPTIONS");
    memset(d, 0, sizeof(*d));
    (void)snprintf(path, sizeof(path), "%s/disk", s->root);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
    ck_assert_int_eq(ftruncate(fd, sizeof(*d->fault)), 0);
    d->fault = mmap(NULL, sizeof(*d->fault), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert(d->fault != MAP_FAILED);
    (void)close(fd); /* mapped */
    int n = snprintf(d->fault->under, sizeof(d->fault->under), "%s", under);
    ck_assert(n > 0 && n < DISK_FAULT_PATH);
    process_program("disk_fault.so", library);
    (void)snprintf(d->names[0], sizeof(d->names[0]), "%s=%s", DISK_FAULT_ENV, path);
    (void)snprintf(d->names[1], sizeof(d->names[1]), "LD_PRELOAD=%s", library);
    (void)snprintf(d->names[2], sizeof(d->names[2]), "ASAN_OPTIONS=%s%sverify_asan_link_order=0",
                   asan != NULL ? asan : "", asan != NULL ? ":" : "");
    for (size_t i = 0; i < 3; i++)
        d->env[i] = d->names[i];
}

void disk_fini(struct disk *d)
{
    if (d->fault != NULL)
        (void)munmap(d->fault, sizeof(*d->fault)); /* our mapping */
    d->fault = NULL;
}

void disk_heal(struct disk *d)
{
    atomic_store(&d->fault->calls, 0);
    atomic_store(&d->fault->kills, 0);
    atomic_store(&d->fault->hold, 0);
    atomic_store(&d->fault->space_bytes, 0);
    atomic_store(&d->fault->read_only, 0);
    atomic_store(&d->fault->no_inodes, 0);
    atomic_store(&d->fault->sync_ms, 0);
    atomic_store(&d->fault->seen, 0);
    atomic_store(&d->fault->failed, 0);
}

static void plan(struct disk *d, uint32_t calls, int error, const char *only, uint64_t after,
                 uint64_t times)
{
    int n = snprintf(d->fault->only, sizeof(d->fault->only), "%s", only);
    ck_assert_int_lt(n, (int)sizeof(d->fault->only));
    atomic_store(&d->fault->error, error);
    atomic_store(&d->fault->after, after);
    atomic_store(&d->fault->times, times);
    atomic_store(&d->fault->calls, calls);
}

void disk_fail(struct disk *d, uint32_t calls, int error, const char *only, uint64_t after)
{
    disk_heal(d);
    plan(d, calls, error, only, after, 0);
}

void disk_fail_once(struct disk *d, uint32_t calls, int error, const char *only, uint64_t after)
{
    disk_heal(d);
    plan(d, calls, error, only, after, 1);
}

void disk_kill(struct disk *d, uint32_t calls, const char *only, uint64_t after)
{
    disk_heal(d);
    atomic_store(&d->fault->kills, 1);
    plan(d, calls, 0, only, after, 1);
}

uint64_t disk_seen(const struct disk *d)
{
    return atomic_load(&d->fault->seen);
}

static uint64_t blocks; /* of the walk in progress; nftw has no context */

static int add_blocks(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)path; /* only sizes count */
    (void)at;
    if (kind == FTW_F && st->st_nlink > 0)
        blocks += (uint64_t)st->st_blocks / st->st_nlink;
    return 0;
}

uint64_t disk_used(const struct disk *d)
{
    enum { DESCRIPTORS = 8 };
    blocks = 0;
    (void)nftw(d->fault->under, add_blocks, DESCRIPTORS, FTW_PHYS); /* files may vanish */
    return blocks * BLOCK_BYTES;
}

void disk_leave_free(struct disk *d, uint64_t free_bytes)
{
    disk_heal(d);
    atomic_store(&d->fault->space_bytes, disk_used(d) + free_bytes);
}

void disk_read_only(struct disk *d)
{
    disk_heal(d);
    atomic_store(&d->fault->read_only, 1);
}

void disk_no_inodes(struct disk *d)
{
    disk_heal(d);
    atomic_store(&d->fault->no_inodes, 1);
}

void disk_slow(struct disk *d, uint32_t sync_ms)
{
    disk_heal(d);
    atomic_store(&d->fault->sync_ms, sync_ms);
}

void disk_hold_sync(struct disk *d, const char *only, uint64_t after)
{
    disk_heal(d);
    atomic_store(&d->fault->hold, ++d->holds);
    plan(d, DISK_SYNC, 0, only, after, 0);
}

static bool is_holding(void *fault)
{
    return atomic_load(&((struct disk_fault *)fault)->holding) > 0;
}

void disk_await_held(struct disk *d)
{
    process_await(is_holding, d->fault, "a sync that is held back");
}

void disk_let_go(struct disk *d)
{
    disk_heal(d);
}

static bool end_is_held(void *fault)
{
    return atomic_load(&((struct disk_fault *)fault)->is_held) != 0;
}

void disk_hold_end(struct disk *d)
{
    atomic_store(&d->fault->holds_end, 1);
    process_await(end_is_held, d->fault, "the server's main thread to be held back");
}

void disk_let_end(struct disk *d)
{
    atomic_store(&d->fault->holds_end, 0);
    atomic_store(&d->fault->is_held, 0);
}

uint64_t disk_failed(const struct disk *d)
{
    return atomic_load(&d->fault->failed);
}
