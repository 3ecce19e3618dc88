/*
 * tenancy/canary.c - a canary is a public head, which makes the search quick, and random bytes
 * after it.
 */
#include "tenancy/canary.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include "tenancy/audit_internal.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/lifecycle.h"
#include "tenancy/scope.h"
#include "tenancy/tenant_doc.h"

#include "base/banned.h"

static void make(uint8_t out[STO_CANARY_BYTES])
{
    const struct slice head = SLICE_LIT(STO_CANARY_HEAD);
    size_t wanted = STO_CANARY_BYTES - head.len;
    ssize_t n;
    memcpy(out, head.ptr, head.len);
    do {
        n = getrandom(out + head.len, wanted, 0);
    } while (n < 0 && errno == EINTR);
    INVARIANT(n == (ssize_t)wanted); /* so few bytes are returned at once */
}

struct planting {
    struct sto_engine *engine;
    struct sto_tenant_scope scope;
    uint8_t canaries[STO_CANARIES][STO_CANARY_BYTES];
};

static enum err write_planted(void *ctx, const struct sto_doc_change *changes, size_t count,
                              struct errbuf *eb)
{
    const struct planting *p = ctx;
    return sto_canaries_plant(p->engine, &p->scope, p->canaries, STO_CANARIES, changes, count, eb);
}

static enum err commit(struct ten_registry *r, struct ten_tenant *t, enum ten_state state,
                       struct ten_details *details, struct errbuf *eb)
{
    struct planting p = {.engine = r->engine, .scope = ten_scope_tenant(t)};
    struct sto_canary canaries[STO_CANARIES];
    for (size_t i = 0; i < STO_CANARIES; i++) {
        make(p.canaries[i]);
        const uint8_t *hash = SHA256(p.canaries[i], STO_CANARY_BYTES, canaries[i].hash);
        INVARIANT(hash != NULL);
    }
    details->canary_count = STO_CANARIES;
    details->canaries = canaries;
    enum err rc = ten_tenant_commit_by(r, t, state, details, write_planted, &p, eb);
    OPENSSL_cleanse(p.canaries, sizeof p.canaries);
    details->canaries = NULL;
    return rc;
}

enum err ten_canaries_read(struct ten_registry *r, const struct ten_tenant *t, size_t count,
                           struct sto_canary out[STO_CANARIES], struct errbuf *eb)
{
    struct ten_doc_key key = ten_doc_key_tenant(ten_tenant_id(t));
    struct ten_tenant_doc doc;
    uint64_t version;
    struct buf body;
    base_buf_init(&body, TEN_TENANT_DOC_MAX);
    enum err rc = sto_doc_get(r->engine, ten_doc_key_slice(&key), &version, &body, eb);
    if (rc == ERR_OK && (ten_tenant_decode(base_buf_slice(&body), &doc) != ERR_OK ||
                         doc.details.canary_count != count))
        rc = base_fail(eb, ERR_CORRUPT, "the tenant's document is damaged");
    if (rc == ERR_OK)
        memcpy(out, doc.canaries, sizeof doc.canaries);
    base_buf_fini(&body);
    return rc;
}

enum err ten_canaries_commit(struct ten_registry *r, struct ten_tenant *t,
                             struct ten_details *details, struct errbuf *eb)
{
    return commit(r, t, TEN_ACTIVE, details, eb);
}

static bool needs_some(enum ten_state state, const struct ten_details *details)
{
    return details->canary_count == 0 && !ten_state_is_final(state);
}

enum err ten_canaries_are_missing(struct slice document, bool *out)
{
    struct ten_tenant_doc doc;
    enum err rc = ten_tenant_decode(document, &doc);
    if (rc == ERR_OK)
        *out = needs_some(doc.state, &doc.details);
    return rc;
}

enum err ten_canaries_plant_missing(struct ten_registry *r, size_t limit, size_t *out_left,
                                    struct errbuf *eb)
{
    ten_control_check(r);
    size_t left = 0;
    for (size_t i = 0; i < r->tenant_count; i++) {
        struct ten_tenant *t = r->sorted[i];
        struct ten_details details = *ten_tenant_details(t);
        enum ten_state state = ten_tenant_state(t);
        if (!needs_some(state, &details))
            continue;
        if (limit == 0) {
            left++;
            continue;
        }
        limit--;
        enum err rc = commit(r, t, state, &details, eb);
        if (rc != ERR_OK)
            return rc;
    }
    *out_left = left;
    return ERR_OK;
}
