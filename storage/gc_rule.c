/*
 * storage/gc_rule.c - rules as staircases.
 *
 * A list of terms is a descending staircase: from `versions` newer cells on, cells older than
 * `age_us` are garbage. The union of two is the lower staircase at each number of newer cells, the
 * intersection the higher one; both have a step only where one of the two has.
 *
 * 1. The tree is walked without recursion: downwards once to check it, with the number of missing
 *    members on each level; upwards once to build, with a stack of the staircases of finished
 *    nodes.
 * 2. All staircases on the stack together have at most as many terms as nodes were walked.
 */
#include "storage/gc_rule.h"

#include <inttypes.h>
#include <string.h>

#include "base/banned.h"

#define US_PER_MS 1000U
#define US_PER_S  1000000U
#define NEVER     UINT64_MAX /* an age that no cell reaches */

static bool is_composite(const struct sto_gc_node *n)
{
    return n->kind == STO_GC_UNION || n->kind == STO_GC_INTERSECTION;
}

/* --- checking --------------------------------------------------------------------------------- */

static enum err leaf_check(const struct sto_gc_node *n, struct errbuf *eb)
{
    if (n->kind == STO_GC_MAX_VERSIONS) {
        if (n->max_versions == 0 || n->max_versions > INT32_MAX)
            return base_fail(eb, ERR_INVALID, "max versions must be from 1 to %d; it is %" PRIu32,
                             INT32_MAX, n->max_versions);
        return ERR_OK;
    }
    if (n->kind != STO_GC_MAX_AGE)
        return base_fail(eb, ERR_INVALID, "unknown kind of gc rule");
    if (n->max_age_us < US_PER_MS)
        return base_fail(eb, ERR_INVALID,
                         "max age must be at least one millisecond; it is %" PRIu64 " microseconds",
                         n->max_age_us);
    if (n->max_age_us > INT64_MAX)
        return base_fail(eb, ERR_INVALID, "max age is too long");
    return ERR_OK;
}

/* Checks that the nodes are one whole tree, with nothing after it. */
static enum err tree_check(const struct sto_gc_node *nodes, size_t count, struct errbuf *eb)
{
    uint32_t missing[LIM_FILTER_DEPTH];
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && depth == 0)
            return base_fail(eb, ERR_INVALID, "a gc rule has something behind its end");
        if (is_composite(&nodes[i])) {
            if (nodes[i].member_count == 0)
                return base_fail(eb, ERR_INVALID,
                                 "a union or intersection of gc rules has no members");
            if (depth == LIM_FILTER_DEPTH - 1)
                return base_fail(eb, ERR_TOO_BIG, "a gc rule is nested deeper than %d",
                                 LIM_FILTER_DEPTH);
            missing[depth++] = nodes[i].member_count;
            continue;
        }
        enum err rc = leaf_check(&nodes[i], eb);
        if (rc != ERR_OK)
            return rc;
        while (depth > 0 && --missing[depth - 1] == 0)
            depth--;
    }
    return depth == 0 ? ERR_OK : base_fail(eb, ERR_INVALID, "a gc rule misses a member");
}

/* --- staircases ------------------------------------------------------------------------------- */

/* Combines a and b into out, which has room for both. */
static size_t combine(const struct sto_gc_term *a, size_t a_count, const struct sto_gc_term *b,
                      size_t b_count, enum sto_gc_kind kind, struct sto_gc_term *out)
{
    uint64_t age_a = NEVER;
    uint64_t age_b = NEVER;
    uint64_t lowest = NEVER;
    size_t i = 0;
    size_t k = 0;
    size_t n = 0;
    while (i < a_count || k < b_count) {
        bool takes_a = k == b_count || (i < a_count && a[i].versions <= b[k].versions);
        bool takes_b = i == a_count || (k < b_count && b[k].versions <= a[i].versions);
        uint32_t versions = takes_a ? a[i].versions : b[k].versions;
        if (takes_a)
            age_a = a[i++].age_us;
        if (takes_b)
            age_b = b[k++].age_us;
        bool wants_a = (age_a < age_b) == (kind == STO_GC_UNION);
        uint64_t age = wants_a ? age_a : age_b;
        if (age >= lowest)
            continue;
        out[n++] = (struct sto_gc_term){.versions = versions, .age_us = age};
        lowest = age;
    }
    return n;
}

struct stairs_stack {
    struct sto_gc_term terms[LIM_GC_NODES];
    size_t begins[LIM_GC_NODES];
    size_t height;
    size_t used;
};

/* Combines the topmost `members` staircases to one. */
static void fold(struct stairs_stack *s, enum sto_gc_kind kind, size_t members)
{
    while (members-- > 1) {
        struct sto_gc_term both[LIM_GC_NODES];
        size_t top = s->begins[s->height - 1];
        size_t below = s->begins[s->height - 2];
        size_t n =
            combine(&s->terms[below], top - below, &s->terms[top], s->used - top, kind, both);
        memcpy(&s->terms[below], both, n * sizeof(both[0]));
        s->used = below + n;
        s->height--;
    }
}

/* Builds the staircases on s, which must be empty. */
static void build(const struct sto_gc_node *nodes, size_t count, struct stairs_stack *s)
{
    for (size_t i = count; i-- > 0;) {
        if (is_composite(&nodes[i])) {
            fold(s, nodes[i].kind, nodes[i].member_count);
            continue;
        }
        bool counts = nodes[i].kind == STO_GC_MAX_VERSIONS;
        s->begins[s->height++] = s->used;
        s->terms[s->used++] = (struct sto_gc_term){
            .versions = counts ? nodes[i].max_versions : 0,
            .age_us = counts ? 0 : nodes[i].max_age_us,
        };
    }
}

enum err sto_gc_compile(const struct sto_gc_node *nodes, size_t node_count,
                        struct sto_gc_term *terms, size_t *out_term_count, struct errbuf *eb)
{
    if (node_count > LIM_GC_NODES)
        return base_fail(eb, ERR_TOO_BIG, "a gc rule has %zu parts; the limit is %d", node_count,
                         LIM_GC_NODES);
    enum err rc = tree_check(nodes, node_count, eb);
    if (rc != ERR_OK)
        return rc;
    size_t wire_bytes = sto_gc_wire_bytes(nodes, node_count);
    if (wire_bytes > LIM_GC_RULE_BYTES)
        return base_fail(eb, ERR_TOO_BIG, "a gc rule has %zu bytes; the limit is %d", wire_bytes,
                         LIM_GC_RULE_BYTES);
    struct stairs_stack s = {0};
    build(nodes, node_count, &s);
    if (s.used > 0)
        memcpy(terms, s.terms, s.used * sizeof(terms[0]));
    *out_term_count = s.used;
    return ERR_OK;
}

/* --- the rule itself -------------------------------------------------------------------------- */

bool sto_gc_equal(const struct sto_gc *a, const struct sto_gc *b)
{
    if (a->node_count != b->node_count)
        return false;
    for (size_t i = 0; i < a->node_count; i++) {
        const struct sto_gc_node *x = &a->nodes[i];
        const struct sto_gc_node *y = &b->nodes[i];
        if (x->kind != y->kind || x->max_versions != y->max_versions ||
            x->max_age_us != y->max_age_us || x->member_count != y->member_count)
            return false;
    }
    return true;
}

static size_t varint_bytes(uint64_t value)
{
    size_t n = 1;
    while ((value >>= 7) != 0)
        n++;
    return n;
}

/* Returns the size of a field of one tag byte with a body of that length. */
static size_t field_bytes(size_t body)
{
    return 1 + varint_bytes(body) + body;
}

static size_t leaf_wire_bytes(const struct sto_gc_node *n)
{
    if (n->kind == STO_GC_MAX_VERSIONS)
        return 1 + varint_bytes(n->max_versions);
    uint64_t seconds = n->max_age_us / US_PER_S;
    uint64_t nanos = n->max_age_us % US_PER_S * 1000;
    size_t duration =
        (seconds != 0 ? 1 + varint_bytes(seconds) : 0) + (nanos != 0 ? 1 + varint_bytes(nanos) : 0);
    return field_bytes(duration);
}

/* message GcRule { oneof { int32 max_num_versions = 1; Duration max_age = 2;
 * Intersection intersection = 3 { repeated GcRule rules = 1; } Union union = 4 { the same } } } */
size_t sto_gc_wire_bytes(const struct sto_gc_node *nodes, size_t node_count)
{
    INVARIANT(node_count <= LIM_GC_NODES);
    size_t done[LIM_GC_NODES + 1]; /* sizes of finished nodes, the latest last */
    size_t height = 0;
    for (size_t i = node_count; i-- > 0;) {
        if (!is_composite(&nodes[i])) {
            done[height++] = leaf_wire_bytes(&nodes[i]);
            continue;
        }
        INVARIANT(nodes[i].member_count <= height);
        size_t body = 0;
        for (uint32_t k = 0; k < nodes[i].member_count; k++)
            body += field_bytes(done[--height]);
        done[height++] = field_bytes(body);
    }
    INVARIANT(height <= 1); /* one whole tree, checked before */
    return height == 0 ? 0 : done[0];
}
