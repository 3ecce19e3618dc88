/*
 * cli/yaml_tree.h - a YAML file as a tree whose every node knows its line.
 *
 * Does:     parse UTF-8 YAML with libyaml; refuse syntax that makes small files large or ambiguous.
 * Owns:     the tree, until cli_yaml_fini.
 * May use:  base/, cli/bounds.h.
 * Knows no: the meaning of nodes: a scalar is text.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG, ERR_NO_MEMORY, with place and message; nothing is printed.
 * Limits:   CLI_YAML_BYTES, CLI_YAML_NODES, LIM_JSON_DEPTH.
 * Promises: 1. No anchors, aliases, tags, merge keys or directives; keys are scalars, and no
 *              mapping has one twice. 2. Texts are UTF-8, hold no NUL and end with one.
 */
#ifndef CLI_YAML_TREE_H
#define CLI_YAML_TREE_H

#include "base/arena.h"
#include "base/err.h"

enum cli_yaml_kind { CLI_YAML_SCALAR, CLI_YAML_LIST, CLI_YAML_MAP };

struct cli_yaml_node {
    enum cli_yaml_kind kind;
    bool is_plain; /* a scalar without quotes */
    uint32_t line; /* both from 1 */
    uint32_t column;
    struct slice text;           /* of a scalar */
    struct cli_yaml_node *first; /* members; of a mapping key, value, key, value */
    struct cli_yaml_node *next;  /* next sibling in its list or mapping */
};

struct cli_yaml {
    struct arena arena;
    struct cli_yaml_node *documents; /* chained by next; NULL: none */
};

struct cli_yaml_error {
    uint32_t line;
    uint32_t column;
    struct errbuf why;
};

/* Parses text; cli_yaml_fini out, also after an error. */
enum err cli_yaml_parse(struct slice text, struct cli_yaml *out,
                        struct cli_yaml_error *error) MUST_CHECK;
void cli_yaml_fini(struct cli_yaml *y);

/* Returns whether a node is written as null, as ~ or as nothing at all. */
bool cli_yaml_is_null(const struct cli_yaml_node *n);
bool cli_yaml_is_empty(const struct cli_yaml_node *n);
const char *cli_yaml_kind_name(const struct cli_yaml_node *n);

#endif
