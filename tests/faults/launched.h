/*
 * tests/faults/launched.h - a server that was launched on a failing disk, and what became of it.
 *
 * Does:     launch a server; wait until it says where it listens, or has ended.
 * Owns:     nothing.
 * May use:  tests/support/server.h, libcheck.
 * Knows no: disks.
 * Threads:  one.
 * Blocks:   until the server listens or has ended.
 * Fails by: ck_abort_msg.
 * Limits:   LAUNCHED_TEXT of its output.
 * Promises: 1. The answer does not depend on how long a start takes.
 */
#ifndef TESTS_FAULTS_LAUNCHED_H
#define TESTS_FAULTS_LAUNCHED_H

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/server.h"

#define LAUNCHED_TEXT 4096

struct launched {
    struct server *server;
    char text[LAUNCHED_TEXT];
    size_t len;
    bool is_up;
};

static inline bool launched_settled(void *arg)
{
    struct launched *l = arg;
    struct pollfd p = {l->server->stdout_fd, POLLIN, 0};
    if (poll(&p, 1, 0) != 1)
        return false;
    ssize_t n = read(l->server->stdout_fd, l->text + l->len, LAUNCHED_TEXT - 1 - l->len);
    if (n <= 0)
        return true; /* it closes its output when it ends */
    l->len += (size_t)n;
    l->text[l->len] = '\0';
    l->is_up = strstr(l->text, "listening on https://") != NULL;
    return l->is_up;
}

/* Returns 0 when the server came up, which is killed then; else the exit code with which it ended. */
static inline int launched_try(struct server *s, const char *const *env)
{
    struct launched l = {.server = s};
    server_launch(s, env);
    process_await(launched_settled, &l, "a server that listens or has ended");
    if (l.is_up)
        (void)kill(s->pid, SIGKILL); /* it may end by itself in this very moment */
    int code = server_wait_end(s, 60000);
    return l.is_up ? 0 : code;
}

#endif
