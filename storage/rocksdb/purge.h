/*
 * storage/rocksdb/purge.h - removes tenants' bytes from the files, and verifies that.
 *
 * Does:     purge.c: the physical steps of storage/engine.h in their order. audit.c: counts the
 *           stored entries, before and after them.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: why a tenant is offboarded, who signs the certificate.
 * Threads:  job threads.
 * Blocks:   yes, for as long as a compaction takes.
 * Fails by: ERR_CONFLICT (gate is not GONE, or a document changed), ERR_TIMEOUT (reads still open),
 *           ERR_IO, ERR_CORRUPT, ERR_UNAVAILABLE, ERR_OUTCOME_UNKNOWN.
 * Limits:   RDB_WAIT_SECONDS each for reads of the tenant to end, for older snapshots, and for
 *           replaced files to be released.
 * Promises: 1. No range tombstone is written among the rows: no other tenant's read is affected.
 *           2. Every step may be repeated.
 */
#ifndef STORAGE_ROCKSDB_PURGE_H
#define STORAGE_ROCKSDB_PURGE_H

#include "storage/engine.h"
#include "storage/places.h"
#include "storage/rocksdb/change_count.h"
#include "storage/rocksdb/db.h"
#include "storage/rocksdb/lost.h"
#include "storage/rocksdb/reclaim_note.h"
#include "storage/rocksdb/token.h"

/* storage/places.h defines what a purge does with each family and each kind of document; there is
 * no other list of them. */
static const enum sto_place_fate RDB_FAMILY_FATES[RDB_CF_COUNT] = {
#define X(id, name, fate) STO_PLACE_##fate,
    STO_FAMILIES(X)
#undef X
};

/* Returns whether the family holds a tenant's keys as range.h makes them. */
static inline bool sto_rdb_family_is_erased(int family)
{
    return RDB_FAMILY_FATES[family] == STO_PLACE_ERASED;
}

enum err sto_rdb_purge_run(struct sto_engine *engine, const struct sto_tenant_scope *scope,
                           enum sto_purge_step step, const struct sto_doc_change *changes,
                           size_t change_count, struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_purge_run_all(struct sto_engine *engine,
                               const struct sto_tenant_scope *const *scopes, size_t count,
                               enum sto_purge_step step, struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_audit_range(struct sto_engine *engine, const struct sto_tenant_scope *scope,
                             struct sto_audit *out, struct errbuf *eb) MUST_CHECK;

#endif
