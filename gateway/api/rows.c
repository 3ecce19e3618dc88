/*
 * gateway/api/rows.c - one row: put, patch, get, delete.
 */
#include "gateway/api/columns.h"
#include "gateway/api/handlers.h"
#include "gateway/api/row_answer.h"
#include "gateway/api/row_body.h"
#include "gateway/api/row_write.h"

#include "base/banned.h"

/* --- get ---------------------------------------------------------------------------------------
 */

const char *const gw_row_get_query[] = {GW_COLUMNS_QUERY, GW_ROW_FORM_FIELDS, NULL};

void gw_row_get(struct gw_call *call)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    struct slice key = gw_rest_param(call, 1);
    struct gw_row_form form;
    enum err e = sto_row_key_check(NULL, key, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    struct gw_row_answer *s = gw_row_answer_new(call, GW_ROWS_SINGLE, "application/json");
    e = gw_columns_from_query(call, &s->stream.op.spec, &eb);
    if (e == ERR_OK)
        e = gw_row_form_from_query(&gw_rest(call)->query, &form, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    gw_row_answer_form(s, form, false);
    s->stream.op.spec.row_key = key;
    gw_row_stream_start(&s->stream, true);
}

/* --- writes ------------------------------------------------------------------------------------
 */

struct row_put {
    struct gw_row_write write; /* first */
    enum gw_row_verb verb;
    size_t cells;
};

static enum err read_body(struct gw_call *call, struct errbuf *eb)
{
    struct row_put *p = call->state;
    struct gw_row_body body;
    enum err e = gw_row_body_build(gw_rest(call)->body, p->verb, call->scope.schema,
                                   p->write.unit_us, &call->arena, &body, eb);
    if (e != ERR_OK)
        return e;
    p->write.op.mutations = body.mutations;
    p->write.op.mutation_count = body.count;
    p->cells = body.cells;
    return ERR_OK;
}

static void answer_put(struct gw_call *call)
{
    const struct row_put *p = call->state;
    gw_row_write_answer_timestamp(call, !p->write.op.row_existed && p->cells > 0);
}

static void put_or_patch(struct gw_call *call, enum gw_row_verb verb)
{
    struct row_put *p = gw_call_new_state(call, sizeof *p, NULL);
    p->verb = verb;
    p->write.read = read_body;
    p->write.answer = answer_put;
    gw_row_write_start(call, &p->write);
}

void gw_row_put(struct gw_call *call)
{
    put_or_patch(call, GW_ROW_PUT);
}

void gw_row_patch(struct gw_call *call)
{
    put_or_patch(call, GW_ROW_PATCH);
}

struct row_delete {
    struct gw_row_write write; /* first */
    struct sto_mutation mutation;
};

static enum err read_nothing(struct gw_call *call, struct errbuf *eb)
{
    struct row_delete *d = call->state;
    (void)eb; /* cannot fail */
    d->mutation.kind = STO_DELETE_FROM_ROW;
    d->write.op.mutations = &d->mutation;
    d->write.op.mutation_count = 1;
    return ERR_OK;
}

void gw_row_delete(struct gw_call *call)
{
    struct row_delete *d = gw_call_new_state(call, sizeof *d, NULL);
    d->write.read = read_nothing;
    d->write.answer = gw_rest_no_content;
    gw_row_write_start(call, &d->write);
}
