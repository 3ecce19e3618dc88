/*
 * storage/rocksdb/held.c - one list for each priority.
 *
 * 1. Lists exist while a read is in flight: its message is in one of them.
 * 2. A read that ended releases the front of its own priority's list only; the front of any other
 *    list is still being read, or that list is empty.
 */
#include "storage/rocksdb/held.h"

#include "base/alloc.h"

#include "base/banned.h"

struct held_list {
    struct base_msg *first;
    struct base_msg *last;
};

struct held {
    size_t reads; /* in flight */
    struct held_list lists[STO_PRIORITY_COUNT];
};

static struct held *held_of(const struct sto_account *account)
{
    return account->writes_held;
}

static void list_append(struct held_list *list, struct base_msg *msg)
{
    msg->next = NULL;
    if (list->first == NULL)
        list->first = msg;
    else
        list->last->next = msg;
    list->last = msg;
}

bool sto_rdb_held_append(struct sto_account *account, enum sto_priority priority,
                         struct base_msg *msg)
{
    struct held *h = held_of(account);
    if (h == NULL || h->lists[priority].first == NULL)
        return false;
    list_append(&h->lists[priority], msg);
    return true;
}

bool sto_rdb_held_open(struct sto_account *account)
{
    if (account->writes_held == NULL) {
        struct held *h = base_try_alloc(sizeof(*h));
        if (h == NULL)
            return false;
        *h = (struct held){0};
        account->writes_held = h;
    }
    return held_of(account)->reads < LIM_PREFETCH_OPS;
}

void sto_rdb_held_wait(struct sto_account *account, enum sto_priority priority,
                       struct base_msg *msg)
{
    struct held *h = held_of(account);
    INVARIANT(h != NULL && h->reads < LIM_PREFETCH_OPS);
    h->reads++;
    list_append(&h->lists[priority], msg);
}

void sto_rdb_held_close(struct sto_account *account)
{
    struct held *h = held_of(account);
    if (h == NULL || h->reads > 0)
        return;
    for (enum sto_priority p = 0; p < STO_PRIORITY_COUNT; p++)
        INVARIANT(h->lists[p].first == NULL);
    base_free(h);
    account->writes_held = NULL;
}

void sto_rdb_held_advance(struct sto_account *account, enum sto_priority priority,
                          void (*reading)(struct base_msg *msg), rdb_held_release *release,
                          void *ctx)
{
    struct held *h = held_of(account);
    INVARIANT(h != NULL && h->reads > 0);
    h->reads--;
    struct held_list *list = &h->lists[priority];
    while (list->first != NULL && list->first->run != reading) {
        struct base_msg *msg = list->first;
        list->first = msg->next;
        release(ctx, account, priority, msg);
    }
    sto_rdb_held_close(account);
}
