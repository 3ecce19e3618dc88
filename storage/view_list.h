/*
 * storage/view_list.h - the authorized views of a table, found without a lock.
 *
 * Does:     keep views sorted by ID in a list that is replaced as a whole.
 * Owns:     one ref on each view.
 * May use:  base/, storage/view.h.
 * Knows no: who replaces it and when the old one is freed: tenancy, through the epoch.
 * Threads:  any; a list never changes after it was made.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   LIM_VIEWS, which tenancy looks after.
 * Promises: 1. IDs rise; none is there twice.
 */
#ifndef STORAGE_VIEW_LIST_H
#define STORAGE_VIEW_LIST_H

#include "storage/view.h"

struct sto_view_list {
    size_t bytes; /* of memory that the views take */
    size_t count;
    struct sto_view *views[];
};

/* list NULL: an empty one, everywhere. Index of the view, or where it belongs. */
bool sto_view_list_search(const struct sto_view_list *list, struct slice id, size_t *out_at);
/* A copy with one more or one replaced; with one fewer. */
struct sto_view_list *sto_view_list_with(const struct sto_view_list *old,
                                         struct sto_view *view_take);
struct sto_view_list *sto_view_list_without(const struct sto_view_list *old, size_t at);
/* A struct sto_view_list, or NULL. */
void sto_view_list_free(void *list);

#endif
