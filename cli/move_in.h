/*
 * cli/move_in.h - imports foreign databases, and tables of a foreign service, into tables.
 *
 * Does:     check the target tables, create missing ones, read several sources at a time, write
 *           cells, record progress, read back and compare.
 * Owns:     the mapping file's lock, the properties of target tables, from open to fini.
 * May use:  base/, cli/.
 * Knows no: the command line's words.
 * Threads:  one, which starts workers.
 * Blocks:   on the network, the disk, the databases and the service.
 * Fails by: CLI_USAGE (the mapping, the state file of another move), CLI_CHECK_FAILED (cells that
 *           exist already, pairs that do not fit, a database that changed, contents that differ),
 *           errors of the modules it uses; all reported.
 * Limits:   CLI_MOVE_*.
 * Promises: 1. Nothing is written to a family that has cells in the rows to import.
 *           2. Data recorded as moved is durable in the table. An interrupted move continues from
 *              the last record of progress, with the same timestamps; repeated writes are
 *              idempotent.
 *           3. The recorded content covers exactly the pairs up to the recorded key: the data read
 *              back must be equal.
 *           4. Nothing is written to a source.
 */
#ifndef CLI_MOVE_IN_H
#define CLI_MOVE_IN_H

#include "cli/cli.h"
#include "cli/move_map.h"
#include "cli/service.h"
#include "cli/transfer_crew.h"

/* A source, and its progress. */
struct cli_move {
    const struct cli_move_source *source;
    json_t *families;       /* of the target table, as the server has them, or will have them */
    json_t *schema;         /* of the foreign table, with target names; NULL: unknown */
    struct cli_move *owner; /* first source of the same target table; may be this one */
    bool has_aggregates;
    uint64_t line_cells;
    struct cli_move_limits limits;
    uint64_t free_bytes; /* of the tenant's quota; UINT64_MAX: there is no limit */
    uint64_t free_rows;

    /* Progress as recorded in the state file; under crew.lock while streams run. */
    bool is_begun;      /* sequence is known */
    uint64_t sequence;  /* of the database's last change */
    struct slice after; /* key up to which all cells are durable; valid if content has cells */
    bool is_done;
    uint64_t unfit; /* count of pairs or cells left out */
    bool makes;     /* of owners: this move creates the table */
    bool is_ruled;  /* the table has its rules */
    struct cli_content content;

    uint64_t longest_key; /* bytes, among the keys that this run read */
    uint64_t largest_value;
};

struct cli_move_in {
    struct cli *cli;
    const char *from; /* the directory of the databases; NULL: none */
    struct cli_service service;
    const char *map_path;   /* the mapping file */
    const char *state_path; /* the state file */
    const char *program;    /* program that reads databases; NULL: bigtentd */
    bool writes;            /* false: a dry run */
    int lock_fd;
    int64_t now_us; /* the timestamp of "now", the same in all runs of a move */
    struct cli_move_map map;
    struct cli_move *moves; /* one for each source */
    struct cli_crew crew;
    size_t next; /* index of the source that a worker takes next; under crew.lock */
    uint64_t noted_ns;
    uint64_t said; /* count of reported pairs that did not fit */
    const char *verb;
    uint64_t started_ns;
    atomic_uint_fast64_t rows;
    atomic_uint_fast64_t bytes;
};

/* Reads the mapping and locks it. The caller has set the fields up to `writes`. */
enum cli_exit cli_move_in_open(struct cli_move_in *m);
void cli_move_in_fini(struct cli_move_in *m);

/* Checks that the tables exist and have the families, and reads the limits that apply. */
enum cli_exit cli_move_in_look(struct cli_move_in *m);
/* Creates missing tables without their garbage-collection rules,
 * so that no cell is removed before it was compared. */
enum cli_exit cli_move_in_make(struct cli_move_in *m);
/* Sets the rules of the tables that this move created. */
enum cli_exit cli_move_in_rule(struct cli_move_in *m);
/* Checks that no cells exist in the rows and families to import. */
enum cli_exit cli_move_in_check_room(struct cli_move_in *m);
enum cli_exit cli_move_in_run(struct cli_move_in *m);
enum cli_exit cli_move_in_verify(struct cli_move_in *m);

/* --- move_state.c: the state file ---------------------------------------------------------------
 */

/* Reads the recorded progress; *out_found false: there is no state file. */
enum cli_exit cli_move_load_notes(struct cli_move_in *m, bool *out_found);
enum cli_exit cli_move_save_notes(struct cli_move_in *m);

/* --- move_look.c --------------------------------------------------------------------------------
 */

/* Returns the exclusive end of the keys that start with prefix,
 * as a copy owned by the caller; empty: there is no end. */
struct slice cli_move_prefix_end(struct slice prefix);

/* --- move_table.c -------------------------------------------------------------------------------
 */

/* Reads the schema of a source's table from the service into v->schema;
 * does nothing for databases. */
enum cli_exit cli_move_take_schema(struct cli_move_in *m, struct cli_move *v);
/* Records the target table's state. doc: the existing table; NULL: the table must be created. */
enum cli_exit cli_move_take_table(struct cli_move_in *m, struct cli_move *v, const json_t *doc);

/* --- all sources --------------------------------------------------------------------------------
 */

/* Starts another stage. */
void cli_move_begin_stage(struct cli_move_in *m, const char *verb);
/* Returns the next source, with unfinished the next one that is not done; NULL: there is none. */
struct cli_move *cli_move_take_source(struct cli_move_in *m, bool unfinished);
/* Draws the progress bar. */
void cli_move_draw(void *m);

#endif
