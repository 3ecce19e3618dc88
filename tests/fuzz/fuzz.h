/*
 * tests/fuzz/fuzz.h - what every fuzz target is made of.
 *
 * Does:     declare the one function a target defines; cut numbers, choices and byte strings off
 * the input, which never runs dry: behind its end there are zeros. Owns:     nothing; slices point
 * into the input. May use:  base/. Knows no: what is tried. Threads:  one. Blocks:   no. Fails by:
 * a broken promise is a failed INVARIANT, which libFuzzer reports like any crash. Limits:   none.
 * Promises: 1. The same bytes give the same case.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "base/err.h"
#include "base/slice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_input {
    struct slice rest;
};

static inline uint8_t fuzz_byte(struct fuzz_input *in)
{
    if (in->rest.len == 0)
        return 0;
    uint8_t byte = in->rest.ptr[0];
    in->rest = base_slice_skip(in->rest, 1);
    return byte;
}

/* count bytes, the first one highest. */
static inline uint64_t fuzz_number(struct fuzz_input *in, unsigned count)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < count; i++)
        n = n << 8 | fuzz_byte(in);
    return n;
}

/* 0..bound-1, bound at most 256. */
static inline unsigned fuzz_below(struct fuzz_input *in, unsigned bound)
{
    return fuzz_byte(in) % bound;
}

/* At most that many bytes. */
static inline struct slice fuzz_take(struct fuzz_input *in, size_t len)
{
    struct slice taken = base_slice(in->rest.ptr, len < in->rest.len ? len : in->rest.len);
    in->rest = base_slice_skip(in->rest, taken.len);
    return taken;
}

/* As long as one byte says, at most max. */
static inline struct slice fuzz_bytes(struct fuzz_input *in, unsigned max)
{
    return fuzz_take(in, fuzz_below(in, max + 1));
}

/* A failure carries a sentence that is whole; success does not matter. */
static inline void fuzz_expect_told(enum err e, const struct errbuf *eb)
{
    INVARIANT(memchr(eb->text, '\0', sizeof eb->text) != NULL);
    INVARIANT(e == ERR_OK || eb->text[0] != '\0');
}

#endif
