/*
 * storage/rocksdb/catalogue.h - the tenants of a table file, as a property of the file lists them.
 *
 * Does:     encodes a file's list of tenants for one of its properties; reads the list from a file
 *           and walks over it; returns the tenant of a key.
 * Owns:     nothing after a call.
 * May use:  base/, storage/.
 * Knows no: RocksDB, which files are live.
 * Threads:  any; sto_rdb_catalogue_read on threads that may block.
 * Blocks:   sto_rdb_catalogue_read reads the end of a file.
 * Fails by: ERR_CORRUPT: the list does not match its check value.
 * Limits:   RDB_CATALOGUE_TENANTS and RDB_CATALOGUE_BYTES for each file; a file with more says so.
 * Promises: 1. A list that was cut, changed or made in another form is never accepted as a list.
 *           2. Every tenant that search_match.h determines as the owner of a key is one that
 *              sto_rdb_key_tenants returns for that key.
 *
 *   "bigtent.tenants" -> form 1 | kind (0 list, 1 too many to list) | number of entries |
 *                        (shared, rest, bytes of the ID, number of entries)* | check (8)
 * Numbers are varints; check is the SipHash-1-3, with key 0, of all bytes before it.
 */
#ifndef STORAGE_ROCKSDB_CATALOGUE_H
#define STORAGE_ROCKSDB_CATALOGUE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

#define RDB_CATALOGUE_PROPERTY "bigtent.tenants"
#define RDB_CATALOGUE_TENANTS  65536UL
#define RDB_CATALOGUE_BYTES    (4 * MIB)

/* The one or two tenants that a stored key may belong to: the ID before the first '#', and the ID
 * between the first two '/'. An empty slice: none. Points into key. */
struct rdb_key_tenants {
    struct slice of_row;
    struct slice of_document;
};
struct rdb_key_tenants sto_rdb_key_tenants(struct slice key);

/* --- creating a list: tenants in ascending order, each once --- */

struct rdb_catalogue_maker {
    struct buf bytes;
    struct slice last; /* the previous ID; the caller's memory, valid until the next add */
};

void sto_rdb_catalogue_begin(struct rdb_catalogue_maker *m, bool too_many, uint64_t entries);
void sto_rdb_catalogue_add(struct rdb_catalogue_maker *m, struct slice id, uint64_t entries);
/* Appends the check value. Returns an error that any call met; the caller frees m->bytes. */
enum err sto_rdb_catalogue_end(struct rdb_catalogue_maker *m) MUST_CHECK;

/* --- reading a list --- */

struct rdb_catalogue {
    bool too_many; /* nothing is listed */
    uint64_t entries;
    struct slice list; /* points into the property */
};

enum err sto_rdb_catalogue_decode(struct slice property, struct rdb_catalogue *out) MUST_CHECK;

/* Any result but ERR_OK stops the walk. id is valid during the call. */
typedef enum err rdb_catalogue_visit(void *ctx, struct slice id, uint64_t entries);
enum err sto_rdb_catalogue_each(const struct rdb_catalogue *c, rdb_catalogue_visit *visit,
                                void *ctx) MUST_CHECK;

/* Appends the property of a file to out; *out_bytes: bytes read from the file. ERR_NOT_FOUND: the
 * file has no list, or is gone. */
enum err sto_rdb_catalogue_read(const char *path, struct buf *out, uint64_t *out_bytes) MUST_CHECK;

#endif
