/* cli/cmd_export.c - export: parses options, prints a summary; export.c does the work. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/export.h"
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/out.h"

#include "base/banned.h"

static const char *option(const struct cli *cli, const char *name)
{
    return cli_args_value(&cli->args, name);
}

static enum cli_exit take_rows_per_file(const struct cli *cli, uint64_t *out)
{
    const char *text = option(cli, "rows-per-file");
    *out = CLI_TRANSFER_FILE_ROWS;
    if (text != NULL && (base_parse_u64(base_slice_text(text), out) != ERR_OK || *out == 0))
        return cli_fail(CLI_USAGE, "--rows-per-file takes a number of rows, at least 1");
    return CLI_OK;
}

/* Returns the first key after all keys with prefix; empty: there is none. */
static struct slice behind_prefix(struct slice prefix)
{
    size_t len = prefix.len;
    while (len > 0 && prefix.ptr[len - 1] == 0xFF)
        len--;
    struct slice end = cli_slice_copy(base_slice(prefix.ptr, len));
    if (len > 0)
        ((uint8_t *)(uintptr_t)end.ptr)[len - 1]++;
    return end;
}

static enum cli_exit take_rows(const struct cli *cli, struct cli_manifest *m)
{
    const char *prefix = option(cli, "prefix");
    const char *start = option(cli, "start");
    const char *end = option(cli, "end");
    if (prefix != NULL && (start != NULL || end != NULL))
        return cli_fail(CLI_USAGE, "--prefix and --start/--end exclude each other");
    struct slice from = base_slice_text(prefix != NULL ? prefix : start != NULL ? start : "");
    struct slice to = base_slice_text(end != NULL ? end : "");
    if (from.len > LIM_ROW_KEY || to.len > LIM_ROW_KEY)
        return cli_fail(CLI_USAGE, "a row key has at most %d bytes", LIM_ROW_KEY);
    if (to.len > 0 && base_slice_compare(from, to) >= 0)
        return cli_fail(CLI_USAGE, "--start must be less than --end");
    m->start = cli_slice_copy(from);
    m->end = prefix != NULL ? behind_prefix(from) : cli_slice_copy(to);
    return CLI_OK;
}

static bool is_choice(const struct cli *cli, const char *name, const char *word)
{
    const char *value = option(cli, name);
    return value != NULL && strcmp(value, word) == 0;
}

static enum cli_exit take_choices(const struct cli *cli, struct cli_manifest *m)
{
    m->encoding = is_choice(cli, "format", "csv") ? CLI_CSV : CLI_NDJSON;
    m->packed = !is_choice(cli, "compress", "none");
    if (option(cli, "format") != NULL && m->encoding != CLI_CSV &&
        !is_choice(cli, "format", "ndjson"))
        return cli_fail(CLI_USAGE, "--format is ndjson or csv");
    if (option(cli, "compress") != NULL && m->packed && !is_choice(cli, "compress", "zstd"))
        return cli_fail(CLI_USAGE, "--compress is zstd or none");
    return take_rows(cli, m);
}

static enum cli_exit check_resume(const struct cli *cli)
{
    static const char *const fixed[] = {"table", "prefix", "start", "end", "format", "compress"};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        if (option(cli, fixed[i]) != NULL)
            return cli_fail(CLI_USAGE, "--%s was settled when the export began", fixed[i]);
    }
    return CLI_OK;
}

static enum cli_exit plan(struct cli_export *x)
{
    const struct cli *cli = x->cli;
    const char **tables = base_new_array(cli->args.given_count + 1, sizeof *tables);
    size_t count = 0;
    for (size_t i = 0; i < cli->args.given_count; i++) {
        if (strcmp(cli->args.given[i].option->name, "table") == 0)
            tables[count++] = cli->args.given[i].value;
    }
    enum cli_exit e = take_choices(cli, &x->manifest);
    if (e == CLI_OK)
        e = cli_export_plan(x, tables, count);
    base_free(tables);
    return e;
}

static void print_summary(const struct cli_export *x)
{
    static const struct cli_field fields[] = {
        {"tables", "tables", CLI_FIELD_COUNT, NULL}, {"files", "files", CLI_FIELD_COUNT, NULL},
        {"rows", "rows", CLI_FIELD_COUNT, NULL},     {"cells", "cells", CLI_FIELD_COUNT, NULL},
        {"bytes", "bytes", CLI_FIELD_BYTES, NULL},   {"size", "size", CLI_FIELD_BYTES, NULL},
        {"ms", "ms", CLI_FIELD_COUNT, NULL},         {NULL, NULL, CLI_FIELD_TEXT, NULL},
    };
    const struct cli_manifest *m = &x->manifest;
    struct cli_content all = {0};
    uint64_t files = 0;
    uint64_t size = 0;
    for (size_t i = 0; i < m->table_count; i++) {
        cli_content_merge(&all, &m->tables[i].content);
        files += m->tables[i].file_count;
        for (size_t j = 0; j < m->tables[i].file_count; j++)
            size += m->tables[i].files[j].stored_bytes;
    }
    cli_fields_show(x->cli, fields,
                    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "tables",
                              (json_int_t)m->table_count, "files", (json_int_t)files, "rows",
                              (json_int_t)all.rows, "cells", (json_int_t)all.cells, "bytes",
                              (json_int_t)all.bytes, "size", (json_int_t)size, "ms",
                              (json_int_t)((base_monotonic_ns() - x->started_ns) / 1000000)));
}

static void say_where(const struct cli_export *x)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < x->manifest.table_count; i++)
        rows += x->manifest.tables[i].content.rows;
    cli_say("stopped: %" PRIu64 " rows are in whole files; to go on: bigtent export %s --resume",
            rows, x->dir);
}

enum cli_exit cli_export_command(struct cli *cli)
{
    struct cli_export x;
    bool resume = cli_args_flag(&cli->args, "resume");
    uint64_t rows_per_file = 0;
    enum cli_exit e = resume ? check_resume(cli) : CLI_OK;
    if (e == CLI_OK)
        e = take_rows_per_file(cli, &rows_per_file);
    if (e != CLI_OK)
        return e;
    e = cli_export_open(&x, cli, cli->args.words[0], resume);
    x.rows_per_file = rows_per_file;
    if (e == CLI_OK)
        e = resume ? cli_export_resume(&x) : plan(&x);
    if (e == CLI_OK && !x.manifest.complete) {
        e = cli_export_run(&x);
        if (e != CLI_OK)
            say_where(&x);
    }
    if (e == CLI_OK)
        print_summary(&x);
    cli_export_fini(&x);
    return e;
}
