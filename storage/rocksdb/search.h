/*
 * storage/rocksdb/search.h - is anything of some tenants in any file, by the bytes of the files.
 *
 * Does:     plant canaries. Read the files of the database directory: tables block by block
 *           (table_file.h), unless they list their tenants (search_lists.h) and none of these is
 *           among them; logs and MANIFEST record by record; others as they are (search_bytes.h);
 *           find their keys, prefixes and canaries (search_match.h), of all of them in one pass.
 * Owns:     nothing.
 * May use:  base/, storage/, OpenSSL's digests.
 * Knows no: what a certificate says.
 * Threads:  job threads; the disk serves others first until it lags (shares.h).
 * Blocks:   yes: a deep search reads all there is, another all logs.
 * Fails by: ERR_TIMEOUT (files that are not in use any more still hold something, or are held),
 *           ERR_CANCELLED, ERR_IO, ERR_CORRUPT, ERR_UNAVAILABLE.
 * Limits:   a block and RDB_SEARCH_CHUNK bytes in memory, and the names of all files, twice.
 * Promises: 1. What others wrote into their keys and values counts as outside, whatever it is:
 *              nobody can keep another tenant from being certified as gone.
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
