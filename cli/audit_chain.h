/*
 * cli/audit_chain.h - verifies that an audit trail is complete, overall and for each tenant.
 *
 * Does:     read a record from its JSON; recompute its hashes; follow both chains; compare with a
 *           head that was recorded earlier.
 * Owns:     the state of each tenant's chain.
 * May use:  base/, jansson, OpenSSL.
 * Knows no: where the records come from.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: reporting what is wrong, with the record's number.
 * Limits:   none; one entry for each tenant.
 * Promises: 1. Only data that a record's hash covers is trusted, after the hash was checked.
 *           2. A trail without its first records is not complete, unless it starts with the
 *              server's signed statement of the last record that it removed. A trail without any
 *              records is not complete either.
 */
#ifndef CLI_AUDIT_CHAIN_H
#define CLI_AUDIT_CHAIN_H

#include <jansson.h>
#include <openssl/types.h>

#include "base/audit_record.h"
#include "cli/exit.h"

struct cli_audit_chain {
    const char *tenant;           /* only this tenant's chain; NULL: all */
    EVP_PKEY *key;                /* that signed the cut; NULL: the key that the cut names */
    bool is_own;                  /* a tenant's view of the trail: only tenants' chains */
    bool has_noted;               /* the trail must contain the head in noted */
    struct base_audit_head noted; /* with a tenant, or is_own: of the tenant's chain */
    bool is_noted_found;
    bool is_begun;
    uint64_t cut;   /* number of the last removed record, as the cut states */
    uint64_t from;  /* record at which the trail must start; earlier ones are skipped; 0: any */
    uint64_t first; /* number of the first record that was checked */
    uint64_t records;
    enum base_audit_form form;   /* of the last record; later records have no earlier form */
    uint64_t unchecked;          /* count of records of the first form with a withheld actor */
    uint64_t erased;             /* count of records whose subject was erased with the tenant */
    struct base_audit_head head; /* of the chain that is followed */
    json_t *tenants;             /* ID: [number, entry] */
    json_t *erased_tenants;      /* ID: number of the first erased record */
    json_t *departed_tenants;    /* ID: true, where a record states the tenant's offboarding */
};

/* Parses "HASH@NUMBER". */
enum err cli_audit_head_parse(const char *text, struct base_audit_head *out) MUST_CHECK;

void cli_audit_chain_init(struct cli_audit_chain *c);
void cli_audit_chain_fini(struct cli_audit_chain *c);
/* Returns whether the line is a cut, with which a trail starts after old records were removed. */
bool cli_audit_is_cut(const json_t *line);
/* Starts the chain at a cut. Reports CLI_CHECK_FAILED for a cut that is not signed,
 * or that is not the first line. */
enum cli_exit cli_audit_chain_begin(struct cli_audit_chain *c, struct slice line,
                                    const json_t *cut);
/* Checks the next record. Reports CLI_CHECK_FAILED for a record that does not follow the last. */
enum cli_exit cli_audit_chain_take(struct cli_audit_chain *c, const json_t *record);
/* Finishes the check after the last record. */
enum cli_exit cli_audit_chain_end(const struct cli_audit_chain *c);

#endif
