/*
 * storage/rocksdb/apply.c - reads, changes, counts; undoes all of it when a limit refuses.
 *
 * 1. A row has a header exactly when it has a cell: no header in the database means that no cell of
 *    the row is there either, so a new row costs one Get that the filters resolve. A cell replaced
 *    by one of the same size changes nothing that the header counts, so that costs one Get, too.
 *    Which of the two is read first is a guess based on the previous row.
 * 2. The header's byte and cell counts are those of the row after the operation; the counters
 *    change by the difference.
 * 3. A known token returns its result before anything about the row can refuse: the first attempt
 *    decided.
 * 4. Steps that can be undone come first, the counters last.
 * 5. An operation that takes many steps is expensive: it is undone, and computed in a batch apart,
 *    on a reader, from the row as the database has it (plan.h). State that only the committer knows
 *    is applied when the operation returns: the gate and the quota of that time, the token,
 *    counters, header and change.
 *
 * 547 lines because committer and reader apply an operation with the same steps, in this order.
 */
#include "storage/rocksdb/apply.h"

#include "base/memory.h"
#include "storage/rocksdb/apply_row.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/token.h"

#include "base/banned.h"

#define STEPS_TO_SET    1 /* for each mutation: it reads a cell, or seeks one */
#define STEPS_TO_ASK    4
#define STEPS_OF_A_LOOK 2048 /* about a millisecond */
/* Removed keys that one move of a committer passes: about a millisecond. */
#define COMMIT_REMOVED_MAX 16384

enum err sto_rdb_row_head(struct rdb_row *r)
{
    if (r->has_head)
        return ERR_OK;
    size_t n = sto_key_header(r->key, r->row_len);
    enum err rc = sto_rdb_batch_head(r->batch, base_slice(r->key, n), &r->before);
    if (rc != ERR_OK)
        return rc;
    r->has_head = true;
    r->now = r->before.head;
    r->removed_max = r->steps_max == UINT64_MAX ? 0 : COMMIT_REMOVED_MAX;
    sto_rdb_row_cursor_open(&r->cursor, r->batch, base_slice(r->key, r->row_len), r->before.in_db,
                            r->removed_max);
    return ERR_OK;
}

/* Returns whether the operation may run at this moment. */
static enum err op_check(struct sto_mutate_op *op)
{
    enum err rc = sto_rdb_gate_check(op->scope.tenant.account, true, &op->detail);
    if (rc == ERR_OK)
        rc = sto_rdb_deadline_check(op->deadline_ns, &op->detail);
    if (rc == ERR_OK &&
        atomic_load_explicit(&op->scope.schema->table->forgotten, memory_order_relaxed))
        rc = base_fail(&op->detail, ERR_NOT_FOUND, "the table was deleted");
    return rc;
}

/* Returns whether a long operation may continue; on a reader, lets other scans run beside it. */
static enum err look(struct rdb_row *r)
{
    struct rdb_engine *e = r->batch->engine;
    r->steps_looked = r->steps;
    if (r->batch->is_apart) {
        sto_rdb_test_point(e, STO_DIE_LOOKING);
        r->is_aside = r->is_aside || sto_rdb_pool_step_aside(&e->pool);
    }
    if (sto_is_unwanted(r->op->unwanted))
        return base_fail(&r->op->detail, ERR_CANCELLED,
                         "the operation was cancelled; nothing was done");
    return op_check(r->op);
}

enum err sto_rdb_row_step(struct rdb_row *r, uint64_t steps)
{
    r->steps += steps;
    if (r->steps_max == UINT64_MAX && r->steps - r->steps_looked >= STEPS_OF_A_LOOK)
        return look(r);
    if (r->steps <= r->steps_max)
        return ERR_OK;
    r->is_dear = true;
    return ERR_CANCELLED;
}

static enum err moved(struct rdb_row *r, enum err rc)
{
    r->is_dear = r->is_dear || rc == ERR_CANCELLED;
    return rc;
}

enum err sto_rdb_row_seek(struct rdb_row *r, struct slice key)
{
    sto_rdb_row_cursor_bound(&r->cursor, r->removed_max);
    return moved(r, sto_rdb_row_cursor_seek(&r->cursor, key));
}

enum err sto_rdb_row_next(struct rdb_row *r)
{
    return moved(r, sto_rdb_row_cursor_next(&r->cursor));
}

static bool row_existed(const struct rdb_row *r)
{
    return !r->has_head || r->before.head.cells > 0;
}

static enum err mutation_run(struct rdb_row *r, const struct sto_mutation *m, struct errbuf *eb)
{
    bool is_set = m->kind == STO_SET_CELL;
    enum err rc = sto_rdb_row_step(r, is_set ? STEPS_TO_SET : STEPS_TO_ASK);
    if (rc == ERR_OK && !is_set)
        rc = sto_rdb_row_head(r);
    if (rc != ERR_OK)
        return rc;
    switch (m->kind) {
    case STO_SET_CELL:
        return sto_rdb_row_set(r, m);
    case STO_ADD_TO_CELL:
    case STO_MERGE_TO_CELL:
        return sto_rdb_row_aggregate(r, m, eb);
    case STO_APPEND:
    case STO_INCREMENT:
        return sto_rdb_row_modify(r, m, eb);
    case STO_DELETE_FROM_COLUMN:
    case STO_DELETE_FROM_FAMILY:
    case STO_DELETE_FROM_ROW:
        return sto_rdb_row_delete(r, m);
    }
    return ERR_INVALID;
}

static enum err mutations_run(struct rdb_row *r, const struct rdb_todo *todo, struct errbuf *eb)
{
    struct errbuf inner = {{0}};
    if (todo->count > r->steps_max - r->steps)
        return sto_rdb_row_step(r, todo->count);
    for (size_t i = 0; i < todo->count; i++) {
        enum err rc = mutation_run(r, &todo->mutations[i], &inner);
        if (rc == ERR_OK)
            continue;
        if (r->is_dear || eb->text[0] != '\0')
            return rc;
        if (rc == ERR_CORRUPT)
            return base_fail(eb, rc, "stored bytes of the row are damaged");
        if (rc == ERR_TOO_BIG && r->deleted > LIM_DELETE_CELLS)
            return base_fail(eb, rc,
                             "one operation deletes at most %d cells; delete by column or drop the "
                             "row by prefix",
                             LIM_DELETE_CELLS);
        if (inner.text[0] == '\0')
            return base_fail(eb, rc, "mutation %zu of the row cannot be done: %s", i + 1,
                             base_err_name(rc));
        return todo->count == 1 ? base_fail(eb, rc, "%s", inner.text)
                                : base_fail(eb, rc, "mutation %zu: %s", i + 1, inner.text);
    }
    return ERR_OK;
}

/* Writes the header and the counters. */
static enum err row_count(struct rdb_row *r, struct rdb_tally *tally, const struct sto_delta *delta,
                          struct errbuf *eb)
{
    uint64_t cells = r->now.cells + r->deleted;
    if (r->now.cells != r->before.head.cells || r->now.bytes != r->before.head.bytes) {
        enum err rc = sto_rdb_batch_put_head(r->batch, &r->before, &r->now);
        if (rc != ERR_OK)
            return base_fail(eb, rc, "no memory for the commit");
        rc = sto_rdb_batch_count(r->batch, tally, delta);
        if (rc != ERR_OK)
            return base_fail(eb, rc, "the counters do not match what is stored");
    }
    if (cells > r->before.head.cells)
        sto_rdb_batch_note_added(tally, cells - r->before.head.cells);
    return ERR_OK;
}

/* As row_count, and records the changes for the stream. */
static enum err row_count_and_tell(struct rdb_row *r, struct rdb_tally *tally,
                                   const struct sto_delta *delta, struct errbuf *eb)
{
    if (!r->changes.on)
        return row_count(r, tally, delta, eb);
    sto_rdb_batch_save(r->batch);
    uint64_t before = tally->change_bytes;
    enum err rc = sto_rdb_change_log_put(&r->changes, r->batch, tally, &r->op->scope,
                                         STO_CHANGE_USER, r->op->row_key, r->server_us);
    if (rc != ERR_OK)
        rc = base_fail(eb, rc, "no memory for the table's change stream");
    else if (!sto_mutations_only_delete(r->todo.mutations, r->todo.count))
        rc = sto_rdb_change_quota_check(r->op->scope.tenant.account,
                                        sto_rdb_batch_changes(r->batch, tally),
                                        tally->change_bytes - before, eb);
    if (rc == ERR_OK)
        rc = row_count(r, tally, delta, eb);
    if (rc == ERR_OK) {
        sto_rdb_batch_keep(r->batch);
    } else {
        sto_rdb_batch_uncount_changes(r->batch, tally, tally->change_bytes - before);
        sto_rdb_batch_take_back(r->batch);
    }
    return rc;
}

/* Checks the limits that need the operation's changes, then writes the header. */
static enum err row_close(struct rdb_row *r, struct errbuf *eb)
{
    struct sto_delta delta = {
        .bytes = (int64_t)r->now.bytes - (int64_t)r->before.head.bytes,
        .cells = (int64_t)r->now.cells - (int64_t)r->before.head.cells,
        .rows = (int64_t)(r->now.cells > 0) - (int64_t)(r->before.head.cells > 0),
    };
    if ((r->now.cells == 0) != (r->now.bytes == 0))
        return base_fail(eb, ERR_CORRUPT, "the row's header does not match its cells");
    const struct sto_account *account = r->op->scope.tenant.account;
    enum err rc = ERR_OK;
    if (delta.bytes > 0)
        rc = sto_account_limit_check(account, STO_LIMIT_ROW, r->now.bytes, eb);
    if (rc != ERR_OK)
        return rc;
    struct rdb_tally *tally = sto_rdb_batch_tally(r->batch, &r->op->scope);
    if (tally == NULL)
        return base_fail(eb, ERR_OVERLOADED, "too many tables in one commit; retry");
    rc = sto_rdb_quota_check(account, sto_rdb_batch_account(r->batch, tally), &delta, eb);
    if (rc != ERR_OK)
        return rc;
    return row_count_and_tell(r, tally, &delta, eb);
}

/* Checks that no family was dropped after the writer read its schema. */
static enum err families_check(const struct sto_table *table, const struct rdb_todo *todo,
                               struct errbuf *eb)
{
    if (atomic_load_explicit(&table->closed, memory_order_relaxed) == NULL)
        return ERR_OK;
    for (size_t i = 0; i < todo->count; i++)
        if (sto_table_family_is_closed(table, todo->mutations[i].family))
            return base_fail(eb, ERR_NOT_FOUND, "mutation %zu: the column family was dropped",
                             i + 1);
    return ERR_OK;
}

/* Returns whether no condition needs the header, and the first mutation may replace a cell in
 * place. */
static bool may_do_without_head(const struct rdb_batch *b, const struct sto_mutate_op *op)
{
    return b->expects_known && op->check == NULL && !op->must_exist && !op->must_not_exist &&
           op->modified == NULL && op->mutation_count > 0 &&
           op->mutations[0].kind == STO_SET_CELL &&
           op->mutations[0].timestamp_us != STO_TIMESTAMP_SERVER;
}

static enum err row_open(struct rdb_row *r, struct rdb_batch *b, struct sto_mutate_op *op,
                         int64_t server_us)
{
    r->batch = b;
    r->op = op;
    r->server_us = server_us;
    r->todo = (struct rdb_todo){op->mutations, op->mutation_count};
    r->deleted = 0;
    r->is_emptied = false;
    r->before = (struct rdb_head_view){0};
    r->now = (struct sto_row_head){0};
    enum err rc = op_check(op);
    if (rc != ERR_OK)
        return rc;
    sto_rdb_change_log_begin(&r->changes, op->scope.schema->table);
    /* the account's limit was checked before */
    rc = sto_row_key_check(NULL, op->row_key, &op->detail);
    if (rc != ERR_OK)
        return rc;
    r->row_len = sto_key_row(&op->scope, op->row_key, r->key);
    if (may_do_without_head(b, op))
        return ERR_OK;
    rc = sto_rdb_row_head(r);
    if (rc == ERR_NO_MEMORY)
        return base_fail(&op->detail, rc, "no memory for the commit");
    if (rc != ERR_OK)
        return base_fail(&op->detail, rc, "the row's header cannot be read");
    op->row_existed = row_existed(r);
    return ERR_OK;
}

/* Selects the mutations that apply. */
static enum err row_choose(struct rdb_row *r, struct sto_mutate_op *op, struct rdb_todo *out)
{
    struct sto_check *check = op->check;
    if (check == NULL)
        return ERR_OK;
    check->matched = op->row_existed;
    enum err rc = check->predicate == NULL && check->view == NULL
                      ? ERR_OK
                      : sto_rdb_row_matches(r, check, &check->matched, &op->detail);
    if (r->is_dear)
        return rc;
    if (rc != ERR_OK)
        return op->detail.text[0] != '\0'
                   ? rc
                   : base_fail(&op->detail, rc, "the row cannot be read for its condition");
    if (!check->matched)
        *out = (struct rdb_todo){check->otherwise, check->otherwise_count};
    return ERR_OK;
}

/* Checks that they are allowed by conditions outside the row. */
static enum err todo_check(struct rdb_row *r, struct sto_mutate_op *op)
{
    enum err rc = families_check(op->scope.schema->table, &r->todo, &op->detail);
    if (rc == ERR_OK && sto_rdb_headroom_is_low(&r->batch->engine->headroom) &&
        !sto_mutations_only_delete(r->todo.mutations, r->todo.count))
        return base_fail(&op->detail, ERR_STORAGE_FULL,
                         "the disk is at its headroom; deletes still pass");
    return rc;
}

/* Checks that they are allowed. */
static enum err row_decide(struct rdb_row *r, struct sto_mutate_op *op)
{
    if (op->must_exist && !op->row_existed)
        return base_fail(&op->detail, ERR_PRECONDITION, "the row does not exist");
    if (op->must_not_exist && op->row_existed)
        return base_fail(&op->detail, ERR_PRECONDITION, "the row exists already");
    enum err rc = row_choose(r, op, &r->todo);
    return rc == ERR_OK ? todo_check(r, op) : rc;
}

/* Returns the cells that op->mutations changed, and no others. */
static enum err row_tell(struct rdb_row *r, struct sto_mutate_op *op)
{
    if (op->modified == NULL || (op->check != NULL && !op->check->matched))
        return ERR_OK;
    return sto_rdb_row_modified(r, op->modified, &op->detail);
}

/* Computes all changes of the row's cells. */
static enum err row_work_out(struct rdb_row *r, struct sto_mutate_op *op)
{
    enum err rc = row_decide(r, op);
    if (rc == ERR_OK)
        rc = mutations_run(r, &r->todo, &op->detail);
    if (rc != ERR_OK)
        return rc;
    op->row_existed = row_existed(r);
    return row_tell(r, op);
}

static enum err token_put(struct rdb_batch *b, struct sto_mutate_op *op,
                          const struct rdb_token *token)
{
    if (op->idempotency.token.len == 0 || sto_rdb_token_put(b, op, token) == ERR_OK)
        return ERR_OK;
    return base_fail(&op->detail, ERR_NO_MEMORY, "no memory for the commit");
}

static enum err row_change(struct rdb_row *r, struct sto_mutate_op *op)
{
    struct rdb_token token;
    bool has_token = op->idempotency.token.len > 0;
    enum err rc = ERR_OK;
    if (has_token)
        rc = sto_rdb_token_find(r->batch, op, r->server_us, &token, &op->repeated, &op->detail);
    if (rc == ERR_OK && op->repeated) {
        r->removed_max = 0; /* a plan does not know the token, and would be stale */
        return row_tell(r, op);
    }
    if (rc == ERR_OK)
        rc = row_work_out(r, op);
    if (rc == ERR_OK)
        rc = token_put(r->batch, op, &token);
    return rc == ERR_OK ? row_close(r, &op->detail) : rc;
}

static void results_clear(struct sto_mutate_op *op, int64_t server_us)
{
    op->commit_us = server_us;
    op->row_existed = false;
    op->repeated = false;
    op->detail.text[0] = '\0';
    if (op->check != NULL)
        op->check->matched = false;
    if (op->modified != NULL) {
        op->modified->cells = NULL;
        op->modified->count = 0;
    }
}

/* Checks that every value to be written can be encrypted. */
static enum err key_check(const struct rdb_batch *b, struct errbuf *eb)
{
    if (b->cipher == NULL || sto_cipher_versions(b->cipher) > 0)
        return ERR_OK;
    return base_fail(eb, ERR_UNAVAILABLE, "%s", sto_unseal_text(ERR_UNAVAILABLE));
}

static void row_init(struct rdb_row *r, uint64_t steps_max)
{
    r->steps = 0;
    r->steps_max = steps_max;
    r->steps_looked = 0;
    r->is_aside = false;
    r->is_dear = false;
    r->bytes_seen = 0;
    r->work_ns = 0;
    r->bytes_deleted = 0;
    r->has_head = false;
    base_buf_init(&r->state, STO_AGGREGATE_STATE_MAX);
    sto_rdb_change_log_init(&r->changes);
    r->cursor.options = NULL;
    r->cursor.iterator = NULL;
    base_buf_init(&r->cursor.plain, 0);
}

void sto_rdb_row_fini(struct rdb_row *r)
{
    sto_rdb_row_cursor_close(&r->cursor);
    base_buf_fini(&r->state);
    sto_rdb_change_log_fini(&r->changes);
}

static void effort_tell(const struct rdb_row *r, struct sto_mutate_op *op)
{
    op->bytes_seen = r->bytes_seen;
    op->work_ns = r->work_ns;
    op->bytes_deleted = r->bytes_deleted;
}

static enum err op_result(struct sto_mutate_op *op, enum err rc)
{
    if (rc != ERR_OK && op->modified != NULL)
        op->modified->count = 0;
    op->result = rc;
    return rc;
}

enum err sto_rdb_apply(struct rdb_batch *b, struct sto_mutate_op *op, int64_t server_us,
                       struct rdb_effort *effort)
{
    struct rdb_row r; /* large: each part is set where it is first used */
    struct rdb_undo *mark = sto_rdb_overlay_mark(&b->overlay);
    struct rdb_undo *token_mark = sto_rdb_overlay_mark(&b->tokens);
    results_clear(op, server_us);
    row_init(&r, effort->steps_max);
    b->cipher = op->scope.tenant.account->cipher;
    enum err rc = key_check(b, &op->detail);
    if (rc == ERR_OK)
        rc = row_open(&r, b, op, server_us);
    if (rc == ERR_OK)
        rc = row_change(&r, op);
    if (rc != ERR_OK) {
        sto_rdb_overlay_undo(&b->overlay, mark);
        sto_rdb_overlay_undo(&b->tokens, token_mark);
    }
    effort->steps = r.steps;
    effort->is_dear = r.is_dear;
    effort_tell(&r, op);
    sto_rdb_row_fini(&r);
    return op_result(op, rc);
}

/* --- in a batch apart ------------------------------------------------------------------------- */

static enum err no_memory(const struct rdb_batch *apart, struct sto_mutate_op *op)
{
    const struct base_memory_share *share = apart->overlay.arena.share;
    if (share == NULL || share->budget == NULL)
        return base_fail(&op->detail, ERR_NO_MEMORY, "no memory for the operation");
    return base_fail(&op->detail, ERR_NO_MEMORY,
                     "the operation's changes take too much memory: requests of one caller may "
                     "hold %zu bytes together at this moment; change fewer cells at a time, or "
                     "retry later",
                     base_memory_most(share));
}

enum err sto_rdb_apply_apart(struct rdb_row *r, struct rdb_batch *apart, struct sto_mutate_op *op,
                             int64_t server_us)
{
    INVARIANT(apart->is_apart);
    results_clear(op, server_us);
    row_init(r, UINT64_MAX);
    apart->cipher = op->scope.tenant.account->cipher;
    enum err rc = key_check(apart, &op->detail);
    if (rc == ERR_OK)
        rc = row_open(r, apart, op, server_us);
    if (rc == ERR_OK)
        rc = row_work_out(r, op);
    if (rc == ERR_OK) {
        rc = sto_rdb_batch_build(apart);
        if (rc != ERR_OK && rc != ERR_NO_MEMORY)
            rc = base_fail(&op->detail, ERR_UNAVAILABLE, "%s", sto_unseal_text(ERR_UNAVAILABLE));
    }
    if (rc == ERR_NO_MEMORY)
        rc = no_memory(apart, op);
    sto_rdb_row_cursor_close(&r->cursor); /* holds nothing of the database on its way back */
    effort_tell(r, op);
    return op_result(op, rc);
}

/* Checks state beside the row that may have changed. */
static enum err planned_check(struct rdb_batch *b, struct rdb_row *r, struct sto_mutate_op *op)
{
    enum err rc = op_check(op);
    if (rc == ERR_OK)
        rc = key_check(b, &op->detail);
    return rc == ERR_OK ? todo_check(r, op) : rc;
}

/* Reads the row's header as the committer sees it; false: the plan was made for another state. */
static bool planned_head(struct rdb_batch *b, struct rdb_row *r)
{
    struct rdb_head_view view;
    size_t n = sto_key_header(r->key, r->row_len);
    if (sto_rdb_batch_head(b, base_slice(r->key, n), &view) != ERR_OK ||
        view.head.cells != r->before.head.cells || view.head.bytes != r->before.head.bytes)
        return false;
    bool has_stream = atomic_load_explicit(&r->op->scope.schema->table->changes.since_us,
                                           memory_order_acquire) != 0;
    r->before = view;
    return has_stream == r->changes.on;
}

enum err sto_rdb_apply_planned(struct rdb_batch *b, struct rdb_row *r, struct sto_mutate_op *op,
                               bool *out_stale)
{
    struct rdb_batch *apart = r->batch;
    struct rdb_token token;
    bool repeated = false;
    b->cipher = op->scope.tenant.account->cipher;
    enum err rc = planned_check(b, r, op);
    *out_stale = rc == ERR_OK && !planned_head(b, r);
    if (rc == ERR_OK && !*out_stale && op->idempotency.token.len > 0) {
        rc = sto_rdb_token_find(b, op, r->server_us, &token, &repeated, &op->detail);
        *out_stale = repeated; /* by an operation of another priority */
    }
    if (rc == ERR_OK && !*out_stale) {
        rocksdb_writebatch_t *empty = b->writes;
        b->writes = apart->writes;
        apart->writes = empty;
        r->batch = b;
        rc = token_put(b, op, &token);
    }
    if (rc == ERR_OK && !*out_stale)
        rc = row_close(r, &op->detail);
    return op_result(op, rc);
}
