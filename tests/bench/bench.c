/*
 * tests/bench/bench.c - choose the subcommand.
 */
#include "tests/bench/bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/random.h"

#include "base/banned.h"

void bench_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fputs("bench: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    exit(EXIT_FAILURE);
}

uint64_t bench_number(const char *text)
{
    uint64_t number = 0;
    if (base_parse_u64(base_slice_text(text), &number) != ERR_OK)
        bench_fail("\"%s\" is not a number", text);
    return number;
}

double bench_seconds(void)
{
    return (double)base_monotonic_ns() / 1e9;
}

void bench_fill(char *out, size_t len, uint64_t seed)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
    struct random dice = {seed};
    uint64_t bits = 0;
    for (size_t i = 0; i < len; i++) {
        if (i % 10 == 0)
            bits = random_next(&dice);
        out[i] = letters[bits & 63];
        bits >>= 6;
    }
}

int bench_key(char out[BENCH_KEY_BYTES], const char *prefix, uint64_t n)
{
    return snprintf(out, BENCH_KEY_BYTES, "%.8s#%08llu#profile", prefix, (unsigned long long)n);
}

/* bench uris BASE TABLE PREFIX ROWS COUNT SEED: URIs of random rows, one a line. */
int bench_uris(int argc, char **argv)
{
    if (argc != 6)
        bench_fail("usage: bench uris BASE TABLE PREFIX ROWS COUNT SEED");
    uint64_t rows = bench_number(argv[3]);
    uint64_t count = bench_number(argv[4]);
    struct random dice = {bench_number(argv[5])};
    if (rows == 0 || rows > UINT32_MAX)
        bench_fail("ROWS must be 1..%u", UINT32_MAX);
    for (uint64_t i = 0; i < count; i++) {
        char key[BENCH_KEY_BYTES];
        (void)bench_key(key, argv[2], random_below(&dice, (uint32_t)rows));
        (void)printf("%s/v1/tables/%s/rows/%.8s%%23%.8s%%23profile\n", argv[0], argv[1], argv[2],
                     strchr(key, '#') + 1);
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = {{"rocksdb-baseline", bench_rocksdb_baseline},
                    {"idle-connections", bench_idle_connections},
                    {"load", bench_load},
                    {"grpc", bench_grpc},
                    {"uris", bench_uris},
                    {"static", bench_static},
                    {"accounting", bench_accounting},
                    {"cold", bench_cold},
                    {"drop", bench_drop},
                    {"freed", bench_freed},
                    {"tenants", bench_tenants},
                    {"tables", bench_tables},
                    {"flood", bench_flood},
                    {"quiet", bench_quiet}};
    for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 2, argv + 2);
    }
    bench_fail("usage: bench "
               "rocksdb-baseline|idle-connections|load|grpc|uris|static|accounting|cold|drop|freed|"
               "tenants|flood|quiet ...");
}
