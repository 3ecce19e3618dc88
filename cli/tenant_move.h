/*
 * cli/tenant_move.h - a tenant from one server to another, while it is being written to.
 *
 * Does:     make tenant and tables over there, copy rows, follow the change streams until they are
 *           nearly at their end, stop writes, follow to the end, bring authorized views, read both
 *           sides and compare; issue keys.
 * Owns:     connections to both servers, notes of how far it is, from open to fini.
 * May use:  base/, cli/.
 * Knows no: the command line's words.
 * Threads:  one, which has others work for it (cli/tenant_crew.h).
 * Blocks:   on the network and the disk.
 * Fails by: CLI_USAGE (notes of another move), CLI_CHECK_FAILED (sides that differ, a tenant that
 *           is suspended or not empty over there), what the parts return; all said.
 * Limits:   CLI_TENANT_*, CLI_TRANSFER_*.
 * Promises: 1. Writes are stopped at the source when the copy is some seconds behind at most, and
 *              go on there when the two sides are not equal in the end.
 *           2. What was cut at any moment goes on; nothing of the source is changed but the change
 *              streams and the suspension, and abort takes back both, and what it made over there.
 *           3. CLI_OK means that counts and content of every table were equal while nobody could
 *              write: no write was under way when the reading began, and the suspension lasted.
 *           4. Behind that nothing over there is taken back or compared: it may be in use.
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
    char instance[64]; /* of the tenant, as the names of gRPC say it */
};

struct cli_tenant_table {
    char id[LIM_TABLE_ID + 1];
    json_t *schema;            /* what PUT takes, of the source as it is; NULL: it is gone */
    char etag[CLI_ETAG_BYTES]; /* of that schema */
    json_t *families;          /* over there */
    bool has_aggregates;
    bool is_streaming; /* the move switched its change stream on */
    bool is_copied;
    struct slice after;         /* the row up to which all was copied; empty: none */
    char token[CLI_FEED_TOKEN]; /* where its changes go on; empty: it has not begun */
    bool is_near;               /* of the last reading of changes */
    uint64_t behind_s;          /* the same */
    uint64_t changes;
    struct cli_content content; /* as compared */
    struct cli_content content_there;
};

/* A key of the tenant here that has a successor over there. */
struct cli_tenant_key {
    char id[CLI_KEY_ID];
    char there[CLI_KEY_ID]; /* empty: it is being made */
};

struct cli_moving_crew;

struct cli_tenant_move {
    struct cli *cli;
    const char *tenant;
    const char *state_path;
    const char *keys_dir;          /* NULL: no keys are issued */
    char reason[LIM_DISPLAY_NAME]; /* of the suspension */
    char stopped_since[40];        /* when writes were suspended, as the source says */
    struct cli_tenant_side from;
    struct cli_tenant_side to;
    struct cli_tenant_table *tables;
    size_t count;
    struct cli_tenant_key *keys;
    size_t key_count;
    json_t *known_keys;  /* over there, before the one that is being made; NULL: none is */
    uint64_t line_cells; /* over there */
    bool is_stopped;     /* writes are suspended here, by a move there */
    bool is_done;        /* both sides were equal while they were */
    bool was_done;       /* by an earlier run */
    bool is_marking;     /* tables without a token get one */
    struct cli_moving_crew *crew;
    pthread_mutex_t lock; /* of the notes, the tables' places in them, and the connections above,
                           * while a crew works */
    atomic_uint_fast64_t rows; /* of this stage */
    atomic_uint_fast64_t bytes;
    uint64_t views;
    uint64_t changes;  /* followed so far */
    uint64_t behind_s; /* of the table that is furthest behind, in the last pass */
    uint64_t stopped_ms;
};

/* --- tenant_move.c ------------------------------------------------------------------------------
 */

enum cli_exit cli_tenant_move_run(struct cli_tenant_move *m, bool resume);
/* Writes go on at the source, change streams that the move made are gone, and, unless it was done,
 * what it made over there. */
enum cli_exit cli_tenant_move_abort(struct cli_tenant_move *m);
void cli_tenant_move_fini(struct cli_tenant_move *m);

/* --- tenant_sides.c: the tenant itself ----------------------------------------------------------
 */

/* The tenant at the source: there, and suspended by nobody but a move. NULL: nobody wants to see
 * it. */
enum cli_exit cli_moving_look(struct cli_tenant_move *m, json_t **out_doc);
/* *out_doc NULL: there is none yet. CLI_CHECK_FAILED for one that this tenant cannot become. */
enum cli_exit cli_moving_look_there(struct cli_tenant_move *m, const json_t *source,
                                    json_t **out_doc);
/* The one that notes are about; *out_found false: it is gone. */
enum cli_exit cli_moving_reach(struct cli_tenant_move *m, bool *out_found);
/* The tenant over there, with what is the source's; found: as it is, with its hold. */
enum cli_exit cli_moving_make(struct cli_tenant_move *m, const json_t *source);
enum cli_exit cli_moving_stop_writes(struct cli_tenant_move *m);
/* A document of a side; NULL: there is none. target is freed. */
enum cli_exit cli_moving_find(struct cli_http *http, const struct cli_config *config,
                              struct buf *target, json_t **out);
/* Nobody took the suspension away meanwhile, not even for a moment. */
enum cli_exit cli_moving_check_stopped(struct cli_tenant_move *m);
enum cli_exit cli_moving_let_write(struct cli_tenant_move *m);

/* --- tenant_tables.c: tables on both sides ------------------------------------------------------
 */

/* Tables of the source that are not known yet are added; those that are gone have no schema. */
enum cli_exit cli_moving_list(struct cli_tenant_move *m);
/* Those without a schema leave, over there too. */
enum cli_exit cli_moving_forget_gone(struct cli_tenant_move *m);
/* The table over there, as its schema says; with_stream: and the source's change stream, if its
 * table is as it was (else CLI_REFUSED: it may be gone, and must not come back). */
enum cli_exit cli_moving_prepare(struct cli_tenant_move *m, struct cli_tenant_table *t,
                                 bool with_stream);
/* The same for one whose families changed. */
enum cli_exit cli_moving_renew(struct cli_tenant_move *m, struct cli_tenant_table *t);
/* No rows are over there, and none count as copied. */
enum cli_exit cli_moving_empty(struct cli_tenant_move *m, struct cli_tenant_table *t);
enum cli_exit cli_moving_remove(struct cli_tenant_move *m, const struct cli_tenant_table *t);
enum cli_exit cli_moving_unstream(struct cli_tenant_move *m, const struct cli_tenant_table *t);

/* --- tenant_rows.c: rows and changes ------------------------------------------------------------
 */

enum cli_exit cli_moving_copy(struct cli_tenant_move *m);
/* The token of now, of tables that have none. */
enum cli_exit cli_moving_mark(struct cli_tenant_move *m);
/* One read of the changes of each table; *out_left: one is not near their end yet. */
enum cli_exit cli_moving_follow(struct cli_tenant_move *m, bool *out_left, uint64_t *out_changes);
enum cli_exit cli_moving_compare(struct cli_tenant_move *m);

/* --- tenant_views.c: authorized views -----------------------------------------------------------
 */

/* Views over there become those of here, or, of a table that leaves, none. */
enum cli_exit cli_moving_views(struct cli_tenant_move *m, const struct cli_tenant_table *t);
enum cli_exit cli_moving_no_views(struct cli_tenant_move *m, const struct cli_tenant_table *t);
enum cli_exit cli_moving_count_views(struct cli_tenant_move *m, const char *table, size_t *out);

/* --- tenant_keys.c: keys, which nobody can move -------------------------------------------------
 */

/* {"keys":[..]} of the tenant here, as the server shows them. */
enum cli_exit cli_moving_list_keys(struct cli_tenant_move *m, json_t **out);
/* Service keys of here that are for this tenant among a few. */
enum cli_exit cli_moving_list_service_keys(struct cli_tenant_move *m, json_t **out);
/* One over there for each here, in m->keys_dir, each once. */
enum cli_exit cli_moving_issue_keys(struct cli_tenant_move *m);

/* --- tenant_plan.c: what would be done ----------------------------------------------------------
 */

enum cli_exit cli_moving_plan(struct cli_tenant_move *m);

/* --- tenant_state.c: the notes ------------------------------------------------------------------
 */

enum cli_exit cli_moving_load(struct cli_tenant_move *m, bool *out_found);
enum cli_exit cli_moving_save(const struct cli_tenant_move *m);

#endif
