/*
 * migrations/format_history.h - when a data directory reached each of its formats.
 *
 * Does:     records in the file "formats" that a directory was created, restored or upgraded;
 *           reports for every format that this program knows whether it was reached, how and when.
 * Owns:     the file.
 * May use:  base/, migrations/datadir.h.
 * Knows no: what the steps between formats do.
 * Threads:  recording: the thread that has the directory open. Reading: any.
 * Blocks:   yes.
 * Fails by: ERR_CORRUPT (a malformed line), ERR_TOO_BIG (path), ERR_IO.
 * Limits:   MIG_HISTORY_LINES lines; the oldest ones are removed.
 * Promises: 1. A line is durable before FORMAT is changed: after a crash in between, the change is
 *              repeated and recorded again; the last line of a format counts.
 * Form:     "2 upgraded 2026-11-21T10:00:00.000Z 0.1.0\n", oldest first; docs/operations.md.
 */
#ifndef MIGRATIONS_FORMAT_HISTORY_H
#define MIGRATIONS_FORMAT_HISTORY_H

#include "base/err.h"
#include "migrations/datadir.h"

#define MIG_HISTORY_FILE  "formats"
#define MIG_HISTORY_LINES 64

/* How a directory reached a format. */
enum mig_reached {
    MIG_REACHED_NOT, /* not upgraded yet */
    MIG_REACHED,     /* unknown when: created with a later one, or before this was recorded */
    MIG_REACHED_MADE,
    MIG_REACHED_RESTORED,
    MIG_REACHED_UPGRADED,
};
const char *mig_reached_name(enum mig_reached how);

struct mig_format_state {
    enum mig_reached how;
    int64_t at_us;     /* 0: unknown */
    char software[32]; /* the program's version that did it; "": unknown */
};

/* Records a format as reached now. how: MADE, RESTORED or UPGRADED. */
enum err mig_format_note(const char *data, uint32_t format, enum mig_reached how,
                         struct errbuf *eb) MUST_CHECK;
/* Writes to out[i] the state of format i + 1 in a directory that has `format`. No file: nothing was
 * recorded. */
enum err mig_format_states(const char *data, uint32_t format,
                           struct mig_format_state out[MIG_FORMAT_VERSION],
                           struct errbuf *eb) MUST_CHECK;

#endif
