/*
 * cli/tenant_move.h - moves a tenant from one server to another while it accepts writes.
 *
 * Does:     create tenant and tables at the destination, copy rows, follow the change streams until
 *           they are near their end, stop writes, follow to the end, copy authorized views, read
 *           and compare both servers; issue keys.
 * Owns:     connections to both servers, the recorded progress, from open to fini.
 * May use:  base/, cli/.
 * Knows no: the command line's words.
 * Threads:  one, which starts workers (cli/tenant_crew.h).
 * Blocks:   on the network and the disk.
 * Fails by: CLI_USAGE (the state file of another move), CLI_CHECK_FAILED (servers that differ, a
 *           tenant that is suspended or not empty at the destination), errors of the modules it
 *           uses; all reported.
 * Limits:   CLI_TENANT_*, CLI_TRANSFER_*.
 * Promises: 1. Writes are stopped at the source when the copy is at most a few seconds late; they
 *              resume there when the two servers are not equal in the end.
 *           2. A move that was interrupted at any moment can resume. At the source only the change
 *              streams and the suspension are changed; abort reverts both, and removes the tables
 *              that the move created at the destination.
 *           3. CLI_OK means that counts and content of every table were equal while writes were
 *              impossible: no write was in flight when the reads started, and the suspension
 *              lasted.
 *           4. After that, nothing at the destination is reverted or compared: it may be in use.
 */
#ifndef CLI_TENANT_MOVE_H
#define CLI_TENANT_MOVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cli/bounds.h"
#include "cli/cli.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/transfer_cell.h"

struct cli_tenant_side {
    struct cli_config admin_config; /* an operator's key */
    struct cli_config data_config;  /* a service key, or the tenant's */
    struct cli_http *admin;
    struct cli_http *data;
    char instance[64]; /* of the tenant, as in gRPC resource names */
};

struct cli_tenant_table {
    char id[LIM_TABLE_ID + 1];
    json_t *schema;            /* current schema at the source, as PUT accepts it; NULL: removed */
    char etag[CLI_ETAG_BYTES]; /* of that schema */
    json_t *families;          /* at the destination */
    bool has_aggregates;
    bool is_streaming; /* the move enabled the table's change stream */
    bool is_copied;
    struct slice after;         /* row up to which all rows were copied; empty: none */
    char token[CLI_FEED_TOKEN]; /* position in its change stream; empty: not started */
    bool is_near;               /* result of the last read of changes (change_feed.h) */
    uint64_t behind_s;          /* lag in the last read of changes */
    uint64_t changes;
    struct cli_content content; /* of the source, as compared */
    struct cli_content content_there;
};

/* A key of the tenant at the source that has a successor at the destination. */
struct cli_tenant_key {
    char id[CLI_KEY_ID];
    char there[CLI_KEY_ID]; /* empty: it is being created */
};

struct cli_moving_crew;

struct cli_tenant_move {
    struct cli *cli;
    const char *tenant;
    const char *state_path;
    const char *keys_dir;          /* NULL: no keys are issued */
    char reason[LIM_DISPLAY_NAME]; /* of the suspension */
    char stopped_since[40];        /* time of the suspension, as the source reports it */
    struct cli_tenant_side from;
    struct cli_tenant_side to;
    struct cli_tenant_table *tables;
    size_t count;
    struct cli_tenant_key *keys;
    size_t key_count;
    json_t *known_keys;  /* at the destination before a key is created; NULL: none is in progress */
    uint64_t line_cells; /* maximum number of cells in one line, at the destination */
    bool is_stopped;     /* a move to this destination suspended the source's writes */
    bool is_done;        /* both servers were equal while writes were suspended */
    bool was_done;       /* is_done was set by an earlier run */
    bool is_marking;     /* the pass obtains tokens for tables without one */
    struct cli_moving_crew *crew;
    pthread_mutex_t lock;      /* guards the recorded progress, the tables' parts of it, and the
                           * connections above, while workers run */
    atomic_uint_fast64_t rows; /* of this stage */
    atomic_uint_fast64_t bytes;
    uint64_t views;
    uint64_t changes;  /* followed so far */
    uint64_t behind_s; /* largest lag of a table in the last pass */
    uint64_t stopped_ms;
};

/* --- tenant_move.c ------------------------------------------------------------------------------
 */

enum cli_exit cli_tenant_move_run(struct cli_tenant_move *m, bool resume);
/* Reverts a move: resumes writes at the source, disables the change streams that the move enabled
 * and, unless the move was done, removes the tables that it created at the destination. */
enum cli_exit cli_tenant_move_abort(struct cli_tenant_move *m);
void cli_tenant_move_fini(struct cli_tenant_move *m);

/* --- tenant_sides.c: the tenant itself ----------------------------------------------------------
 */

/* Reads the tenant at the source and checks that it is active or suspended by a move.
 * out_doc may be NULL. */
enum cli_exit cli_moving_look(struct cli_tenant_move *m, json_t **out_doc);
/* Reads the tenant at the destination; *out_doc NULL: it does not exist yet. Returns
 * CLI_CHECK_FAILED for a tenant into which this one cannot be moved. */
enum cli_exit cli_moving_look_there(struct cli_tenant_move *m, const json_t *source,
                                    json_t **out_doc);
/* Finds the destination tenant of a move in progress; *out_found false: it no longer exists. */
enum cli_exit cli_moving_reach(struct cli_tenant_move *m, bool *out_found);
/* Creates the tenant at the destination with the source's properties, or uses an existing one
 * unchanged; then copies the source's legal hold. */
enum cli_exit cli_moving_make(struct cli_tenant_move *m, const json_t *source);
enum cli_exit cli_moving_stop_writes(struct cli_tenant_move *m);
/* Requests a document from either server; *out NULL: it does not exist. Frees target. */
enum cli_exit cli_moving_find(struct cli_http *http, const struct cli_config *config,
                              struct buf *target, json_t **out);
/* Checks that the suspension lasted without interruption. */
enum cli_exit cli_moving_check_stopped(struct cli_tenant_move *m);
enum cli_exit cli_moving_let_write(struct cli_tenant_move *m);

/* --- tenant_tables.c: tables on both sides ------------------------------------------------------
 */

/* Lists the source's tables: adds new ones, and sets the schema of removed ones to NULL. */
enum cli_exit cli_moving_list(struct cli_tenant_move *m);
/* Drops tables without a schema from the list, and removes them at the destination. */
enum cli_exit cli_moving_forget_gone(struct cli_tenant_move *m);
/* Creates or updates the destination table by its schema. with_stream: also enables the source's
 * change stream, if the source table is unchanged since it was listed (else CLI_REFUSED: the table
 * may have been removed, and must not be recreated). */
enum cli_exit cli_moving_prepare(struct cli_tenant_move *m, struct cli_tenant_table *t,
                                 bool with_stream);
/* Rereads the source's schema after its families changed, and updates the destination table. */
enum cli_exit cli_moving_renew(struct cli_tenant_move *m, struct cli_tenant_table *t);
/* Drops all rows at the destination, and resets the copy's progress. */
enum cli_exit cli_moving_empty(struct cli_tenant_move *m, struct cli_tenant_table *t);
enum cli_exit cli_moving_remove(struct cli_tenant_move *m, const struct cli_tenant_table *t);
enum cli_exit cli_moving_unstream(struct cli_tenant_move *m, const struct cli_tenant_table *t);

/* --- tenant_rows.c: rows and changes ------------------------------------------------------------
 */

enum cli_exit cli_moving_copy(struct cli_tenant_move *m);
/* Obtains a token of the current time for tables without one. */
enum cli_exit cli_moving_mark(struct cli_tenant_move *m);
/* Reads the changes of each table once; *out_left: a table is not near the end of its changes. */
enum cli_exit cli_moving_follow(struct cli_tenant_move *m, bool *out_left, uint64_t *out_changes);
enum cli_exit cli_moving_compare(struct cli_tenant_move *m);

/* --- tenant_views.c: authorized views -----------------------------------------------------------
 */

/* Make the destination's views equal to the source's or, for a table that is removed,
 * delete them. */
enum cli_exit cli_moving_views(struct cli_tenant_move *m, const struct cli_tenant_table *t);
enum cli_exit cli_moving_no_views(struct cli_tenant_move *m, const struct cli_tenant_table *t);
enum cli_exit cli_moving_count_views(struct cli_tenant_move *m, const char *table, size_t *out);

/* --- tenant_keys.c: new keys, because keys cannot be copied -------------------------------------
 */

/* Lists the tenant's keys at the source as {"keys":[..]}, as the server shows them. */
enum cli_exit cli_moving_list_keys(struct cli_tenant_move *m, json_t **out);
/* Lists the source's service keys whose list of tenants names this one. */
enum cli_exit cli_moving_list_service_keys(struct cli_tenant_move *m, json_t **out);
/* Creates one key at the destination for each key at the source, once, in m->keys_dir. */
enum cli_exit cli_moving_issue_keys(struct cli_tenant_move *m);

/* --- tenant_plan.c: the dry run -----------------------------------------------------------------
 */

enum cli_exit cli_moving_plan(struct cli_tenant_move *m);

/* --- tenant_state.c: the state file -------------------------------------------------------------
 */

enum cli_exit cli_moving_load(struct cli_tenant_move *m, bool *out_found);
enum cli_exit cli_moving_save(const struct cli_tenant_move *m);

#endif
