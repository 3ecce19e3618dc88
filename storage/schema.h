/*
 * storage/schema.h - a table's schema: its families and their rules, and its initial splits.
 *
 * Does:     describes a table as an immutable, ref-counted value; finds families; makes the next
 *           version from the last one; encodes and decodes it as a stored document.
 * Owns:     its names, families and splits.
 * May use:  base/, storage/account.h, storage/family_type.h, storage/gc_rule.h.
 * Knows no: tenants beyond the opaque counters, JSON.
 * Threads:  any; a schema never changes after it was made.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG, ERR_CONFLICT, ERR_OVERLOADED (the cells of too many dropped
 *           families are not removed yet), ERR_CORRUPT.
 * Limits:   LIM_TABLE_ID, LIM_TABLE_ORIGIN, LIM_FAMILY_NAME, LIM_FAMILIES, LIM_FAMILIES_DROPPED,
 *           LIM_ROW_KEY_NOTES, LIM_SPLITS, LIM_SPLIT_BYTES, LIM_ROW_KEY, LIM_CHANGES_KEPT_S, those
 *           of gc rules.
 * Promises: 1. A family's number is never used again within the table, not even after the family
 *              was removed. 2. Families are sorted by number; numbers are 1..65535.
 *           3. Splits are strictly ascending, and never change after the table was made.
 */
#ifndef STORAGE_SCHEMA_H
#define STORAGE_SCHEMA_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "storage/account.h"
#include "storage/family_type.h"
#include "storage/garbage.h"
#include "storage/gc_rule.h"

struct sto_family {
    uint16_t number;
    char name[LIM_FAMILY_NAME + 1];
    uint8_t name_len;
    enum sto_aggregate aggregate;   /* never changes */
    enum sto_value_type value_type; /* of plain cells */
    struct sto_gc gc;               /* applied exactly when reading; points into the schema's
                                     * memory */
};

#define STO_FAMILY_NUMBER_MAX 65535u /* upper bound of a table's next number */

/* One bit for each number that a family of a table ever had. */
struct sto_family_bits {
    _Atomic uint64_t words[(STO_FAMILY_NUMBER_MAX + 1) / 64];
};

/* One pass of the sweeper through a table, from its first row to its last. */
struct sto_sweep_pass {
    uint64_t version;   /* of the schema whose rules it applies; 0: there was no such pass */
    uint64_t additions; /* the table's additions at the start of the pass */
    int64_t expires_us; /* as in sto_drop_op, over all rows of the pass */
    uint64_t removed_bytes;
};

struct sto_view_list;
/* Current state of a table's change stream, for its writers and readers (storage/change.h). */
struct sto_change_stream {
    _Atomic int64_t since_us;     /* when it was switched on; 0: no changes are recorded */
    _Atomic int64_t retention_us; /* older changes may be removed */
    _Atomic int64_t last_us;      /* of the newest durable change, ever; stored with the counters */
    _Atomic int64_t passed_us;    /* readers rely on no further change up to here */
    _Atomic uint64_t bytes;       /* of all durable changes, ever; stored with the counters */
};

/* The identity of a table across schema changes; ref-counted, made with its first schema. */
struct sto_table {
    _Atomic uint32_t refs;
    struct sto_counters counters;
    _Atomic(struct sto_family_bits *) closed; /* families dropped since the start; NULL: none */
    _Atomic bool forgotten;     /* the table is being removed: all writes are refused */
    _Atomic uint64_t published; /* version of the newest schema; set before a reader can find that
                                 * schema */
    _Atomic uint64_t additions; /* cells added, ever; stored with the counters */
    struct sto_garbage garbage; /* written by the sweeper's thread */
    _Atomic(struct sto_view_list *) views; /* NULL: none; replaced by tenancy/views.c */
    struct sto_change_stream changes;
    /* state of the sweeper (tenancy/sweep_memory.h), used on its own thread */
    struct sto_sweep_pass swept;    /* the last finished pass */
    struct sto_sweep_pass sweeping; /* the pass in progress */
    int64_t swept_at_ns;            /* monotonic end of the last pass; 0: none since the start */
    bool sweep_resumes; /* `sweeping` is from before the start; its row is only in the document */
    char id[LIM_TABLE_ID + 1];
    uint8_t id_len;
};

struct sto_schema {
    _Atomic uint32_t refs;
    struct sto_table *table;
    uint64_t version;  /* of the stored document; 0 before it is stored */
    uint64_t revision; /* number of the owner's changes, from 1; clients compare and set it */
    bool deleting;     /* the rows are being removed; all use is refused */
    bool protected;    /* deletion protection: neither the table nor a family may be removed */
    uint16_t next_number;
    uint32_t change_retention_s; /* of its change stream; 0: it has no stream */
    int64_t change_since_us;     /* when the stream was switched on */
    struct slice row_key_notes;  /* the owner's notes on row keys; text, may be empty */
    struct slice origin;         /* source of a restored table, in the format of
                                  * migrations/table_origin.h; empty: the table was created empty */
    /* Numbers of removed families that may still have stored cells, ascending. */
    const uint16_t *dropped;
    size_t dropped_count;
    const struct slice *splits; /* row keys that are returned as samples before there are rows */
    size_t split_count;
    size_t bytes; /* memory used */
    size_t family_count;
    struct sto_family families[];
};

/* A requested family. */
struct sto_family_spec {
    struct slice name;
    enum sto_aggregate aggregate;
    enum sto_value_type value_type;     /* STO_VALUE_UNTYPED in a family of aggregates */
    const struct sto_gc_node *gc_nodes; /* node_count 0: nothing is garbage */
    size_t gc_node_count;
    bool keeps_gc; /* in a change of an existing family: the rule, or the type, stays unchanged */
    bool keeps_type;
};

struct sto_table_spec {
    const struct sto_family_spec *families;
    size_t family_count;
    bool protected;
    struct slice row_key_notes;  /* UTF-8, at most LIM_ROW_KEY_NOTES */
    const struct slice *splits;  /* row keys in any order; for a new table only */
    size_t split_count;          /* duplicates included */
    struct slice origin;         /* for a new table only */
    uint64_t change_retention_s; /* LIM_CHANGES_KEPT_MIN_S to LIM_CHANGES_KEPT_S; 0: none */
    int64_t now_us;              /* start time of a new stream */
};

/* Returns the spec of an existing family; its slices point into the family. */
struct sto_family_spec sto_family_spec_of(const struct sto_family *family);

enum err sto_table_id_check(struct slice id, struct errbuf *eb) MUST_CHECK;
enum err sto_family_name_check(struct slice name, struct errbuf *eb) MUST_CHECK;

/* Makes a new schema with exactly these families. old == NULL makes a new table. Otherwise families
 * of the same name keep their number, new names get new numbers, and missing names are dropped
 * (ERR_CONFLICT if old is protected, or if a family would become an aggregate, change its aggregate
 * or stop being one). Splits are copied from old (ERR_INVALID if the spec has any). Everything is
 * copied. The schema has one ref. */
enum err sto_schema_make(struct slice table_id, const struct sto_schema *old,
                         const struct sto_table_spec *spec, struct sto_schema **out,
                         struct errbuf *eb) MUST_CHECK;
/* Makes a copy marked as being deleted. */
struct sto_schema *sto_schema_make_deleting(const struct sto_schema *old);
/* Makes a copy without this dropped family, whose cells are all removed. */
struct sto_schema *sto_schema_make_swept(const struct sto_schema *old, uint16_t number);
/* Copies the newest schema's settings to its table, before a reader can find that schema. One
 * thread only. */
void sto_schema_publish(const struct sto_schema *s);
/* Refuses all later writes to the family, whatever schema the writer holds. One thread only. */
void sto_table_close_family(struct sto_table *t, uint16_t number);
/* Returns whether the family is closed. Any thread. */
static inline bool sto_table_family_is_closed(const struct sto_table *t, uint16_t number)
{
    const struct sto_family_bits *bits = atomic_load_explicit(&t->closed, memory_order_acquire);
    return bits != NULL && (atomic_load(&bits->words[number / 64]) >> (number % 64) & 1) != 0;
}

/* Returns whether both schemas, of one table, are equal for the table's owner; dropped families do
 * not matter. */
bool sto_schema_looks_same(const struct sto_schema *a, const struct sto_schema *b);

struct sto_schema *sto_schema_ref(struct sto_schema *s);
void sto_schema_unref(struct sto_schema *s);

static inline struct slice sto_schema_table_id(const struct sto_schema *s)
{
    return base_slice(s->table->id, s->table->id_len);
}

/* Returns the bytes of its usage that are garbage and not removed yet: an estimate
 * (storage/garbage.h), 0 without rules. Any thread. */
uint64_t sto_schema_uncollected(const struct sto_schema *s);

/* Returns NULL if the table has no such family. */
const struct sto_family *sto_schema_family(const struct sto_schema *s, struct slice name);
const struct sto_family *sto_schema_family_by_number(const struct sto_schema *s, uint16_t number);

enum err sto_schema_encode(const struct sto_schema *s, struct buf *out) MUST_CHECK;
/* Decodes a document. table: NULL makes a new sto_table, else the decoded schema refers to it. */
enum err sto_schema_decode(struct slice table_id, struct slice body, struct sto_table *table,
                           struct sto_schema **out) MUST_CHECK;

#endif
