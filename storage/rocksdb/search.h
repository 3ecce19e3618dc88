/*
 * storage/rocksdb/search.h - searches the bytes of all files for anything of given tenants.
 *
 * Does:     plants canaries. Reads the files of the database directory: tables block by block
 *           (table_file.h), unless they list their tenants (search_lists.h) and none of the given
 *           tenants is listed; logs and MANIFEST record by record; others as raw bytes
 *           (search_bytes.h); finds the tenants' keys, prefixes and canaries (search_match.h), for
 *           all tenants in one pass.
 * Owns:     nothing.
 * May use:  base/, storage/, OpenSSL's digests.
 * Knows no: the contents of a certificate.
 * Threads:  job threads; the disk serves others first until the search lags (shares.h).
 * Blocks:   yes: a deep search reads every file, another reads all logs.
 * Fails by: ERR_TIMEOUT (files that are no longer in use still hold bytes of a tenant, or are held
 *           open), ERR_CANCELLED, ERR_IO, ERR_CORRUPT, ERR_UNAVAILABLE.
 * Limits:   a block and RDB_SEARCH_CHUNK bytes in memory, and the names of all files, twice.
 * Promises: 1. Bytes that other tenants wrote into their keys and values count as outside, whatever
 *              they are: no tenant can keep another one from being certified as erased.
 */
#ifndef STORAGE_ROCKSDB_SEARCH_H
#define STORAGE_ROCKSDB_SEARCH_H

#include "storage/engine.h"

/* As sto_canaries_plant. */
enum err sto_rdb_canaries_plant(struct sto_engine *engine, const struct sto_tenant_scope *scope,
                                const uint8_t canaries[][STO_CANARY_BYTES], size_t count,
                                const struct sto_doc_change *docs, size_t doc_count,
                                struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_search_files(struct sto_engine *engine, struct sto_search_target *targets,
                              size_t count, const struct sto_search_spec *spec,
                              struct errbuf *eb) MUST_CHECK;

#endif
