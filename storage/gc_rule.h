/*
 * storage/gc_rule.h - garbage collection rules: which old cells of a family are garbage.
 *
 * Does:     holds a rule as its owner wrote it (max versions, max age, unions and intersections of
 *           rules), compiles it to a short list of terms, and decides about one cell.
 * Owns:     nothing; nodes and terms are stored by the caller or the schema.
 * May use:  base/.
 * Knows no: tables, cells' bytes, when a sweep runs.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG naming limit and value.
 * Limits:   LIM_GC_RULE_BYTES as a serialized GcRule, LIM_GC_NODES nodes, LIM_FILTER_DEPTH deep.
 * Promises: 1. A cell is garbage exactly when the tree says so. 2. If a cell is garbage, every
 *              older cell of its column is: a reader may skip the rest of the column.
 *
 * Every rule is a union of terms "at least `versions` newer cells AND older than `age_us`": an
 * intersection takes the larger of both, a union keeps both, and a term covered by another one is
 * dropped. With ascending versions and descending ages, the list stays shorter than the rule.
 */
#ifndef STORAGE_GC_RULE_H
#define STORAGE_GC_RULE_H

#include "base/err.h"
#include "base/limits.h"

enum sto_gc_kind { STO_GC_MAX_VERSIONS = 1, STO_GC_MAX_AGE, STO_GC_UNION, STO_GC_INTERSECTION };

/* A tree in prefix order: a union or intersection precedes its members. */
struct sto_gc_node {
    enum sto_gc_kind kind;
    uint32_t max_versions; /* MAX_VERSIONS: 1 or more */
    uint64_t max_age_us;   /* MAX_AGE: 1000 or more */
    uint32_t member_count; /* UNION, INTERSECTION */
};

struct sto_gc_term {
    uint32_t versions; /* 0: any number of newer cells */
    uint64_t age_us;   /* 0: any age */
};

/* node_count 0: nothing is garbage. */
struct sto_gc {
    const struct sto_gc_node *nodes;
    const struct sto_gc_term *terms;
    uint16_t node_count;
    uint16_t term_count;
};

/* Checks the tree and writes its terms (room for node_count of them). */
enum err sto_gc_compile(const struct sto_gc_node *nodes, size_t node_count,
                        struct sto_gc_term *terms, size_t *out_term_count,
                        struct errbuf *eb) MUST_CHECK;
bool sto_gc_equal(const struct sto_gc *a, const struct sto_gc *b);
/* Returns the size of the rule as a google.bigtable.admin.v2.GcRule message. */
size_t sto_gc_wire_bytes(const struct sto_gc_node *nodes, size_t node_count);

/* Returns whether a cell is garbage. newer: stored cells of the column that are newer, garbage or
 * not. */
static inline bool sto_gc_collects(const struct sto_gc *gc, uint64_t newer, int64_t timestamp_us,
                                   int64_t now_us)
{
    for (size_t i = 0; i < gc->term_count; i++) {
        const struct sto_gc_term *t = &gc->terms[i];
        if (newer >= t->versions &&
            (t->age_us == 0 ||
             (timestamp_us < now_us && (uint64_t)(now_us - timestamp_us) > t->age_us)))
            return true;
    }
    return false;
}

#define STO_GC_NEVER INT64_MAX

/* Returns when a cell that is kept now becomes garbage, if its column gets no newer ones;
 * STO_GC_NEVER. */
static inline int64_t sto_gc_collects_at(const struct sto_gc *gc, uint64_t newer,
                                         int64_t timestamp_us)
{
    int64_t first = STO_GC_NEVER;
    for (size_t i = 0; i < gc->term_count; i++) {
        const struct sto_gc_term *t = &gc->terms[i];
        int64_t at;
        if (newer >= t->versions && t->age_us != 0 &&
            !__builtin_add_overflow(timestamp_us, t->age_us, &at) && at < STO_GC_NEVER &&
            at + 1 < first)
            first = at + 1;
    }
    return first;
}

/* Returns whether every cell but the newest of a column is garbage. */
static inline bool sto_gc_keeps_one(const struct sto_gc *gc)
{
    for (size_t i = 0; i < gc->term_count; i++)
        if (gc->terms[i].versions <= 1 && gc->terms[i].age_us == 0)
            return true;
    return false;
}

/* Returns whether the number of newer cells matters: if so, a reader may not skip newer ones. */
static inline bool sto_gc_counts(const struct sto_gc *gc)
{
    for (size_t i = 0; i < gc->term_count; i++)
        if (gc->terms[i].versions != 0)
            return true;
    return false;
}

#endif
