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

/* Returns an empty list with room for `count` views. */
static struct sto_view_list *list_new(size_t count)
{
    return base_new(sizeof(struct sto_view_list) + count * sizeof(struct sto_view *));
}

static void list_add(struct sto_view_list *list, struct sto_view *view_take)
{
    list->views[list->count++] = view_take;
    list->bytes += view_take->bytes;
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
    struct sto_view_list *fresh = list_new(count_of(old) + 1);
    for (size_t i = 0; i < at; i++)
        list_add(fresh, sto_view_ref(old->views[i]));
    list_add(fresh, view_take);
    for (size_t i = at + replaced; i < count_of(old); i++)
        list_add(fresh, sto_view_ref(old->views[i]));
    return fresh;
}

struct sto_view_list *sto_view_list_without(const struct sto_view_list *old, size_t at)
{
    INVARIANT(at < old->count);
    struct sto_view_list *fresh = list_new(old->count - 1);
    for (size_t i = 0; i < old->count; i++)
        if (i != at)
            list_add(fresh, sto_view_ref(old->views[i]));
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
