/*
 * cli/tenant_move.c - see tenant_move.h.
 *
 * "Source" is the server that has the tenant, "destination" the server it moves to.
 *
 *     check      the tenant is active at the source; at the destination it is new, or has no tables
 *     prepare    per table: create it at the destination; enable its change stream, and record the
 *                current token
 *     copy       all rows after the last recorded one
 *     catch up   changed rows again, table by table, until few changes are left, or the lag stays
 *                minimal
 *     switch     suspend writes at the source, which returns when none is in flight; update tables,
 *                families and views; copy the remaining changes, to their end
 *     compare    read both servers; check that the suspension lasted; if the servers differ, writes
 *                resume at the source
 *     done       recorded: from now on the tenant may be in use at the destination
 *     keys       create new ones at the destination, if requested
 *
 * Every step can be repeated, so an interrupted move restarts at the top with its recorded
 * progress. A move that is done continues with the keys only.
 */
#include "cli/tenant_move.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/out.h"
#include "cli/tenant_crew.h"
#include "cli/transfer_manifest.h"

#include "base/banned.h"

#define NS_PER_MS 1000000U

void cli_tenant_move_fini(struct cli_tenant_move *m)
{
    cli_moving_crew_close(m);
    for (size_t i = 0; i < m->count; i++) {
        json_decref(m->tables[i].schema);
        json_decref(m->tables[i].families);
        cli_slice_free(&m->tables[i].after);
    }
    base_free(m->tables);
    base_free(m->keys);
    json_decref(m->known_keys);
    m->tables = NULL;
    m->keys = NULL;
    m->known_keys = NULL;
    m->count = 0;
}

/* --- before the switch ------------------------------------------------------------------------
 */

/* Prepares a table. The current token is obtained before the first row is read. While writes are
 * suspended no token is needed, and no stream can be enabled. A table that was copied during a
 * suspension and then accepts writes again has no record of its changes: its copy restarts. */
static enum cli_exit prepare(struct cli_tenant_move *m, struct cli_tenant_table *t)
{
    bool is_new = t->token[0] == '\0' && !m->is_stopped;
    enum cli_exit e = cli_moving_prepare(m, t, is_new);
    if (e == CLI_OK && is_new && (t->is_copied || t->after.len > 0))
        e = cli_moving_empty(m, t);
    return e;
}

static enum cli_exit begin(struct cli_tenant_move *m)
{
    enum cli_exit e = cli_moving_list(m);
    if (e == CLI_OK)
        e = cli_moving_forget_gone(m);
    if (e == CLI_OK)
        e = cli_moving_save(m);
    for (size_t i = 0; i < m->count && e == CLI_OK; i++)
        e = prepare(m, &m->tables[i]);
    if (e == CLI_OK)
        e = cli_moving_crew_open(m);
    return e == CLI_OK && !m->is_stopped ? cli_moving_mark(m) : e;
}

static enum cli_exit catch_up(struct cli_tenant_move *m)
{
    int near = 0; /* consecutive passes after which only recent changes are left */
    for (int pass = 0; pass < CLI_TENANT_PASSES; pass++) {
        bool left = false;
        uint64_t changes = 0;
        enum cli_exit e = cli_moving_follow(m, &left, &changes);
        near = m->behind_s <= CLI_TENANT_BEHIND_S ? near + 1 : 0;
        if (e != CLI_OK || (!left && changes <= CLI_TENANT_SMALL) || near == CLI_TENANT_NEAR)
            return e;
    }
    return cli_fail(CLI_CHECK_FAILED, "the tenant is written to faster than rows can be copied; "
                                      "--resume tries again");
}

/* --- the switch -------------------------------------------------------------------------------
 */

/* Updates the destination's tables; tables, families and rules may have changed since the copy. */
static enum cli_exit renew_tables(struct cli_tenant_move *m)
{
    enum cli_exit e = cli_moving_list(m);
    if (e == CLI_OK)
        e = cli_moving_forget_gone(m);
    for (size_t i = 0; i < m->count && e == CLI_OK; i++)
        e = cli_moving_prepare(m, &m->tables[i], false);
    return e;
}

/* Copies the remaining changes; as writes are suspended, their number is finite. */
static enum cli_exit drain(struct cli_tenant_move *m)
{
    for (int pass = 0; pass < CLI_TENANT_PASSES; pass++) {
        bool left = false;
        uint64_t changes = 0;
        enum cli_exit e = cli_moving_follow(m, &left, &changes);
        if (e != CLI_OK || !left)
            return e;
    }
    return cli_fail(CLI_CHECK_FAILED, "rows still change here, although writes are suspended");
}

static enum cli_exit bring_views(struct cli_tenant_move *m)
{
    enum cli_exit e = CLI_OK;
    m->views = 0;
    for (size_t i = 0; i < m->count && e == CLI_OK; i++)
        e = cli_moving_views(m, &m->tables[i]);
    return e;
}

static enum cli_exit finish(struct cli_tenant_move *m)
{
    enum cli_exit e = renew_tables(m);
    if (e == CLI_OK)
        e = cli_moving_copy(m);
    if (e == CLI_OK)
        e = drain(m);
    if (e == CLI_OK)
        e = bring_views(m);
    if (e == CLI_OK)
        e = cli_moving_compare(m);
    if (e == CLI_OK)
        e = cli_moving_check_stopped(m);
    if (e != CLI_OK)
        return e;
    m->is_done = true;
    return cli_moving_save(m);
}

static enum cli_exit switch_over(struct cli_tenant_move *m)
{
    uint64_t began_ns = base_monotonic_ns();
    enum cli_exit e = cli_moving_stop_writes(m);
    if (e == CLI_OK)
        e = finish(m);
    m->stopped_ms = (base_monotonic_ns() - began_ns) / NS_PER_MS;
    if (e != CLI_CHECK_FAILED)
        return e;
    enum cli_exit again = cli_moving_let_write(m);
    cli_say(again == CLI_OK ? "the tenant's writes go on here; nothing was switched"
                            : "the tenant's writes are still suspended here: --abort");
    return e;
}

static enum cli_exit go(struct cli_tenant_move *m)
{
    enum cli_exit e = begin(m);
    if (e == CLI_OK)
        e = cli_moving_copy(m);
    if (e == CLI_OK)
        e = catch_up(m);
    if (e == CLI_OK)
        e = switch_over(m);
    return e == CLI_OK ? e
                       : cli_fail(e, "stopped; --resume goes on, --abort leaves the tenant here");
}

/* Checks that a run with, or without, a state file may start. */
static enum cli_exit check_begin(struct cli_tenant_move *m, bool found, bool resume)
{
    if (found && !resume)
        return cli_fail(CLI_USAGE, "%s has notes of this move: --resume goes on, --abort ends it",
                        m->state_path);
    if (m->is_stopped && !found)
        return cli_fail(CLI_CHECK_FAILED, "the tenant %s was moved, and there are no notes in %s",
                        m->tenant, m->state_path);
    if (m->is_done && !m->is_stopped)
        return cli_fail(CLI_CHECK_FAILED,
                        "the tenant %s was moved, and its writes go on here since: "
                        "--abort ends this move",
                        m->tenant);
    return CLI_OK;
}

static enum cli_exit reach(struct cli_tenant_move *m)
{
    bool is_there = false;
    enum cli_exit e = cli_moving_reach(m, &is_there);
    if (e == CLI_OK && !is_there)
        e = cli_fail(CLI_CHECK_FAILED, "the tenant %s is not over there any more: --abort",
                     m->tenant);
    return e;
}

enum cli_exit cli_tenant_move_run(struct cli_tenant_move *m, bool resume)
{
    bool found = false;
    json_t *source = NULL;
    enum cli_exit e = cli_moving_load(m, &found);
    m->was_done = m->is_done;
    if (e == CLI_OK)
        e = cli_moving_look(m, &source);
    if (e == CLI_OK)
        e = check_begin(m, found, resume);
    if (e == CLI_OK && !found)
        e = cli_moving_make(m, source);
    else if (e == CLI_OK)
        e = reach(m);
    json_decref(source);
    if (e == CLI_OK && !m->is_done)
        e = go(m);
    return e == CLI_OK && m->keys_dir != NULL ? cli_moving_issue_keys(m) : e;
}

/* --- abort ------------------------------------------------------------------------------------
 */

/* Disables the move's change streams; unless the move is done, removes the destination's tables. */
static enum cli_exit take_back(struct cli_tenant_move *m, size_t tables)
{
    bool is_there = false;
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < tables && e == CLI_OK; i++)
        if (m->tables[i].is_streaming && m->tables[i].schema != NULL)
            e = cli_moving_unstream(m, &m->tables[i]);
    if (e == CLI_OK && !m->is_done)
        e = cli_moving_reach(m, &is_there);
    for (size_t i = 0; i < tables && e == CLI_OK && is_there; i++)
        e = cli_moving_remove(m, &m->tables[i]);
    return e;
}

enum cli_exit cli_tenant_move_abort(struct cli_tenant_move *m)
{
    bool found = false;
    enum cli_exit e = cli_moving_load(m, &found);
    if (e == CLI_OK && !found)
        e = cli_fail(CLI_USAGE, "there are no notes of a move in %s", m->state_path);
    if (e == CLI_OK)
        e = cli_moving_look(m, NULL);
    if (e == CLI_OK && m->is_stopped)
        e = cli_moving_let_write(m);
    size_t noted = m->count;
    if (e == CLI_OK)
        e = cli_moving_list(m);
    return e == CLI_OK ? take_back(m, noted) : e;
}
