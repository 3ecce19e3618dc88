/*
 * tests/bench/bench.h - the parts of the benchmark that no packaged tool does.
 *
 * Does:     measure RocksDB alone, serve a static body, hold idle connections, load rows and gRPC,
 *           flood, list URIs, watch files go.
 * Owns:     nothing.
 * May use:  base/, libcurl, OpenSSL, nghttp2, protobuf-c, RocksDB.
 * Knows no: what the figures should be; bench.sh does.
 * Threads:  each subcommand its own.
 * Blocks:   yes.
 * Fails by: a message on stderr and exit code 1.
 * Limits:   none.
 * Promises: 1. Each subcommand prints one number per line as `name value`.
 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Each takes the arguments behind its name; returns the exit code. */
int bench_rocksdb_baseline(int argc, char **argv);
int bench_idle_connections(int argc, char **argv);
int bench_load(int argc, char **argv);
int bench_grpc(int argc, char **argv);
int bench_uris(int argc, char **argv);
int bench_static(int argc, char **argv);
int bench_accounting(int argc, char **argv);
int bench_cold(int argc, char **argv);
int bench_drop(int argc, char **argv);
int bench_freed(int argc, char **argv);
int bench_tenants(int argc, char **argv);
int bench_tables(int argc, char **argv);
int bench_flood(int argc, char **argv);
int bench_quiet(int argc, char **argv);

_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A decimal number or the end. */
uint64_t bench_number(const char *text);
double bench_seconds(void);
/* Resident memory of a process. */
uint64_t bench_resident_kib(const char *pid);
/* Printable bytes that do not compress well, the same for the same seed. */
void bench_fill(char *out, size_t len, uint64_t seed);

/* Row n of the loaded table: "user#00000042#profile". */
#define BENCH_KEY_BYTES 32
int bench_key(char out[BENCH_KEY_BYTES], const char *prefix, uint64_t n);

#endif
