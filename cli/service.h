/*
 * cli/service.h - tables of a Bigtable-compatible service, through its API.
 *
 * Does:     read a range of a table, however often the connection breaks; a table's families and
 *           their rules.
 * Owns:     connection, credential and buffers of a scan, between init and fini.
 * May use:  base/, cli/.
 * Knows no: what becomes of rows.
 * Threads:  one for each scan; several scans may run at a time.
 * Blocks:   on the network, and between tries.
 * Fails by: as cli/http.h; CLI_NOT_FOUND, CLI_REFUSED with what the service says; what on_cell and
 *           on_row returned; CLI_INTERRUPTED when *stop is set; said.
 * Limits:   CLI_SERVICE_*, CLI_TRANSFER_TRIES.
 * Promises: 1. Nothing is ever written: ReadRows and GetTable are the only methods called.
 *           2. on_row sees each row of the range once, in order, behind on_cell for its cells.
 *           3. The credential is in no message, also where the service repeats it.
 */
#ifndef CLI_SERVICE_H
#define CLI_SERVICE_H

#include <jansson.h>
#include <stdatomic.h>

#include "cli/call.h"
#include "cli/row_chunks.h"

struct cli_service {
    char *url;            /* NULL: there is none */
    char *admin_url;      /* of GetTable */
    const char *cacert;   /* NULL: the system's certificates */
    const char *key_path; /* the credential's file, read again when it ends; NULL: none */
};

enum cli_exit cli_service_init(struct cli_service *s, const char *url, const char *admin_url,
                               const char *cacert, const char *key_path);
void cli_service_fini(struct cli_service *s);

struct cli_service_scan {
    const struct cli_service *service;
    struct cli_config config; /* its key is the scan's own */
    struct cli_call call;
    struct cli_row_chunks chunks; /* on_cell, on_row and ctx are the caller's to set */
    const atomic_bool *stop;
    bool is_renewed; /* the credential, since the last row */
};

/* Call it, and fini, in the main thread. stop lasts as long as the scan does. */
enum cli_exit cli_service_scan_init(struct cli_service_scan *s, const struct cli_service *service,
                                    const atomic_bool *stop);
void cli_service_scan_fini(struct cli_service_scan *s);
/* table: its whole name. start inclusive, end exclusive, empty: no bound; after, when not empty:
 * begin behind this row. */
enum cli_exit cli_service_scan_run(struct cli_service_scan *s, const char *table,
                                   struct slice start, struct slice end, struct slice after);

/* {"family":{"gc":{..},"type":".."},..} as the API has it, the caller's. NULL with CLI_OK: nobody
 * is told, which was said. */
enum cli_exit cli_service_schema(const struct cli_service *service, const char *table,
                                 json_t **out);
/* The same of a message Table; NULL, with a reason, where it is none or has what no table here can
 * have. */
json_t *cli_service_families(struct slice message, struct errbuf *why);

/* --- service_call.c ----------------------------------------------------------------------------
 */

/* The configuration of a connection to it, with a credential of its own. */
enum cli_exit cli_service_config(const struct cli_service *service, bool is_admin,
                                 struct cli_config *out);
void cli_service_config_fini(struct cli_config *config);
/* The file's credential is another one by now; *config has it. False: nothing changed. */
bool cli_service_renew(const struct cli_service *service, struct cli_config *config);
/* What a call came to that did not end well: CLI_UNREACHABLE when another try may help, which is
 * not said. */
enum cli_exit cli_service_judge(const struct cli_config *config, const struct cli_answer *answer,
                                const char *table);
/* "table_name=projects%2F.." */
void cli_service_resource(const char *field, const char *table, struct buf *out);

#endif
