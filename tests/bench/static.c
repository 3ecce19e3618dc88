/*
 * tests/bench/static.c - the ceiling: the same loops, TLS and transports, and a body from memory.
 *
 * What a row read costs beyond this is Bigtent's own: routing, key check, admission, engine, JSON.
 */
#include "tests/bench/bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/loop.h"

#include "base/banned.h"

#define STATIC_BYTES 1024

static void on_gone(struct gw_exchange *ex, void *user)
{
    (void)ex;
    (void)user;
}

static void on_request(struct gw_exchange *ex, void *thread_state)
{
    static const struct gw_events events = {.gone = on_gone};
    struct buf body;
    (void)thread_state;
    gw_exchange_listen(ex, &events, NULL);
    base_buf_init(&body, STATIC_BYTES);
    if (base_buf_reserve(&body, STATIC_BYTES) != ERR_OK)
        bench_fail("no memory for a body");
    memset(body.ptr, 'x', STATIC_BYTES);
    body.len = STATIC_BYTES;
    gw_exchange_add_header(ex, "content-type", SLICE_LIT("application/json"));
    gw_exchange_start(ex, 200, STATIC_BYTES);
    gw_exchange_send_take(ex, &body, true);
}

/* bench static CERT KEY: serve until SIGTERM; prints the port. */
int bench_static(int argc, char **argv)
{
    if (argc != 2)
        bench_fail("usage: bench static CERT KEY");
    sigset_t stop;
    int caught = 0;
    (void)sigemptyset(&stop); /* fails only for a bad address */
    (void)sigaddset(&stop, SIGTERM);
    if (pthread_sigmask(SIG_BLOCK, &stop, NULL) != 0)
        bench_fail("cannot block SIGTERM");
    struct errbuf eb = {0};
    struct gw_loop_options options = {.endpoints[GW_ENDPOINT_TLS].host = "127.0.0.1",
                                      .on_request = on_request};
    struct gw_loops *loops = NULL;
    options.epoch = base_epoch_new();
    if (gw_tls_open(argv[0], argv[1], &options.tls, &eb) != ERR_OK ||
        gw_loops_start(&options, &loops, &eb) != ERR_OK)
        bench_fail("%s", eb.text);
    (void)printf("port %d\n", gw_loops_port(loops, GW_ENDPOINT_TLS));
    (void)fflush(stdout);
    if (sigwait(&stop, &caught) != 0)
        bench_fail("cannot wait for SIGTERM");
    gw_loops_stop(loops);
    gw_tls_close(options.tls);
    base_epoch_free(options.epoch);
    return EXIT_SUCCESS;
}
