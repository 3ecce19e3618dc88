/*
 * cli/transfer_crew.h - a few streams at work side by side.
 *
 * Does:     run a function in several threads, draw progress meanwhile, stop all when one fails or
 *           a signal comes.
 * Owns:     the threads, while cli_crew_run runs; a lock for what they share.
 * May use:  base/, cli/.
 * Knows no: what the work is.
 * Threads:  made here; signals go to the main thread alone.
 * Blocks:   until all are done.
 * Fails by: what the first failing thread returned; CLI_INTERRUPTED.
 * Limits:   CLI_TRANSFER_STREAMS.
 * Promises: 1. When cli_crew_run returns no thread of it runs.
 */
#ifndef CLI_TRANSFER_CREW_H
#define CLI_TRANSFER_CREW_H

#include <pthread.h>
#include <stdatomic.h>

#include "cli/exit.h"

struct cli_crew {
    pthread_mutex_t lock; /* of what the members share, and of the fields below */
    pthread_cond_t ended;
    atomic_bool stop;
    enum cli_exit result;
    size_t running;
    enum cli_exit (*work)(void *member);
};

void cli_crew_init(struct cli_crew *crew);
void cli_crew_fini(struct cli_crew *crew);

/* work runs once for each of CLI_TRANSFER_STREAMS members; draw, in this thread, ten times a
 * second. */
enum cli_exit cli_crew_run(struct cli_crew *crew, enum cli_exit (*work)(void *member),
                           void *const members[], void (*draw)(void *ctx), void *ctx);

#endif
