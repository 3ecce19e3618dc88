/*
 * base/list.h - an intrusive list: its links are members of the listed objects.
 *
 * Does:     appends, removes from anywhere, finds the object of a link.
 * Owns:     nothing: a link belongs to its object, and is in at most one list.
 * May use:  nothing.
 * Knows no: the listed objects.
 * Threads:  one at a time for a list.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. The order is the order of appends.
 *           2. No call allocates, or takes longer for a longer list.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stddef.h>

/* Must be zeroed at first. */
struct base_list {
    struct base_link *first;
    struct base_link *last;
};

struct base_link {
    struct base_link *next;
    struct base_link *previous;
    struct base_list *list; /* the list that it is in, or NULL */
};

/* The object of a link, or of a list; the link must not be NULL. */
#define BASE_LIST_ITEM(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* Appends a link, which must be in no list. */
static inline void base_list_append(struct base_list *list, struct base_link *link)
{
    link->list = list;
    link->next = NULL;
    link->previous = list->last;
    if (list->last == NULL)
        list->first = link;
    else
        list->last->next = link;
    list->last = link;
}

/* Removes a link; does nothing if it is in no list. */
static inline void base_list_remove(struct base_link *link)
{
    struct base_list *list = link->list;
    if (list == NULL)
        return;
    if (link->previous == NULL)
        list->first = link->next;
    else
        link->previous->next = link->next;
    if (link->next == NULL)
        list->last = link->previous;
    else
        link->next->previous = link->previous;
    link->list = NULL;
}

#endif
