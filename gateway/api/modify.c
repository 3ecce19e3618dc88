/*
 * gateway/api/modify.c - POST :modify, append to and increment the newest cells of columns.
 *
 *     {"rules":[{"family":"f","qualifier":"q","append":"x"},{..,"increment":5}]}
 *
 * The response contains the new cells in the form of a row that was read.
 */
#include "gateway/api/handlers.h"
#include "gateway/api/mutation_json.h"
#include "gateway/api/row_sink.h"
#include "gateway/api/row_write.h"

#include "base/banned.h"

struct row_modify {
    struct gw_row_write write; /* first */
    struct sto_modified modified;
};

static enum err read_body(struct gw_call *call, struct errbuf *eb)
{
    static const char *const names[] = {"rules", NULL};
    struct row_modify *m = call->state;
    struct gw_mutations rules;
    enum err e = gw_rest_parse(call, eb);
    if (e == ERR_OK)
        e = gw_json_only(gw_rest(call)->json, names, eb);
    if (e == ERR_OK)
        e = gw_rules_from_json(gw_rest(call)->json, "rules", call->scope.schema, &call->arena,
                               &rules, eb);
    if (e == ERR_OK && rules.count == 0)
        e = base_fail(eb, ERR_INVALID, "\"rules\" must be a list of at least one rule");
    if (e != ERR_OK)
        return e;
    m->write.op.mutations = rules.list;
    m->write.op.mutation_count = rules.count;
    m->modified.arena = &call->arena;
    m->write.op.modified = &m->modified;
    return ERR_OK;
}

/* Appends the row. Errors latch in the buffers; the sink's own are reported through the
 * output's. */
static void put_row(struct buf *out, struct slice key, const struct sto_modified *modified)
{
    struct gw_row_sink row;
    struct sto_row_sink *sink = &row.sink;
    gw_row_sink_init(&row, out, GW_ROWS_SINGLE);
    sink->row_begin(sink, key);
    for (size_t i = 0; i < modified->count; i++)
        sink->cell(sink, &modified->cells[i]);
    sink->row_end(sink);
    if (row.binary.error != ERR_OK)
        out->error = row.binary.error;
    gw_row_sink_fini(&row);
}

static void answer(struct gw_call *call)
{
    const struct row_modify *m = call->state;
    put_row(&call->out, gw_rest_param(call, 1), &m->modified);
    gw_rest_send_json(call, 200);
}

void gw_row_modify(struct gw_call *call)
{
    struct row_modify *m = gw_call_new_state(call, sizeof *m, NULL);
    m->write.read = read_body;
    m->write.list = "rules";
    m->write.answer = answer;
    gw_row_write_start(call, &m->write);
}
