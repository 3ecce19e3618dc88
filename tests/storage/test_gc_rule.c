/*
 * tests/storage/test_gc_rule.c - terms decide as the tree does, and what no rule may be is refused.
 *
 * The reference walks the tree for one cell, as its definition reads.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "storage/gc_rule.h"
#include "tests/support/process.h"

#include "base/banned.h"

#define MS      1000ULL
#define NOW_US  1000000000LL
#define SEED    20261120ULL
#define ROUNDS  20000
#define A_SMALL 6

static uint64_t state;

static uint32_t rng(uint32_t below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(state >> 33) % below;
}

static struct sto_gc_node versions(uint32_t n)
{
    return (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = n};
}

static struct sto_gc_node age(uint64_t us)
{
    return (struct sto_gc_node){.kind = STO_GC_MAX_AGE, .max_age_us = us};
}

static struct sto_gc_node both(enum sto_gc_kind kind, uint32_t members)
{
    return (struct sto_gc_node){.kind = kind, .member_count = members};
}

/* Values of nodes from the last to the first: what stands on the stack are finished members. */
static bool tree_collects(const struct sto_gc_node *nodes, size_t count, uint64_t newer,
                          int64_t timestamp_us)
{
    bool done[LIM_GC_NODES];
    size_t height = 0;
    for (size_t i = count; i-- > 0;) {
        const struct sto_gc_node *n = &nodes[i];
        bool value = n->kind == STO_GC_INTERSECTION;
        if (n->kind == STO_GC_MAX_VERSIONS)
            value = newer >= n->max_versions;
        if (n->kind == STO_GC_MAX_AGE)
            value = NOW_US - timestamp_us > (int64_t)n->max_age_us;
        for (uint32_t k = 0; k < n->member_count; k++) {
            bool member = done[--height];
            value = n->kind == STO_GC_UNION ? value || member : value && member;
        }
        done[height++] = value;
    }
    return height == 1 && done[0];
}

/* A random tree of at most max nodes in prefix order. */
static size_t make_tree(struct sto_gc_node *nodes, size_t max)
{
    uint32_t missing = 1; /* nodes promised and not yet there */
    size_t n = 0;
    while (missing > 0) {
        uint32_t room = (uint32_t)(max - n) - missing;
        uint32_t members = 1 + rng(4);
        if (members <= room && rng(2) == 0) {
            nodes[n++] = both(rng(2) ? STO_GC_UNION : STO_GC_INTERSECTION, members);
            missing += members - 1;
        } else {
            nodes[n++] = rng(2) ? versions(1 + rng(A_SMALL)) : age((1 + rng(A_SMALL)) * MS);
            missing--;
        }
    }
    return n;
}

static size_t depth_of(const struct sto_gc_node *nodes, size_t count)
{
    uint32_t missing[LIM_GC_NODES];
    size_t depth = 0;
    size_t deepest = 0;
    for (size_t i = 0; i < count; i++) {
        deepest = depth + 1 > deepest ? depth + 1 : deepest;
        if (nodes[i].member_count > 0) {
            missing[depth++] = nodes[i].member_count;
            continue;
        }
        while (depth > 0 && --missing[depth - 1] == 0)
            depth--;
    }
    return deepest;
}

/* A cell that is kept now: the first moment when it is not. */
static void assert_collected_at(const struct sto_gc *gc, uint64_t newer, int64_t timestamp_us)
{
    int64_t at = sto_gc_collects_at(gc, newer, timestamp_us);
    ck_assert_int_gt(at, NOW_US);
    ck_assert(!sto_gc_collects(gc, newer, timestamp_us, at - 1));
    ck_assert(sto_gc_collects(gc, newer, timestamp_us, at) == (at != STO_GC_NEVER));
}

static void compare(const struct sto_gc_node *nodes, size_t count, uint64_t round)
{
    struct sto_gc_term terms[LIM_GC_NODES];
    size_t term_count = 0;
    ck_assert_int_eq(sto_gc_compile(nodes, count, terms, &term_count, NULL), ERR_OK);
    struct sto_gc gc = {.nodes = nodes,
                        .terms = terms,
                        .node_count = (uint16_t)count,
                        .term_count = (uint16_t)term_count};
    ck_assert_uint_le(term_count, count);
    for (size_t i = 1; i < term_count; i++) {
        ck_assert_uint_lt(terms[i - 1].versions, terms[i].versions);
        ck_assert_uint_gt(terms[i - 1].age_us, terms[i].age_us);
    }
    bool counts = false;
    for (uint64_t newer = 0; newer <= A_SMALL + 1; newer++) {
        for (int64_t back = 0; back <= A_SMALL + 1; back++) {
            bool wanted = tree_collects(nodes, count, newer, NOW_US - back * 1000);
            bool older = tree_collects(nodes, count, newer + 1, NOW_US - back * 1000 - 1000);
            ck_assert_msg(sto_gc_collects(&gc, newer, NOW_US - back * 1000, NOW_US) == wanted,
                          "seed %llu round %llu: %llu newer, %lld ms old", SEED,
                          (unsigned long long)round, (unsigned long long)newer, (long long)back);
            ck_assert(!wanted || older); /* promise 2 */
            if (!wanted)
                assert_collected_at(&gc, newer, NOW_US - back * 1000);
            counts = counts || wanted != tree_collects(nodes, count, 0, NOW_US - back * 1000);
        }
    }
    ck_assert(sto_gc_counts(&gc) || !counts);
}

START_TEST(terms_decide_as_the_tree_does)
{
    state = SEED;
    struct sto_gc_node nodes[LIM_GC_NODES];
    size_t compared = 0;
    const uint64_t rounds = (uint64_t)process_rounds(ROUNDS);
    for (uint64_t round = 0; round < rounds; round++) {
        size_t n = make_tree(nodes, 1 + rng(LIM_GC_NODES));
        if (depth_of(nodes, n) > LIM_FILTER_DEPTH ||
            sto_gc_wire_bytes(nodes, n) > LIM_GC_RULE_BYTES)
            continue;
        compare(nodes, n, round);
        compared++;
    }
    ck_assert_uint_gt(compared, rounds / 2);
}
END_TEST

START_TEST(no_rule_collects_nothing)
{
    size_t terms = 1;
    ck_assert_int_eq(sto_gc_compile(NULL, 0, NULL, &terms, NULL), ERR_OK);
    ck_assert_uint_eq(terms, 0);
    ck_assert(!sto_gc_collects(&(struct sto_gc){0}, UINT64_MAX, 0, INT64_MAX));
}
END_TEST

START_TEST(a_cell_of_the_future_is_never_too_old)
{
    struct sto_gc_node node = age(1000);
    struct sto_gc_term term;
    size_t n = 0;
    ck_assert_int_eq(sto_gc_compile(&node, 1, &term, &n, NULL), ERR_OK);
    struct sto_gc gc = {.nodes = &node, .terms = &term, .node_count = 1, .term_count = 1};
    ck_assert(!sto_gc_collects(&gc, 0, INT64_MAX, NOW_US));
    ck_assert(!sto_gc_collects(&gc, 0, NOW_US, NOW_US));
    ck_assert(!sto_gc_collects(&gc, 0, NOW_US - 1000, NOW_US));
    ck_assert(sto_gc_collects(&gc, 0, NOW_US - 1001, NOW_US));
    ck_assert(sto_gc_collects(&gc, 0, 0, INT64_MAX));
    ck_assert_int_eq(sto_gc_collects_at(&gc, 0, NOW_US), NOW_US + 1001);
    ck_assert_int_eq(sto_gc_collects_at(&gc, 0, INT64_MAX - 1002), INT64_MAX - 1);
    for (int64_t less = 0; less <= 1001; less++)
        ck_assert_int_eq(sto_gc_collects_at(&gc, 0, INT64_MAX - less), STO_GC_NEVER);
    term.age_us = UINT64_MAX;
    ck_assert_int_eq(sto_gc_collects_at(&gc, 0, 0), STO_GC_NEVER);
}
END_TEST

static void refuse(const struct sto_gc_node *nodes, size_t count, enum err wanted, const char *says)
{
    struct sto_gc_term terms[2 * LIM_GC_NODES];
    size_t n = 0;
    struct errbuf eb = {{0}};
    ck_assert_int_eq(sto_gc_compile(nodes, count, terms, &n, &eb), wanted);
    ck_assert_msg(strstr(eb.text, says) != NULL, "\"%s\" does not say %s", eb.text, says);
}

START_TEST(what_no_rule_may_be_is_refused)
{
    struct sto_gc_node n[3];
    n[0] = versions(0);
    refuse(n, 1, ERR_INVALID, "from 1 to");
    n[0] = versions(0x80000000u);
    refuse(n, 1, ERR_INVALID, "2147483648");
    n[0] = age(0);
    refuse(n, 1, ERR_INVALID, "at least one millisecond");
    n[0] = age(MS - 1);
    refuse(n, 1, ERR_INVALID, "it is 999 microseconds");
    n[0] = age(UINT64_MAX / 1000 * 1000);
    refuse(n, 1, ERR_INVALID, "too long");
    n[0] = (struct sto_gc_node){.kind = 9};
    refuse(n, 1, ERR_INVALID, "unknown");
    n[0] = both(STO_GC_UNION, 0);
    refuse(n, 1, ERR_INVALID, "no members");
    n[0] = both(STO_GC_UNION, 2);
    n[1] = versions(1);
    refuse(n, 2, ERR_INVALID, "misses");
    n[0] = versions(1);
    refuse(n, 2, ERR_INVALID, "behind");
}
END_TEST

START_TEST(a_rule_is_limited_in_parts_depth_and_bytes)
{
    struct sto_gc_node n[LIM_GC_NODES + 1];
    struct sto_gc_term terms[LIM_GC_NODES];
    size_t count = 0;
    for (size_t i = 0; i <= LIM_GC_NODES; i++)
        n[i] = versions(1);
    n[0] = both(STO_GC_UNION, LIM_GC_NODES - 1);
    ck_assert_int_eq(sto_gc_compile(n, LIM_GC_NODES, terms, &count, NULL), ERR_OK);
    n[0] = both(STO_GC_UNION, LIM_GC_NODES);
    refuse(n, LIM_GC_NODES + 1, ERR_TOO_BIG, "the limit is 64");
    for (size_t i = 0; i < LIM_FILTER_DEPTH; i++)
        n[i] = both(STO_GC_INTERSECTION, 1);
    n[LIM_FILTER_DEPTH - 1] = versions(1);
    ck_assert_int_eq(sto_gc_compile(n, LIM_FILTER_DEPTH, terms, &count, NULL), ERR_OK);
    n[LIM_FILTER_DEPTH - 1] = both(STO_GC_INTERSECTION, 1);
    n[LIM_FILTER_DEPTH] = versions(1);
    refuse(n, LIM_FILTER_DEPTH + 1, ERR_TOO_BIG, "deeper than 20");
    for (size_t i = 1; i < LIM_GC_NODES; i++)
        n[i] = versions(INT32_MAX); /* 8 bytes each as a member: 1 + 1 + 1 + 5 */
    n[0] = both(STO_GC_UNION, LIM_GC_NODES - 1);
    refuse(n, LIM_GC_NODES, ERR_TOO_BIG, "the limit is 500");
    n[0] = both(STO_GC_UNION, 62); /* 62 * 8 and two heads of 3 bytes are 499 or less */
    ck_assert_uint_le(sto_gc_wire_bytes(n, 63), LIM_GC_RULE_BYTES);
    ck_assert_int_eq(sto_gc_compile(n, 63, terms, &count, NULL), ERR_OK);
}
END_TEST

/* The bytes stand beside each. */
START_TEST(wire_bytes_are_those_of_the_message)
{
    struct sto_gc_node n[3] = {versions(3)};
    ck_assert_uint_eq(sto_gc_wire_bytes(n, 0), 0);
    ck_assert_uint_eq(sto_gc_wire_bytes(n, 1), 2); /* 08 03 */
    n[0] = age(86400000000);
    ck_assert_uint_eq(sto_gc_wire_bytes(n, 1), 6); /* 12 04 08 80 a3 05 */
    n[0] = age(1500000);
    ck_assert_uint_eq(sto_gc_wire_bytes(n, 1), 10); /* 12 08 08 01 10 80 ca b5 ee 01 */
    n[0] = age(1000000020);
    ck_assert_uint_eq(sto_gc_wire_bytes(n, 1), 9); /* 12 07 08 e8 07 10 a0 9c 01 */
    n[0] = both(STO_GC_UNION, 2);
    n[1] = versions(3);
    n[2] = age(86400000000);
    ck_assert_uint_eq(sto_gc_wire_bytes(n, 3), 14); /* 22 0c 0a 02 08 03 0a 06 12 04 .. */
}
END_TEST

START_TEST(rules_are_equal_when_written_the_same)
{
    struct sto_gc_node a[3] = {both(STO_GC_UNION, 2), versions(3), age(1000)};
    struct sto_gc_node b[3] = {both(STO_GC_UNION, 2), versions(3), age(1000)};
    struct sto_gc x = {.nodes = a, .node_count = 3};
    struct sto_gc y = {.nodes = b, .node_count = 3};
    ck_assert(sto_gc_equal(&x, &y));
    b[0].kind = STO_GC_INTERSECTION;
    ck_assert(!sto_gc_equal(&x, &y));
    b[0] = a[0];
    b[1].max_versions = 4;
    ck_assert(!sto_gc_equal(&x, &y));
    b[1] = a[1];
    b[2].max_age_us = 2000;
    ck_assert(!sto_gc_equal(&x, &y));
    y.node_count = 0;
    ck_assert(!sto_gc_equal(&x, &y));
}
END_TEST

Suite *suite_storage_gc_rule(void);
Suite *suite_storage_gc_rule(void)
{
    Suite *s = suite_create("storage_gc_rule");
    TCase *t = tcase_create("gc_rule");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, terms_decide_as_the_tree_does);
    tcase_add_test(t, no_rule_collects_nothing);
    tcase_add_test(t, a_cell_of_the_future_is_never_too_old);
    tcase_add_test(t, what_no_rule_may_be_is_refused);
    tcase_add_test(t, a_rule_is_limited_in_parts_depth_and_bytes);
    tcase_add_test(t, wire_bytes_are_those_of_the_message);
    tcase_add_test(t, rules_are_equal_when_written_the_same);
    suite_add_tcase(s, t);
    return s;
}
