/*
 * storage/rocksdb/list_check.c - counts the keys of each tenant of the list.
 *
 * Keys arrive in order, so nearly each has the same tenant as the previous one.
 */
#include "storage/rocksdb/list_check.h"

#include "base/alloc.h"
#include "storage/rocksdb/catalogue.h"

#include "base/banned.h"

static enum err tenant_count(void *ctx, struct slice id, uint64_t entries)
{
    struct rdb_list_check *c = ctx;
    (void)id;
    (void)entries;
    c->count++;
    return ERR_OK;
}

static enum err tenant_add(void *ctx, struct slice id, uint64_t entries)
{
    struct rdb_list_check *c = ctx;
    c->of[c->count++] = (struct rdb_listed_tenant){
        .offset = (uint32_t)c->ids.len, .len = (uint32_t)id.len, .entries = entries};
    return base_buf_append(&c->ids, id);
}

enum err sto_rdb_list_check_init(struct rdb_list_check *c, struct slice property)
{
    struct rdb_catalogue list;
    *c = (struct rdb_list_check){.count = 0};
    enum err rc = sto_rdb_catalogue_decode(property, &list);
    if (rc == ERR_OK)
        rc = sto_rdb_catalogue_each(&list, tenant_count, c);
    if (rc != ERR_OK)
        return rc;
    c->too_many = list.too_many;
    c->entries = list.entries;
    c->of = base_new_array(c->count + 1, sizeof c->of[0]);
    base_buf_init(&c->ids, (c->count + 1) * LIM_TENANT_ID);
    c->count = 0;
    rc = sto_rdb_catalogue_each(&list, tenant_add, c);
    if (rc != ERR_OK)
        sto_rdb_list_check_fini(c);
    return rc;
}

void sto_rdb_list_check_fini(struct rdb_list_check *c)
{
    base_free(c->of);
    base_buf_fini(&c->ids);
    c->of = NULL;
}

static struct slice id_of(const struct rdb_list_check *c, size_t i)
{
    return base_slice(c->ids.ptr + c->of[i].offset, c->of[i].len);
}

static void tenant_see(struct rdb_list_check *c, struct slice id)
{
    size_t low = 0;
    size_t high = c->count;
    if (id.len == 0 || c->too_many)
        return;
    if (c->last < c->count && base_slice_equal(id_of(c, c->last), id)) {
        c->of[c->last].seen++;
        return;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = base_slice_compare(id_of(c, middle), id);
        if (order == 0) {
            c->last = middle;
            c->of[middle].seen++;
            return;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    c->is_wrong = true;
}

static void key_see(struct rdb_list_check *c, struct slice key)
{
    struct rdb_key_tenants tenants = sto_rdb_key_tenants(key);
    tenant_see(c, tenants.of_row);
    tenant_see(c, tenants.of_document);
}

void sto_rdb_list_check_entry(struct rdb_list_check *c, struct slice key, struct slice range_end)
{
    c->seen++;
    key_see(c, key);
    if (range_end.len > 0)
        key_see(c, range_end);
}

bool sto_rdb_list_check_matches(const struct rdb_list_check *c)
{
    bool matches = !c->is_wrong && c->seen == c->entries;
    for (size_t i = 0; matches && i < c->count; i++)
        matches = c->of[i].seen == c->of[i].entries;
    return matches;
}
