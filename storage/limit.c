/*
 * storage/limit.c - the one table read by all code that shows, stores, sets or checks a limit.
 */
#include "storage/limit.h"

#include "base/err.h"
#include "base/limits.h"

#include "base/banned.h"

static const struct sto_limit_info LIMITS[STO_LIMIT_COUNT] = {
    [STO_LIMIT_ROW_KEY] = {"row_key_bytes", "row key has", "bytes", LIM_ROW_KEY, LIM_ROW_KEY},
    [STO_LIMIT_QUALIFIER] = {"qualifier_bytes", "column qualifier has", "bytes", LIM_QUALIFIER,
                             LIM_QUALIFIER},
    [STO_LIMIT_CELL] = {"cell_bytes", "cell value has", "bytes", LIM_CELL_BYTES,
                        LIM_CELL_BYTES_HARD},
    [STO_LIMIT_ROW] = {"row_bytes", "the row would hold", "bytes", LIM_ROW_BYTES, LIM_ROW_BYTES},
    [STO_LIMIT_MUTATIONS] = {"mutations_per_row", "the change of the row has", "mutations",
                             LIM_MUTATIONS_PER_ROW, LIM_MUTATIONS_PER_ROW},
    [STO_LIMIT_FAMILIES] = {"families", "the table would have", "column families", LIM_FAMILIES,
                            LIM_FAMILIES},
    [STO_LIMIT_TABLES] = {"tables", "the tenant would have", "tables", LIM_TABLES, LIM_TABLES},
};

const struct sto_limit_info *sto_limit_info(enum sto_limit limit)
{
    INVARIANT(limit < STO_LIMIT_COUNT);
    return &LIMITS[limit];
}
