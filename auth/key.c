/*
 * auth/key.c - structure, list, label and prefix in one allocation.
 */
#include "auth/key.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"

#include "base/banned.h"

static size_t bytes_of(size_t allowed_count, const struct auth_key *key)
{
    return sizeof(struct auth_key) + allowed_count * sizeof(struct ten_tenant *) +
           strlen(key->label) + 1 + key->row_prefix.len;
}

struct ten_tenant **auth_key_list_of(struct auth_key *key)
{
    return (struct ten_tenant **)(key + 1);
}

struct auth_key *auth_key_new(const struct auth_key *made, size_t allowed_count)
{
    struct auth_key *key = base_new(bytes_of(allowed_count, made));
    *key = *made;
    struct ten_tenant **list = auth_key_list_of(key);
    key->allowed = allowed_count == 0 ? NULL : list;
    key->allowed_count = allowed_count;
    memcpy(list + allowed_count, made->label, strlen(made->label) + 1);
    key->label = (const char *)(list + allowed_count);
    uint8_t *prefix = (uint8_t *)(list + allowed_count) + strlen(made->label) + 1;
    if (made->row_prefix.len > 0)
        memcpy(prefix, made->row_prefix.ptr, made->row_prefix.len);
    key->row_prefix = base_slice(prefix, made->row_prefix.len);
    return key;
}

void auth_key_free(void *object)
{
    struct auth_key *key = object;
    if (key == NULL)
        return;
    ten_key_rates_unref(key->rates);
    base_free_secret(key, bytes_of(key->allowed_count, key));
}

static int compare_tenants(const void *a, const void *b)
{
    const struct ten_tenant *const *left = a;
    const struct ten_tenant *const *right = b;
    return base_slice_compare(ten_tenant_id(*left), ten_tenant_id(*right));
}

enum err auth_key_list_sort(struct auth_key *key, struct errbuf *eb)
{
    struct ten_tenant **list = auth_key_list_of(key);
    if (key->allowed_count == 0)
        return ERR_OK;
    qsort(list, key->allowed_count, sizeof list[0], compare_tenants);
    for (size_t i = 1; i < key->allowed_count; i++)
        if (list[i] == list[i - 1])
            return base_fail(eb, ERR_INVALID, "the tenant \"%s\" is listed twice", list[i]->id);
    return ERR_OK;
}

/* --- limits ----------------------------------------------------------------------------------- */

static enum err limit_check(const char *name, uint64_t limit, uint64_t min, uint64_t max,
                            struct errbuf *eb)
{
    if (limit == 0 || (limit >= min && limit <= max))
        return ERR_OK;
    return base_fail(eb, ERR_INVALID,
                     "%s is %" PRIu64 "; it must be %" PRIu64 " to %" PRIu64 ", or no limit", name,
                     limit, min, max);
}

enum err auth_limits_check(const struct auth_limits *l, enum auth_kind kind, struct errbuf *eb)
{
    bool any =
        (l->read_ops_per_s | l->write_ops_per_s | l->read_bytes_per_s | l->write_bytes_per_s) != 0;
    if (any && kind == AUTH_OPERATOR)
        return base_fail(eb, ERR_INVALID, "operator keys read and write no data: no limits");
    enum err rc = limit_check("read_ops_per_s", l->read_ops_per_s, 1, LIM_OPS_PER_S, eb);
    if (rc == ERR_OK)
        rc = limit_check("write_ops_per_s", l->write_ops_per_s, 1, LIM_OPS_PER_S, eb);
    if (rc == ERR_OK)
        rc = limit_check("read_bytes_per_s", l->read_bytes_per_s, KIB, LIM_BYTES_PER_S, eb);
    if (rc == ERR_OK)
        rc = limit_check("write_bytes_per_s", l->write_bytes_per_s, KIB, LIM_BYTES_PER_S, eb);
    return rc;
}

struct ten_key_rates *auth_rates_new(const struct auth_limits *l)
{
    if ((l->read_ops_per_s | l->write_ops_per_s | l->read_bytes_per_s | l->write_bytes_per_s) == 0)
        return NULL;
    const struct ten_rate_limits limits = {
        .per_second = {[TEN_RATE_READ_OPS] = l->read_ops_per_s,
                       [TEN_RATE_WRITE_OPS] = l->write_ops_per_s,
                       [TEN_RATE_READ_BYTES] = l->read_bytes_per_s,
                       [TEN_RATE_WRITE_BYTES] = l->write_bytes_per_s},
        .burst_ms = 1000,
    };
    return ten_key_rates_new(&limits);
}
