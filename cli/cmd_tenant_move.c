/* cli/cmd_tenant_move.c - tenant move: opens two servers with four keys, prints the result. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/names.h"
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/out.h"
#include "cli/tenant_move.h"

#include "base/banned.h"

#define NS_PER_MS 1000000U

static const char *value(const struct cli_tenant_move *m, const char *name)
{
    return cli_args_value(&m->cli->args, name);
}

/* --- sides ------------------------------------------------------------------------------------
 */

/* Opens one connection; config gets a copy of url. */
static enum cli_exit open_one(struct cli_config *config, const struct cli_config *like,
                              const char *url, const char *key_file, struct cli_http **out)
{
    *config = *like;
    config->url = base_new_text(url, strlen(url));
    config->key = NULL;
    config->tenant = NULL;
    enum cli_exit e = cli_config_read_key(key_file, config);
    return e == CLI_OK ? cli_http_open(config, out) : e;
}

static enum cli_exit open_from(struct cli_tenant_move *m)
{
    const struct cli_config *own = &m->cli->config;
    m->from.admin = m->cli->http;
    m->from.admin_config = *own; /* borrowed: read-only */
    enum cli_exit e =
        open_one(&m->from.data_config, own, own->url, value(m, "data-key-file"), &m->from.data);
    m->from.data_config.tenant = m->tenant;
    return e;
}

static enum cli_exit open_to(struct cli_tenant_move *m)
{
    struct cli_config like = m->cli->config;
    const char *url = value(m, "to");
    if (strncmp(url, "https://", 8) != 0 || url[strlen(url) - 1] == '/')
        return cli_fail(CLI_USAGE, "--to takes https://HOST:PORT, without a slash at its end");
    if (strcmp(url, like.url) == 0)
        return cli_fail(CLI_USAGE, "--to is the server itself");
    if (value(m, "to-cacert") != NULL)
        like.cacert = value(m, "to-cacert");
    enum cli_exit e =
        open_one(&m->to.admin_config, &like, url, value(m, "to-key-file"), &m->to.admin);
    if (e == CLI_OK)
        e = open_one(&m->to.data_config, &like, url, value(m, "to-data-key-file"), &m->to.data);
    m->to.data_config.tenant = m->tenant;
    m->to.admin_config.about = m->to.data_config.about = "over there";
    return e;
}

static void close_sides(struct cli_tenant_move *m)
{
    cli_http_close(m->from.data);
    cli_http_close(m->to.admin);
    cli_http_close(m->to.data);
    cli_config_fini(&m->from.data_config);
    cli_config_fini(&m->to.admin_config);
    cli_config_fini(&m->to.data_config);
}

/* --- the command ------------------------------------------------------------------------------
 */

static void print_summary(const struct cli_tenant_move *m, uint64_t started_ns)
{
    static const struct cli_field fields[] = {
        {"tenant", "tenant", CLI_FIELD_TEXT, NULL},
        {"tables", "tables", CLI_FIELD_COUNT, NULL},
        {"rows", "rows", CLI_FIELD_COUNT, NULL},
        {"cells", "cells", CLI_FIELD_COUNT, NULL},
        {"bytes", "bytes", CLI_FIELD_BYTES, NULL},
        {"views", "views", CLI_FIELD_COUNT, NULL},
        {"changes", "changes", CLI_FIELD_COUNT, NULL},
        {"keys", "keys", CLI_FIELD_COUNT, NULL},
        {"stopped ms", "stopped_ms", CLI_FIELD_COUNT, NULL},
        {"ms", "ms", CLI_FIELD_COUNT, NULL},
        {NULL, NULL, CLI_FIELD_TEXT, NULL},
    };
    struct cli_content all = {0};
    for (size_t i = 0; i < m->count; i++)
        cli_content_merge(&all, &m->tables[i].content);
    cli_fields_show(m->cli, fields,
                    json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "tenant",
                              m->tenant, "tables", (json_int_t)m->count, "rows",
                              (json_int_t)all.rows, "cells", (json_int_t)all.cells, "bytes",
                              (json_int_t)all.bytes, "views", (json_int_t)m->views, "changes",
                              (json_int_t)m->changes, "keys", (json_int_t)m->key_count,
                              "stopped_ms", (json_int_t)m->stopped_ms, "ms",
                              (json_int_t)((base_monotonic_ns() - started_ns) / NS_PER_MS)));
}

static enum cli_exit abort_move(struct cli_tenant_move *m)
{
    enum cli_exit e = cli_tenant_move_abort(m);
    if (e != CLI_OK)
        return e;
    if (unlink(m->state_path) != 0)
        return cli_fail(CLI_REFUSED, "cannot remove %s: %s", m->state_path, strerror(errno));
    cli_say(m->is_done ? "the tenant %s is here as before; what was moved is still over there"
                       : "the tenant %s is here as before; over there it is empty",
            m->tenant);
    return CLI_OK;
}

static enum cli_exit move(struct cli_tenant_move *m, uint64_t started_ns)
{
    enum cli_exit e = cli_tenant_move_run(m, cli_args_flag(&m->cli->args, "resume"));
    if (e == CLI_OK && m->was_done)
        cli_say("the tenant was moved by an earlier run; nothing was compared again");
    else if (e == CLI_OK)
        print_summary(m, started_ns);
    if (e == CLI_OK)
        cli_say("the tenant's writes stay suspended here: give its clients keys of the other "
                "server%s, then offboard it here",
                m->keys_dir == NULL ? " (--resume --issue-keys DIR makes them)" : "");
    return e;
}

static enum cli_exit run(struct cli_tenant_move *m, uint64_t started_ns)
{
    const struct cli_args *args = &m->cli->args;
    bool plans = cli_args_flag(args, "dry-run");
    bool aborts = cli_args_flag(args, "abort");
    bool resumes = cli_args_flag(args, "resume");
    if (plans + aborts + resumes > 1 || ((plans || aborts) && m->keys_dir != NULL))
        return cli_fail(CLI_USAGE, "--dry-run, --resume and --abort exclude each other, and "
                                   "--issue-keys goes with --resume alone");
    return plans ? cli_moving_plan(m) : aborts ? abort_move(m) : move(m, started_ns);
}

enum cli_exit cli_tenant_move_command(struct cli *cli)
{
    char state[BASE_PATH_BYTES];
    uint64_t started_ns = base_monotonic_ns();
    struct cli_tenant_move m = {
        .cli = cli, .tenant = cli->args.words[0], .lock = PTHREAD_MUTEX_INITIALIZER};
    const char *given = value(&m, "state");
    struct errbuf eb = {0};
    if (base_tenant_id_check(base_slice_text(m.tenant), &eb) != ERR_OK)
        return cli_fail(CLI_USAGE, "%s", eb.text);
    int n = given != NULL ? snprintf(state, sizeof state, "%s", given)
                          : snprintf(state, sizeof state, "%s.move", m.tenant);
    if (n < 0 || (size_t)n >= sizeof state)
        return cli_fail(CLI_USAGE, "the path of the notes is too long");
    (void)snprintf(m.reason, sizeof m.reason, "moved to %s", value(&m, "to")); /* truncated: fine */
    m.state_path = state;
    m.keys_dir = value(&m, "issue-keys");
    enum cli_exit e = open_from(&m);
    if (e == CLI_OK)
        e = open_to(&m);
    if (e == CLI_OK)
        e = run(&m, started_ns);
    cli_tenant_move_fini(&m);
    close_sides(&m);
    return e;
}
