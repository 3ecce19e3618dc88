/*
 * tests/isolation/names.h - everything a request can name, three times: one's own, a neighbour's,
 * nobody's.
 *
 * Does:     put names into the forms of requests; take nobody's names for a neighbour's in answers.
 * Owns:     nothing.
 * May use:  base/, libcheck.
 * Knows no: routes, methods.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: ck_abort_msg for a form with a {word} that is no name.
 * Limits:   NAME_BYTES.
 * Promises: 1. A neighbour's name and nobody's are of one length and of the same characters, so
 * that answers can be compared byte by byte.
 */
#ifndef TESTS_ISOLATION_NAMES_H
#define TESTS_ISOLATION_NAMES_H

#include "base/buf.h"

#define NAME_BYTES 512

enum name {
    NAME_TENANT,
    NAME_TABLE,
    NAME_VIEW,
    NAME_KEY,
    NAME_FAMILY,
    NAME_QUALIFIER,
    NAME_VALUE,
    NAME_PLAN,
    NAME_LABEL,
    NAME_KEYID,
    NAME_JOB,
    NAME_BACKUP,      /* of everything */
    NAME_SAVED,       /* a backup of the table */
    NAME_OPERATION,   /* that made it */
    NAME_PAGE,        /* a token of a page of rows */
    NAME_LIST_PAGE,   /* of a page of tables, over gRPC */
    NAME_VIEW_PAGE,   /* of a page of views */
    NAME_SAVED_PAGE,  /* of a page of backups */
    NAME_WORK_PAGE,   /* of a page of operations */
    NAME_CONSISTENCY, /* a token of GenerateConsistencyToken */
    NAME_CHANGE,      /* a token of a change stream */
    NAME_IDEMPOTENCY, /* the token of a write that was done */
    NAME_COUNT
};

struct names {
    char text[NAME_COUNT][NAME_BYTES];
};

/* "tenant", as in {tenant}. */
const char *name_word(enum name n);
void name_set(struct names *names, enum name n, const char *text);
/* A name of the same length that nobody has: the last letter is another. */
void name_spoil(const struct names *from, enum name n, struct names *out);
/* form with each {word} replaced, appended to out; {id} is the tenant, {next_week} the time in
 * seconds. */
void names_expand(const char *form, const struct names *in, struct buf *out);
/* Each of `from` in the text becomes the one of `to`. */
void names_exchange(struct buf *text, const struct names *from, const struct names *to);
bool names_find(struct slice where, const char *what);

#endif
