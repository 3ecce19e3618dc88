/*
 * tests/grpc/calls.h - a tenant's table, a client, and a write of any size.
 *
 * Does:     as reads.h; build a MutateRow request; compare statuses.
 * Owns:     see reads.h.
 * May use:  base/, tests/support/, libcheck.
 * Knows no: the tests.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   values up to 16 MiB.
 * Promises: 1. Data that a request points to stays valid until the next request is built.
 */
#ifndef TESTS_GRPC_CALLS_H
#define TESTS_GRPC_CALLS_H

#include "writes.h"

#include "base/alloc.h"
#include "reads.h"

#define VALUE_BYTES (16 * MIB)

UNUSED_FN static void expect_status(const struct grpc_call *call, enum gw_status_code status,
                                    const char *word)
{
    ck_assert_msg(call->status == (int)status, "status %d: %s", call->status, call->message);
    ck_assert_msg(strstr(call->message, word) != NULL, "%s", call->message);
}

static Bt__MutateRowRequest mutate;
static struct set_cell cell;
static Bt__Mutation *mutations[1];

/* Builds a write of one cell of that many bytes. */
UNUSED_FN static void make_mutate(size_t value_len)
{
    static uint8_t *value;
    if (value == NULL)
        value = base_new(VALUE_BYTES);
    ck_assert_uint_le(value_len, VALUE_BYTES);
    memset(value, 'v', value_len);
    bt__mutate_row_request__init(&mutate);
    mutations[0] = set_cell(&cell, "raw", "v", "");
    cell.set.value = (ProtobufCBinaryData){.data = value, .len = value_len};
    mutate.table_name = table;
    mutate.row_key = binary("k");
    mutate.mutations = mutations;
    mutate.n_mutations = 1;
}

#endif
