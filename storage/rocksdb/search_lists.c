/*
 * storage/rocksdb/search_lists.c - the list in memory, else the file's own, else RocksDB's copy.
 *
 * A file whose list has become unreadable must not keep all tenants from being purged: RocksDB read
 * the list when it opened the file. A tenant that is on the list waits until the file can be read.
 */
#include "storage/rocksdb/search_lists.h"

#include "storage/rocksdb/catalogue.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/tenant_collector.h"

#include "base/banned.h"

#define BOUND_TENANTS 4 /* of a row and of a document, at both ends */

struct bounds {
    struct slice of[BOUND_TENANTS];
    bool is_listed[BOUND_TENANTS];
};

static enum err bound_find(void *ctx, struct slice id, uint64_t entries)
{
    struct bounds *b = ctx;
    (void)entries;
    for (size_t i = 0; i < BOUND_TENANTS; i++)
        b->is_listed[i] = b->is_listed[i] || base_slice_equal(b->of[i], id);
    return ERR_OK;
}

static bool names_bounds(const struct rdb_catalogue *list, const struct rdb_listed_file *file)
{
    struct rdb_key_tenants low = sto_rdb_key_tenants(file->low);
    struct rdb_key_tenants high = sto_rdb_key_tenants(file->high);
    struct bounds b = {.of = {low.of_row, low.of_document, high.of_row, high.of_document}};
    bool result = sto_rdb_catalogue_each(list, bound_find, &b) == ERR_OK;
    for (size_t i = 0; i < BOUND_TENANTS; i++)
        result = result && (b.of[i].len == 0 || b.is_listed[i]);
    return result;
}

static enum err stop_at_wanted(void *ctx, struct slice id, uint64_t entries)
{
    struct rdb_match *m = ctx;
    (void)entries; /* one is too many */
    return sto_rdb_match_is_wanted(m, id) ? ERR_CONFLICT : ERR_OK;
}

static enum rdb_listed listed_in(struct slice property, const struct rdb_listed_file *file,
                                 struct rdb_match *match)
{
    struct rdb_catalogue list;
    if (sto_rdb_catalogue_decode(property, &list) != ERR_OK)
        return RDB_LISTED_UNKNOWN;
    if (list.too_many)
        return RDB_LISTED_SOME;
    if (!names_bounds(&list, file))
        return RDB_LISTED_UNKNOWN;
    enum err rc = sto_rdb_catalogue_each(&list, stop_at_wanted, match);
    return rc == ERR_OK         ? RDB_LISTED_NONE
           : rc == ERR_CONFLICT ? RDB_LISTED_SOME
                                : RDB_LISTED_UNKNOWN;
}

enum rdb_listed sto_rdb_listed(struct rdb_engine *e, const struct rdb_listed_file *file,
                               struct rdb_match *match, uint64_t *out_bytes)
{
    struct buf property;
    struct rdb_scrubbed scrubbed;
    *out_bytes = 0;
    base_buf_init(&property, RDB_CATALOGUE_BYTES);
    bool is_made = sto_rdb_file_lists_find(&e->file_lists, file->number, &property);
    bool is_wrong = !is_made &&
                    sto_rdb_scrub_find(&e->scrub, file->number, file->bytes, &scrubbed) &&
                    scrubbed.result == RDB_SCRUB_LIST_WRONG;
    enum err rc =
        is_made || is_wrong ? ERR_OK : sto_rdb_catalogue_read(file->path, &property, out_bytes);
    if (rc != ERR_OK && rc != ERR_NOT_FOUND &&
        sto_rdb_tenant_list_of_open(e->db.handle, e->db.cf[file->family], file->low, file->high,
                                    file->number, &property))
        rc = ERR_OK; /* damaged, but RocksDB opened it before */
    enum rdb_listed result = rc != ERR_OK || is_wrong
                                 ? RDB_LISTED_UNKNOWN
                                 : listed_in(base_buf_slice(&property), file, match);
    /* A file of an earlier version has no list. A list that exists and is not trusted is a
     * finding. */
    if (rc == ERR_OK && !is_made && !is_wrong && result == RDB_LISTED_UNKNOWN)
        sto_rdb_scrub_doubt(&e->scrub, file->number, file->bytes);
    base_buf_fini(&property);
    return result;
}
