/*
 * tests/fuzz/fuzz_families.c - what families do with cells: garbage rules (storage/gc_rule.h) and
 * states of aggregates (storage/aggregate.h).
 *
 * First byte even: a tree of rules, read node by node, and cells.
 *   - A rule is refused with a sentence, or its terms say of every cell what the tree says
 *     (promise 1), and what is garbage stays so for older cells (2).
 * Odd: three states, made of inputs, of words in order or of bytes as a stranger would send them.
 *   - What is no state is refused by add and merge alike.
 *   - merge is commutative, associative and, of distinct counts, idempotent, byte for byte (2, 3).
 */
#include "storage/aggregate.h"
#include "storage/gc_rule.h"
#include "storage/hll.h"
#include "tests/fuzz/fuzz.h"

#include "base/banned.h"

/* --- rules --------------------------------------------------------------------------------- */

#define NODES_MAX (LIM_GC_NODES + 4)

struct cell {
    uint64_t newer;
    int64_t timestamp_us;
    int64_t now_us;
};

static uint64_t close_to(struct fuzz_input *in, uint64_t number)
{
    uint64_t above = number + fuzz_below(in, 3);
    return above > 0 ? above - 1 : 0;
}

static size_t nodes_from(struct fuzz_input *in, struct sto_gc_node *nodes)
{
    size_t count = fuzz_below(in, NODES_MAX + 1);
    for (size_t i = 0; i < count; i++) {
        uint8_t form = fuzz_byte(in);
        nodes[i] = (struct sto_gc_node){.kind = (enum sto_gc_kind)(form % 6)};
        uint64_t value = form & 0x40 ? fuzz_number(in, 8) : fuzz_byte(in);
        nodes[i].max_versions = (uint32_t)value;
        nodes[i].max_age_us = form & 0x80 ? value : value * 1000;
        nodes[i].member_count = (uint32_t)value;
    }
    return count;
}

/* By the tree. Nodes stand in prefix order: from the back, members are known before their parent.
 */
static bool tree_says(const struct sto_gc_node *nodes, size_t count, const struct cell *c)
{
    bool said[NODES_MAX];
    size_t height = 0;
    for (size_t i = count; i-- > 0;) {
        const struct sto_gc_node *n = &nodes[i];
        bool verdict = n->kind == STO_GC_INTERSECTION;
        if (n->kind == STO_GC_MAX_VERSIONS)
            verdict = c->newer >= n->max_versions;
        else if (n->kind == STO_GC_MAX_AGE)
            verdict = c->timestamp_us < c->now_us &&
                      (uint64_t)(c->now_us - c->timestamp_us) > n->max_age_us;
        else {
            INVARIANT(height >= n->member_count);
            for (uint32_t k = 0; k < n->member_count; k++)
                verdict =
                    n->kind == STO_GC_UNION ? said[--height] | verdict : said[--height] & verdict;
        }
        said[height++] = verdict;
    }
    return height > 0 && said[0];
}

static void expect_alike(const struct sto_gc *gc, const struct cell *c)
{
    bool garbage = sto_gc_collects(gc, c->newer, c->timestamp_us, c->now_us);
    INVARIANT(garbage == tree_says(gc->nodes, gc->node_count, c));
    if (!garbage)
        return;
    INVARIANT(sto_gc_collects(gc, c->newer + 1, c->timestamp_us, c->now_us));
    INVARIANT(c->timestamp_us == 0 ||
              sto_gc_collects(gc, c->newer + 1, c->timestamp_us - 1, c->now_us));
}

static void try_rule(struct fuzz_input *in)
{
    struct sto_gc_node nodes[NODES_MAX];
    struct sto_gc_term terms[NODES_MAX];
    struct errbuf eb = {{0}};
    size_t count = nodes_from(in, nodes), term_count = 0;
    enum err e = sto_gc_compile(nodes, count, terms, &term_count, &eb);
    fuzz_expect_told(e, &eb);
    if (e != ERR_OK)
        return;
    INVARIANT(count <= LIM_GC_NODES && term_count <= count);
    INVARIANT(sto_gc_wire_bytes(nodes, count) <= LIM_GC_RULE_BYTES);
    struct sto_gc gc = {nodes, terms, (uint16_t)count, (uint16_t)term_count};
    for (size_t i = 0; i < count; i++) {
        struct cell c = {close_to(in, fuzz_byte(in)), 0, (int64_t)(fuzz_number(in, 4) * 1000)};
        uint64_t age = close_to(in, nodes[fuzz_byte(in) % count].max_age_us);
        c.timestamp_us = age <= (uint64_t)c.now_us ? c.now_us - (int64_t)age : 0;
        expect_alike(&gc, &c);
        c.newer = close_to(in, nodes[fuzz_byte(in) % count].max_versions);
        expect_alike(&gc, &c);
    }
}

/* --- states -------------------------------------------------------------------------------- */

static enum err merge(enum sto_aggregate a, const struct buf *x, const struct buf *y,
                      struct buf *out)
{
    struct errbuf eb = {{0}};
    base_buf_truncate(out, 0);
    enum err e = sto_aggregate_merge(a, base_buf_slice(x), base_buf_slice(y), out, &eb);
    fuzz_expect_told(e, &eb);
    INVARIANT(e != ERR_OK || (out->len <= STO_AGGREGATE_STATE_MAX &&
                              sto_aggregate_is_state(a, base_buf_slice(out))));
    return e;
}

static bool same(const struct buf *x, const struct buf *y)
{
    return base_slice_equal(base_buf_slice(x), base_buf_slice(y));
}

static void put(struct buf *out, struct slice bytes)
{
    INVARIANT(base_buf_append(out, bytes) == ERR_OK);
}

/* Words whose indexes rise by `step`: more than are kept apart make a dense state when merged. */
static void put_words(struct fuzz_input *in, struct buf *out)
{
    uint32_t step = 1 + fuzz_below(in, 256);
    uint32_t count = (uint32_t)fuzz_number(in, 2) % (STO_HLL_SPARSE_MAX + 1);
    uint32_t at = (uint32_t)fuzz_number(in, 3);
    put(out, SLICE_LIT("\1"));
    for (uint32_t i = 0; i < count && at < 1u << 25; i++, at += step) {
        uint32_t word = at << 6 | (1 + (at ^ step) % 40);
        const uint8_t bytes[] = {(uint8_t)(word >> 24), (uint8_t)(word >> 16), (uint8_t)(word >> 8),
                                 (uint8_t)word};
        put(out, base_slice(bytes, sizeof bytes));
    }
}

static void add_inputs(struct fuzz_input *in, enum sto_aggregate a, struct buf *out)
{
    struct buf more;
    base_buf_init(&more, STO_AGGREGATE_STATE_MAX);
    unsigned count = 1 + fuzz_below(in, 8);
    for (unsigned i = 0; i < count; i++) {
        struct slice input = fuzz_take(in, a == STO_AGGREGATE_HLL ? fuzz_below(in, 8) : 8);
        struct slice old = out->len > 0 ? base_buf_slice(out) : SLICE_EMPTY;
        base_buf_truncate(&more, 0);
        if (sto_aggregate_add(a, old, input, &more, NULL) != ERR_OK)
            break;
        base_buf_truncate(out, 0);
        put(out, base_buf_slice(&more));
        if (a != STO_AGGREGATE_HLL)
            continue;
        base_buf_truncate(&more, 0); /* the same again changes nothing */
        INVARIANT(sto_aggregate_add(a, base_buf_slice(out), input, &more, NULL) == ERR_OK);
        INVARIANT(same(out, &more));
    }
    base_buf_fini(&more);
}

static void put_state(struct fuzz_input *in, enum sto_aggregate a, struct buf *out)
{
    static const uint8_t empty_dense[STO_HLL_STATE_MAX] = {2};
    base_buf_init(out, STO_AGGREGATE_STATE_MAX);
    switch (fuzz_below(in, 4)) {
    case 0:
        put_words(in, out);
        break;
    case 1:
        add_inputs(in, a, out);
        break;
    case 2:
        put(out, base_slice(empty_dense, sizeof empty_dense));
        out->ptr[1 + fuzz_number(in, 2) % STO_HLL_DENSE_BYTES] = fuzz_byte(in);
        break;
    default:
        put(out, fuzz_bytes(in, 64));
    }
}

static void expect_laws(enum sto_aggregate a, struct buf s[3], struct buf t[4])
{
    enum err e = merge(a, &s[0], &s[1], &t[0]);
    INVARIANT(merge(a, &s[1], &s[0], &t[1]) == e && (e != ERR_OK || same(&t[0], &t[1])));
    bool ok = e == ERR_OK && merge(a, &t[0], &s[2], &t[2]) == ERR_OK;
    ok = ok && merge(a, &s[1], &s[2], &t[1]) == ERR_OK && merge(a, &s[0], &t[1], &t[3]) == ERR_OK;
    INVARIANT(!ok || same(&t[2], &t[3]));
    if (a != STO_AGGREGATE_HLL)
        return;
    INVARIANT(e == ERR_OK && ok); /* of distinct counts nothing overflows */
    INVARIANT(merge(a, &s[0], &s[0], &t[0]) == ERR_OK && same(&t[0], &s[0]));
    INVARIANT(merge(a, &t[2], &s[1], &t[0]) == ERR_OK && same(&t[0], &t[2]));
    uint64_t estimate = 0;
    INVARIANT(sto_aggregate_estimate(base_buf_slice(&t[2]), &estimate) == ERR_OK);
}

static void try_states(struct fuzz_input *in)
{
    enum sto_aggregate a = STO_AGGREGATE_SUM + fuzz_below(in, 4);
    struct buf states[3], results[4];
    bool sound = true;
    for (size_t i = 0; i < 4; i++)
        base_buf_init(&results[i], STO_AGGREGATE_STATE_MAX);
    for (size_t i = 0; i < 3; i++) {
        put_state(in, a, &states[i]);
        bool is_state = sto_aggregate_is_state(a, base_buf_slice(&states[i]));
        INVARIANT((sto_aggregate_state_check(a, base_buf_slice(&states[i]), NULL) == ERR_OK) ==
                  is_state);
        INVARIANT(is_state || merge(a, &states[i], &states[i], &results[0]) != ERR_OK);
        sound = sound && is_state;
    }
    if (sound)
        expect_laws(a, states, results);
    for (size_t i = 0; i < 4; i++)
        base_buf_fini(&results[i]);
    for (size_t i = 0; i < 3; i++)
        base_buf_fini(&states[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {base_slice(data, size)};
    if (fuzz_byte(&in) % 2 == 0)
        try_rule(&in);
    else
        try_states(&in);
    return 0;
}
