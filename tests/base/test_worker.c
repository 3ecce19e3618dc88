/* tests/base/test_worker.c - a thread that runs what it is sent, and stops when told. */
#define _GNU_SOURCE

#include "tests/base/check_base.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/resource.h>
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

/* --- behind the others ---------------------------------------------------------------------- */

#define IOPRIO_THREAD  1 /* ioprio_get(2) */
#define IOPRIO_IDLE    3
#define IOPRIO_CLASSES 13 /* bits below the class */

struct manners {
    pthread_t thread;
    int nice;
    long disk;
};

#define NICE_LAST 19

/* Behind the other one, unless that is as far behind as there is. */
static bool is_behind(int nice, int other)
{
    return nice > other || (nice == NICE_LAST && other == NICE_LAST);
}

static void look_at_manners(void *ctx)
{
    struct manners *m = ctx;
    m->thread = pthread_self();
    m->nice = getpriority(PRIO_PROCESS, (id_t)gettid());
    m->disk = syscall(SYS_ioprio_get, IOPRIO_THREAD, 0) >> IOPRIO_CLASSES;
}

START_TEST(work_behind_others_is_on_a_thread_behind_them)
{
    struct manners before, behind = {0}, after;
    look_at_manners(&before);
    base_run_apart("behind", base_thread_behind_others, look_at_manners, &behind);
    look_at_manners(&after);
    ck_assert(!pthread_equal(behind.thread, pthread_self()));
    ck_assert(is_behind(behind.nice, before.nice));
    ck_assert_int_eq(behind.disk, IOPRIO_IDLE);
    ck_assert_int_eq(after.nice, before.nice);
    ck_assert_int_eq(after.disk, before.disk);
}
END_TEST

START_TEST(long_work_is_before_what_nobody_waits_for)
{
    struct manners before, longer = {0}, behind = {0};
    look_at_manners(&before);
    base_run_apart("longer", base_thread_long_work, look_at_manners, &longer);
    base_run_apart("behind", base_thread_behind_others, look_at_manners, &behind);
    ck_assert(is_behind(longer.nice, before.nice));
    ck_assert(is_behind(behind.nice, longer.nice));
    ck_assert_int_eq(longer.disk, before.disk);
}
END_TEST

static void do_long_work(void *ctx)
{
    base_thread_long_work();
    look_at_manners(ctx);
}

START_TEST(long_work_raises_nobody)
{
    struct manners m = {0};
    base_run_apart("raised", base_thread_behind_others, do_long_work, &m);
    ck_assert_int_gt(m.nice, 5);
}
END_TEST

static void as_it_is(void)
{
}

static void try_to_rise(void *ctx)
{
    int *out = ctx;
    *out = setpriority(PRIO_PROCESS, (id_t)gettid(), *out - 5) == 0;
}

START_TEST(who_answers_is_ahead_of_the_others)
{
    struct manners before, ahead = {0};
    look_at_manners(&before);
    int allowed = before.nice;
    base_run_apart("rise", as_it_is, try_to_rise, &allowed);
    base_run_apart("ahead", base_thread_ahead_of_others, look_at_manners, &ahead);
    ck_assert_int_eq(ahead.nice, before.nice - (allowed ? 5 : 0));
    ck_assert_int_eq(ahead.disk, before.disk);
}
END_TEST

START_TEST(who_must_not_go_ahead_stays_where_it_is)
{
    struct manners before, ahead = {0};
    look_at_manners(&before);
    refuse_syscall(SYS_setpriority, EACCES);
    base_run_apart("ahead", base_thread_ahead_of_others, look_at_manners, &ahead);
    ck_assert_int_eq(ahead.nice, before.nice);
}
END_TEST

START_TEST(one_of_so_many_calls_yields)
{
    uint32_t calls = 0;
    refuse_syscall(SYS_sched_yield, EPERM);
    for (int round = 0; round < 3; round++) {
        errno = 0;
        for (int i = 0; i < 9; i++)
            base_yield_every(&calls, 10);
        ck_assert_int_eq(errno, 0);
        base_yield_every(&calls, 10);
        ck_assert_int_eq(errno, EPERM);
    }
}
END_TEST

static void refuse_threads(int error)
{
    refuse_syscall(SYS_clone3, error);
    refuse_syscall(SYS_clone, error);
}

START_TEST(work_behind_others_is_done_without_a_thread)
{
    struct manners m = {0};
    refuse_threads(EAGAIN);
    base_run_apart("behind", base_thread_behind_others, look_at_manners, &m);
    ck_assert(pthread_equal(m.thread, pthread_self()));
}
END_TEST

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
    tcase_add_test(threads, work_behind_others_is_on_a_thread_behind_them);
    tcase_add_test(threads, long_work_is_before_what_nobody_waits_for);
    tcase_add_test(threads, long_work_raises_nobody);
    tcase_add_test(threads, who_answers_is_ahead_of_the_others);
    tcase_add_test(threads, who_must_not_go_ahead_stays_where_it_is);
    tcase_add_test(threads, one_of_so_many_calls_yields);
    if (CAN_REFUSE_THREADS) {
        tcase_add_test(threads, work_behind_others_is_done_without_a_thread);
        tcase_add_test(threads, thread_that_cannot_be_made_is_reported);
        tcase_add_test(threads, failed_start_leaves_no_descriptor);
    }
    tcase_add_test(threads, worker_without_a_descriptor_does_not_start);
    suite_add_tcase(suite, threads);
    return suite;
}
