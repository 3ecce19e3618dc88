/*
 * storage/rocksdb/docs.h - small versioned documents beside the table.
 *
 * Does:     compare-and-set of several documents in one synced batch; get, scan, counters.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: the contents of documents.
 * Threads:  any that may block.
 * Blocks:   on the disk, and on other changes of documents.
 * Fails by: ERR_CONFLICT, ERR_INVALID, ERR_TOO_BIG, ERR_NOT_FOUND, ERR_CORRUPT, ERR_IO,
 *           ERR_UNAVAILABLE, ERR_OUTCOME_UNKNOWN.
 * Limits:   STO_DOC_KEY_MAX, STO_DOC_BODY_MAX.
 * Promises: 1. Versions are compared and written under one lock: of two changes that expect the
 *              same version one fails.
 */
#ifndef STORAGE_ROCKSDB_DOCS_H
#define STORAGE_ROCKSDB_DOCS_H

#include <rocksdb/c.h>

#include "storage/engine.h"

struct rdb_engine;

/* Splits a stored document into version and body. ERR_CORRUPT. */
enum err sto_rdb_doc_parse(struct slice stored, uint64_t *out_version,
                           struct slice *out_body) MUST_CHECK;
/* Checks keys and sizes, and that no document is changed twice: linear if the keys rise, as those
 * of scanned documents do, n log n otherwise. out_compared (may be NULL): comparisons of two keys.
 * ERR_INVALID, ERR_TOO_BIG. */
enum err sto_rdb_docs_check(const struct sto_doc_change *changes, size_t count,
                            uint64_t *out_compared, struct errbuf *eb) MUST_CHECK;
/* Under docs_lock: checks the changes, compares all versions and puts the changes into batch. */
enum err sto_rdb_docs_stage(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                            const struct sto_doc_change *changes, size_t count,
                            struct errbuf *eb) MUST_CHECK;

/* The functions of storage/engine_ops.h. */
enum err sto_rdb_docs_commit(struct sto_engine *engine, const struct sto_doc_change *changes,
                             size_t count, struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_doc_get(struct sto_engine *engine, struct slice key, uint64_t *out_version,
                         struct buf *out, struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_docs_read(struct sto_engine *engine, const struct sto_docs_page *page,
                           enum err (*visit)(void *ctx, struct slice key, uint64_t version,
                                             struct slice body),
                           void *ctx, struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_counters_load(struct sto_engine *engine, const struct sto_table_scope *scope,
                               struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_table_forget(struct sto_engine *engine, const struct sto_table_scope *scope,
                              const struct sto_doc_change *docs, size_t doc_count,
                              struct errbuf *eb) MUST_CHECK;

#endif
