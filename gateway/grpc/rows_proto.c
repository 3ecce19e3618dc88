/*
 * gateway/grpc/rows_proto.c - converts keys and ranges of a message to storage's.
 *
 * A bound that is present but empty is no bound: no row key is empty, so nothing sorts before the
 * first one, and clients write the end of the table like this.
 */
#include "gateway/grpc/rows_proto.h"

#include "gateway/grpc/decode.h"

#include "base/banned.h"

static enum err key_check(size_t len, struct errbuf *eb)
{
    if (len > LIM_ROW_KEY)
        return base_fail(eb, ERR_TOO_BIG, "a row key of %zu bytes; the limit is %d", len,
                         LIM_ROW_KEY);
    return ERR_OK;
}

/* --- ranges ----------------------------------------------------------------------------------- */

static struct sto_row_range bounds_of(const Bt__RowRange *message)
{
    struct sto_row_range range = {.start = SLICE_EMPTY};
    if (message->start_key_case == BT__ROW_RANGE__START_KEY_START_KEY_CLOSED)
        range.start = gw_proto_bytes(message->start_key_closed);
    else if (message->start_key_case == BT__ROW_RANGE__START_KEY_START_KEY_OPEN)
        range.start = gw_proto_bytes(message->start_key_open);
    if (message->end_key_case == BT__ROW_RANGE__END_KEY_END_KEY_OPEN)
        range.end = gw_proto_bytes(message->end_key_open);
    else if (message->end_key_case == BT__ROW_RANGE__END_KEY_END_KEY_CLOSED)
        range.end = gw_proto_bytes(message->end_key_closed);
    range.start_exclusive =
        range.start.len > 0 && message->start_key_case == BT__ROW_RANGE__START_KEY_START_KEY_OPEN;
    range.end_inclusive =
        range.end.len > 0 && message->end_key_case == BT__ROW_RANGE__END_KEY_END_KEY_CLOSED;
    return range;
}

enum err gw_range_from_proto(const Bt__RowRange *message, struct arena *arena,
                             struct sto_row_range *out, struct errbuf *eb)
{
    (void)arena; /* storage accepts open and closed bounds: they point into the message */
    struct sto_row_range range = bounds_of(message);
    struct sto_row_range only = range;
    struct sto_row_set set;
    enum err e = key_check(range.start.len, eb);
    if (e == ERR_OK)
        e = key_check(range.end.len, eb);
    if (e != ERR_OK)
        return e;
    if (sto_row_set_make(&only, 1, &set, NULL) != ERR_OK)
        return base_fail(eb, ERR_INVALID, "start_key must be less than end_key");
    *out = range;
    return ERR_OK;
}

/* --- sets ------------------------------------------------------------------------------------- */

static enum err read_key(const ProtobufCBinaryData *key, struct sto_row_range *out,
                         struct errbuf *eb)
{
    if (key->len == 0)
        return base_fail(eb, ERR_INVALID, "Row keys must be non-empty");
    enum err e = key_check(key->len, eb);
    if (e == ERR_OK)
        *out = sto_range_of_key(gw_proto_bytes(*key));
    return e;
}

static enum err blame(const char *field, size_t index, enum err e, const struct errbuf *why,
                      struct errbuf *eb)
{
    return base_fail(eb, e, "Error in field '%s' : Error in element #%zu : %s", field, index,
                     why->text);
}

static enum err read_set(const Bt__RowSet *message, struct arena *arena,
                         struct sto_row_range *ranges, struct errbuf *eb)
{
    struct errbuf why = {{0}};
    for (size_t i = 0; i < message->n_row_keys; i++) {
        enum err e = read_key(&message->row_keys[i], &ranges[i], &why);
        if (e != ERR_OK)
            return blame("row_keys", i, e, &why, eb);
    }
    for (size_t i = 0; i < message->n_row_ranges; i++) {
        enum err e = gw_range_from_proto(message->row_ranges[i], arena,
                                         &ranges[message->n_row_keys + i], &why);
        if (e != ERR_OK)
            return blame("row_ranges", i, e, &why, eb);
    }
    return ERR_OK;
}

enum err gw_rows_from_proto(const Bt__RowSet *message, struct arena *arena, struct sto_row_set *out,
                            struct errbuf *eb)
{
    size_t count = message == NULL ? 0 : message->n_row_keys + message->n_row_ranges;
    if (count == 0) {
        *out = (struct sto_row_set){.count = 0};
        return ERR_OK;
    }
    if (count > LIM_ROW_SET)
        return base_fail(eb, ERR_TOO_BIG, "the row set has %zu keys and ranges; the limit is %d",
                         count, LIM_ROW_SET);
    struct sto_row_range *ranges = base_arena_alloc(arena, count * sizeof *ranges);
    if (ranges == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu keys and ranges", count);
    enum err e = read_set(message, arena, ranges, eb);
    return e == ERR_OK ? sto_row_set_make(ranges, count, out, eb) : e;
}
