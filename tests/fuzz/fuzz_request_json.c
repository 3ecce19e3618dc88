/*
 * tests/fuzz/fuzz_request_json.c - bodies that strangers send (gateway/api/).
 *
 * The first byte, a digit, chooses the reader, the rest is the body:
 *   0 rows        what a set of rows is made of is sorted, free of overlaps, and holds each key
 * named 1, 2 a row    PUT, PATCH: the reader without a tree agrees with one over jansson's 3 bulk
 * line   what is taken, a strict parser takes; the verdict is a line of JSON 4 table       what is
 * asked for makes a schema that is the same once stored, or is refused 5 families    is read or
 * refused 6, 7          mutations, rules of read-modify-write: likewise, and checked like any other
 * Every refusal has a sentence; every list that was checked is within the limits.
 */
#include "gateway/api/bulk_line.h"
#include "gateway/api/mutation_json.h"
#include "gateway/api/rows_json.h"
#include "gateway/api/table_body.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/row_body_model.h"

#include "base/banned.h"

static struct sto_schema *schema;
static struct sto_account account;
static struct sto_tenant_scope tenant;

static void set_up(void)
{
    static const struct sto_family_spec families[] = {
        {.name = {(const uint8_t *)"stats", 5}},
        {.name = {(const uint8_t *)"raw", 3}},
        {.name = {(const uint8_t *)"hits", 4}, .aggregate = STO_AGGREGATE_SUM},
        {.name = {(const uint8_t *)"who", 3}, .aggregate = STO_AGGREGATE_HLL}};
    static const struct sto_table_spec table = {.families = families, .family_count = 4};
    sto_account_init(&account, 0);
    INVARIANT(sto_scope_open(SLICE_LIT("altostrat"), &account, &tenant) == ERR_OK);
    INVARIANT(sto_schema_make(SLICE_LIT("devices"), NULL, &table, &schema, NULL) == ERR_OK);
}

static void expect_checked(struct slice row_key, const struct sto_mutation *list, size_t count)
{
    struct errbuf eb = {{0}};
    enum err e = sto_mutations_check(schema, &account, row_key, list, count, &eb);
    fuzz_expect_told(e, &eb);
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        INVARIANT(list[i].qualifier.len <= LIM_QUALIFIER && list[i].value.len <= LIM_CELL_BYTES);
}

/* --- rows ---------------------------------------------------------------------------------- */

/* Behind the end of a, in front of b's start: no key is in both. */
static void expect_apart(const struct sto_row_range *a, const struct sto_row_range *b)
{
    INVARIANT(a->end.len > 0);
    int order = base_slice_compare(a->end, b->start);
    INVARIANT(order < 0 || (order == 0 && !(a->end_inclusive && !b->start_exclusive)));
}

static bool holds(const struct sto_row_range *r, struct slice key)
{
    int start = base_slice_compare(key, r->start);
    int end = r->end.len == 0 ? -1 : base_slice_compare(key, r->end);
    return (r->start_exclusive ? start > 0 : start >= 0) && (r->end_inclusive ? end <= 0 : end < 0);
}

static bool set_holds(const struct sto_row_set *set, struct slice key)
{
    bool found = set->count == 0 && !set->none;
    for (size_t i = 0; i < set->count && !found; i++)
        found = holds(&set->ranges[i], key);
    return found;
}

static void expect_rows(const json_t *tree, struct sto_row_range *ranges, struct sto_row_set set)
{
    const json_t *keys = json_object_get(tree, "keys");
    for (size_t i = 0; i + 1 < set.count; i++)
        expect_apart(&set.ranges[i], &set.ranges[i + 1]);
    for (size_t i = 0; i < json_array_size(keys) && i < 64; i++)
        INVARIANT(set_holds(&set, gw_json_string(json_array_get(keys, i))));
    if (json_array_size(keys) == 0 || set.none)
        return;
    struct slice last = gw_json_string(json_array_get(keys, 0));
    sto_row_set_continue(ranges, &set, last, json_array_size(keys) % 2 == 0);
    INVARIANT(!set_holds(&set, last));
}

static enum err try_rows(const json_t *tree, struct arena *arena, struct errbuf *eb)
{
    struct sto_row_set set;
    struct sto_row_range *ranges = NULL;
    enum err e = gw_rows_from_json(tree, arena, &set, &ranges, eb);
    if (e == ERR_OK)
        expect_rows(tree, ranges, set);
    return e;
}

/* --- tables -------------------------------------------------------------------------------- */

static void expect_stored_alike(const struct sto_schema *made)
{
    struct sto_schema *back = NULL;
    struct buf body;
    base_buf_init(&body, MIB);
    INVARIANT(sto_schema_encode(made, &body) == ERR_OK);
    INVARIANT(sto_schema_decode(SLICE_LIT("t"), base_buf_slice(&body), NULL, &back) == ERR_OK);
    INVARIANT(sto_schema_looks_same(made, back));
    sto_schema_unref(back);
    base_buf_fini(&body);
}

static enum err try_table(const json_t *tree, struct arena *arena, struct errbuf *eb)
{
    struct ten_table_wanted wanted;
    struct sto_schema *made = NULL;
    enum err e = gw_table_body_parse(tree, arena, &wanted, eb);
    if (e != ERR_OK)
        return e;
    const struct sto_table_spec spec = {.families = wanted.families,
                                        .family_count = wanted.family_count,
                                        .protected = wanted.protected,
                                        .row_key_notes = wanted.row_key_notes};
    e = sto_schema_make(SLICE_LIT("t"), NULL, &spec, &made, eb);
    if (e != ERR_OK)
        return e;
    expect_stored_alike(made);
    sto_schema_unref(made);
    return ERR_OK;
}

static enum err try_families(const json_t *tree, struct arena *arena, struct errbuf *eb)
{
    struct ten_families_change change;
    return gw_families_body_parse(tree, arena, &change, eb);
}

/* --- mutations ----------------------------------------------------------------------------- */

static enum err try_mutations(const json_t *tree, struct arena *arena, struct errbuf *eb)
{
    struct gw_mutations m = {0};
    enum err e = gw_mutations_from_json(tree, "mutations", schema, 1, arena, &m, eb);
    if (e == ERR_OK)
        expect_checked(SLICE_LIT("r"), m.list, m.count);
    if (e == ERR_OK)
        (void)gw_mutations_end_with_a_cell(m.list, m.count); /* that it looks at nothing else */
    return e;
}

static enum err try_rules(const json_t *tree, struct arena *arena, struct errbuf *eb)
{
    struct gw_mutations m = {0};
    enum err e = gw_rules_from_json(tree, "rules", schema, arena, &m, eb);
    if (e == ERR_OK)
        expect_checked(SLICE_LIT("r"), m.list, m.count);
    return e;
}

static void try_tree(struct slice text,
                     enum err (*reader)(const json_t *tree, struct arena *arena, struct errbuf *eb))
{
    json_t *tree = NULL;
    struct arena arena;
    struct errbuf eb = {{0}};
    base_arena_init(&arena, ROW_BODY_ARENA_MAX);
    enum err e = gw_json_parse(text, NULL, &tree, &eb);
    if (e == ERR_OK)
        e = reader(tree, &arena, &eb);
    fuzz_expect_told(e, &eb);
    base_arena_fini(&arena);
    json_decref(tree);
}

/* --- texts that are read without a tree ------------------------------------------------------ */

static void try_row(struct slice text, enum gw_row_verb verb)
{
    struct errbuf why = {{0}};
    struct gw_row_body body;
    struct arena arena;
    if (!row_body_readers_agree(text, verb, schema, &why))
        base_panic(__FILE__, __LINE__, why.text);
    base_arena_init(&arena, ROW_BODY_ARENA_MAX);
    enum err e = gw_row_body_build(text, verb, schema, 1, &arena, &body, &why);
    fuzz_expect_told(e, &why);
    if (e == ERR_OK)
        expect_checked(SLICE_LIT("r"), body.mutations, body.count);
    base_arena_fini(&arena);
}

static void expect_json(struct slice text)
{
    json_t *tree = NULL;
    INVARIANT(gw_json_parse(text, NULL, &tree, NULL) == ERR_OK);
    json_decref(tree);
}

static void try_bulk_line(struct slice text)
{
    struct gw_bulk_line line;
    struct buf verdict;
    gw_bulk_line_init(&line, NULL, 1, text.len);
    line.op.scope = sto_table_scope_make(&tenant, schema);
    line.has_scope = true;
    line.op.result = gw_bulk_line_build(&line, &account, text);
    fuzz_expect_told(line.op.result, &line.op.detail);
    if (line.op.result == ERR_OK) {
        expect_json(text);
        expect_checked(line.op.row_key, line.op.mutations, line.op.mutation_count);
    }
    base_buf_init(&verdict, 64 * KIB);
    gw_bulk_line_put_verdict(&verdict, &line);
    INVARIANT(verdict.error == ERR_OK);
    expect_json(base_buf_slice(&verdict));
    base_buf_fini(&verdict);
    gw_bulk_line_clear(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (schema == NULL)
        set_up();
    if (size == 0)
        return 0;
    struct slice text = base_slice(data + 1, size - 1);
    switch (data[0] % 8) {
    case 0:
        try_tree(text, try_rows);
        break;
    case 1:
        try_row(text, GW_ROW_PUT);
        break;
    case 2:
        try_row(text, GW_ROW_PATCH);
        break;
    case 3:
        try_bulk_line(text);
        break;
    case 4:
        try_tree(text, try_table);
        break;
    case 5:
        try_tree(text, try_families);
        break;
    case 6:
        try_tree(text, try_mutations);
        break;
    default:
        try_tree(text, try_rules);
    }
    return 0;
}
