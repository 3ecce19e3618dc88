/* tests/base/test_share.c - the share of the processors that a class of work has, and its lag. */
#define _GNU_SOURCE

#include "tests/base/check_base.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/share.h"
#include "base/worker.h"

#include "base/banned.h"

Suite *suite_base_share(void);

/* The leak check at the end of an AddressSanitizer run needs a thread itself. */
#ifdef __SANITIZE_ADDRESS__
#define CAN_REFUSE_THREADS false
#else
#define CAN_REFUSE_THREADS true
#endif

#define IOPRIO_THREAD  1 /* ioprio_get(2) */
#define IOPRIO_IDLE    3
#define IOPRIO_CLASSES 13 /* bits before the class */
#define NICE_FIRST     (-20)
#define NICE_LAST      19
#define NOBODY         65534
#define AHEAD          5
#define AHEAD_OF_ALL   10
#define COMPUTED_NS    20000000L

struct manners {
    pthread_t thread;
    int nice;
    long disk;
};

static void look_at(pid_t tid, struct manners *m)
{
    m->nice = getpriority(PRIO_PROCESS, (id_t)tid);
    m->disk = syscall(SYS_ioprio_get, IOPRIO_THREAD, tid) >> IOPRIO_CLASSES;
}

static void look_at_self(void *ctx)
{
    struct manners *m = ctx;
    m->thread = pthread_self();
    look_at(gettid(), m);
}

static int nice_of(enum base_class c)
{
    struct manners m = {0};
    base_run_apart("looks", c, look_at_self, &m);
    return m.nice;
}

/* What the program was started with, and by. */
static int moved(int by)
{
    int nice = getpriority(PRIO_PROCESS, 0) + by;
    return nice < NICE_FIRST ? NICE_FIRST : nice > NICE_LAST ? NICE_LAST : nice;
}

static void *try_to_rise(void *arg)
{
    bool *out = arg;
    *out = setpriority(PRIO_PROCESS, (id_t)gettid(), moved(-AHEAD)) == 0;
    return NULL;
}

static bool may_rise(void)
{
    bool may = false;
    pthread_t thread;
    ck_assert_int_eq(base_thread_start(&thread, "rises", try_to_rise, &may), ERR_OK);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return may;
}

/* Of this process, and before the first thread joins a class. */
static void take_the_right_away(void)
{
    const struct rlimit none = {0};
    ck_assert_int_eq(setrlimit(RLIMIT_NICE, &none), 0);
    ck_assert(geteuid() != 0 || setresuid(NOBODY, NOBODY, NOBODY) == 0);
    ck_assert(!may_rise());
}

/* --- classes ---------------------------------------------------------------------------------- */

START_TEST(work_apart_has_a_thread_of_its_class)
{
    struct manners before, apart = {0}, after;
    look_at_self(&before);
    base_run_apart("apart", BASE_BACKUP, look_at_self, &apart);
    look_at_self(&after);
    ck_assert(!pthread_equal(apart.thread, pthread_self()));
    ck_assert_int_eq(apart.nice, moved(10));
    ck_assert_int_eq(apart.disk, IOPRIO_IDLE);
    ck_assert_int_eq(after.nice, before.nice);
    ck_assert_int_eq(after.disk, before.disk);
}
END_TEST

START_TEST(classes_have_an_order)
{
    static const enum base_class order[] = {BASE_COMMIT, BASE_FLUSH, BASE_SCAN, BASE_COMPACT,
                                            BASE_SCRUB};
    int before = nice_of(BASE_SERVE);
    ck_assert_int_eq(before, may_rise() ? moved(-AHEAD) : moved(0));
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        int nice = nice_of(order[i]);
        ck_assert_int_ge(nice, before);
        before = nice;
    }
}
END_TEST

START_TEST(what_the_system_refuses_stays_as_it_was)
{
    struct manners before, ahead = {0};
    look_at_self(&before);
    refuse_syscall(SYS_setpriority, EACCES);
    base_run_apart("ahead", BASE_SERVE, look_at_self, &ahead);
    ck_assert_int_eq(ahead.nice, before.nice);
}
END_TEST

START_TEST(work_apart_is_done_without_a_thread)
{
    struct manners m = {0};
    refuse_syscall(SYS_clone3, EAGAIN);
    refuse_syscall(SYS_clone, EAGAIN);
    base_run_apart("apart", BASE_BACKUP, look_at_self, &m);
    ck_assert(pthread_equal(m.thread, pthread_self()));
}
END_TEST

/* --- a thread that waits in a class ----------------------------------------------------------- */

struct waiting {
    enum base_class class;
    enum base_class next; /* joined at the end; the same: it stays */
    pthread_t thread;
    pid_t tid;
    sem_t is_there;
    sem_t may_end;
};

/* So long of the processor that joining and leaving are nothing. */
static void compute(void)
{
    struct timespec t;
    do {
        ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
    } while (t.tv_sec == 0 && t.tv_nsec < COMPUTED_NS);
}

static void *wait_in_class(void *arg)
{
    struct waiting *w = arg;
    base_class_join(w->class);
    if (w->next != w->class)
        compute();
    w->tid = gettid();
    (void)sem_post(&w->is_there);
    while (sem_wait(&w->may_end) != 0)
        ck_assert_int_eq(errno, EINTR);
    base_class_join(w->next);
    return NULL;
}

static void begin_with(struct waiting *w, enum base_class c, enum base_class next)
{
    *w = (struct waiting){.class = c, .next = next};
    ck_assert_int_eq(sem_init(&w->is_there, 0, 0), 0);
    ck_assert_int_eq(sem_init(&w->may_end, 0, 0), 0);
    ck_assert_int_eq(base_thread_start(&w->thread, "waits", wait_in_class, w), ERR_OK);
    while (sem_wait(&w->is_there) != 0)
        ck_assert_int_eq(errno, EINTR);
}

static void begin(struct waiting *w, enum base_class c)
{
    begin_with(w, c, c);
}

static void end(struct waiting *w)
{
    ck_assert_int_eq(sem_post(&w->may_end), 0);
    ck_assert_int_eq(pthread_join(w->thread, NULL), 0);
}

static void expect(const struct waiting *w, int nice, bool is_idle)
{
    struct manners m;
    struct base_class_now now;
    look_at(w->tid, &m);
    ck_assert_int_eq(m.nice, nice);
    ck_assert_int_eq(m.disk == IOPRIO_IDLE, is_idle);
    base_class_get(w->class, &now);
    ck_assert_int_eq(now.nice, nice);
    ck_assert(nice < getpriority(PRIO_PROCESS, 0) ? now.weight > 1000 : now.weight <= 1000);
}

START_TEST(a_class_that_lags_goes_ahead_and_back)
{
    struct waiting w;
    bool may = may_rise();
    begin(&w, BASE_ERASE);
    expect(&w, moved(may ? 10 : 5), true);
    base_class_lag(BASE_ERASE, BASE_LAG_FULL / 4);
    expect(&w, moved(5), false);
    base_class_lag(BASE_ERASE, 2 * BASE_LAG_FULL);
    expect(&w, moved(may ? -AHEAD_OF_ALL : 5), false);
    ck_assert_int_eq(nice_of(BASE_ERASE), moved(may ? -AHEAD_OF_ALL : 5)); /* who comes later */
    ck_assert_int_eq(nice_of(BASE_BACKUP), moved(10));
    base_class_lag(BASE_ERASE, 0);
    expect(&w, moved(may ? 10 : 5), true);
    end(&w);
}
END_TEST

/* As with an RLIMIT_NICE that allows 7 less and no more. */
START_TEST(a_limit_is_gone_to_and_not_beyond)
{
    struct waiting w;
    bool may = may_rise();
    for (int by = -AHEAD_OF_ALL; by < -7; by++)
        refuse_syscall_of(SYS_setpriority, EACCES, 2, (uint32_t)moved(by));
    ck_assert_int_eq(nice_of(BASE_SERVE), moved(may ? -AHEAD : 0));
    begin(&w, BASE_ERASE);
    base_class_lag(BASE_ERASE, BASE_LAG_FULL);
    expect(&w, moved(may ? -7 : 5), false);
    end(&w);
}
END_TEST

START_TEST(without_the_right_a_share_is_for_good)
{
    struct waiting w;
    int own = getpriority(PRIO_PROCESS, 0);
    take_the_right_away();
    ck_assert_int_eq(nice_of(BASE_SERVE), own);
    begin(&w, BASE_COMPACT);
    for (uint32_t lag = 0; lag <= BASE_LAG_FULL; lag += BASE_LAG_FULL / 2) {
        base_class_lag(BASE_COMPACT, lag);
        expect(&w, moved(5), false);
    }
    end(&w);
}
END_TEST

START_TEST(a_class_tells_its_threads_and_their_time)
{
    struct waiting w[2];
    struct base_class_now now;
    begin(&w[0], BASE_SCRUB);
    begin_with(&w[1], BASE_SCRUB, BASE_BACKUP);
    base_class_get(BASE_SCRUB, &now);
    ck_assert_str_eq(now.name, "scrub");
    ck_assert_uint_eq(now.threads, 2);
    ck_assert_uint_ge(now.cpu_ns, COMPUTED_NS / 2); /* it computed before it joined, too */
    uint64_t before_ns = now.cpu_ns;
    end(&w[0]);
    end(&w[1]);
    base_class_get(BASE_SCRUB, &now);
    ck_assert_uint_eq(now.threads, 0);
    ck_assert_uint_gt(now.cpu_ns, before_ns); /* what they did is not forgotten */
    base_class_get(BASE_BACKUP, &now);
    ck_assert_uint_eq(now.threads, 0);
    ck_assert_uint_lt(now.cpu_ns, COMPUTED_NS / 2); /* a thread's time is counted once */
}
END_TEST

/* --- turns ------------------------------------------------------------------------------------ */

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

Suite *suite_base_share(void)
{
    Suite *suite = suite_create("base_share");
    TCase *t = tcase_create("share");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, work_apart_has_a_thread_of_its_class);
    tcase_add_test(t, classes_have_an_order);
    tcase_add_test(t, what_the_system_refuses_stays_as_it_was);
    if (CAN_REFUSE_THREADS)
        tcase_add_test(t, work_apart_is_done_without_a_thread);
    tcase_add_test(t, a_class_that_lags_goes_ahead_and_back);
    tcase_add_test(t, a_limit_is_gone_to_and_not_beyond);
    tcase_add_test(t, without_the_right_a_share_is_for_good);
    tcase_add_test(t, a_class_tells_its_threads_and_their_time);
    tcase_add_test(t, one_of_so_many_calls_yields);
    suite_add_tcase(suite, t);
    return suite;
}
