/*
 * storage/filter_run.c - runs the cells of rows through a program.
 *
 * Mechanism: a cell follows the links of the program. At an interleave it enters the first branch,
 * and a frame records the others. At an end, or where it is rejected, the topmost frame says where
 * to continue. No part of a cell is kept after it has left its last branch, and nothing is
 * allocated after sto_filter_run_new.
 *
 * Passes. Pass p decides the conditions of rank p: their cells enter the predicate only, and a cell
 * that reaches the predicate's end makes the condition true. Conditions of lower rank are known;
 * their cells take the chosen branch. Conditions of higher rank let cells enter the predicate only
 * for the conditions inside it. Only the last pass has an output.
 *
 * Live nodes. A node is live if a cell that enters there can change something in this pass of this
 * row: the node leads to the goal of the pass, past row_key_regex, row_sample and known conditions.
 * Dead nodes are not entered, and a pass without a live entry is skipped.
 *
 * Hints. Each path of a cell ends with a hint x: how many of the following cells can change nothing
 * there. The nodes on the path change it to F(x) = max(floor, x), or, after a count per row, to
 * F(x) = x == ROW ? ROW : floor: skipped cells would have been counted, and only the end of the row
 * makes that harmless. (A count per column is void after the column.) A limit that is reached
 * raises the floor. The hint of the cell is the lowest of its paths: all of them are monotone, so
 * the order of minimum and F does not matter.
 *
 * Dry runs. Before a cell with a large value is processed, it may be followed in a dry run, whose
 * only effect is that patterns are matched and their verdicts cached under the number that the cell
 * will have. A dry run can stop after any match and start again: it continues with the patterns
 * that are not matched yet.
 */
#include "storage/filter_run.h"

#include <errno.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/siphash.h"

#include "base/banned.h"

#define NS_PER_NODE        5
#define BYTES_COPIED_IN_NS 4

/* --- a run ------------------------------------------------------------------------------------ */

static void make_sample_key(struct base_siphash_key *key)
{
    ssize_t n;
    do {
        n = getrandom(key, sizeof *key, 0);
    } while (n < 0 && errno == EINTR);
    INVARIANT(n == (ssize_t)sizeof *key);
}

struct sto_filter_run *sto_filter_run_new(struct sto_filter_program *p, sto_filter_emit *emit,
                                          void *ctx)
{
    struct sto_filter_run *run = base_try_alloc(sizeof *run);
    if (run == NULL)
        return NULL;
    *run = (struct sto_filter_run){
        .program = sto_filter_ref(p), .emit = emit, .ctx = ctx, .is_done = true};
    run->states = base_try_alloc(p->node_count * sizeof *run->states);
    run->live = base_try_alloc(p->node_count * sizeof *run->live);
    run->frames = base_try_alloc(p->frames * sizeof *run->frames);
    if (run->states == NULL || run->live == NULL || run->frames == NULL) {
        sto_filter_run_free(run);
        return NULL;
    }
    memset(run->states, 0, p->node_count * sizeof *run->states);
    make_sample_key(&run->sample_key);
    return run;
}

void sto_filter_run_free(struct sto_filter_run *run)
{
    if (run == NULL)
        return;
    base_free(run->states);
    base_free(run->live);
    base_free(run->frames);
    sto_filter_unref(run->program);
    base_free(run);
}

/* --- rows and passes -------------------------------------------------------------------------- */

static bool is_sampled(const struct sto_filter_run *run, uint32_t index, struct slice row_key)
{
    struct base_siphash_key key = {run->sample_key.k0, run->sample_key.k1 ^ index};
    return base_siphash13(key, row_key) < run->program->nodes[index].u.sample_below;
}

static void look_at_row(struct sto_filter_run *run, struct slice row_key)
{
    const struct sto_filter_program *p = run->program;
    for (uint32_t i = 0; p->looks_at_rows && i < p->node_count; i++) {
        if (p->nodes[i].op == FILTER_ROW_KEY_REGEX)
            run->states[i].verdict = sto_filter_match(run, i, row_key);
        else if (p->nodes[i].op == FILTER_ROW_SAMPLE)
            run->states[i].verdict = is_sampled(run, i, row_key);
    }
}

static bool is_last_pass(const struct sto_filter_run *run)
{
    return run->pass + 1 == run->program->passes;
}

static bool is_true(const struct sto_filter_run *run, uint32_t condition)
{
    return run->states[condition].of == run->row;
}

/* Returns the node that a cell enters from a condition in this pass. */
static uint32_t way_from(const struct sto_filter_run *run, uint32_t condition)
{
    const struct filter_node *node = &run->program->nodes[condition];
    if (run->pass < node->u.condition.rank)
        return node->u.condition.predicate;
    if (is_true(run, condition))
        return run->pass == node->u.condition.rank ? FILTER_DEAD_END_NODE
                                                   : node->u.condition.when_true;
    return run->pass == node->u.condition.rank ? node->u.condition.predicate
                                               : node->u.condition.when_false;
}

static bool is_any_branch_live(const struct sto_filter_run *run, const struct filter_node *node)
{
    const uint32_t *branches = run->program->branches + node->u.interleave.first;
    for (uint32_t i = 0; i < node->u.interleave.count; i++)
        if (run->live[branches[i]])
            return true;
    return false;
}

/* Requires that the nodes it leads to were evaluated before. */
static bool is_live(const struct sto_filter_run *run, uint32_t index)
{
    const struct filter_node *node = &run->program->nodes[index];
    if (node->op == FILTER_OUTPUT)
        return is_last_pass(run);
    if (node->op == FILTER_DEAD_END)
        return false;
    if (node->op == FILTER_MATCHED)
        return run->program->nodes[node->u.condition_of].u.condition.rank == run->pass;
    if (node->op == FILTER_INTERLEAVE)
        return is_any_branch_live(run, node);
    if (node->op == FILTER_CONDITION)
        return run->live[way_from(run, index)];
    if (node->op == FILTER_ROW_KEY_REGEX || node->op == FILTER_ROW_SAMPLE)
        return run->states[index].verdict && run->live[node->next];
    return run->live[node->next];
}

static void find_live_nodes(struct sto_filter_run *run)
{
    const struct sto_filter_program *p = run->program;
    bool is_same_for_all_rows = p->passes == 1 && !p->looks_at_rows;
    if (is_same_for_all_rows && run->row > 1)
        return;
    for (uint32_t i = 0; i < p->node_count; i++)
        run->live[i] = is_live(run, i);
}

/* Starts the first pass from run->pass on that can change anything. */
static void begin_pass(struct sto_filter_run *run)
{
    const struct sto_filter_program *p = run->program;
    for (; run->pass < p->passes; run->pass++) {
        find_live_nodes(run);
        if (run->live[p->entry])
            break;
    }
    run->is_done = run->pass == p->passes;
    run->pass_of_row++;
    run->cell++; /* skip the numbers of a prepared cell that never came */
    run->column++;
    run->got_cells = false;
    run->family = NULL;
}

enum sto_filter_hint sto_filter_row_begin(struct sto_filter_run *run, struct slice row_key)
{
    run->row++;
    run->pass = 0;
    look_at_row(run, row_key);
    begin_pass(run);
    return run->is_done ? STO_FILTER_NEXT_ROW : STO_FILTER_NEXT_CELL;
}

bool sto_filter_row_end(struct sto_filter_run *run)
{
    if (run->is_done || !run->got_cells) {
        /* A row that has no cell for one pass has none for the others. */
        run->is_done = true;
        return false;
    }
    run->pass++;
    begin_pass(run);
    return !run->is_done;
}

/* --- the path of a cell ----------------------------------------------------------------------- */

static void end_path(struct sto_filter_run *run, const struct filter_position *at,
                     enum sto_filter_hint hint)
{
    bool is_void = at->counted && hint != STO_FILTER_NEXT_ROW;
    if (is_void || hint < at->floor)
        hint = at->floor;
    if (hint < run->hint)
        run->hint = hint;
}

static void give(struct sto_filter_run *run, const struct filter_position *at,
                 const struct sto_cell *cell)
{
    struct sto_cell out = *cell;
    if (run->is_dry)
        return;
    run->work_ns += cell->value.len / BYTES_COPIED_IN_NS;
    out.value = filter_value_of(at, cell);
    if (at->label != NULL)
        out.label = *at->label;
    run->emit(run->ctx, &out);
}

/* Enters the next live branch; pushes a frame if there are others. Returns false if none is
 * live. */
static bool enter_branch(struct sto_filter_run *run, struct filter_position *at, size_t *depth)
{
    const struct filter_node *node = &run->program->nodes[at->node];
    const uint32_t *branches = run->program->branches + node->u.interleave.first;
    while (at->branch < node->u.interleave.count && !run->live[branches[at->branch]])
        at->branch++;
    if (at->branch == node->u.interleave.count)
        return false;
    uint32_t entered = branches[at->branch++];
    if (at->branch < node->u.interleave.count)
        run->frames[(*depth)++] = *at;
    at->node = entered;
    at->branch = 0;
    return true;
}

/* Follows one path to its end. */
static void follow(struct sto_filter_run *run, struct filter_position at,
                   const struct sto_cell *cell, size_t *depth)
{
    enum sto_filter_hint hint = STO_FILTER_NEXT_ROW;
    while (run->live[at.node] && !run->is_cut && run->error == ERR_OK) {
        const struct filter_node *node = &run->program->nodes[at.node];
        run->work_ns += NS_PER_NODE;
        if (node->op == FILTER_OUTPUT) {
            give(run, &at, cell);
            hint = STO_FILTER_NEXT_CELL;
            break;
        }
        if (node->op == FILTER_MATCHED) {
            if (!run->is_dry)
                run->states[node->u.condition_of].of = run->row;
            break;
        }
        if (node->op == FILTER_INTERLEAVE) {
            if (!enter_branch(run, &at, depth))
                break;
        } else if (node->op == FILTER_CONDITION) {
            at.node = way_from(run, at.node);
        } else if (sto_filter_pass(run, &at, cell, &hint)) {
            at.node = node->next;
            hint = STO_FILTER_NEXT_ROW;
        } else {
            break;
        }
    }
    end_path(run, &at, hint);
}

static void follow_all(struct sto_filter_run *run, const struct sto_cell *cell)
{
    size_t depth = 0;
    run->hint = STO_FILTER_NEXT_ROW;
    follow(run, (struct filter_position){.node = run->program->entry}, cell, &depth);
    while (depth > 0)
        follow(run, run->frames[--depth], cell, &depth);
}

static void enter_family(struct sto_filter_run *run, const struct sto_family *family)
{
    if (family == run->family)
        return;
    run->family = family;
    run->family_index = filter_family_index(run->program, family->number);
}

/* Uses the numbers that the cell will have. */
bool sto_filter_prepare(struct sto_filter_run *run, const struct sto_cell *cell, bool new_column,
                        uint64_t budget_ns)
{
    if (run->is_done || run->error != ERR_OK)
        return true;
    uint64_t column = run->column;
    run->column += new_column || !run->got_cells;
    run->cell++;
    run->is_dry = true;
    run->has_met = false;
    run->budget_ns = budget_ns;
    enter_family(run, cell->family);
    follow_all(run, cell);
    bool is_ready = !run->is_cut;
    run->is_dry = false;
    run->is_cut = false;
    run->cell--;
    run->column = column;
    return is_ready;
}

uint64_t sto_filter_work(struct sto_filter_run *run)
{
    uint64_t work_ns = run->work_ns;
    run->work_ns = 0;
    return work_ns;
}

enum err sto_filter_error(const struct sto_filter_run *run, struct errbuf *eb)
{
    return run->error == ERR_OK ? ERR_OK : base_fail(eb, run->error, "%s", run->detail.text);
}

enum sto_filter_hint sto_filter_cell(struct sto_filter_run *run, const struct sto_cell *cell,
                                     bool new_column)
{
    if (run->is_done || run->error != ERR_OK)
        return STO_FILTER_NEXT_ROW;
    run->cell++;
    if (new_column || !run->got_cells)
        run->column++;
    run->got_cells = true;
    enter_family(run, cell->family);
    follow_all(run, cell);
    return run->hint;
}
