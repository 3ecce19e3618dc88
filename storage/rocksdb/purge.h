/*
 * storage/rocksdb/purge.h - removing tenants' bytes from the files, and checking that.
 *
 * Does:     purge.c: the physical steps of storage/engine.h in their order. audit.c: what is
 *           physically there, before and after them.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: why a tenant leaves, who signs the certificate.
 * Threads:  job threads.
 * Blocks:   yes, for as long as a compaction takes.
 * Fails by: ERR_CONFLICT (gate is not GONE, or a document changed), ERR_TIMEOUT (reads still open),
 *           ERR_IO, ERR_CORRUPT, ERR_UNAVAILABLE, ERR_OUTCOME_UNKNOWN.
 * Limits:   RDB_WAIT_SECONDS for reads of the tenant to end, for snapshots of before, and for
 *           replaced files to be let go.
 * Promises: 1. No range tombstone is written among the rows: no other tenant's read is affected.
 *           2. Every step may be repeated.
 */
#ifndef STORAGE_ROCKSDB_PURGE_H
#define STORAGE_ROCKSDB_PURGE_H

#include "storage/engine.h"
#include "storage/rocksdb/change_count.h"
#include "storage/rocksdb/db.h"
#include "storage/rocksdb/lost.h"
#include "storage/rocksdb/reclaim_note.h"
#include "storage/rocksdb/token.h"

/* The families that hold a tenant's keys as range.h makes them. */
static const int RDB_TENANT_FAMILIES[] = {RDB_CF_CELLS, RDB_CF_CHANGES};
#define RDB_TENANT_FAMILY_COUNT (sizeof(RDB_TENANT_FAMILIES) / sizeof(RDB_TENANT_FAMILIES[0]))
/* Of a tenant's metadata that leaves with it: counters, schemas, sweeps, views, operations, the
 * instance that it is at the emulator's listener, counts of removed changes, tokens, dropped rows
 * whose bytes are still there, lost rows. */
static const char RDB_TENANT_LETTERS[] = {'u',
                                          's',
                                          'w',
                                          'v',
                                          'o',
                                          'e',
                                          RDB_CHANGE_LETTER,
                                          RDB_TOKEN_LETTER,
                                          RDB_NOTE_LETTER,
                                          RDB_OLD_NOTE_LETTER,
                                          RDB_LOST_LETTER,
                                          '\0'};

enum err sto_rdb_purge_run(struct sto_engine *engine, const struct sto_tenant_scope *scope,
                           enum sto_purge_step step, const struct sto_doc_change *changes,
                           size_t change_count, struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_purge_run_all(struct sto_engine *engine,
                               const struct sto_tenant_scope *const *scopes, size_t count,
                               enum sto_purge_step step, struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_audit_range(struct sto_engine *engine, const struct sto_tenant_scope *scope,
                             struct sto_audit *out, struct errbuf *eb) MUST_CHECK;

#endif
