/*
 * tenancy/doc_list.h - lists of document keys.
 *
 * Does:     collects the keys below prefixes; makes the changes that delete them.
 * Owns:     the keys, until ten_doc_list_fini.
 * May use:  base/, storage/, tenancy/.
 * Knows no: what the documents hold.
 * Threads:  one at a time.
 * Blocks:   scanning blocks on the disk.
 * Fails by: engine errors.
 * Limits:   none: as many keys as exist.
 * Promises: 1. Lists the key of every document, whether the document is readable or not.
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
/* Writes deletions of all of them, whatever their versions, to changes[count]. */
void ten_doc_list_delete(const struct ten_doc_list *list, struct sto_doc_change *changes);
void ten_doc_list_fini(struct ten_doc_list *list);

#endif
