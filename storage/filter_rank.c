/*
 * storage/filter_rank.c - assigns to each condition the pass over a row that decides it.
 *
 * Mechanism: the input of a predicate is settled only after every condition before its own, around
 * it and inside it was decided. So the nodes are visited from the entry, every node before those it
 * leads to, with the number of passes needed until a node's input is settled. A condition is
 * decided by the first pass in which the input of its predicate's end is settled; its branches have
 * settled input one pass later. Conditions that cannot change the output need no pass.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "storage/filter_program.h"

#include "base/banned.h"

/* Sets settled[node] to at least `after`. The input of a node is settled after settled[node] - 1
 * passes; 0 is for nodes that no cell reaches, those after a sink or block_all. */
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

/* Visits nodes from the entry down: every node that leads to a node precedes it. */
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
