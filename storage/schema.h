/*
 * storage/schema.h - what a table looks like: its families and their rules, where it was split.
 *
 * Does:     describe a table as an immutable, ref-counted value; find families; make the next
 *           version from the last one; encode and decode it as a stored document.
 * Owns:     its names, families and splits.
 * May use:  base/, storage/account.h, storage/family_type.h, storage/gc_rule.h.
 * Knows no: tenants beyond the opaque counters, JSON.
 * Threads:  any; a schema never changes after it was made.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG, ERR_CONFLICT, ERR_OVERLOADED (too many dropped families
 *           wait for their cells to go), ERR_CORRUPT.
 * Limits:   LIM_TABLE_ID, LIM_TABLE_ORIGIN, LIM_FAMILY_NAME, LIM_FAMILIES, LIM_FAMILIES_DROPPED,
 *           LIM_ROW_KEY_NOTES, LIM_SPLITS, LIM_SPLIT_BYTES, LIM_ROW_KEY, LIM_CHANGES_KEPT_S, those
 *           of gc rules.
 * Promises: 1. A family's number is never used again within the table, not even after the family
 *              was removed. 2. Families are sorted by number; numbers are 1..65535.
 *           3. Splits rise, none is there twice, and they stay as the table was made with them.
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
    struct sto_gc gc;               /* applied exactly when reading; lies in the schema's memory */
};

#define STO_FAMILY_NUMBER_MAX 65535u /* a table's next number never gets beyond it */

/* One bit for each number a family of a table ever had. */
struct sto_family_bits {
    _Atomic uint64_t words[(STO_FAMILY_NUMBER_MAX + 1) / 64];
};

/* One look of the sweeper through a table, from its first row to its last. */
struct sto_sweep_pass {
    uint64_t version;   /* of the schema whose rules it goes by; 0: there was no such pass */
    uint64_t additions; /* the table's when it began */
    int64_t expires_us; /* as sto_drop_op's, over all that it looked at */
    uint64_t removed_bytes;
};

struct sto_view_list;
/* A table's change stream as it is now, for those that write and read it (storage/change.h). */
struct sto_change_stream {
    _Atomic int64_t since_us;     /* when it was switched on; 0: nothing is recorded */
    _Atomic int64_t retention_us; /* changes older than this need not be there any more */
    _Atomic int64_t last_us;      /* of the newest durable change, ever; stored with the counters */
    _Atomic int64_t passed_us;    /* readers were told that no change up to here will come */
    _Atomic uint64_t bytes;       /* of all durable changes, ever; stored with the counters */
};

/* The lasting identity of a table over schema changes; ref-counted, made with its first schema. */
struct sto_table {
    _Atomic uint32_t refs;
    struct sto_counters counters;
    _Atomic(struct sto_family_bits *) closed; /* families dropped since the start; NULL: none */
    _Atomic bool forgotten;     /* it is being removed: nothing may be written any more */
    _Atomic uint64_t published; /* version of the newest schema; set before anybody can find it */
    _Atomic uint64_t additions; /* cells that were added, ever; stored with the counters */
    struct sto_garbage garbage; /* written on the sweeper's thread */
    _Atomic(struct sto_view_list *) views; /* NULL: none; replaced by tenancy/views.c */
    struct sto_change_stream changes;
    /* the sweeper's memory (tenancy/sweep_memory.h), on its own thread */
    struct sto_sweep_pass swept;    /* the last one that ended */
    struct sto_sweep_pass sweeping; /* the one under way */
    int64_t swept_at_ns;            /* monotonic, when the last one ended; 0: not since the start */
    bool sweep_resumes; /* `sweeping` is of before the start, its row only in the document */
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
    uint32_t change_retention_s; /* of its change stream; 0: it has none */
    int64_t change_since_us;     /* when that was switched on */
    struct slice row_key_notes;  /* what the owner says about row keys; text, may be empty */
    struct slice origin;         /* where the table was restored from, as the maker of it wrote
                                  * (migrations/table_origin.h); empty: it was made empty */
    /* Numbers of removed families that may still have stored cells, rising. */
    const uint16_t *dropped;
    size_t dropped_count;
    const struct slice *splits; /* row keys that are shown as samples, before there are rows */
    size_t split_count;
    size_t bytes; /* of memory that it takes */
    size_t family_count;
    struct sto_family families[];
};

/* What a caller asks a table to have. */
struct sto_family_spec {
    struct slice name;
    enum sto_aggregate aggregate;
    enum sto_value_type value_type;     /* STO_VALUE_UNTYPED in a family of aggregates */
    const struct sto_gc_node *gc_nodes; /* node_count 0: nothing is garbage */
    size_t gc_node_count;
    bool keeps_gc; /* of a change of one that is there: the rule, or the type, stays as it is */
    bool keeps_type;
};

struct sto_table_spec {
    const struct sto_family_spec *families;
    size_t family_count;
    bool protected;
    struct slice row_key_notes;  /* UTF-8, at most LIM_ROW_KEY_NOTES */
    const struct slice *splits;  /* row keys in any order; of a new table only */
    size_t split_count;          /* before what is named twice is merged */
    struct slice origin;         /* of a new table only */
    uint64_t change_retention_s; /* LIM_CHANGES_KEPT_MIN_S to LIM_CHANGES_KEPT_S; 0: none */
    int64_t now_us;              /* a stream that is new begins now */
};

/* A family as it is; points into it. */
struct sto_family_spec sto_family_spec_of(const struct sto_family *family);

enum err sto_table_id_check(struct slice id, struct errbuf *eb) MUST_CHECK;
enum err sto_family_name_check(struct slice name, struct errbuf *eb) MUST_CHECK;

/* A new schema with exactly these families: old == NULL makes a new table; otherwise families of
 * the same name keep their number, new names get fresh numbers, names that are missing are dropped
 * (ERR_CONFLICT when old is protected, or when an aggregate would begin, change or end), and splits
 * are old's (ERR_INVALID when others are asked for). Everything is copied. The schema has one ref.
 */
enum err sto_schema_make(struct slice table_id, const struct sto_schema *old,
                         const struct sto_table_spec *spec, struct sto_schema **out,
                         struct errbuf *eb) MUST_CHECK;
/* A copy marked as being deleted. */
struct sto_schema *sto_schema_make_deleting(const struct sto_schema *old);
/* A copy without this dropped family: its cells are gone. */
struct sto_schema *sto_schema_make_swept(const struct sto_schema *old, uint16_t number);
/* Tell the table what its newest schema says, before anybody can find that. One thread only. */
void sto_schema_publish(const struct sto_schema *s);
/* From now on no write may touch the family, whatever schema the writer holds. One thread only. */
void sto_table_close_family(struct sto_table *t, uint16_t number);
/* Any thread. */
static inline bool sto_table_family_is_closed(const struct sto_table *t, uint16_t number)
{
    const struct sto_family_bits *bits = atomic_load_explicit(&t->closed, memory_order_acquire);
    return bits != NULL && (atomic_load(&bits->words[number / 64]) >> (number % 64) & 1) != 0;
}

/* Whether both, of one table, look the same to its owner; dropped families do not matter. */
bool sto_schema_looks_same(const struct sto_schema *a, const struct sto_schema *b);

struct sto_schema *sto_schema_ref(struct sto_schema *s);
void sto_schema_unref(struct sto_schema *s);

static inline struct slice sto_schema_table_id(const struct sto_schema *s)
{
    return base_slice(s->table->id, s->table->id_len);
}

/* Bytes of its usage that are garbage and were not removed yet: an estimate (storage/garbage.h), 0
 * without rules. Any thread. */
uint64_t sto_schema_uncollected(const struct sto_schema *s);

/* NULL when the table has no such family. */
const struct sto_family *sto_schema_family(const struct sto_schema *s, struct slice name);
const struct sto_family *sto_schema_family_by_number(const struct sto_schema *s, uint16_t number);

enum err sto_schema_encode(const struct sto_schema *s, struct buf *out) MUST_CHECK;
/* table: NULL makes a new sto_table, else the decoded schema refers to it. */
enum err sto_schema_decode(struct slice table_id, struct slice body, struct sto_table *table,
                           struct sto_schema **out) MUST_CHECK;

#endif
