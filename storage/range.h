/*
 * storage/range.h - the only code that makes physical ranges.
 *
 * Does:     makes the ranges that may be passed to delete_range, delete_file_in_range and
 *           compact_range: all keys of one tenant, all its documents under one letter, all rows of
 *           one of its tables, or a part of those.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: RocksDB.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT for a name that no table can have. Nothing else fails: a range that is
 *           reversed or exceeds the tenant aborts (on RocksDB 7.8.3 a reversed range stops every
 *           later write of every tenant).
 * Limits:   LIM_TENANT_ID, LIM_TABLE_ID.
 * Promises: 1. begin < end. 2. Every key in [begin, end) is the tenant's (the table's), and every
 *              key of the tenant (the table) is in the range.
 *           3. last_inside is after every stored key of the tenant and before `end`: it is the
 *              bound for calls whose end is inclusive. A table's range has none: its files are not
 *              deleted, and its row keys may begin with any byte.
 */
#ifndef STORAGE_RANGE_H
#define STORAGE_RANGE_H

#include "storage/places.h"
#include "storage/scope.h"

#define STO_RANGE_KEY_MAX (LIM_TENANT_ID + LIM_TABLE_ID + 8)

struct sto_range {
    size_t begin_len;
    size_t end_len;
    size_t last_inside_len;
    uint8_t begin[STO_RANGE_KEY_MAX];
    uint8_t end[STO_RANGE_KEY_MAX];
    uint8_t last_inside[STO_RANGE_KEY_MAX];
};

/* Makes [tenant#, tenant$), last_inside = tenant# FF. */
struct sto_range sto_range_of_tenant(const struct sto_tenant_scope *scope);
/* Makes the range of documents "<letter>/<tenant>/...": [u/tenant/, u/tenant0), last_inside =
 * u/tenant/ FF. */
struct sto_range sto_range_of_docs(const struct sto_tenant_scope *scope, enum sto_doc_kind kind);
/* Makes the range of the single key "t/tenant", the tenant's own document; last_inside empty. */
struct sto_range sto_range_of_tenant_doc(const struct sto_tenant_scope *scope);
/* Makes [tenant#table#, tenant#table$), last_inside empty. */
struct sto_range sto_range_of_table(const struct sto_table_scope *scope);
/* Makes the range of a table from "tenant/table", its name in keys of documents. */
enum err sto_range_of_table_named(struct slice name, struct sto_range *out,
                                  struct errbuf *eb) MUST_CHECK;

static inline struct slice sto_range_begin(const struct sto_range *r)
{
    return base_slice(r->begin, r->begin_len);
}

static inline struct slice sto_range_end(const struct sto_range *r)
{
    return base_slice(r->end, r->end_len);
}

/* Borrowed bytes of a range or of a part of one, to be passed on. */
struct sto_span {
    struct slice begin;
    struct slice end;
};

static inline struct sto_span sto_span_of(const struct sto_range *r)
{
    return (struct sto_span){sto_range_begin(r), sto_range_end(r)};
}

static inline bool sto_span_has(const struct sto_span *span, struct slice key)
{
    return base_slice_compare(key, span->begin) >= 0 && base_slice_compare(key, span->end) < 0;
}

/* Makes a part of a table's rows. A part that is empty, reversed or exceeds the table aborts. */
struct sto_span sto_span_of_rows(const struct sto_range *table, struct slice begin,
                                 struct slice end);

#endif
