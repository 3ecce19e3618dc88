/*
 * storage/schema.h - what a table looks like: its families and their rules.
 *
 * Does:     describe a table as an immutable, ref-counted value; find families; make the next
 *           version from the last one; encode and decode it as a stored document.
 * Owns:     its names and families.
 * May use:  base/, storage/account.h.
 * Knows no: tenants beyond the opaque counters, JSON.
 * Threads:  any; a schema never changes after it was made.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG, ERR_CORRUPT.
 * Limits:   LIM_TABLE_ID, LIM_FAMILY_NAME, LIM_FAMILIES.
 * Promises: 1. A family's number is never used again within the table, not even after the family
 *              was removed. 2. Families are sorted by number; numbers are 1..65535.
 */
#ifndef STORAGE_SCHEMA_H
#define STORAGE_SCHEMA_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "storage/account.h"

/* Which versions of a column are visible: newest max_versions (0: all), not older than max_age_us
 * (0: any age). Applied exactly when reading. */
struct sto_gc {
    uint32_t max_versions;
    uint64_t max_age_us;
};

struct sto_family {
    uint16_t number;
    char name[LIM_FAMILY_NAME + 1];
    uint8_t name_len;
    struct sto_gc gc;
};

/* The lasting identity of a table over schema changes; ref-counted, made with its first schema. */
struct sto_table {
    _Atomic uint32_t refs;
    struct sto_counters counters;
    _Atomic bool forgotten; /* sto_table_forget ran: nothing may be written any more */
    char id[LIM_TABLE_ID + 1];
    uint8_t id_len;
};

struct sto_schema {
    _Atomic uint32_t refs;
    struct sto_table *table;
    uint64_t version; /* of the stored document; 0 before it is stored */
    bool deleting;    /* its rows are being removed; nobody may use it */
    uint16_t next_number;
    size_t family_count;
    struct sto_family families[];
};

/* What a caller asks a table to have. */
struct sto_family_spec {
    struct slice name;
    struct sto_gc gc;
};

enum err sto_table_id_check(struct slice id, struct errbuf *eb) MUST_CHECK;
enum err sto_family_name_check(struct slice name, struct errbuf *eb) MUST_CHECK;

/* A new schema with exactly these families: old == NULL makes a new table; otherwise families of
 * the same name keep their number, new names get fresh numbers, names that are missing are dropped.
 * Returns a schema with one ref. */
enum err sto_schema_make(struct slice table_id, const struct sto_schema *old,
                         const struct sto_family_spec *families, size_t count,
                         struct sto_schema **out, struct errbuf *eb) MUST_CHECK;
/* A copy marked as being deleted. */
struct sto_schema *sto_schema_make_deleting(const struct sto_schema *old);

struct sto_schema *sto_schema_ref(struct sto_schema *s);
void sto_schema_unref(struct sto_schema *s);

/* NULL when the table has no such family. */
const struct sto_family *sto_schema_family(const struct sto_schema *s, struct slice name);
const struct sto_family *sto_schema_family_by_number(const struct sto_schema *s, uint16_t number);

enum err sto_schema_encode(const struct sto_schema *s, struct buf *out) MUST_CHECK;
/* table: NULL makes a new sto_table, else the decoded schema refers to it. */
enum err sto_schema_decode(struct slice table_id, struct slice body, struct sto_table *table,
                           struct sto_schema **out) MUST_CHECK;

#endif
