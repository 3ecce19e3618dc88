/*
 * base/log.h - one line per event on stderr: time level event key=value.
 *
 * Does:     writes a whole line with one write(2).
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: its callers; only gateway/ and the mains call it, lower layers return errors.
 * Threads:  any.
 * Blocks:   on stderr; never on a hot path.
 * Fails by: drops the line.
 * Limits:   1024 bytes a line, the rest is cut; bytes outside printable ASCII are written as \xNN.
 * Promises: 1. No line carries a token, a row key or a value: callers pass names and numbers.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum base_log_level { BASE_LOG_DEBUG, BASE_LOG_INFO, BASE_LOG_WARN, BASE_LOG_ERROR };

void base_log_set_level(enum base_log_level lowest);
/* Writes a line. event is a word, format the key=value pairs. */
void base_log(enum base_log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
