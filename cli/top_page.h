/*
 * cli/top_page.h - the page that `bigtent top` shows.
 *
 * Does:     format an answer for a window: the server, the total load, the answer's age, and a
 *           table of the columns that fit.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: terminals, requests.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: the buf's latched error.
 * Limits:   CLI_SCREEN_BYTES.
 * Promises: 1. Text from outside is escaped (cli/text.h promise 1). 2. A number is shown whole or
 *              not at all; the columns of the order are the last to be left out.
 */
#ifndef CLI_TOP_PAGE_H
#define CLI_TOP_PAGE_H

#include "cli/screen.h"
#include "cli/top.h"

struct cli_top_page {
    const struct cli_top *top;
    enum cli_top_order order;
    uint64_t interval_s;
    int64_t wall_us;
    uint64_t age_s; /* of the answer */
    bool is_paused;
    bool is_stale;        /* a newer answer is overdue */
    struct slice trouble; /* the reason why it is missing, escaped */
};

/* Lines above the tenants. */
#define CLI_TOP_PAGE_HEAD 4

void cli_top_page_put(struct buf *out, const struct cli_top_page *page,
                      struct cli_screen_size size);

#endif
