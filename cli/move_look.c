/* cli/move_look.c - checks the target tables before cells are written; see move_in.h. */
#include <inttypes.h>

#include "cli/families.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/move_in.h"
#include "cli/out.h"
#include "cli/problem.h"
#include "cli/target.h"
#include "cli/transfer_manifest.h"
#include "cli/transfer_write.h"

#include "base/banned.h"

static void act_for(struct cli_move_in *m, const struct cli_move *v)
{
    m->cli->config.tenant = v->source->tenant;
}

struct slice cli_move_prefix_end(struct slice prefix)
{
    while (prefix.len > 0 && prefix.ptr[prefix.len - 1] == 0xFF)
        prefix.len--;
    struct slice end = cli_slice_copy(prefix);
    if (end.len > 0)
        ((uint8_t *)(uintptr_t)end.ptr)[end.len - 1]++;
    return end;
}

/* --- tables and limits ------------------------------------------------------------------------
 */

static uint64_t limit_of(const json_t *quota, const char *name, uint64_t most)
{
    json_int_t number = json_integer_value(json_object_get(quota, name));
    return number > 0 && (uint64_t)number < most ? (uint64_t)number : most;
}

/* Returns the unused part of a quota. */
static uint64_t room_of(const json_t *usage, const json_t *quota, const char *name)
{
    const json_t *limit = json_object_get(quota, name);
    json_int_t left = json_integer_value(limit) - json_integer_value(json_object_get(usage, name));
    if (!json_is_integer(limit))
        return UINT64_MAX;
    return left > 0 ? (uint64_t)left : 0;
}

static enum cli_exit look_at_tenant(struct cli_move_in *m, struct cli_move *v)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/usage", NULL);
    enum cli_exit e = cli_http_get(m->cli->http, &target, &doc);
    const json_t *quota = json_object_get(doc, "quota");
    const char *id = json_string_value(json_object_get(doc, "tenant"));
    if (e == CLI_OK && (id == NULL || strcmp(id, v->source->tenant) != 0))
        e = cli_fail(CLI_USAGE, "%s: the key is not for the tenant %s", v->source->name,
                     v->source->tenant);
    v->limits.row_key_bytes = limit_of(quota, "row_key_bytes", LIM_ROW_KEY);
    v->limits.qualifier_bytes = limit_of(quota, "qualifier_bytes", LIM_QUALIFIER);
    v->limits.cell_bytes = limit_of(quota, "cell_bytes", LIM_CELL_BYTES_HARD);
    v->free_bytes = room_of(doc, quota, "stored_bytes");
    v->free_rows = room_of(doc, quota, "rows");
    v->line_cells =
        cli_writer_line_cells(json_integer_value(json_object_get(quota, "mutations_per_row")));
    json_decref(doc);
    return e;
}

static enum cli_exit take_family(struct cli_move *v, const json_t *doc)
{
    json_t *families = json_object_get(doc, "families");
    const json_t *family = json_object_get(families, v->source->family);
    if (family == NULL)
        return cli_fail(CLI_CHECK_FAILED, "%s: the table %s of the tenant %s has no family %s",
                        v->source->name, v->source->table, v->source->tenant, v->source->family);
    v->families = json_incref(families);
    v->has_aggregates = cli_family_aggregate(family) != NULL;
    return CLI_OK;
}

/* Requests the target table; *out NULL with CLI_OK: it does not exist. */
static enum cli_exit find_table(struct cli_move_in *m, const struct cli_move *v, json_t **out)
{
    struct buf target;
    struct cli_answer answer;
    *out = NULL;
    cli_target1(&target, "/v1/tables/{}", v->source->table);
    struct cli_request request = {
        .method = "GET", .target = &target, .repeatable = true, .any_status = true};
    enum cli_exit e = cli_http_run(m->cli->http, &request, &answer);
    if (e == CLI_OK && answer.status == 200)
        *out = cli_json_parse(base_buf_slice(&answer.body));
    if (e == CLI_OK && *out == NULL && (answer.status != 404 || v->source->from_table == NULL))
        e = cli_problem_answer(&m->cli->config, answer.status, base_buf_slice(&answer.body));
    base_buf_fini(&answer.body);
    base_buf_fini(&target);
    return e;
}

static enum cli_exit look_at_table(struct cli_move_in *m, struct cli_move *v)
{
    json_t *doc = NULL;
    enum cli_exit e = cli_move_take_schema(m, v);
    if (e == CLI_OK)
        e = find_table(m, v, &doc);
    if (e == CLI_OK)
        e = v->source->database != NULL ? take_family(v, doc) : cli_move_take_table(m, v, doc);
    json_decref(doc);
    return e;
}

/* Reads limits and table of a source. Adjacent sources of one tenant share one
 * request for limits. */
static enum cli_exit look_at(struct cli_move_in *m, size_t at)
{
    struct cli_move *v = &m->moves[at];
    const struct cli_move *before = at > 0 ? &m->moves[at - 1] : NULL;
    enum cli_exit e = CLI_OK;
    act_for(m, v);
    if (before != NULL && strcmp(before->source->tenant, v->source->tenant) == 0) {
        v->limits = before->limits;
        v->free_bytes = before->free_bytes;
        v->free_rows = before->free_rows;
        v->line_cells = before->line_cells;
    } else {
        e = look_at_tenant(m, v);
    }
    return e == CLI_OK ? look_at_table(m, v) : e;
}

enum cli_exit cli_move_in_look(struct cli_move_in *m)
{
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < m->map.count && e == CLI_OK; i++) {
        e = look_at(m, i);
        if (e == CLI_NOT_FOUND && m->moves[i].source->database != NULL)
            (void)cli_fail(e, "that was the tenant %s, table %s; bigtent apply makes both",
                           m->moves[i].source->tenant, m->moves[i].source->table);
    }
    return e;
}

/* --- room -------------------------------------------------------------------------------------
 */

/* Returns {"ranges":[{"prefix":..}],"filter":{"column_range":{"family_name":..}},"limit":1};
 * without a filter if the source may write cells to any family. */
static json_t *one_row(const struct cli_move_source *s)
{
    json_t *range = json_object();
    json_t *body = json_pack("{s:i}", "limit", 1);
    if (s->family[0] != '\0')
        (void)json_object_set_new(
            body, "filter",
            json_pack("{s:{s:s}}", "column_range", "family_name", s->family)); /* small */
    if (s->row_prefix.len > 0 && cli_json_set_bytes(range, "prefix", s->row_prefix))
        (void)json_object_set_new(body, "ranges", json_pack("[O]", range)); /* small */
    json_decref(range);
    return body;
}

static enum cli_exit check_room(struct cli_move_in *m, const struct cli_move *v)
{
    struct buf target;
    json_t *doc = NULL;
    const struct cli_move_source *s = v->source;
    act_for(m, v);
    cli_target1(&target, "/v1/tables/{}:read", s->table);
    enum cli_exit e = cli_http_send(m->cli->http, "POST", &target, one_row(s), true, &doc);
    const json_t *rows = json_object_get(doc, "rows");
    if (e == CLI_OK && !json_is_array(rows))
        e = cli_fail(CLI_REFUSED, "the server's answer has no \"rows\"");
    if (e == CLI_OK && json_array_size(rows) > 0)
        e = cli_fail(CLI_CHECK_FAILED,
                     "%s:%" PRIu32 ": the table %s of the tenant %s has cells of %s %s already in "
                     "the rows that would come",
                     s->at.file, s->at.line, s->table, s->tenant,
                     s->family[0] != '\0' ? "the family" : "any",
                     s->family[0] != '\0' ? s->family : "family");
    json_decref(doc);
    return e;
}

enum cli_exit cli_move_in_check_room(struct cli_move_in *m)
{
    enum cli_exit worst = CLI_OK;
    for (size_t i = 0; i < m->map.count; i++) {
        const struct cli_move *v = &m->moves[i];
        bool is_made = v->owner != NULL && v->owner->makes; /* it does not exist yet */
        enum cli_exit e = is_made ? CLI_OK : check_room(m, v);
        if (e != CLI_OK && e != CLI_CHECK_FAILED)
            return e;
        worst = e == CLI_OK ? worst : e; /* all errors are reported */
    }
    return worst;
}
