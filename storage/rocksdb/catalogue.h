/*
 * storage/rocksdb/catalogue.h - which tenants a table file holds, as the file itself says.
 *
 * Does:     encodes the list of tenants of a file for one of the file's properties; reads the list
 *           back out of a file and walks over it; tells a key's tenant.
 * Owns:     nothing after a call.
 * May use:  base/, storage/.
 * Knows no: RocksDB, which files are live.
 * Threads:  any; sto_rdb_catalogue_read on threads that may block.
 * Blocks:   sto_rdb_catalogue_read reads the end of a file.
 * Fails by: ERR_CORRUPT: the list does not match its check value.
 * Limits:   RDB_CATALOGUE_TENANTS and RDB_CATALOGUE_BYTES for each file; a file with more says so.
 * Promises: 1. A list that was cut, changed or made by another form is never taken for a list.
 *           2. Every tenant that search_match.h finds the owner of a key is one that
 *              sto_rdb_key_tenants names for that key.
 *
 *   "bigtent.tenants" -> form 1 | kind (0 list, 1 too many to list) | number of entries |
 *                        (shared, rest, bytes of the ID, number of entries)* | check (8)
 * Numbers are varints; check is the SipHash-1-3, with key 0, of all that stands before it.
 */
#ifndef STORAGE_ROCKSDB_CATALOGUE_H
#define STORAGE_ROCKSDB_CATALOGUE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

#define RDB_CATALOGUE_PROPERTY "bigtent.tenants"
#define RDB_CATALOGUE_TENANTS  65536UL
#define RDB_CATALOGUE_BYTES    (4 * MIB)

/* The one or two tenants that a stored key may belong to: ends at the first '#', stands between the
 * first two '/'. An empty slice: none. Points into key. */
struct rdb_key_tenants {
    struct slice of_row;
    struct slice of_document;
};
struct rdb_key_tenants sto_rdb_key_tenants(struct slice key);

/* --- making a list: tenants in ascending order, each once --- */

struct rdb_catalogue_maker {
    struct buf bytes;
    struct slice last; /* ID that was added before; the caller's memory, valid until the next */
};

void sto_rdb_catalogue_begin(struct rdb_catalogue_maker *m, bool too_many, uint64_t entries);
void sto_rdb_catalogue_add(struct rdb_catalogue_maker *m, struct slice id, uint64_t entries);
/* Appends the check value. An error that any call met; m->bytes is freed by the caller. */
enum err sto_rdb_catalogue_end(struct rdb_catalogue_maker *m) MUST_CHECK;

/* --- reading one --- */

struct rdb_catalogue {
    bool too_many; /* nothing is listed */
    uint64_t entries;
    struct slice list; /* points into the property */
};

enum err sto_rdb_catalogue_decode(struct slice property, struct rdb_catalogue *out) MUST_CHECK;

/* Returns something other than ERR_OK to stop. id is valid during the call. */
typedef enum err rdb_catalogue_visit(void *ctx, struct slice id, uint64_t entries);
enum err sto_rdb_catalogue_each(const struct rdb_catalogue *c, rdb_catalogue_visit *visit,
                                void *ctx) MUST_CHECK;

/* Appends the property of a file to out; *out_bytes: read from the file. ERR_NOT_FOUND: the file
 * has no list, or is gone. */
enum err sto_rdb_catalogue_read(const char *path, struct buf *out, uint64_t *out_bytes) MUST_CHECK;

#endif
