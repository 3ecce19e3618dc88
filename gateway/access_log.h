/*
 * gateway/access_log.h - a line for each request: which key did what, for which tenant.
 *
 * Does:     write lines of JSON to a file, behind the requests they are about; open the file anew
 *           when it was moved away.
 * Owns:     the file, a thread that writes it, the lines that wait.
 * May use:  base/, gateway/call.h, gateway/label.h.
 * Knows no: row keys, values, names of tables: a line has the name of a route, not a path.
 * Threads:  each struct gw_access_lines belongs to a loop; reopen and lost: any.
 * Blocks:   open, and close, which waits until everything is written.
 * Fails by: ERR_IO from open. Lines that cannot be written are counted as lost: requests go on.
 * Limits:   LIM_ACCESS_LOG_BYTES of lines wait; what comes then is lost.
 * Promises: 1. A call has one line, or counts as lost.
 *           2. Lines are whole; those of a loop are in the order in which its calls ended.
 *           3. A line is handed to the system a second or two after its call ended, and at a stop
 *              before the process ends.
 */
#ifndef GATEWAY_ACCESS_LOG_H
#define GATEWAY_ACCESS_LOG_H

#include "gateway/call.h"

struct gw_access_log;
struct gw_access_lines; /* of one loop */

/* Append to path, which is made with mode 0600 if it is not there. */
enum err gw_access_log_open(const char *path, struct gw_access_log **out,
                            struct errbuf *eb) MUST_CHECK;
/* All lines must have been ended. NULL is fine. */
void gw_access_log_close(struct gw_access_log *log);
/* From now on append to what the path names. */
void gw_access_log_reopen(struct gw_access_log *log);
uint64_t gw_access_log_lost(const struct gw_access_log *log);

struct gw_access_lines *gw_access_lines_new(struct gw_access_log *log);
/* Hand over what there is. NULL is fine. */
void gw_access_lines_end(struct gw_access_lines *lines);
void gw_access_lines_tick(struct gw_access_lines *lines);
void gw_access_line(struct gw_access_lines *lines, const struct gw_call *call,
                    const struct gw_label *label);

#endif
