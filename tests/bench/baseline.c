/*
 * tests/bench/baseline.c - what RocksDB alone does on this disk: one thread, batches of 128 puts of
 * 1 KiB values, each batch synced. The server's durable writes are compared with it.
 */
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "tests/bench/bench.h"

#include "base/banned.h"

#define BATCH_PUTS  128
#define VALUE_BYTES 1024

static rocksdb_t *open_db(const char *dir)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_write_buffer_size(options, 64 * MIB); /* the server's default */
    rocksdb_options_increase_parallelism(options, 2);
    char *error = NULL;
    rocksdb_t *db = rocksdb_open(options, dir, &error);
    if (error != NULL)
        bench_fail("rocksdb_open %s: %s", dir, error);
    rocksdb_options_destroy(options);
    return db;
}

static uint64_t write_for(rocksdb_t *db, double seconds)
{
    static char values[64][VALUE_BYTES];
    for (size_t i = 0; i < 64; i++)
        bench_fill(values[i], VALUE_BYTES, i + 1);
    rocksdb_writeoptions_t *synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(synced, 1);
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    uint64_t puts = 0;
    double end = bench_seconds() + seconds;
    while (bench_seconds() < end) {
        rocksdb_writebatch_clear(batch);
        for (int i = 0; i < BATCH_PUTS; i++, puts++) {
            char key[BENCH_KEY_BYTES];
            /* spread over the key space, as writes of many users are */
            int len = bench_key(key, "base", (puts * 48271u) % 99999989u);
            rocksdb_writebatch_put(batch, key, (size_t)len, values[puts % 64], VALUE_BYTES);
        }
        char *error = NULL;
        rocksdb_write(db, synced, batch, &error);
        if (error != NULL)
            bench_fail("rocksdb_write: %s", error);
    }
    rocksdb_writebatch_destroy(batch);
    rocksdb_writeoptions_destroy(synced);
    return puts;
}

int bench_rocksdb_baseline(int argc, char **argv)
{
    if (argc != 2)
        bench_fail("usage: bench rocksdb-baseline DIR SECONDS");
    rocksdb_t *db = open_db(argv[0]);
    double seconds = (double)bench_number(argv[1]);
    double start = bench_seconds();
    uint64_t puts = write_for(db, seconds);
    double took = bench_seconds() - start;
    rocksdb_close(db);
    (void)printf("puts_per_s %.0f\n", (double)puts / took);
    return EXIT_SUCCESS;
}
