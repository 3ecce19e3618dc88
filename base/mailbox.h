/*
 * base/mailbox.h - messages to one thread from any thread.
 *
 * Does:     lock-free push by many, take-all by one, a file descriptor that wakes the owner.
 * Owns:     its eventfd; never the messages: a message is the sender's until taken, then the
 *           receiver's.
 * May use:  base/.
 * Knows no: what messages mean.
 * Threads:  push from any; take and wait from the owner only.
 * Blocks:   only base_mailbox_wait.
 * Fails by: ERR_IO, ERR_NO_MEMORY from init; nothing fails afterwards.
 * Limits:   none here; senders bound what they have outstanding.
 * Promises: 1. Messages of one sender arrive in the order sent.
 *           2. A push after the owner's take always wakes it: no message sleeps.
 *           3. One wake-up for many messages.
 */
#ifndef BASE_MAILBOX_H
#define BASE_MAILBOX_H

#include <stdatomic.h>

#include "base/err.h"

/* Embed at any place in a larger structure; run is called by base_mailbox_run on the owner. */
struct base_msg {
    struct base_msg *next;
    void (*run)(struct base_msg *msg);
};

struct base_mailbox {
    _Atomic(struct base_msg *) head; /* newest first */
    int wake_fd;                     /* eventfd, non-blocking, readable when something was pushed */
};

enum err base_mailbox_init(struct base_mailbox *m) MUST_CHECK;
/* No push may be under way: join the senders first. */
void base_mailbox_fini(struct base_mailbox *m);

void base_mailbox_push(struct base_mailbox *m, struct base_msg *msg);
/* Several at once, linked by next from the newest to the oldest: one wake-up for all of them. */
void base_mailbox_push_all(struct base_mailbox *m, struct base_msg *newest,
                           struct base_msg *oldest);
/* All messages, oldest first, linked by next; NULL when empty. Clears the wake-up. */
struct base_msg *base_mailbox_take(struct base_mailbox *m);
/* Take all and call run on each. Returns how many. */
size_t base_mailbox_run(struct base_mailbox *m);
/* Sleep until something is there or timeout_ms passed (-1: no timeout). May return early, with
 * nothing there. */
void base_mailbox_wait(struct base_mailbox *m, int timeout_ms);

#endif
