/*
 * storage/projection.h - the part of a row that can matter to a read: families, qualifiers, time.
 *
 * Does:     describes a box of columns and versions; intersects and joins boxes, so that a scan can
 *           seek past everything outside.
 * Owns:     nothing; bytes belong to the maker of the box.
 * May use:  base/, storage/schema.h.
 * Knows no: filters, the engine.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   LIM_FAMILIES.
 * Promises: 1. intersect(a, b) holds exactly the cells in both.
 *           2. join(a, b) holds at least the cells in either.
 */
#ifndef STORAGE_PROJECTION_H
#define STORAGE_PROJECTION_H

#include "storage/schema.h"

#define STO_FAMILY_WORDS ((LIM_FAMILIES + 63) / 64)

/* An interval of byte strings. */
struct sto_bytes_range {
    struct slice start; /* empty and not exclusive: unbounded */
    bool start_exclusive;
    bool has_end;
    struct slice end;
    bool end_inclusive;
};

bool sto_bytes_range_holds(const struct sto_bytes_range *range, struct slice bytes);
/* Returns true if no byte string is in it. */
bool sto_bytes_range_is_empty(const struct sto_bytes_range *range);
/* Intersect both intervals; join them to the smallest interval around both. */
void sto_bytes_range_intersect(struct sto_bytes_range *range, const struct sto_bytes_range *with);
void sto_bytes_range_join(struct sto_bytes_range *range, const struct sto_bytes_range *with);

struct sto_projection {
    uint64_t families[STO_FAMILY_WORDS]; /* bit i: includes schema->families[i] */
    struct sto_bytes_range qualifiers;   /* of every included family */
    int64_t since_us;                    /* timestamps in [since, until) */
    int64_t until_us;                    /* 0: no end */
};

/* Makes the box of everything a schema has. */
void sto_projection_all(const struct sto_schema *schema, struct sto_projection *out);
void sto_projection_none(struct sto_projection *out);
/* Replaces the families by the one at this index of the schema. */
void sto_projection_family(struct sto_projection *p, size_t family_index);
/* Excludes the family at this index. */
void sto_projection_drop_family(struct sto_projection *p, size_t family_index);
bool sto_projection_has_family(const struct sto_projection *p, size_t family_index);
bool sto_projection_is_empty(const struct sto_projection *p);
void sto_projection_intersect(struct sto_projection *p, const struct sto_projection *with);
void sto_projection_join(struct sto_projection *p, const struct sto_projection *with);

#endif
