/*
 * storage/family_type.c - the names of the types of aggregates and of plain values.
 */
#include "storage/family_type.h"

#include "base/banned.h"

/* Two values share one name; the name finds the first. */
static const char *const VALUE_NAMES[STO_VALUE_TYPE_COUNT] = {
    [STO_VALUE_UNTYPED] = "none",    [STO_VALUE_BYTES] = "bytes", [STO_VALUE_STRING] = "string",
    [STO_VALUE_UTF8_RAW] = "string", [STO_VALUE_INT64] = "int64",
};

const char *sto_family_type_name(enum sto_aggregate aggregate, enum sto_value_type value)
{
    const char *name = sto_aggregate_name(aggregate);
    return name != NULL ? name : VALUE_NAMES[value];
}

bool sto_family_type_find(struct slice name, enum sto_aggregate *out_aggregate,
                          enum sto_value_type *out_value)
{
    for (int v = STO_VALUE_UNTYPED; v < STO_VALUE_TYPE_COUNT; v++) {
        if (!base_slice_is(name, VALUE_NAMES[v]))
            continue;
        *out_aggregate = STO_AGGREGATE_NONE;
        *out_value = (enum sto_value_type)v;
        return true;
    }
    for (int a = STO_AGGREGATE_NONE + 1; a < STO_AGGREGATE_COUNT; a++) {
        if (!base_slice_is(name, sto_aggregate_name((enum sto_aggregate)a)))
            continue;
        *out_aggregate = (enum sto_aggregate)a;
        *out_value = STO_VALUE_UNTYPED;
        return true;
    }
    return false;
}
