/*
 * gateway/api/cells.c - one cell as raw bytes.
 */
#include "gateway/api/handlers.h"
#include "gateway/api/row_write.h"
#include "gateway/api/time_unit.h"
#include "gateway/caller.h"
#include "gateway/cell_fields.h"

#include "base/banned.h"

#define OCTETS "application/octet-stream"

const char *const gw_cell_put_query[] = {"timestamp", GW_TIME_UNIT_FIELD, NULL};

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
    (void)sink; /* the key is known: the read is of one row */
    (void)row_key;
}

static void take_cell(struct sto_row_sink *sink, const struct sto_cell *cell)
{
    struct cell_read *r = of(sink);
    if (r->found)
        return;
    r->found = true;
    r->timestamp_us = cell->timestamp_us;
    (void)base_buf_append(&r->call->out, cell->value); /* latches; gw_rest_send checks it */
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
    ten_charge_visited(&call->visit, r->op.rows_seen, r->op.bytes_seen);
    if (r->op.state == STO_READ_FAILED) {
        gw_call_problem_retry(call, (int)r->op.result, r->op.detail.text, r->op.retry_ns);
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
    gw_rest_send(call, 200, OCTETS);
}

static void read_on(struct gw_call *call);

/* Handles a finished slice; returns true when the next one is to be read now. */
static bool slice_done(struct cell_read *r)
{
    bool has_failed = r->op.state == STO_READ_FAILED;
    if (gw_call_tries_again(r->call, has_failed ? r->op.result : ERR_OK, r->op.retry_ns, read_on))
        return false;
    bool more = r->op.state == STO_READ_MORE && r->call->ex != NULL;
    if (!more)
        answer_cell(r);
    return more;
}

/* Reads slices: a sparse row may need several until its one cell is found. */
static void read_cell(struct cell_read *r, bool try_inline)
{
    struct gw_call *call = r->call;
    bool more = true;
    while (more) {
        gw_call_hold(call);
        if (!sto_read_rows(call->api->engine, &r->op, try_inline))
            return; /* cell_done drops the hold */
        more = slice_done(r);
        gw_call_drop(call);
        try_inline = false;
    }
}

static void read_on(struct gw_call *call)
{
    read_cell(call->state, false);
}

static void cell_done(struct sto_read_op *op)
{
    struct cell_read *r = op->user;
    struct gw_call *call = r->call;
    if (slice_done(r))
        read_cell(r, false);
    gw_call_drop(call);
}

/* Checks key, family and qualifier of the path for reads and deletes; false when the call was
 * answered. */
static bool check_cell_path(struct gw_call *call, const struct sto_family **out_family)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = sto_row_key_check(NULL, gw_rest_param(call, PARAM_KEY), &eb);
    if (e == ERR_OK)
        e = sto_qualifier_check(NULL, gw_rest_param(call, PARAM_QUALIFIER), &eb);
    if (e == ERR_OK)
        e = gw_rest_family(call, gw_rest_param(call, PARAM_FAMILY), out_family, &eb);
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
    r->op.priority = call->priority;
    r->op.reply_to = call->thread->mailbox;
    r->op.done = cell_done;
    r->op.user = r;
    r->op.scope = call->scope; /* the call keeps the ref until it is freed */
    r->op.sink = &r->sink;
    r->op.spec = (struct sto_read_spec){
        .row_key = gw_rest_param(call, PARAM_KEY),
        .narrowed = true,
        .projection.qualifiers = {.start = gw_rest_param(call, PARAM_QUALIFIER),
                                  .has_end = true,
                                  .end = gw_rest_param(call, PARAM_QUALIFIER),
                                  .end_inclusive = true},
        .versions = 1,
    };
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_caller_narrow(call, &r->op.spec, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    size_t at = (size_t)(family - call->scope.schema->families);
    r->op.spec.projection.families[at / 64] = 1ULL << (at % 64);
    read_cell(r, true);
}

/* --- put and delete ----------------------------------------------------------------------------
 */

struct cell_write {
    struct gw_row_write write; /* first */
    struct sto_mutation mutation;
};

static enum err read_cell_body(struct gw_call *call, struct errbuf *eb)
{
    struct cell_write *w = call->state;
    (void)eb; /* any bytes are a value */
    if (w->mutation.kind == STO_SET_CELL)
        w->mutation.value = gw_rest(call)->body;
    w->write.op.mutations = &w->mutation;
    w->write.op.mutation_count = 1;
    return ERR_OK;
}

static void start_write(struct gw_call *call, const struct sto_mutation *mutation)
{
    struct cell_write *w = gw_call_new_state(call, sizeof *w, NULL);
    w->mutation = *mutation;
    w->write.read = read_cell_body;
    w->write.answer = gw_rest_no_content;
    gw_row_write_start(call, &w->write);
}

void gw_cell_put(struct gw_call *call)
{
    const struct sto_family *family = NULL;
    struct errbuf eb;
    int64_t unit_us = 1;
    int64_t timestamp_us = 0;
    eb.text[0] = '\0';
    if (!check_cell_path(call, &family))
        return;
    enum err e = gw_time_unit_read(&gw_rest(call)->query, &unit_us, &eb);
    if (e == ERR_OK)
        e = gw_time_parse(gw_query_get(&gw_rest(call)->query, "timestamp"), "timestamp", unit_us,
                          STO_TIMESTAMP_SERVER, &timestamp_us, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    start_write(call, &(struct sto_mutation){
                          .kind = STO_SET_CELL,
                          .family = family->number,
                          .qualifier = gw_rest_param(call, PARAM_QUALIFIER),
                          .timestamp_us = timestamp_us,
                      });
}

void gw_cell_delete(struct gw_call *call)
{
    const struct sto_family *family = NULL;
    if (!check_cell_path(call, &family))
        return;
    start_write(call, &(struct sto_mutation){
                          .kind = STO_DELETE_FROM_COLUMN,
                          .family = family->number,
                          .qualifier = gw_rest_param(call, PARAM_QUALIFIER),
                      });
}
