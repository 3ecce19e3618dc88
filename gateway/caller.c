/*
 * gateway/caller.c - who is calling, for which tenant, and whether now.
 */
#include "gateway/caller.h"

#include "base/banned.h"

/* One text for every tenant a key may not act for, whether it exists or not. */
#define FOREIGN_TENANT "this key may not act for that tenant"

/* --- credential --------------------------------------------------------------------------------
 */

static bool is_bearer(struct slice value)
{
    static const char scheme[] = "bearer ";
    if (value.len < sizeof scheme - 1)
        return false;
    for (size_t i = 0; i < sizeof scheme - 2; i++) {
        if ((value.ptr[i] | 0x20) != (uint8_t)scheme[i])
            return false;
    }
    return value.ptr[sizeof scheme - 2] == ' ';
}

/* The one credential of the request; ptr NULL when the call was answered. */
static struct slice find_credential(struct gw_call *call)
{
    size_t bearers = 0;
    size_t api_keys = 0;
    struct slice bearer = gw_exchange_header(call->ex, "authorization", &bearers);
    struct slice api_key = gw_exchange_header(call->ex, "x-goog-api-key", &api_keys);
    if (bearers + api_keys > 1) {
        gw_call_problem(call, ERR_INVALID,
                        "give exactly one credential: Authorization or x-goog-api-key, once");
        return SLICE_EMPTY;
    }
    if (api_keys == 1 && api_key.len > 0)
        return api_key;
    if (bearers == 1 && is_bearer(bearer))
        return base_slice_skip(bearer, sizeof "bearer " - 1);
    gw_call_problem(call, ERR_UNAUTHENTICATED,
                    "an API key is needed: Authorization: Bearer KEY or x-goog-api-key: KEY");
    return SLICE_EMPTY;
}

static const char *scope_name(uint64_t bit)
{
    return auth_scope_name((unsigned)__builtin_ctzll(bit));
}

const struct auth_key *gw_caller_check(struct gw_call *call, uint64_t scopes)
{
    const struct auth_key *key = NULL;
    struct slice text = find_credential(call);
    if (text.ptr == NULL)
        return NULL;
    enum err e = auth_verify(call->thread->verifier, text, &key);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e,
                        e == ERR_UNAUTHENTICATED ? "the API key is not valid"
                                                 : "the API key could not be checked");
        return NULL;
    }
    memcpy(call->who.key_id, key->id, sizeof call->who.key_id);
    call->who.kind = key->kind;
    call->who.scopes = key->scopes;
    uint64_t missing = scopes & ~key->scopes;
    if (missing != 0) {
        gw_call_refuse(call, ERR_FORBIDDEN, "this key does not have the scope %s",
                       scope_name(missing));
        return NULL;
    }
    return key;
}

/* --- tenant ------------------------------------------------------------------------------------
 */

bool gw_caller_act_for(struct gw_call *call, const struct auth_key *key, struct slice named)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = auth_acting_tenant(key, call->api->registry, named, &call->tenant, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, e == ERR_FORBIDDEN ? FOREIGN_TENANT : eb.text);
    return e == ERR_OK;
}

bool gw_caller_admit(struct gw_call *call, enum gw_access wanted, uint64_t cost)
{
    enum ten_access access = wanted == GW_ACCESS_READ ? TEN_READ : TEN_WRITE;
    struct errbuf eb;
    struct gw_problem_extra extra = {0};
    eb.text[0] = '\0';
    enum err e = cost == 0 ? ten_access_check(call->tenant, access, &eb)
                           : ten_admit(call->tenant, access, cost, &extra.retry_ns, &eb);
    if (e != ERR_OK)
        gw_call_problem_with(call, (int)e, eb.text, &extra);
    return e == ERR_OK;
}
