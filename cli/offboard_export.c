/*
 * cli/offboard_export.c - suspend, export, verify, check again; see offboard_export.h.
 *
 * 1. The server answers the suspension when no write is in flight. A later read therefore returns
 *    all rows, provided that the suspension lasts: same state, since the same time.
 */
#include "cli/offboard_export.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "cli/export.h"
#include "cli/http.h"
#include "cli/import.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/target.h"

#include "base/banned.h"

#define TENANT "/v1/admin/tenants/{}"
#define REASON "its data is exported, then it is deleted"

struct leaving {
    struct cli *cli; /* with the operator's key */
    struct cli data; /* with a key that may read */
    const char *tenant;
    const char *dir;
    char since[BASE_TIME_TEXT]; /* time of the suspension of writes */
};

/* --- suspension of writes ---------------------------------------------------------------------
 */

static enum cli_exit get(const struct leaving *l, json_t **out)
{
    struct buf target;
    cli_target1(&target, TENANT, l->tenant);
    return cli_http_get(l->cli->http, &target, out);
}

static bool is_read_only(const json_t *doc)
{
    return strcmp(cli_json_text_at(doc, "state"), "suspended") == 0 &&
           strcmp(cli_json_text_at(doc, "suspended"), "writes") == 0;
}

static enum cli_exit check_may(const struct leaving *l, const json_t *doc, bool has_grace)
{
    const char *state = cli_json_text_at(doc, "state");
    if (!has_grace && json_is_object(json_object_get(doc, "hold")))
        return cli_fail(CLI_REFUSED, "the tenant %s is under legal hold and cannot be deleted now",
                        l->tenant);
    if (strcmp(state, "active") == 0 || is_read_only(doc))
        return CLI_OK;
    const char *job = cli_json_text_at(doc, "job");
    if (job[0] != '\0')
        return cli_fail(
            CLI_REFUSED,
            "the tenant %s is %s: nothing of it can be read. Its deletion was requested "
            "before: bigtent job show %s --wait",
            l->tenant, state, job);
    return cli_fail(CLI_REFUSED, "the tenant %s is %s: nothing of it can be read", l->tenant,
                    state);
}

/* Suspends writes, also of a tenant that is suspended already, with the same reason: the answer
 * arrives when no write is in flight. */
static enum cli_exit stop_writes(struct leaving *l, bool has_grace)
{
    struct buf target;
    json_t *doc = NULL;
    enum cli_exit e = get(l, &doc);
    if (e == CLI_OK)
        e = check_may(l, doc, has_grace);
    const char *reason = is_read_only(doc) ? cli_json_text_at(doc, "reason") : REASON;
    json_t *body = json_pack("{s:s, s:s}", "reason", reason, "access", "writes");
    json_decref(doc);
    doc = NULL;
    if (e != CLI_OK) {
        json_decref(body);
        return e;
    }
    cli_target1(&target, TENANT ":suspend", l->tenant);
    e = cli_http_send(l->cli->http, "POST", &target, body, true, &doc);
    if (e == CLI_OK)
        (void)snprintf(l->since, sizeof l->since, "%s", cli_json_text_at(doc, "state_since"));
    json_decref(doc);
    return e;
}

static enum cli_exit check_still_stopped(const struct leaving *l)
{
    json_t *doc = NULL;
    enum cli_exit e = get(l, &doc);
    if (e == CLI_OK &&
        (!is_read_only(doc) || strcmp(cli_json_text_at(doc, "state_since"), l->since) != 0))
        e = cli_fail(CLI_CHECK_FAILED,
                     "writes of the tenant %s went on while it was exported; nothing is deleted",
                     l->tenant);
    json_decref(doc);
    return e;
}

/* --- files ------------------------------------------------------------------------------------
 */

static enum cli_exit export(struct leaving *l) {
    struct cli_export x; enum cli_exit e = cli_export_open(&x, &l->data, l->dir, false);
    x.rows_per_file = CLI_TRANSFER_FILE_ROWS;
    x.manifest.packed = true;
    if (e == CLI_OK) e = cli_export_plan(&x, NULL, 0);
    if (e == CLI_OK) e = cli_export_run(&x);
    cli_export_fini(&x);
    return e;
}

static enum cli_exit read_back(struct leaving *l)
{
    struct cli_import m;
    enum cli_exit e = cli_import_open(&m, &l->data, l->dir, NULL, NULL);
    if (e == CLI_OK)
        e = cli_import_check(&m);
    uint64_t rows = 0;
    for (size_t i = 0; e == CLI_OK && i < m.table_count; i++)
        rows += m.tables[i].source->content.rows;
    if (e == CLI_OK)
        cli_say("exported %" PRIu64 " rows of %zu tables to %s", rows, m.table_count, l->dir);
    cli_import_fini(&m);
    return e;
}

/* --- all of it --------------------------------------------------------------------------------
 */

static enum cli_exit open_data(struct leaving *l, const char *key_file)
{
    struct cli_config *config = &l->data.config;
    *config = l->cli->config;
    config->url = base_new_text(config->url, strlen(config->url));
    config->key = NULL;
    config->tenant = l->tenant;
    enum cli_exit e = cli_config_read_key(key_file, config);
    return e == CLI_OK ? cli_http_open(config, &l->data.http) : e;
}

static enum cli_exit run(struct leaving *l, bool has_grace)
{
    enum cli_exit e = stop_writes(l, has_grace);
    if (e != CLI_OK)
        return e;
    e = export(l);
    if (e == CLI_OK)
        e = read_back(l);
    if (e == CLI_OK)
        e = check_still_stopped(l);
    if (e != CLI_OK)
        cli_say("nothing is deleted, and the tenant's writes stay suspended: either go on with "
                "bigtent export %s --resume, and delete it then, or bigtent tenant resume %s",
                l->dir, l->tenant);
    return e;
}

enum cli_exit cli_offboard_export(struct cli *cli, const char *tenant, const char *dir,
                                  const char *key_file, bool has_grace)
{
    struct leaving l = {.cli = cli, .tenant = tenant, .dir = dir};
    enum cli_exit e = open_data(&l, key_file);
    if (e == CLI_OK)
        e = run(&l, has_grace);
    cli_http_close(l.data.http);
    cli_config_fini(&l.data.config);
    return e;
}
