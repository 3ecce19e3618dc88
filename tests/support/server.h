/*
 * tests/support/server.h - a real bigtentd with its own data directory.
 *
 * Does:     bigtentd init, serve on a free port, stop, kill -9, restart on the same data.
 * Owns:     the directory and the process, until server_remove.
 * May use:  base/, tests/support/process.h, libcheck.
 * Knows no: requests.
 * Threads:  one.
 * Blocks:   until the server reports its port, or has ended.
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
    uint16_t plain_port;                 /* of --emulator; 0: none */
    const char *options[SERVER_OPTIONS]; /* more arguments of serve; the first NULL ends them */
};

/* Creates a temporary directory and runs `bigtentd init`. */
void server_create(struct server *s);
/* Starts `bigtentd serve --listen 127.0.0.1:0` and waits until it listens; env: NULL or
 * "NAME=value"... NULL. Retries a port that the options name while another process has it. */
void server_start(struct server *s, const char *const *env);
/* Starts the server without waiting until it listens: for servers that are about to end. */
void server_launch(struct server *s, const char *const *env);
/* After server_launch: waits until the server listens (true), or has ended (false, with its exit
 * code, or 128 + signal). */
bool server_up_or_ended(struct server *s, int *out_code);
/* Sends SIGTERM; the server must exit with 0. */
void server_stop(struct server *s);
/* Stops a server that the runner started: sends SIGTERM, waits until it has ended and returns its
 * exit code, which the kernel keeps until the runner waits for the server. */
int server_end_of_runner(const struct server *s);
/* Sends SIGKILL, to simulate a crash. */
void server_kill(struct server *s);
/* Waits until it exits by itself, within process_bound_ms(timeout_ms); returns its exit code (128 +
 * signal). */
int server_wait_end(struct server *s, int timeout_ms);
/* Kills the server if it runs, and removes the directory. */
void server_remove(struct server *s);
/* Returns the server's current resident memory in KiB. */
uint64_t server_rss_kib(const struct server *s);
/* Returns whether its log contains the text, also from earlier starts. */
bool server_log_says(const struct server *s, const char *text);
/* Prints the end of its log on stderr. */
void server_show_log(const struct server *s);

#endif
