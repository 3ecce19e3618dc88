/*
 * storage/mutation.h - changes to one row, as Bigtable names them.
 *
 * Does:     describes the six mutations of Bigtable and the two rules of read-modify-write; checks
 *           them against the limits before they enter the commit queue.
 * Owns:     nothing; bytes belong to the operation's submitter.
 * May use:  base/, storage/schema.h.
 * Knows no: where the row is stored, JSON, protobuf.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG, ERR_NOT_FOUND (family), each naming limit and value.
 * Limits:   the account's of keys, qualifiers, cells and mutations (storage/limit.h);
 *           LIM_MODIFY_RULES.
 * Promises: 1. A row whose check passed can only be refused for usage, gate or disk reasons, or for
 *              the value of the cell that is added to.
 *           2. Every stored cell can be named by reads and deletes: they are checked against the
 *              hard limits of keys and qualifiers only, never against a limit that was lowered
 *              later.
 */
#ifndef STORAGE_MUTATION_H
#define STORAGE_MUTATION_H

#include "base/err.h"
#include "base/slice.h"
#include "storage/schema.h"

enum sto_mutation_kind {
    STO_SET_CELL,
    STO_DELETE_FROM_COLUMN,
    STO_DELETE_FROM_FAMILY,
    STO_DELETE_FROM_ROW,
    STO_ADD_TO_CELL,   /* aggregate families only: one more input */
    STO_MERGE_TO_CELL, /* aggregate families only: another state */
    STO_APPEND,        /* read-modify-write: appends value to the newest cell of the column */
    STO_INCREMENT,     /* read-modify-write: adds to the newest cell, 8 bytes big-endian */
};

/* "Assigned by the server": the committer's clock in whole milliseconds, never decreasing. */
#define STO_TIMESTAMP_SERVER (-1)

struct sto_mutation {
    enum sto_mutation_kind kind;
    uint16_t family;        /* number in the schema; unused by DELETE_FROM_ROW */
    struct slice qualifier; /* unused by DELETE_FROM_FAMILY and DELETE_FROM_ROW; may be empty */
    int64_t timestamp_us;   /* SET_CELL, ADD, MERGE: >= 0 and a multiple of 1000, or
                             * STO_TIMESTAMP_SERVER */
    struct slice value;     /* SET_CELL, APPEND; input of ADD, state of MERGE */
    int64_t increment;      /* INCREMENT */
    int64_t start_us;       /* DELETE_FROM_COLUMN: [start, end); end 0 means no end */
    int64_t end_us;
};

/* Check against the account's limit where cells are written; with account NULL against the hard
 * limit, where they are read or deleted. */
enum err sto_row_key_check(const struct sto_account *account, struct slice row_key,
                           struct errbuf *eb) MUST_CHECK;
enum err sto_qualifier_check(const struct sto_account *account, struct slice qualifier,
                             struct errbuf *eb) MUST_CHECK;
enum err sto_timestamp_check(int64_t timestamp_us, struct errbuf *eb) MUST_CHECK;

/* Checks all that can be checked of one mutation alone. */
enum err sto_mutation_check(const struct sto_schema *schema, const struct sto_account *account,
                            const struct sto_mutation *m, struct errbuf *eb) MUST_CHECK;
/* Checks a row's whole list, families against schema. APPEND and INCREMENT must not be mixed with
 * other mutations. */
enum err sto_mutations_check(const struct sto_schema *schema, const struct sto_account *account,
                             struct slice row_key, const struct sto_mutation *mutations,
                             size_t count, struct errbuf *eb) MUST_CHECK;
/* Returns true if no mutation of the list can add bytes: such lists are admitted at a full quota
 * and a full disk. */
bool sto_mutations_only_delete(const struct sto_mutation *mutations, size_t count);

#endif
