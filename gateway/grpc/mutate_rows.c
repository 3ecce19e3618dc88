/*
 * gateway/grpc/mutate_rows.c - MutateRows: many independent rows, verdicts as they become known.
 *
 * Entries become operations in their order, at most LIM_BULK_INFLIGHT of them or LIM_BODY_BYTES at
 * a time, and none while the peer does not accept verdicts or the tenant has more than its share of
 * a busy server. All are applied even if the peer disconnects: clients drop the stream of a request
 * that they do not wait for. A verdict is written when its operation returns, or at once when there
 * is none; messages are sent when they have some size, or when nothing is in flight.
 *
 * Invariants:
 *   1. An entry has its verdict written, or an operation in flight, or is not started (begun counts
 *      the others): so each index is reported once.
 *   2. The call is held once per operation in flight.
 *   3. A slot is in the list of spare ones, or has an operation in flight.
 */
#include "gateway/budget.h"
#include "gateway/caller.h"
#include "gateway/grpc/features.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/mutation_proto.h"
#include "gateway/grpc/wire_write.h"

#include "base/banned.h"

#define SEND_BYTES    (16 * KIB)
#define VERDICT_BYTES (4 * KIB) /* of a status: its text and details */
/* Of one entry's mutations, and of integers among their inputs. */
#define ENTRY_BYTES (2 * LIM_MUTATIONS_PER_ROW * sizeof(struct sto_mutation))

/* Field numbers of MutateRowsResponse and MutateRowsResponse.Entry. */
enum { RESPONSE_ENTRIES = 1, RESPONSE_RATE = 3, ENTRY_INDEX = 1, ENTRY_STATUS = 2 };

/* Advice to a client to change its rate: from the minimum factor that clients accept when nothing
 * is left of the tenant's rates (or the key's) to their maximum when nothing is used; with
 * RATE_PERIOD_S until the next change, which is the clients' default. */
#define RATE_PERIOD_S   10
#define RATE_FACTOR_MIN 0.7
#define RATE_FACTOR_MAX 1.3

struct mutate_rows;

struct slot {
    struct sto_mutate_op op;
    struct mutate_rows *rows;
    struct slot *next; /* while spare */
    size_t index;      /* of the entry */
    size_t bytes;
    struct arena arena;
};

struct mutate_rows {
    struct gw_call *call;
    const Bt__MutateRowsRequest *request;
    struct slot *slots;
    struct slot *spare;
    size_t slot_count;
    size_t begun;
    size_t under_way;
    size_t under_way_bytes;
    bool wants_rate;
    bool waits;      /* for the tenant's scheduling turn */
    bool in_message; /* call->out ends in an open message */
    size_t message;  /* start of that message */
    struct buf status;
    struct buf entry;
};

static void cleanup(struct gw_call *call)
{
    struct mutate_rows *m = call->state;
    for (size_t i = 0; i < m->slot_count; i++)
        base_arena_fini(&m->slots[i].arena);
    base_buf_fini(&m->status);
    base_buf_fini(&m->entry);
}

static bool is_over(const struct mutate_rows *m)
{
    return gw_rpc_is_over(m->call);
}

/* --- verdicts ----------------------------------------------------------------------------------
 */

static void put_verdict(struct mutate_rows *m, size_t index, enum err result, const char *detail,
                        uint64_t retry_ns)
{
    struct buf *out = &m->call->out;
    if (!m->in_message)
        m->message = gw_frame_begin(out);
    m->in_message = true;
    base_buf_truncate(&m->status, 0);
    base_buf_truncate(&m->entry, 0);
    const struct gw_problem_extra extra = {.retry_ns = retry_ns};
    if (result != ERR_OK)
        gw_status_write(&m->status, (int)result, detail, &extra);
    if (index != 0)
        gw_wire_put_int(&m->entry, ENTRY_INDEX, index);
    /* Written even when it is empty, which is OK: some clients read it without checking that it is
     * there. */
    gw_wire_put_bytes(&m->entry, ENTRY_STATUS, base_buf_slice(&m->status));
    gw_wire_put_bytes(out, RESPONSE_ENTRIES, base_buf_slice(&m->entry));
    if (m->status.error != ERR_OK || m->entry.error != ERR_OK)
        out->error = ERR_NO_MEMORY;
}

static void put_rate(struct mutate_rows *m, int room)
{
    Google__Protobuf__Duration period = GOOGLE__PROTOBUF__DURATION__INIT;
    Bt__RateLimitInfo info = BT__RATE_LIMIT_INFO__INIT;
    uint8_t bytes[64];
    period.seconds = RATE_PERIOD_S;
    info.period = &period;
    info.factor = RATE_FACTOR_MIN + (RATE_FACTOR_MAX - RATE_FACTOR_MIN) * room / TEN_ROOM_FULL;
    INVARIANT(bt__rate_limit_info__get_packed_size(&info) <= sizeof bytes);
    gw_wire_put_bytes(&m->call->out, RESPONSE_RATE,
                      base_slice(bytes, bt__rate_limit_info__pack(&info, bytes)));
}

static void end_message(struct mutate_rows *m)
{
    gw_rpc_end_message(m->call, m->message);
    m->in_message = false;
}

static bool is_all_done(const struct mutate_rows *m)
{
    return m->begun == m->request->n_entries && m->under_way == 0;
}

/* Sends messages of some size, or all output when nothing else is coming. */
static void send_verdicts(struct mutate_rows *m)
{
    struct gw_call *call = m->call;
    bool is_last = is_all_done(m);
    bool is_due = call->out.len >= SEND_BYTES || m->under_way == 0;
    if (!m->in_message || !is_due)
        return;
    int room = is_last && m->wants_rate ? ten_visit_write_room(&call->visit) : -1;
    if (room >= 0)
        put_rate(m, room);
    end_message(m);
    if (is_last)
        gw_rpc_end(call);
    else
        gw_rpc_send_out(call);
}

/* Writes the verdict of an entry that was not executed, also if the peer is already gone. */
static void refuse_entry(struct slot *s, enum err e)
{
    struct mutate_rows *m = s->rows;
    gw_observe_entry(m->call, (int)e, s->op.retry_ns, false);
    if (!is_over(m))
        put_verdict(m, s->index, e, s->op.detail.text, s->op.retry_ns);
}

/* --- slots -------------------------------------------------------------------------------------
 */

static void slot_give_back(struct slot *s)
{
    struct mutate_rows *m = s->rows;
    base_arena_fini(&s->arena);
    s->next = m->spare;
    m->spare = s;
}

static struct slot *slot_take(struct mutate_rows *m, size_t index)
{
    struct slot *s = m->spare;
    m->spare = s->next;
    *s = (struct slot){.rows = m, .index = index};
    base_arena_init(&s->arena, ENTRY_BYTES);
    base_arena_charge(&s->arena, m->call->memory);
    return s;
}

static enum err make_slots(struct mutate_rows *m, struct errbuf *eb)
{
    size_t entries = m->request->n_entries;
    size_t count = entries < LIM_BULK_INFLIGHT ? entries : LIM_BULK_INFLIGHT;
    m->slots = base_arena_zalloc(&m->call->arena, count * sizeof *m->slots);
    if (m->slots == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu entries", count);
    m->slot_count = count;
    for (size_t i = 0; i < count; i++) {
        m->slots[i].rows = m;
        slot_give_back(&m->slots[i]);
    }
    return ERR_OK;
}

/* --- entries become operations -----------------------------------------------------------------
 */

static void pump(struct mutate_rows *m);
static void turn_came(struct gw_call *call);

static void entry_done(struct sto_mutate_op *op)
{
    struct slot *s = op->user;
    struct mutate_rows *m = s->rows;
    struct gw_call *call = m->call;
    m->under_way--;
    m->under_way_bytes -= s->bytes;
    gw_caller_charge_write(call, op);
    if (op->result != ERR_OK)
        refuse_entry(s, op->result);
    else if (!is_over(m))
        put_verdict(m, s->index, ERR_OK, "", 0);
    slot_give_back(s);
    pump(m);
    gw_call_drop(call);
}

static size_t bytes_of(const struct sto_mutation *list, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += sizeof list[i] + list[i].qualifier.len + list[i].value.len;
    return bytes;
}

static enum err read_entry(struct slot *s, const Bt__MutateRowsRequest__Entry *entry)
{
    const struct gw_call *call = s->rows->call;
    struct sto_mutate_op *op = &s->op;
    op->scope = call->scope; /* the call keeps the ref until it is freed */
    op->row_key = gw_proto_bytes(entry->row_key);
    op->mutation_count = entry->n_mutations;
    enum err e = gw_mutations_from_proto(op->scope.schema, entry->mutations, entry->n_mutations,
                                         &s->arena, &op->mutations, &op->detail);
    if (e == ERR_OK)
        e = gw_idempotency_from_proto(entry->idempotency, &op->idempotency, &op->detail);
    if (e == ERR_OK)
        e = sto_mutations_check(op->scope.schema, &call->tenant->account, op->row_key,
                                op->mutations, op->mutation_count, &op->detail);
    if (e == ERR_OK)
        e = gw_caller_check_row(call, op->row_key, &op->detail);
    const struct sto_view *view = gw_rpc(call)->view;
    if (e == ERR_OK && view != NULL)
        e = sto_view_mutations_check(view, op->scope.schema, op->row_key, op->mutations,
                                     op->mutation_count, &op->detail);
    return e;
}

static void submit(struct slot *s)
{
    struct mutate_rows *m = s->rows;
    s->bytes = bytes_of(s->op.mutations, s->op.mutation_count);
    s->op.reply_to = m->call->thread->mailbox;
    s->op.done = entry_done;
    s->op.user = s;
    s->op.unwanted = &m->call->unwanted;
    s->op.deadline_ns = gw_rpc(m->call)->deadline_ns;
    s->op.priority = m->call->priority;
    m->under_way++;
    m->under_way_bytes += s->bytes;
    gw_call_hold(m->call);
    sto_mutate_row(m->call->api->engine, &s->op);
}

static void begin_entry(struct mutate_rows *m)
{
    size_t index = m->begun++;
    struct slot *s = slot_take(m, index);
    enum err e = read_entry(s, m->request->entries[index]);
    if (e == ERR_OK) {
        ten_visit_pay_entry(&m->call->visit, gw_budget_bytes_of(&s->op));
        m->waits = gw_call_waits_turn(m->call, turn_came);
        submit(s);
        return;
    }
    refuse_entry(s, e);
    slot_give_back(s);
}

static bool may_begin(const struct mutate_rows *m)
{
    struct gw_exchange *ex = m->call->ex;
    return gw_rpc_goes_on(m->call) && m->begun < m->request->n_entries && m->spare != NULL &&
           !m->waits && m->under_way_bytes < LIM_BODY_BYTES &&
           (ex == NULL || !gw_exchange_is_full(ex));
}

/* Starts every entry that may start. Entries that are refused at once have no completion that would
 * call this function again: their verdicts are sent here. */
static void pump(struct mutate_rows *m)
{
    while (may_begin(m)) {
        begin_entry(m);
        if (m->call->out.len >= SEND_BYTES)
            send_verdicts(m);
    }
    if (!is_over(m))
        send_verdicts(m);
}

/* Continues when the peer has consumed verdicts, or is gone. */
static void on_room(struct gw_call *call)
{
    pump(call->state);
}

static void turn_came(struct gw_call *call)
{
    struct mutate_rows *m = call->state;
    m->waits = false;
    pump(m);
}

/* --- the request -------------------------------------------------------------------------------
 */

/* Checks the number of mutations. An entry without mutations is refused on its own, with a
 * verdict. */
static enum err check_count(const Bt__MutateRowsRequest *request, struct errbuf *eb)
{
    size_t count = 0;
    if (request->n_entries == 0)
        return base_fail(eb, ERR_INVALID, "No entries provided");
    for (size_t i = 0; i < request->n_entries; i++)
        count += request->entries[i]->n_mutations > 0 ? request->entries[i]->n_mutations : 1;
    if (count > LIM_MUTATIONS_PER_ROW)
        return base_fail(eb, ERR_TOO_BIG, "Too many mutations: %zu provided; limit %d", count,
                         LIM_MUTATIONS_PER_ROW);
    return ERR_OK;
}

static uint64_t bytes_of_request(const Bt__MutateRowsRequest *request)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < request->n_entries; i++) {
        const Bt__MutateRowsRequest__Entry *entry = request->entries[i];
        bytes +=
            entry->row_key.len + gw_mutations_proto_bytes(entry->mutations, entry->n_mutations);
    }
    return bytes;
}

static bool wants_rate(const struct gw_call *call, struct arena *arena)
{
    const Bt__FeatureFlags *features = call->ex == NULL ? NULL : gw_features_of(call->ex, arena);
    return features != NULL &&
           (features->mutate_rows_rate_limit || features->mutate_rows_rate_limit2);
}

void gw_mutate_rows(struct gw_call *call)
{
    struct mutate_rows *m = gw_call_new_state(call, sizeof *m, cleanup);
    struct errbuf eb = {{0}};
    m->call = call;
    m->request = (const Bt__MutateRowsRequest *)gw_rpc(call)->request;
    base_buf_init(&m->status, VERDICT_BYTES);
    base_buf_init(&m->entry, 2 * VERDICT_BYTES);
    enum err e = check_count(m->request, &eb);
    if (e == ERR_OK)
        e = make_slots(m, &eb);
    if (e != ERR_OK) {
        gw_rpc_fail(call, e, eb.text);
        return;
    }
    /* All entries are charged at once, on credit if necessary: clients wait as RetryInfo says for a
     * whole call, but not for single entries. */
    const struct ten_load load = {m->request->n_entries, bytes_of_request(m->request)};
    if (!gw_caller_admit_entries(call, load))
        return;
    m->wants_rate = wants_rate(call, &call->arena);
    call->on_drained = on_room;
    call->on_gone = on_room;
    pump(m);
}
