/* cli/transfer_crew.c - see transfer_crew.h. */
#include "cli/transfer_crew.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "base/err.h"
#include "cli/bounds.h"
#include "cli/interrupt.h"

#include "base/banned.h"

struct hand {
    struct cli_crew *crew;
    void *member;
    pthread_t thread;
};

void cli_crew_init(struct cli_crew *crew)
{
    pthread_condattr_t monotonic;
    *crew = (struct cli_crew){.result = CLI_OK};
    INVARIANT(pthread_mutex_init(&crew->lock, NULL) == 0);
    INVARIANT(pthread_condattr_init(&monotonic) == 0);
    INVARIANT(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    INVARIANT(pthread_cond_init(&crew->ended, &monotonic) == 0);
    (void)pthread_condattr_destroy(&monotonic); /* cannot fail */
}

void cli_crew_fini(struct cli_crew *crew)
{
    (void)pthread_cond_destroy(&crew->ended); /* no thread waits */
    (void)pthread_mutex_destroy(&crew->lock); /* no thread holds it */
}

static void note_end(struct cli_crew *crew, enum cli_exit e)
{
    pthread_mutex_lock(&crew->lock);
    /* The first failure aborts the other threads; their results are then irrelevant. */
    if (e != CLI_OK && crew->result == CLI_OK)
        crew->result = e;
    if (e != CLI_OK)
        atomic_store(&crew->stop, true);
    crew->running--;
    pthread_cond_signal(&crew->ended);
    pthread_mutex_unlock(&crew->lock);
}

static void *run_hand(void *arg)
{
    struct hand *hand = arg;
    note_end(hand->crew, hand->crew->work(hand->member));
    return NULL;
}

static void wait_a_little(struct cli_crew *crew)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail */
    until.tv_nsec += CLI_BAR_PERIOD_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    (void)pthread_cond_timedwait(&crew->ended, &crew->lock, &until); /* ETIMEDOUT is expected */
}

static void start_hands(struct cli_crew *crew, struct hand *hands, void *const members[])
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all); /* cannot fail */
    INVARIANT(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    crew->running = CLI_TRANSFER_STREAMS;
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++) {
        hands[i] = (struct hand){.crew = crew, .member = members[i]};
        INVARIANT(pthread_create(&hands[i].thread, NULL, run_hand, &hands[i]) == 0);
    }
    INVARIANT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}

enum cli_exit cli_crew_run(struct cli_crew *crew, enum cli_exit (*work)(void *member),
                           void *const members[], void (*draw)(void *ctx), void *ctx)
{
    struct hand hands[CLI_TRANSFER_STREAMS];
    crew->work = work;
    crew->result = CLI_OK;
    atomic_store(&crew->stop, false);
    start_hands(crew, hands, members);
    pthread_mutex_lock(&crew->lock);
    while (crew->running > 0) {
        wait_a_little(crew);
        if (cli_interrupted())
            atomic_store(&crew->stop, true);
        pthread_mutex_unlock(&crew->lock);
        draw(ctx);
        pthread_mutex_lock(&crew->lock);
    }
    pthread_mutex_unlock(&crew->lock);
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++)
        (void)pthread_join(hands[i].thread, NULL); /* the thread is ending */
    return cli_interrupted() ? CLI_INTERRUPTED : crew->result;
}
