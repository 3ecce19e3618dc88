/* cli/cmd_health.c - health and readiness: /healthz and /readyz, without a key. */
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/problem.h"
#include "cli/target.h"

#include "base/banned.h"

static const struct cli_field HEALTH_FIELDS[] = {
    {"server", "url", CLI_FIELD_TEXT, NULL},    {"answers", "health", CLI_FIELD_TEXT, NULL},
    {"ready", "ready", CLI_FIELD_TEXT, NULL},   {"storage", "storage", CLI_FIELD_TEXT, NULL},
    {"reason", "reason", CLI_FIELD_TEXT, NULL}, {"protocol", "protocol", CLI_FIELD_TEXT, NULL},
    {"trust", "trust", CLI_FIELD_TEXT, NULL},   {"round trip", "round_trip", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

/* Sends GET path; *out_doc is NULL when the answer is not JSON. */
static enum cli_exit ask(struct cli *cli, const char *path, struct cli_answer *out,
                         json_t **out_doc)
{
    struct buf target;
    cli_target1(&target, path, NULL);
    struct cli_request request = {
        .method = "GET", .target = &target, .open = true, .any_status = true};
    enum cli_exit e = cli_http_run(cli->http, &request, out);
    *out_doc = e == CLI_OK ? cli_json_parse(base_buf_slice(&out->body)) : NULL;
    base_buf_fini(&out->body);
    base_buf_fini(&target);
    return e;
}

static void add_text(json_t *doc, const char *name, const json_t *from, const char *member)
{
    json_t *value = json_object_get(from, member);
    if (value != NULL)
        (void)json_object_set(doc, name, value); /* left out when memory is short */
}

static json_t *describe(const struct cli *cli, const struct cli_answer *ready,
                        const json_t *health_doc, const json_t *ready_doc)
{
    char round_trip[32];
    (void)snprintf(round_trip, sizeof round_trip, "%.1f ms", (double)ready->duration_us / 1000);
    json_t *doc = json_pack("{s:s}", "url", cli->config.url);
    add_text(doc, "health", health_doc, "status");
    add_text(doc, "ready", ready_doc, "status");
    add_text(doc, "storage", ready_doc, "storage");
    add_text(doc, "reason", ready_doc, "reason");
    const char *protocol = ready->http_version == 20 ? "HTTP/2" : "HTTP/1.1";
    json_t *rest = json_pack("{s:s, s:s, s:s}", "protocol", protocol, "trust",
                             cli_config_trust(&cli->config), "round_trip", round_trip);
    (void)json_object_update(doc, rest); /* left out when memory is short */
    json_decref(rest);
    return doc;
}

enum cli_exit cli_health(struct cli *cli)
{
    struct cli_answer health;
    struct cli_answer ready;
    json_t *health_doc = NULL;
    json_t *ready_doc = NULL;
    enum cli_exit e = ask(cli, "/healthz", &health, &health_doc);
    if (e == CLI_OK)
        e = ask(cli, "/readyz", &ready, &ready_doc);
    if (e == CLI_OK && (health.status != 200 || health_doc == NULL || ready_doc == NULL))
        e = cli_problem_answer(&cli->config, health.status != 200 ? health.status : ready.status,
                               SLICE_EMPTY);
    if (e == CLI_OK) {
        cli_fields_show(cli, HEALTH_FIELDS, describe(cli, &ready, health_doc, ready_doc));
        if (ready.status != 200)
            e = cli_fail(CLI_CHECK_FAILED, "%s is not ready", cli->config.url);
    }
    json_decref(health_doc);
    json_decref(ready_doc);
    return e;
}
