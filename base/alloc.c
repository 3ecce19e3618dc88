/*
 * base/alloc.c - the heap, behind two policies.
 *
 * Mechanism: base_new* abort the process if memory is exhausted; base_try_* return NULL. A size of
 * zero is never passed to the C library, whose result for it is unspecified.
 *
 * The countdown of base_alloc_fail_after: negative = off, n = n more calls succeed.
 */
#define BASE_ALLOC_IMPLEMENTATION

#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"

#include "base/banned.h"

#define STRING_OF(x) #x
#define STRING(x)    STRING_OF(x)

/* jemalloc's options, for programs that are linked with it (docs/decisions/0065). Freed memory is
 * returned to the system: large blocks at once, the rest within ten seconds, also if no thread
 * allocates. lg_tcache_max: a thread caches a few freed blocks of up to 128 KiB. */
#define CONF_OVERSIZE 2097152
extern const char *malloc_conf;
const char *malloc_conf =
    "background_thread:true,lg_tcache_max:17,oversize_threshold:" STRING(CONF_OVERSIZE);
_Static_assert(CONF_OVERSIZE == LIM_KEPT_BLOCK_BYTES, "the number in the text is the limit");

/* jemalloc's; NULL in programs with another heap. */
extern int mallctl(const char *name, void *old, size_t *old_len, void *wanted, size_t wanted_len)
    __attribute__((weak));

static atomic_long successes_left = -1;

static size_t at_least_one(size_t bytes)
{
    return bytes == 0 ? 1 : bytes;
}

void *base_new(size_t bytes)
{
    return base_new_array(1, bytes);
}

void *base_new_array(size_t count, size_t bytes_each)
{
    /* calloc checks the product. */
    void *ptr = calloc(at_least_one(count), at_least_one(bytes_each));
    if (ptr == NULL)
        base_panic(__FILE__, __LINE__, "out of memory");
    return ptr;
}

char *base_new_text(const void *bytes, size_t len)
{
    INVARIANT(len < SIZE_MAX);
    char *text = base_new(len + 1);
    if (len > 0)
        memcpy(text, bytes, len);
    return text;
}

static bool is_made_to_fail(void)
{
    long left = atomic_load_explicit(&successes_left, memory_order_relaxed);
    while (left > 0) {
        if (atomic_compare_exchange_weak_explicit(&successes_left, &left, left - 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return false;
    }
    return left == 0;
}

void *base_try_alloc(size_t bytes)
{
    return base_try_realloc(NULL, bytes);
}

void *base_try_realloc(void *old, size_t bytes)
{
    if (is_made_to_fail())
        return NULL;
    return realloc(old, at_least_one(bytes));
}

void base_free(void *ptr)
{
    free(ptr);
}

void base_free_secret(void *ptr, size_t bytes)
{
    if (ptr == NULL)
        return;
    explicit_bzero(ptr, bytes);
    free(ptr);
}

uint64_t base_alloc_of_thread(void)
{
    static const uint64_t none = 0;
    static _Thread_local const uint64_t *taken, *freed;
    if (taken == NULL) {
        size_t len = sizeof taken;
        bool is_counted = mallctl != NULL &&
                          mallctl("thread.allocatedp", &taken, &len, NULL, 0) == 0 &&
                          mallctl("thread.deallocatedp", &freed, &len, NULL, 0) == 0;
        if (!is_counted)
            taken = freed = &none;
    }
    return *taken - *freed;
}

/* Freed blocks are merged. jemalloc returns a merged block to the system at once if it reaches
 * oversize_threshold, although no single allocation was that large: each block of a memtable would
 * be requested from the system again. */
void base_alloc_keep_freed(void)
{
    unsigned arena;
    size_t len = sizeof arena;
    size_t never = SIZE_MAX;
    char name[48];
    if (mallctl == NULL || mallctl("thread.arena", &arena, &len, NULL, 0) != 0)
        return;
    (void)snprintf(name, sizeof name, "arena.%u.oversize_threshold", arena);
    (void)mallctl(name, NULL, NULL, &never, sizeof never); /* does not exist before 5.3 */
}

void base_alloc_fail_after(long count)
{
    atomic_store_explicit(&successes_left, count < 0 ? -1 : count, memory_order_relaxed);
}
