/*
 * tests/support/program.h - a random program: operations on tables of several tenants.
 *
 * Does:     draw a program from a seed; convert its operations to the engine's; run it in a
 *           separate process against an engine and the oracle, and compare every answer; shrink a
 *           failing program; print it.
 * Owns:     directories it creates, until program_try returns.
 * May use:  base/, storage/, tests/support/, tests/storage/fixture.h.
 * Knows no: HTTP, tenancy.
 * Threads:  one.
 * Blocks:   yes.
 * Fails by: a verdict that is not ok.
 * Limits:   the alphabets below.
 * Promises: 1. An operation consists of a few indices into small alphabets, so it can be simplified
 *              and printed. 2. The same program on the same engine has the same effect, except for
 *              the clock.
 */
#ifndef TESTS_SUPPORT_PROGRAM_H
#define TESTS_SUPPORT_PROGRAM_H

#include <stdio.h>

#include "storage/engine.h"
#include "tests/support/random.h"

enum {
    PROGRAM_TENANTS = 3,
    PROGRAM_TABLES = 2,
    PROGRAM_ROWS = 20,
    PROGRAM_QUALIFIERS = 4,
    PROGRAM_FAMILIES = 7,
    PROGRAM_TIMES = 9,
    PROGRAM_VALUES = 12,
    PROGRAM_RULES = 6, /* of garbage collection */
    PROGRAM_MUTATIONS = 4,
    PROGRAM_RANGES = 3,
    PROGRAM_TOKENS = 8,
    PROGRAM_FILTER_NODES = 40,
    PROGRAM_NO_RULES = 255, /* for program_schema: all stored cells are visible */
};

enum program_kind {
    PROGRAM_MUTATE,
    PROGRAM_READ,
    PROGRAM_DROP,        /* argument 0: rows that start with the row's first byte; 1: all */
    PROGRAM_DROP_FAMILY, /* cells of removed families, and of the one at `argument` */
    PROGRAM_SWEEP,
    PROGRAM_SCHEMA,   /* families: the existing ones; argument: their rules */
    PROGRAM_REMAKE,   /* the table is removed and recreated */
    PROGRAM_CEILINGS, /* argument: bytes and rows left, 0: no ceiling */
    PROGRAM_GATE,     /* argument: bits of the gate */
    PROGRAM_RECOUNT,
    PROGRAM_REOPEN,
    PROGRAM_KINDS
};

struct program_mutation {
    uint8_t kind; /* enum sto_mutation_kind */
    uint8_t family;
    uint8_t qualifier;
    uint8_t time; /* of the cell, or the start of a range */
    uint8_t until;
    uint8_t value;
};

/* Only bytes, and zero if a kind does not use them: 0 is the simplest value. */
struct program_op {
    uint8_t kind;
    uint8_t tenant;
    uint8_t table;
    uint8_t row;
    uint8_t argument;
    uint8_t families; /* bits: PROGRAM_SCHEMA, and a read's projection */
    uint8_t filter;   /* 0: none; a predicate, or of a read */
    /* MUTATE */
    uint8_t joins; /* submitted together with the previous mutation */
    uint8_t held;  /* the committers wait until the burst was submitted: one batch */
    uint8_t count;
    uint8_t expects; /* 1: must exist; 2: must not exist */
    uint8_t checks;
    uint8_t otherwise_count;
    uint8_t token;
    struct program_mutation list[PROGRAM_MUTATIONS];
    struct program_mutation otherwise[PROGRAM_MUTATIONS];
    /* READ */
    uint8_t range_count; /* 0: all rows; 255: the one row */
    uint8_t ranges[PROGRAM_RANGES][3];
    uint8_t reversed;
    uint8_t limit;
    uint8_t versions;
    uint8_t narrowed;
    uint8_t from; /* qualifiers and times of the projection; 0: no bound */
    uint8_t to;
    uint8_t since;
    uint8_t until;
    uint8_t slice; /* the sink is full after this many times 8 bytes; 0: never */
    uint8_t on_loop;
};

/* --- drawing and printing -------------------------------------------------------------------- */

/* Draws a program. plain: only operations that survive a kill: no ceilings, gates,
 * changes of schema or reopening. */
void program_draw(struct random *rng, struct program_op *ops, size_t count, bool plain);
/* Restricts the program to two rows with few columns, which are changed, swept and read. */
void program_heat(struct program_op *ops, size_t count);
void program_print(FILE *to, const struct program_op *ops, size_t count);

/* --- meaning of an operation --------------------------------------------------------------------
 */

struct slice program_row_key(uint8_t index);
struct slice program_qualifier(uint8_t index);
struct slice program_family_name(uint8_t index);
/* Returns a timestamp. base_us: the program's start. Index 0 is STO_TIMESTAMP_SERVER. */
int64_t program_time(uint8_t index, int64_t base_us);
/* Returns the next schema of a table (old NULL: the first), with one ref. */
struct sto_schema *program_schema(const char *table, const struct sto_schema *old, uint8_t families,
                                  uint8_t rules);
/* Returns the engine's mutation; a family that the schema does not have gets number 0. */
struct sto_mutation program_mutation(const struct program_mutation *m,
                                     const struct sto_schema *schema, int64_t base_us);
/* Outputs the engine's read. ranges: memory for the row set. */
void program_read(const struct program_op *op, const struct sto_schema *schema, int64_t base_us,
                  struct sto_row_range ranges[PROGRAM_RANGES], struct sto_read_spec *out);
/* Builds the tree of a filter, which is not 0, in nodes and returns its root. */
const struct sto_filter *program_filter(uint8_t filter, int64_t base_us,
                                        struct sto_filter nodes[PROGRAM_FILTER_NODES]);

/* --- running
 * -------------------------------------------------------------------------------------- */

/* State of a mutation or drop, in memory that survives a kill. */
enum program_fate { PROGRAM_NOT_YET, PROGRAM_SENT, PROGRAM_ANSWERED, PROGRAM_LOST };
struct program_record {
    _Atomic uint8_t fate;
    bool repeated;
    enum err result;
    int64_t commit_us;
};

/* Shared between the process that runs a program and the one that waits for it. */
struct program_verdict {
    bool ok;
    bool invalid; /* not a program: an operation is refused before it reaches the engine */
    size_t at;    /* index of the operation in progress */
    int64_t base_us;
    char message[1500];
    _Atomic bool running;    /* recovery after a kill is complete, the program continues */
    unsigned kills;          /* by program_try_killed, while the program was running */
    uint64_t batches_shared; /* bursts of more than one operation */
    size_t refused;          /* operations, because the disk did not keep up */
};

/* Sets whether tenants of later programs are encrypted. */
void program_seal(bool sealed);
/* Runs a program in a new process and a new directory. */
bool program_try(const struct program_op *ops, size_t count, struct program_verdict *out);
/* Runs a program, kills it `kills` times at random points,
 * and continues it each time from the engine's recovered data. */
bool program_try_killed(const struct program_op *ops, size_t count, struct random *rng,
                        unsigned kills, struct program_verdict *out);
/* Shrinks a failing program in place to a smaller one that also fails. Returns its length. */
size_t program_shrink(struct program_op *ops, size_t count, struct program_verdict *out);

/* Runs a program in the child of program_try* (tests/support/program_run.c),
 * and ends the process. */
_Noreturn void program_run(const char *dir, const struct program_op *ops, size_t count,
                           struct program_record *records, struct program_verdict *verdict);

#endif
