/*
 * tests/storage/fixture.h - an engine in its own directory, driven from one thread.
 *
 * Does:     open and close it, on files of neighbours (tests/support/bed.h) unless a test prevents
 *           that; wait for answers, store a sink's input as text.
 * Owns:     the directory, removed at the end.
 * May use:  base/, storage/, check.
 * Knows no: the tests.
 * Threads:  one.
 * Blocks:   yes.
 * Fails by: ck_assert.
 * Limits:   FIX_TENANTS, FIX_TABLES. Over 500 lines because all tests of the engine share it.
 * Promises: 1. RocksDB and threads start inside the test's own process.
 */
#ifndef TESTS_STORAGE_FIXTURE_H
#define TESTS_STORAGE_FIXTURE_H

#define _GNU_SOURCE
#include <check.h>
#include <ftw.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "storage/keycodec.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/rocksdb_engine.h"
#include "tests/storage/keys.h"
#include "tests/support/bed.h"
#include "tests/support/process.h"

#define FIX_TENANTS 3
#define FIX_TABLES  2
#define UNUSED_FN   __attribute__((unused))

/* 'ab' and 'abc', so that one name is a prefix of another. */
static const char *const fix_tenant_names[FIX_TENANTS] = {"ab", "abc", "b-0"};
static const char *const fix_table_names[FIX_TABLES] = {"t", "t2"};

static struct fixture {
    char dir[256];
    int keeper; /* of the directory (tests/support/process.h) */
    struct sto_engine *engine;
    struct base_mailbox mailbox;
    struct sto_rocksdb_options options;
    struct sto_account accounts[FIX_TENANTS];
    struct sto_tenant_scope tenants[FIX_TENANTS];
    struct sto_table_scope tables[FIX_TENANTS][FIX_TABLES];
    struct sto_gc_node gc[2]; /* of families f and gg in tables created later; all zero: none */
    bool sealed;              /* tenants have keys: the same after a reopen */
    bool aggregates;          /* tables have the families sum, min, max, hll as well: 3 to 6 */
    size_t outstanding;
} fix;

UNUSED_FN static void fix_dir_make(void)
{
    char dir[PROCESS_PATH];
    fix.keeper = process_temp_dir(dir);
    ck_assert_uint_lt(strlen(dir), sizeof(fix.dir));
    memcpy(fix.dir, dir, strlen(dir) + 1);
}

/* For nftw: removes directories inside the fixture's. */
UNUSED_FN static int fix_remove_one(const char *path, const struct stat *st, int type,
                                    struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

UNUSED_FN static void fix_dir_remove(void)
{
    process_temp_dir_remove(fix.dir, fix.keeper);
}

/* Returns a schema with one ref. */
static struct sto_schema *fix_schema(const char *table, const struct sto_schema *old,
                                     const struct sto_family_spec *families, size_t count)
{
    struct sto_table_spec spec = {.families = families, .family_count = count};
    struct sto_schema *schema = NULL;
    ck_assert_int_eq(sto_schema_make(base_slice_text(table), old, &spec, &schema, NULL), ERR_OK);
    return schema;
}

/* Creates accounts and schemas, as a start of the program does. */
static void fix_scopes_make(void)
{
    struct sto_family_spec families[6] = {{.name = SLICE_LIT("f")}, {.name = SLICE_LIT("gg")}};
    for (size_t i = 2; i < 6; i++) {
        families[i].aggregate = (enum sto_aggregate)(STO_AGGREGATE_SUM + i - 2);
        families[i].name = base_slice_text(sto_aggregate_name(families[i].aggregate));
    }
    for (size_t i = 0; i < 2; i++) {
        families[i].gc_nodes = &fix.gc[i];
        families[i].gc_node_count = fix.gc[i].kind != 0;
    }
    for (uint32_t i = 0; i < FIX_TENANTS; i++) {
        sto_account_init(&fix.accounts[i], i);
        fix.accounts[i].cipher = fix.sealed ? fix_cipher(i) : NULL;
        ck_assert_int_eq(
            sto_scope_open(base_slice_text(fix_tenant_names[i]), &fix.accounts[i], &fix.tenants[i]),
            ERR_OK);
        for (size_t k = 0; k < FIX_TABLES; k++) {
            struct sto_schema *schema =
                fix_schema(fix_table_names[k], NULL, families, fix.aggregates ? 6 : 2);
            fix.tables[i][k] = sto_table_scope_make(&fix.tenants[i], schema);
            sto_schema_unref(schema);
        }
    }
}

static void fix_scopes_drop(void)
{
    for (size_t i = 0; i < FIX_TENANTS; i++)
        for (size_t k = 0; k < FIX_TABLES; k++)
            sto_table_scope_release(&fix.tables[i][k]);
    for (size_t i = 0; i < FIX_TENANTS; i++)
        sto_cipher_free(fix.accounts[i].cipher);
}

UNUSED_FN static enum err fix_try_open(struct errbuf *eb)
{
    return sto_rocksdb_open(&fix.options, &fix.engine, eb);
}

UNUSED_FN static void fix_open(void)
{
    struct errbuf eb = {{0}};
    enum err rc = fix_try_open(&eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    sto_rocksdb_test_prefetch(fix.engine, STO_PREFETCH_ALWAYS); /* tests' disks are fast */
    fix_scopes_make();
    for (size_t i = 0; i < FIX_TENANTS; i++)
        for (size_t k = 0; k < FIX_TABLES; k++)
            ck_assert_int_eq(sto_counters_load(fix.engine, &fix.tables[i][k], NULL), ERR_OK);
}

UNUSED_FN static void fix_close(void)
{
    sto_engine_close(fix.engine);
    fix.engine = NULL;
    fix_scopes_drop();
}

/* Returns whether reads are tried in memory: after an open the files are checked first. */
static bool fix_is_in_memory(void *arg)
{
    (void)arg;
    return sto_rdb_tombstones_mark(&sto_rdb_engine(fix.engine)->tombstones, NULL) != 0;
}

UNUSED_FN static void fix_wait_for_memory(void)
{
    process_await(fix_is_in_memory, NULL, "reads in memory");
}

static bool fix_flag_is_set(void *flag)
{
    return atomic_load((const _Atomic bool *)flag);
}

/* Waits until another thread has set the flag. */
UNUSED_FN static void fix_await_flag(_Atomic bool *flag, const char *what)
{
    process_await(fix_flag_is_set, flag, what);
}

static bool fix_engine_failed(void *arg)
{
    struct sto_health health;
    (void)arg;
    sto_health_get(fix.engine, &health);
    return health.failed;
}

UNUSED_FN static void fix_await_failure(void)
{
    process_await(fix_engine_failed, NULL, "the engine's failure");
}

static bool fix_engine_is_held(void *arg)
{
    (void)arg;
    return sto_rocksdb_test_is_held(fix.engine);
}

/* Waits, after sto_rocksdb_test_hold_at, until the engine is held there. */
UNUSED_FN static void fix_await_held(void)
{
    process_await(fix_engine_is_held, NULL, "the engine to be held");
}

/* Returns whether no flush and no compaction runs or is pending. */
UNUSED_FN static bool fix_is_settled(void *arg)
{
    static const char *const names[] = {"rocksdb.compaction-pending",
                                        "rocksdb.num-running-compactions",
                                        "rocksdb.num-running-flushes"};
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    uint64_t busy = 0;
    (void)arg;
    for (int cf = 0; cf < RDB_CF_COUNT; cf++)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            uint64_t number = 0;
            (void)rocksdb_property_int_cf(e->db.handle, e->db.cf[cf], names[i], &number);
            busy += number;
        }
    return busy == 0;
}

/* Waits in a child that will be killed, or kill itself. */
UNUSED_FN static _Noreturn void fix_wait_for_death(void)
{
    for (;;)
        (void)pause();
}

UNUSED_FN static void fix_reopen(void)
{
    fix_close();
    fix_open();
}

/* Prepares the fixture in an existing directory. */
UNUSED_FN static void fix_prepare_in(const char *dir)
{
    (void)snprintf(fix.dir, sizeof(fix.dir), "%s", dir);
    ck_assert_int_eq(base_mailbox_init(&fix.mailbox), ERR_OK);
    sto_rocksdb_options_default(&fix.options);
    fix.options.dir = fix.dir;
    /* Scaled down: a few thousand rows fill many files in several levels, and their filters are
     * larger than the cache. */
    fix.options.memtable_bytes = 128 * KIB;
    fix.options.file_bytes = 32 * KIB;
    fix.options.level_bytes = 128 * KIB;
    fix.options.cache_bytes = 16 * KIB;
    fix.options.index_part_bytes = 256;
    fix.options.committers = 2;
    fix.options.readers = 2;
    fix.options.ballast_bytes = 0;
    fix.options.row_snapshot_ms = 3600 * 1000; /* however slow the machine is */
    fix.options.row_snapshot_waited_ms = 3600 * 1000;
    fix.options.headroom_bytes = MIB;
    fix.options.meta_copies_s = 0; /* tests of copies call for them */
}

/* Prepares the fixture on a bed. A caller with less than BED_OLD_ROWS states the reason. */
UNUSED_FN static void fix_prepare_on(enum bed bed)
{
    fix_dir_make();
    char dir[sizeof(fix.dir)];
    memcpy(dir, fix.dir, sizeof(dir));
    bed_lay(dir, bed);
    fix_prepare_in(dir);
}

UNUSED_FN static void fix_prepare(void)
{
    fix_prepare_on(BED_OLD_ROWS);
}

UNUSED_FN static void fix_prepare_beside(void)
{
    fix_prepare_on(BED_NEIGHBOURS);
}

UNUSED_FN static void fix_prepare_alone(void)
{
    fix_prepare_on(BED_NONE);
}

UNUSED_FN static void fix_setup(void)
{
    fix_prepare();
    fix_open();
}

UNUSED_FN static void fix_setup_beside(void)
{
    fix_prepare_beside();
    fix_open();
}

UNUSED_FN static void fix_setup_alone(void)
{
    fix_prepare_alone();
    fix_open();
}

/* Opens the fixture for tests that count answers from memory, or that need one file. */
UNUSED_FN static void fix_setup_in_memory(void)
{
    fix_prepare_alone();
    fix.options.memtable_bytes = 4 * MIB;
    fix.options.file_bytes = 64 * MIB;
    fix.options.level_bytes = 256 * MIB;
    fix.options.cache_bytes = 16 * MIB;
    fix_open();
}

UNUSED_FN static void fix_teardown(void)
{
    if (fix.engine != NULL)
        fix_close();
    base_mailbox_fini(&fix.mailbox);
    fix_dir_remove();
}

static void fix_wait(void)
{
    while (fix.outstanding > 0) {
        base_mailbox_wait(&fix.mailbox, 1000);
        (void)base_mailbox_run(&fix.mailbox);
    }
}

/* --- mutations ------------------------------------------------------------------------------- */

static void fix_mutate_done(struct sto_mutate_op *op)
{
    (void)op;
    fix.outstanding--;
}

UNUSED_FN static void fix_submit(struct sto_mutate_op *op)
{
    op->reply_to = &fix.mailbox;
    op->done = fix_mutate_done;
    fix.outstanding++;
    sto_mutate_row(fix.engine, op);
}

static bool fix_is_taken(void *arg)
{
    struct sto_mutate_op *op = arg;
    fix_wait();
    if (op->result != ERR_OVERLOADED)
        return true;
    fix_submit(op);
    return false;
}

/* Waits for the answer, and submits op again while the disk does not keep up. */
static void fix_until_taken(struct sto_mutate_op *op)
{
    process_await(fix_is_taken, op, "a disk that keeps up");
}

UNUSED_FN static struct sto_mutation fix_set(uint16_t family, const char *qualifier, int64_t ts,
                                             struct slice value)
{
    return (struct sto_mutation){.kind = STO_SET_CELL,
                                 .family = family,
                                 .qualifier = base_slice_text(qualifier),
                                 .timestamp_us = ts,
                                 .value = value};
}

UNUSED_FN static struct sto_mutation fix_append(uint16_t family, const char *qualifier,
                                                struct slice value)
{
    return (struct sto_mutation){.kind = STO_APPEND,
                                 .family = family,
                                 .qualifier = base_slice_text(qualifier),
                                 .value = value};
}

UNUSED_FN static struct sto_mutation fix_increment(uint16_t family, const char *qualifier,
                                                   int64_t by)
{
    return (struct sto_mutation){.kind = STO_INCREMENT,
                                 .family = family,
                                 .qualifier = base_slice_text(qualifier),
                                 .increment = by};
}

static struct errbuf fix_detail; /* of the last fix_mutate */

UNUSED_FN static enum err fix_mutate(const struct sto_table_scope *scope, const char *row,
                                     struct sto_mutation *mutations, size_t count)
{
    struct sto_mutate_op op = {.scope = *scope,
                               .row_key = base_slice_text(row),
                               .mutations = mutations,
                               .mutation_count = count};
    fix_submit(&op);
    fix_until_taken(&op);
    fix_detail = op.detail;
    ck_assert_int_eq(op.result == ERR_OK, op.detail.text[0] == '\0');
    return op.result;
}

UNUSED_FN static enum err fix_put(const struct sto_table_scope *scope, const char *row,
                                  const char *value)
{
    struct sto_mutation m = fix_set(1, "q", 1000, base_slice_text(value));
    return fix_mutate(scope, row, &m, 1);
}

UNUSED_FN static enum err fix_delete_row(const struct sto_table_scope *scope, const char *row)
{
    struct sto_mutation m = {.kind = STO_DELETE_FROM_ROW};
    return fix_mutate(scope, row, &m, 1);
}

UNUSED_FN static void fix_assert_usage(size_t tenant, uint64_t bytes, uint64_t rows, uint64_t cells)
{
    struct sto_usage u = sto_counters_read(&fix.accounts[tenant].total);
    ck_assert_uint_eq(u.bytes, bytes);
    ck_assert_uint_eq(u.rows, rows);
    ck_assert_uint_eq(u.cells, cells);
}

/* --- reads: the sink writes "row{family:qualifier@ts=value,...}" -------------------------------
 */

struct fix_sink {
    struct sto_row_sink sink; /* first */
    struct buf text;
    size_t full_bytes; /* is_full above this many bytes since the slice started */
    size_t slice_begin;
    size_t row_begin;
    bool in_row;
    unsigned undone;
    unsigned slices;
    unsigned inline_slices;
    unsigned halves; /* slices that ended inside a row */
};

static void fix_row_begin(struct sto_row_sink *sink, struct slice row_key)
{
    struct fix_sink *s = (struct fix_sink *)sink;
    ck_assert(!s->in_row);
    s->in_row = true;
    s->row_begin = s->text.len;
    ck_assert_int_eq(base_buf_append(&s->text, row_key), ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&s->text, "{"), ERR_OK);
}

static void fix_cell(struct sto_row_sink *sink, const struct sto_cell *cell)
{
    struct fix_sink *s = (struct fix_sink *)sink;
    ck_assert(s->in_row);
    ck_assert_int_eq(base_buf_printf(&s->text, "%.*s:", cell->family->name_len, cell->family->name),
                     ERR_OK);
    ck_assert_int_eq(base_buf_append(&s->text, cell->qualifier), ERR_OK);
    ck_assert_int_eq(base_buf_printf(&s->text, "@%lld=", (long long)cell->timestamp_us), ERR_OK);
    ck_assert_int_eq(base_buf_append(&s->text, cell->value), ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&s->text, ","), ERR_OK);
}

static void fix_row_end(struct sto_row_sink *sink)
{
    struct fix_sink *s = (struct fix_sink *)sink;
    ck_assert(s->in_row);
    s->in_row = false;
    ck_assert_int_eq(base_buf_append_text(&s->text, "}"), ERR_OK);
}

static void fix_row_undo(struct sto_row_sink *sink)
{
    struct fix_sink *s = (struct fix_sink *)sink;
    ck_assert(s->in_row && s->row_begin >= s->slice_begin);
    s->in_row = false;
    s->undone++;
    base_buf_truncate(&s->text, s->row_begin);
}

static bool fix_is_full(struct sto_row_sink *sink)
{
    struct fix_sink *s = (struct fix_sink *)sink;
    return s->text.len - s->slice_begin >= s->full_bytes;
}

static void fix_read_done(struct sto_read_op *op)
{
    (void)op;
    fix.outstanding--;
}

UNUSED_FN static void fix_sink_init(struct fix_sink *s)
{
    *s = (struct fix_sink){.sink = {.row_begin = fix_row_begin,
                                    .cell = fix_cell,
                                    .row_end = fix_row_end,
                                    .row_undo = fix_row_undo,
                                    .is_full = fix_is_full},
                           .full_bytes = SIZE_MAX};
    base_buf_init(&s->text, 512 * MIB);
}

/* Reads one slice. */
UNUSED_FN static void fix_slice(struct sto_read_op *op, struct fix_sink *s, bool try_inline)
{
    op->sink = &s->sink;
    op->reply_to = &fix.mailbox;
    op->done = fix_read_done;
    s->slice_begin = s->text.len;
    s->slices++;
    fix.outstanding++;
    if (sto_read_rows(fix.engine, op, try_inline)) {
        fix.outstanding--;
        s->inline_slices++;
    }
    fix_wait();
    s->halves += s->in_row;
}

/* For .rows: one range, from members of sto_row_range. */
#define FIX_RANGE(...)                                                                             \
    {                                                                                              \
        .ranges = &(struct sto_row_range){__VA_ARGS__}, .count = 1                                 \
    }

/* Returns a .projection of family f (1) or gg (2). */
UNUSED_FN static struct sto_projection fix_family(uint16_t number)
{
    return (struct sto_projection){.families = {1ULL << (number - 1)}};
}

UNUSED_FN static struct sto_projection fix_column(uint16_t number, struct slice qualifier)
{
    struct sto_projection p = fix_family(number);
    p.qualifiers = (struct sto_bytes_range){
        .start = qualifier, .has_end = true, .end = qualifier, .end_inclusive = true};
    return p;
}

/* Reads all slices to the end; s->text is NUL-terminated. */
UNUSED_FN static enum err fix_read(const struct sto_table_scope *scope,
                                   const struct sto_read_spec *spec, struct fix_sink *s,
                                   bool try_inline)
{
    struct sto_read_op op = {.scope = *scope, .spec = *spec};
    do {
        fix_slice(&op, s, try_inline);
    } while (op.state == STO_READ_MORE);
    sto_read_finish(fix.engine, &op);
    ck_assert_ptr_null(op.cursor);
    ck_assert_uint_eq(atomic_load(&scope->tenant.account->reads_open), 0);
    ck_assert_int_eq(base_buf_append_byte(&s->text, 0), ERR_OK);
    fix_detail = op.detail;
    return op.state == STO_READ_END ? ERR_OK : op.result;
}

UNUSED_FN static void fix_assert_rows(const struct sto_table_scope *scope,
                                      const struct sto_read_spec *spec, const char *wanted)
{
    for (int try_inline = 0; try_inline < 2; try_inline++) {
        struct fix_sink s;
        fix_sink_init(&s);
        ck_assert_int_eq(fix_read(scope, spec, &s, try_inline != 0), ERR_OK);
        ck_assert_msg(strcmp((const char *)s.text.ptr, wanted) == 0, "got %.300s, wanted %.300s",
                      (const char *)s.text.ptr, wanted);
        base_buf_fini(&s.text);
    }
}

/* --- other operations --------------------------------------------------------------------------
 */

static void fix_drop_done(struct sto_drop_op *op)
{
    (void)op;
    fix.outstanding--;
}

/* Sweeps, waits for the answer, and returns the operation with its results. */
UNUSED_FN static struct sto_drop_op fix_sweep_as(const struct sto_table_scope *scope,
                                                 enum sto_priority priority)
{
    struct sto_drop_op op = {.scope = *scope,
                             .expired_only = true,
                             .priority = priority,
                             .reply_to = &fix.mailbox,
                             .done = fix_drop_done};
    fix.outstanding++;
    sto_drop_rows(fix.engine, &op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK);
    return op;
}

UNUSED_FN static struct sto_usage fix_sweep(const struct sto_table_scope *scope)
{
    return fix_sweep_as(scope, STO_PRIORITY_BACKGROUND).removed;
}

UNUSED_FN static enum err fix_drop(const struct sto_table_scope *scope, struct sto_row_range range,
                                   uint16_t family, struct sto_usage *removed)
{
    struct sto_drop_op op = {.scope = *scope,
                             .range = range,
                             .family = family,
                             .reply_to = &fix.mailbox,
                             .done = fix_drop_done};
    fix.outstanding++;
    sto_drop_rows(fix.engine, &op);
    fix_wait();
    if (removed != NULL)
        *removed = op.removed;
    return op.result;
}

/* Drops a table as tenancy does when a table is deleted. */
UNUSED_FN static struct sto_drop_op fix_drop_table(const struct sto_table_scope *scope)
{
    struct sto_drop_op op = {.scope = *scope,
                             .ignore_gate = true,
                             .table_ends = true,
                             .reply_to = &fix.mailbox,
                             .done = fix_drop_done};
    atomic_store(&scope->schema->table->forgotten, true);
    fix.outstanding++;
    sto_drop_rows(fix.engine, &op);
    fix_wait();
    return op;
}

static void fix_recount_done(struct sto_recount_op *op)
{
    (void)op;
    fix.outstanding--;
}

UNUSED_FN static struct sto_recount_op fix_recount(size_t tenant)
{
    struct sto_recount_op op = {
        .scope = fix.tenants[tenant], .reply_to = &fix.mailbox, .done = fix_recount_done};
    fix.outstanding++;
    sto_recount(fix.engine, &op);
    fix_wait();
    return op;
}

UNUSED_FN static void fix_assert_no_drift(size_t tenant)
{
    struct sto_recount_op op = fix_recount(tenant);
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_eq(op.counted.bytes, op.recorded.bytes);
    ck_assert_uint_eq(op.counted.rows, op.recorded.rows);
    ck_assert_uint_eq(op.counted.cells, op.recorded.cells);
    ck_assert_uint_eq(op.counted_changes, op.recorded_changes);
}

/* Flushes memtables into files, because only files have known sizes. */
UNUSED_FN static void fix_flush(void)
{
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *error = NULL;
    rocksdb_flush_cf(db->handle, options, db->cells, &error);
    rocksdb_flushoptions_destroy(options);
    ck_assert_ptr_null(error);
}

#endif
