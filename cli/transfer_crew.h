/*
 * cli/transfer_crew.h - a worker pool of a few parallel streams.
 *
 * Does:     run a function in several threads, draw progress during the run, stop all threads when
 *           one fails or a signal arrives.
 * Owns:     the threads, while cli_crew_run runs; a lock for their shared state.
 * May use:  base/, cli/.
 * Knows no: the work.
 * Threads:  creates them; only the main thread receives signals.
 * Blocks:   until all threads are done.
 * Fails by: the result of the first failing thread; CLI_INTERRUPTED.
 * Limits:   CLI_TRANSFER_STREAMS.
 * Promises: 1. No worker thread runs after cli_crew_run returned.
 */
#ifndef CLI_TRANSFER_CREW_H
#define CLI_TRANSFER_CREW_H

#include <pthread.h>
#include <stdatomic.h>

#include "cli/exit.h"

struct cli_crew {
    pthread_mutex_t lock; /* guards the workers' shared state, and the fields below */
    pthread_cond_t ended;
    atomic_bool stop;
    enum cli_exit result;
    size_t running;
    enum cli_exit (*work)(void *member);
};

void cli_crew_init(struct cli_crew *crew);
void cli_crew_fini(struct cli_crew *crew);

/* Runs work once for each of CLI_TRANSFER_STREAMS members,
 * and calls draw in the calling thread ten times a second. */
enum cli_exit cli_crew_run(struct cli_crew *crew, enum cli_exit (*work)(void *member),
                           void *const members[], void (*draw)(void *ctx), void *ctx);

#endif
