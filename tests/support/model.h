/*
 * tests/support/model.h - what a table must hold, as simply as it can be said.
 *
 * Does:     keep the cells of a table in one sorted array; set, delete, count; say what a row looks
 *           like in JSON and which versions are seen.
 * Owns:     copies of everything put into it.
 * May use:  base/, jansson, tests/support/world.h, libcheck.
 * Knows no: how Bigtent stores anything.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: ck_abort_msg.
 * Limits:   MODEL_FAMILIES.
 * Promises: 1. Linear, obvious code: when the model and the server differ, look at the server.
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
    const char *families[MODEL_FAMILIES]; /* in the order in which they were made */
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
/* family MODEL_ANY: the whole row; qualifier NULL: the whole family. */
void model_delete(struct model_table *t, struct slice key, int family,
                  const struct slice *qualifier);
/* All rows whose key begins with prefix. */
void model_drop(struct model_table *t, struct slice prefix);

/* What is stored when every version is kept, and when only the visible ones are: the server sweeps
 * what nobody sees at times of its own. Without gc rules both are the same. */
struct usage model_usage(const struct model_table *t);
struct usage model_usage_visible(const struct model_table *t);
bool model_has_row(const struct model_table *t, struct slice key);
/* Newest visible cell of a column, or NULL. */
const struct model_cell *model_newest(const struct model_table *t, struct slice key, int family,
                                      struct slice qualifier);
/* The row as the API shows it; NULL when nothing of it is visible. The caller decrefs. */
json_t *model_row_new(const struct model_table *t, struct slice key);
/* Index of the first cell of the first row at or behind key; walk with model_next_row. */
size_t model_first_row(const struct model_table *t, struct slice key);
/* Index behind the row that begins at index i. */
size_t model_next_row(const struct model_table *t, size_t i);

/* --- bytes in JSON ---------------------------------------------------------------------------- */

/* Put bytes into an object as `name` when they are UTF-8, else as `name`_b64. */
void model_json_bytes(json_t *object, const char *name, struct slice bytes);
/* A new string: base64 of bytes. */
json_t *model_base64_new(struct slice bytes);

#endif
