/*
 * tests/support/oracle.h - the simplest model of a table's contents and of the results of reads.
 *
 * Does:     keep the stored cells of one table in one sorted array; apply mutations to a row, drop,
 *           sweep, count; compute the result of a read.
 * Owns:     its array of cells.
 * May use:  base/, storage/, tests/support/filter_oracle.h.
 * Knows no: the engine, batches, slices, seeks.
 * Threads:  one per table.
 * Blocks:   no.
 * Fails by: aborting when a test exceeds a limit.
 * Limits:   ORACLE_KEY, ORACLE_QUALIFIER, ORACLE_VALUE.
 * Promises: 1. Linear, obvious code: a rule of garbage collection is its tree, not its terms; a
 *              filter is a function of lists. 2. Of the engine, only the encoding of distinct
 *              counts and regular expressions are used.
 */
#ifndef TESTS_SUPPORT_ORACLE_H
#define TESTS_SUPPORT_ORACLE_H

#include "storage/mutation.h"
#include "storage/read.h"
#include "tests/support/filter_oracle.h"

#define ORACLE_KEY       8
#define ORACLE_QUALIFIER 8
#define ORACLE_VALUE     96

struct oracle_cell {
    uint8_t key_len;
    uint8_t qualifier_len;
    uint8_t value_len;
    uint8_t family_name_len;
    uint16_t family;
    uint8_t key[ORACLE_KEY];
    uint8_t qualifier[ORACLE_QUALIFIER];
    uint8_t value[ORACLE_VALUE];
    int64_t timestamp_us;
};

/* Sorted by row key, family number, qualifier, newest first. Cells of removed families remain until
 * a sweep or a drop removes them. All zero: empty. */
struct oracle_table {
    struct oracle_cell *cells;
    size_t count;
    size_t room;
};

static inline struct slice oracle_key(const struct oracle_cell *c)
{
    return base_slice(c->key, c->key_len);
}
static inline struct slice oracle_qualifier(const struct oracle_cell *c)
{
    return base_slice(c->qualifier, c->qualifier_len);
}
static inline struct slice oracle_value(const struct oracle_cell *c)
{
    return base_slice(c->value, c->value_len);
}

void oracle_fini(struct oracle_table *t);

/* --- one row ---------------------------------------------------------------------------------- */

/* Copy a row, to be changed separately, and replace the row by the changed copy, or not. */
void oracle_row_copy(const struct oracle_table *from, struct slice key, struct oracle_table *out);
void oracle_row_replace(struct oracle_table *t, struct slice key, const struct oracle_table *row);
/* Applies a mutation with the schema's families and rules; now_us is the commit's clock. Returns
 * the result that the engine must return; a failed mutation leaves the row partly changed. */
enum err oracle_mutate(struct oracle_table *row, const struct sto_schema *schema, struct slice key,
                       const struct sto_mutation *m, int64_t now_us);
/* Returns the newest cell of a column that a read shows, or NULL. */
const struct oracle_cell *oracle_newest(const struct oracle_table *t,
                                        const struct sto_schema *schema, struct slice key,
                                        uint16_t family, struct slice qualifier, int64_t now_us);
/* Outputs the cells of the row that a read shows. They point into the table. */
void oracle_row_visible(const struct oracle_table *t, const struct sto_schema *schema,
                        struct slice key, int64_t now_us, struct oracle_row *out);

/* --- the table -------------------------------------------------------------------------------- */

struct sto_usage oracle_usage(const struct oracle_table *t);
/* Drops a family of a range of rows; family 0: whole rows. */
void oracle_drop(struct oracle_table *t, struct sto_row_range range, uint16_t family);
/* Removes all cells that no read with this schema shows. */
void oracle_sweep(struct oracle_table *t, const struct sto_schema *schema, int64_t now_us);

/* Emits the result of a read into sink; filter: the uncompiled tree, NULL for none.
 * Returns the number of rows emitted. */
uint64_t oracle_read(const struct oracle_table *t, const struct sto_schema *schema,
                     const struct sto_read_spec *spec, const struct sto_filter *filter,
                     int64_t now_us, struct sto_row_sink *sink);

#endif
