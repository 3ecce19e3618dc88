/*
 * cli/audit_chain.h - is an audit trail whole: record after record, of all and of each tenant.
 *
 * Does:     read a record from its JSON; recompute its hashes; follow both chains; compare with a
 *           head that was noted earlier.
 * Owns:     what it remembers of each tenant.
 * May use:  base/, jansson, OpenSSL.
 * Knows no: where the records come from.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: saying what is wrong, with which record.
 * Limits:   none; one entry for each tenant.
 * Promises: 1. Only what the server signed with its hash is believed, and nothing of it unchecked.
 *           2. A trail without its first records is not whole, unless it begins with the server's
 *              sealed statement of the last one that it removed; nor is one without any.
 */
#ifndef CLI_AUDIT_CHAIN_H
#define CLI_AUDIT_CHAIN_H

#include <jansson.h>
#include <openssl/types.h>

#include "base/audit_record.h"
#include "cli/exit.h"

struct cli_audit_chain {
    const char *tenant;           /* only this tenant's chain; NULL: all */
    EVP_PKEY *key;                /* that sealed the beginning; NULL: whatever key it names */
    bool is_own;                  /* what a tenant reads: only tenants' chains */
    bool has_noted;               /* a head to be found on the way */
    struct base_audit_head noted; /* with a tenant, or is_own: of the tenant's chain */
    bool is_noted_found;
    bool is_begun;
    uint64_t cut;  /* records up to this one were removed, says the beginning */
    uint64_t from; /* the record that it has to begin at; what is before is not looked at; 0: any */
    uint64_t first; /* number of the first record that was looked at */
    uint64_t records;
    enum base_audit_form form;   /* of the last one: none of an earlier form follows */
    uint64_t unchecked;          /* of the first form, with an actor that is withheld */
    uint64_t erased;             /* whose subject went with the tenant */
    struct base_audit_head head; /* of the chain that is followed */
    json_t *tenants;             /* ID: [number, entry] */
    json_t *erased_tenants;      /* ID: the first such record */
    json_t *departed_tenants;    /* ID: true, where a record says that it leaves or left */
};

/* "HASH@NUMBER" */
enum err cli_audit_head_parse(const char *text, struct base_audit_head *out) MUST_CHECK;

void cli_audit_chain_init(struct cli_audit_chain *c);
void cli_audit_chain_fini(struct cli_audit_chain *c);
/* The line is what a trail begins with whose oldest records were removed. */
bool cli_audit_is_cut(const json_t *line);
/* CLI_CHECK_FAILED, said, for one that is not sealed, or does not stand at the beginning. */
enum cli_exit cli_audit_chain_begin(struct cli_audit_chain *c, struct slice line,
                                    const json_t *cut);
/* CLI_CHECK_FAILED, said, for a record that does not follow. */
enum cli_exit cli_audit_chain_take(struct cli_audit_chain *c, const json_t *record);
/* Behind the last one. */
enum cli_exit cli_audit_chain_end(const struct cli_audit_chain *c);

#endif
