/*
 * gateway/api/check_and_mutate.c - POST :check, one of two lists of mutations, selected by the row.
 *
 *     {"predicate":FILTER,"then":[MUTATION,..],"else":[MUTATION,..]}
 *
 * Without a predicate the condition is that the row exists.
 */
#include "gateway/api/filter_json.h"
#include "gateway/api/handlers.h"
#include "gateway/api/mutation_json.h"
#include "gateway/api/row_write.h"

#include "base/banned.h"

struct row_check {
    struct gw_row_write write; /* first */
    struct sto_check check;
    bool has_filter;
    struct sto_filter filter;
};

static void cleanup(struct gw_call *call)
{
    struct row_check *c = call->state;
    sto_filter_unref(c->check.predicate);
}

static enum err take_predicate(struct gw_call *call, struct row_check *c, struct errbuf *eb)
{
    const json_t *json = json_object_get(gw_rest(call)->json, "predicate");
    c->has_filter = json != NULL && !json_is_null(json);
    enum err e = c->has_filter ? gw_filter_from_json(json, &call->arena, &c->filter, eb) : ERR_OK;
    return base_fail_at(eb, e, "predicate");
}

static enum err take_lists(struct gw_call *call, struct row_check *c, struct errbuf *eb)
{
    const struct sto_schema *schema = call->scope.schema;
    struct gw_mutations then, otherwise;
    enum err e = gw_mutations_from_json(gw_rest(call)->json, "then", schema, c->write.unit_us,
                                        &call->arena, &then, eb);
    if (e == ERR_OK)
        e = gw_mutations_from_json(gw_rest(call)->json, "else", schema, c->write.unit_us,
                                   &call->arena, &otherwise, eb);
    if (e == ERR_OK && then.count + otherwise.count == 0)
        e = base_fail(eb, ERR_INVALID, "give mutations in \"then\", in \"else\", or in both");
    if (e != ERR_OK)
        return e;
    c->write.op.mutations = then.list;
    c->write.op.mutation_count = then.count;
    c->check.otherwise = otherwise.list;
    c->check.otherwise_count = otherwise.count;
    c->write.op.check = &c->check;
    return ERR_OK;
}

static enum err read_body(struct gw_call *call, struct errbuf *eb)
{
    static const char *const names[] = {"predicate", "then", "else", NULL};
    struct row_check *c = call->state;
    enum err e = gw_rest_parse(call, eb);
    if (e == ERR_OK)
        e = gw_json_only(gw_rest(call)->json, names, eb);
    if (e == ERR_OK)
        e = take_predicate(call, c, eb);
    return e == ERR_OK ? take_lists(call, c, eb) : e;
}

static enum err compile(struct gw_call *call, struct errbuf *eb)
{
    struct row_check *c = call->state;
    if (!c->has_filter)
        return ERR_OK;
    return gw_call_compile(call, &c->filter, &c->check.predicate, eb);
}

static bool compiles_long(const struct gw_call *call)
{
    const struct row_check *c = call->state;
    return c->has_filter && !sto_filter_is_small(&c->filter);
}

static void answer(struct gw_call *call)
{
    const struct row_check *c = call->state;
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name(&j, "matched");
    gw_json_bool(&j, c->check.matched);
    gw_row_write_put_timestamp(call, &j);
    gw_json_close(&j, '}');
    gw_rest_send_json(call, 200);
}

void gw_row_check(struct gw_call *call)
{
    struct row_check *c = gw_call_new_state(call, sizeof *c, cleanup);
    c->write.read = read_body;
    c->write.list = "then";
    c->write.prepare = compile;
    c->write.prepares_long = compiles_long;
    c->write.answer = answer;
    gw_row_write_start(call, &c->write);
}
