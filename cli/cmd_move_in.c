/* cli/cmd_move_in.c - move-in: parses options, runs the stages, prints the results. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/json_text.h"
#include "cli/move_in.h"
#include "cli/out.h"

#include "base/banned.h"

static bool flag(const struct cli_move_in *m, const char *name)
{
    return cli_args_flag(&m->cli->args, name);
}

/* --- results ----------------------------------------------------------------------------------
 */

static json_t *sources_json(const struct cli_move_in *m)
{
    json_t *list = json_array();
    for (size_t i = 0; i < m->map.count; i++) {
        const struct cli_move *v = &m->moves[i];
        json_array_append_new(
            list, json_pack("{s:s, s:s*, s:s*, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "source",
                            v->source->name, "database", v->source->database, "column_family",
                            v->source->database != NULL ? v->source->column_family : NULL, "tenant",
                            v->source->tenant, "table", v->source->table, "rows",
                            (json_int_t)v->content.rows, "cells", (json_int_t)v->content.cells,
                            "bytes", (json_int_t)v->content.bytes, "longest_key",
                            (json_int_t)v->longest_key, "largest_value",
                            (json_int_t)v->largest_value, "unfit", (json_int_t)v->unfit));
    }
    return list;
}

static void print_sources(const struct cli_move_in *m)
{
    static const struct cli_field fields[] = {
        {"source", "source", CLI_FIELD_TEXT, NULL},
        {"family", "column_family", CLI_FIELD_TEXT, NULL},
        {"tenant", "tenant", CLI_FIELD_TEXT, NULL},
        {"table", "table", CLI_FIELD_TEXT, NULL},
        {"rows", "rows", CLI_FIELD_COUNT, NULL},
        {"cells", "cells", CLI_FIELD_COUNT, NULL},
        {"bytes", "bytes", CLI_FIELD_BYTES, NULL},
        {"longest key", "longest_key", CLI_FIELD_BYTES, NULL},
        {"largest value", "largest_value", CLI_FIELD_BYTES, NULL},
        {"unfit", "unfit", CLI_FIELD_COUNT, NULL},
        {NULL, NULL, CLI_FIELD_TEXT, NULL},
    };
    json_t *list = sources_json(m);
    cli_fields_table(m->cli, fields, list);
    json_decref(list);
}

static void print_summary(const struct cli_move_in *m, uint64_t started_ns)
{
    static const struct cli_field fields[] = {
        {"sources", "source_count", CLI_FIELD_COUNT, NULL},
        {"rows", "rows", CLI_FIELD_COUNT, NULL},
        {"cells", "cells", CLI_FIELD_COUNT, NULL},
        {"bytes", "bytes", CLI_FIELD_BYTES, NULL},
        {"unfit", "unfit", CLI_FIELD_COUNT, NULL},
        {"written", "written", CLI_FIELD_TEXT, NULL},
        {"verified", "verified", CLI_FIELD_TEXT, NULL},
        {"ms", "ms", CLI_FIELD_COUNT, NULL},
        {NULL, NULL, CLI_FIELD_TEXT, NULL},
    };
    struct cli_content all = {0};
    uint64_t unfit = 0;
    for (size_t i = 0; i < m->map.count; i++) {
        cli_content_merge(&all, &m->moves[i].content);
        unfit += m->moves[i].unfit;
    }
    if (!m->writes && !m->cli->config.json)
        print_sources(m);
    else
        cli_fields_show(m->cli, fields,
                        json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:I}", "sources",
                                  sources_json(m), "source_count", (json_int_t)m->map.count, "rows",
                                  (json_int_t)all.rows, "cells", (json_int_t)all.cells, "bytes",
                                  (json_int_t)all.bytes, "unfit", (json_int_t)unfit, "written",
                                  m->writes, "verified", flag(m, "verify"), "ms",
                                  (json_int_t)((base_monotonic_ns() - started_ns) / 1000000)));
}

/* --- dry run ----------------------------------------------------------------------------------
 */

/* Checks all data to import into the source's tenant against the tenant's quota. */
static enum cli_exit check_quota(const struct cli_move_in *m, const struct cli_move *v)
{
    struct cli_content all = {0};
    for (size_t i = 0; i < m->map.count; i++) {
        if (strcmp(m->moves[i].source->tenant, v->source->tenant) != 0)
            continue;
        if (&m->moves[i] < v)
            return CLI_OK; /* reported already */
        cli_content_merge(&all, &m->moves[i].content);
    }
    if (all.bytes > v->free_bytes)
        return cli_fail(CLI_CHECK_FAILED,
                        "the tenant %s has %" PRIu64 " bytes left of its quota; %" PRIu64
                        " would come",
                        v->source->tenant, v->free_bytes, all.bytes);
    if (all.rows > v->free_rows)
        return cli_fail(CLI_CHECK_FAILED,
                        "the tenant %s has %" PRIu64 " rows left of its quota; %" PRIu64
                        " would come",
                        v->source->tenant, v->free_rows, all.rows);
    return CLI_OK;
}

static enum cli_exit judge(const struct cli_move_in *m)
{
    enum cli_exit worst = CLI_OK;
    for (size_t i = 0; i < m->map.count; i++) {
        const struct cli_move *v = &m->moves[i];
        enum cli_exit e = CLI_OK;
        if (v->free_bytes != UINT64_MAX || v->free_rows != UINT64_MAX)
            e = check_quota(m, v);
        if (v->unfit > 0 && !v->source->skips)
            e = cli_fail(CLI_CHECK_FAILED, "%s: %" PRIu64 " %s do not fit", v->source->name,
                         v->unfit, v->source->database != NULL ? "pairs" : "cells");
        worst = e == CLI_OK ? worst : e;
    }
    return worst;
}

static enum cli_exit rehearse(struct cli_move_in *m, uint64_t started_ns)
{
    enum cli_exit e = cli_move_in_look(m);
    if (e != CLI_OK)
        return e;
    enum cli_exit room = cli_move_in_check_room(m);
    if (room == CLI_OK || room == CLI_CHECK_FAILED)
        e = cli_move_in_make(m);
    if (e == CLI_OK && (room == CLI_OK || room == CLI_CHECK_FAILED))
        e = cli_move_in_run(m);
    if (e == CLI_OK) {
        print_summary(m, started_ns);
        e = judge(m);
    }
    return room == CLI_OK ? e : room;
}

/* --- a move -----------------------------------------------------------------------------------
 */

static enum cli_exit move(struct cli_move_in *m, uint64_t started_ns)
{
    bool found = false;
    enum cli_exit e = cli_move_load_notes(m, &found);
    if (e == CLI_OK && found && !flag(m, "resume"))
        e = cli_fail(CLI_USAGE,
                     "%s has notes of this move: --resume goes on; without that file it begins "
                     "anew",
                     m->state_path);
    if (e == CLI_OK)
        e = cli_move_in_look(m);
    if (e == CLI_OK && !found)
        e = cli_move_in_check_room(m);
    if (e != CLI_OK)
        return e;
    e = cli_move_in_make(m);
    if (e == CLI_OK)
        e = cli_move_in_run(m);
    if (e != CLI_OK)
        return cli_fail(e, "stopped; to go on: the same command with --resume");
    if (flag(m, "verify"))
        e = cli_move_in_verify(m);
    if (e == CLI_OK)
        e = cli_move_in_rule(m);
    if (e == CLI_OK)
        print_summary(m, started_ns);
    return e;
}

static enum cli_exit name_state(struct cli_move_in *m, char path[BASE_PATH_BYTES])
{
    const char *given = cli_args_value(&m->cli->args, "state");
    int n = snprintf(path, BASE_PATH_BYTES, "%s%s", given != NULL ? given : m->map_path,
                     given != NULL ? "" : ".state");
    m->state_path = path;
    return n > 0 && n < BASE_PATH_BYTES ? CLI_OK
                                        : cli_fail(CLI_USAGE, "the path of the notes is too long");
}

static enum cli_exit name_sources(struct cli_move_in *m)
{
    const struct cli_args *args = &m->cli->args;
    static const char *const others[] = {"from-admin", "from-cacert", "from-key-file"};
    const char *url = cli_args_value(args, "from-service");
    m->from = cli_args_value(args, "from");
    if (url != NULL)
        return cli_service_init(&m->service, url, cli_args_value(args, "from-admin"),
                                cli_args_value(args, "from-cacert"),
                                cli_args_value(args, "from-key-file"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (cli_args_value(args, others[i]) != NULL)
            return cli_fail(CLI_USAGE, "--%s needs --from-service", others[i]);
    return m->from != NULL ? CLI_OK
                           : cli_fail(CLI_USAGE, "move-in needs --from DIR, --from-service URL, or "
                                                 "both; try bigtent help move-in");
}

enum cli_exit cli_move_in_command(struct cli *cli)
{
    char state[BASE_PATH_BYTES];
    uint64_t started_ns = base_monotonic_ns();
    struct cli_move_in m = {
        .cli = cli,
        .map_path = cli->args.words[0],
        .program = cli_args_value(&cli->args, "reader"),
        .writes = !cli_args_flag(&cli->args, "dry-run"),
        .lock_fd = -1,
    };
    if (!m.writes && (flag(&m, "verify") || flag(&m, "resume")))
        return cli_fail(CLI_USAGE, "--dry-run writes nothing: it goes with neither --verify nor "
                                   "--resume");
    enum cli_exit e = name_state(&m, state);
    if (e != CLI_OK)
        return e;
    const char *own_tenant = cli->config.tenant;
    e = name_sources(&m);
    if (e != CLI_OK) {
        cli_service_fini(&m.service);
        return e;
    }
    e = cli_move_in_open(&m);
    if (e == CLI_OK)
        e = m.writes ? move(&m, started_ns) : rehearse(&m, started_ns);
    cli_move_in_fini(&m);
    cli->config.tenant = own_tenant;
    return e;
}
