/*
 * gateway/caller.c - identifies the caller and the acting tenant, and admits the request.
 */
#include "gateway/caller.h"

#include "gateway/budget.h"
#include "gateway/priority.h"
#include "storage/row_set.h"

#include "base/banned.h"

#define STRANGER_RETRY_NS 1000000000ULL

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

/* Refuses a call whose credential is invalid or missing. */
static void refuse_stranger(struct gw_call *call, enum err code, const char *detail)
{
    char peer[GW_PEER_TEXT];
    gw_exchange_peer(call->ex, peer);
    if (gw_loop_stranger_fails(call->ex->loop, peer))
        gw_call_problem_retry(call, ERR_RATE_LIMITED,
                              "too many requests from this address came without a good API key; "
                              "come again with one",
                              STRANGER_RETRY_NS);
    else
        gw_call_problem(call, (int)code, detail);
}

/* Returns the one credential of the request; ptr NULL when the call was answered. */
static struct slice find_credential(struct gw_call *call)
{
    size_t bearers = 0;
    size_t api_keys = 0;
    struct slice bearer = gw_exchange_header(call->ex, "authorization", &bearers);
    struct slice api_key = gw_exchange_header(call->ex, "x-goog-api-key", &api_keys);
    if (bearers + api_keys > 1) {
        gw_observe_stranger(call, GW_STRANGER_SEVERAL);
        gw_call_problem(call, ERR_INVALID,
                        "give exactly one credential: Authorization or x-goog-api-key, once");
        return SLICE_EMPTY;
    }
    if (api_keys == 1 && api_key.len > 0)
        return api_key;
    if (bearers == 1 && is_bearer(bearer))
        return base_slice_skip(bearer, sizeof "bearer " - 1);
    gw_observe_stranger(call, GW_STRANGER_NO_KEY);
    refuse_stranger(call, ERR_UNAUTHENTICATED,
                    "an API key is needed: Authorization: Bearer KEY or x-goog-api-key: KEY");
    return SLICE_EMPTY;
}

static const char *scope_name(uint64_t bit)
{
    return auth_scope_name((unsigned)__builtin_ctzll(bit));
}

static void count_mismatch(const struct gw_call *call)
{
    static const enum gw_stranger WHY[AUTH_MISMATCHES] = {
        [AUTH_MALFORMED] = GW_STRANGER_MALFORMED,
        [AUTH_UNKNOWN] = GW_STRANGER_UNKNOWN,
        [AUTH_WRONG_SECRET] = GW_STRANGER_WRONG_SECRET,
    };
    gw_observe_stranger(call, WHY[auth_verifier_why(call->thread->verifier)]);
}

/* Copies the key's prefix into the call; false: answered. */
static bool keep_prefix(struct gw_call *call, const struct auth_key *key, bool by_row)
{
    call->who.row_prefix = SLICE_EMPTY;
    if (key->row_prefix.len == 0)
        return true;
    if (!by_row) {
        gw_observe_stranger(call, GW_STRANGER_SCOPE);
        gw_call_problem(call, ERR_FORBIDDEN,
                        "this key is limited to rows with its prefix; this request is about more");
        return false;
    }
    call->who.row_prefix = base_arena_copy(&call->arena, key->row_prefix);
    if (call->who.row_prefix.ptr == NULL)
        gw_call_problem(call, ERR_NO_MEMORY, "out of memory for the key's prefix");
    return call->who.row_prefix.ptr != NULL;
}

static struct base_memory_share *share_of(struct gw_api *api, const struct auth_key *key)
{
    if (key->tenant != NULL)
        return &key->tenant->memory;
    if (key->kind == AUTH_OPERATOR)
        return &api->operators;
    size_t sum = 0;
    for (const char *c = key->id; *c != '\0'; c++)
        sum = 31 * sum + (uint8_t)*c;
    return &api->services[sum % GW_SERVICE_SHARES];
}

const struct auth_key *gw_caller_check(struct gw_call *call, uint64_t scopes, bool by_row)
{
    const struct auth_key *key = NULL;
    struct slice text = find_credential(call);
    if (text.ptr == NULL)
        return NULL;
    enum err e = auth_verify(call->thread->verifier, text, &key);
    if (e != ERR_OK) {
        count_mismatch(call);
        if (e == ERR_UNAUTHENTICATED)
            refuse_stranger(call, e, "the API key is not valid");
        else
            gw_call_problem(call, (int)e, "the API key could not be checked");
        return NULL;
    }
    memcpy(call->who.key_id, key->id, sizeof call->who.key_id);
    call->who.kind = key->kind;
    call->who.scopes = key->scopes;
    call->who.home = key->tenant;
    gw_call_charge(call, share_of(call->api, key));
    uint64_t missing = scopes & ~auth_scopes_held(key->scopes);
    if (missing != 0) {
        gw_observe_stranger(call, GW_STRANGER_SCOPE);
        gw_call_refuse(call, ERR_FORBIDDEN, "this key does not have the scope %s",
                       scope_name(missing));
        return NULL;
    }
    return keep_prefix(call, key, by_row) ? key : NULL;
}

/* --- tenant ------------------------------------------------------------------------------------
 */

static bool tenant_find(struct gw_call *call, const struct auth_key *key, struct slice named)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = auth_acting_tenant(key, call->api->registry, named, &call->tenant, &eb);
    if (e == ERR_FORBIDDEN)
        gw_observe_stranger(call, GW_STRANGER_TENANT);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, e == ERR_FORBIDDEN ? FOREIGN_TENANT : eb.text);
    return e == ERR_OK;
}

bool gw_caller_act_for(struct gw_call *call, const struct auth_key *key, struct slice named)
{
    if (!tenant_find(call, key, named))
        return false;
    ten_visit_begin(&call->visit, call->tenant, key->rates);
    if (call->memory != &call->tenant->memory)
        gw_call_charge(call, &call->tenant->memory);
    return true;
}

static enum ten_access access_of(enum gw_access wanted)
{
    return wanted == GW_ACCESS_READ     ? TEN_READ
           : wanted == GW_ACCESS_MODIFY ? TEN_MODIFY
           : wanted == GW_ACCESS_DEFINE ? TEN_DEFINE
                                        : TEN_WRITE;
}

bool gw_caller_may_act_for(struct gw_call *call, const struct auth_key *key, struct slice named,
                           enum gw_access wanted)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    if (!tenant_find(call, key, named))
        return false;
    enum err e = ten_access_check(call->tenant, access_of(wanted), &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        call->tenant = NULL; /* its message may name another one */
    return e == ERR_OK;
}

bool gw_caller_check_tenant(struct gw_call *call, const struct auth_key *key, struct slice named)
{
    const struct ten_tenant *before = call->tenant;
    bool is_found = tenant_find(call, key, named);
    INVARIANT(!is_found || call->tenant == before); /* a key of another kind was not admitted */
    return is_found;
}

/* Answers a call that was not admitted. Returns whether it was admitted. */
static bool passed(struct gw_call *call, enum err e, const struct ten_refusal *why,
                   const struct errbuf *eb)
{
    const struct gw_problem_extra extra = {.retry_ns = why->wait_ns,
                                           .policy = e == ERR_OVERLOADED ? NULL : why->name};
    call->seen.is_throttled = why->name != NULL;
    if (call->seen.is_throttled) /* otherwise refusals would use up what the rate admits */
        call->handled_bytes = 0;
    if (e != ERR_OK)
        gw_call_problem_with(call, (int)e, eb->text, &extra);
    return e == ERR_OK;
}

bool gw_caller_admit(struct gw_call *call, enum gw_access wanted, struct ten_load load)
{
    struct ten_refusal why = {.name = NULL};
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = ERR_OK;
    if (call->ex != NULL) /* otherwise the priority from the head stays */
        e = gw_priority_of(call->ex, &call->priority, &eb);
    if (call->visit.tenant == NULL) /* the call came without a key */
        ten_visit_begin(&call->visit, call->tenant, NULL);
    if (e == ERR_OK)
        e = ten_admit(&call->visit, access_of(wanted), load, &why, &eb);
    return passed(call, e, &why, &eb);
}

bool gw_caller_admit_write(struct gw_call *call, const struct sto_mutate_op *op)
{
    struct ten_refusal why = {.name = NULL};
    struct errbuf eb;
    eb.text[0] = '\0';
    bool looks = op->check != NULL && (op->check->predicate != NULL || op->check->view != NULL);
    enum err e = looks ? ten_admit_condition(&call->visit, 1, &why, &eb) : ERR_OK;
    if (e == ERR_OK)
        e = ten_admit_bytes(&call->visit, gw_budget_bytes_of(op), 1, &why, &eb);
    gw_caller_charge_predicate(call, op); /* earlier it would be refused for its own cost */
    return passed(call, e, &why, &eb);
}

bool gw_caller_admit_condition(struct gw_call *call)
{
    struct ten_refusal why = {.name = NULL};
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = ten_admit_condition(&call->visit, 1, &why, &eb);
    return passed(call, e, &why, &eb);
}

bool gw_caller_admit_entries(struct gw_call *call, struct ten_load load)
{
    struct ten_refusal why = {.name = NULL};
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = ten_admit_entries(&call->visit, load, &why, &eb);
    return passed(call, e, &why, &eb);
}

void gw_caller_charge_predicate(struct gw_call *call, const struct sto_mutate_op *op)
{
    if (op->check != NULL && op->check->predicate != NULL)
        ten_charge_work(&call->visit, sto_filter_compile_ns(op->check->predicate));
}

void gw_caller_charge_write(struct gw_call *call, const struct sto_mutate_op *op)
{
    if (op->bytes_seen > 0)
        ten_charge_visited(&call->visit, 1, op->bytes_seen);
    ten_charge_work(&call->visit, op->work_ns);
    ten_charge_deleted(&call->visit, op->bytes_deleted);
}

/* --- rows --------------------------------------------------------------------------------------
 */

enum err gw_caller_check_row(const struct gw_call *call, struct slice row_key, struct errbuf *eb)
{
    struct slice prefix = call->who.row_prefix;
    if (prefix.len == 0 ||
        (row_key.len >= prefix.len && memcmp(row_key.ptr, prefix.ptr, prefix.len) == 0))
        return ERR_OK;
    return base_fail(eb, ERR_FORBIDDEN, "this key is limited to rows that begin with its prefix");
}

enum err gw_caller_narrow(struct gw_call *call, struct sto_read_spec *spec, struct errbuf *eb)
{
    if (call->who.row_prefix.len == 0)
        return ERR_OK;
    if (spec->row_key.len > 0)
        return gw_caller_check_row(call, spec->row_key, eb);
    uint8_t *end = base_arena_alloc(&call->arena, LIM_KEY_PREFIX);
    struct sto_row_range range;
    struct sto_row_set reach = {.ranges = &range, .count = 1};
    size_t max = sto_row_set_intersect_max(&spec->rows, &reach);
    struct sto_row_range *ranges = base_arena_alloc(&call->arena, max * sizeof *ranges);
    if (end == NULL || ranges == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu ranges", max);
    range = sto_range_of_prefix(call->who.row_prefix, end);
    sto_row_set_intersect(&spec->rows, &reach, ranges, &spec->rows);
    return ERR_OK;
}
