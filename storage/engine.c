/*
 * storage/engine.c - the boundary's functions: each checks its handles and calls the engine.
 *
 * 1. Every handle carries STO_ENGINE_MAGIC, every scope its own magic: a stale or foreign pointer
 *    aborts here instead of reading another tenant's rows.
 */
#include "storage/engine_ops.h"

#include "base/banned.h"

static void check_engine(const struct sto_engine *e)
{
    INVARIANT(e != NULL && e->magic == STO_ENGINE_MAGIC);
}

static void check_table(const struct sto_table_scope *scope)
{
    INVARIANT(scope->tenant.magic == STO_SCOPE_MAGIC && scope->schema != NULL);
}

void sto_mutate_row(struct sto_engine *e, struct sto_mutate_op *op)
{
    check_engine(e);
    check_table(&op->scope);
    INVARIANT(op->done != NULL && op->reply_to != NULL);
    e->ops->mutate_row(e, op);
}

bool sto_read_rows(struct sto_engine *e, struct sto_read_op *op, bool try_inline)
{
    check_engine(e);
    check_table(&op->scope);
    INVARIANT(op->sink != NULL && op->done != NULL && op->reply_to != NULL);
    return e->ops->read_rows(e, op, try_inline);
}

void sto_read_finish(struct sto_engine *e, struct sto_read_op *op)
{
    check_engine(e);
    e->ops->read_finish(e, op);
}

void sto_read_changes(struct sto_engine *e, struct sto_change_op *op)
{
    check_engine(e);
    check_table(&op->scope);
    INVARIANT(op->sink != NULL && op->done != NULL && op->reply_to != NULL);
    e->ops->read_changes(e, op);
}

bool sto_changes_wait_for(const struct sto_change_op *op)
{
    const struct sto_table *table = op->scope.schema->table;
    return atomic_load(&table->changes.last_us) > op->passed_us ||
           atomic_load(&table->changes.since_us) != op->since_us ||
           atomic_load(&table->forgotten) ||
           (atomic_load(&op->scope.tenant.account->gate) & (STO_GATE_NO_READS | STO_GATE_GONE)) !=
               0;
}

void sto_sample_row_keys(struct sto_engine *e, struct sto_sample_op *op)
{
    check_engine(e);
    check_table(&op->scope);
    INVARIANT(op->arena != NULL && op->done != NULL && op->reply_to != NULL);
    e->ops->sample_row_keys(e, op);
}

void sto_drop_rows(struct sto_engine *e, struct sto_drop_op *op)
{
    check_engine(e);
    check_table(&op->scope);
    INVARIANT(op->done != NULL && op->reply_to != NULL);
    e->ops->drop_rows(e, op);
}

void sto_recount(struct sto_engine *e, struct sto_recount_op *op)
{
    check_engine(e);
    INVARIANT(op->scope.magic == STO_SCOPE_MAGIC && op->done != NULL && op->reply_to != NULL);
    e->ops->recount(e, op);
}

void sto_fence(struct sto_engine *e, struct sto_fence_op *op)
{
    check_engine(e);
    INVARIANT(op->scope.magic == STO_SCOPE_MAGIC && op->done != NULL && op->reply_to != NULL);
    e->ops->fence(e, op);
}

enum err sto_docs_commit(struct sto_engine *e, const struct sto_doc_change *changes, size_t count,
                         struct errbuf *eb)
{
    check_engine(e);
    return e->ops->docs_commit(e, changes, count, eb);
}

enum err sto_doc_get(struct sto_engine *e, struct slice key, uint64_t *out_version, struct buf *out,
                     struct errbuf *eb)
{
    check_engine(e);
    return e->ops->doc_get(e, key, out_version, out, eb);
}

enum err sto_docs_scan(struct sto_engine *e, struct slice key_prefix, sto_doc_visit *visit,
                       void *ctx, struct errbuf *eb)
{
    const struct sto_docs_page all = {.prefix = key_prefix, .limit = SIZE_MAX};
    return sto_docs_read(e, &all, visit, ctx, eb);
}

enum err sto_docs_read(struct sto_engine *e, const struct sto_docs_page *page, sto_doc_visit *visit,
                       void *ctx, struct errbuf *eb)
{
    check_engine(e);
    return e->ops->docs_read(e, page, visit, ctx, eb);
}

enum err sto_counters_load(struct sto_engine *e, const struct sto_table_scope *scope,
                           struct errbuf *eb)
{
    check_engine(e);
    check_table(scope);
    return e->ops->counters_load(e, scope, eb);
}

enum err sto_table_forget(struct sto_engine *e, const struct sto_table_scope *scope,
                          const struct sto_doc_change *docs, size_t doc_count, struct errbuf *eb)
{
    check_engine(e);
    check_table(scope);
    return e->ops->table_forget(e, scope, docs, doc_count, eb);
}

const char *sto_purge_step_name(enum sto_purge_step step)
{
    static const char *const NAMES[STO_PURGE_STEP_COUNT] = {
        [STO_PURGE_FENCE] = "fence",
        [STO_PURGE_DELETE_FILES] = "delete_files",
        [STO_PURGE_DELETE_RANGE] = "delete_range",
        [STO_PURGE_FLUSH] = "flush",
        [STO_PURGE_COMPACT] = "compact",
    };
    return (unsigned)step < STO_PURGE_STEP_COUNT ? NAMES[step] : "unknown";
}

enum err sto_purge_run(struct sto_engine *e, const struct sto_tenant_scope *scope,
                       enum sto_purge_step step, const struct sto_doc_change *changes,
                       size_t change_count, struct errbuf *eb)
{
    check_engine(e);
    INVARIANT(scope->magic == STO_SCOPE_MAGIC);
    return e->ops->purge_run(e, scope, step, changes, change_count, eb);
}

enum err sto_purge_run_all(struct sto_engine *e, const struct sto_tenant_scope *const *scopes,
                           size_t count, enum sto_purge_step step, struct errbuf *eb)
{
    check_engine(e);
    for (size_t i = 0; i < count; i++)
        INVARIANT(scopes[i]->magic == STO_SCOPE_MAGIC);
    return e->ops->purge_run_all(e, scopes, count, step, eb);
}

enum err sto_audit_range(struct sto_engine *e, const struct sto_tenant_scope *scope,
                         struct sto_audit *out, struct errbuf *eb)
{
    check_engine(e);
    INVARIANT(scope->magic == STO_SCOPE_MAGIC);
    return e->ops->audit_range(e, scope, out, eb);
}

uint64_t sto_audit_snapshots_of(const struct sto_audit *audit, uint64_t sequence)
{
    bool is_older = audit->oldest_snapshot != 0 && audit->oldest_snapshot < sequence;
    return is_older ? audit->snapshots : 0;
}

enum err sto_canaries_plant(struct sto_engine *e, const struct sto_tenant_scope *scope,
                            const uint8_t canaries[][STO_CANARY_BYTES], size_t count,
                            const struct sto_doc_change *docs, size_t doc_count, struct errbuf *eb)
{
    check_engine(e);
    INVARIANT(scope->magic == STO_SCOPE_MAGIC && count <= STO_CANARIES);
    return e->ops->canaries_plant(e, scope, canaries, count, docs, doc_count, eb);
}

enum err sto_search_files(struct sto_engine *e, struct sto_search_target *targets, size_t count,
                          const struct sto_search_spec *spec, struct errbuf *eb)
{
    check_engine(e);
    INVARIANT(count > 0);
    for (size_t i = 0; i < count; i++)
        INVARIANT(targets[i].scope->magic == STO_SCOPE_MAGIC);
    return e->ops->search_files(e, targets, count, spec, eb);
}

void sto_erasing_since(struct sto_engine *e, uint64_t since_ns)
{
    check_engine(e);
    e->ops->erasing_since(e, since_ns);
}

void sto_progress_watch(struct sto_engine *e, struct sto_progress *progress)
{
    check_engine(e);
    e->ops->progress_watch(e, progress);
}

const char *sto_disk_name(enum sto_disk disk)
{
    static const char *const NAMES[STO_DISK_STATES] = {"ok", "full", "read_only", "failed"};
    INVARIANT(disk < STO_DISK_STATES);
    return NAMES[disk];
}

const char *sto_scrub_kind_name(enum sto_scrub_kind kind)
{
    static const char *const NAMES[STO_SCRUB_KINDS] = {"block", "list", "unreadable", "copy"};
    INVARIANT(kind < STO_SCRUB_KINDS);
    return NAMES[kind];
}

void sto_health_get(struct sto_engine *e, struct sto_health *out)
{
    check_engine(e);
    e->ops->health_get(e, out);
}

void sto_damage_get(struct sto_engine *e, struct sto_damage *out)
{
    check_engine(e);
    e->ops->damage_get(e, out);
}

void sto_engine_stats_get(struct sto_engine *e, struct sto_engine_stats *out)
{
    check_engine(e);
    e->ops->stats_get(e, out);
}

void sto_engine_close(struct sto_engine *e)
{
    if (e == NULL)
        return;
    check_engine(e);
    e->ops->close(e);
}
