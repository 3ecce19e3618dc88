/*
 * gateway/api/cells.c - one cell as raw bytes.
 */
#include "base/text.h"
#include "gateway/api/handlers.h"

#include "base/banned.h"

#define OCTETS "application/octet-stream"

const char *const gw_cell_put_query[] = {"timestamp", NULL};

enum { PARAM_KEY = 1, PARAM_FAMILY, PARAM_QUALIFIER };

/* --- get ---------------------------------------------------------------------------------------
 */

struct cell_read {
    struct sto_row_sink sink; /* first: the engine's view */
    struct sto_read_op op;
    struct gw_call *call;
    bool found;
    int64_t timestamp_us;
};

static struct cell_read *of(struct sto_row_sink *sink)
{
    return (struct cell_read *)(void *)sink;
}

static void row_begin(struct sto_row_sink *sink, struct slice row_key)
{
    (void)sink; /* the key is known: one row was asked for */
    (void)row_key;
}

static void take_cell(struct sto_row_sink *sink, const struct sto_cell *cell)
{
    struct cell_read *r = of(sink);
    if (r->found)
        return;
    r->found = true;
    r->timestamp_us = cell->timestamp_us;
    (void)base_buf_append(&r->call->out, cell->value); /* latches; gw_call_send looks */
}

static void row_end(struct sto_row_sink *sink)
{
    (void)sink; /* nothing is open */
}

static void row_undo(struct sto_row_sink *sink)
{
    struct cell_read *r = of(sink);
    r->found = false;
    base_buf_truncate(&r->call->out, 0);
}

static bool is_full(struct sto_row_sink *sink)
{
    (void)sink; /* one cell always fits */
    return false;
}

static void cleanup(struct gw_call *call)
{
    struct cell_read *r = call->state;
    sto_read_finish(call->api->engine, &r->op);
}

static void answer_cell(struct cell_read *r)
{
    struct gw_call *call = r->call;
    if (r->op.state == STO_READ_FAILED) {
        gw_call_problem(call, (int)r->op.result, r->op.detail.text);
        return;
    }
    if (!r->found) {
        gw_call_problem(call, ERR_NOT_FOUND, "there is no such cell");
        return;
    }
    struct buf text;
    base_buf_init(&text, 32);
    (void)base_buf_append_i64(&text, r->timestamp_us); /* fits */
    if (call->ex != NULL && !call->answered)
        gw_exchange_add_header(call->ex, "bigtent-timestamp", base_buf_slice(&text));
    base_buf_fini(&text);
    gw_call_send(call, 200, OCTETS);
}

/* A sparse row may need several slices until its one cell is found. */
static void read_cell(struct cell_read *r, bool try_inline)
{
    struct gw_call *call = r->call;
    for (;;) {
        gw_call_hold(call);
        if (!sto_read_rows(call->api->engine, &r->op, try_inline))
            return; /* cell_done drops the hold */
        bool more = r->op.state == STO_READ_MORE && call->ex != NULL;
        if (!more)
            answer_cell(r);
        gw_call_drop(call);
        if (!more)
            return;
        try_inline = false;
    }
}

static void cell_done(struct sto_read_op *op)
{
    struct cell_read *r = op->user;
    struct gw_call *call = r->call;
    if (op->state == STO_READ_MORE && call->ex != NULL)
        read_cell(r, false);
    else
        answer_cell(r);
    gw_call_drop(call);
}

/* Key, family and qualifier of the path; false when the call was answered. */
static bool check_cell_path(struct gw_call *call, const struct sto_family **out_family)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = sto_row_key_check(gw_call_param(call, PARAM_KEY), &eb);
    if (e == ERR_OK)
        e = sto_qualifier_check(gw_call_param(call, PARAM_QUALIFIER), &eb);
    if (e == ERR_OK)
        e = gw_call_family(call, gw_call_param(call, PARAM_FAMILY), out_family, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    return e == ERR_OK;
}

void gw_cell_get(struct gw_call *call)
{
    const struct sto_family *family = NULL;
    if (!check_cell_path(call, &family))
        return;
    struct cell_read *r = gw_call_new_state(call, sizeof *r, cleanup);
    r->call = call;
    r->sink = (struct sto_row_sink){row_begin, take_cell, row_end, row_undo, is_full};
    r->op.reply_to = call->thread->mailbox;
    r->op.done = cell_done;
    r->op.user = r;
    r->op.scope = call->scope; /* the call keeps the ref until it is freed */
    r->op.sink = &r->sink;
    r->op.spec = (struct sto_read_spec){
        .single_row = true,
        .range = {.start = gw_call_param(call, PARAM_KEY)},
        .family = family->number,
        .one_column = true,
        .qualifier = gw_call_param(call, PARAM_QUALIFIER),
        .versions = 1,
    };
    read_cell(r, true);
}

/* --- put and delete ----------------------------------------------------------------------------
 */

struct cell_write {
    struct sto_mutate_op op;
    struct sto_mutation mutation;
};

static void write_done(struct sto_mutate_op *op)
{
    struct gw_call *call = op->user;
    if (op->result != ERR_OK)
        gw_call_problem(call, (int)op->result, op->detail.text);
    else
        gw_call_no_content(call);
    gw_call_drop(call);
}

static void submit(struct gw_call *call, const struct sto_mutation *mutation)
{
    struct cell_write *w = gw_call_new_state(call, sizeof *w, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    w->mutation = *mutation;
    enum err e = sto_mutations_check(call->scope.schema, &call->tenant->account,
                                     gw_call_param(call, PARAM_KEY), &w->mutation, 1, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    w->op.reply_to = call->thread->mailbox;
    w->op.done = write_done;
    w->op.user = call;
    w->op.scope = call->scope; /* the call keeps the ref until it is freed */
    w->op.row_key = gw_call_param(call, PARAM_KEY);
    w->op.mutations = &w->mutation;
    w->op.mutation_count = 1;
    gw_call_hold(call);
    sto_mutate_row(call->api->engine, &w->op);
}

static enum err get_timestamp(const struct gw_call *call, int64_t *out, struct errbuf *eb)
{
    struct slice text = gw_query_get(&call->query, "timestamp");
    uint64_t number = 0;
    *out = STO_TIMESTAMP_SERVER;
    if (text.ptr == NULL)
        return ERR_OK;
    if (base_parse_u64(text, &number) != ERR_OK || number > INT64_MAX)
        return base_fail(eb, ERR_INVALID,
                         "query parameter \"timestamp\" must be a whole number of microseconds");
    *out = (int64_t)number;
    return ERR_OK;
}

void gw_cell_put(struct gw_call *call)
{
    const struct sto_family *family = NULL;
    struct errbuf eb;
    int64_t timestamp_us = 0;
    eb.text[0] = '\0';
    if (!check_cell_path(call, &family))
        return;
    enum err e = get_timestamp(call, &timestamp_us, &eb);
    if (e == ERR_OK)
        e = gw_call_keep_body(call, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    submit(call, &(struct sto_mutation){
                     .kind = STO_SET_CELL,
                     .family = family->number,
                     .qualifier = gw_call_param(call, PARAM_QUALIFIER),
                     .timestamp_us = timestamp_us,
                     .value = call->body,
                 });
}

void gw_cell_delete(struct gw_call *call)
{
    const struct sto_family *family = NULL;
    if (!check_cell_path(call, &family))
        return;
    submit(call, &(struct sto_mutation){
                     .kind = STO_DELETE_FROM_COLUMN,
                     .family = family->number,
                     .qualifier = gw_call_param(call, PARAM_QUALIFIER),
                 });
}
