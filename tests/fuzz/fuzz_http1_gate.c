/*
 * tests/fuzz/fuzz_http1_gate.c - the gate in front of HTTP/1 (gateway/http1_gate.h).
 *
 * The first four bytes choose how the rest, a stream of requests, is cut into pieces.
 *   - Whole, byte by byte and in pieces, the gate sees the same requests end at the same places
 * with the same verdicts (promise 1); each piece lies alone in memory, so that a look beyond it
 * shows.
 *   - Behind a refused byte nothing is taken, whatever follows (2).
 *   - A complete request alone is complete again, at its last byte and not before (3).
 */
#include "base/alloc.h"
#include "base/limits.h"
#include "gateway/http1_gate.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/random.h"

#include "base/banned.h"

#define REQUESTS_MAX 64

struct seen {
    enum gw_gate_verdict verdict;
    int status;
    size_t end; /* in the stream */
    bool head_done;
    uint64_t body_bytes;
};

struct log {
    struct seen requests[REQUESTS_MAX];
    size_t count;
};

enum cut { CUT_NOT, CUT_EACH_BYTE, CUT_BY_CHANCE };

static size_t piece_of(enum cut cut, struct random *random, size_t left)
{
    size_t n = cut == CUT_NOT ? left : cut == CUT_EACH_BYTE ? 1 : 1 + random_below(random, 48);
    return n < left ? n : left;
}

static enum gw_gate_verdict feed(struct gw_http1_gate *gate, struct slice piece, size_t *out_taken)
{
    uint8_t *alone = base_try_alloc(piece.len);
    INVARIANT(alone != NULL);
    memcpy(alone, piece.ptr, piece.len);
    enum gw_gate_verdict v = gw_http1_gate_feed(gate, base_slice(alone, piece.len), out_taken);
    base_free(alone);
    INVARIANT(*out_taken <= piece.len && (v != GW_GATE_MORE || *out_taken == piece.len));
    INVARIANT(gate->head_bytes <= LIM_HEAD_BYTES + 1 && gate->target_bytes <= LIM_TARGET_BYTES + 1);
    return v;
}

static void expect_latched(struct gw_http1_gate *gate)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    size_t taken = SIZE_MAX;
    INVARIANT(gate->status >= 400 && gate->status < 500 && gate->detail != NULL);
    INVARIANT(feed(gate, SLICE_LIT(request), &taken) == GW_GATE_REFUSED && taken == 0);
}

static void watch(struct slice stream, enum cut cut, uint64_t seed, struct log *out)
{
    struct gw_http1_gate gate;
    struct random random = {seed};
    enum gw_gate_verdict v = GW_GATE_MORE;
    size_t at = 0;
    out->count = 0;
    gw_http1_gate_init(&gate);
    while (at < stream.len && v != GW_GATE_REFUSED && out->count < REQUESTS_MAX) {
        size_t taken = SIZE_MAX;
        size_t n = piece_of(cut, &random, stream.len - at);
        v = feed(&gate, base_slice(stream.ptr + at, n), &taken);
        at += taken;
        if (v == GW_GATE_MORE && at < stream.len)
            continue;
        out->requests[out->count++] = (struct seen){v, v == GW_GATE_REFUSED ? gate.status : 0, at,
                                                    gate.head_done, gate.body_bytes};
        if (v == GW_GATE_COMPLETE)
            gw_http1_gate_init(&gate);
    }
    if (v == GW_GATE_REFUSED)
        expect_latched(&gate);
}

static void expect_same(const struct log *a, const struct log *b)
{
    INVARIANT(a->count == b->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct seen *x = &a->requests[i], *y = &b->requests[i];
        INVARIANT(x->verdict == y->verdict && x->status == y->status && x->end == y->end);
        INVARIANT(x->head_done == y->head_done && x->body_bytes == y->body_bytes);
    }
}

/* Each complete request of the log, alone. */
static void expect_alone(struct slice stream, const struct log *log)
{
    static struct log one;
    size_t begin = 0;
    for (size_t i = 0; i < log->count && log->requests[i].verdict == GW_GATE_COMPLETE; i++) {
        size_t len = log->requests[i].end - begin;
        struct slice request = base_slice(stream.ptr + begin, len);
        watch(request, CUT_NOT, 0, &one);
        INVARIANT(one.count == 1 && one.requests[0].verdict == GW_GATE_COMPLETE &&
                  one.requests[0].end == len);
        watch(base_slice(request.ptr, len - 1), CUT_NOT, 0, &one);
        INVARIANT(one.count == (len > 1) && one.requests[0].verdict == GW_GATE_MORE);
        begin += len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct log whole, pieces;
    struct fuzz_input in = {base_slice(data, size)};
    uint64_t seed = fuzz_number(&in, 4);
    watch(in.rest, CUT_NOT, seed, &whole);
    watch(in.rest, CUT_EACH_BYTE, seed, &pieces);
    expect_same(&whole, &pieces);
    watch(in.rest, CUT_BY_CHANCE, seed, &pieces);
    expect_same(&whole, &pieces);
    expect_alone(in.rest, &whole);
    return 0;
}
