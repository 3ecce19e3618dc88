/*
 * cli/tenant_crew.h - tables of a tenant that moves, several at a time.
 *
 * Does:     give numbered pieces of work to the members of a crew; each member has its connections
 *           to both servers for as long as the move lasts.
 * Owns:     the members and their connections, from open to close.
 * May use:  base/, cli/.
 * Knows no: what the work is.
 * Threads:  a member is used by one at a time; what members share lies under the move's lock.
 * Blocks:   until all pieces are done.
 * Fails by: what the first failing piece returned; CLI_INTERRUPTED.
 * Limits:   CLI_TRANSFER_STREAMS; memory does not grow with tables or rows.
 * Promises: 1. Each piece is done once, unless one failed before.
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
    struct cli_writer *writer; /* over there */
    struct cli_feed feed;      /* of here */

    /* of the piece under way */
    struct cli_tenant_table *table;
    struct cli_tally tally;
    bool is_writing;
    bool is_noted; /* rows come in their order, and what was copied is noted */
    uint64_t noted_bytes;
};

typedef enum cli_exit cli_moving_work(struct cli_moving_hand *h, size_t piece);

/* In the main thread; both servers' configurations must stay. */
enum cli_exit cli_moving_crew_open(struct cli_tenant_move *m);
void cli_moving_crew_close(struct cli_tenant_move *m);
/* Pieces 0 to count - 1. */
enum cli_exit cli_moving_each(struct cli_tenant_move *m, const char *verb, size_t count,
                              cli_moving_work *work);

#endif
