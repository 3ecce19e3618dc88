/*
 * tests/hostile/guard.c - the two functions that libcheck's assertions call.
 *
 * What a function held when an assertion left it is leaked: connections go with peers_close_all.
 */
#include "tests/hostile/guard.h"

#include <check.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"

static _Thread_local jmp_buf guard_exit;
static _Thread_local bool is_guarded;
static _Thread_local char failed[512];

void _mark_point(const char *file, int line)
{
    (void)file;
    (void)line;
}

void _ck_assert_failed(const char *file, int line, const char *expression, const char *message, ...)
{
    int len = snprintf(failed, sizeof failed, "%s:%d: ", file, line);
    size_t used = len > 0 && (size_t)len < sizeof failed ? (size_t)len : 0;
    if (message == NULL) {
        (void)snprintf(failed + used, sizeof failed - used, "%s", expression);
    } else {
        va_list args;
        va_start(args, message);
        (void)vsnprintf(failed + used, sizeof failed - used, message, args);
        va_end(args);
    }
    if (is_guarded)
        longjmp(guard_exit, 1);
    (void)fprintf(stderr, "hostile: %s\n", failed);
    exit(2);
}

bool guard_run(void (*run)(void *user), void *user)
{
    failed[0] = '\0';
    is_guarded = true;
    bool returned = setjmp(guard_exit) == 0;
    if (returned)
        run(user);
    is_guarded = false;
    return returned;
}

const char *guard_text(void)
{
    return failed;
}
