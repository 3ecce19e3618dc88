/*
 * tests/cli/session.h - the command line with a tenant of its own on the server of its TCase.
 *
 * w, url, op, tenant and r are the test's: the world, the server's URL, how the operator and the
 * tenant call, and what came of the last call.
 */
#ifndef TESTS_CLI_SESSION_H
#define TESTS_CLI_SESSION_H

#include <jansson.h>

#include "tests/cli/program.h"
#include "tests/support/world.h"

static struct world w;
static char url[64];
static struct setup op;     /* with the operator's key */
static struct setup tenant; /* with a tenant's key */
static struct run r;

/* Where w is. */
static inline void session_begin(const struct server *s)
{
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", s->port);
    op = (struct setup){.url = url, .key = s->operator_key, .cacert = s->ca};
    tenant = (struct setup){.url = url, .key = w.key, .cacert = s->ca};
}

static inline void session_set_up(void)
{
    world_init(&w, HTTP_2);
    session_begin(world_server());
}

static inline void session_tear_down(void)
{
    world_fini(&w);
}

/* A TCase with a server; world_end comes behind its tests. */
static inline TCase *session_tcase(const char *name, void (*set_up)(void))
{
    TCase *t = tcase_create(name);
    tcase_set_timeout(t, 60);
    world_begin(t);
    tcase_add_checked_fixture(t, set_up, session_tear_down);
    return t;
}

/* The output as JSON; the caller decrefs. */
static inline json_t *json_of(const struct run *run)
{
    json_error_t error;
    json_t *doc = json_loads(run->out, 0, &error);
    ck_assert_msg(doc != NULL, "not JSON (%s): %s", error.text, run->out);
    ck_assert_msg(strchr(run->out, '\n') == run->out + run->out_len - 1, "not one line: %s",
                  run->out);
    return doc;
}

static inline size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        lines++;
    return lines;
}

#endif
