/*
 * tests/storage/filter_phone.h - the row of the documentation's filter pages, read by a filter.
 *
 * Does:     create the row with its schema before each test; compile a filter and read the row.
 * Owns:     schema and row, from phone_setup to phone_teardown.
 * May use:  base/, storage/, tests/.
 * Knows no: the expected output.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: a failed check.
 * Limits:   none.
 * Promises: 1. Times are small and whole milliseconds; the only cell that the documentation does
 *              not have is an old version in the plan.
 */
#ifndef TESTS_STORAGE_FILTER_PHONE_H
#define TESTS_STORAGE_FILTER_PHONE_H

#include <check.h>

#include "tests/storage/filter_rows.h"

static const char *const family_names[] = {"cell_plan", "stats", "x"};
static struct sto_schema *schema;
static struct oracle_row row;

static inline void add_cell(size_t family, const char *qualifier, int64_t time, const char *value)
{
    row.cells[row.count++] = (struct sto_cell){.family = &schema->families[family],
                                               .qualifier = base_slice_text(qualifier),
                                               .timestamp_us = time,
                                               .value = base_slice_text(value)};
}

static inline void phone_setup(void)
{
    schema = filter_schema(family_names, 3);
    row = (struct oracle_row){.key = SLICE_LIT("phone#4c410523#20190501")};
    add_cell(0, "data_01gb", 3000, "true");
    add_cell(0, "data_01gb", 2000, "false");
    add_cell(0, "data_05gb", 3000, "true");
    add_cell(1, "connected_cell", 3000, "\1");
    add_cell(1, "connected_wifi", 3000, "\1");
    add_cell(1, "os_build", 3000, "PQ2A.190405.003");
    add_cell(1, "os_build", 1000, "PQ2A.190405.001");
}

static inline void phone_teardown(void)
{
    base_free(schema);
}

static inline struct sto_filter_program *compile(struct sto_filter filter)
{
    struct sto_filter_program *p = NULL;
    struct errbuf eb = {{0}};
    enum err e = sto_filter_compile(&filter, schema, &p, &eb);
    ck_assert_msg(e == ERR_OK, "%s", eb.text);
    return p;
}

static inline struct reader read_row(struct sto_filter_program *p, enum honour honour)
{
    static struct random r = {11};
    struct reader reader = {.schema = schema, .row = &row, .honour = honour, .random = &r};
    struct sto_filter_run *run = sto_filter_run_new(p, reader_emit, &reader);
    ck_assert_ptr_nonnull(run);
    reader_read(&reader, p, run);
    sto_filter_run_free(run);
    return reader;
}

static inline struct sto_filter columns(const char *family, struct sto_bytes_range range)
{
    return (struct sto_filter){
        .kind = STO_FILTER_COLUMN_RANGE, .bytes = base_slice_text(family), .range = range};
}

static inline TCase *new_case(Suite *suite, const char *name)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, phone_setup, phone_teardown);
    tcase_set_timeout(tc, 30);
    suite_add_tcase(suite, tc);
    return tc;
}

#endif
