/*
 * cli/fields.h - the fields of a JSON document to show, and their format.
 *
 * Does:     print documents as tables: one line per element of a list, or one line per field.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: routes.
 * Threads:  one.
 * Blocks:   on stdout and, for lists, on the network.
 * Fails by: as cli/http.h and cli/out.h.
 * Limits:   CLI_TABLE_COLUMNS for lists.
 * Promises: 1. A missing or empty field is "-" in a list, and is left out of a single document.
 *           2. Lists are printed page by page; at most one page is in memory.
 */
#ifndef CLI_FIELDS_H
#define CLI_FIELDS_H

#include <jansson.h>

#include "cli/cli.h"
#include "cli/table.h"

enum cli_field_kind {
    CLI_FIELD_TEXT,
    CLI_FIELD_COUNT,
    CLI_FIELD_BYTES,
    CLI_FIELD_MICROS,      /* decimal string of microseconds since 1970 */
    CLI_FIELD_LIMIT_COUNT, /* null: no limit */
    CLI_FIELD_LIMIT_BYTES,
    CLI_FIELD_NAMES,    /* array of strings */
    CLI_FIELD_FAMILIES, /* "families" of a table */
    CLI_FIELD_KEY,      /* the row key of the document, text or bytes */
    CLI_FIELD_STEPS,    /* "steps" of a job: done/all */
    CLI_FIELD_BACKUPS,  /* "backups" that hold a tenant: each with its end */
};

struct cli_field {
    const char *label; /* on a terminal; NULL ends a list */
    const char *path;  /* in the document; also the name off a terminal */
    enum cli_field_kind kind;
    const char *limit_path; /* field of the limit, as in "1.0 MiB of 2.0 MiB (50%)"; may be NULL */
};

/* Appends the document's field as text; nothing when the field is missing. */
void cli_field_text(struct buf *out, const json_t *doc, const struct cli_field *field);

/* Prints one document as JSON or as lines of label and value. Takes doc; NULL is allowed. */
void cli_fields_show(const struct cli *cli, const struct cli_field *fields, json_t *doc);

/* Prints the array's documents as a table; not for --json. */
void cli_fields_table(const struct cli *cli, const struct cli_field *fields, const json_t *array);

/* Sends GET target (which is freed) and prints the array called name as a table or as JSON,
 * following next_page_token to the end. */
enum cli_exit cli_fields_list(const struct cli *cli, const struct cli_field *fields,
                              struct buf *target, const char *name);

/* Returns the number of completed steps of a job; *out_total: the number of all its steps. */
size_t cli_field_steps_done(const json_t *steps, size_t *out_total);

#endif
