/*
 * migrations/format_history.h - since when a data directory has the formats it has.
 *
 * Does:     note in the file "formats" that a directory was made, restored or upgraded; say for
 *           every format that this program knows whether it was reached, how and when.
 * Owns:     the file.
 * May use:  base/, migrations/datadir.h.
 * Knows no: what the steps between formats do.
 * Threads:  noting: whoever has the directory open. Reading: any.
 * Blocks:   yes.
 * Fails by: ERR_CORRUPT (a line that is none), ERR_TOO_BIG (path), ERR_IO.
 * Limits:   MIG_HISTORY_LINES lines; the oldest ones go.
 * Promises: 1. What was noted is durable before FORMAT says it: a crash in between leaves a line
 *              of something that is done again, and noted again; the last line of a format counts.
 * Form:     "2 upgraded 2026-11-21T10:00:00.000Z 0.1.0\n", oldest first; docs/operations.md.
 */
#ifndef MIGRATIONS_FORMAT_HISTORY_H
#define MIGRATIONS_FORMAT_HISTORY_H

#include "base/err.h"
#include "migrations/datadir.h"

#define MIG_HISTORY_FILE  "formats"
#define MIG_HISTORY_LINES 64

/* How a directory came to have a format. */
enum mig_reached {
    MIG_REACHED_NOT, /* it is still to be upgraded */
    MIG_REACHED,     /* when is not known: it was made with a later one, or before this was noted */
    MIG_REACHED_MADE,
    MIG_REACHED_RESTORED,
    MIG_REACHED_UPGRADED,
};
const char *mig_reached_name(enum mig_reached how);

struct mig_format_state {
    enum mig_reached how;
    int64_t at_us;     /* 0: not known */
    char software[32]; /* the program's version that did it; "": not known */
};

/* how: MADE, RESTORED or UPGRADED, now. */
enum err mig_format_note(const char *data, uint32_t format, enum mig_reached how,
                         struct errbuf *eb) MUST_CHECK;
/* out[i] is about format i + 1; a directory that has `format`. No file: nothing was noted. */
enum err mig_format_states(const char *data, uint32_t format,
                           struct mig_format_state out[MIG_FORMAT_VERSION],
                           struct errbuf *eb) MUST_CHECK;

#endif
