/* cli/cmd_backup.c - backups: /v1/admin/backups. */
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

#define BACKUPS "/v1/admin/backups"
#define BACKUP  BACKUPS "/{}"

static const struct cli_field BACKUP_FIELDS[] = {
    {"backup", "id", CLI_FIELD_TEXT, NULL},
    {"state", "state", CLI_FIELD_TEXT, NULL},
    {"created", "created", CLI_FIELD_TEXT, NULL},
    {"expires", "expires", CLI_FIELD_TEXT, NULL},
    {"note", "note", CLI_FIELD_TEXT, NULL},
    {"tenant", "tenant", CLI_FIELD_TEXT, NULL},
    {"table", "table", CLI_FIELD_TEXT, NULL},
    {"name", "name", CLI_FIELD_TEXT, NULL},
    {"tables", "tables", CLI_FIELD_COUNT, NULL},
    {"size", "bytes", CLI_FIELD_BYTES, NULL},
    {"new", "new_bytes", CLI_FIELD_BYTES, NULL},
    {"files", "files", CLI_FIELD_COUNT, NULL},
    {"tenants", "tenants", CLI_FIELD_COUNT, NULL},
    {"keys of rows", "keys.cells", CLI_FIELD_COUNT, NULL},
    {"keys of changes", "keys.changes", CLI_FIELD_COUNT, NULL},
    {"documents", "keys.meta", CLI_FIELD_COUNT, NULL},
    {"sequence", "sequence", CLI_FIELD_COUNT, NULL},
    {"made by", "software", CLI_FIELD_TEXT, NULL},
    {"rocksdb", "rocksdb", CLI_FIELD_TEXT, NULL},
    {"verified", "verified.state", CLI_FIELD_TEXT, NULL},
    {"verified at", "verified.finished", CLI_FIELD_TEXT, NULL},
    {"found", "verified.error", CLI_FIELD_TEXT, NULL},
    {"error", "error", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const struct cli_field BACKUP_COLUMNS[] = {
    {"BACKUP", "id", CLI_FIELD_TEXT, NULL},
    {"STATE", "state", CLI_FIELD_TEXT, NULL},
    {"CREATED", "created", CLI_FIELD_TEXT, NULL},
    {"EXPIRES", "expires", CLI_FIELD_TEXT, NULL},
    {"SIZE", "bytes", CLI_FIELD_BYTES, NULL},
    {"NEW", "new_bytes", CLI_FIELD_BYTES, NULL},
    {"TENANTS", "tenants", CLI_FIELD_COUNT, NULL},
    {"VERIFIED", "verified.state", CLI_FIELD_TEXT, NULL},
    {"NOTE", "note", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const struct cli_field TENANT_COLUMNS[] = {
    {"BACKUP", "id", CLI_FIELD_TEXT, NULL},       {"NAME", "name", CLI_FIELD_TEXT, NULL},
    {"TABLE", "table", CLI_FIELD_TEXT, NULL},     {"STATE", "state", CLI_FIELD_TEXT, NULL},
    {"CREATED", "created", CLI_FIELD_TEXT, NULL}, {"EXPIRES", "expires", CLI_FIELD_TEXT, NULL},
    {"SIZE", "bytes", CLI_FIELD_BYTES, NULL},     {"NEW", "new_bytes", CLI_FIELD_BYTES, NULL},
    {"NOTE", "note", CLI_FIELD_TEXT, NULL},       {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static enum cli_exit get_backup(struct cli *cli, const char *id, json_t **out)
{
    struct buf target;
    cli_target1(&target, BACKUP, id);
    return cli_http_get(cli->http, &target, out);
}

/* Returns the backup's state, or its verification's. */
static const char *state_of(const json_t *backup, bool of_verifying)
{
    const json_t *at = of_verifying ? json_object_get(backup, "verified") : backup;
    const char *state = json_string_value(json_object_get(at, "state"));
    return state == NULL ? "" : state;
}

/* Prints the backup; a failed one is a failed check. Takes backup. */
static enum cli_exit show(struct cli *cli, json_t *backup)
{
    bool is_bad = strcmp(state_of(backup, false), "failed") == 0 ||
                  strcmp(state_of(backup, false), "damaged") == 0;
    bool is_found = strcmp(state_of(backup, true), "failed") == 0;
    cli_fields_show(cli, BACKUP_FIELDS, backup);
    if (is_bad || is_found)
        return cli_fail(CLI_CHECK_FAILED,
                        is_bad ? "there is no such good backup" : "the backup is damaged");
    return CLI_OK;
}

static void draw(const json_t *backup, bool of_verifying)
{
    const json_t *at = of_verifying ? json_object_get(backup, "verified") : backup;
    const json_t *progress = json_object_get(at, "progress");
    uint64_t done = (uint64_t)json_integer_value(json_object_get(progress, "done_bytes"));
    uint64_t all = (uint64_t)json_integer_value(json_object_get(progress, "all_bytes"));
    struct buf text;
    base_buf_init(&text, 128);
    cli_text_put_bytes(&text, done);
    (void)base_buf_append_text(&text, of_verifying ? " read" : " copied"); /* it fits */
    (void)base_buf_append_byte(&text, '\0');
    if (text.error == ERR_OK)
        cli_progress_draw(done, all, (const char *)text.ptr);
    base_buf_fini(&text);
}

/* Follows the job to its end with a bar over its bytes, then prints the result. */
static enum cli_exit follow(struct cli *cli, const char *id, bool of_verifying)
{
    const char *under_way = of_verifying ? "running" : "creating";
    uint64_t pause_ms = CLI_JOB_POLL_MIN_MS;
    for (;;) {
        json_t *backup = NULL;
        enum cli_exit e = get_backup(cli, id, &backup);
        if (e == CLI_OK && strcmp(state_of(backup, of_verifying), under_way) != 0) {
            cli_progress_hide();
            return show(cli, backup);
        }
        if (e == CLI_OK)
            draw(backup, of_verifying);
        json_decref(backup);
        if (e == CLI_OK && !cli_sleep_ms(pause_ms))
            e = CLI_INTERRUPTED;
        if (e != CLI_OK) {
            cli_progress_hide();
            cli_say("the server goes on with it; look with: bigtent backup get %s", id);
            return e;
        }
        pause_ms = pause_ms * 3 / 2;
        if (pause_ms > CLI_JOB_POLL_MAX_MS)
            pause_ms = CLI_JOB_POLL_MAX_MS;
    }
}

/* Prints the answer to the request that started the job, or follows the job. Takes backup. */
static enum cli_exit began(struct cli *cli, json_t *backup, bool of_verifying)
{
    char id[32];
    if (!cli_args_flag(&cli->args, "wait")) {
        cli_fields_show(cli, BACKUP_FIELDS, backup);
        return CLI_OK;
    }
    const char *text = json_string_value(json_object_get(backup, "id"));
    (void)snprintf(id, sizeof id, "%s", text == NULL ? "" : text); /* truncated: not found */
    json_decref(backup);
    return follow(cli, id, of_verifying);
}

enum cli_exit cli_backup_create(struct cli *cli)
{
    struct buf target;
    uint64_t seconds = 0;
    json_t *backup = NULL;
    const char *keep = cli_args_value(&cli->args, "keep");
    bool is_for_ever = keep != NULL && strcmp(keep, "ever") == 0;
    bool is_scoped =
        cli_args_value(&cli->args, "table") != NULL || cli_args_value(&cli->args, "name") != NULL;
    if (is_scoped && cli->config.tenant == NULL)
        return cli_fail(CLI_USAGE, "--table and --name need --tenant ID");
    if (keep != NULL && !is_for_ever && !cli_text_parse_seconds(keep, &seconds))
        return cli_fail(CLI_USAGE, "--keep must be a time such as 12h or 7d, or ever");
    json_t *body = json_pack("{s:s*}", "note", cli_args_value(&cli->args, "note"));
    if (body == NULL)
        return cli_fail(CLI_USAGE, "the note must be UTF-8 text");
    if (keep != NULL)
        (void)json_object_set_new(body, "keep_seconds", json_integer((json_int_t)seconds));
    if (cli->config.tenant != NULL)
        return cli_restore_begin_backup(cli, body);
    cli_target1(&target, BACKUPS, NULL);
    enum cli_exit e = cli_http_send(cli->http, "POST", &target, body, false, &backup);
    return e == CLI_OK ? began(cli, backup, false) : e;
}

enum cli_exit cli_backup_list(struct cli *cli)
{
    struct buf target;
    bool is_scoped = cli->config.tenant != NULL;
    cli_target1(&target, is_scoped ? "/v1/admin/tenants/{}/backups" : BACKUPS, cli->config.tenant);
    return cli_fields_list(cli, is_scoped ? TENANT_COLUMNS : BACKUP_COLUMNS, &target, "backups");
}

enum cli_exit cli_backup_get(struct cli *cli)
{
    json_t *backup = NULL;
    enum cli_exit e = get_backup(cli, cli->args.words[0], &backup);
    return e == CLI_OK ? show(cli, backup) : e;
}

enum cli_exit cli_backup_verify(struct cli *cli)
{
    struct buf target;
    json_t *backup = NULL;
    cli_target1(&target, BACKUP ":verify", cli->args.words[0]);
    enum cli_exit e = cli_http_send(cli->http, "POST", &target, json_object(), false, &backup);
    return e == CLI_OK ? began(cli, backup, true) : e;
}

enum cli_exit cli_backup_delete(struct cli *cli)
{
    struct buf target;
    json_t *answer = NULL;
    cli_target1(&target, BACKUP, cli->args.words[0]);
    enum cli_exit e = cli_http_send(cli->http, "DELETE", &target, NULL, true, &answer);
    json_decref(answer);
    if (e == CLI_OK && cli_out_is_terminal() && !cli->config.json)
        cli_out_printf("backup %s is deleted\n", cli->args.words[0]);
    return e;
}
