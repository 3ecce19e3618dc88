/*
 * tenancy/doc_key.h - the keys of tenancy's stored documents.
 *
 * Does:     makes "t/<tenant>", "s/<tenant>/<table>", "w/<tenant>/<table>",
 *           "v/<tenant>/<table>/<view>", "o/<tenant>/<operation>", "e/<tenant>/instance",
 *           "j/<job>", "p/<plan>", "a/<record>", "b/<tenant>/<record>", "l/<tenant>/<record>";
 *           parses the keys of tables, views and records.
 * Owns:     nothing; a key is a value.
 * May use:  base/, storage/.
 * Knows no: what the documents hold.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT for a malformed stored key.
 * Limits:   STO_DOC_KEY_MAX.
 * Promises: 1. The schema keys of one tenant are contiguous: "s/<tenant>/" is a prefix of these
 *              keys and of no other tenant's, because tenant IDs contain no '/'. The same holds for
 *              the keys of sweeps and of views, and for the views of one table, because table IDs
 *              contain no '/' either.
 */
#ifndef TENANCY_DOC_KEY_H
#define TENANCY_DOC_KEY_H

#include "base/err.h"
#include "base/slice.h"
#include "storage/engine.h"
#include "storage/places.h"

struct ten_doc_key {
    size_t len;
    uint8_t bytes[STO_DOC_KEY_MAX];
};

struct ten_doc_key ten_doc_key_tenant(struct slice tenant_id);
/* The prefix of all of the tenant's documents of a kind that a purge erases (storage/places.h). */
struct ten_doc_key ten_doc_key_erased(enum sto_doc_kind kind, struct slice tenant_id);
/* An empty table ID yields the prefix of all of the tenant's schemas, or sweeps. */
struct ten_doc_key ten_doc_key_schema(struct slice tenant_id, struct slice table_id);
struct ten_doc_key ten_doc_key_sweep(struct slice tenant_id, struct slice table_id);
/* An empty view ID yields the prefix of all of the table's views; an empty table ID as well, of all
 * of the tenant's. */
struct ten_doc_key ten_doc_key_view(struct slice tenant_id, struct slice table_id,
                                    struct slice view_id);
struct ten_doc_key ten_doc_key_job(struct slice job_id);
/* The key of an operation on the tenant's backups (migrations/operation.h). An empty ID yields the
 * prefix of all of the tenant's operations. */
struct ten_doc_key ten_doc_key_operation(struct slice tenant_id, struct slice operation_id);
/* The key of the settings of the tenant's instance, made by a client (tenancy/instance_doc.h). */
struct ten_doc_key ten_doc_key_instance(struct slice tenant_id);
struct ten_doc_key ten_doc_key_plan(struct slice plan_id);

/* Keys of the audit trail's records sort in the order of their numbers. */
struct ten_doc_key ten_doc_key_audit(uint64_t number);
/* The prefix of the index of a tenant's records, and a key in it. */
struct ten_doc_key ten_doc_key_audit_prefix(struct slice tenant_id);
struct ten_doc_key ten_doc_key_audit_of(struct slice tenant_id, uint64_t number);
/* The key of the separate subject of that record. */
struct ten_doc_key ten_doc_key_audit_subject(struct slice tenant_id, uint64_t number);
/* Returns the number at the end of any of these keys. */
enum err ten_doc_key_audit_number(struct slice key, uint64_t *out) MUST_CHECK;

/* Splits a schema's or a sweep's key; also an operation's, whose ID is returned in place of the
 * table's. */
enum err ten_doc_key_table_parts(struct slice key, struct slice *out_tenant_id,
                                 struct slice *out_table_id) MUST_CHECK;

enum err ten_doc_key_view_parts(struct slice key, struct slice *out_tenant_id,
                                struct slice *out_table_id, struct slice *out_view_id) MUST_CHECK;

static inline struct slice ten_doc_key_slice(const struct ten_doc_key *k)
{
    return base_slice(k->bytes, k->len);
}

#endif
