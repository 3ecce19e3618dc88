/*
 * cli/service.h - reads tables of a Bigtable-compatible service through its API.
 *
 * Does:     read a range of a table, across broken connections; read a table's families and their
 *           rules.
 * Owns:     connection, credential and buffers of a scan, between init and fini.
 * May use:  base/, cli/.
 * Knows no: the use of rows.
 * Threads:  one for each scan; several scans may run at a time.
 * Blocks:   on the network, and between tries.
 * Fails by: as cli/http.h; CLI_NOT_FOUND, CLI_REFUSED with the service's message; the results of
 *           on_cell and on_row; CLI_INTERRUPTED when *stop is set; reported.
 * Limits:   CLI_SERVICE_*, CLI_TRANSFER_TRIES.
 * Promises: 1. Nothing is ever written: ReadRows and GetTable are the only methods called.
 *           2. on_row receives each row of the range once, in order, after on_cell for its cells.
 *           3. No message contains the credential, even if the service's text does.
 */
#ifndef CLI_SERVICE_H
#define CLI_SERVICE_H

#include <jansson.h>
#include <stdatomic.h>

#include "cli/call.h"
#include "cli/row_chunks.h"

struct cli_service {
    char *url;            /* NULL: no service is used */
    char *admin_url;      /* of GetTable */
    const char *cacert;   /* NULL: the system's certificates */
    const char *key_path; /* the credential's file, reread when it expires; NULL: none */
};

enum cli_exit cli_service_init(struct cli_service *s, const char *url, const char *admin_url,
                               const char *cacert, const char *key_path);
void cli_service_fini(struct cli_service *s);

struct cli_service_scan {
    const struct cli_service *service;
    struct cli_config config; /* its key is the scan's own */
    struct cli_call call;
    struct cli_row_chunks chunks; /* the caller sets on_cell, on_row and ctx */
    const atomic_bool *stop;
    bool is_renewed; /* the credential was renewed since the last row */
};

/* Initializes s; call it, and fini, in the main thread. stop must live as long as s. */
enum cli_exit cli_service_scan_init(struct cli_service_scan *s, const struct cli_service *service,
                                    const atomic_bool *stop);
void cli_service_scan_fini(struct cli_service_scan *s);
/* Scans a range. table: its full name. start is inclusive, end exclusive; empty: no bound. after,
 * if not empty: start after this row. */
enum cli_exit cli_service_scan_run(struct cli_service_scan *s, const char *table,
                                   struct slice start, struct slice end, struct slice after);

/* Reads a table's families as {"family":{"gc":{..},"type":".."},..}, in the API's form, owned by
 * the caller. NULL with CLI_OK: the service does not disclose them, which was reported. */
enum cli_exit cli_service_schema(const struct cli_service *service, const char *table,
                                 json_t **out);
/* Returns the families of a Table message in the same form; NULL, with a reason, when the message
 * is not valid or has features that Bigtent's tables do not support. */
json_t *cli_service_families(struct slice message, struct errbuf *why);

/* --- service_call.c ----------------------------------------------------------------------------
 */

/* Creates the configuration of a connection to the service, with its own copy of the credential. */
enum cli_exit cli_service_config(const struct cli_service *service, bool is_admin,
                                 struct cli_config *out);
void cli_service_config_fini(struct cli_config *config);
/* Rereads the credential's file. Returns true when the credential changed and
 * *config has the new one. */
bool cli_service_renew(const struct cli_service *service, struct cli_config *config);
/* Converts the status of a failed call: CLI_UNREACHABLE when a retry may help, which is not
 * reported; other codes are reported. */
enum cli_exit cli_service_judge(const struct cli_config *config, const struct cli_answer *answer,
                                const char *table);
/* Appends a routing parameter such as "table_name=projects%2F..". */
void cli_service_resource(const char *field, const char *table, struct buf *out);

#endif
