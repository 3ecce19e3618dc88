/*
 * storage/schema_internal.h - fills the single allocation of a schema.
 *
 * Does:     allocates a schema with room for its parts, and fills in the parts.
 * Owns:     nothing.
 * May use:  base/, storage/schema.h.
 * Knows no: the callers that make schemas, the stored form.
 * Threads:  any; a schema is filled by the thread that makes it.
 * Blocks:   no.
 * Fails by: those of gc rules, naming the family.
 * Limits:   the caller bounds the room.
 * Promises: 1. Nothing is written beyond the requested room; requesting too little aborts.
 */
#ifndef STORAGE_SCHEMA_INTERNAL_H
#define STORAGE_SCHEMA_INTERNAL_H

#include "storage/schema.h"

struct sto_schema_room {
    size_t families;
    size_t gc_nodes; /* of all families; also the number of terms */
    size_t dropped;
    size_t notes_bytes;
    size_t splits;
    size_t split_bytes; /* of all splits */
    size_t origin_bytes;
};

struct sto_schema_fill {
    struct sto_schema *schema;
    struct sto_schema_room left;
    struct sto_gc_node *nodes; /* next free node */
    struct sto_gc_term *terms;
    uint16_t *dropped; /* next free number */
    uint8_t *notes;
    struct slice *splits; /* next free split */
    uint8_t *split_bytes;
    uint8_t *origin;
};

/* Allocates a schema with one ref. table: NULL makes one with the ID table_id; an existing one gets
 * one more ref. */
void sto_schema_fill_begin(struct sto_schema_fill *f, struct sto_table *table,
                           struct slice table_id, const struct sto_schema_room *room);
/* Adds a family; numbers may come in any order. */
enum err sto_schema_fill_family(struct sto_schema_fill *f, uint16_t number,
                                const struct sto_family_spec *spec, struct errbuf *eb) MUST_CHECK;
/* Adds a dropped number; numbers must be ascending. */
void sto_schema_fill_dropped(struct sto_schema_fill *f, uint16_t number);
void sto_schema_fill_notes(struct sto_schema_fill *f, struct slice notes);
void sto_schema_fill_origin(struct sto_schema_fill *f, struct slice origin);
/* Adds a split; the keys must be ascending once all are added. */
void sto_schema_fill_split(struct sto_schema_fill *f, struct slice key);

/* --- schema_splits.c: splits in any order --- */

/* Checks whether a table may be made with these splits. */
enum err sto_schema_splits_check(const struct slice *splits, size_t count,
                                 struct errbuf *eb) MUST_CHECK;
/* Computes the room that the splits need. */
void sto_schema_splits_room(const struct slice *splits, size_t count, struct sto_schema_room *room);
/* Adds all splits, sorted and without duplicates, to a schema that has none yet. */
void sto_schema_fill_splits(struct sto_schema_fill *f, const struct slice *splits, size_t count);

#endif
