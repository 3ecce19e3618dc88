/*
 * gateway/serve.h - the server: open everything, answer requests, watch, stop.
 *
 * Does:     run a server on a data directory until it is told to stop or its engine fails.
 * Owns:     everything it opens.
 * May use:  base/, storage/, tenancy/, auth/, migrations/, gateway/.
 * Knows no: command lines.
 * Threads:  main; blocks its signals before any other thread is made.
 * Blocks:   yes.
 * Fails by: exit codes (gateway/command.h), with one line on stderr.
 * Limits:   those of base/limits.h.
 * Promises: 1. "listening on https://..." is printed once, when connections are answered.
 *           2. SIGTERM and SIGINT: running requests finish, everything is flushed, exit 0; a second
 *              one ends the process at once. SIGHUP reads the certificate again, and opens the
 * access log anew.
 *           3. A failed engine ends the process with GW_EXIT_ENGINE.
 */
#ifndef GATEWAY_SERVE_H
#define GATEWAY_SERVE_H

#include "gateway/master_key.h"
#include "gateway/proxy_protocol.h"
#include "storage/rocksdb/rocksdb_engine.h"

#define GW_HOST_TEXT 64

struct gw_address {
    char host[GW_HOST_TEXT]; /* numeric; "": none */
    uint16_t port;
};

struct gw_serve_options {
    const char *data;
    struct gw_address listen;
    struct gw_address emulator; /* plaintext, for development; none by default */
    const char *cert;           /* NULL: the data directory's own */
    const char *key;
    struct gw_master_key_source master_key;
    const char *access_log;  /* a file; NULL: none */
    const char *backups;     /* a directory; NULL: "backups" in the data directory */
    uint64_t backup_every_s; /* 0: only when asked */
    uint64_t backup_keep_s;  /* 0: for ever */
    bool accept_lost_ledger; /* of erasures: write again what it lost */
    bool allow_core_dumps;   /* of memory with keys and rows in it */
    int loops;
    uint64_t address_connections; /* UINT64_MAX: half of those that there may be; 0: no limit */
    uint64_t address_handshakes;  /* a second; UINT64_MAX: the default; 0: no limit */
    uint64_t address_failures;
    struct gw_proxy_nets proxies;
    size_t request_bytes; /* requests and answers hold together, at most */
    struct sto_rocksdb_options engine;
};

/* 127.0.0.1:8443 and the engine's defaults. */
void gw_serve_options_default(struct gw_serve_options *o);
/* "ADDR:PORT" or "[ADDR]:PORT"; ERR_INVALID. */
enum err gw_serve_parse_address(const char *text, struct gw_address *out,
                                struct errbuf *eb) MUST_CHECK;
/* The same for the plaintext listener: ERR_INVALID unless it is a loopback address. */
enum err gw_serve_parse_loopback(const char *text, struct gw_address *out,
                                 struct errbuf *eb) MUST_CHECK;

int gw_serve(struct gw_serve_options *o);

#endif
