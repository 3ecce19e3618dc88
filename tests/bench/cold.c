/*
 * tests/bench/cold.c - replacements of rows that are not in the block cache, on a slow disk: each
 * read of a table file takes 0.5 ms longer, because this program has its own pread in front of
 * libc's. Without reads ahead of writes, and with them, in turn, second by second.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/rocksdb/rocksdb_engine.h"
#include "tests/bench/bench.h"
#include "tests/support/random.h"

#include "base/banned.h"

#define IN_FLIGHT   256
#define VALUE_BYTES 1024
#define READ_NS     500000L

static _Atomic bool is_slow;

#define SLOW_READ(name, offset_type)                                                               \
    ssize_t name(int fd, void *bytes, size_t len, offset_type offset);                             \
    ssize_t name(int fd, void *bytes, size_t len, offset_type offset)                              \
    {                                                                                              \
        static void *_Atomic next;                                                                 \
        if (next == NULL)                                                                          \
            next = dlsym(RTLD_NEXT, #name);                                                        \
        if (atomic_load(&is_slow))                                                                 \
            (void)nanosleep(&(struct timespec){.tv_nsec = READ_NS}, NULL); /* shorter: faster */   \
        return ((__typeof__(name) *)next)(fd, bytes, len, offset);                                 \
    }

SLOW_READ(pread, off_t)
SLOW_READ(pread64, off64_t)

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
    struct random dice;
    uint64_t rows;
    uint64_t loaded;
    uint64_t done;
    size_t outstanding;
    bool stop;
    char value[VALUE_BYTES];
} cold;

static void submit(struct write *w)
{
    uint64_t row =
        cold.loaded < cold.rows ? cold.loaded++ : random_below(&cold.dice, (uint32_t)cold.rows);
    int len = bench_key(w->key, "user", row);
    w->op.row_key = base_slice(w->key, (size_t)len);
    cold.outstanding++;
    sto_mutate_row(cold.engine, &w->op);
}

static void write_done(struct sto_mutate_op *op)
{
    if (op->result != ERR_OK)
        bench_fail("a write failed: %s", op->detail.text);
    cold.done++;
    cold.outstanding--;
    if (!cold.stop)
        submit((struct write *)(void *)op);
}

static void engine_open(const char *dir)
{
    struct sto_rocksdb_options options;
    struct errbuf eb = {{0}};
    sto_rocksdb_options_default(&options);
    options.dir = dir;
    options.cache_bytes = 64 * MIB; /* filters and indexes, but few rows */
    if (sto_rocksdb_open(&options, &cold.engine, &eb) != ERR_OK)
        bench_fail("%s: %s", dir, eb.text);
}

static double run(struct write *writes, double seconds)
{
    double start = bench_seconds();
    uint64_t before = cold.done;
    cold.stop = false;
    for (size_t i = 0; i < IN_FLIGHT; i++)
        submit(&writes[i]);
    while (cold.outstanding > 0) {
        base_mailbox_wait(&cold.mailbox, 100);
        (void)base_mailbox_run(&cold.mailbox);
        cold.stop = seconds == 0 ? cold.loaded == cold.rows : bench_seconds() - start >= seconds;
    }
    return (double)(cold.done - before) / (bench_seconds() - start);
}

static void scope_make(void)
{
    struct errbuf eb = {{0}};
    struct sto_tenant_scope tenant;
    struct sto_family_spec family = {.name = SLICE_LIT("f")};
    struct sto_table_spec spec = {.families = &family, .family_count = 1};
    struct sto_schema *schema = NULL;
    sto_account_init(&cold.account, 0);
    if (base_mailbox_init(&cold.mailbox) != ERR_OK)
        bench_fail("no mailbox");
    if (sto_scope_open(SLICE_LIT("bench"), &cold.account, &tenant) != ERR_OK ||
        sto_schema_make(SLICE_LIT("rows"), NULL, &spec, &schema, &eb) != ERR_OK)
        bench_fail("no table: %s", eb.text);
    cold.scope = sto_table_scope_make(&tenant, schema);
    sto_schema_unref(schema);
}

/* bench cold DIR ROWS SECONDS: rows of 1 KiB; DIR is empty. */
int bench_cold(int argc, char **argv)
{
    if (argc != 3)
        bench_fail("usage: bench cold DIR ROWS SECONDS");
    uint64_t rounds = bench_number(argv[2]);
    double without = 0, with = 0;
    cold.rows = bench_number(argv[1]);
    cold.dice = (struct random){1};
    bench_fill(cold.value, VALUE_BYTES, 1);
    engine_open(argv[0]);
    scope_make();
    struct write *writes = base_new_array(IN_FLIGHT, sizeof *writes);
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        writes[i].set = (struct sto_mutation){.kind = STO_SET_CELL,
                                              .family = 1,
                                              .qualifier = SLICE_LIT("q"),
                                              .timestamp_us = 1000000,
                                              .value = base_slice(cold.value, VALUE_BYTES)};
        writes[i].op = (struct sto_mutate_op){.reply_to = &cold.mailbox,
                                              .done = write_done,
                                              .scope = cold.scope,
                                              .mutations = &writes[i].set,
                                              .mutation_count = 1};
    }
    (void)run(writes, 0);
    sto_engine_close(cold.engine); /* what is cached goes with it */
    engine_open(argv[0]);
    atomic_store(&is_slow, true);
    for (uint64_t i = 0; i < rounds; i++) {
        sto_rocksdb_test_prefetch(cold.engine, STO_PREFETCH_NEVER);
        without += run(writes, 1) / (double)rounds;
        sto_rocksdb_test_prefetch(cold.engine, STO_PREFETCH_IF_SLOW);
        with += run(writes, 1) / (double)rounds;
    }
    atomic_store(&is_slow, false);
    sto_engine_close(cold.engine);
    sto_table_scope_release(&cold.scope);
    base_mailbox_fini(&cold.mailbox);
    base_free(writes);
    (void)printf("without_per_s %.0f\nwith_per_s %.0f\nratio %.1f\n", without, with,
                 with / without);
    return EXIT_SUCCESS;
}
