/*
 * storage/engine_ops.h - the operations that an engine must implement for storage/engine.h.
 *
 * Does:     names the operations of an engine as one table of functions, each with the contract of
 *           its namesake in storage/engine.h.
 * Owns:     nothing; an engine puts struct sto_engine first in its own structure.
 * May use:  base/, storage/.
 * Knows no: which engines exist.
 * Threads:  as storage/engine.h.
 * Blocks:   as storage/engine.h.
 * Fails by: as storage/engine.h.
 * Limits:   none.
 * Promises: 1. Only engines include this header.
 */
#ifndef STORAGE_ENGINE_OPS_H
#define STORAGE_ENGINE_OPS_H

#include "storage/engine.h"

#define STO_ENGINE_MAGIC 0x5e0e0001u

typedef enum err sto_doc_visit(void *ctx, struct slice key, uint64_t version, struct slice body);

struct sto_engine_ops {
    void (*mutate_row)(struct sto_engine *e, struct sto_mutate_op *op);
    bool (*read_rows)(struct sto_engine *e, struct sto_read_op *op, bool try_inline);
    void (*read_finish)(struct sto_engine *e, struct sto_read_op *op);
    void (*read_changes)(struct sto_engine *e, struct sto_change_op *op);
    void (*sample_row_keys)(struct sto_engine *e, struct sto_sample_op *op);
    void (*drop_rows)(struct sto_engine *e, struct sto_drop_op *op);
    void (*recount)(struct sto_engine *e, struct sto_recount_op *op);
    void (*fence)(struct sto_engine *e, struct sto_fence_op *op);
    enum err (*docs_commit)(struct sto_engine *e, const struct sto_doc_change *changes,
                            size_t count, struct errbuf *eb);
    enum err (*doc_get)(struct sto_engine *e, struct slice key, uint64_t *out_version,
                        struct buf *out, struct errbuf *eb);
    enum err (*docs_read)(struct sto_engine *e, const struct sto_docs_page *page,
                          sto_doc_visit *visit, void *ctx, struct errbuf *eb);
    enum err (*counters_load)(struct sto_engine *e, const struct sto_table_scope *scope,
                              struct errbuf *eb);
    enum err (*table_forget)(struct sto_engine *e, const struct sto_table_scope *scope,
                             const struct sto_doc_change *docs, size_t doc_count,
                             struct errbuf *eb);
    enum err (*purge_run)(struct sto_engine *e, const struct sto_tenant_scope *scope,
                          enum sto_purge_step step, const struct sto_doc_change *changes,
                          size_t change_count, struct errbuf *eb);
    enum err (*purge_run_all)(struct sto_engine *e, const struct sto_tenant_scope *const *scopes,
                              size_t count, enum sto_purge_step step, struct errbuf *eb);
    enum err (*audit_range)(struct sto_engine *e, const struct sto_tenant_scope *scope,
                            struct sto_audit *out, struct errbuf *eb);
    enum err (*canaries_plant)(struct sto_engine *e, const struct sto_tenant_scope *scope,
                               const uint8_t canaries[][STO_CANARY_BYTES], size_t count,
                               const struct sto_doc_change *docs, size_t doc_count,
                               struct errbuf *eb);
    enum err (*search_files)(struct sto_engine *e, struct sto_search_target *targets, size_t count,
                             const struct sto_search_spec *spec, struct errbuf *eb);
    void (*erasing_since)(struct sto_engine *e, uint64_t since_ns);
    void (*progress_watch)(struct sto_engine *e, struct sto_progress *progress);
    void (*health_get)(struct sto_engine *e, struct sto_health *out);
    void (*damage_get)(struct sto_engine *e, struct sto_damage *out);
    void (*stats_get)(struct sto_engine *e, struct sto_engine_stats *out);
    void (*close)(struct sto_engine *e);
};

struct sto_engine {
    uint32_t magic;
    const struct sto_engine_ops *ops;
};

#endif
