/*
 * tests/support/program_print.c - a program as text, one operation per line.
 */
#include "tests/support/filter_oracle.h"
#include "tests/support/program.h"

#include "base/banned.h"

static void print_bytes(FILE *to, struct slice s)
{
    (void)fputc('"', to);
    for (size_t i = 0; i < s.len; i++)
        (void)fprintf(to, s.ptr[i] > 0x1f && s.ptr[i] < 0x7f ? "%c" : "\\x%02x", s.ptr[i]);
    (void)fputc('"', to);
}

static void print_time(FILE *to, uint8_t index)
{
    static const char *const names[PROGRAM_TIMES] = {
        "server", "1000", "0", "2000", "now-20m", "now-21m", "now-2h", "now-3h", "year-2200"};
    (void)fprintf(to, "%s", names[index % PROGRAM_TIMES]);
}

static void print_mutation(FILE *to, const struct program_mutation *m)
{
    static const char *const names[] = {"set", "delete_column", "delete_family", "delete_row",
                                        "add", "merge",         "append",        "increment"};
    (void)fprintf(to, " %s(", names[m->kind]);
    if (m->kind != STO_DELETE_FROM_ROW)
        (void)fprintf(to, "%s", (const char *)program_family_name(m->family).ptr);
    if (m->kind != STO_DELETE_FROM_ROW && m->kind != STO_DELETE_FROM_FAMILY) {
        (void)fputc(':', to);
        print_bytes(to, program_qualifier(m->qualifier));
        if (m->kind != STO_APPEND && m->kind != STO_INCREMENT) {
            (void)fputc('@', to);
            print_time(to, m->time);
        }
        if (m->kind == STO_DELETE_FROM_COLUMN) {
            (void)fputs("..", to);
            print_time(to, m->until);
        } else {
            (void)fprintf(to, " value %u", m->value);
        }
    }
    (void)fputc(')', to);
}

static void print_filter(FILE *to, const struct program_op *op)
{
    struct sto_filter nodes[PROGRAM_FILTER_NODES];
    if (op->filter == 0)
        return;
    (void)fprintf(to, " filter %u ", op->filter);
    oracle_print_filter(to, program_filter(op->filter, 0, nodes));
}

static void print_mutate(FILE *to, const struct program_op *op)
{
    (void)fputs(op->joins ? " &" : "", to);
    (void)fputs(op->held ? " held" : "", to);
    (void)fputs(op->expects == 1 ? " must_exist" : op->expects == 2 ? " must_not_exist" : "", to);
    if (op->token != 0)
        (void)fprintf(to, " token-%02u", op->token);
    if (op->checks)
        (void)fputs(" if", to);
    print_filter(to, op);
    for (size_t i = 0; i < op->count; i++)
        print_mutation(to, &op->list[i]);
    if (op->checks)
        (void)fputs(" else", to);
    for (size_t i = 0; i < op->otherwise_count; i++)
        print_mutation(to, &op->otherwise[i]);
}

static void print_read(FILE *to, const struct program_op *op)
{
    (void)fprintf(to, "%s", op->range_count == 0 ? " all" : "");
    for (size_t i = 0; op->range_count != UINT8_MAX && i < op->range_count; i++) {
        (void)fputc(' ', to);
        print_bytes(to, program_row_key(op->ranges[i][0]));
        (void)fputs("..", to);
        print_bytes(to, program_row_key(op->ranges[i][1]));
        (void)fprintf(to, "/%u", op->ranges[i][2]);
    }
    (void)fprintf(to, "%s limit %u versions %u slice %u%s", op->reversed ? " reversed" : "",
                  op->limit, op->versions, op->slice, op->on_loop ? " on loop" : "");
    if (op->narrowed)
        (void)fprintf(to, " projection(families %02x, qualifiers %u..%u, times %u..%u)",
                      op->families, op->from, op->to, op->since, op->until);
    print_filter(to, op);
}

void program_print(FILE *to, const struct program_op *ops, size_t count)
{
    static const char *const kinds[PROGRAM_KINDS] = {"mutate", "read",    "drop",   "drop_family",
                                                     "sweep",  "schema",  "remake", "ceilings",
                                                     "gate",   "recount", "reopen"};
    for (size_t i = 0; i < count; i++) {
        const struct program_op *op = &ops[i];
        (void)fprintf(to, "%4zu %s tenant %u table %u row ", i, kinds[op->kind], op->tenant,
                      op->table);
        print_bytes(to, program_row_key(op->row));
        if (op->kind == PROGRAM_MUTATE)
            print_mutate(to, op);
        else if (op->kind == PROGRAM_READ)
            print_read(to, op);
        else
            (void)fprintf(to, " argument %u families %02x", op->argument, op->families);
        (void)fputc('\n', to);
    }
}
