/*
 * tests/support/program_state.h - state of a running program; for tests/support/program_*.c only.
 *
 * Does:     hold the state that the oracle and the engine share.
 * Owns:     nothing that outlives the process.
 * May use:  base/, storage/, tests/support/.
 * Knows no: how programs are drawn.
 * Threads:  one.
 * Blocks:   as the engine does.
 * Fails by: program_differ, which ends the process.
 * Limits:   PROGRAM_BURST.
 * Promises: 1. program_expect.c computes expected results, without the engine.
 */
#ifndef TESTS_SUPPORT_PROGRAM_STATE_H
#define TESTS_SUPPORT_PROGRAM_STATE_H

#include "tests/support/oracle.h"
#include "tests/support/program.h"

enum { PROGRAM_BURST = 64 };

struct program_table {
    struct oracle_table oracle;
    struct sto_table_scope scope;
};

/* A mutation with all its memory. */
struct program_live {
    struct sto_mutate_op op;
    struct sto_mutation lists[2][PROGRAM_MUTATIONS];
    struct sto_check check;
    struct sto_modified modified;
    struct arena arena;
    char token[16];
    bool refused; /* before the engine */
};

/* The request that took a token. */
struct program_taken {
    bool known;
    struct program_op op;
    struct sto_mutation lists[2][PROGRAM_MUTATIONS];
    bool existed, matched;
    int64_t commit_us;
};

struct program_outcome {
    enum err result;
    bool existed, matched, repeated;
    int64_t commit_us;
};

struct program_state {
    const struct program_op *ops;
    size_t op_count;
    struct program_record *records;
    struct program_verdict *verdict;
    bool kills_come;
    struct program_table tables[PROGRAM_TENANTS][PROGRAM_TABLES];
    struct program_taken tokens[PROGRAM_TENANTS][PROGRAM_TOKENS];
    struct sto_usage used[PROGRAM_TENANTS];
    struct oracle_table scratch; /* the row after the operation */
};
extern struct program_state run;

/* --- program_expect.c ----------------------------------------------------------------------------
 */

_Noreturn void program_differ(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct program_table *program_table(const struct program_op *p);
/* Recounts the tenant's usage from the oracle's tables. */
void program_used_again(size_t tenant);
/* Returns the operation's expected outcome; stores the expected row in run.scratch. */
struct program_outcome program_expect(const struct program_op *p, const struct program_live *q,
                                      int64_t now_us);
/* Replaces the row by the one in run.scratch. */
void program_commit(const struct program_op *p, const struct program_live *q,
                    const struct program_outcome *o);
/* Apply a drop or a sweep to the oracle; end: memory for the range. */
struct sto_row_range program_drop_range(const struct program_op *p, uint8_t end[LIM_ROW_KEY]);
void program_drop_expected(const struct program_op *p, struct sto_row_range range);

/* --- program_run.c -------------------------------------------------------------------------------
 */

struct fix_sink;
/* Reads from the engine; *out_rows: the number of rows. */
enum err program_engine_read(const struct program_table *t, const struct sto_read_spec *spec,
                             size_t slice, bool on_loop, struct fix_sink *sink, uint64_t *out_rows);
void program_live_make(const struct program_op *p, struct program_live *q);
void program_live_fini(struct program_live *q);
/* Sends the mutation, and waits for every answer. */
void program_send(struct program_live *q, size_t index);
/* Compares the engine's answer with the oracle's. */
void program_mutate_check(size_t index, const struct program_live *q);
/* Returns the number of mutations from here on that are submitted together. */
size_t program_burst_length(size_t first);
void program_compare_all(void);

/* --- program_resume.c ----------------------------------------------------------------------------
 */

/* Updates the oracle after a kill; returns the index at which to continue. */
size_t program_catch_up(size_t stopped_at);

#endif
