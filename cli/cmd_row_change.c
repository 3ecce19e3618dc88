/* cli/cmd_row_change.c - changes of a row other than put and set: :mutate, :modify, :check. */
#include "cli/cells.h"
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/mutations.h"
#include "cli/out.h"
#include "cli/reads.h"
#include "cli/row_numbers.h"

#include "base/banned.h"

#define ROW "/v1/tables/{}/rows/{}"

/* Sends a change without retries after a lost answer, because none of these is idempotent.
 * Takes body. */
static enum cli_exit post(struct cli *cli, const char *pattern, json_t *body, json_t **out)
{
    struct buf target;
    enum cli_exit e = cli_row_numbers(cli, cli->args.words[0], body);
    if (e == CLI_OK)
        e = cli_row_target(cli, pattern, &target);
    if (e == CLI_OK)
        return cli_http_send(cli->http, "POST", &target, body, false, out);
    json_decref(body);
    return e;
}

/* Converts the words after table and key to a list. */
static enum cli_exit list_of_words(const struct cli *cli,
                                   enum cli_exit (*take)(const char *word, json_t *list),
                                   json_t **out)
{
    json_t *list = json_array();
    enum cli_exit e = CLI_OK;
    for (size_t i = 2; e == CLI_OK && i < cli->args.word_count; i++)
        e = take(cli->args.words[i], list);
    if (e == CLI_OK)
        *out = list;
    else
        json_decref(list);
    return e;
}

enum cli_exit cli_row_mutate(struct cli *cli)
{
    static const struct cli_field fields[] = {
        {"timestamp", "timestamp", CLI_FIELD_MICROS, NULL},
        {NULL, NULL, CLI_FIELD_TEXT, NULL},
    };
    json_t *list = NULL;
    json_t *answer = NULL;
    enum cli_exit e = list_of_words(cli, cli_mutation_from_word, &list);
    if (e == CLI_OK)
        e = post(cli, ROW ":mutate", json_pack("{s:o}", "mutations", list), &answer);
    if (e == CLI_OK)
        cli_fields_show(cli, fields, answer);
    return e;
}

enum cli_exit cli_row_modify(struct cli *cli)
{
    json_t *list = NULL;
    json_t *row = NULL;
    enum cli_exit e = list_of_words(cli, cli_rule_from_word, &list);
    if (e == CLI_OK)
        e = post(cli, ROW ":modify", json_pack("{s:o}", "rules", list), &row);
    if (e == CLI_OK)
        e = cli_cells_show(cli->config.json, row);
    json_decref(row);
    return e;
}

/* --- check ------------------------------------------------------------------------------------
 */

/* Adds every --name of the command line to body as a list. */
static enum cli_exit take_list(const struct cli *cli, const char *name, json_t *body)
{
    json_t *list = json_array();
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; e == CLI_OK && i < cli->args.given_count; i++) {
        const struct cli_given *given = &cli->args.given[i];
        if (strcmp(given->option->name, name) == 0)
            e = cli_mutation_from_word(given->value, list);
    }
    if (json_object_set_new(body, name, list) != 0 && e == CLI_OK)
        e = cli_fail(CLI_USAGE, "the changes do not fit into a request");
    return e;
}

enum cli_exit cli_row_check(struct cli *cli)
{
    static const struct cli_field fields[] = {
        {"matched", "matched", CLI_FIELD_TEXT, NULL},
        {"timestamp", "timestamp", CLI_FIELD_MICROS, NULL},
        {NULL, NULL, CLI_FIELD_TEXT, NULL},
    };
    json_t *answer = NULL;
    if (cli_args_value(&cli->args, "then") == NULL && cli_args_value(&cli->args, "else") == NULL)
        return cli_fail(CLI_USAGE, "say what to do: --then CHANGE, --else CHANGE, or both");
    json_t *body = json_object();
    enum cli_exit e = cli_reads_filter(cli, "predicate", body);
    if (e == CLI_OK)
        e = take_list(cli, "then", body);
    if (e == CLI_OK)
        e = take_list(cli, "else", body);
    if (e == CLI_OK)
        e = post(cli, ROW ":check", body, &answer);
    else
        json_decref(body);
    if (e == CLI_OK)
        cli_fields_show(cli, fields, answer);
    return e;
}
