/*
 * cli/move_map.h - what becomes which tables: the mapping file of `bigtent move-in`.
 *
 * Does:     read the file, refuse what cannot be or would clash, make a cell of a key and a value,
 *           or of another table's cell.
 * Owns:     the sources, until cli_move_map_fini.
 * May use:  base/, cli/.
 * Knows no: databases, servers.
 * Threads:  one reads; the sources are read-only then.
 * Blocks:   on reading the file.
 * Fails by: CLI_USAGE, all errors said with line and column; cli_move_cell: why it does not fit.
 * Limits:   CLI_YAML_*, CLI_MOVE_SOURCES, base/limits.h.
 * Promises: 1. No two pairs or cells become one cell: what could is refused before anything is
 *              read.
 *           2. The pairs of a row stand together, as they do in the database.
 *           3. A database is below the directory that was given.
 */
#ifndef CLI_MOVE_MAP_H
#define CLI_MOVE_MAP_H

#include "base/buf.h"
#include "cli/apply.h"
#include "cli/transfer_cell.h"

enum cli_move_part { CLI_MOVE_ROW, CLI_MOVE_QUALIFIER, CLI_MOVE_TIMESTAMP };
#define CLI_MOVE_PARTS 3

/* The texts lie in doc. */
struct cli_move_source {
    struct cli_apply_place at;
    json_t *doc;
    const char *name;          /* for messages: the database, or the foreign table */
    const char *database;      /* NULL: it is a table of a service */
    const char *column_family; /* of the database */
    const char *from_table;    /* its whole name; NULL: it is a database */
    const json_t *families;    /* {"foreign name":"name",..}, those that are renamed; may be NULL */
    const json_t *renamed_to;  /* the new names, as members; may be NULL */
    const char *tenant;
    const char *table;
    const char *family;      /* of a database's cells; empty: those of the foreign table */
    struct slice row_prefix; /* these four are copies */
    struct slice strip_prefix;
    struct slice qualifier;
    struct slice separator;
    enum cli_move_part parts[CLI_MOVE_PARTS]; /* of the key, from its front */
    size_t part_count;
    int64_t timestamp_us; /* where the key has none; -1: when the move began */
    int64_t unit_us;      /* of the one in the key */
    bool skips;           /* leave out what does not fit */
};

struct cli_move_map {
    struct cli_move_source *sources;
    size_t count;
    char hash[CLI_HASH_TEXT]; /* of the file's bytes */
};

/* What a table takes, the tenant's limits included. */
struct cli_move_limits {
    uint64_t row_key_bytes;
    uint64_t qualifier_bytes;
    uint64_t cell_bytes;
};

/* *map is zeroed here; cli_move_map_fini it, whatever was returned. */
enum cli_exit cli_move_map_read(struct cli_move_map *map, const char *path);
/* The same of a text; errors go to a. */
void cli_move_map_parse(struct cli_move_map *map, struct cli_apply *a, const char *file,
                        struct slice text);
void cli_move_map_fini(struct cli_move_map *map);

bool cli_move_has_part(const struct cli_move_source *s, enum cli_move_part part);

/* --- move_fields.c ------------------------------------------------------------------------------
 */

struct cli_apply_reader;
struct cli_yaml_node;
/* The fields of a source, each by itself, into its document. */
void cli_move_read_fields(struct cli_apply_reader *r, const struct cli_yaml_node *source,
                          json_t *doc);
#define CLI_MOVE_RENAMED_TO "renamed_to" /* a member of its document, no field */

/* --- move_cell.c --------------------------------------------------------------------------------
 */

/* What a family of a foreign table is called here; empty: another one is renamed to its name. */
struct slice cli_move_family(const struct cli_move_source *s, struct slice foreign);

/* The row key of a pair goes into row. NULL, or why the pair does not fit; now_us stands for -1. */
const char *cli_move_cell(const struct cli_move_source *s, const struct cli_move_limits *limits,
                          int64_t now_us, struct slice key, struct slice value, struct buf *row,
                          struct cli_cell *out);
/* The same of a cell of a foreign table; families are those of the table it comes into. */
const char *cli_move_foreign_cell(const struct cli_move_source *s,
                                  const struct cli_move_limits *limits, const json_t *families,
                                  const struct cli_cell *foreign, struct buf *row,
                                  struct cli_cell *out);

#endif
