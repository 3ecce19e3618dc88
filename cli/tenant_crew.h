/*
 * cli/tenant_crew.h - worker pool of a tenant's move: several tables at a time.
 *
 * Does:     assign numbered pieces of work to workers; each worker keeps its connections to both
 *           servers for the whole move.
 * Owns:     the workers and their connections, from open to close.
 * May use:  base/, cli/.
 * Knows no: the work.
 * Threads:  one thread at a time uses a worker; the move's lock guards shared state.
 * Blocks:   until all pieces are done.
 * Fails by: the result of the first failing piece; CLI_INTERRUPTED.
 * Limits:   CLI_TRANSFER_STREAMS; memory use is independent of the sizes of tables and rows.
 * Promises: 1. Each piece is done once, unless an earlier piece failed.
 */
#ifndef CLI_TENANT_CREW_H
#define CLI_TENANT_CREW_H

#include "cli/change_feed.h"
#include "cli/tenant_move.h"
#include "cli/transfer_crew.h"
#include "cli/transfer_scan.h"
#include "cli/transfer_write.h"

struct cli_moving_hand {
    struct cli_tenant_move *m;
    struct cli_transfer_scan here;
    struct cli_transfer_scan there;
    struct cli_writer *writer; /* to the destination */
    struct cli_feed feed;      /* of the source */

    /* of the piece in progress */
    struct cli_tenant_table *table;
    struct cli_tally tally;
    bool is_writing;
    bool is_noted; /* rows arrive in order, and the copy's progress is recorded */
    uint64_t noted_bytes;
};

typedef enum cli_exit cli_moving_work(struct cli_moving_hand *h, size_t piece);

/* Starts the workers; call it in the main thread. Both servers' configurations must stay valid. */
enum cli_exit cli_moving_crew_open(struct cli_tenant_move *m);
void cli_moving_crew_close(struct cli_tenant_move *m);
/* Runs work for pieces 0 to count - 1. */
enum cli_exit cli_moving_each(struct cli_tenant_move *m, const char *verb, size_t count,
                              cli_moving_work *work);

#endif
