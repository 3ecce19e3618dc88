/*
 * tests/hostile/wire.c - protobuf written field by field, as an attacker would.
 */
#include "tests/hostile/wire.h"

#include <check.h>
#include <stdio.h>

#include "base/banned.h"

/* Numbers of fields in google/bigtable/v2/data.proto. */
enum { FILTER_INTERLEAVE = 2, FILTER_VALUE_REGEX = 9, INTERLEAVE_FILTERS = 1 };
enum { MUTATION_SET_CELL = 1, SET_FAMILY = 1, SET_QUALIFIER = 2, SET_TIME = 3, SET_VALUE = 4 };

void wire_init(struct buf *out)
{
    base_buf_init(out, WIRE_MAX);
}

static void append(struct buf *out, const void *bytes, size_t len)
{
    ck_assert_int_eq(base_buf_append(out, base_slice(bytes, len)), ERR_OK);
}

static void varint(struct buf *out, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        append(out, &(uint8_t){(uint8_t)(n | 0x80)}, 1);
    append(out, &(uint8_t){(uint8_t)n}, 1);
}

void wire_bytes(struct buf *out, unsigned field, struct slice bytes)
{
    varint(out, (uint64_t)field << 3 | 2);
    varint(out, bytes.len);
    append(out, bytes.ptr, bytes.len);
}

void wire_text(struct buf *out, unsigned field, const char *text)
{
    wire_bytes(out, field, base_slice_text(text));
}

void wire_number(struct buf *out, unsigned field, uint64_t number)
{
    varint(out, (uint64_t)field << 3);
    varint(out, number);
}

void wire_message(struct buf *out, unsigned field, struct buf *inner)
{
    wire_bytes(out, field, base_buf_slice(inner));
    base_buf_truncate(inner, 0);
}

void wire_nasty_filter(struct buf *out, size_t count)
{
    struct buf one, list;
    wire_init(&one);
    wire_init(&list);
    for (size_t i = 0; i < count; i++) {
        char regex[32];
        /* A state of the automaton for each of the last so many bytes: 2 to that power. */
        (void)snprintf(regex, sizeof regex, "(?s).*a.{%zu}c", 13 + i % 12);
        if (i >= 12)
            (void)snprintf(regex, sizeof regex, "(?s).*%c.{%zu}%c", i % 2 ? 'a' : 'b', 12 + i % 11,
                           (char)('c' + i / 12));
        wire_text(&one, FILTER_VALUE_REGEX, regex);
        wire_message(&list, INTERLEAVE_FILTERS, &one);
    }
    wire_message(out, FILTER_INTERLEAVE, &list);
    base_buf_fini(&one);
    base_buf_fini(&list);
}

void wire_set_cell(struct buf *out, unsigned field, struct slice qualifier, struct slice value)
{
    struct buf set, mutation;
    wire_init(&set);
    wire_init(&mutation);
    wire_text(&set, SET_FAMILY, "f");
    wire_bytes(&set, SET_QUALIFIER, qualifier);
    wire_number(&set, SET_TIME, 1000);
    wire_bytes(&set, SET_VALUE, value);
    wire_message(&mutation, MUTATION_SET_CELL, &set);
    wire_message(out, field, &mutation);
    base_buf_fini(&set);
    base_buf_fini(&mutation);
}
