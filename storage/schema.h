/*
 * storage/schema.h - what a table looks like: its families and their rules.
 *
 * Does:     describe a table as an immutable, ref-counted value; find families; make the next
 *           version from the last one; encode and decode it as a stored document.
 * Owns:     its names and families.
 * May use:  base/, storage/account.h, storage/aggregate.h, storage/gc_rule.h.
 * Knows no: tenants beyond the opaque counters, JSON.
 * Threads:  any; a schema never changes after it was made.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG, ERR_CONFLICT, ERR_OVERLOADED (too many dropped families
 *           wait for their cells to go), ERR_CORRUPT.
 * Limits:   LIM_TABLE_ID, LIM_FAMILY_NAME, LIM_FAMILIES, LIM_FAMILIES_DROPPED, LIM_ROW_KEY_NOTES,
 *           those of gc rules.
 * Promises: 1. A family's number is never used again within the table, not even after the family
 *              was removed. 2. Families are sorted by number; numbers are 1..65535.
 */
#ifndef STORAGE_SCHEMA_H
#define STORAGE_SCHEMA_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "storage/account.h"
#include "storage/aggregate.h"
#include "storage/gc_rule.h"

struct sto_family {
    uint16_t number;
    char name[LIM_FAMILY_NAME + 1];
    uint8_t name_len;
    enum sto_aggregate aggregate; /* never changes */
    struct sto_gc gc;             /* applied exactly when reading; lies in the schema's memory */
};

#define STO_FAMILY_NUMBER_MAX 65535u /* a table's next number never gets beyond it */

/* One bit for each number a family of a table ever had. */
struct sto_family_bits {
    _Atomic uint64_t words[(STO_FAMILY_NUMBER_MAX + 1) / 64];
};

/* The lasting identity of a table over schema changes; ref-counted, made with its first schema. */
struct sto_table {
    _Atomic uint32_t refs;
    struct sto_counters counters;
    _Atomic(struct sto_family_bits *) closed; /* families dropped since the start; NULL: none */
    _Atomic bool forgotten;     /* sto_table_forget ran: nothing may be written any more */
    _Atomic uint64_t published; /* version of the newest schema; set before anybody can find it */
    _Atomic uint64_t commits;   /* batches that changed the table since the start */
    /* the sweeper's memory (tenancy/sweeper.c), on its own thread */
    int64_t swept_at_ns; /* when the last pass ended; 0: never */
    uint64_t swept_version;
    uint64_t swept_commits; /* commits when the last finished pass began */
    uint64_t sweep_began_commits;
    char id[LIM_TABLE_ID + 1];
    uint8_t id_len;
};

struct sto_schema {
    _Atomic uint32_t refs;
    struct sto_table *table;
    uint64_t version;  /* of the stored document; 0 before it is stored */
    uint64_t revision; /* counts what the owner changed, from 1; what clients compare and set */
    bool deleting;     /* its rows are being removed; nobody may use it */
    bool protected;    /* deletion protection: neither the table nor a family may be removed */
    uint16_t next_number;
    struct slice row_key_notes; /* what the owner says about row keys; text, may be empty */
    /* Numbers of removed families that may still have stored cells, rising. */
    const uint16_t *dropped;
    size_t dropped_count;
    size_t family_count;
    struct sto_family families[];
};

/* What a caller asks a table to have. */
struct sto_family_spec {
    struct slice name;
    enum sto_aggregate aggregate;
    const struct sto_gc_node *gc_nodes; /* node_count 0: nothing is garbage */
    size_t gc_node_count;
};

struct sto_table_spec {
    const struct sto_family_spec *families;
    size_t family_count;
    bool protected;
    struct slice row_key_notes; /* UTF-8, at most LIM_ROW_KEY_NOTES */
};

/* A family as it is; points into it. */
struct sto_family_spec sto_family_spec_of(const struct sto_family *family);

enum err sto_table_id_check(struct slice id, struct errbuf *eb) MUST_CHECK;
enum err sto_family_name_check(struct slice name, struct errbuf *eb) MUST_CHECK;

/* A new schema with exactly these families: old == NULL makes a new table; otherwise families of
 * the same name keep their number, new names get fresh numbers, names that are missing are dropped
 * (ERR_CONFLICT when old is protected, or when an aggregate would change). Everything is copied.
 * Returns a schema with one ref. */
enum err sto_schema_make(struct slice table_id, const struct sto_schema *old,
                         const struct sto_table_spec *spec, struct sto_schema **out,
                         struct errbuf *eb) MUST_CHECK;
/* A copy marked as being deleted. */
struct sto_schema *sto_schema_make_deleting(const struct sto_schema *old);
/* A copy without this dropped family: its cells are gone. */
struct sto_schema *sto_schema_make_swept(const struct sto_schema *old, uint16_t number);
/* From now on no write may touch the family, whatever schema the writer holds. One thread only. */
void sto_table_close_family(struct sto_table *t, uint16_t number);
/* Any thread. */
static inline bool sto_table_family_is_closed(const struct sto_table *t, uint16_t number)
{
    const struct sto_family_bits *bits = atomic_load_explicit(&t->closed, memory_order_acquire);
    return bits != NULL && (atomic_load(&bits->words[number / 64]) >> (number % 64) & 1) != 0;
}

/* Whether both look the same to the owner of the table; dropped families do not matter. */
bool sto_schema_looks_same(const struct sto_schema *a, const struct sto_schema *b);

struct sto_schema *sto_schema_ref(struct sto_schema *s);
void sto_schema_unref(struct sto_schema *s);

static inline struct slice sto_schema_table_id(const struct sto_schema *s)
{
    return base_slice(s->table->id, s->table->id_len);
}

/* NULL when the table has no such family. */
const struct sto_family *sto_schema_family(const struct sto_schema *s, struct slice name);
const struct sto_family *sto_schema_family_by_number(const struct sto_schema *s, uint16_t number);

enum err sto_schema_encode(const struct sto_schema *s, struct buf *out) MUST_CHECK;
/* table: NULL makes a new sto_table, else the decoded schema refers to it. */
enum err sto_schema_decode(struct slice table_id, struct slice body, struct sto_table *table,
                           struct sto_schema **out) MUST_CHECK;

#endif
