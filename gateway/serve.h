/*
 * gateway/serve.h - the server: opens everything, answers requests, monitors, stops.
 *
 * Does:     runs a server on a data directory until it is asked to stop or its engine fails.
 * Owns:     everything it opens.
 * May use:  base/, storage/, tenancy/, auth/, migrations/, gateway/.
 * Knows no: command lines.
 * Threads:  main; blocks its signals before any other thread is created.
 * Blocks:   yes.
 * Fails by: exit codes (gateway/command.h), with one line on stderr.
 * Limits:   those of base/limits.h.
 * Promises: 1. "listening on https://..." is printed once, when connections are answered.
 *           2. SIGTERM and SIGINT: running requests finish, everything is flushed, exit 0; a second
 *              one ends the process at once. SIGHUP rereads the certificate, and reopens the access
 *              log.
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
    uint64_t backup_every_s; /* 0: only on request */
    uint64_t backup_keep_s;  /* 0: for ever */
    bool accept_lost_ledger; /* of erasures: rewrite the lines that it lost */
    bool allow_core_dumps;   /* of memory that contains keys and rows */
    int loops;
    uint64_t address_connections; /* UINT64_MAX: half of the server's maximum; 0: no limit */
    uint64_t address_handshakes;  /* per second; UINT64_MAX: the default; 0: no limit */
    uint64_t address_failures;
    struct gw_proxy_nets proxies;
    size_t request_bytes; /* bytes that requests and responses hold together, at most */
    struct sto_rocksdb_options engine;
};

/* Sets the defaults: 127.0.0.1:8443 and the engine's defaults. */
void gw_serve_options_default(struct gw_serve_options *o);
/* Parses "ADDR:PORT" or "[ADDR]:PORT"; ERR_INVALID. */
enum err gw_serve_parse_address(const char *text, struct gw_address *out,
                                struct errbuf *eb) MUST_CHECK;
/* Parses the address of the plaintext listener in the same way: ERR_INVALID unless it is a loopback
 * address. */
enum err gw_serve_parse_loopback(const char *text, struct gw_address *out,
                                 struct errbuf *eb) MUST_CHECK;

int gw_serve(struct gw_serve_options *o);

#endif
