/*
 * tests/fuzz/fuzz_proxy_protocol.c - the header of a proxy (gateway/proxy_protocol.h).
 *
 *   - A complete header is complete without what is behind it, and each shorter part is incomplete.
 */
#include "gateway/proxy_protocol.h"
#include "tests/fuzz/fuzz.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_proxy_header whole = {0};
    struct gw_proxy_header part = {0};
    enum gw_proxy_state state = gw_proxy_parse(base_slice(data, size), &whole);
    size_t end = state == GW_PROXY_DONE ? whole.bytes : size;
    INVARIANT(end <= size && (state != GW_PROXY_DONE || end <= LIM_PROXY_HEADER_BYTES));
    INVARIANT(state != GW_PROXY_MORE || size < LIM_PROXY_HEADER_BYTES);
    for (size_t len = 0; len < end && len < LIM_PROXY_HEADER_BYTES && state != GW_PROXY_BAD; len++)
        INVARIANT(gw_proxy_parse(base_slice(data, len), &part) == GW_PROXY_MORE);
    if (state == GW_PROXY_DONE) {
        INVARIANT(gw_proxy_parse(base_slice(data, end), &part) == GW_PROXY_DONE);
        INVARIANT(part.bytes == end && memcmp(&part.peer, &whole.peer, sizeof part.peer) == 0);
    }
    return 0;
}
