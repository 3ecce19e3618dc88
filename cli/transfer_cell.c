/* cli/transfer_cell.c - see transfer_cell.h. */
#include "cli/transfer_cell.h"

#include <openssl/evp.h>

#include "base/err.h"

#include "base/banned.h"

#define CELL_OVERHEAD 8 /* bytes a cell counts besides its texts: its timestamp */

void cli_tally_init(struct cli_tally *t)
{
    memset(t, 0, sizeof *t);
    t->digest = EVP_MD_CTX_new();
    INVARIANT(t->digest != NULL && EVP_DigestInit_ex(t->digest, EVP_sha256(), NULL) == 1);
}

void cli_tally_fini(struct cli_tally *t)
{
    EVP_MD_CTX_free(t->digest);
    t->digest = NULL;
}

static uint8_t *put_big_endian(uint8_t *to, uint64_t number, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
        *to++ = (uint8_t)(number >> (8 * i));
    return to;
}

static void digest_text(EVP_MD_CTX *digest, struct slice text)
{
    uint8_t len[4];
    put_big_endian(len, text.len, sizeof len);
    bool done = EVP_DigestUpdate(digest, len, sizeof len) == 1 &&
                (text.len == 0 || EVP_DigestUpdate(digest, text.ptr, text.len) == 1);
    INVARIANT(done);
}

/* Adds two big-endian numbers. */
static void add_sum(uint8_t to[CLI_CONTENT_BYTES], const uint8_t from[CLI_CONTENT_BYTES])
{
    unsigned carry = 0;
    for (int i = CLI_CONTENT_BYTES - 1; i >= 0; i--) {
        carry += (unsigned)to[i] + from[i];
        to[i] = (uint8_t)carry;
        carry >>= 8;
    }
}

void cli_tally_add(struct cli_tally *t, const struct cli_cell *cell)
{
    uint8_t timestamp[8];
    uint8_t hash[CLI_CONTENT_BYTES];
    put_big_endian(timestamp, (uint64_t)cell->timestamp_us, sizeof timestamp);
    bool done = EVP_DigestInit_ex(t->digest, NULL, NULL) == 1;
    digest_text(t->digest, cell->key);
    digest_text(t->digest, cell->family);
    digest_text(t->digest, cell->qualifier);
    done = done && EVP_DigestUpdate(t->digest, timestamp, sizeof timestamp) == 1;
    digest_text(t->digest, cell->value);
    INVARIANT(done && EVP_DigestFinal_ex(t->digest, hash, NULL) == 1);
    add_sum(t->content.sum, hash);
    t->content.cells++;
    t->content.bytes +=
        cell->key.len + cell->family.len + cell->qualifier.len + cell->value.len + CELL_OVERHEAD;
}

void cli_content_merge(struct cli_content *to, const struct cli_content *from)
{
    to->rows += from->rows;
    to->cells += from->cells;
    to->bytes += from->bytes;
    add_sum(to->sum, from->sum);
}

bool cli_content_equal(const struct cli_content *a, const struct cli_content *b)
{
    return a->rows == b->rows && a->cells == b->cells && a->bytes == b->bytes &&
           memcmp(a->sum, b->sum, sizeof a->sum) == 0;
}

void cli_hash_text(const uint8_t hash[CLI_CONTENT_BYTES], char out[CLI_HASH_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < CLI_CONTENT_BYTES; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[CLI_HASH_TEXT - 1] = '\0';
}

static int digit_of(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool cli_hash_parse(struct slice text, uint8_t out[CLI_CONTENT_BYTES])
{
    if (text.len != CLI_HASH_TEXT - 1)
        return false;
    for (size_t i = 0; i < CLI_CONTENT_BYTES; i++) {
        int high = digit_of(text.ptr[2 * i]);
        int low = digit_of(text.ptr[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
