/*
 * storage/family_type.h - the type of a family's values: an aggregate, or how plain bytes are read.
 *
 * Does:     name the type of a family, and find a type by its name.
 * Owns:     nothing.
 * May use:  base/, storage/aggregate.h.
 * Knows no: families, cells.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none of its own.
 * Promises: 1. A value type restricts no write: it says how readers show values, as in Bigtable.
 *           2. The numbers are stored (storage/schema_doc.c) and never change their meaning.
 */
#ifndef STORAGE_FAMILY_TYPE_H
#define STORAGE_FAMILY_TYPE_H

#include "base/slice.h"
#include "storage/aggregate.h"

/* Of the cells of a family that is no aggregate. */
enum sto_value_type {
    STO_VALUE_UNTYPED = 0,
    STO_VALUE_BYTES = 1,
    STO_VALUE_STRING = 2,   /* UTF-8 */
    STO_VALUE_UTF8_RAW = 3, /* the same, by the older name of its encoding in Bigtable's API */
    STO_VALUE_INT64 = 4,    /* 8 bytes, big-endian, two's complement; other bytes are no number */
    STO_VALUE_TYPE_COUNT
};

#define STO_VALUE_INT64_BYTES 8

/* Returns "sum", "int64", ..., or "none" for untyped values. At most one of the two is set. */
const char *sto_family_type_name(enum sto_aggregate aggregate, enum sto_value_type value);
/* Finds the type of that name and sets both. Returns false, and sets nothing, if there is none. */
bool sto_family_type_find(struct slice name, enum sto_aggregate *out_aggregate,
                          enum sto_value_type *out_value) MUST_CHECK;

#endif
