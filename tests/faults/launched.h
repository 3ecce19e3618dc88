/*
 * tests/faults/launched.h - a server that is launched on a failing disk, and what became of it.
 *
 * May use:  tests/support/server.h.
 * Threads:  one.
 * Blocks:   until the server listens or has ended.
 * Fails by: ck_abort_msg.
 * Promises: 1. The answer does not depend on how long a start takes.
 */
#ifndef TESTS_FAULTS_LAUNCHED_H
#define TESTS_FAULTS_LAUNCHED_H

#include <signal.h>

#include "tests/support/server.h"

/* Returns 0 when the server came up, which is killed then; else the exit code with which it
 * ended. */
static inline int launched_try(struct server *s, const char *const *env)
{
    int code = 0;
    server_launch(s, env);
    if (!server_up_or_ended(s, &code))
        return code;
    (void)kill(s->pid, SIGKILL); /* it may end by itself in this very moment */
    (void)server_wait_end(s, 60000);
    return 0;
}

#endif
