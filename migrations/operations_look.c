/*
 * migrations/operations_look.c - the present state of an operation: its document and, while it
 * waits or runs, the queue, which knows its progress.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "migrations/service_internal.h"
#include "tenancy/audit.h"
#include "tenancy/tables_replace.h"

#include "base/banned.h"

/* Called with the lock held. An operation in the queue has not ended, whatever its document says: a
 * restored table is stored a moment before requests can find it. */
static void queue_look(struct mig_service *s, struct slice tenant, struct mig_operation *op)
{
    size_t at = mig_queue_find(&s->queue, tenant, base_slice_text(op->id));
    if (at == s->queue.count)
        return;
    *op = s->queue.items[at];
    if (at > 0 || !s->queue.is_running)
        return;
    op->state = MIG_OP_RUNNING;
    op->done_bytes = atomic_load(&s->watch.done_bytes);
    op->all_bytes = atomic_load(&s->watch.all_bytes);
}

enum err mig_operation_get(struct mig_service *s, struct slice tenant, struct slice id,
                           struct mig_operation *out, struct errbuf *eb)
{
    struct buf body;
    uint64_t version;
    if (!mig_backup_id_is_valid(id) || sto_tenant_id_check(tenant, NULL) != ERR_OK)
        return base_fail(eb, ERR_NOT_FOUND, "there is no such operation");
    struct ten_doc_key key = ten_doc_key_operation(tenant, id);
    base_buf_init(&body, MIG_OPERATION_DOC_MAX);
    enum err rc =
        sto_doc_get(ten_registry_engine(s->registry), ten_doc_key_slice(&key), &version, &body, eb);
    if (rc == ERR_NOT_FOUND)
        rc = base_fail(eb, ERR_NOT_FOUND, "there is no such operation");
    if (rc == ERR_OK)
        rc = mig_operation_decode(tenant, id, base_buf_slice(&body), out);
    base_buf_fini(&body);
    if (rc != ERR_OK)
        return rc;
    pthread_mutex_lock(&s->lock);
    queue_look(s, tenant, out);
    pthread_mutex_unlock(&s->lock);
    return ERR_OK;
}

struct listing {
    struct mig_service *service;
    struct slice tenant;
    struct mig_operation *out;
    size_t count;
    size_t limit;
};

static enum err list_one(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct listing *l = ctx;
    struct slice tenant, id;
    (void)version;
    enum err rc = ten_doc_key_table_parts(key, &tenant, &id);
    if (rc == ERR_OK)
        rc = mig_operation_decode(tenant, id, body, &l->out[l->count]);
    if (rc == ERR_OK)
        l->count++;
    return rc;
}

size_t mig_operation_list(struct mig_service *s, struct slice tenant, struct mig_operation *out,
                          size_t limit)
{
    struct listing l = {.service = s, .tenant = tenant, .out = out, .limit = limit};
    struct ten_doc_key prefix = ten_doc_key_operation(tenant, SLICE_EMPTY);
    const struct sto_docs_page page = {
        .prefix = ten_doc_key_slice(&prefix), .limit = limit, .backwards = true};
    enum err rc = limit == 0 || sto_tenant_id_check(tenant, NULL) != ERR_OK
                      ? ERR_OK
                      : sto_docs_read(ten_registry_engine(s->registry), &page, list_one, &l, NULL);
    (void)rc; /* lists those that could be read */
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < l.count; i++)
        queue_look(s, tenant, &out[i]);
    pthread_mutex_unlock(&s->lock);
    return l.count;
}

void mig_operation_figures(struct mig_service *s, struct mig_operation_figures *out)
{
    *out = (struct mig_operation_figures){.running_ns = 0};
    pthread_mutex_lock(&s->lock);
    const struct mig_queue *q = &s->queue;
    memcpy(out->counts, q->ended, sizeof out->counts);
    for (size_t i = 0; i < q->count; i++)
        out->counts[q->items[i].kind][i == 0 && q->is_running ? MIG_OP_RUNNING : MIG_OP_WAITING]++;
    if (q->is_running)
        out->running_ns = base_monotonic_ns() - q->running_since;
    pthread_mutex_unlock(&s->lock);
}

/* --- cancelling, forgetting ------------------------------------------------------------------- */

enum err mig_operation_cancel(struct mig_service *s, struct ten_tenant *t, struct slice id,
                              struct errbuf *eb)
{
    struct mig_operation op;
    bool is_waiting = false;
    enum err rc = mig_operation_get(s, ten_tenant_id(t), id, &op, eb);
    if (rc != ERR_OK)
        return rc;
    pthread_mutex_lock(&s->lock);
    size_t at = mig_queue_find(&s->queue, ten_tenant_id(t), id);
    bool is_switching = at < s->queue.count && s->queue.items[at].is_switching;
    bool is_put_off =
        is_switching && s->queue.items[at].error[0] != '\0' && !(at == 0 && s->queue.is_running);
    if (is_switching && !is_put_off) {
        rc = base_fail(eb, ERR_CONFLICT,
                       "the tenant's tables are being replaced: it goes on to its end");
    } else if (at < s->queue.count && at == 0 && s->queue.is_running) {
        s->queue.is_cancelled = true;
    } else if (at < s->queue.count) {
        is_waiting = true;
        mig_queue_remove(&s->queue, at);
    }
    pthread_mutex_unlock(&s->lock);
    if (!is_waiting)
        return rc; /* it has ended, or will end */
    mig_operation_put_end(&op, ERR_CANCELLED,
                          is_put_off ? "cancelled while it waited; the tenant has no tables now"
                                     : "cancelled before it began");
    mig_queue_count_end(s, &op);
    if (is_put_off)
        ten_tables_replace_end(t);
    return mig_operation_store(s, &op, NULL, eb);
}

enum err mig_operation_forget(struct mig_service *s, struct ten_tenant *t, struct slice id,
                              struct errbuf *eb)
{
    struct mig_operation op;
    enum err rc = mig_operation_get(s, ten_tenant_id(t), id, &op, eb);
    if (rc != ERR_OK)
        return rc;
    if (op.state == MIG_OP_WAITING || op.state == MIG_OP_RUNNING)
        return base_fail(eb, ERR_CONFLICT, "the operation has not ended");
    struct ten_doc_key key = ten_doc_key_operation(ten_tenant_id(t), id);
    const struct sto_doc_change change = {.key = ten_doc_key_slice(&key), .expect = STO_DOC_ANY};
    return ten_docs_commit(s->registry, &change, 1, eb);
}
