/*
 * base/siphash.h - SipHash-1-3, the keyed hash used by base_hash.
 *
 * Does:     hashes bytes under a 128-bit key (Aumasson and Bernstein; 1 compression round per word,
 *           3 final ones).
 * Owns:     nothing.
 * May use:  base/slice.h.
 * Knows no: where the key comes from.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. The same key and bytes return the published value on every machine.
 */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include <endian.h>

#include "base/slice.h"

struct base_siphash_key {
    uint64_t k0;
    uint64_t k1;
};

struct base_siphash_state {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t base_siphash_rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void base_siphash_round(struct base_siphash_state *s)
{
    s->v0 += s->v1;
    s->v1 = base_siphash_rotate(s->v1, 13) ^ s->v0;
    s->v0 = base_siphash_rotate(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = base_siphash_rotate(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = base_siphash_rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = base_siphash_rotate(s->v1, 17) ^ s->v2;
    s->v2 = base_siphash_rotate(s->v2, 32);
}

static inline uint64_t base_siphash_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return le64toh(word);
}

/* Returns the last len % 8 bytes, lowest first. For long input one load reads back over bytes that
 * were already hashed and shifts them out. */
static inline uint64_t base_siphash_tail(struct slice bytes)
{
    size_t tail = bytes.len % 8;
    if (tail == 0)
        return 0;
    if (bytes.len > 8)
        return base_siphash_word(bytes.ptr + bytes.len - 8) >> (8 * (8 - tail));
    uint64_t word = 0;
    for (size_t i = 0; i < tail; i++)
        word |= (uint64_t)bytes.ptr[i] << (8 * i);
    return word;
}

static inline uint64_t base_siphash13(struct base_siphash_key key, struct slice bytes)
{
    struct base_siphash_state s = {
        .v0 = key.k0 ^ 0x736f6d6570736575U,
        .v1 = key.k1 ^ 0x646f72616e646f6dU,
        .v2 = key.k0 ^ 0x6c7967656e657261U,
        .v3 = key.k1 ^ 0x7465646279746573U,
    };
    size_t whole = bytes.len - bytes.len % 8;
    for (size_t at = 0; at < whole; at += 8) {
        uint64_t word = base_siphash_word(bytes.ptr + at);
        s.v3 ^= word;
        base_siphash_round(&s);
        s.v0 ^= word;
    }
    uint64_t last = (uint64_t)bytes.len << 56 | base_siphash_tail(bytes);
    s.v3 ^= last;
    base_siphash_round(&s);
    s.v0 ^= last;
    s.v2 ^= 0xff;
    base_siphash_round(&s);
    base_siphash_round(&s);
    base_siphash_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

#endif
