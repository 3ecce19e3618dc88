/*
 * tenancy/doc_list.c - an array that doubles.
 */
#include "tenancy/doc_list.h"

#include "base/alloc.h"

#include "base/banned.h"

static enum err visit(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct ten_doc_list *list = ctx;
    (void)version;
    (void)body; /* deleted whatever it contains */
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
        struct ten_doc_key *larger = base_new_array(capacity, sizeof larger[0]);
        for (size_t i = 0; i < list->count; i++)
            larger[i] = list->keys[i];
        base_free(list->keys);
        list->keys = larger;
        list->capacity = capacity;
    }
    INVARIANT(key.len <= sizeof list->keys[0].bytes);
    list->keys[list->count].len = key.len;
    memcpy(list->keys[list->count].bytes, key.ptr, key.len);
    list->count++;
    return ERR_OK;
}

enum err ten_doc_list_scan(struct ten_doc_list *list, struct sto_engine *engine,
                           const struct ten_doc_key *prefix, struct errbuf *eb)
{
    return sto_docs_scan(engine, ten_doc_key_slice(prefix), visit, list, eb);
}

void ten_doc_list_delete(const struct ten_doc_list *list, struct sto_doc_change *changes)
{
    for (size_t i = 0; i < list->count; i++)
        changes[i] = (struct sto_doc_change){.key = ten_doc_key_slice(&list->keys[i]),
                                             .expect = STO_DOC_ANY};
}

void ten_doc_list_fini(struct ten_doc_list *list)
{
    base_free(list->keys);
    *list = (struct ten_doc_list){0};
}
