/*
 * tests/support/server.h - a real bigtentd on a data directory of its own.
 *
 * Does:     bigtentd init, serve on a free port, stop, kill -9, start again on the same data.
 * Owns:     the directory and the process, until server_remove.
 * May use:  base/, tests/support/process.h, libcheck.
 * Knows no: requests.
 * Threads:  one.
 * Blocks:   until the server says where it listens, or has ended.
 * Fails by: ck_abort_msg, with the end of the server's log on stderr.
 * Limits:   one server per struct.
 * Promises: 1. server_stop accepts nothing but exit code 0, so a sanitizer's report or an abort
 *              fails the test. 2. The data directory is the same over restarts.
 */
#ifndef TESTS_SUPPORT_SERVER_H
#define TESTS_SUPPORT_SERVER_H

#include <stdint.h>

#include "tests/support/process.h"

#define SERVER_OPTIONS 8

struct server {
    char root[PROCESS_PATH];
    char data[PROCESS_PATH + 8];
    char log[PROCESS_PATH + 16];
    char ca[PROCESS_PATH + 24];
    char operator_key[128];
    int keeper_fd;
    pid_t pid; /* 0: not running */
    int stdout_fd;
    uint16_t port;
    uint16_t plain_port;                 /* of --emulator; 0: there is none */
    const char *options[SERVER_OPTIONS]; /* more arguments of serve; the first NULL ends them */
};

/* Temporary directory and `bigtentd init`. */
void server_create(struct server *s);
/* `bigtentd serve --listen 127.0.0.1:0`; env: NULL or "NAME=value"... NULL. Waits until it listens.
 * A port that the options name is tried again while another process has it. */
void server_start(struct server *s, const char *const *env);
/* The same without waiting for it to listen: for servers that are about to end. */
void server_launch(struct server *s, const char *const *env);
/* After server_launch: waits until the server listens (true), or has ended (false, with its exit
 * code, or 128 + signal). */
bool server_up_or_ended(struct server *s, int *out_code);
/* SIGTERM; must exit with 0. */
void server_stop(struct server *s);
/* The same for a server that the runner started: SIGTERM, wait until it has ended and return its
 * exit code, which the kernel keeps until the runner waits for it. */
int server_end_of_runner(const struct server *s);
/* SIGKILL, as a crash. */
void server_kill(struct server *s);
/* Wait until it ends by itself, within process_bound_ms(timeout_ms); returns its exit code (128 +
 * signal). */
int server_wait_end(struct server *s, int timeout_ms);
/* Kill if it runs, remove the directory. */
void server_remove(struct server *s);
/* Memory that it has now. */
uint64_t server_rss_kib(const struct server *s);
/* Whether its log has that text anywhere, of earlier starts too. */
bool server_log_says(const struct server *s, const char *text);
/* The end of its log, to stderr. */
void server_show_log(const struct server *s);

#endif
