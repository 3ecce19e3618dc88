/*
 * tests/storage/log_maker.h - logs in RocksDB's format, created in memory.
 *
 * Does:     appends records of given batches to a buffer, in blocks and fragments.
 * Owns:     nothing; the caller owns the buffer.
 * May use:  base/.
 * Knows no: storage/rocksdb/log_file.h, which it tests.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: INVARIANT.
 * Limits:   the buffer's maximum.
 * Promises: 1. The checksum is computed bit by bit, unlike the reader's.
 */
#ifndef TESTS_STORAGE_LOG_MAKER_H
#define TESTS_STORAGE_LOG_MAKER_H

#include "base/buf.h"

#define MAKER_BLOCK 32768u
#define MAKER_HEAD  7u

static inline void maker_append(struct buf *out, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        INVARIANT(base_buf_append_byte(out, (uint8_t)(number >> (8 * i))) == ERR_OK);
}

static inline uint32_t maker_crc(uint8_t kind, struct slice bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i <= bytes.len; i++) {
        crc ^= i == 0 ? kind : bytes.ptr[i - 1];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82f63b78u & -(crc & 1));
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static inline void maker_fragment(struct buf *out, uint8_t kind, struct slice bytes)
{
    maker_append(out, maker_crc(kind, bytes), 4);
    maker_append(out, bytes.len, 2);
    maker_append(out, kind, 1);
    INVARIANT(base_buf_append(out, bytes) == ERR_OK);
}

static inline void maker_record(struct buf *out, struct slice bytes)
{
    bool is_first = true;
    for (;;) {
        size_t left = MAKER_BLOCK - out->len % MAKER_BLOCK;
        if (left < MAKER_HEAD) {
            maker_append(out, 0, (unsigned)left);
            left = MAKER_BLOCK;
        }
        size_t room = left - MAKER_HEAD;
        size_t n = bytes.len < room ? bytes.len : room;
        bool is_last = n == bytes.len;
        uint8_t kind = is_first ? (is_last ? 1 : 2) : (is_last ? 4 : 3);
        maker_fragment(out, kind, base_slice(bytes.ptr, n));
        if (is_last)
            return;
        bytes = base_slice_skip(bytes, n);
        is_first = false;
    }
}

/* Appends a batch with `count` changes and `bytes` more pseudo-random bytes. */
static inline void maker_batch(struct buf *out, uint64_t sequence, uint32_t count, size_t bytes)
{
    struct buf payload;
    uint32_t dice = (uint32_t)sequence + 1;
    base_buf_init(&payload, 64 << 20);
    maker_append(&payload, sequence, 8);
    maker_append(&payload, count, 4);
    for (size_t i = 0; i < bytes; i++) {
        dice = dice * 1664525u + 1013904223u;
        maker_append(&payload, dice >> 24, 1);
    }
    maker_record(out, base_buf_slice(&payload));
    base_buf_fini(&payload);
}

#endif
