/*
 * tests/support/model.h - the simplest model of a table's contents.
 *
 * Does:     keep the cells of a table in one sorted array; set, delete, count; return a row as JSON
 *           and its visible versions.
 * Owns:     copies of everything stored in it.
 * May use:  base/, jansson, tests/support/world.h, libcheck.
 * Knows no: how Bigtent stores anything.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: ck_abort_msg.
 * Limits:   MODEL_FAMILIES.
 * Promises: 1. Linear, obvious code: when the model and the server differ, suspect the server.
 */
#ifndef TESTS_SUPPORT_MODEL_H
#define TESTS_SUPPORT_MODEL_H

#include "base/slice.h"
#include "tests/support/world.h"

#define MODEL_FAMILIES 4
#define MODEL_ANY      (-1)

struct model_cell {
    struct slice key;
    int family;
    struct slice qualifier;
    int64_t timestamp;
    struct slice value;
};

struct model_table {
    const char *families[MODEL_FAMILIES]; /* in the order of their creation */
    int max_versions[MODEL_FAMILIES];     /* 0: all */
    size_t family_count;
    struct model_cell *cells; /* by row key, family, qualifier, newest first */
    size_t count;
    size_t room;
};

void model_init(struct model_table *t);
void model_fini(struct model_table *t);

void model_set(struct model_table *t, struct slice key, int family, struct slice qualifier,
               int64_t timestamp, struct slice value);
/* Deletes cells. family MODEL_ANY: the whole row; qualifier NULL: the whole family. */
void model_delete(struct model_table *t, struct slice key, int family,
                  const struct slice *qualifier);
/* Drops all rows whose key starts with prefix. */
void model_drop(struct model_table *t, struct slice prefix);

/* Return the usage with all versions, and with only the visible ones: the server sweeps invisible
 * cells at times of its own. Without gc rules both are equal. */
struct usage model_usage(const struct model_table *t);
struct usage model_usage_visible(const struct model_table *t);
bool model_has_row(const struct model_table *t, struct slice key);
/* Returns the newest visible cell of a column, or NULL. */
const struct model_cell *model_newest(const struct model_table *t, struct slice key, int family,
                                      struct slice qualifier);
/* Returns the row as the API shows it; NULL when it has no visible cell. The caller decrefs. */
json_t *model_row_new(const struct model_table *t, struct slice key);
/* Returns the index of the first cell of the first row at or after key;
 * model_next_row continues. */
size_t model_first_row(const struct model_table *t, struct slice key);
/* Returns the index after the row that starts at index i. */
size_t model_next_row(const struct model_table *t, size_t i);

/* --- bytes in JSON ---------------------------------------------------------------------------- */

/* Sets bytes in an object as `name` when they are UTF-8, else as `name`_b64. */
void model_json_bytes(json_t *object, const char *name, struct slice bytes);
/* Returns a new string: base64 of bytes. */
json_t *model_base64_new(struct slice bytes);

#endif
