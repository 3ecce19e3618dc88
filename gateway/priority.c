/*
 * gateway/priority.c - parses three words.
 */
#include "gateway/priority.h"

#include "base/banned.h"

enum err gw_priority_of(const struct gw_exchange *ex, enum sto_priority *out, struct errbuf *eb)
{
    static const struct {
        const char *word;
        enum sto_priority priority;
    } words[] = {
        {"high", STO_PRIORITY_HIGH}, {"medium", STO_PRIORITY_MEDIUM}, {"low", STO_PRIORITY_LOW}};
    size_t count = 0;
    struct slice value = gw_exchange_header(ex, "bigtent-priority", &count);
    if (count == 0) {
        *out = STO_PRIORITY_MEDIUM;
        return ERR_OK;
    }
    for (size_t i = 0; count == 1 && i < sizeof words / sizeof words[0]; i++) {
        if (base_slice_is(value, words[i].word)) {
            *out = words[i].priority;
            return ERR_OK;
        }
    }
    return base_fail(eb, ERR_INVALID, "bigtent-priority must be high, medium or low, once");
}
