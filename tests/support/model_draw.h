/*
 * tests/support/model_draw.h - parts of random operations: awkward keys, cells, bodies, ranges.
 *
 * Does:     draw numbers, bytes, cells and ranges from one seed; add a cell to the body of a row;
 *           iterate the model over a range.
 * Owns:     the state of the draw.
 * May use:  base/, jansson, tests/support/.
 * Knows no: routes, answers.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: ck_abort_msg.
 * Limits:   keys and qualifiers of 16 bytes, values of 4096.
 * Promises: 1. Equal seeds draw equal values.
 */
#ifndef TESTS_SUPPORT_MODEL_DRAW_H
#define TESTS_SUPPORT_MODEL_DRAW_H

#include "tests/support/model.h"

void model_draw_seed(uint64_t seed);
uint32_t model_below(uint32_t n);
/* Draws `least` to `most` pieces that are awkward in prefixes, escapes, JSON and URLs;
 * room has 16 bytes. */
struct slice model_draw_bytes(uint8_t *room, uint32_t most, uint32_t least);

struct model_drawn {
    uint8_t key_room[16];
    uint8_t qualifier_room[16];
    uint8_t value_room[4096];
    struct slice key;
    struct slice qualifier;
    struct slice value;
    int family;
    int64_t timestamp;
};
void model_draw(struct model_drawn *d);

bool model_is_member_name(struct slice s);
/* Returns the value in one of the forms that a body allows. */
json_t *model_value_new(const struct model_drawn *d, bool with_timestamp);
/* Adds one drawn cell to a row body, and takes value; returns false when the column exists. */
bool model_body_add(json_t *body, const struct model_table *t, const struct model_drawn *d,
                    json_t *value);

struct model_range {
    struct slice prefix;
    struct slice start;
    struct slice end;
    uint8_t room[3][16];
    char query[256];
};
/* Draws a range; r->query: its parameters, each after a "&". */
void model_draw_range(struct model_range *r);
/* Returns the model's next visible row inside the range, from cell index *i on; NULL at the end. */
json_t *model_range_next_new(const struct model_table *table, const struct model_range *r,
                             size_t *i);

#endif
