/*
 * base/mailbox.c - a lock-free list of messages and an eventfd.
 *
 * Mechanism: push prepends its message to the list; take swaps the whole list for an empty
 * one and reverses it. Only the push that finds the list empty writes the eventfd.
 *
 * Why no message is missed (promise 2):
 *   1. The push that makes the list non-empty writes the eventfd afterwards.
 *   2. take clears the eventfd BEFORE it empties the list. A push between the two finds either the
 *      old list, and is taken with it, or the empty one, and its write follows the clearing.
 *   A write may arrive after its message was taken: the owner then wakes up once without a message.
 *
 * Orders: push releases the message's content, take acquires it. Successive pushes are
 * read-modify-writes of one object, so the take that sees the newest message sees the content that
 * every earlier push released.
 */
#include "base/mailbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

#include "base/banned.h"

enum err base_mailbox_init(struct base_mailbox *m)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd == 0) {
        /* A zeroed mailbox, which was never initialized, has descriptor 0; fini must not mistake it
         * for ours. */
        fd = fcntl(0, F_DUPFD_CLOEXEC, 1);
        (void)close(0); /* the copy stays */
    }
    if (fd < 0)
        return errno == ENOMEM ? ERR_NO_MEMORY : ERR_IO;
    atomic_init(&m->head, NULL);
    m->wake_fd = fd;
    return ERR_OK;
}

void base_mailbox_fini(struct base_mailbox *m)
{
    if (m == NULL || m->wake_fd <= 0)
        return;
    (void)close(m->wake_fd); /* nothing was written that could be lost */
    m->wake_fd = 0;
}

static void wake(const struct base_mailbox *m)
{
    uint64_t one = 1;
    ssize_t n;
    do {
        n = write(m->wake_fd, &one, sizeof one);
    } while (n < 0 && errno == EINTR);
    /* EAGAIN: the counter is at its maximum, so the owner is awake anyway. */
    INVARIANT(n == (ssize_t)sizeof one || errno == EAGAIN);
}

static void clear_wake(const struct base_mailbox *m)
{
    uint64_t count;
    ssize_t n;
    do {
        n = read(m->wake_fd, &count, sizeof count);
    } while (n < 0 && errno == EINTR);
    INVARIANT(n == (ssize_t)sizeof count || errno == EAGAIN);
}

void base_mailbox_push_all(struct base_mailbox *m, struct base_msg *newest, struct base_msg *oldest)
{
    struct base_msg *head = atomic_load_explicit(&m->head, memory_order_relaxed);
    do {
        oldest->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&m->head, &head, newest, memory_order_release,
                                                    memory_order_relaxed));
    /* From here on the messages belong to the receiver. */
    if (head == NULL)
        wake(m);
}

void base_mailbox_push(struct base_mailbox *m, struct base_msg *msg)
{
    base_mailbox_push_all(m, msg, msg);
}

static struct base_msg *reversed(struct base_msg *list)
{
    struct base_msg *done = NULL;
    while (list != NULL) {
        struct base_msg *next = list->next;
        list->next = done;
        done = list;
        list = next;
    }
    return done;
}

struct base_msg *base_mailbox_take(struct base_mailbox *m)
{
    clear_wake(m);
    return reversed(atomic_exchange_explicit(&m->head, NULL, memory_order_acquire));
}

size_t base_mailbox_run(struct base_mailbox *m)
{
    size_t count = 0;
    struct base_msg *msg = base_mailbox_take(m);
    while (msg != NULL) {
        struct base_msg *next = msg->next; /* run may free msg or push it again */
        msg->run(msg);
        msg = next;
        count++;
    }
    return count;
}

static int ms_until(uint64_t deadline_ns)
{
    uint64_t now_ns = base_monotonic_ns();
    if (now_ns >= deadline_ns)
        return 0;
    return (int)((deadline_ns - now_ns + 999999) / 1000000);
}

void base_mailbox_wait(struct base_mailbox *m, int timeout_ms)
{
    struct pollfd wanted = {.fd = m->wake_fd, .events = POLLIN};
    uint64_t deadline_ns =
        base_monotonic_ns() + (timeout_ms > 0 ? (uint64_t)timeout_ms * 1000000 : 0);
    int left_ms = timeout_ms < 0 ? -1 : timeout_ms;
    while (poll(&wanted, 1, left_ms) < 0) {
        INVARIANT(errno == EINTR || errno == ENOMEM);
        if (timeout_ms >= 0)
            left_ms = ms_until(deadline_ns);
    }
}
