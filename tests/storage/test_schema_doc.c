/*
 * tests/storage/test_schema_doc.c - the whole of a schema survives storing; old documents are read.
 */
#include <check.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/record.h"
#include "storage/schema.h"

#include "base/banned.h"

static const struct sto_gc_node RULE[] = {
    {.kind = STO_GC_INTERSECTION, .member_count = 2},
    {.kind = STO_GC_UNION, .member_count = 2},
    {.kind = STO_GC_MAX_VERSIONS, .max_versions = INT32_MAX},
    {.kind = STO_GC_MAX_AGE, .max_age_us = 1000},
    {.kind = STO_GC_MAX_AGE, .max_age_us = 86400000000},
};

static const struct sto_family_spec FAMILIES[] = {
    {.name = {(const uint8_t *)"plain", 5}},
    {.name = {(const uint8_t *)"rule", 4}, .gc_nodes = RULE, .gc_node_count = 5},
    {.name = {(const uint8_t *)"sum", 3}, .aggregate = STO_AGGREGATE_SUM},
    {.name = {(const uint8_t *)"hll", 3},
     .aggregate = STO_AGGREGATE_HLL,
     .gc_nodes = &RULE[3],
     .gc_node_count = 1},
};

static enum err try_make(const struct sto_schema *old, const struct sto_table_spec *spec,
                         struct sto_schema **out, struct errbuf *eb)
{
    return sto_schema_make(SLICE_LIT("t"), old, spec, out, eb);
}

static struct sto_schema *make(const struct sto_schema *old, const struct sto_family_spec *families,
                               size_t count)
{
    struct sto_table_spec spec = {.families = families,
                                  .family_count = count,
                                  .row_key_notes = SLICE_LIT("tenant#time, \xc3\xa4lteste")};
    struct sto_schema *s = NULL;
    ck_assert_int_eq(try_make(old, &spec, &s, NULL), ERR_OK);
    return s;
}

static void encode(const struct sto_schema *s, struct buf *out)
{
    base_buf_init(out, MIB);
    ck_assert_int_eq(sto_schema_encode(s, out), ERR_OK);
}

static void expect_same(const struct sto_schema *a, const struct sto_schema *b)
{
    ck_assert(sto_schema_looks_same(a, b));
    ck_assert_uint_eq(a->next_number, b->next_number);
    ck_assert_uint_eq(a->revision, b->revision);
    ck_assert_uint_eq(a->dropped_count, b->dropped_count);
    for (size_t i = 0; i < a->dropped_count; i++)
        ck_assert_uint_eq(a->dropped[i], b->dropped[i]);
    for (size_t i = 0; i < a->family_count; i++) {
        const struct sto_family *x = &a->families[i];
        const struct sto_family *y = &b->families[i];
        ck_assert_str_eq(x->name, y->name);
        ck_assert_int_eq(x->aggregate, y->aggregate);
        ck_assert_int_eq(x->value_type, y->value_type);
        ck_assert_uint_eq(x->gc.term_count, y->gc.term_count);
        for (size_t k = 0; k < x->gc.term_count; k++) {
            ck_assert_uint_eq(x->gc.terms[k].versions, y->gc.terms[k].versions);
            ck_assert_uint_eq(x->gc.terms[k].age_us, y->gc.terms[k].age_us);
        }
    }
}

static void expect_stored_the_same(const struct sto_schema *s)
{
    struct buf body;
    encode(s, &body);
    struct sto_schema *again = NULL;
    ck_assert_int_eq(sto_schema_decode(SLICE_LIT("t"), base_buf_slice(&body), NULL, &again),
                     ERR_OK);
    expect_same(s, again);
    sto_schema_unref(again);
    base_buf_fini(&body);
}

START_TEST(everything_is_stored)
{
    struct sto_schema *a = make(NULL, FAMILIES, 4);
    ck_assert_uint_eq(a->revision, 1);
    expect_stored_the_same(a);
    struct sto_schema *b = make(a, FAMILIES + 2, 2); /* plain and rule are dropped */
    ck_assert_uint_eq(b->revision, 2);
    ck_assert_uint_eq(b->dropped_count, 2);
    expect_stored_the_same(b);
    struct sto_table_spec spec = {.families = FAMILIES + 2, .family_count = 2, .protected = true};
    struct sto_schema *c = NULL;
    ck_assert_int_eq(try_make(b, &spec, &c, NULL), ERR_OK);
    ck_assert(c->protected && c->row_key_notes.len == 0);
    expect_stored_the_same(c);
    sto_schema_unref(a);
    sto_schema_unref(b);
    sto_schema_unref(c);
}
END_TEST

START_TEST(the_largest_schema_is_stored)
{
    static char names[LIM_FAMILIES][LIM_FAMILY_NAME + 1];
    static uint8_t notes[LIM_ROW_KEY_NOTES + 1];
    struct sto_gc_node rule[LIM_GC_NODES];
    struct sto_family_spec families[LIM_FAMILIES];
    rule[0] = (struct sto_gc_node){.kind = STO_GC_UNION, .member_count = LIM_GC_NODES - 1};
    for (size_t i = 1; i < LIM_GC_NODES; i++)
        rule[i] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = (uint32_t)i};
    for (int i = 0; i < LIM_FAMILIES; i++) {
        (void)snprintf(names[i], sizeof names[i], "%064d", i);
        families[i] = (struct sto_family_spec){.name = base_slice_text(names[i]),
                                               .aggregate = STO_AGGREGATE_MAX,
                                               .gc_nodes = rule,
                                               .gc_node_count = LIM_GC_NODES};
    }
    memset(notes, 'n', sizeof notes);
    struct sto_table_spec spec = {.families = families,
                                  .family_count = LIM_FAMILIES,
                                  .row_key_notes = base_slice(notes, LIM_ROW_KEY_NOTES)};
    struct sto_schema *s = NULL;
    ck_assert_int_eq(try_make(NULL, &spec, &s, NULL), ERR_OK);
    expect_stored_the_same(s);
    sto_schema_unref(s);
    struct errbuf eb;
    spec.row_key_notes.len++;
    ck_assert_int_eq(try_make(NULL, &spec, &s, &eb), ERR_TOO_BIG);
    ck_assert_ptr_nonnull(strstr(eb.text, "4096"));
    spec.row_key_notes = SLICE_LIT("\xff");
    ck_assert_int_eq(try_make(NULL, &spec, &s, &eb), ERR_INVALID);
    spec.row_key_notes = SLICE_EMPTY;
    families[7].gc_node_count = LIM_GC_NODES + 1;
    ck_assert_int_eq(try_make(NULL, &spec, &s, &eb), ERR_TOO_BIG);
    ck_assert_ptr_nonnull(strstr(eb.text, names[7]));
    rule[1].max_versions = 0;
    families[7].gc_node_count = LIM_GC_NODES;
    ck_assert_int_eq(try_make(NULL, &spec, &s, &eb), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, names[0]));
}
END_TEST

START_TEST(types_never_change_and_protection_keeps_families)
{
    struct sto_family_spec one = {.name = SLICE_LIT("sum"), .aggregate = STO_AGGREGATE_MIN};
    struct sto_table_spec spec = {.families = &one, .family_count = 1, .protected = true};
    struct sto_schema *a = make(NULL, FAMILIES + 2, 1);
    struct sto_schema *b = NULL;
    struct errbuf eb;
    ck_assert_int_eq(try_make(a, &spec, &b, &eb), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(eb.text, "\"sum\" has type sum"));
    one.aggregate = STO_AGGREGATE_SUM;
    ck_assert_int_eq(try_make(a, &spec, &b, &eb), ERR_OK);
    spec.family_count = 0;
    ck_assert_int_eq(try_make(b, &spec, &a, &eb), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(eb.text, "deletion protection"));
    sto_schema_unref(a);
    sto_schema_unref(b);
}
END_TEST

START_TEST(types_of_plain_values_are_stored_and_change)
{
    struct sto_family_spec one = {.name = SLICE_LIT("f")};
    struct sto_schema *s = make(NULL, &one, 1);
    for (int v = STO_VALUE_BYTES; v <= STO_VALUE_TYPE_COUNT; v++) {
        one.value_type = (enum sto_value_type)(v % STO_VALUE_TYPE_COUNT); /* the last: untyped */
        struct sto_schema *next = make(s, &one, 1);
        ck_assert(!sto_schema_looks_same(s, next));
        ck_assert_int_eq(next->families[0].value_type, one.value_type);
        ck_assert_uint_eq(next->families[0].number, 1);
        expect_stored_the_same(next);
        sto_schema_unref(s);
        s = sto_schema_make_swept(next, 0); /* a copy */
        ck_assert(sto_schema_looks_same(s, next));
        sto_schema_unref(next);
    }
    struct sto_table_spec spec = {.families = &one, .family_count = 1};
    struct sto_schema *none = NULL;
    struct errbuf eb;
    one = (struct sto_family_spec){.name = SLICE_LIT("f"), .aggregate = STO_AGGREGATE_MIN};
    ck_assert_int_eq(try_make(s, &spec, &none, &eb), ERR_CONFLICT);
    ck_assert_ptr_nonnull(
        strstr(eb.text, "has type none, and only a new family can have type min"));
    sto_schema_unref(s);
}
END_TEST

START_TEST(dropped_numbers_stay_until_they_are_swept)
{
    struct sto_schema *s = make(NULL, FAMILIES, 4);
    struct sto_schema *next = make(s, FAMILIES + 3, 1); /* hll, 4 */
    sto_schema_unref(s);
    s = make(next, FAMILIES, 1); /* drops 4, makes 5 */
    sto_schema_unref(next);
    static const uint16_t WANTED[] = {1, 2, 3, 4};
    ck_assert_uint_eq(s->dropped_count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(s->dropped[i], WANTED[i]);
    ck_assert_uint_eq(s->families[0].number, 5);
    for (uint16_t n = 1; n <= 4; n++) {
        next = sto_schema_make_swept(s, n);
        ck_assert_uint_eq(next->dropped_count, 4u - n);
        ck_assert(sto_schema_looks_same(s, next));
        ck_assert_uint_eq(next->revision, s->revision);
        sto_schema_unref(s);
        s = next;
    }
    sto_schema_unref(s);
}
END_TEST

START_TEST(too_many_dropped_families_wait_for_the_sweep)
{
    struct sto_family_spec one = {.name = SLICE_LIT("a")};
    struct sto_schema *s = make(NULL, &one, 1);
    struct errbuf eb;
    for (int i = 0; i < LIM_FAMILIES_DROPPED; i++) {
        one.name = i % 2 ? SLICE_LIT("a") : SLICE_LIT("b");
        struct sto_schema *next = make(s, &one, 1);
        sto_schema_unref(s);
        s = next;
    }
    ck_assert_uint_eq(s->dropped_count, LIM_FAMILIES_DROPPED);
    expect_stored_the_same(s);
    struct sto_schema *none = NULL;
    ck_assert_int_eq(try_make(s, &(struct sto_table_spec){0}, &none, &eb), ERR_OVERLOADED);
    ck_assert_ptr_nonnull(strstr(eb.text, "1000"));
    sto_schema_unref(s);
}
END_TEST

START_TEST(closed_families_are_known_to_every_schema_of_the_table)
{
    struct sto_schema *a = make(NULL, FAMILIES, 4);
    ck_assert(!sto_table_family_is_closed(a->table, 1));
    sto_table_close_family(a->table, 1);
    sto_table_close_family(a->table, 64);
    sto_table_close_family(a->table, UINT16_MAX);
    for (unsigned n = 0; n <= UINT16_MAX; n++)
        ck_assert_int_eq(sto_table_family_is_closed(a->table, (uint16_t)n),
                         n == 1 || n == 64 || n == UINT16_MAX);
    sto_schema_unref(a);
}
END_TEST

/* --- documents as they were before there were trees ------------------------------------------- */

static void put_old_family(struct buf *out, uint64_t number, const char *name, uint64_t versions,
                           uint64_t age_us)
{
    struct buf one;
    base_buf_init(&one, 256);
    ck_assert_int_eq(base_record_put_u64(&one, 1, number), ERR_OK);
    ck_assert_int_eq(base_record_put_bytes(&one, 2, base_slice_text(name)), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&one, 3, versions), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&one, 4, age_us), ERR_OK);
    ck_assert_int_eq(base_record_put_bytes(out, 3, base_buf_slice(&one)), ERR_OK);
    base_buf_fini(&one);
}

START_TEST(old_documents_are_read_as_the_rules_they_were)
{
    static const struct {
        uint64_t versions;
        uint64_t age_us;
        size_t nodes;
        uint64_t age_now_us;
    } OLD[] = {{0, 0, 0, 0}, {3, 0, 1, 0}, {0, 5000, 1, 5000}, {2, 1, 3, 1000}, {0, 1001, 1, 2000}};
    struct buf body;
    base_buf_init(&body, 65536);
    ck_assert_int_eq(base_record_put_u64(&body, 1, 6), ERR_OK);
    for (size_t i = 0; i < 5; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "f%zu", i);
        put_old_family(&body, i + 1, name, OLD[i].versions, OLD[i].age_us);
    }
    struct sto_schema *s = NULL;
    ck_assert_int_eq(sto_schema_decode(SLICE_LIT("t"), base_buf_slice(&body), NULL, &s), ERR_OK);
    ck_assert_uint_eq(s->revision, 0); /* whoever knows the document's version sets it */
    for (size_t i = 0; i < 5; i++) {
        const struct sto_gc *gc = &s->families[i].gc;
        ck_assert_uint_eq(gc->node_count, OLD[i].nodes);
        if (OLD[i].nodes == 3)
            ck_assert_int_eq(gc->nodes[0].kind, STO_GC_UNION);
        if (OLD[i].versions != 0)
            ck_assert_uint_eq(gc->nodes[OLD[i].nodes == 3].max_versions, OLD[i].versions);
        if (OLD[i].age_us != 0)
            ck_assert_uint_eq(gc->nodes[gc->node_count - 1].max_age_us, OLD[i].age_now_us);
    }
    expect_stored_the_same(s);
    sto_schema_unref(s);
    base_buf_fini(&body);
}
END_TEST

static enum err decode_types(uint64_t aggregate, uint64_t value_type)
{
    struct buf one, body;
    base_buf_init(&one, 256);
    base_buf_init(&body, 256);
    ck_assert_int_eq(base_record_put_u64(&one, 1, 1), ERR_OK);
    ck_assert_int_eq(base_record_put_bytes(&one, 2, SLICE_LIT("f")), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&one, 5, aggregate), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&one, 7, value_type), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&body, 1, 2), ERR_OK);
    ck_assert_int_eq(base_record_put_bytes(&body, 3, base_buf_slice(&one)), ERR_OK);
    struct sto_schema *s = NULL;
    enum err rc = sto_schema_decode(SLICE_LIT("t"), base_buf_slice(&body), NULL, &s);
    sto_schema_unref(s);
    base_buf_fini(&one);
    base_buf_fini(&body);
    return rc;
}

START_TEST(types_that_are_none_are_corrupt)
{
    ck_assert_int_eq(decode_types(STO_AGGREGATE_NONE, STO_VALUE_INT64), ERR_OK);
    ck_assert_int_eq(decode_types(STO_AGGREGATE_SUM, STO_VALUE_UNTYPED), ERR_OK);
    ck_assert_int_eq(decode_types(STO_AGGREGATE_SUM, STO_VALUE_INT64), ERR_CORRUPT);
    ck_assert_int_eq(decode_types(STO_AGGREGATE_NONE, STO_VALUE_TYPE_COUNT), ERR_CORRUPT);
}
END_TEST

/* --- damage ----------------------------------------------------------------------------------- */

START_TEST(damaged_documents_never_crash)
{
    struct sto_schema *whole = make(NULL, FAMILIES, 4);
    struct sto_schema *s = make(whole, FAMILIES + 1, 2);
    struct buf body;
    encode(s, &body);
    for (size_t cut = 0; cut < body.len; cut++) {
        struct sto_schema *c = NULL;
        enum err rc = sto_schema_decode(SLICE_LIT("t"), base_slice(body.ptr, cut), NULL, &c);
        ck_assert(rc == ERR_OK || rc == ERR_CORRUPT);
        sto_schema_unref(c);
    }
    for (size_t i = 0; i < body.len; i++) {
        uint8_t was = body.ptr[i];
        for (unsigned byte = 0; byte < 256; byte++) {
            struct sto_schema *c = NULL;
            body.ptr[i] = (uint8_t)byte;
            enum err rc = sto_schema_decode(SLICE_LIT("t"), base_buf_slice(&body), NULL, &c);
            ck_assert(rc == ERR_OK || rc == ERR_CORRUPT);
            sto_schema_unref(c);
        }
        body.ptr[i] = was;
    }
    base_buf_fini(&body);
    sto_schema_unref(s);
    sto_schema_unref(whole);
}
END_TEST

static enum err decode_with(uint32_t tag, struct slice bytes, int times)
{
    struct buf body;
    base_buf_init(&body, MIB);
    ck_assert_int_eq(base_record_put_u64(&body, 1, 5), ERR_OK);
    put_old_family(&body, 3, "f", 0, 0);
    for (int i = 0; i < times; i++)
        ck_assert_int_eq(base_record_put_bytes(&body, tag, bytes), ERR_OK);
    struct sto_schema *s = NULL;
    enum err rc = sto_schema_decode(SLICE_LIT("t"), base_buf_slice(&body), NULL, &s);
    sto_schema_unref(s);
    base_buf_fini(&body);
    return rc;
}

START_TEST(what_cannot_be_is_corrupt)
{
    static uint8_t notes[LIM_ROW_KEY_NOTES + 1];
    memset(notes, 'n', sizeof notes);
    ck_assert_int_eq(decode_with(6, SLICE_LIT("\x01\x02\x04"), 1), ERR_OK);
    ck_assert_int_eq(decode_with(6, SLICE_LIT("\x01\x02\x04"), 2), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(6, SLICE_LIT("\x02\x01"), 1), ERR_CORRUPT); /* falling */
    ck_assert_int_eq(decode_with(6, SLICE_LIT("\x03"), 1), ERR_CORRUPT);     /* it is there */
    ck_assert_int_eq(decode_with(6, SLICE_LIT("\x05"), 1), ERR_CORRUPT);     /* never given out */
    ck_assert_int_eq(decode_with(6, SLICE_LIT("\x81"), 1), ERR_CORRUPT);     /* cut short */
    ck_assert_int_eq(decode_with(5, SLICE_LIT("notes"), 1), ERR_OK);
    ck_assert_int_eq(decode_with(5, SLICE_LIT("notes"), 2), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(5, SLICE_EMPTY, 2), ERR_OK);
    ck_assert_int_eq(decode_with(5, SLICE_LIT("\xff"), 1), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(5, base_slice(notes, LIM_ROW_KEY_NOTES), 1), ERR_OK);
    ck_assert_int_eq(decode_with(5, base_slice(notes, LIM_ROW_KEY_NOTES + 1), 1), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(10, SLICE_LIT("origin"), 1), ERR_OK);
    ck_assert_int_eq(decode_with(10, SLICE_LIT("origin"), 2), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(10, SLICE_EMPTY, 1), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(10, base_slice(notes, LIM_TABLE_ORIGIN), 1), ERR_OK);
    ck_assert_int_eq(decode_with(10, base_slice(notes, LIM_TABLE_ORIGIN + 1), 1), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(4, SLICE_LIT("x"), 1), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(999, SLICE_LIT("from a newer program"), 1), ERR_OK);
}
END_TEST

Suite *suite_storage_schema_doc(void);
START_TEST(a_change_stream_is_kept_and_its_range_checked)
{
    static const struct {
        uint64_t seconds;
        enum err wanted;
    } cases[] = {{1, ERR_INVALID},
                 {LIM_CHANGES_KEPT_MIN_S - 1, ERR_INVALID},
                 {LIM_CHANGES_KEPT_MIN_S, ERR_OK},
                 {LIM_CHANGES_KEPT_S, ERR_OK},
                 {LIM_CHANGES_KEPT_S + 1, ERR_INVALID}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sto_table_spec spec = {.change_retention_s = cases[i].seconds, .now_us = 77};
        struct sto_schema *made = NULL, *again = NULL, *later = NULL;
        struct buf body;
        ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), NULL, &spec, &made, NULL),
                         cases[i].wanted);
        if (cases[i].wanted != ERR_OK)
            continue;
        base_buf_init(&body, MIB);
        ck_assert_int_eq(sto_schema_encode(made, &body), ERR_OK);
        ck_assert_int_eq(sto_schema_decode(SLICE_LIT("t"), base_buf_slice(&body), NULL, &again),
                         ERR_OK);
        ck_assert_uint_eq(again->change_retention_s, cases[i].seconds);
        ck_assert_int_eq(again->change_since_us, 77);
        ck_assert(sto_schema_looks_same(made, again));
        spec.change_retention_s = 0;
        ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), again, &spec, &later, NULL), ERR_OK);
        ck_assert(!sto_schema_looks_same(again, later));
        ck_assert_int_eq(later->change_since_us, 0);
        sto_schema_unref(later);
        spec.change_retention_s = LIM_CHANGES_KEPT_MIN_S;
        spec.now_us = 99; /* the stream that is there goes on */
        ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), again, &spec, &later, NULL), ERR_OK);
        ck_assert_int_eq(later->change_since_us, 77);
        sto_schema_unref(later);
        sto_schema_unref(again);
        sto_schema_unref(made);
        base_buf_fini(&body);
    }
}
END_TEST

Suite *suite_storage_schema_doc(void)
{
    Suite *s = suite_create("storage_schema_doc");
    TCase *t = tcase_create("schema_doc");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_change_stream_is_kept_and_its_range_checked);
    tcase_add_test(t, everything_is_stored);
    tcase_add_test(t, the_largest_schema_is_stored);
    tcase_add_test(t, types_never_change_and_protection_keeps_families);
    tcase_add_test(t, types_of_plain_values_are_stored_and_change);
    tcase_add_test(t, types_that_are_none_are_corrupt);
    tcase_add_test(t, dropped_numbers_stay_until_they_are_swept);
    tcase_add_test(t, too_many_dropped_families_wait_for_the_sweep);
    tcase_add_test(t, closed_families_are_known_to_every_schema_of_the_table);
    tcase_add_test(t, old_documents_are_read_as_the_rules_they_were);
    tcase_add_test(t, damaged_documents_never_crash);
    tcase_add_test(t, what_cannot_be_is_corrupt);
    suite_add_tcase(s, t);
    return s;
}
