/*
 * cli/apply.h - what files of `bigtent apply` ask for: things, each with its place.
 *
 * Does:     hold what was read, what the server has of it, and what to do about the difference.
 * Owns:     the items and their documents, until cli_apply_fini.
 * May use:  base/, cli/.
 * Knows no: YAML, requests.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: does not fail; errors in files are collected.
 * Limits:   CLI_APPLY_ERRORS are kept, all are counted.
 * Promises: 1. Items stand in the order in which they are made: plans, tenants, tables, keys.
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
    bool absent; /* it is to be removed */
    bool unseen; /* the tenant is suspended: nobody knows */
    bool waits;  /* unseen, and the next run will see it */
    struct cli_apply_place at;
    size_t number;      /* of all items, as they were read */
    const char *tenant; /* of tables and keys; in doc */
    const char *id;     /* or label; in doc */
    json_t *doc;        /* what the file says, in the API's words; nothing it leaves out */
    json_t *present;    /* what the server has; NULL: nothing */
    json_t *body;       /* what to send */
    json_t *changes;    /* [{"field","from","to"}]; no "from": it had none */
    const char *unlike; /* of a key: what differs and stays so */
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

/* Takes doc, which has "id", and "tenant" when it belongs to one. The item moves with the next. */
struct cli_apply_item *cli_apply_add(struct cli_apply *a, enum cli_apply_kind kind,
                                     struct cli_apply_place at, json_t *doc);
/* Put items in their order; what is described twice is an error. */
void cli_apply_sort(struct cli_apply *a);

void cli_apply_complain(struct cli_apply *a, struct cli_apply_place at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Say the errors. CLI_USAGE when there are any. */
enum cli_exit cli_apply_say_errors(const struct cli_apply *a);

/* "tenant", "service key", ... */
const char *cli_apply_kind_name(const struct cli_apply_item *item);

#endif
