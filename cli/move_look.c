/* cli/move_look.c - what the tables are like before cells come; see move_in.h. */
#include <inttypes.h>

#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/move_in.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/transfer_manifest.h"
#include "cli/transfer_write.h"

#include "base/banned.h"

static void act_for(struct cli_move_in *m, const struct cli_move *v)
{
    m->cli->config.tenant = v->source->tenant;
}

struct slice cli_move_rows_end(const struct cli_move_source *s)
{
    struct slice prefix = s->row_prefix;
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

/* What is left of a stored quota. */
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
        e = cli_fail(CLI_USAGE, "%s: the key is not for the tenant %s", v->source->database,
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

static enum cli_exit look_at_table(struct cli_move_in *m, struct cli_move *v)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/tables/{}", v->source->table);
    enum cli_exit e = cli_http_get(m->cli->http, &target, &doc);
    json_t *families = json_object_get(doc, "families");
    const json_t *family = json_object_get(families, v->source->family);
    if (e == CLI_OK && family == NULL)
        e = cli_fail(CLI_CHECK_FAILED, "%s: the table %s of the tenant %s has no family %s",
                     v->source->database, v->source->table, v->source->tenant, v->source->family);
    v->families = json_incref(families);
    v->has_aggregates = json_object_get(family, "type") != NULL;
    json_decref(doc);
    return e;
}

/* The first source's tenant is asked for once where sources of one tenant stand together. */
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
        if (e == CLI_NOT_FOUND)
            (void)cli_fail(e, "that was the tenant %s, table %s; bigtent apply makes both",
                           m->moves[i].source->tenant, m->moves[i].source->table);
    }
    return e;
}

/* --- room -------------------------------------------------------------------------------------
 */

/* {"ranges":[{"prefix":..}],"filter":{"column_range":{"family_name":..}},"limit":1} */
static json_t *one_row(const struct cli_move_source *s)
{
    json_t *range = json_object();
    json_t *body = json_pack("{s:{s:{s:s}}, s:i}", "filter", "column_range", "family_name",
                             s->family, "limit", 1);
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
                     "%s:%" PRIu32 ": the table %s of the tenant %s has cells of the family %s "
                     "already in the rows that would come",
                     s->at.file, s->at.line, s->table, s->tenant, s->family);
    json_decref(doc);
    return e;
}

enum cli_exit cli_move_in_check_room(struct cli_move_in *m)
{
    enum cli_exit worst = CLI_OK;
    for (size_t i = 0; i < m->map.count; i++) {
        enum cli_exit e = check_room(m, &m->moves[i]);
        if (e != CLI_OK && e != CLI_CHECK_FAILED)
            return e;
        worst = e == CLI_OK ? worst : e; /* all are said */
    }
    return worst;
}
