/* cli/tenant_sides.c - the tenant itself on both servers; see tenant_move.h. */
#include <stdio.h>

#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/problem.h"
#include "cli/target.h"
#include "cli/tenant_move.h"

#include "base/banned.h"

#define TENANT "/v1/admin/tenants/{}"

static void note_instance(struct cli_tenant_side *side, const json_t *doc)
{
    (void)snprintf(side->instance, sizeof side->instance, "%s",
                   cli_json_text_at(doc, "instance")); /* fits */
}

static enum cli_exit post(struct cli_tenant_move *m, struct cli_http *http, const char *pattern,
                          json_t *body, json_t **out)
{
    struct buf target;
    cli_target1(&target, pattern, m->tenant);
    return cli_http_send(http, "POST", &target, body, true, out);
}

/* --- source -----------------------------------------------------------------------------------
 */

static enum cli_exit get_here(struct cli_tenant_move *m, json_t **out)
{
    struct buf target;
    cli_target1(&target, TENANT, m->tenant);
    return cli_http_get(m->from.admin, &target, out);
}

static bool is_ours(const struct cli_tenant_move *m, const json_t *doc)
{
    return strcmp(cli_json_text_at(doc, "state"), "suspended") == 0 &&
           strcmp(cli_json_text_at(doc, "reason"), m->reason) == 0;
}

enum cli_exit cli_moving_look(struct cli_tenant_move *m, json_t **out_doc)
{
    json_t *doc = NULL;
    enum cli_exit e = get_here(m, &doc);
    const char *state = cli_json_text_at(doc, "state");
    m->is_stopped = is_ours(m, doc);
    if (e == CLI_OK && strcmp(state, "active") != 0 && !m->is_stopped)
        e = cli_fail(CLI_CHECK_FAILED, "the tenant %s is %s, and not by a move there", m->tenant,
                     state);
    note_instance(&m->from, doc);
    if (e == CLI_OK && out_doc != NULL)
        *out_doc = json_incref(doc);
    json_decref(doc);
    return e;
}

enum cli_exit cli_moving_stop_writes(struct cli_tenant_move *m)
{
    json_t *doc = NULL;
    enum cli_exit e = post(m, m->from.admin, TENANT ":suspend",
                           json_pack("{s:s, s:s}", "access", "writes", "reason", m->reason), &doc);
    m->is_stopped = m->is_stopped || e == CLI_OK;
    (void)snprintf(m->stopped_since, sizeof m->stopped_since, "%s",
                   cli_json_text_at(doc, "state_since")); /* a time, which fits */
    json_decref(doc);
    return e;
}

enum cli_exit cli_moving_check_stopped(struct cli_tenant_move *m)
{
    json_t *doc = NULL;
    enum cli_exit e = get_here(m, &doc);
    bool lasts = is_ours(m, doc) && strcmp(cli_json_text_at(doc, "suspended"), "writes") == 0 &&
                 strcmp(cli_json_text_at(doc, "state_since"), m->stopped_since) == 0;
    if (e == CLI_OK && !lasts)
        e = cli_fail(CLI_CHECK_FAILED,
                     "somebody ended or changed the tenant's suspension while both "
                     "sides were compared");
    json_decref(doc);
    return e;
}

enum cli_exit cli_moving_let_write(struct cli_tenant_move *m)
{
    json_t *doc = NULL;
    enum cli_exit e = post(m, m->from.admin, TENANT ":resume", NULL, &doc);
    m->is_stopped = m->is_stopped && e != CLI_OK;
    json_decref(doc);
    return e;
}

/* --- destination ------------------------------------------------------------------------------
 */

static enum cli_exit check_empty(struct cli_tenant_move *m)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/tables", NULL);
    enum cli_exit e = cli_http_get(m->to.data, &target, &doc);
    if (e == CLI_OK && json_array_size(json_object_get(doc, "tables")) > 0)
        e = cli_fail(CLI_CHECK_FAILED, "the tenant %s has tables over there already", m->tenant);
    json_decref(doc);
    return e;
}

static enum cli_exit check_there(struct cli_tenant_move *m, const json_t *source, const json_t *doc)
{
    const char *state = cli_json_text_at(doc, "state");
    if (strcmp(state, "active") != 0)
        return cli_fail(CLI_CHECK_FAILED, "the tenant %s is %s over there", m->tenant, state);
    if (json_is_true(json_object_get(source, "encrypted")) &&
        !json_is_true(json_object_get(doc, "encrypted")))
        return cli_fail(CLI_CHECK_FAILED,
                        "the tenant %s is encrypted here, and not over there: it was made so",
                        m->tenant);
    return check_empty(m);
}

enum cli_exit cli_moving_find(struct cli_http *http, const struct cli_config *config,
                              struct buf *target, json_t **out)
{
    struct cli_answer answer;
    struct cli_request request = {
        .method = "GET", .target = target, .repeatable = true, .any_status = true};
    enum cli_exit e = cli_http_run(http, &request, &answer);
    *out = NULL;
    if (e == CLI_OK && answer.status == 200)
        *out = cli_json_parse(base_buf_slice(&answer.body));
    else if (e == CLI_OK && answer.status != 404)
        e = cli_problem_answer(config, answer.status, base_buf_slice(&answer.body));
    base_buf_fini(&answer.body);
    base_buf_fini(target);
    return e;
}

enum cli_exit cli_moving_reach(struct cli_tenant_move *m, bool *out_found)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, TENANT, m->tenant);
    enum cli_exit e = cli_moving_find(m->to.admin, &m->to.admin_config, &target, &doc);
    note_instance(&m->to, doc);
    *out_found = doc != NULL;
    json_decref(doc);
    return e;
}

enum cli_exit cli_moving_look_there(struct cli_tenant_move *m, const json_t *source,
                                    json_t **out_doc)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, TENANT, m->tenant);
    enum cli_exit e = cli_moving_find(m->to.admin, &m->to.admin_config, &target, &doc);
    *out_doc = NULL;
    if (e != CLI_OK || doc == NULL)
        return e;
    note_instance(&m->to, doc);
    e = check_there(m, source, doc);
    if (e == CLI_OK)
        *out_doc = json_incref(doc);
    json_decref(doc);
    return e;
}

static json_t *tenant_body(const json_t *doc)
{
    static const char *const kept[][2] = {{"id", "id"},
                                          {"display_name", "display_name"},
                                          {"plan", "plan"},
                                          {"own_quota", "quota"},
                                          {"encrypted", "encrypted"}};
    json_t *body = json_pack("{s:n}", "plan"); /* no plan at the source: none there, too */
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        json_t *value = json_object_get(doc, kept[i][0]);
        if (value != NULL && !json_is_null(value))
            (void)json_object_set(body, kept[i][1], value); /* checked by the server */
    }
    return body;
}

static enum cli_exit make_new(struct cli_tenant_move *m, const json_t *source)
{
    struct buf target;
    json_t *made = NULL;
    cli_target1(&target, "/v1/admin/tenants", NULL);
    enum cli_exit e =
        cli_http_send(m->to.admin, "POST", &target, tenant_body(source), false, &made);
    note_instance(&m->to, made);
    json_decref(made);
    return e;
}

/* Copies a legal hold, because it applies to the tenant on any server. */
static enum cli_exit hold(struct cli_tenant_move *m, const json_t *source)
{
    json_t *doc = NULL;
    const char *reason = json_string_value(cli_json_at(source, "hold.reason"));
    if (reason == NULL)
        return CLI_OK;
    enum cli_exit e =
        post(m, m->to.admin, TENANT ":hold", json_pack("{s:s}", "reason", reason), &doc);
    json_decref(doc);
    return e;
}

enum cli_exit cli_moving_make(struct cli_tenant_move *m, const json_t *source)
{
    json_t *there = NULL;
    enum cli_exit e = cli_moving_look_there(m, source, &there);
    if (e == CLI_OK && there == NULL)
        e = make_new(m, source);
    json_decref(there);
    if (e == CLI_OK && strcmp(m->from.instance, m->to.instance) != 0)
        cli_say("clients that speak gRPC name the instance %s over there, not %s", m->to.instance,
                m->from.instance);
    return e == CLI_OK ? hold(m, source) : e;
}
