/*
 * tests/grpc/writes.h - messages for tests of writes.
 *
 * Does:     build mutations and tokens in place; return the name of a world's table.
 * Owns:     nothing; texts are borrowed.
 * May use:  tests/support/, protobuf-c.
 * Knows no: requests.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. A message built in a structure points into it: the structure must not move.
 */
#ifndef TESTS_GRPC_WRITES_H
#define TESTS_GRPC_WRITES_H

#include <google/bigtable/v2/bigtable.pb-c.h>
#include <stdio.h>

#include "tests/support/grpc_client.h"
#include "tests/support/world.h"

#define BIGTABLE "/google.bigtable.v2.Bigtable/"

#define TABLE_NAME 256

static inline ProtobufCBinaryData binary(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

/* Returns projects/TENANT/instances/main/tables/devices. */
static inline char *table_name(char out[TABLE_NAME], const struct world *of)
{
    (void)snprintf(out, TABLE_NAME, "projects/%s/instances/main/tables/devices", of->tenant);
    return out;
}

struct set_cell {
    Bt__Mutation mutation;
    Bt__Mutation__SetCell set;
};

static inline Bt__Mutation *set_cell(struct set_cell *s, const char *family, const char *qualifier,
                                     const char *value)
{
    bt__mutation__init(&s->mutation);
    bt__mutation__set_cell__init(&s->set);
    s->mutation.mutation_case = BT__MUTATION__MUTATION_SET_CELL;
    s->mutation.set_cell = &s->set;
    s->set.family_name = (char *)(uintptr_t)family;
    s->set.column_qualifier = binary(qualifier);
    s->set.value = binary(value);
    s->set.timestamp_micros = 1000;
    return &s->mutation;
}

struct add_to_cell {
    Bt__Mutation mutation;
    Bt__Mutation__AddToCell add;
    Bt__Value qualifier;
    Bt__Value timestamp;
    Bt__Value input;
};

static inline Bt__Mutation *add_to_cell(struct add_to_cell *a, const char *family,
                                        const char *qualifier, int64_t input)
{
    bt__mutation__init(&a->mutation);
    bt__mutation__add_to_cell__init(&a->add);
    bt__value__init(&a->qualifier);
    bt__value__init(&a->timestamp);
    bt__value__init(&a->input);
    a->mutation.mutation_case = BT__MUTATION__MUTATION_ADD_TO_CELL;
    a->mutation.add_to_cell = &a->add;
    a->qualifier.kind_case = BT__VALUE__KIND_RAW_VALUE;
    a->qualifier.raw_value = binary(qualifier);
    a->timestamp.kind_case = BT__VALUE__KIND_RAW_TIMESTAMP_MICROS;
    a->input.kind_case = BT__VALUE__KIND_INT_VALUE;
    a->input.int_value = input;
    a->add.family_name = (char *)(uintptr_t)family;
    a->add.column_qualifier = &a->qualifier;
    a->add.timestamp = &a->timestamp;
    a->add.input = &a->input;
    return &a->mutation;
}

#endif
