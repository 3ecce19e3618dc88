/*
 * gateway/api/mutate.c - POST :mutate, the full power of mutations for one row.
 *
 *     {"mutations":[MUTATION,..]}
 */
#include "gateway/api/handlers.h"
#include "gateway/api/mutation_json.h"
#include "gateway/api/row_write.h"

#include "base/banned.h"

static enum err read_body(struct gw_call *call, struct errbuf *eb)
{
    static const char *const names[] = {"mutations", NULL};
    struct gw_row_write *w = call->state;
    struct gw_mutations mutations;
    enum err e = gw_rest_parse(call, eb);
    if (e == ERR_OK)
        e = gw_json_only(gw_rest(call)->json, names, eb);
    if (e == ERR_OK)
        e = gw_mutations_from_json(gw_rest(call)->json, "mutations", call->scope.schema, w->unit_us,
                                   &call->arena, &mutations, eb);
    if (e == ERR_OK && mutations.count == 0)
        e = base_fail(eb, ERR_INVALID, "\"mutations\" must be a list of at least one mutation");
    if (e != ERR_OK)
        return e;
    w->op.mutations = mutations.list;
    w->op.mutation_count = mutations.count;
    return ERR_OK;
}

static void answer(struct gw_call *call)
{
    const struct sto_mutate_op *op = &((struct gw_row_write *)call->state)->op;
    gw_row_write_answer_timestamp(
        call, !op->row_existed && gw_mutations_end_with_a_cell(op->mutations, op->mutation_count));
}

void gw_row_mutate(struct gw_call *call)
{
    struct gw_row_write *w = gw_call_new_state(call, sizeof *w, NULL);
    w->read = read_body;
    w->list = "mutations";
    w->answer = answer;
    gw_row_write_start(call, w);
}
