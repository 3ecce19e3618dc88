/*
 * tests/fuzz/fuzz_filter_json.c - filters as strangers write them (gateway/api/filter_json.h).
 *
 *   - Any text is refused with a sentence, or becomes a tree that compiles or is refused with one.
 *   - What was compiled keeps to the limits of base/limits.h and gives, read with and without its
 *     hints, what the oracle gives.
 */
#include "gateway/api/filter_json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/storage/filter_rows.h"

#include "base/banned.h"

#define ARENA_MAX  (4 * MIB)
#define COPIES_MAX 64 /* the oracle holds lists, and searches them */

static const char *const family_names[] = {"cell_plan", "stats", "x"};
static struct sto_schema *schema;
static struct oracle_row row;

static void add_cell(size_t family, const char *qualifier, int64_t time_us, const char *value)
{
    row.cells[row.count++] = (struct sto_cell){.family = &schema->families[family],
                                               .qualifier = base_slice_text(qualifier),
                                               .timestamp_us = time_us,
                                               .value = base_slice_text(value)};
}

static void set_up(void)
{
    schema = filter_schema(family_names, 3);
    row.key = SLICE_LIT("phone#4c410523");
    add_cell(0, "a", 3000, "true");
    add_cell(0, "a", 2000, "false");
    add_cell(0, "b", 3000, "v");
    add_cell(1, "n", 3000, "\1");
    add_cell(1, "os", 3000, "PQ2A");
    add_cell(1, "os", 1000, "PQ2B");
    add_cell(1, "w", 2000, "");
    add_cell(2, "", 0, "x");
}

/* Trees whose outputs are few, and that sample at most once. */
static bool oracle_can(const struct sto_filter *f, uint64_t *copies, unsigned *samples)
{
    uint64_t sum = 1, product = 1;
    *samples += f->kind == STO_FILTER_ROW_SAMPLE;
    for (size_t i = 0; i < f->member_count; i++) {
        uint64_t of = 1;
        if (!oracle_can(&f->members[i], &of, samples))
            return false;
        sum += of;
        product *= of;
    }
    *copies = f->kind == STO_FILTER_CHAIN ? product + sum : sum;
    return *copies <= COPIES_MAX && *samples <= 1;
}

static void try_filter(const struct sto_filter *filter)
{
    struct sto_filter_program *program = NULL;
    struct errbuf eb = {{0}};
    enum err e = sto_filter_compile(filter, schema, &program, &eb);
    fuzz_expect_told(e, &eb);
    if (e != ERR_OK)
        return;
    INVARIANT(sto_filter_wire_bytes(filter) <= LIM_FILTER_BYTES);
    uint64_t copies = 1;
    unsigned samples = 0;
    INVARIANT(!oracle_can(filter, &copies, &samples) || is_right(schema, program, filter, &row, 1));
    sto_filter_unref(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *tree = NULL;
    struct errbuf eb = {{0}};
    struct arena arena;
    struct sto_filter filter = {0};
    if (schema == NULL)
        set_up();
    enum err e = gw_json_parse(base_slice(data, size), NULL, &tree, &eb);
    fuzz_expect_told(e, &eb);
    if (e != ERR_OK)
        return 0;
    base_arena_init(&arena, ARENA_MAX);
    e = gw_filter_from_json(tree, &arena, &filter, &eb);
    fuzz_expect_told(e, &eb);
    if (e == ERR_OK)
        try_filter(&filter);
    base_arena_fini(&arena);
    json_decref(tree);
    return 0;
}
