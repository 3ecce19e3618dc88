/*
 * tenancy/doc_key.h - the keys of the documents that tenancy stores.
 *
 * Does:     make "t/<tenant>", "s/<tenant>/<table>", "w/<tenant>/<table>",
 *           "v/<tenant>/<table>/<view>", "o/<tenant>/<operation>", "e/<tenant>/instance",
 *           "j/<job>", "p/<plan>", "a/<record>", "b/<tenant>/<record>", "l/<tenant>/<record>"; take
 *           the keys of tables, views and records apart.
 * Owns:     nothing; a key is a value.
 * May use:  base/, storage/.
 * Knows no: what the documents hold.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT for a stored key that is none.
 * Limits:   STO_DOC_KEY_MAX.
 * Promises: 1. The schema keys of one tenant are one run of keys: "s/<tenant>/" is a prefix of
 *              theirs and of nobody else's, because tenant IDs hold no '/'. So are those of sweeps
 *              and of views, and the views of one table, because table IDs hold no '/' either.
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
/* The prefix of all the tenant's documents of a kind that a purge erases (storage/places.h). */
struct ten_doc_key ten_doc_key_erased(enum sto_doc_kind kind, struct slice tenant_id);
/* An empty table ID gives the prefix of all the tenant's schemas, or sweeps. */
struct ten_doc_key ten_doc_key_schema(struct slice tenant_id, struct slice table_id);
struct ten_doc_key ten_doc_key_sweep(struct slice tenant_id, struct slice table_id);
/* An empty view ID gives the prefix of all the table's views, an empty table ID too of all the
 * tenant's. */
struct ten_doc_key ten_doc_key_view(struct slice tenant_id, struct slice table_id,
                                    struct slice view_id);
struct ten_doc_key ten_doc_key_job(struct slice job_id);
/* Of work on the tenant's backups (migrations/operation.h). An empty ID gives the prefix of all the
 * tenant's. */
struct ten_doc_key ten_doc_key_operation(struct slice tenant_id, struct slice operation_id);
/* Of what a client made of the tenant as an instance (tenancy/instance_doc.h). */
struct ten_doc_key ten_doc_key_instance(struct slice tenant_id);
struct ten_doc_key ten_doc_key_plan(struct slice plan_id);

/* Records of the audit trail sort as their numbers. */
struct ten_doc_key ten_doc_key_audit(uint64_t number);
/* The prefix of the index of a tenant's records, and a key of it. */
struct ten_doc_key ten_doc_key_audit_prefix(struct slice tenant_id);
struct ten_doc_key ten_doc_key_audit_of(struct slice tenant_id, uint64_t number);
/* Of what that record names. */
struct ten_doc_key ten_doc_key_audit_subject(struct slice tenant_id, uint64_t number);
/* The number at the end of each. */
enum err ten_doc_key_audit_number(struct slice key, uint64_t *out) MUST_CHECK;

/* Of a schema's or a sweep's key; of an operation's, whose ID stands for the table's. */
enum err ten_doc_key_table_parts(struct slice key, struct slice *out_tenant_id,
                                 struct slice *out_table_id) MUST_CHECK;

enum err ten_doc_key_view_parts(struct slice key, struct slice *out_tenant_id,
                                struct slice *out_table_id, struct slice *out_view_id) MUST_CHECK;

static inline struct slice ten_doc_key_slice(const struct ten_doc_key *k)
{
    return base_slice(k->bytes, k->len);
}

#endif
