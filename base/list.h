/*
 * base/list.h - a list whose links lie inside of what it lists.
 *
 * Does:     append, remove from anywhere, find what a link lies in.
 * Owns:     nothing: a link belongs to what it lies in, and is in one list at most.
 * May use:  nothing.
 * Knows no: what is listed.
 * Threads:  one at a time for a list.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. What was appended first is first.
 *           2. No call allocates, or takes longer for a longer list.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stddef.h>

/* Zeroed at first. */
struct base_list {
    struct base_link *first;
    struct base_link *last;
};

struct base_link {
    struct base_link *next;
    struct base_link *previous;
    struct base_list *list; /* that it is in, or NULL */
};

/* What a link, or a list, lies in; it must not be NULL. */
#define BASE_LIST_ITEM(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* It must be in no list. */
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

/* In no list: nothing. */
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
