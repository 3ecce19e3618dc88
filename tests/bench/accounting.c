/*
 * tests/bench/accounting.c - what exact counting costs: new cells through the committer, which
 * looks up each row, writes its header and counts, against the same cells put into the same kind of
 * database by one thread in batches as large, with the same fsyncs. Both take turns, second by
 * second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "storage/keycodec.h"
#include "storage/rocksdb/db.h"
#include "storage/rocksdb/rocksdb_engine.h"
#include "tests/bench/bench.h"

#include "base/banned.h"

#define IN_FLIGHT   512
#define BATCH_PUTS  256 /* what a batch of the committer holds with that many in flight */
#define VALUE_BYTES 1024

static char values[64][VALUE_BYTES];
static uint64_t rows; /* each is new */

static int row_key(char out[BENCH_KEY_BYTES])
{
    rows++;
    return bench_key(out, "user", (rows * 48271u) % 99999989u);
}

/* --- with it ---------------------------------------------------------------------------------- */

struct write {
    struct sto_mutate_op op; /* first */
    struct sto_mutation set;
    char key[BENCH_KEY_BYTES];
};

static struct {
    struct sto_engine *engine;
    struct base_mailbox mailbox;
    struct sto_account account;
    struct sto_table_scope scope;
    uint64_t done;
    size_t outstanding;
    bool stop;
} counted;

static void submit(struct write *w)
{
    int len = row_key(w->key);
    w->set.value = base_slice(values[rows % 64], VALUE_BYTES);
    w->op.row_key = base_slice(w->key, (size_t)len);
    counted.outstanding++;
    sto_mutate_row(counted.engine, &w->op);
}

static void write_done(struct sto_mutate_op *op)
{
    if (op->result != ERR_OK)
        bench_fail("a write failed: %s", op->detail.text);
    counted.done++;
    counted.outstanding--;
    if (!counted.stop)
        submit((struct write *)(void *)op);
}

static void counted_open(const char *dir)
{
    struct sto_rocksdb_options options;
    struct errbuf eb = {{0}};
    sto_rocksdb_options_default(&options);
    options.dir = dir;
    if (sto_rocksdb_open(&options, &counted.engine, &eb) != ERR_OK)
        bench_fail("%s: %s", dir, eb.text);
    if (base_mailbox_init(&counted.mailbox) != ERR_OK)
        bench_fail("no mailbox");
    sto_account_init(&counted.account, 0);
    struct sto_tenant_scope tenant;
    struct sto_family_spec family = {.name = SLICE_LIT("f")};
    struct sto_table_spec spec = {.families = &family, .family_count = 1};
    struct sto_schema *schema = NULL;
    if (sto_scope_open(SLICE_LIT("bench"), &counted.account, &tenant) != ERR_OK ||
        sto_schema_make(SLICE_LIT("rows"), NULL, &spec, &schema, &eb) != ERR_OK)
        bench_fail("no table: %s", eb.text);
    counted.scope = sto_table_scope_make(&tenant, schema);
    sto_schema_unref(schema);
}

static double counted_run(struct write *writes, double seconds)
{
    double start = bench_seconds();
    uint64_t before = counted.done;
    counted.stop = false;
    for (size_t i = 0; i < IN_FLIGHT; i++)
        submit(&writes[i]);
    while (counted.outstanding > 0) {
        base_mailbox_wait(&counted.mailbox, 100);
        (void)base_mailbox_run(&counted.mailbox);
        counted.stop = bench_seconds() - start >= seconds;
    }
    return (double)(counted.done - before) / (bench_seconds() - start);
}

/* --- without ---------------------------------------------------------------------------------- */

static double plain_run(struct rdb_db *db, double seconds)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    uint8_t key[STO_KEY_MAX];
    uint8_t value[VALUE_BYTES + 2];
    double start = bench_seconds();
    uint64_t puts = 0;
    while (bench_seconds() - start < seconds) {
        rocksdb_writebatch_clear(batch);
        for (int i = 0; i < BATCH_PUTS; i++, puts++) {
            char row[BENCH_KEY_BYTES];
            size_t n = sto_key_row(&counted.scope, base_slice(row, (size_t)row_key(row)), key);
            n = sto_key_column(key, n, 1, SLICE_LIT("q"));
            n = sto_key_version(key, n, 1000000);
            memcpy(value + 2, values[rows % 64], VALUE_BYTES);
            rocksdb_writebatch_put_cf(batch, db->cells, (const char *)key, n, (const char *)value,
                                      sizeof value);
        }
        char *error = NULL;
        rocksdb_write(db->handle, db->synced, batch, &error);
        if (error != NULL)
            bench_fail("rocksdb_write: %s", error);
    }
    rocksdb_writebatch_destroy(batch);
    return (double)puts / (bench_seconds() - start);
}

/* --- both ------------------------------------------------------------------------------------- */

int bench_accounting(int argc, char **argv)
{
    if (argc != 3)
        bench_fail("usage: bench accounting DIR_WITH DIR_WITHOUT SECONDS");
    uint64_t rounds = bench_number(argv[2]);
    struct sto_rocksdb_options options;
    struct rdb_db plain = {0};
    struct errbuf eb = {{0}};
    double with = 0, without = 0;
    for (size_t i = 0; i < 64; i++)
        bench_fill(values[i], VALUE_BYTES, i + 1);
    counted_open(argv[0]);
    sto_rocksdb_options_default(&options);
    if (sto_rdb_db_open(&plain, argv[1], &options, true, NULL, &eb) != ERR_OK)
        bench_fail("%s: %s", argv[1], eb.text);
    struct write *writes = base_new_array(IN_FLIGHT, sizeof *writes);
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        writes[i].set = (struct sto_mutation){.kind = STO_SET_CELL,
                                              .family = 1,
                                              .qualifier = SLICE_LIT("q"),
                                              .timestamp_us = 1000000};
        writes[i].op = (struct sto_mutate_op){.reply_to = &counted.mailbox,
                                              .done = write_done,
                                              .scope = counted.scope,
                                              .mutations = &writes[i].set,
                                              .mutation_count = 1};
    }
    for (uint64_t i = 0; i < rounds; i++) {
        with += counted_run(writes, 1) / (double)rounds;
        without += plain_run(&plain, 1) / (double)rounds;
    }
    sto_engine_close(counted.engine);
    sto_table_scope_release(&counted.scope);
    base_mailbox_fini(&counted.mailbox);
    sto_rdb_db_close(&plain);
    base_free(writes);
    (void)printf("with_per_s %.0f\nwithout_per_s %.0f\n", with, without);
    return EXIT_SUCCESS;
}
