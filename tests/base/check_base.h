/*
 * tests/base/check_base.h - what the tests of base/ share: Check, repeatable random numbers and
 * system calls that can be made to fail.
 */
#ifndef TESTS_BASE_CHECK_BASE_H
#define TESTS_BASE_CHECK_BASE_H

#include <check.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* splitmix64: the same numbers in every run. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15U);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
}

static inline void fill_random(uint64_t *state, uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)next_random(state);
}

static inline void assert_slice(struct slice got, struct slice want)
{
    ck_assert_uint_eq(got.len, want.len);
    ck_assert(base_slice_equal(got, want));
}

static inline void assert_buf_text(const struct buf *b, const char *want)
{
    assert_slice(base_buf_slice(b), base_slice_text(want));
}

/*
 * From now on, in this process, system call `number` fails with `error` when (argument `arg` &
 * mask) is not 0; mask 0 means always. Each test is a process of its own, so nothing needs undoing.
 */
static inline void refuse_syscall_with(long number, int error, unsigned arg, uint32_t mask)
{
    uint32_t nr_at = offsetof(struct seccomp_data, nr);
    uint32_t arg_at = (uint32_t)(offsetof(struct seccomp_data, args) + 8 * arg);
    struct sock_filter always[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, nr_at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_filter masked[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, nr_at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arg_at),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {
        .len = mask == 0 ? 4 : 6,
        .filter = mask == 0 ? always : masked,
    };
    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* The same when argument `arg`, of 32 bits, is `value`. */
static inline void refuse_syscall_of(long number, int error, unsigned arg, uint32_t value)
{
    uint32_t arg_at = (uint32_t)(offsetof(struct seccomp_data, args) + 8 * arg);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arg_at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 6, .filter = filter};
    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static inline void refuse_syscall(long number, int error)
{
    refuse_syscall_with(number, error, 0, 0);
}

#endif
