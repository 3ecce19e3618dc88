/*
 * cli/apply.h - the things that files of `bigtent apply` describe, each with its place.
 *
 * Does:     hold each described thing, its state on the server, and how to resolve the difference.
 * Owns:     the items and their documents, until cli_apply_fini.
 * May use:  base/, cli/.
 * Knows no: YAML, requests.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: does not fail; errors in files are collected.
 * Limits:   CLI_APPLY_ERRORS are kept, all are counted.
 * Promises: 1. Items are sorted in the order in which they are created: plans, tenants, tables,
 *              keys.
 */
#ifndef CLI_APPLY_H
#define CLI_APPLY_H

#include <jansson.h>

#include "base/err.h"
#include "cli/bounds.h"
#include "cli/exit.h"

enum cli_apply_kind {
    CLI_APPLY_PLAN,
    CLI_APPLY_TENANT,
    CLI_APPLY_TABLE,
    CLI_APPLY_KEY,        /* of a tenant */
    CLI_APPLY_SHARED_KEY, /* of services and operators */
};

enum cli_apply_verb { CLI_APPLY_KEEP, CLI_APPLY_CREATE, CLI_APPLY_CHANGE, CLI_APPLY_REMOVE };

struct cli_apply_place {
    const char *file;
    uint32_t line;
    uint32_t column;
};

struct cli_apply_item {
    enum cli_apply_kind kind;
    enum cli_apply_verb verb;
    bool absent; /* the file requests its removal */
    bool unseen; /* unknown on the server: the tenant is suspended */
    bool waits;  /* unseen, but visible to the next run */
    struct cli_apply_place at;
    size_t number;      /* position among all items, in the order in which they were read */
    const char *tenant; /* of tables and keys; points into doc */
    const char *id;     /* or label; points into doc */
    json_t *doc;        /* the file's description, in the API's words, without defaults */
    json_t *present;    /* the server's state; NULL: not there */
    json_t *body;       /* of the request to send */
    json_t *changes;    /* [{"field","from","to"}]; no "from": the field had no value */
    const char *unlike; /* of a key: a difference that apply cannot resolve */
};

struct cli_apply_error {
    struct cli_apply_place at;
    struct errbuf why;
};

struct cli_apply {
    struct cli_apply_item *items;
    size_t count;
    size_t capacity;
    size_t error_count;
    struct cli_apply_error errors[CLI_APPLY_ERRORS];
};

void cli_apply_init(struct cli_apply *a);
void cli_apply_fini(struct cli_apply *a);

/* Appends an item and takes doc, which has "id", and "tenant" when it belongs to one. The next call
 * invalidates the returned pointer. */
struct cli_apply_item *cli_apply_add(struct cli_apply *a, enum cli_apply_kind kind,
                                     struct cli_apply_place at, json_t *doc);
/* Sorts the items; a thing that is described twice is an error. */
void cli_apply_sort(struct cli_apply *a);

void cli_apply_complain(struct cli_apply *a, struct cli_apply_place at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints the errors. Returns CLI_USAGE when there are any. */
enum cli_exit cli_apply_say_errors(const struct cli_apply *a);

/* "tenant", "service key", ... */
const char *cli_apply_kind_name(const struct cli_apply_item *item);

#endif
