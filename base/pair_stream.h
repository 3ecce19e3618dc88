/*
 * base/pair_stream.h - the stream of a database's keys and values through a pipe.
 *
 * Does:     the bytes between `bigtentd read-database` and `bigtent move-in`: a magic text, then
 *
 *               about    BASE_PAIRS_ABOUT (4), 16 (4), number of the database's last change (8),
 *                        approximate size in bytes (8)
 *               pair     length of key (4), length of value (4), key, value
 *               end      BASE_PAIRS_END (4), 8 (4), number of pairs (8)
 *               failed   BASE_PAIRS_FAILED (4), length of text (4), text: why; instead of the rest
 *
 *           Numbers are big-endian.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: pipes, RocksDB.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   a key is shorter than BASE_PAIRS_ABOUT.
 * Promises: 1. A stream without its end is not whole, wherever it was cut.
 */
#ifndef BASE_PAIR_STREAM_H
#define BASE_PAIR_STREAM_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define BASE_PAIRS_MAGIC       "bigtent pairs 1\n"
#define BASE_PAIRS_MAGIC_LEN   16
#define BASE_PAIRS_HEAD_BYTES  8 /* precedes everything but the magic */
#define BASE_PAIRS_ABOUT_BYTES 16
#define BASE_PAIRS_END_BYTES   8

/* Values in place of a key's length. */
#define BASE_PAIRS_END    UINT32_C(0xFFFFFFFF)
#define BASE_PAIRS_FAILED UINT32_C(0xFFFFFFFE)
#define BASE_PAIRS_ABOUT  UINT32_C(0xFFFFFFFD)

static inline void base_pairs_put_u64(uint8_t *out, uint64_t number)
{
    number = htobe64(number);
    memcpy(out, &number, sizeof(number));
}

static inline uint64_t base_pairs_get_u64(const uint8_t *in)
{
    uint64_t number;
    memcpy(&number, in, sizeof(number));
    return be64toh(number);
}

static inline void base_pairs_put_u32(uint8_t *out, uint32_t number)
{
    number = htobe32(number);
    memcpy(out, &number, sizeof(number));
}

static inline uint32_t base_pairs_get_u32(const uint8_t *in)
{
    uint32_t number;
    memcpy(&number, in, sizeof(number));
    return be32toh(number);
}

#endif
