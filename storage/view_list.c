/*
 * storage/view_list.c - sorted arrays of pointers.
 */
#include "storage/view_list.h"

#include "base/alloc.h"

#include "base/banned.h"

static size_t count_of(const struct sto_view_list *list)
{
    return list == NULL ? 0 : list->count;
}

static struct sto_view_list *list_new(size_t count)
{
    struct sto_view_list *list = base_new(sizeof *list + count * sizeof list->views[0]);
    list->count = count;
    return list;
}

bool sto_view_list_search(const struct sto_view_list *list, struct slice id, size_t *out_at)
{
    size_t low = 0;
    size_t high = count_of(list);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = base_slice_compare(sto_view_id(list->views[middle]), id);
        if (order == 0) {
            *out_at = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *out_at = low;
    return false;
}

struct sto_view_list *sto_view_list_with(const struct sto_view_list *old,
                                         struct sto_view *view_take)
{
    size_t at;
    size_t replaced = sto_view_list_search(old, sto_view_id(view_take), &at) ? 1 : 0;
    struct sto_view_list *fresh = list_new(count_of(old) + 1 - replaced);
    for (size_t i = 0; i < at; i++)
        fresh->views[i] = sto_view_ref(old->views[i]);
    fresh->views[at] = view_take;
    for (size_t i = at + 1; i < fresh->count; i++)
        fresh->views[i] = sto_view_ref(old->views[i - 1 + replaced]);
    return fresh;
}

struct sto_view_list *sto_view_list_without(const struct sto_view_list *old, size_t at)
{
    INVARIANT(at < old->count);
    struct sto_view_list *fresh = list_new(old->count - 1);
    for (size_t i = 0; i < fresh->count; i++)
        fresh->views[i] = sto_view_ref(old->views[i < at ? i : i + 1]);
    return fresh;
}

void sto_view_list_free(void *object)
{
    struct sto_view_list *list = object;
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->count; i++)
        sto_view_unref(list->views[i]);
    base_free(list);
}
