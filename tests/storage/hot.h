/*
 * tests/storage/hot.h - rows that change often: the work of reading them.
 *
 * Does:     open an engine whose data stays in memory; count the moves and the removed keys of a
 *           read that the calling thread answers.
 * Owns:     nothing.
 * May use:  tests/storage/fixture.h.
 * Knows no: how the rows were changed.
 * Threads:  one.
 * Blocks:   as the fixture.
 * Fails by: ck_assert.
 * Limits:   none.
 * Promises: 1. A read that was passed to a reader fails the test.
 */
#ifndef TESTS_STORAGE_HOT_H
#define TESTS_STORAGE_HOT_H

#include "fixture.h"

#define T        (&fix.tables[0][0])
#define MANY     1000
#define WORK_MAX 250 /* a few moves, each past an acceptable number of removed keys */

UNUSED_FN static const struct sto_read_spec ROW = {.row_key = SLICE_LIT("hot")};

UNUSED_FN static void set_up(void)
{
    fix_setup_in_memory();
    fix_wait_for_memory();
}

UNUSED_FN static void flush(void)
{
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
}

/* Returns moves and removed keys of a read that starts on this thread,
 * and whether it ended there. */
UNUSED_FN static uint64_t work_and_place(const struct sto_read_spec *spec, const char *wanted,
                                         bool *out_inline)
{
    struct sto_read_op op = {.scope = *T, .spec = *spec};
    struct fix_sink s;
    fix_sink_init(&s);
    rocksdb_set_perf_level(rocksdb_enable_count);
    rocksdb_perfcontext_t *counts = rocksdb_perfcontext_create();
    rocksdb_perfcontext_reset(counts);
    do {
        fix_slice(&op, &s, true);
    } while (op.state == STO_READ_MORE);
    uint64_t work = op.steps + op.seeks +
                    rocksdb_perfcontext_metric(counts, rocksdb_internal_delete_skipped_count) +
                    rocksdb_perfcontext_metric(counts, rocksdb_internal_key_skipped_count);
    rocksdb_perfcontext_destroy(counts);
    rocksdb_set_perf_level(rocksdb_disable);
    sto_read_finish(fix.engine, &op);
    ck_assert_int_eq(op.state, STO_READ_END);
    ck_assert_int_eq(base_buf_append_byte(&s.text, 0), ERR_OK);
    ck_assert_str_eq((const char *)s.text.ptr, wanted);
    *out_inline = s.inline_slices == s.slices;
    base_buf_fini(&s.text);
    return work;
}

/* Returns the work of a read, which this thread must answer. */
UNUSED_FN static uint64_t work_of(const struct sto_read_spec *spec, const char *wanted)
{
    bool is_inline;
    uint64_t work = work_and_place(spec, wanted, &is_inline);
    ck_assert(is_inline);
    return work;
}

UNUSED_FN static struct sto_mutation remove_column(const char *qualifier, int64_t before_us)
{
    return (struct sto_mutation){.kind = STO_DELETE_FROM_COLUMN,
                                 .family = 1,
                                 .qualifier = base_slice_text(qualifier),
                                 .end_us = before_us};
}

#endif
