/*
 * tests/support/marks.c - fewer of libcheck's marks.
 *
 * Each assertion that holds writes where it stands to a file, which the runner reads to its end: a
 * test of a million assertions spends its time there, the runner far more. The marks serve one
 * purpose: when a test dies by a signal, the last one says after which line. So the first ones go
 * out, then one in so many; what fails is not touched, an assertion says its own place.
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
