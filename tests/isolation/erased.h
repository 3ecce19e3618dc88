/*
 * tests/isolation/erased.h - a mark in everything of a tenant that somebody names or writes, and
 * where each mark may still be when the tenant is erased.
 *
 * Does:     erased_story.c: writes the marks, through every route and method that stores something,
 *           then sends what the walks of this folder send, for all routes and methods.
 *           erased_plain.c: the same for what the emulator's listener stores, of tenants that it
 *           makes. erased_fields.c: tells which fields of requests got no mark. erased_files.c:
 *           reads every file of the data directory, table files entry by entry, and logs record
 *           by record, as well.
 * Owns:     the server, from erased_begin to erased_end.
 * May use:  storage/, gateway/, tests/isolation/, tests/support/, libcheck.
 * Knows no: how things are stored.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   ERASED_SENT requests.
 * Promises: 1. No mark is part of another one, or of the tenant's ID.
 */
#ifndef TESTS_ISOLATION_ERASED_H
#define TESTS_ISOLATION_ERASED_H

#include "storage/places.h"
#include "tests/isolation/names.h"
#include "tests/support/world.h"

#define ERASED_TENANT "walked"
#define ERASED_PLAIN  "plainly" /* a project, and the tenant of its first instance */
#define ERASED_PLAINS 3         /* tenants of the emulator's listener */
#define ERASED_HEAD   "zq-"     /* every mark begins so */

/* An operator's plan is nobody's: places that are free of tenants may name it. */
#define ERASED_FREE     STO_REMAINDERS
#define ERASED_IN(what) (1u << (what))

struct erased_mark {
    const char *text;
    const char *what;
    unsigned may_stay; /* bits of enum sto_remainder */
};
extern const struct erased_mark ERASED_MARKS[];
extern const size_t ERASED_MARK_COUNT;

#define ERASED_SENT 1024
/* What was sent, for erased_fields.c. */
struct erased_sent {
    const char *method;
    const char *place; /* pattern of a route; path of a method with method "gRPC" */
    const char *body;  /* as in the story; NULL: none */
};

struct erased {
    struct server server;
    char access_log[PROCESS_PATH + 32];
    struct http *op;
    struct http *http; /* the tenant */
    struct http *last; /* the one that asked last */
    char key[WORLD_KEY];
    struct names own;
    struct erased_sent sent[ERASED_SENT];
    size_t sent_count;
};

void erased_begin(struct erased *x);
void erased_end(struct erased *x);

/* Everything that stores a mark; each request must succeed. */
void erased_tell_story(struct erased *x);
/* The part of the story at the emulator's listener. */
void erased_tell_plain(struct erased *x);
/* Another request was sent; place and body live as long as the program. */
void erased_remember(struct erased *x, const char *method, const char *place, const char *body);
/* All requests of requests.c and rpcs.c that name the tenant's own, whatever comes of them, but for
 * those that end the tenant. */
void erased_walk_all(struct erased *x);
/* Every field of every request, at either listener, had a mark, or is listed with a reason. */
void erased_check_fields(struct erased *x);

/* The first mark that is where it may not be, in static memory; NULL: there is none. The server has
 * ended. */
const char *erased_find(const struct erased *x);
/* Whether some file of the data directory holds the text, table files and logs decoded; the server
 * may run, and a file that is being written is passed over. */
bool erased_is_somewhere(const struct erased *x, const char *text);

#endif
