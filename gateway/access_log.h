/*
 * gateway/access_log.h - one line per request: which key did what, for which tenant.
 *
 * Does:     writes lines of JSON to a file, after the requests that they describe; reopens the file
 *           when it was moved away.
 * Owns:     the file, the thread that writes it, the waiting lines.
 * May use:  base/, gateway/call.h, gateway/label.h.
 * Knows no: row keys, values, names of tables: a line has the name of a route, not a path.
 * Threads:  each struct gw_access_lines belongs to a loop; reopen and lost: any.
 * Blocks:   open, and close, which waits until every line is written.
 * Fails by: ERR_IO from open. Lines that cannot be written are counted as lost: requests go on.
 * Limits:   LIM_ACCESS_LOG_BYTES of waiting lines; lines that arrive above that are lost.
 * Promises: 1. Every call has one line, or counts as lost.
 *           2. Lines are whole; the lines of one loop are in the order in which its calls ended.
 *           3. A line is passed to the system a second or two after its call ended, and before the
 *              process ends if the server stops.
 */
#ifndef GATEWAY_ACCESS_LOG_H
#define GATEWAY_ACCESS_LOG_H

#include "gateway/call.h"

struct gw_access_log;
struct gw_access_lines; /* of one loop */

/* Opens path for appending; creates it with mode 0600 if it does not exist. */
enum err gw_access_log_open(const char *path, struct gw_access_log **out,
                            struct errbuf *eb) MUST_CHECK;
/* Closes the log. All struct gw_access_lines must have been ended before. Accepts NULL. */
void gw_access_log_close(struct gw_access_log *log);
/* Reopens the path: later lines are appended to the file that the path names now. */
void gw_access_log_reopen(struct gw_access_log *log);
uint64_t gw_access_log_lost(const struct gw_access_log *log);

struct gw_access_lines *gw_access_lines_new(struct gw_access_log *log);
/* Hands over the lines collected so far and frees the collector. Accepts NULL. */
void gw_access_lines_end(struct gw_access_lines *lines);
void gw_access_lines_tick(struct gw_access_lines *lines);
void gw_access_line(struct gw_access_lines *lines, const struct gw_call *call,
                    const struct gw_label *label);

#endif
