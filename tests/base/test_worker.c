/* tests/base/test_worker.c - a thread that runs what it is sent, and stops when told. */
#define _GNU_SOURCE

#include "tests/base/check_base.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/worker.h"

Suite *suite_base_worker(void);

/* The leak check at the end of an AddressSanitizer run needs a thread itself. */
#ifdef __SANITIZE_ADDRESS__
#define CAN_REFUSE_THREADS false
#else
#define CAN_REFUSE_THREADS true
#endif

#define POSTERS          4
#define POSTS_PER_POSTER 5000

struct job {
    struct base_msg msg;
    int poster;
    int number;
};

static struct base_worker worker;
static int next_number[POSTERS]; /* touched by the worker's thread, then by the test after stop */
static int out_of_order;
static pthread_t ran_on;
static sem_t has_posted;

static void run_job(struct base_msg *msg)
{
    struct job *job = (struct job *)msg;
    ran_on = pthread_self();
    out_of_order += job->number != next_number[job->poster];
    next_number[job->poster]++;
    free(job);
}

static void post_job(int poster, int number)
{
    struct job *job = calloc(1, sizeof *job);
    job->msg.run = run_job;
    job->poster = poster;
    job->number = number;
    base_worker_post(&worker, &job->msg);
}

START_TEST(everything_posted_before_stop_has_run)
{
    for (int round = 0; round < 50; round++) {
        memset(next_number, 0, sizeof next_number);
        ck_assert_int_eq(base_worker_start(&worker, "test"), ERR_OK);
        for (int i = 0; i < 100; i++)
            post_job(0, i);
        base_worker_stop(&worker);
        ck_assert_int_eq(next_number[0], 100);
        ck_assert_int_eq(out_of_order, 0);
    }
}
END_TEST

START_TEST(stop_of_an_idle_worker_returns)
{
    ck_assert_int_eq(base_worker_start(&worker, "test"), ERR_OK);
    usleep(10000);
    base_worker_stop(&worker);
}
END_TEST

START_TEST(stop_accepts_what_never_started)
{
    struct base_worker zeroed = {0};
    base_worker_stop(&zeroed);
    base_worker_stop(NULL);
    ck_assert_int_eq(base_worker_start(&worker, "test"), ERR_OK);
    base_worker_stop(&worker);
    base_worker_stop(&worker);
}
END_TEST

START_TEST(messages_run_on_the_worker_alone)
{
    ck_assert_int_eq(base_worker_start(&worker, "test"), ERR_OK);
    post_job(0, 0);
    base_worker_stop(&worker);
    ck_assert(!pthread_equal(ran_on, pthread_self()));
}
END_TEST

static void post_another(struct base_msg *msg)
{
    free(msg);
    post_job(0, 0);
    (void)sem_post(&has_posted); /* cannot fail: the only one */
}

START_TEST(message_may_post_to_its_own_worker)
{
    ck_assert_int_eq(base_worker_start(&worker, "test"), ERR_OK);
    struct base_msg *msg = calloc(1, sizeof *msg);
    msg->run = post_another;
    ck_assert_int_eq(sem_init(&has_posted, 0, 0), 0);
    base_worker_post(&worker, msg);
    while (sem_wait(&has_posted) != 0)
        ck_assert_int_eq(errno, EINTR);
    base_worker_stop(&worker);
    ck_assert_int_eq(next_number[0], 1);
}
END_TEST

static void *post_many(void *arg)
{
    int poster = *(int *)arg;
    for (int i = 0; i < POSTS_PER_POSTER; i++)
        post_job(poster, i);
    return NULL;
}

START_TEST(many_posters_keep_their_own_order)
{
    pthread_t threads[POSTERS];
    int ids[POSTERS];
    ck_assert_int_eq(base_worker_start(&worker, "test"), ERR_OK);
    for (int i = 0; i < POSTERS; i++) {
        ids[i] = i;
        ck_assert_int_eq(base_thread_start(&threads[i], "poster", post_many, &ids[i]), ERR_OK);
    }
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    base_worker_stop(&worker);
    for (int i = 0; i < POSTERS; i++)
        ck_assert_int_eq(next_number[i], POSTS_PER_POSTER);
    ck_assert_int_eq(out_of_order, 0);
}
END_TEST

/* --- threads -------------------------------------------------------------------------------- */

struct seen {
    size_t stack_bytes;
    sigset_t blocked;
    bool may_end;
    struct base_mailbox go_on;
};

static void *look_around(void *arg)
{
    struct seen *seen = arg;
    pthread_attr_t attr;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstacksize(&attr, &seen->stack_bytes);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
    base_mailbox_wait(&seen->go_on, -1);
    return arg;
}

START_TEST(thread_has_our_stack_name_and_signals)
{
    struct seen seen = {0};
    struct base_msg go = {0};
    pthread_t thread;
    void *result = NULL;
    char name[16] = "";
    ck_assert_int_eq(base_mailbox_init(&seen.go_on), ERR_OK);
    ck_assert_int_eq(base_thread_start(&thread, "fifteen-letters", look_around, &seen), ERR_OK);
    ck_assert_int_eq(pthread_getname_np(thread, name, sizeof name), 0);
    ck_assert_str_eq(name, "fifteen-letters");
    base_mailbox_push(&seen.go_on, &go);
    pthread_join(thread, &result);
    ck_assert_ptr_eq(result, &seen);
    ck_assert_uint_ge(seen.stack_bytes, LIM_THREAD_STACK_BYTES);
    ck_assert_int_eq(sigismember(&seen.blocked, SIGTERM), 1);
    ck_assert_int_eq(sigismember(&seen.blocked, SIGHUP), 1);
    ck_assert_int_eq(sigismember(&seen.blocked, SIGSEGV), 0);
    base_mailbox_fini(&seen.go_on);
}
END_TEST

static void *do_nothing(void *arg)
{
    return arg;
}

START_TEST(starting_a_thread_leaves_the_callers_signals)
{
    sigset_t before, after;
    pthread_t thread;
    sigemptyset(&before);
    sigaddset(&before, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    ck_assert_int_eq(base_thread_start(&thread, "t", do_nothing, NULL), ERR_OK);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    ck_assert_int_eq(sigismember(&after, SIGUSR1), 1);
    ck_assert_int_eq(sigismember(&after, SIGTERM), 0);
}
END_TEST

START_TEST(name_of_sixteen_letters_is_a_broken_invariant)
{
    pthread_t thread;
    (void)!base_thread_start(&thread, "sixteen-letters-", do_nothing, NULL);
}
END_TEST

static void refuse_threads(int error)
{
    refuse_syscall(SYS_clone3, error);
    refuse_syscall(SYS_clone, error);
}

START_TEST(thread_that_cannot_be_made_is_reported)
{
    pthread_t thread = pthread_self();
    refuse_threads(EAGAIN);
    ck_assert_int_eq(base_thread_start(&thread, "t", do_nothing, NULL), ERR_NO_MEMORY);
    ck_assert(pthread_equal(thread, pthread_self()));
    ck_assert_int_eq(base_worker_start(&worker, "t"), ERR_NO_MEMORY);
    refuse_threads(EPERM);
    ck_assert_int_eq(base_thread_start(&thread, "t", do_nothing, NULL), ERR_IO);
}
END_TEST

START_TEST(failed_start_leaves_no_descriptor)
{
    int before = dup(0);
    close(before);
    refuse_threads(EAGAIN);
    ck_assert_int_ne(base_worker_start(&worker, "t"), ERR_OK);
    ck_assert_int_eq(dup(0), before);
    base_worker_stop(&worker);
}
END_TEST

START_TEST(worker_without_a_descriptor_does_not_start)
{
    refuse_syscall(SYS_eventfd2, EMFILE);
    ck_assert_int_eq(base_worker_start(&worker, "t"), ERR_IO);
}
END_TEST

Suite *suite_base_worker(void)
{
    Suite *suite = suite_create("base_worker");
    TCase *run = tcase_create("run");
    tcase_set_timeout(run, 60);
    tcase_add_test(run, everything_posted_before_stop_has_run);
    tcase_add_test(run, stop_of_an_idle_worker_returns);
    tcase_add_test(run, stop_accepts_what_never_started);
    tcase_add_test(run, messages_run_on_the_worker_alone);
    tcase_add_test(run, message_may_post_to_its_own_worker);
    tcase_add_test(run, many_posters_keep_their_own_order);
    suite_add_tcase(suite, run);
    TCase *threads = tcase_create("threads");
    tcase_add_test(threads, thread_has_our_stack_name_and_signals);
    tcase_add_test(threads, starting_a_thread_leaves_the_callers_signals);
    tcase_add_test_raise_signal(threads, name_of_sixteen_letters_is_a_broken_invariant, SIGABRT);
    if (CAN_REFUSE_THREADS) {
        tcase_add_test(threads, thread_that_cannot_be_made_is_reported);
        tcase_add_test(threads, failed_start_leaves_no_descriptor);
    }
    tcase_add_test(threads, worker_without_a_descriptor_does_not_start);
    suite_add_tcase(suite, threads);
    return suite;
}
