/*
 * storage/view_list.h - the authorized views of a table, found without a lock.
 *
 * Does:     keeps views sorted by ID in a list that is replaced as a whole.
 * Owns:     one ref on each view.
 * May use:  base/, storage/view.h.
 * Knows no: who replaces the list and when the old one is freed: tenancy, through the epoch.
 * Threads:  any; a list never changes after it was made.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   LIM_VIEWS, which tenancy enforces.
 * Promises: 1. IDs are strictly ascending.
 */
#ifndef STORAGE_VIEW_LIST_H
#define STORAGE_VIEW_LIST_H

#include "storage/view.h"

struct sto_view_list {
    size_t bytes; /* memory of the views */
    size_t count;
    struct sto_view *views[];
};

/* Finds a view. Sets the index of the view, or the index where it would be inserted. A list of NULL
 * is an empty one, here and below. */
bool sto_view_list_search(const struct sto_view_list *list, struct slice id, size_t *out_at);
/* Return a copy with one view added or replaced; with one removed. */
struct sto_view_list *sto_view_list_with(const struct sto_view_list *old,
                                         struct sto_view *view_take);
struct sto_view_list *sto_view_list_without(const struct sto_view_list *old, size_t at);
/* Frees a struct sto_view_list, or NULL. */
void sto_view_list_free(void *list);

#endif
