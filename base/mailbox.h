/*
 * base/mailbox.h - messages to one thread from any thread.
 *
 * Does:     lock-free push by many, take-all by one, a file descriptor that wakes the owner.
 * Owns:     its eventfd; never the messages: a message belongs to the sender until it is taken,
 *           then to the receiver.
 * May use:  base/.
 * Knows no: the meaning of messages.
 * Threads:  push from any; take and wait from the owner only.
 * Blocks:   only base_mailbox_wait.
 * Fails by: ERR_IO, ERR_NO_MEMORY from init; nothing fails afterwards.
 * Limits:   none here; senders bound the number of their messages in flight.
 * Promises: 1. Messages of one sender arrive in the order sent.
 *           2. A push after the owner's take always wakes the owner: no message is missed.
 *           3. One wake-up for many messages.
 */
#ifndef BASE_MAILBOX_H
#define BASE_MAILBOX_H

#include <stdatomic.h>

#include "base/err.h"

/* Embedded at any place in a larger structure; base_mailbox_run calls run on the owner. */
struct base_msg {
    struct base_msg *next;
    void (*run)(struct base_msg *msg);
};

struct base_mailbox {
    _Atomic(struct base_msg *) head; /* newest first */
    int wake_fd;                     /* eventfd, non-blocking, readable after a push */
};

enum err base_mailbox_init(struct base_mailbox *m) MUST_CHECK;
/* Closes the mailbox. No push may be in progress: join the senders first. */
void base_mailbox_fini(struct base_mailbox *m);

void base_mailbox_push(struct base_mailbox *m, struct base_msg *msg);
/* Pushes several messages at once, linked by next from the newest to the oldest: one wake-up for
 * all of them. */
void base_mailbox_push_all(struct base_mailbox *m, struct base_msg *newest,
                           struct base_msg *oldest);
/* Takes all messages, oldest first, linked by next; NULL if empty. Clears the wake-up. */
struct base_msg *base_mailbox_take(struct base_mailbox *m);
/* Takes all messages and calls run on each. Returns their number. */
size_t base_mailbox_run(struct base_mailbox *m);
/* Sleeps until a message was pushed or timeout_ms passed (-1: no timeout). May return early,
 * without a message. */
void base_mailbox_wait(struct base_mailbox *m, int timeout_ms);

#endif
