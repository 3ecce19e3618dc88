/*
 * storage/filter_rank.c - which pass over a row decides which condition.
 *
 * Mechanism: a predicate sees settled input only after every condition in front of its own, around
 * it and inside it was decided. So the ways of cells are followed from the entry, every node before
 * those it leads to, with the number of passes that must have been made: a condition is decided by
 * the first pass in which what reaches its predicate's end has settled, and what it lets go on has
 * settled one pass later. Conditions that cannot change the output make no pass.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "storage/filter_program.h"

#include "base/banned.h"

/* What goes to a node has settled after so many passes, and one: 0 is for nodes where nothing goes,
 * behind a sink or block_all. */
static void settle(uint32_t *settled, uint32_t node, uint32_t after)
{
    settled[node] = settled[node] > after ? settled[node] : after;
}

static void rank_from(struct sto_filter_program *p, uint32_t index, uint32_t *settled)
{
    struct filter_node *node = &p->nodes[index];
    uint32_t after = settled[index];
    if (node->op == FILTER_INTERLEAVE) {
        for (uint32_t k = 0; k < node->u.interleave.count; k++)
            settle(settled, p->branches[node->u.interleave.first + k], after);
    } else if (node->op == FILTER_CONDITION) {
        settle(settled, node->u.condition.predicate, after);
        settle(settled, node->u.condition.matched, after);
    } else if (node->op == FILTER_MATCHED) {
        struct filter_node *condition = &p->nodes[node->u.condition_of];
        condition->u.condition.rank = after - 1;
        settle(settled, condition->u.condition.when_true, after + 1);
        settle(settled, condition->u.condition.when_false, after + 1);
    } else {
        settle(settled, node->next, after);
    }
}

/* From the entry down: every node that leads to a node comes before it. */
enum err sto_filter_rank(struct sto_filter_program *p, struct errbuf *eb)
{
    uint32_t *settled = base_try_alloc(p->node_count * sizeof *settled);
    if (settled == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "no memory for a filter");
    memset(settled, 0, p->node_count * sizeof *settled);
    settled[p->entry] = 1;
    for (uint32_t i = p->node_count - 1; i > FILTER_DEAD_END_NODE; i--)
        if (settled[i] != 0)
            rank_from(p, i, settled);
    p->passes = settled[FILTER_OUTPUT_NODE] == 0 ? 1 : settled[FILTER_OUTPUT_NODE];
    base_free(settled);
    if (p->passes > LIM_FILTER_PASSES)
        return base_fail(eb, ERR_TOO_BIG,
                         "condition: they depend on each other so that a row must be read %" PRIu32
                         " times; the limit is %d",
                         p->passes, LIM_FILTER_PASSES);
    return ERR_OK;
}
