/* cli/cmd_restore.c - backups and restores of one tenant, and their operations:
 * /v1/admin/tenants/{id}/backups, :restore, /operations. */
#include <stdio.h>
#include <string.h>

#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/interrupt.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "cli/text.h"

#include "base/banned.h"

#define TENANT     "/v1/admin/tenants/{}"
#define OPERATIONS TENANT "/operations"
#define OPERATION  OPERATIONS "/{}"

static const struct cli_field OPERATION_FIELDS[] = {
    {"operation", "id", CLI_FIELD_TEXT, NULL},
    {"kind", "kind", CLI_FIELD_TEXT, NULL},
    {"state", "state", CLI_FIELD_TEXT, NULL},
    {"tenant", "tenant", CLI_FIELD_TEXT, NULL},
    {"backup", "backup", CLI_FIELD_TEXT, NULL},
    {"name", "name", CLI_FIELD_TEXT, NULL},
    {"table", "table", CLI_FIELD_TEXT, NULL},
    {"new table", "new_table", CLI_FIELD_TEXT, NULL},
    {"requested", "requested", CLI_FIELD_TEXT, NULL},
    {"started", "started", CLI_FIELD_TEXT, NULL},
    {"finished", "finished", CLI_FIELD_TEXT, NULL},
    {"rows", "rows", CLI_FIELD_COUNT, NULL},
    {"error", "error", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const struct cli_field OPERATION_COLUMNS[] = {
    {"OPERATION", "id", CLI_FIELD_TEXT, NULL},
    {"KIND", "kind", CLI_FIELD_TEXT, NULL},
    {"STATE", "state", CLI_FIELD_TEXT, NULL},
    {"TABLE", "table", CLI_FIELD_TEXT, NULL},
    {"NEW", "new_table", CLI_FIELD_TEXT, NULL},
    {"STARTED", "started", CLI_FIELD_TEXT, NULL},
    {"FINISHED", "finished", CLI_FIELD_TEXT, NULL},
    {"ERROR", "error", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const struct cli_field LOOK_FIELDS[] = {
    {"tenant", "tenant", CLI_FIELD_TEXT, NULL},
    {"stored bytes", "stored_bytes", CLI_FIELD_BYTES, NULL},
    {"rows", "rows", CLI_FIELD_COUNT, NULL},
    {"replaced", "replaced", CLI_FIELD_NAMES, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

/* --- following -------------------------------------------------------------------------------- */

/* Prints the operation; a failed or cancelled one is a failed check. Takes operation. */
static enum cli_exit show(struct cli *cli, json_t *operation)
{
    const char *state = text_of(operation, "state");
    bool is_bad = strcmp(state, "failed") == 0 || strcmp(state, "cancelled") == 0;
    cli_fields_show(cli, OPERATION_FIELDS, operation);
    return is_bad ? cli_fail(CLI_CHECK_FAILED, "the operation came to no good end") : CLI_OK;
}

static bool is_under_way(const json_t *operation)
{
    const char *state = text_of(operation, "state");
    return strcmp(state, "waiting") == 0 || strcmp(state, "running") == 0;
}

static void draw(const json_t *operation)
{
    const json_t *progress = json_object_get(operation, "progress");
    uint64_t done = (uint64_t)json_integer_value(json_object_get(progress, "done_bytes"));
    struct buf text;
    base_buf_init(&text, 128);
    cli_text_put_bytes(&text, done);
    (void)base_buf_append_text(&text, " done"); /* it fits */
    (void)base_buf_append_byte(&text, '\0');
    if (text.error == ERR_OK)
        cli_progress_draw(done, 0, (const char *)text.ptr);
    base_buf_fini(&text);
}

static enum cli_exit get(struct cli *cli, const char *id, json_t **out)
{
    struct buf target;
    cli_target2(&target, OPERATION, cli->config.tenant, id);
    return cli_http_get(cli->http, &target, out);
}

static enum cli_exit follow(struct cli *cli, const char *id)
{
    uint64_t pause_ms = CLI_JOB_POLL_MIN_MS;
    for (;;) {
        json_t *operation = NULL;
        enum cli_exit e = get(cli, id, &operation);
        if (e == CLI_OK && !is_under_way(operation)) {
            cli_progress_hide();
            return show(cli, operation);
        }
        if (e == CLI_OK)
            draw(operation);
        json_decref(operation);
        if (e == CLI_OK && !cli_sleep_ms(pause_ms))
            e = CLI_INTERRUPTED;
        if (e != CLI_OK) {
            cli_progress_hide();
            cli_say("the server goes on with it; look with: bigtent backup operations %s "
                    "--tenant %s",
                    id, cli->config.tenant);
            return e;
        }
        pause_ms = pause_ms * 3 / 2;
        if (pause_ms > CLI_JOB_POLL_MAX_MS)
            pause_ms = CLI_JOB_POLL_MAX_MS;
    }
}

/* Prints the answer to the request that started the operation, or follows it. Takes operation. */
static enum cli_exit began(struct cli *cli, json_t *operation)
{
    char id[32];
    if (!cli_args_flag(&cli->args, "wait")) {
        cli_fields_show(cli, OPERATION_FIELDS, operation);
        return CLI_OK;
    }
    (void)snprintf(id, sizeof id, "%s", text_of(operation, "id")); /* truncated: not found */
    json_decref(operation);
    return follow(cli, id);
}

/* --- commands --------------------------------------------------------------------------------- */

enum cli_exit cli_restore_begin_backup(struct cli *cli, json_t *body)
{
    struct buf target;
    json_t *operation = NULL;
    const char *table = cli_args_value(&cli->args, "table");
    const char *name = cli_args_value(&cli->args, "name");
    if (table != NULL)
        (void)json_object_set_new(body, "table", json_string(table)); /* ASCII, or refused */
    if (name != NULL)
        (void)json_object_set_new(body, "name", json_string(name));
    cli_target1(&target, TENANT "/backups", cli->config.tenant);
    enum cli_exit e = cli_http_send(cli->http, "POST", &target, body, false, &operation);
    return e == CLI_OK ? began(cli, operation) : e;
}

static enum cli_exit check_words(struct cli *cli)
{
    const char *table = cli_args_value(&cli->args, "table");
    const char *to = cli_args_value(&cli->args, "to");
    const char *confirm = cli_args_value(&cli->args, "confirm");
    bool is_dry = cli_args_flag(&cli->args, "dry-run");
    if ((table == NULL) != (to == NULL))
        return cli_fail(CLI_USAGE, "--table and --to go together: a table is restored into a new "
                                   "one");
    if (table != NULL && (is_dry || confirm != NULL))
        return cli_fail(CLI_USAGE, "--dry-run and --confirm are for a whole tenant");
    if (table == NULL && !is_dry && (confirm == NULL || strcmp(confirm, cli->config.tenant) != 0))
        return cli_fail(CLI_USAGE,
                        "--confirm must repeat the tenant's ID: all tables of \"%s\" are replaced",
                        cli->config.tenant);
    return CLI_OK;
}

enum cli_exit cli_backup_restore(struct cli *cli)
{
    struct buf target;
    json_t *answer = NULL;
    bool is_dry = cli_args_flag(&cli->args, "dry-run");
    enum cli_exit e = check_words(cli);
    if (e != CLI_OK)
        return e;
    json_t *body = json_pack("{s:s, s:s*, s:s*, s:s*}", "backup", cli->args.words[0], "table",
                             cli_args_value(&cli->args, "table"), "new_table",
                             cli_args_value(&cli->args, "to"), "confirm",
                             cli_args_value(&cli->args, "confirm"));
    if (body == NULL)
        return cli_fail(CLI_USAGE, "IDs and names are ASCII");
    if (is_dry)
        (void)json_object_set_new(body, "dry_run", json_true());
    cli_target1(&target, TENANT ":restore", cli->config.tenant);
    e = cli_http_send(cli->http, "POST", &target, body, false, &answer);
    if (e == CLI_OK && is_dry)
        cli_fields_show(cli, LOOK_FIELDS, answer);
    return e == CLI_OK && !is_dry ? began(cli, answer) : e;
}

enum cli_exit cli_backup_operations(struct cli *cli)
{
    struct buf target;
    json_t *operation = NULL;
    if (cli->args.word_count > 0) {
        enum cli_exit e = get(cli, cli->args.words[0], &operation);
        return e == CLI_OK ? show(cli, operation) : e;
    }
    cli_target1(&target, OPERATIONS, cli->config.tenant);
    return cli_fields_list(cli, OPERATION_COLUMNS, &target, "operations");
}
