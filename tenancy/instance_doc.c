/*
 * tenancy/instance_doc.c - one document per tenant, read on request.
 */
#include "tenancy/instance_doc.h"

#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/scope.h"

#include "base/banned.h"

_Static_assert(LIM_INSTANCE_DOC <= STO_DOC_BODY_MAX, "it is a document");

enum err ten_instance_doc_read(struct ten_registry *r, const struct ten_tenant *t, struct buf *out,
                               uint64_t *out_version, struct errbuf *eb)
{
    ten_control_check(r);
    struct ten_doc_key key = ten_doc_key_instance(ten_tenant_id(t));
    return sto_doc_get(r->engine, ten_doc_key_slice(&key), out_version, out, eb);
}

enum err ten_instance_doc_write(struct ten_registry *r, const struct ten_tenant *t,
                                struct slice body, uint64_t version, struct errbuf *eb)
{
    ten_control_check(r);
    struct ten_doc_key key = ten_doc_key_instance(ten_tenant_id(t));
    struct sto_doc_change change = {.key = ten_doc_key_slice(&key),
                                    .body = body,
                                    .expect = version == 0 ? STO_DOC_ABSENT : version};
    if (body.len > LIM_INSTANCE_DOC)
        return base_fail(eb, ERR_TOO_BIG,
                         "the instance, its clusters and profiles are described in %zu bytes; the "
                         "limit is %zu",
                         body.len, (size_t)LIM_INSTANCE_DOC);
    enum err rc = ten_access_check(t, TEN_DEFINE, eb);
    return rc == ERR_OK ? ten_docs_commit(r, &change, 1, eb) : rc;
}
