/*
 * tests/support/marks.c - fewer of libcheck's marks.
 *
 * Each assertion that holds writes its location to a file, which the runner reads to its end: a
 * test with a million assertions spends most of its time there, and the runner far more. The marks
 * serve one purpose: when a test dies by a signal, the last mark is the last line reached. So the
 * first MARKS_ALL marks are written, then one in MARKS_ONE_IN. Failures are unaffected: a failing
 * assertion reports its own location.
 *
 * Linked with --wrap=_mark_point (Makefile).
 */
#include <stdatomic.h>

#include "base/banned.h"

enum { MARKS_ALL = 1000, MARKS_ONE_IN = 256 };

void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);

void __wrap__mark_point(const char *file, int line)
{
    static atomic_uint count;
    unsigned n = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    if (n < MARKS_ALL || n % MARKS_ONE_IN == 0)
        __real__mark_point(file, line);
}
