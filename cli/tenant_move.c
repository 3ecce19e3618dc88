/*
 * cli/tenant_move.c - see tenant_move.h.
 *
 *     look       the tenant is active here; over there it is new, or has no tables
 *     prepare    per table: made over there; its change stream on, and the token of now noted
 *     copy       all rows, behind the last one that is noted
 *     catch up   changed rows once more, table by table, until few changes are left, or the copy
 *                stays as near as it comes
 *     switch     writes are suspended here; tables and families as they are now; catch up until
 *                two readings in a row bring nothing
 *     compare    both sides are read, and no change may come behind that; when they differ, writes
 *                go on here
 *
 * Every step may be done again, so what was cut begins at the top, with its notes.
 */
#include "cli/tenant_move.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/transfer_manifest.h"

#include "base/banned.h"

#define NS_PER_MS 1000000U

void cli_tenant_move_fini(struct cli_tenant_move *m)
{
    for (size_t i = 0; i < m->count; i++) {
        json_decref(m->tables[i].schema);
        json_decref(m->tables[i].families);
        cli_slice_free(&m->tables[i].after);
    }
    base_free(m->tables);
    m->tables = NULL;
    m->count = 0;
}

static void begin_stage(struct cli_tenant_move *m, const char *verb)
{
    m->verb = verb;
    m->rows = 0;
    m->bytes = 0;
}

/* --- before -----------------------------------------------------------------------------------
 */

/* The token of now comes before the first row is read. Where nobody can write none is needed, and
 * no stream can be switched on. */
static enum cli_exit prepare(struct cli_tenant_move *m, struct cli_tenant_table *t)
{
    bool left = false;
    uint64_t changes = 0;
    bool is_new = t->token[0] == '\0' && !m->is_stopped;
    enum cli_exit e = cli_moving_prepare(m, t, is_new);
    if (e == CLI_OK && is_new)
        e = cli_moving_follow(m, t, &left, &changes);
    return e;
}

static enum cli_exit begin(struct cli_tenant_move *m, bool found)
{
    enum cli_exit e = found ? CLI_OK : cli_moving_make(m);
    if (e == CLI_OK)
        e = cli_moving_list(m);
    if (e == CLI_OK)
        e = cli_moving_save(m);
    for (size_t i = 0; i < m->count && e == CLI_OK; i++)
        e = prepare(m, &m->tables[i]);
    return e;
}

static enum cli_exit copy_all(struct cli_tenant_move *m)
{
    enum cli_exit e = CLI_OK;
    begin_stage(m, "copying");
    for (size_t i = 0; i < m->count && e == CLI_OK; i++)
        if (!m->tables[i].is_copied)
            e = cli_moving_copy(m, &m->tables[i]);
    cli_progress_hide();
    return e;
}

/* --- changes ----------------------------------------------------------------------------------
 */

/* All tables once; *out_left: whether one may have more. */
static enum cli_exit follow_all(struct cli_tenant_move *m, bool *out_left, uint64_t *out_changes)
{
    enum cli_exit e = CLI_OK;
    *out_left = false;
    *out_changes = 0;
    for (size_t i = 0; i < m->count && e == CLI_OK; i++) {
        bool left = false;
        uint64_t changes = 0;
        if (m->tables[i].token[0] == '\0')
            continue; /* it came when nobody could write any more */
        e = cli_moving_follow(m, &m->tables[i], &left, &changes);
        *out_left = *out_left || left;
        *out_changes += changes;
    }
    return e;
}

static enum cli_exit catch_up(struct cli_tenant_move *m)
{
    begin_stage(m, "catching up");
    int near = 0; /* passes in a row: what is left is what was written during the last one */
    for (int pass = 0; pass < CLI_TENANT_PASSES; pass++) {
        bool left = false;
        uint64_t changes = 0;
        enum cli_exit e = follow_all(m, &left, &changes);
        cli_progress_hide();
        near = left ? 0 : near + 1;
        if (e != CLI_OK || (near > 0 && changes <= CLI_TENANT_SMALL) || near == CLI_TENANT_NEAR)
            return e;
    }
    return cli_fail(CLI_CHECK_FAILED, "the tenant is written to faster than rows can be copied; "
                                      "--resume tries again");
}

/* A write that passed before the suspension may still be under way: quiet, a pause, quiet. */
static enum cli_exit drain(struct cli_tenant_move *m)
{
    int quiet = 0;
    while (quiet < 2) {
        bool left = false;
        uint64_t changes = 0;
        enum cli_exit e = follow_all(m, &left, &changes);
        if (e != CLI_OK)
            return e;
        quiet = left || changes > 0 ? 0 : quiet + 1;
        if (quiet == 1 && !cli_sleep_ms(CLI_TENANT_DRAIN_MS))
            return CLI_INTERRUPTED;
    }
    return CLI_OK;
}

/* --- the switch -------------------------------------------------------------------------------
 */

/* Tables and families may have come since. */
static enum cli_exit renew_tables(struct cli_tenant_move *m)
{
    enum cli_exit e = cli_moving_list(m);
    for (size_t i = 0; i < m->count && e == CLI_OK; i++)
        e = cli_moving_prepare(m, &m->tables[i], false);
    return e;
}

static enum cli_exit compare_all(struct cli_tenant_move *m)
{
    enum cli_exit worst = CLI_OK;
    begin_stage(m, "comparing");
    for (size_t i = 0; i < m->count; i++) {
        enum cli_exit e = cli_moving_compare(m, &m->tables[i]);
        if (e != CLI_OK && e != CLI_CHECK_FAILED)
            return e;
        worst = e == CLI_OK ? worst : e; /* all are said */
    }
    cli_progress_hide();
    return worst;
}

/* Nothing may have come to light behind the comparison. */
static enum cli_exit settle(struct cli_tenant_move *m)
{
    for (int round = 0; round < CLI_TENANT_ROUNDS; round++) {
        bool left = false;
        uint64_t changes = 0;
        enum cli_exit e = drain(m);
        if (e == CLI_OK)
            e = compare_all(m);
        if (e == CLI_OK)
            e = follow_all(m, &left, &changes);
        if (e != CLI_OK || (!left && changes == 0))
            return e;
    }
    return cli_fail(CLI_CHECK_FAILED, "rows still change here, although writes are suspended");
}

static enum cli_exit switch_over(struct cli_tenant_move *m)
{
    uint64_t began_ns = base_monotonic_ns();
    enum cli_exit e = cli_moving_stop_writes(m);
    if (e == CLI_OK)
        e = renew_tables(m);
    if (e == CLI_OK)
        e = copy_all(m);
    if (e == CLI_OK)
        e = settle(m);
    m->stopped_ms = (base_monotonic_ns() - began_ns) / NS_PER_MS;
    if (e != CLI_CHECK_FAILED)
        return e;
    enum cli_exit again = cli_moving_let_write(m);
    cli_say(again == CLI_OK ? "the tenant's writes go on here; nothing was switched"
                            : "the tenant's writes are still suspended here: --abort");
    return e;
}

enum cli_exit cli_tenant_move_run(struct cli_tenant_move *m, bool resume)
{
    bool found = false;
    enum cli_exit e = cli_moving_load(m, &found);
    if (e == CLI_OK && found && !resume)
        e = cli_fail(CLI_USAGE, "%s has notes of this move: --resume goes on, --abort ends it",
                     m->state_path);
    if (e == CLI_OK)
        e = cli_moving_look(m);
    if (e == CLI_OK && m->is_stopped && !found)
        e = cli_fail(CLI_CHECK_FAILED, "the tenant %s was moved, and there are no notes in %s",
                     m->tenant, m->state_path);
    if (e != CLI_OK)
        return e;
    e = begin(m, found);
    if (e == CLI_OK)
        e = copy_all(m);
    if (e == CLI_OK)
        e = catch_up(m);
    if (e == CLI_OK)
        e = switch_over(m);
    return e == CLI_OK ? e
                       : cli_fail(e, "stopped; --resume goes on, --abort leaves the tenant here");
}

/* --- the way back -----------------------------------------------------------------------------
 */

enum cli_exit cli_tenant_move_abort(struct cli_tenant_move *m)
{
    bool found = false;
    enum cli_exit e = cli_moving_load(m, &found);
    if (e == CLI_OK && !found)
        e = cli_fail(CLI_USAGE, "there are no notes of a move in %s", m->state_path);
    if (e == CLI_OK)
        e = cli_moving_look(m);
    if (e == CLI_OK && m->is_stopped)
        e = cli_moving_let_write(m);
    if (e == CLI_OK)
        e = cli_moving_list(m);
    for (size_t i = 0; i < m->count && e == CLI_OK; i++)
        if (m->tables[i].is_streaming)
            e = cli_moving_unstream(m, &m->tables[i]);
    return e;
}
