/*
 * cli/apply_values.h - checks values of a file for `bigtent apply` and adds them to documents.
 *
 * Does:     read mappings by a table of their fields; text, flags, limits, rates, lists of names.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: which fields each kind of thing has.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: complaints with line and column; the document then lacks the value.
 * Limits:   base/limits.h.
 * Promises: 1. A field that is not in the table is an error that names the nearest one.
 *           2. A value that is missing, as in "rows:", is never taken for null.
 */
#ifndef CLI_APPLY_VALUES_H
#define CLI_APPLY_VALUES_H

#include "cli/apply.h"
#include "cli/yaml_tree.h"

struct cli_apply_reader {
    struct cli_apply *apply;
    const char *file;
    const char *tenant;  /* tenant whose tables and keys are being read */
    struct errbuf about; /* the thing that is being read, for complaints; may be empty */
};

struct cli_apply_field {
    const char *name; /* NULL ends a table */
    void (*read)(struct cli_apply_reader *r, const struct cli_yaml_node *value, json_t *doc,
                 const char *name);
};

struct cli_apply_place cli_apply_place(const struct cli_apply_reader *r,
                                       const struct cli_yaml_node *n);
void cli_apply_wrong(struct cli_apply_reader *r, const struct cli_yaml_node *n, const char *format,
                     ...) __attribute__((format(printf, 3, 4)));

/* Returns false, with a complaint, when n is not of this kind. */
bool cli_apply_expect(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                      enum cli_yaml_kind kind, const char *name);
void cli_apply_read_map(struct cli_apply_reader *r, const struct cli_yaml_node *map,
                        const struct cli_apply_field *fields, json_t *doc);
/* Returns the value of a key of a mapping; NULL when map is no mapping or has no such key. */
const struct cli_yaml_node *cli_apply_member(const struct cli_yaml_node *map, const char *name);

/* Returns a scalar's text, NUL-terminated; NULL, with a complaint, when n is no scalar or empty. */
const char *cli_apply_scalar(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                             const char *name);
/* Reads text without control characters, of at most max bytes. */
void cli_apply_text(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                    const char *name, size_t max);
void cli_apply_flag(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                    const char *name);
/* Reads a mapping of fields of a quota. "none" becomes null; "inherit" is kept as text. */
void cli_apply_quota(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                     const char *name);
/* Reads a mapping of the rates of a key. */
void cli_apply_rates(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                     const char *name);
/* Reads a list of 1 to max texts; check may be NULL. */
void cli_apply_names(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                     const char *name, size_t max,
                     enum err (*check)(struct slice name, struct errbuf *eb));

#endif
