#include "tests/support/copies.h"

#include <check.h>
#include <stdbool.h>

#include "base/banned.h"

Bt__RowFilter *copies_filter(size_t count)
{
    static Bt__RowFilter pass, filter;
    static Bt__RowFilter__Interleave interleave;
    static Bt__RowFilter *filters[COPIES_MAX];
    ck_assert_uint_le(count, COPIES_MAX);
    bt__row_filter__init(&pass);
    bt__row_filter__init(&filter);
    bt__row_filter__interleave__init(&interleave);
    pass.filter_case = BT__ROW_FILTER__FILTER_PASS_ALL_FILTER;
    pass.pass_all_filter = true;
    for (size_t i = 0; i < count; i++)
        filters[i] = &pass;
    interleave.filters = filters;
    interleave.n_filters = count;
    filter.filter_case = BT__ROW_FILTER__FILTER_INTERLEAVE;
    filter.interleave = &interleave;
    return &filter;
}
