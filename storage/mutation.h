/*
 * storage/mutation.h - changes to one row, as Bigtable names them.
 *
 * Does:     describe set cell, delete from column, from family, of the row; check them against the
 *           limits before they enter the commit queue.
 * Owns:     nothing; bytes belong to the operation's maker.
 * May use:  base/, storage/schema.h.
 * Knows no: where the row lies, JSON, protobuf.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG, ERR_NOT_FOUND (family), each naming limit and value.
 * Limits:   LIM_ROW_KEY, LIM_QUALIFIER, cell_bytes_max of the account, LIM_MUTATIONS_PER_ROW.
 * Promises: 1. A row whose check passed can only be refused for usage, gate or disk reasons.
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
};

/* "Assigned by the server": the committer's clock, whole milliseconds, never going back. */
#define STO_TIMESTAMP_SERVER (-1)

struct sto_mutation {
    enum sto_mutation_kind kind;
    uint16_t family;        /* number, from the schema; not for DELETE_FROM_ROW */
    struct slice qualifier; /* SET_CELL, DELETE_FROM_COLUMN; may be empty */
    int64_t timestamp_us;   /* SET_CELL: >= 0 and a multiple of 1000, or STO_TIMESTAMP_SERVER */
    struct slice value;     /* SET_CELL */
    int64_t start_us;       /* DELETE_FROM_COLUMN: [start, end); end 0 means no end */
    int64_t end_us;
};

enum err sto_row_key_check(struct slice row_key, struct errbuf *eb) MUST_CHECK;
enum err sto_qualifier_check(struct slice qualifier, struct errbuf *eb) MUST_CHECK;
enum err sto_timestamp_check(int64_t timestamp_us, struct errbuf *eb) MUST_CHECK;

/* Check a row's whole list, families against schema. */
enum err sto_mutations_check(const struct sto_schema *schema, const struct sto_account *account,
                             struct slice row_key, const struct sto_mutation *mutations,
                             size_t count, struct errbuf *eb) MUST_CHECK;
/* True when nothing in the list can add bytes: such lists pass a full quota and a full disk. */
bool sto_mutations_only_delete(const struct sto_mutation *mutations, size_t count);

#endif
