/*
 * gateway/api/columns.c - the common parameters of a read of a row: family, column, versions, time.
 */
#include "gateway/api/columns.h"

#include "base/text.h"

#include "base/banned.h"

static enum err take_family(const struct gw_call *call, struct sto_read_spec *spec,
                            struct errbuf *eb)
{
    struct slice name = gw_query_get(&gw_rest(call)->query, "family");
    struct slice column = gw_query_get(&gw_rest(call)->query, "column");
    if (name.ptr == NULL)
        return column.ptr == NULL
                   ? ERR_OK
                   : base_fail(eb, ERR_INVALID, "\"column\" needs \"family\" beside it");
    const struct sto_family *family = NULL;
    enum err e = gw_rest_family(call, name, &family, eb);
    if (e == ERR_OK)
        e = sto_qualifier_check(NULL, column, eb);
    if (e != ERR_OK)
        return e;
    spec->narrowed = true;
    sto_projection_family(&spec->projection, (size_t)(family - call->scope.schema->families));
    if (column.ptr != NULL)
        spec->projection.qualifiers = (struct sto_bytes_range){
            .start = column, .has_end = true, .end = column, .end_inclusive = true};
    return ERR_OK;
}

static enum err take_time(const struct gw_call *call, const char *name, int64_t *out,
                          bool *narrowed, struct errbuf *eb)
{
    struct slice text = gw_query_get(&gw_rest(call)->query, name);
    if (text.ptr == NULL)
        return ERR_OK;
    uint64_t number = 0;
    if (base_parse_u64(text, &number) != ERR_OK || number > INT64_MAX)
        return base_fail(eb, ERR_INVALID,
                         "query parameter \"%s\" must be microseconds since 1970, from 0 on", name);
    *out = (int64_t)number;
    *narrowed = true;
    return ERR_OK;
}

enum err gw_columns_from_query(const struct gw_call *call, struct sto_read_spec *spec,
                               struct errbuf *eb)
{
    struct sto_projection *p = &spec->projection;
    uint64_t versions = 0;
    sto_projection_all(call->scope.schema, p);
    enum err e = take_family(call, spec, eb);
    if (e == ERR_OK)
        e = gw_query_number(&gw_rest(call)->query, "versions", 1, INT32_MAX, 0, &versions, eb);
    if (e == ERR_OK)
        e = take_time(call, "since", &p->since_us, &spec->narrowed, eb);
    if (e == ERR_OK)
        e = take_time(call, "until", &p->until_us, &spec->narrowed, eb);
    if (e == ERR_OK && gw_query_get(&gw_rest(call)->query, "until").ptr != NULL &&
        p->until_us <= p->since_us)
        e = base_fail(eb, ERR_INVALID, "\"since\" must be before \"until\"");
    spec->versions = (uint32_t)versions;
    return e;
}
