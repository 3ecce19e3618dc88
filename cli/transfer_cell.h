/*
 * cli/transfer_cell.h - a cell of an export, and the counts and hash of a set of cells.
 *
 * Does:     count rows, cells and bytes; compute a content hash that does not depend on division
 *           into files, order or encoding.
 * Owns:     a digest context, between init and fini.
 * May use:  base/, cli/bounds.h.
 * Knows no: files, requests.
 * Threads:  one for each tally.
 * Blocks:   no.
 * Fails by: does not fail; aborts when the library cannot compute a digest.
 * Limits:   none.
 * Promises: 1. Content of a set of cells = the sum modulo 2^256 of the SHA-256 of each cell, as
 *              docs/export-format.md encodes it: contents of disjoint sets add up.
 *           2. bytes equals the server's count of stored bytes: key, family, qualifier, value, and
 *              8.
 */
#ifndef CLI_TRANSFER_CELL_H
#define CLI_TRANSFER_CELL_H

#include <openssl/types.h>

#include "base/slice.h"
#include "cli/bounds.h"

struct cli_cell {
    struct slice key;
    struct slice family;
    struct slice qualifier;
    struct slice value;
    int64_t timestamp_us;
};

#define CLI_CONTENT_BYTES 32
#define CLI_HASH_TEXT     (2 * CLI_CONTENT_BYTES + 1)

/* Zero is the empty set. */
struct cli_content {
    uint64_t rows;
    uint64_t cells;
    uint64_t bytes;
    uint8_t sum[CLI_CONTENT_BYTES];
};

struct cli_tally {
    struct cli_content content;
    EVP_MD_CTX *digest;
};

void cli_tally_init(struct cli_tally *t);
void cli_tally_fini(struct cli_tally *t);
/* Adds a cell. The caller counts rows, because only the caller knows where a row ends. */
void cli_tally_add(struct cli_tally *t, const struct cli_cell *cell);

void cli_content_merge(struct cli_content *to, const struct cli_content *from);
bool cli_content_equal(const struct cli_content *a, const struct cli_content *b);

/* Convert 32 bytes to hexadecimal digits, and back. */
void cli_hash_text(const uint8_t hash[CLI_CONTENT_BYTES], char out[CLI_HASH_TEXT]);
bool cli_hash_parse(struct slice text, uint8_t out[CLI_CONTENT_BYTES]);

#endif
