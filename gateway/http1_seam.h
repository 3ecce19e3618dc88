/*
 * gateway/http1_seam.h - places the gate between h2o's HTTP/1 code and its sockets.
 *
 * Does:     replaces h2o_socket_read_start and h2o_socket_read_stop by symbol interposition, so
 *           that bytes reach h2o's parser only through the gate; proves at startup that this works.
 * Owns:     nothing.
 * May use:  base/, gateway/http1_internal.h, h2o.
 * Knows no: HTTP.
 * Threads:  check from main before loops start; the rest from any loop.
 * Blocks:   no.
 * Fails by: ERR_UNSUPPORTED when the library does not call our functions; the server must not serve
 *           then.
 * Limits:   none.
 * Promises: 1. A socket whose on_close callback is gw_http1_socket_gone is read by the gate only.
 *           2. All other sockets behave as if the seam were not there.
 */
#ifndef GATEWAY_HTTP1_SEAM_H
#define GATEWAY_HTTP1_SEAM_H

#include <h2o.h>

#include "base/err.h"

enum err gw_http1_seam_check(h2o_globalconf_t *config, struct errbuf *eb) MUST_CHECK;

/* The library's own functions. */
void gw_http1_real_read_start(h2o_socket_t *sock, h2o_socket_cb cb);
void gw_http1_real_read_stop(h2o_socket_t *sock);

#endif
