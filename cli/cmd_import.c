/* cli/cmd_import.c - import: parses options, runs the stages, prints a summary. */
#include "base/clock.h"
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/import.h"
#include "cli/out.h"

#include "base/banned.h"

static bool flag(const struct cli_import *m, const char *name)
{
    return cli_args_flag(&m->cli->args, name);
}

static void print_summary(const struct cli_import *m, uint64_t started_ns)
{
    static const struct cli_field fields[] = {
        {"tables", "tables", CLI_FIELD_COUNT, NULL},
        {"files", "files", CLI_FIELD_COUNT, NULL},
        {"rows", "rows", CLI_FIELD_COUNT, NULL},
        {"cells", "cells", CLI_FIELD_COUNT, NULL},
        {"bytes", "bytes", CLI_FIELD_BYTES, NULL},
        {"written", "written", CLI_FIELD_TEXT, NULL},
        {"verified", "verified", CLI_FIELD_TEXT, NULL},
        {"ms", "ms", CLI_FIELD_COUNT, NULL},
        {NULL, NULL, CLI_FIELD_TEXT, NULL},
    };
    struct cli_content all = {0};
    size_t files = 0;
    for (size_t i = 0; i < m->table_count; i++) {
        cli_content_merge(&all, &m->tables[i].source->content);
        files += m->tables[i].source->file_count;
    }
    cli_fields_show(m->cli, fields,
                    json_pack("{s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:I}", "tables",
                              (json_int_t)m->table_count, "files", (json_int_t)files, "rows",
                              (json_int_t)all.rows, "cells", (json_int_t)all.cells, "bytes",
                              (json_int_t)all.bytes, "written", !flag(m, "dry-run"), "verified",
                              flag(m, "verify"), "ms",
                              (json_int_t)((base_monotonic_ns() - started_ns) / 1000000)));
}

/* Runs the stages. The server is checked first, so that a missing table is
 * reported before hours of hashing. */
static enum cli_exit import(struct cli_import *m)
{
    enum cli_exit e = cli_import_look(m, flag(m, "create"));
    if (e == CLI_OK && flag(m, "resume"))
        e = cli_import_load_state(m);
    if (e == CLI_OK)
        e = cli_import_check(m);
    if (e == CLI_OK)
        e = cli_import_make(m);
    if (e != CLI_OK)
        return e;
    e = cli_import_save_state(m);
    if (e == CLI_OK)
        e = cli_import_run(m);
    if (e != CLI_OK)
        return cli_fail(e, "stopped; to go on: the same command with --resume");
    cli_import_drop_state(m);
    return flag(m, "verify") ? cli_import_verify(m) : CLI_OK;
}

static enum cli_exit rehearse(struct cli_import *m)
{
    enum cli_exit e = cli_import_check(m);
    return e == CLI_OK ? cli_import_rehearse(m) : e;
}

static enum cli_exit check_options(const struct cli *cli)
{
    if (cli_args_value(&cli->args, "into") != NULL && cli_args_value(&cli->args, "table") == NULL)
        return cli_fail(CLI_USAGE, "--into needs --table: which one goes there");
    if (cli_args_flag(&cli->args, "dry-run") && cli_args_flag(&cli->args, "verify"))
        return cli_fail(CLI_USAGE, "--dry-run writes nothing that --verify could read");
    return CLI_OK;
}

enum cli_exit cli_import_command(struct cli *cli)
{
    struct cli_import m;
    uint64_t started_ns = base_monotonic_ns();
    enum cli_exit e = check_options(cli);
    if (e != CLI_OK)
        return e;
    e = cli_import_open(&m, cli, cli->args.words[0], cli_args_value(&cli->args, "table"),
                        cli_args_value(&cli->args, "into"));
    m.state_path = cli_args_value(&cli->args, "state");
    if (e == CLI_OK)
        e = flag(&m, "dry-run") ? rehearse(&m) : import(&m);
    if (e == CLI_OK)
        print_summary(&m, started_ns);
    cli_import_fini(&m);
    return e;
}
