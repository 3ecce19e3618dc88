/*
 * storage/rocksdb/audit.c - counts the physically stored keys of a tenant, by RocksDB's own index.
 *
 * Keys are counted whether a range tombstone covers them or not. The list of files costs in
 * proportion to all files, but reads none of them.
 */
#include "base/share.h"
#include "storage/range.h"
#include "storage/rocksdb/heldfiles.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/progress.h"
#include "storage/rocksdb/purge.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define KEYS_OF_TURN 128 /* keys counted between two yields */

static enum err look_at_holders(struct rdb_engine *e, struct sto_audit *out, struct errbuf *eb)
{
    out->snapshots = sto_rdb_property(e, "rocksdb.num-snapshots");
    out->oldest_snapshot = sto_rdb_property(e, "rocksdb.oldest-snapshot-sequence");
    for (int i = 0; i < RDB_CF_COUNT; i++) {
        rocksdb_column_family_handle_t *family = e->db.cf[i];
        uint64_t versions = 0;
        if (!sto_rdb_family_is_erased(i))
            continue;
        int failed =
            rocksdb_property_int_cf(e->db.handle, family, "rocksdb.num-live-versions", &versions);
        INVARIANT(failed == 0 && versions > 0); /* the current version */
        out->old_versions += versions - 1;
    }
    return sto_rdb_held_bytes(e, &out->obsolete_bytes, eb);
}

/* Names a file that cannot be rewritten, or that the disk does not return, for operators. Such a
 * file does not latch the engine: only the purge waits for those bytes, and would read them again
 * after each start, which replaces only a file of meta by its copy. */
static enum err count_failed(struct rdb_engine *e, const struct sto_range *range, int family,
                             char *error, struct errbuf *eb)
{
    struct sto_damaged_file at;
    if (family != RDB_CF_META && sto_rdb_error_class(error) == ERR_IO &&
        sto_rdb_damage_parse(error, &at)) {
        rocksdb_free(error);
        return base_fail(eb, ERR_IO, "table file %06llu.sst cannot be read",
                         (unsigned long long)at.number);
    }
    enum err rc = sto_rdb_read_failed(e, error);
    uint64_t stuck = 0;
    if (rc == ERR_CORRUPT && sto_rdb_damage_wait(e))
        stuck = sto_rdb_damage_stuck(e, family, sto_range_begin(range), sto_range_end(range));
    return stuck != 0 ? sto_rdb_damage_blame(e, stuck, eb)
                      : base_fail(eb, rc, "the audit could not read");
}

static enum err count_keys(struct rdb_engine *e, const struct sto_range *range, int family,
                           uint64_t *inout, struct errbuf *eb)
{
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(sto_range_begin(range), sto_range_end(range));
    rocksdb_readoptions_set_ignore_range_deletions(options, 1);
    rocksdb_readoptions_set_fill_cache(options, 0);
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.cf[family]);
    uint32_t turn = 0;
    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        (*inout)++;
        sto_rdb_progress_add(e, 1);
        base_yield_every(&turn, KEYS_OF_TURN);
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return error == NULL ? ERR_OK : count_failed(e, range, family, error, eb);
}

static bool is_erased_name(const char *family)
{
    for (int i = 0; i < RDB_CF_COUNT; i++)
        if (sto_rdb_family_is_erased(i) && strcmp(family, RDB_FAMILY_NAMES[i]) == 0)
            return true;
    return false;
}

static void look_at_files(struct rdb_engine *e, const struct sto_range *range,
                          struct sto_audit *out)
{
    const struct sto_span span = sto_span_of(range);
    struct rdb_live_walk walk;
    struct rdb_live_file f;
    sto_rdb_live_walk_open(&walk, e->db.handle, NULL);
    while (sto_rdb_live_walk_next(&walk, &f)) {
        if (!is_erased_name(f.family))
            continue;
        if (sto_span_has(&span, f.low) || sto_span_has(&span, f.high))
            out->live_files_inside++;
        else if (base_slice_compare(f.low, span.begin) < 0 &&
                 base_slice_compare(f.high, span.end) >= 0)
            out->live_files_spanning++;
    }
    sto_rdb_live_walk_close(&walk);
}

struct audit_run {
    struct rdb_engine *engine;
    const struct sto_tenant_scope *scope;
    struct sto_audit audit;
    struct errbuf *eb;
    enum err result;
};

static void count_all_keys(void *ctx)
{
    struct audit_run *a = ctx;
    struct rdb_engine *e = a->engine;
    struct sto_range range = sto_range_of_tenant(a->scope);
    enum err rc = ERR_OK;
    for (int i = 0; rc == ERR_OK && i < RDB_CF_COUNT; i++)
        if (sto_rdb_family_is_erased(i))
            rc = count_keys(e, &range, i, &a->audit.physical_keys, a->eb);
    const struct sto_doc_place *place;
    for (size_t i = 0; rc == ERR_OK && (place = sto_doc_place_at(i)) != NULL; i++) {
        if (place->fate != STO_PLACE_ERASED)
            continue;
        struct sto_range docs = sto_range_of_docs(a->scope, place->kind);
        rc = count_keys(e, &docs, RDB_CF_META, &a->audit.counters, a->eb);
    }
    a->result = rc;
}

enum err sto_rdb_audit_range(struct sto_engine *engine, const struct sto_tenant_scope *scope,
                             struct sto_audit *out, struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    struct audit_run a = {.engine = e, .scope = scope, .eb = eb};
    enum err rc = sto_rdb_usable(e, eb);
    if (rc != ERR_OK)
        return rc;
    struct sto_range range = sto_range_of_tenant(scope);
    sto_rdb_progress_begin(e, STO_PROGRESS_KEYS, 0);
    a.audit.sequence = rocksdb_get_latest_sequence_number(e->db.handle);
    base_run_apart("audit", BASE_ERASE, count_all_keys, &a);
    if (a.result != ERR_OK)
        return a.result;
    look_at_files(e, &range, &a.audit);
    rc = look_at_holders(e, &a.audit, eb);
    if (rc == ERR_OK)
        *out = a.audit;
    return rc;
}
