/*
 * tenancy/doc_list.h - keys of documents that go together.
 *
 * Does:     collect the keys below prefixes; make the changes that delete them.
 * Owns:     the keys, until ten_doc_list_fini.
 * May use:  base/, storage/, tenancy/.
 * Knows no: what the documents hold.
 * Threads:  one at a time.
 * Blocks:   scanning does, on the disk.
 * Fails by: engine errors.
 * Limits:   none: as many as there are.
 * Promises: 1. Whatever a document holds, readable or not, its key is there.
 */
#ifndef TENANCY_DOC_LIST_H
#define TENANCY_DOC_LIST_H

#include "tenancy/doc_key.h"

/* All zero: empty. */
struct ten_doc_list {
    struct ten_doc_key *keys;
    size_t count;
    size_t capacity;
};

enum err ten_doc_list_scan(struct ten_doc_list *list, struct sto_engine *engine,
                           const struct ten_doc_key *prefix, struct errbuf *eb) MUST_CHECK;
/* Deletions of all of them, whatever their versions, written to changes[count]. */
void ten_doc_list_delete(const struct ten_doc_list *list, struct sto_doc_change *changes);
void ten_doc_list_fini(struct ten_doc_list *list);

#endif
