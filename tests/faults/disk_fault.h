/*
 * tests/faults/disk_fault.h - what a test and the library in front of libc share: how the disk is.
 *
 * Does:     say which calls on which files fail, with which errno, from when on; how large the
 *           disk is; whether it is mounted read-only; whether a server may notice and end;
 *           at which call the process is killed, or waits.
 * Owns:     nothing; it lies in a file that both have mapped.
 * May use:  nothing.
 * Knows no: servers, databases.
 * Threads:  any; `calls` is set last and cleared first.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   paths of DISK_FAULT_PATH.
 * Promises: 1. All zero: the disk is as it is. 2. Files outside `under` never fail.
 *           3. While `holds_end` is set sigtimedwait, between two of which a server looks at its
 *              engine's health, gives signals only: its time is never over.
 */
#ifndef TESTS_FAULTS_DISK_FAULT_H
#define TESTS_FAULTS_DISK_FAULT_H

#include <stdatomic.h>
#include <stdint.h>

#define DISK_FAULT_ENV  "BIGTENT_TEST_DISK_FAULT" /* path of the shared file */
#define DISK_FAULT_PATH 512

enum disk_call {
    DISK_WRITE = 1,
    DISK_SYNC = 2,
    DISK_MAKE = 4,      /* open for writing, with O_CREAT or without; mkdir */
    DISK_NAME = 8,      /* rename, link */
    DISK_REMOVE = 16,   /* unlink, rmdir */
    DISK_ALLOCATE = 32, /* fallocate, and ftruncate */
    DISK_READ = 64,
};

#define DISK_CHANGE (DISK_WRITE | DISK_MAKE | DISK_NAME | DISK_REMOVE | DISK_ALLOCATE)

struct disk_fault {
    char under[DISK_FAULT_PATH];  /* set once, before the program starts */
    char only[64];                /* the path contains it; "": all */
    _Atomic uint32_t calls;       /* of enum disk_call; 0: none fails */
    _Atomic int error;            /* errno */
    _Atomic uint32_t kills;       /* instead of failing, a call ends its process: SIGKILL */
    _Atomic uint64_t after;       /* so many pass before */
    _Atomic uint64_t times;       /* so many fail, then they pass again; 0: all */
    _Atomic uint64_t seen;        /* counted: calls that `calls` and `only` are about */
    _Atomic uint64_t failed;      /* counted: those that failed, for lack of space too */
    _Atomic uint64_t space_bytes; /* everything under `under` fits in so much; 0: no bound */
    _Atomic uint32_t no_inodes;   /* new files fail with ENOSPC, statvfs says that there are none */
    _Atomic uint32_t sync_ms;     /* each DISK_SYNC takes so much longer */
    _Atomic uint64_t hold;        /* instead of failing, a call waits while this is the same number;
                                   * 0: none waits */
    _Atomic uint64_t holding;     /* calls that wait now */
    _Atomic uint32_t read_only;   /* what changes files fails with EROFS, statvfs says it */
    _Atomic uint32_t holds_end;   /* a failure is noticed by all but the thread that would end it */
    _Atomic uint32_t is_held;     /* that thread waits, until `holds_end` is cleared */
};

#endif
