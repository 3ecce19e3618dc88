/*
 * tests/bench/grpc_message.h - Bigtable's messages of the load, and a look at what is answered.
 *
 * Does:     make requests, change the row they are about in place; check rows against what was put.
 * Owns:     the bytes of a message.
 * May use:  base/, protobuf-c.
 * Knows no: connections.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: a message on stderr and exit code 1.
 * Limits:   rows 0..UINT32_MAX.
 * Promises: 1. Row n has one cell of GRPC_VALUE_BYTES, always the same, that does not compress
 * well.
 */
#ifndef TESTS_BENCH_GRPC_MESSAGE_H
#define TESTS_BENCH_GRPC_MESSAGE_H

#include "base/buf.h"

#define GRPC_VALUE_BYTES 1024

/* A message in its gRPC frame, and the places in it that differ from row to row; 0: it has none. */
struct grpc_message {
    struct buf bytes;
    size_t digits_at;
    size_t value_at;
};

void grpc_message_fini(struct grpc_message *m);
void grpc_create_table(struct grpc_message *out, const char *parent, const char *table_id);
void grpc_delete_table(struct grpc_message *out, const char *table);
void grpc_read_row(struct grpc_message *out, const char *table);
void grpc_scan(struct grpc_message *out, const char *table);
void grpc_mutate_row(struct grpc_message *out, const char *table);
/* Make the message one about row n. */
void grpc_set_row(struct grpc_message *m, uint64_t n);

/* The frames of a ReadRows are exactly the rows first .. first + count - 1, with what was put. */
void grpc_check_rows(struct slice frames, uint64_t first, uint64_t count);

#endif
