/*
 * cli/tenant_move.h - a tenant from one server to another, while it is being written to.
 *
 * Does:     make tenant and tables over there, copy rows, follow the change streams until they are
 *           nearly at their end, stop writes, follow to the end, read both sides and compare.
 * Owns:     connections to both servers, notes of how far it is, from open to fini.
 * May use:  base/, cli/.
 * Knows no: the command line's words.
 * Threads:  one.
 * Blocks:   on the network and the disk.
 * Fails by: CLI_USAGE (notes of another move), CLI_CHECK_FAILED (sides that differ, a tenant that
 *           is suspended or not empty over there), what the parts return; all said.
 * Limits:   CLI_TENANT_*, CLI_TRANSFER_*.
 * Promises: 1. Writes are stopped at the source only when the copy lacks next to nothing, and go on
 *              there when the two sides are not equal in the end.
 *           2. What was cut at any moment goes on; nothing of the source is changed but the change
 *              streams and the suspension, and abort takes back both.
 *           3. CLI_OK of verify means that counts and content of every table were equal while
 *              nobody could write.
 */
#ifndef CLI_TENANT_MOVE_H
#define CLI_TENANT_MOVE_H

#include "cli/change_feed.h"
#include "cli/cli.h"
#include "cli/transfer_cell.h"

struct cli_tenant_side {
    struct cli_config admin_config; /* an operator's key */
    struct cli_config data_config;  /* a service key, or the tenant's */
    struct cli_http *admin;
    struct cli_http *data;
};

struct cli_tenant_table {
    char id[LIM_TABLE_ID + 1];
    json_t *schema;   /* what PUT takes, of the source as it was */
    json_t *families; /* over there */
    bool has_aggregates;
    bool is_streaming; /* the move switched its change stream on */
    bool is_copied;
    struct slice after;         /* the row up to which all was copied; empty: none */
    char token[CLI_FEED_TOKEN]; /* where its changes go on; empty: it has not begun */
    struct cli_content content; /* as compared */
};

struct cli_tenant_move {
    struct cli *cli;
    const char *tenant;
    const char *state_path;
    char reason[LIM_DISPLAY_NAME]; /* of the suspension */
    char instance[64];             /* of the tenant at the source */
    struct cli_tenant_side from;
    struct cli_tenant_side to;
    struct cli_tenant_table *tables;
    size_t count;
    uint64_t line_cells; /* over there */
    bool is_stopped;     /* writes are suspended here, by a move there */
    atomic_bool stop;    /* never set: there is one thread, and signals end requests */
    const char *verb;    /* for the bar */
    uint64_t rows;       /* of this stage */
    uint64_t bytes;
    uint64_t changes; /* followed so far */
    uint64_t stopped_ms;
};

/* --- tenant_move.c ------------------------------------------------------------------------------
 */

enum cli_exit cli_tenant_move_run(struct cli_tenant_move *m, bool resume);
/* Writes go on at the source, and change streams that the move made are gone. */
enum cli_exit cli_tenant_move_abort(struct cli_tenant_move *m);
void cli_tenant_move_fini(struct cli_tenant_move *m);

/* --- tenant_tables.c: tables on both sides ------------------------------------------------------
 */

/* The tenant at the source: there, and suspended by nobody but a move. */
enum cli_exit cli_moving_look(struct cli_tenant_move *m);
enum cli_exit cli_moving_make(struct cli_tenant_move *m);
/* Tables of the source that are not known yet are added. */
enum cli_exit cli_moving_list(struct cli_tenant_move *m);
/* The table over there, as its schema says; with_stream: and the source's change stream. */
enum cli_exit cli_moving_prepare(struct cli_tenant_move *m, struct cli_tenant_table *t,
                                 bool with_stream);
/* The same for one whose families changed. */
enum cli_exit cli_moving_renew(struct cli_tenant_move *m, struct cli_tenant_table *t);
enum cli_exit cli_moving_unstream(struct cli_tenant_move *m, const struct cli_tenant_table *t);
enum cli_exit cli_moving_stop_writes(struct cli_tenant_move *m);
enum cli_exit cli_moving_let_write(struct cli_tenant_move *m);

/* --- tenant_rows.c: rows and changes ------------------------------------------------------------
 */

enum cli_exit cli_moving_copy(struct cli_tenant_move *m, struct cli_tenant_table *t);
/* One read of the table's changes; *out_left: it is not near their end yet. */
enum cli_exit cli_moving_follow(struct cli_tenant_move *m, struct cli_tenant_table *t,
                                bool *out_left, uint64_t *out_changes);
enum cli_exit cli_moving_compare(struct cli_tenant_move *m, struct cli_tenant_table *t);

/* --- tenant_state.c: the notes ------------------------------------------------------------------
 */

enum cli_exit cli_moving_load(struct cli_tenant_move *m, bool *out_found);
enum cli_exit cli_moving_save(const struct cli_tenant_move *m);

#endif
