/*
 * cli/move_in.h - foreign databases, and tables of a foreign service, into tables.
 *
 * Does:     look at the tables, make what is not there, read several sources at a time, write
 *           cells, note how far it is, read back and compare.
 * Owns:     the mapping file's lock, what targets are like, from open to fini.
 * May use:  base/, cli/.
 * Knows no: the command line's words.
 * Threads:  one, which has others work for it.
 * Blocks:   on the network, the disk, the databases and the service.
 * Fails by: CLI_USAGE (the mapping, the notes of another move), CLI_CHECK_FAILED (cells that are
 *           there already, pairs that do not fit, a database that changed, contents that differ),
 *           what the parts return; all said.
 * Limits:   CLI_MOVE_*.
 * Promises: 1. Nothing is written where a family has cells in the rows that would come.
 *           2. What is noted as moved is durable in the table; what was cut is read again from the
 *              last note, with the same timestamps, which changes nothing.
 *           3. The notes count exactly the pairs up to their key: what is read back must be equal.
 *           4. Nothing is written to a source.
 */
#ifndef CLI_MOVE_IN_H
#define CLI_MOVE_IN_H

#include "cli/cli.h"
#include "cli/move_map.h"
#include "cli/service.h"
#include "cli/transfer_crew.h"

/* A source, and how far it is. */
struct cli_move {
    const struct cli_move_source *source;
    json_t *families;       /* of the table, as the server has them, or will */
    json_t *schema;         /* of the table it comes from, by the names here; NULL: nobody knows */
    struct cli_move *owner; /* the first of those that come into the same table; maybe itself */
    bool has_aggregates;
    uint64_t line_cells;
    struct cli_move_limits limits;
    uint64_t free_bytes; /* of the tenant's quota; UINT64_MAX: there is no limit */
    uint64_t free_rows;

    /* Notes; under crew.lock while streams run. */
    bool is_begun;      /* sequence is known */
    uint64_t sequence;  /* of the database's last change */
    struct slice after; /* the key up to which all is durable; when the content has cells */
    bool is_done;
    uint64_t unfit; /* pairs or cells left out */
    bool makes;     /* the table; of owners */
    bool is_ruled;  /* it has its rules */
    struct cli_content content;

    uint64_t longest_key; /* of what this run read */
    uint64_t largest_value;
};

struct cli_move_in {
    struct cli *cli;
    const char *from; /* the directory of the databases; NULL: none */
    struct cli_service service;
    const char *map_path;   /* the mapping file */
    const char *state_path; /* where notes are */
    const char *program;    /* that reads databases; NULL: bigtentd */
    bool writes;            /* false: a rehearsal */
    int lock_fd;
    int64_t now_us; /* the timestamp of "now", the same in all runs of a move */
    struct cli_move_map map;
    struct cli_move *moves; /* as many as sources */
    struct cli_crew crew;
    size_t next; /* what is taken next; under crew.lock */
    uint64_t noted_ns;
    uint64_t said; /* pairs that did not fit */
    const char *verb;
    uint64_t started_ns;
    atomic_uint_fast64_t rows;
    atomic_uint_fast64_t bytes;
};

/* The fields up to `writes` are set before. Reads the mapping and locks it. */
enum cli_exit cli_move_in_open(struct cli_move_in *m);
void cli_move_in_fini(struct cli_move_in *m);

/* The tables: that they are there, have the families and what limits hold. */
enum cli_exit cli_move_in_look(struct cli_move_in *m);
/* Tables that are not there, without the rules of their families: nothing is to vanish before it
 * was compared. */
enum cli_exit cli_move_in_make(struct cli_move_in *m);
/* Their rules. */
enum cli_exit cli_move_in_rule(struct cli_move_in *m);
/* That nothing is where cells would come. */
enum cli_exit cli_move_in_check_room(struct cli_move_in *m);
enum cli_exit cli_move_in_run(struct cli_move_in *m);
enum cli_exit cli_move_in_verify(struct cli_move_in *m);

/* --- move_state.c: the notes --------------------------------------------------------------------
 */

/* *out_found false: there are none. */
enum cli_exit cli_move_load_notes(struct cli_move_in *m, bool *out_found);
enum cli_exit cli_move_save_notes(struct cli_move_in *m);

/* --- move_look.c --------------------------------------------------------------------------------
 */

/* The end of the keys that begin with prefix, empty: there is none; a copy, the caller's. */
struct slice cli_move_prefix_end(struct slice prefix);

/* --- move_table.c -------------------------------------------------------------------------------
 */

/* What the service says of a source's table, in move->schema; nothing for databases. */
enum cli_exit cli_move_take_schema(struct cli_move_in *m, struct cli_move *v);
/* The table is there, *doc, or is not, NULL: then it is to be made. */
enum cli_exit cli_move_take_table(struct cli_move_in *m, struct cli_move *v, const json_t *doc);

/* --- all sources --------------------------------------------------------------------------------
 */

/* Another stage begins. */
void cli_move_begin_stage(struct cli_move_in *m, const char *verb);
/* The next source, with unfinished the next that is not done; NULL: there is none. */
struct cli_move *cli_move_take_source(struct cli_move_in *m, bool unfinished);
/* The bar. */
void cli_move_draw(void *m);

#endif
