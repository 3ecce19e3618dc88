/*
 * storage/schema_internal.h - how a schema's one allocation is filled.
 *
 * Does:     allocate a schema with room for its parts, and put the parts there.
 * Owns:     nothing.
 * May use:  base/, storage/schema.h.
 * Knows no: who asks for a schema, its stored form.
 * Threads:  any; a schema is filled by the thread that makes it.
 * Blocks:   no.
 * Fails by: those of gc rules, naming the family.
 * Limits:   the caller bounds the room.
 * Promises: 1. Nothing is written beyond the room that was asked for; asking for too little aborts.
 */
#ifndef STORAGE_SCHEMA_INTERNAL_H
#define STORAGE_SCHEMA_INTERNAL_H

#include "storage/schema.h"

struct sto_schema_room {
    size_t families;
    size_t gc_nodes; /* of all families; terms get as many */
    size_t dropped;
    size_t notes_bytes;
    size_t splits;
    size_t split_bytes; /* of all of them */
    size_t origin_bytes;
};

struct sto_schema_fill {
    struct sto_schema *schema;
    struct sto_schema_room left;
    struct sto_gc_node *nodes; /* where the next family's go */
    struct sto_gc_term *terms;
    uint16_t *dropped; /* where the next number goes */
    uint8_t *notes;
    struct slice *splits; /* where the next one goes */
    uint8_t *split_bytes;
    uint8_t *origin;
};

/* table: NULL makes one called table_id, else it gets one more ref. The schema has one ref. */
void sto_schema_fill_begin(struct sto_schema_fill *f, struct sto_table *table,
                           struct slice table_id, const struct sto_schema_room *room);
/* In any order of numbers. */
enum err sto_schema_fill_family(struct sto_schema_fill *f, uint16_t number,
                                const struct sto_family_spec *spec, struct errbuf *eb) MUST_CHECK;
/* Numbers rising. */
void sto_schema_fill_dropped(struct sto_schema_fill *f, uint16_t number);
void sto_schema_fill_notes(struct sto_schema_fill *f, struct slice notes);
void sto_schema_fill_origin(struct sto_schema_fill *f, struct slice origin);
/* Keys rising, once all are there. */
void sto_schema_fill_split(struct sto_schema_fill *f, struct slice key);

/* --- schema_splits.c: of keys in any order --- */

/* Whether a table may be made with these. */
enum err sto_schema_splits_check(const struct slice *splits, size_t count,
                                 struct errbuf *eb) MUST_CHECK;
/* The room they take. */
void sto_schema_splits_room(const struct slice *splits, size_t count, struct sto_schema_room *room);
/* Sorted, each once; into a schema that has none yet. */
void sto_schema_fill_splits(struct sto_schema_fill *f, const struct slice *splits, size_t count);

#endif
