/* cli/reads.c - see reads.h. */
#include "cli/reads.h"

#include <stdio.h>

#include "base/text.h"
#include "cli/json_text.h"
#include "cli/millis.h"
#include "cli/out.h"
#include "cli/target.h"

#include "base/banned.h"

/* The server's names. */
static const char *const COLUMNS[] = {"family", "column", "versions", "since", "until"};
static const char *const FORMS[] = {"form", "values"};
#define FORMS_COUNT   (sizeof FORMS / sizeof FORMS[0])
#define COLUMNS_COUNT (sizeof COLUMNS / sizeof COLUMNS[0])
#define SINCE         3 /* index; this column and the next are times */

bool cli_reads_filtered(const struct cli *cli)
{
    return cli_args_value(&cli->args, "filter") != NULL;
}

static void warn_of_millis(const char *option, const char *value)
{
    char where[16];
    int64_t micros = 0;
    (void)snprintf(where, sizeof where, "--%s", option); /* fits */
    if (base_parse_i64(base_slice_text(value), &micros) == ERR_OK && cli_millis_suspected(micros))
        cli_millis_warn(where, micros);
}

enum cli_exit cli_reads_check(const struct cli *cli)
{
    for (size_t i = 0; i < FORMS_COUNT; i++)
        if (cli_args_value(&cli->args, FORMS[i]) != NULL && !cli->config.json)
            return cli_fail(CLI_USAGE, "--%s says what --json shows: give --json as well",
                            FORMS[i]);
    return CLI_OK;
}

void cli_reads_query(const struct cli *cli, struct buf *target)
{
    for (size_t i = 0; i < FORMS_COUNT; i++)
        cli_target_query(target, FORMS[i], cli_args_value(&cli->args, FORMS[i]));
    for (size_t i = 0; i < COLUMNS_COUNT; i++) {
        const char *value = cli_args_value(&cli->args, COLUMNS[i]);
        cli_target_query(target, COLUMNS[i], value);
        if (i >= SINCE && value != NULL)
            warn_of_millis(COLUMNS[i], value);
    }
}

enum cli_exit cli_reads_filter(const struct cli *cli, const char *name, json_t *body)
{
    const char *text = cli_args_value(&cli->args, "filter");
    if (text == NULL)
        return CLI_OK;
    for (size_t i = 0; i < COLUMNS_COUNT; i++) {
        if (cli_args_value(&cli->args, COLUMNS[i]) != NULL)
            return cli_fail(CLI_USAGE, "--filter and --%s exclude each other: say it in the filter",
                            COLUMNS[i]);
    }
    json_t *filter = cli_json_parse(base_slice_text(text));
    if (filter == NULL || json_object_set_new(body, name, filter) != 0)
        return cli_fail(CLI_USAGE, "--filter is not JSON; for example {\"value_regex\":\"17\"}");
    return CLI_OK;
}

enum cli_exit cli_reads_forms(const struct cli *cli, json_t *body)
{
    for (size_t i = 0; i < FORMS_COUNT; i++) {
        const char *value = cli_args_value(&cli->args, FORMS[i]);
        if (value != NULL && json_object_set_new(body, FORMS[i], json_string(value)) != 0)
            return cli_fail(CLI_USAGE, "--%s is not UTF-8 text", FORMS[i]);
    }
    return CLI_OK;
}
