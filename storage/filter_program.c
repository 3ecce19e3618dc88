/*
 * storage/filter_program.c - the life of a compiled filter, from its allocation to its last ref.
 */
#include "storage/filter_program.h"

#include "base/alloc.h"

#include "base/banned.h"

#define NODES_OF_A_STEP 16
/* RE2's object with the tables of its program; an instruction, and the syntax it was parsed
 * into. */
#define BYTES_OF_A_REGEX        2048
#define BYTES_OF_AN_INSTRUCTION 64

static void free_program(struct sto_filter_program *p)
{
    for (uint32_t i = 0; i < p->node_count; i++) {
        enum filter_op op = p->nodes[i].op;
        if (op == FILTER_ROW_KEY_REGEX || op == FILTER_QUALIFIER_REGEX || op == FILTER_VALUE_REGEX)
            sto_pattern_free(p->nodes[i].u.pattern);
    }
    base_memory_give(p->share, p->counted_bytes + (size_t)p->counted_state_bytes);
    base_free(p->nodes);
    base_free(p->branches);
    base_free(p->bytes);
    base_free(p);
}

/* Returns the room for bounds of patterns. The tree's own bytes are bounded by its wire size. */
static size_t bound_bytes(const struct filter_census *census)
{
    return census->patterns * 2 * STO_PATTERN_RANGE_MAX;
}

struct sto_filter_program *sto_filter_program_new(const struct sto_schema *schema,
                                                  const struct filter_census *census)
{
    struct sto_filter_program *p = base_try_alloc(sizeof *p);
    if (p == NULL)
        return NULL;
    *p = (struct sto_filter_program){
        .refs = 1, .family_count = schema->family_count, .has_regexes = census->regexes > 0};
    for (size_t i = 0; i < schema->family_count; i++)
        p->family_numbers[i] = schema->families[i].number;
    p->nodes = base_try_alloc(filter_nodes_max(census) * sizeof *p->nodes);
    p->branches = base_try_alloc(census->branches * sizeof *p->branches);
    p->bytes = base_try_alloc(census->wire_bytes + bound_bytes(census));
    if (p->nodes == NULL || p->branches == NULL || p->bytes == NULL) {
        free_program(p);
        return NULL;
    }
    return p;
}

bool sto_filter_charge(struct sto_filter_program *p, struct base_memory_share *share)
{
    INVARIANT(p->share == NULL);
    size_t bytes =
        base_memory_counted(p->node_count * sizeof p->nodes[0] + p->regexes * BYTES_OF_A_REGEX +
                            p->instructions * BYTES_OF_AN_INSTRUCTION);
    if (!base_memory_take(share, bytes))
        return false;
    p->share = share;
    p->counted_bytes = bytes;
    return true;
}

/* Counts the states in any case, because they already exist. */
bool sto_filter_count_states(struct sto_filter_program *p, int64_t bytes)
{
    if (p->share == NULL)
        return true;
    p->state_bytes += bytes;
    int64_t more = p->state_bytes - p->counted_state_bytes;
    if (more <= BASE_MEMORY_SMALL)
        return true;
    p->counted_state_bytes = p->state_bytes;
    bool is_left = base_memory_take(p->share, (size_t)more);
    if (!is_left)
        base_memory_take_anyway(p->share, (size_t)more);
    return is_left;
}

struct sto_filter_program *sto_filter_ref(struct sto_filter_program *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void sto_filter_unref(struct sto_filter_program *p)
{
    if (p != NULL && atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1)
        free_program(p);
}

uint32_t sto_filter_steps(const struct sto_filter_program *p)
{
    return p->has_regexes ? UINT32_MAX : 1 + p->node_count / NODES_OF_A_STEP;
}

const struct sto_projection *sto_filter_projection(const struct sto_filter_program *p)
{
    return &p->projection;
}

uint64_t sto_filter_compile_ns(const struct sto_filter_program *p)
{
    return p->compile_ns;
}

size_t sto_filter_regexes(const struct sto_filter_program *p)
{
    return p->regexes;
}

size_t sto_filter_instructions(const struct sto_filter_program *p)
{
    return p->instructions;
}

size_t sto_filter_copies(const struct sto_filter_program *p)
{
    return p->copies;
}

const struct sto_bytes_range *sto_filter_rows(const struct sto_filter_program *p)
{
    return p->restricts_rows ? &p->rows : NULL;
}
