/* tests/base/test_mailbox.c - order, wake-ups, and many senders at once. */
#include "tests/base/check_base.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mailbox.h"

Suite *suite_base_mailbox(void);

struct numbered {
    int sender;
    int number;
    struct base_msg msg; /* not first: it may stand anywhere */
};

static struct numbered *numbered_of(struct base_msg *msg)
{
    return (struct numbered *)((char *)msg - offsetof(struct numbered, msg));
}

static bool is_readable(const struct base_mailbox *m)
{
    struct pollfd fd = {.fd = m->wake_fd, .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

static struct base_mailbox box;

static void open_box(void)
{
    ck_assert_int_eq(base_mailbox_init(&box), ERR_OK);
}

static void close_box(void)
{
    base_mailbox_fini(&box);
}

START_TEST(new_mailbox_is_empty_and_silent)
{
    ck_assert_ptr_null(base_mailbox_take(&box));
    ck_assert_uint_eq(base_mailbox_run(&box), 0);
    ck_assert(!is_readable(&box));
}
END_TEST

START_TEST(messages_are_taken_oldest_first)
{
    struct numbered n[5] = {0};
    for (int i = 0; i < 5; i++)
        base_mailbox_push(&box, &n[i].msg);
    struct base_msg *msg = base_mailbox_take(&box);
    for (int i = 0; i < 5; i++, msg = msg->next)
        ck_assert_ptr_eq(msg, &n[i].msg);
    ck_assert_ptr_null(msg);
    ck_assert_ptr_null(base_mailbox_take(&box));
}
END_TEST

START_TEST(push_wakes_and_take_clears)
{
    struct numbered n[2] = {0};
    base_mailbox_push(&box, &n[0].msg);
    ck_assert(is_readable(&box));
    ck_assert_ptr_nonnull(base_mailbox_take(&box));
    ck_assert(!is_readable(&box));
    base_mailbox_push(&box, &n[1].msg);
    ck_assert(is_readable(&box));
}
END_TEST

START_TEST(many_messages_make_one_wake_up)
{
    struct numbered n[100] = {0};
    for (int i = 0; i < 100; i++)
        base_mailbox_push(&box, &n[i].msg);
    uint64_t writes = 0;
    ck_assert_int_eq(read(box.wake_fd, &writes, sizeof writes), sizeof writes);
    ck_assert_uint_eq(writes, 1);
}
END_TEST

START_TEST(messages_pushed_together_keep_their_order_behind_earlier_ones)
{
    struct numbered n[6] = {0};
    base_mailbox_push(&box, &n[0].msg);
    for (int i = 2; i < 5; i++)
        n[i].msg.next = &n[i - 1].msg;
    base_mailbox_push_all(&box, &n[4].msg, &n[1].msg);
    base_mailbox_push(&box, &n[5].msg);
    struct base_msg *msg = base_mailbox_take(&box);
    for (int i = 0; i < 6; i++, msg = msg->next)
        ck_assert_ptr_eq(msg, &n[i].msg);
    ck_assert_ptr_null(msg);
    base_mailbox_push_all(&box, &n[1].msg, &n[1].msg);
    ck_assert(is_readable(&box));
}
END_TEST

static int ran[10];
static int ran_count;

static void note_run(struct base_msg *msg)
{
    ran[ran_count++] = numbered_of(msg)->number;
}

START_TEST(run_calls_each_once_in_order)
{
    struct numbered n[5] = {0};
    for (int i = 0; i < 5; i++) {
        n[i].number = i;
        n[i].msg.run = note_run;
        base_mailbox_push(&box, &n[i].msg);
    }
    ck_assert_uint_eq(base_mailbox_run(&box), 5);
    ck_assert_int_eq(ran_count, 5);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(ran[i], i);
    ck_assert_uint_eq(base_mailbox_run(&box), 0);
}
END_TEST

static void free_itself(struct base_msg *msg)
{
    ran_count++;
    memset(numbered_of(msg), 0xEE, sizeof(struct numbered));
    free(numbered_of(msg));
}

START_TEST(run_may_free_the_message)
{
    for (int i = 0; i < 10; i++) {
        struct numbered *n = calloc(1, sizeof *n);
        n->msg.run = free_itself;
        base_mailbox_push(&box, &n->msg);
    }
    ck_assert_uint_eq(base_mailbox_run(&box), 10);
    ck_assert_int_eq(ran_count, 10);
}
END_TEST

static void push_again_once(struct base_msg *msg)
{
    if (numbered_of(msg)->number++ == 0)
        base_mailbox_push(&box, msg);
}

START_TEST(run_may_push_the_message_again)
{
    struct numbered n = {.msg.run = push_again_once};
    base_mailbox_push(&box, &n.msg);
    ck_assert_uint_eq(base_mailbox_run(&box), 1);
    ck_assert(is_readable(&box));
    ck_assert_uint_eq(base_mailbox_run(&box), 1);
    ck_assert_int_eq(n.number, 2);
    ck_assert_uint_eq(base_mailbox_run(&box), 0);
}
END_TEST

START_TEST(fini_closes_the_descriptor_once)
{
    struct base_mailbox m;
    ck_assert_int_eq(base_mailbox_init(&m), ERR_OK);
    int fd = m.wake_fd;
    base_mailbox_fini(&m);
    ck_assert_int_eq(dup2(0, fd), fd); /* somebody else's now */
    base_mailbox_fini(&m);
    ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(fini_spares_standard_input)
{
    struct base_mailbox zeroed = {0};
    base_mailbox_fini(&zeroed);
    base_mailbox_fini(NULL);
    int copy = dup(0);
    ck_assert_int_ge(copy, 0);
    close(copy);
}
END_TEST

START_TEST(descriptor_is_never_zero)
{
    struct base_mailbox m;
    close(0);
    ck_assert_int_eq(base_mailbox_init(&m), ERR_OK);
    ck_assert_int_gt(m.wake_fd, 0);
    struct numbered n = {0};
    base_mailbox_push(&m, &n.msg);
    ck_assert(is_readable(&m));
    base_mailbox_fini(&m);
}
END_TEST

START_TEST(init_reports_what_the_system_refuses)
{
    struct base_mailbox m = {0};
    refuse_syscall(SYS_eventfd2, EMFILE);
    ck_assert_int_eq(base_mailbox_init(&m), ERR_IO);
    refuse_syscall(SYS_eventfd2, ENOMEM);
    ck_assert_int_eq(base_mailbox_init(&m), ERR_NO_MEMORY);
    base_mailbox_fini(&m);
}
END_TEST

/* --- waiting -------------------------------------------------------------------------------- */

/* A wait that does not end meets libcheck's timeout. */
static uint64_t waited_ms(int timeout_ms)
{
    uint64_t before = base_monotonic_ns();
    base_mailbox_wait(&box, timeout_ms);
    return (base_monotonic_ns() - before) / 1000000;
}

START_TEST(wait_returns_at_once_when_something_is_there)
{
    struct numbered n = {0};
    base_mailbox_push(&box, &n.msg);
    (void)waited_ms(-1);
    ck_assert_ptr_nonnull(base_mailbox_take(&box));
}
END_TEST

START_TEST(wait_ends_at_its_timeout)
{
    (void)waited_ms(0);
    ck_assert_uint_ge(waited_ms(30), 30);
    (void)waited_ms(1);
}
END_TEST

static void ignore_signal(int number)
{
    (void)number; /* only there to interrupt */
}

START_TEST(signals_do_not_cut_the_wait_short)
{
    struct sigaction action = {.sa_handler = ignore_signal};
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    struct itimerval every_2_ms = {{0, 2000}, {0, 2000}};
    ck_assert_int_eq(setitimer(ITIMER_REAL, &every_2_ms, NULL), 0);
    ck_assert_uint_ge(waited_ms(50), 50);
}
END_TEST

static void *push_later(void *arg)
{
    usleep(20000);
    base_mailbox_push(&box, arg);
    return NULL;
}

START_TEST(push_ends_a_wait_without_timeout)
{
    struct numbered n = {0};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, push_later, &n.msg), 0);
    base_mailbox_wait(&box, -1);
    ck_assert_ptr_eq(base_mailbox_take(&box), &n.msg);
    pthread_join(thread, NULL);
}
END_TEST

/* --- many threads --------------------------------------------------------------------------- */

#define SENDERS           4
#define MESSAGES_PER_SEND 20000

struct sender {
    pthread_t thread;
    int id;
    uint64_t seed;
    struct numbered messages[MESSAGES_PER_SEND];
};

static void *send_all(void *arg)
{
    struct sender *s = arg;
    for (int i = 0; i < MESSAGES_PER_SEND; i++) {
        s->messages[i].sender = s->id;
        s->messages[i].number = i;
        base_mailbox_push(&box, &s->messages[i].msg);
        if (next_random(&s->seed) % 64 == 0)
            sched_yield(); /* let the owner run dry now and then */
    }
    return NULL;
}

START_TEST(nothing_is_lost_or_reordered_between_many_senders)
{
    static struct sender senders[SENDERS];
    for (int i = 0; i < SENDERS; i++) {
        senders[i].id = i;
        senders[i].seed = (uint64_t)i;
        ck_assert_int_eq(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
    }
    int next[SENDERS] = {0};
    int total = 0;
    while (total < SENDERS * MESSAGES_PER_SEND) {
        base_mailbox_wait(&box, -1); /* for ever, if a wake-up was lost */
        for (struct base_msg *m = base_mailbox_take(&box); m != NULL; m = m->next) {
            struct numbered *n = numbered_of(m);
            ck_assert_int_eq(n->number, next[n->sender]);
            next[n->sender]++;
            total++;
        }
    }
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i].thread, NULL);
    ck_assert_ptr_null(base_mailbox_take(&box));
}
END_TEST

#define ROUNDS 20000

/* Ping-pong: after each message both sides are asleep or about to be, so every push races with the
 * other side's last look. One lost wake-up stops the game for ever. */
static struct base_mailbox reply_box;

static void *reply_to_each(void *arg)
{
    struct numbered *reply = arg;
    for (int i = 0; i < ROUNDS;) {
        base_mailbox_wait(&box, -1);
        if (base_mailbox_take(&box) == NULL)
            continue;
        base_mailbox_push(&reply_box, &reply->msg);
        i++;
    }
    return NULL;
}

START_TEST(no_wake_up_is_lost_at_ping_pong)
{
    ck_assert_int_eq(base_mailbox_init(&reply_box), ERR_OK);
    struct numbered ping = {0}, pong = {0};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, reply_to_each, &pong), 0);
    for (int i = 0; i < ROUNDS; i++) {
        base_mailbox_push(&box, &ping.msg);
        while (base_mailbox_take(&reply_box) == NULL)
            base_mailbox_wait(&reply_box, -1);
    }
    pthread_join(thread, NULL);
    base_mailbox_fini(&reply_box);
}
END_TEST

Suite *suite_base_mailbox(void)
{
    Suite *suite = suite_create("base_mailbox");
    TCase *order = tcase_create("order");
    tcase_add_checked_fixture(order, open_box, close_box);
    tcase_add_test(order, new_mailbox_is_empty_and_silent);
    tcase_add_test(order, messages_are_taken_oldest_first);
    tcase_add_test(order, run_calls_each_once_in_order);
    tcase_add_test(order, run_may_free_the_message);
    tcase_add_test(order, run_may_push_the_message_again);
    suite_add_tcase(suite, order);
    TCase *wake = tcase_create("wake");
    tcase_add_checked_fixture(wake, open_box, close_box);
    tcase_add_test(wake, push_wakes_and_take_clears);
    tcase_add_test(wake, many_messages_make_one_wake_up);
    tcase_add_test(wake, messages_pushed_together_keep_their_order_behind_earlier_ones);
    tcase_add_test(wake, wait_returns_at_once_when_something_is_there);
    tcase_add_test(wake, wait_ends_at_its_timeout);
    tcase_add_test(wake, signals_do_not_cut_the_wait_short);
    tcase_add_test(wake, push_ends_a_wait_without_timeout);
    suite_add_tcase(suite, wake);
    TCase *life = tcase_create("life");
    tcase_add_test(life, fini_closes_the_descriptor_once);
    tcase_add_test(life, fini_spares_standard_input);
    tcase_add_test(life, descriptor_is_never_zero);
    tcase_add_test(life, init_reports_what_the_system_refuses);
    suite_add_tcase(suite, life);
    TCase *stress = tcase_create("stress");
    tcase_set_timeout(stress, 60);
    tcase_add_checked_fixture(stress, open_box, close_box);
    tcase_add_test(stress, nothing_is_lost_or_reordered_between_many_senders);
    tcase_add_test(stress, no_wake_up_is_lost_at_ping_pong);
    suite_add_tcase(suite, stress);
    return suite;
}
