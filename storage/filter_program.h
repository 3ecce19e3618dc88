/*
 * storage/filter_program.h - inside of a compiled filter; for the filter_*.c files only.
 *
 * Does:     defines the nodes of a program and the analyses stored with them.
 * Owns:     nothing by itself; see struct sto_filter_program.
 * May use:  base/, storage/.
 * Knows no: rows, runs.
 * Threads:  any; after sto_filter_compile returned, only the memory counts of a program with a
 *           share change: one run at a time matches with such a program.
 * Blocks:   no.
 * Fails by: see storage/filter.h.
 * Limits:   see storage/filter.h.
 * Promises: 1. Every node leads only to nodes of lower index: nodes in ascending order are a
 *              topological order from the ends. 2. Nodes 0 and 1 are the output and the dead end.
 *           3. A condition's predicate and the end of its predicate are located between the
 *              condition and its branches.
 *
 * A cell enters at `entry` and moves along `next` until it is rejected or reaches an end. A chain
 * is only the order of these links. pass_all is no node at all, block_all is the dead end, a sink
 * is the output. The branches of an interleave, and of a condition, all lead on to the node that
 * follows it:
 *
 *   chain(A, interleave(B, C), D)       A -> INTERLEAVE -> B -> D -> OUTPUT
 *                                                 `------> C --'
 *   chain(condition(P, T, none), D)     CONDITION -> P -> MATCHED      (its predicate)
 *                                          |-------> T -> D -> OUTPUT  (when true)
 *                                          `-------> DEAD_END          (when false)
 *
 * So all copies of one cell are emitted before the next cell is processed, duplicates are
 * neighbors, and nothing is buffered.
 */
#ifndef STORAGE_FILTER_PROGRAM_H
#define STORAGE_FILTER_PROGRAM_H

#include <stdatomic.h>

#include "base/limits.h"
#include "storage/filter.h"
#include "storage/pattern.h"

enum filter_op {
    FILTER_OUTPUT,
    FILTER_DEAD_END,
    FILTER_MATCHED, /* a predicate's end: its condition is true */
    FILTER_INTERLEAVE,
    FILTER_CONDITION,
    FILTER_ROW_KEY_REGEX,
    FILTER_ROW_SAMPLE,
    FILTER_FAMILIES,
    FILTER_QUALIFIER_REGEX,
    FILTER_COLUMN_RANGE,
    FILTER_TIMESTAMP_RANGE,
    FILTER_VALUE_REGEX,
    FILTER_VALUE_RANGE,
    FILTER_VALUE_BITMASK,
    FILTER_ROW_OFFSET,
    FILTER_ROW_LIMIT,
    FILTER_COLUMN_LIMIT,
    FILTER_STRIP_VALUE,
    FILTER_LABEL,
};

#define FILTER_OUTPUT_NODE   0u
#define FILTER_DEAD_END_NODE 1u

struct filter_node {
    enum filter_op op;
    uint32_t next; /* not used by ends, interleaves and conditions */
    union {
        struct {
            uint32_t first; /* index in the program's branches */
            uint32_t count;
        } interleave;
        struct {
            uint32_t predicate;
            uint32_t when_true;
            uint32_t when_false;
            uint32_t matched; /* end of its predicate */
            uint32_t rank;    /* the pass that decides it */
        } condition;
        uint32_t condition_of; /* MATCHED */
        struct sto_pattern *pattern;
        uint64_t sample_below; /* out of 2^64 */
        struct {
            uint64_t set[STO_FAMILY_WORDS]; /* by index in the program's families */
            uint16_t last_number;           /* highest in the set; 0: none */
        } families;
        struct {
            struct sto_bytes_range range;
            uint16_t family_number;
        } column;
        struct sto_bytes_range values;
        struct {
            int64_t since_us;
            int64_t until_us; /* 0: no end */
        } time;
        uint64_t count;     /* offset and limits */
        struct slice bytes; /* mask, label */
    } u;
};

struct sto_filter_program {
    _Atomic uint32_t refs;
    struct filter_node *nodes;
    uint32_t node_count;
    uint32_t entry;
    uint32_t *branches;
    uint8_t *bytes;                        /* storage of the slices in nodes, projection and rows */
    uint16_t family_numbers[LIM_FAMILIES]; /* ascending, as in the schema it was compiled for */
    size_t family_count;
    uint32_t passes;
    uint32_t frames;     /* of the stack that a run needs */
    uint32_t copies;     /* of one cell, at most */
    uint32_t visits;     /* of nodes by one cell, at most */
    size_t regexes;      /* patterns that are not literal */
    size_t instructions; /* of those that are matched in rows */
    uint64_t compile_ns;
    struct base_memory_share *share; /* counts counted_bytes; NULL: none */
    size_t counted_bytes;            /* nodes and instructions */
    int64_t state_bytes;             /* of RE2's states; only with a share */
    int64_t counted_state_bytes;     /* maximum at the last count */
    bool looks_at_rows;              /* has row_key_regex or row_sample */
    bool has_regexes;                /* some patterns are not literal */
    bool restricts_rows;
    struct sto_bytes_range rows;
    struct sto_projection projection;
};

/* --- a walk over a tree (storage/filter.c) ---------------------------------------------------- */

struct filter_frame {
    const struct sto_filter *filter;
    size_t member;          /* the next one to enter */
    size_t wire_bytes;      /* of the members left so far, as fields of this message */
    size_t labelled;        /* members left so far that have an apply_label in them */
    bool under_a_condition; /* at any distance */
};

struct filter_walk {
    struct filter_frame frames[LIM_FILTER_DEPTH];
    size_t depth;
};

void sto_filter_walk_begin(struct filter_walk *w, const struct sto_filter *root);
/* Enters the next member of the topmost frame. Returns false if there is none, or if out_error is
 * set to ERR_TOO_BIG because the member is too deep. */
bool sto_filter_walk_enter(struct filter_walk *w, enum err *out_error);
/* Leaves the topmost frame. Returns false if that was the whole tree; out_wire_bytes is then its
 * size. */
bool sto_filter_walk_leave(struct filter_walk *w, size_t *out_wire_bytes);

/* --- steps of compiling ----------------------------------------------------------------------- */

/* Totals of a tree, used to allocate its program at once. */
struct filter_census {
    size_t wire_bytes;
    size_t filters;
    size_t conditions;
    size_t branches; /* of all interleaves */
    size_t patterns;
    size_t regexes;  /* patterns that are not literal */
    size_t classes;  /* of Unicode, in patterns */
    uint64_t weight; /* of all patterns (storage/pattern.h) */
};

static inline bool filter_is_small(const struct filter_census *census)
{
    return census->wire_bytes <= LIM_FILTER_SMALL_BYTES &&
           census->weight <= LIM_FILTER_SMALL_WEIGHT;
}

/* Counts the bytes of states that a match made. Returns false if the share is exhausted; the match
 * was one too many. */
bool sto_filter_count_states(struct sto_filter_program *p, int64_t bytes) MUST_CHECK;

/* Returns the maximum number of nodes: one for each filter, the output, the dead end, and the end
 * of each predicate. */
static inline size_t filter_nodes_max(const struct filter_census *census)
{
    return 2 + census->filters + census->conditions;
}

/* Checks everything that needs neither the schema nor RE2 (storage/filter_check.c). */
enum err sto_filter_check(const struct sto_filter *filter, struct filter_census *out,
                          struct errbuf *eb) MUST_CHECK;

/* Allocates a program without nodes, with room for all of them; one ref. NULL: no memory. */
struct sto_filter_program *sto_filter_program_new(const struct sto_schema *schema,
                                                  const struct filter_census *census);

/* Sets the ranks of conditions and the number of passes (storage/filter_rank.c). */
enum err sto_filter_rank(struct sto_filter_program *p, struct errbuf *eb) MUST_CHECK;

/* Sets projection and rows of a program that is otherwise complete (storage/filter_narrow.c).
 * `bytes` has room for two bounds per pattern. */
enum err sto_filter_narrow(struct sto_filter_program *p, const struct sto_schema *schema,
                           uint8_t *bytes, struct errbuf *eb) MUST_CHECK;

/* Returns the index in family_numbers; family_count if the number is absent. */
static inline size_t filter_family_index(const struct sto_filter_program *p, uint16_t number)
{
    size_t i = 0;
    while (i < p->family_count && p->family_numbers[i] != number)
        i++;
    return i;
}

static inline bool filter_has_family(const struct filter_node *node, size_t index)
{
    return index < LIM_FAMILIES && (node->u.families.set[index / 64] >> index % 64 & 1) != 0;
}

#endif
