/*
 * cli/move_map.h - the mapping file of `bigtent move-in`, which assigns sources to tables.
 *
 * Does:     read the file, refuse impossible or conflicting mappings, convert a key and a value, or
 *           another table's cell, to a cell.
 * Owns:     the sources, until cli_move_map_fini.
 * May use:  base/, cli/.
 * Knows no: databases, servers.
 * Threads:  one reads the file; after that the sources are read-only.
 * Blocks:   on reading the file.
 * Fails by: CLI_USAGE, all errors reported with line and column; cli_move_cell: the reason why a
 *           pair does not fit.
 * Limits:   CLI_YAML_*, CLI_MOVE_SOURCES, base/limits.h.
 * Promises: 1. No two pairs or cells become one cell: a mapping that allows this is refused before
 *              anything is read.
 *           2. The pairs of a row are adjacent, as in the database.
 *           3. Every database is below the given directory.
 */
#ifndef CLI_MOVE_MAP_H
#define CLI_MOVE_MAP_H

#include "base/buf.h"
#include "cli/apply.h"
#include "cli/transfer_cell.h"

enum cli_move_part { CLI_MOVE_ROW, CLI_MOVE_QUALIFIER, CLI_MOVE_TIMESTAMP };
#define CLI_MOVE_PARTS 3

/* The strings point into doc. */
struct cli_move_source {
    struct cli_apply_place at;
    json_t *doc;
    const char *name;          /* for messages: the database, or the foreign table */
    const char *database;      /* NULL: the source is a table of a service */
    const char *column_family; /* of the database */
    const char *from_table;    /* full name of the table; NULL: the source is a database */
    const json_t *families;    /* renamed families, {"foreign name":"name",..}; may be NULL */
    const json_t *renamed_to;  /* the new names, as members; may be NULL */
    const char *tenant;
    const char *table;
    const char *family;      /* of a database's cells; empty: the foreign table's families */
    struct slice row_prefix; /* these four are copies */
    struct slice strip_prefix;
    struct slice qualifier;
    struct slice separator;
    enum cli_move_part parts[CLI_MOVE_PARTS]; /* of the key, from its start */
    size_t part_count;
    int64_t timestamp_us; /* if the key has no timestamp; -1: the start of the move */
    int64_t unit_us;      /* of the timestamp in the key */
    bool skips;           /* leave out pairs that do not fit */
};

struct cli_move_map {
    struct cli_move_source *sources;
    size_t count;
    char hash[CLI_HASH_TEXT]; /* of the file's bytes */
};

/* Limits of a table, including the tenant's limits. */
struct cli_move_limits {
    uint64_t row_key_bytes;
    uint64_t qualifier_bytes;
    uint64_t cell_bytes;
};

/* Reads the file into *map, which it zeroes first; cli_move_map_fini it, also after an error. */
enum cli_exit cli_move_map_read(struct cli_move_map *map, const char *path);
/* Parses a text in the same way; adds errors to a. */
void cli_move_map_parse(struct cli_move_map *map, struct cli_apply *a, const char *file,
                        struct slice text);
void cli_move_map_fini(struct cli_move_map *map);

bool cli_move_has_part(const struct cli_move_source *s, enum cli_move_part part);

/* --- move_fields.c ------------------------------------------------------------------------------
 */

struct cli_apply_reader;
struct cli_yaml_node;
/* Reads the fields of a source, each on its own, into the source's document. */
void cli_move_read_fields(struct cli_apply_reader *r, const struct cli_yaml_node *source,
                          json_t *doc);
#define CLI_MOVE_RENAMED_TO "renamed_to" /* a member of the document, not a field of the file */

/* --- move_cell.c --------------------------------------------------------------------------------
 */

/* Returns the target name of a foreign table's family;
 * empty: another family is renamed to this family's name. */
struct slice cli_move_family(const struct cli_move_source *s, struct slice foreign);

/* Converts a pair to a cell, whose row key is stored in row. Returns NULL, or the reason why the
 * pair does not fit. now_us replaces a timestamp_us of -1. */
const char *cli_move_cell(const struct cli_move_source *s, const struct cli_move_limits *limits,
                          int64_t now_us, struct slice key, struct slice value, struct buf *row,
                          struct cli_cell *out);
/* Converts a cell of a foreign table in the same way; families: the target table's families. */
const char *cli_move_foreign_cell(const struct cli_move_source *s,
                                  const struct cli_move_limits *limits, const json_t *families,
                                  const struct cli_cell *foreign, struct buf *row,
                                  struct cli_cell *out);

#endif
