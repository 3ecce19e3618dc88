/*
 * tests/support/filter_oracle.h - the output of a filter, exactly as the Bigtable API specifies it.
 *
 * Does:     evaluate a tree over a row in memory, one list of cells after another; print trees and
 *           rows.
 * Owns:     nothing; outputs are the caller's.
 * May use:  base/, storage/.
 * Knows no: programs, passes, hints.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: aborting when out of memory.
 * Limits:   ORACLE_CELLS per row.
 * Promises: 1. Cells of the output are in the order of the row; copies of one cell, whose order the
 *              API leaves open, by label, then value.
 */
#ifndef TESTS_SUPPORT_FILTER_ORACLE_H
#define TESTS_SUPPORT_FILTER_ORACLE_H

#include <stdio.h>

#include "storage/filter.h"

#define ORACLE_CELLS 512

/* Cells by family number, qualifier, newest first; no two of the same column and time. */
struct oracle_row {
    struct slice key;
    size_t count;
    struct sto_cell cells[ORACLE_CELLS];
};

struct oracle_item {
    struct sto_cell cell;
    size_t position; /* in the row */
    size_t from;     /* inside the oracle: index in the last filter's input */
};

struct oracle_list {
    struct oracle_item *items;
    size_t count;
    size_t capacity;
};

void oracle_list_add(struct oracle_list *list, struct oracle_item item);
void oracle_list_free(struct oracle_list *list);
/* Sorts copies of one cell into the order of promise 1. */
void oracle_list_sort(struct oracle_list *list);
bool oracle_list_equal(const struct oracle_list *a, const struct oracle_list *b);

/* Evaluates a filter. sampled: the result of every row_sample in the tree. */
struct oracle_list oracle_evaluate(const struct sto_filter *filter, const struct oracle_row *row,
                                   bool sampled);

void oracle_print_filter(FILE *to, const struct sto_filter *filter);
void oracle_print_row(FILE *to, const struct oracle_row *row);
void oracle_print_list(FILE *to, const struct oracle_list *list);

#endif
