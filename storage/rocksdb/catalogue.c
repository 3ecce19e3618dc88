/*
 * storage/rocksdb/catalogue.c - encodes and decodes the list.
 *
 * The check value protects against damage, not against forgery: RocksDB writes the file. It is not
 * OpenSSL's, which keeps memory for each thread that calls it, and these threads are RocksDB's.
 */
#include "storage/rocksdb/catalogue.h"

#include <string.h>

#include "base/siphash.h"
#include "storage/rocksdb/table_file.h"

#include "base/banned.h"

#define FORM          1
#define KIND_LIST     0
#define KIND_TOO_MANY 1
#define CHECK_BYTES   8

/* --- keys ------------------------------------------------------------------------------------- */

static struct slice up_to(struct slice text, char mark)
{
    const uint8_t *end = text.len == 0 ? NULL : memchr(text.ptr, mark, text.len);
    size_t len = end == NULL ? 0 : (size_t)(end - text.ptr);
    return len <= LIM_TENANT_ID ? base_slice(text.ptr, len) : SLICE_EMPTY;
}

struct rdb_key_tenants sto_rdb_key_tenants(struct slice key)
{
    struct rdb_key_tenants found = {.of_row = up_to(key, '#')};
    if (key.len > 2 && key.ptr[1] == '/')
        found.of_document = up_to(base_slice_skip(key, 2), '/');
    return found;
}

/* --- creating -------------------------------------------------------------------------------- */

static void varint_append(struct buf *out, uint64_t number)
{
    uint8_t bytes[10];
    size_t len = 0;
    while (number >= 128) {
        bytes[len++] = (uint8_t)(number | 128);
        number >>= 7;
    }
    bytes[len++] = (uint8_t)number;
    (void)base_buf_append(out, base_slice(bytes, len)); /* errors latch in out */
}

static void check_of(struct slice bytes, uint8_t out[CHECK_BYTES])
{
    uint64_t check = base_siphash13((struct base_siphash_key){0}, bytes);
    for (size_t i = 0; i < CHECK_BYTES; i++)
        out[i] = (uint8_t)(check >> (8 * i));
}

void sto_rdb_catalogue_begin(struct rdb_catalogue_maker *m, bool too_many, uint64_t entries)
{
    *m = (struct rdb_catalogue_maker){0};
    base_buf_init(&m->bytes, RDB_CATALOGUE_BYTES);
    const uint8_t head[] = {FORM, too_many ? KIND_TOO_MANY : KIND_LIST};
    (void)base_buf_append(&m->bytes, base_slice(head, sizeof head)); /* errors latch */
    varint_append(&m->bytes, entries);
}

void sto_rdb_catalogue_add(struct rdb_catalogue_maker *m, struct slice id, uint64_t entries)
{
    size_t shared = 0;
    while (shared < id.len && shared < m->last.len && id.ptr[shared] == m->last.ptr[shared])
        shared++;
    varint_append(&m->bytes, shared);
    varint_append(&m->bytes, id.len - shared);
    (void)base_buf_append(&m->bytes, base_slice_skip(id, shared)); /* errors latch */
    varint_append(&m->bytes, entries);
    m->last = id;
}

enum err sto_rdb_catalogue_end(struct rdb_catalogue_maker *m)
{
    uint8_t check[CHECK_BYTES];
    if (m->bytes.error != ERR_OK)
        return m->bytes.error;
    check_of(base_buf_slice(&m->bytes), check);
    return base_buf_append(&m->bytes, base_slice(check, sizeof check));
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool varint_read(struct slice *in, uint64_t *out)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < 10 && in->len > 0; i++) {
        uint8_t byte = in->ptr[0];
        *in = base_slice_skip(*in, 1);
        number |= (uint64_t)(byte & 127) << (7 * i);
        if (byte < 128) {
            *out = number;
            return true;
        }
    }
    return false;
}

enum err sto_rdb_catalogue_decode(struct slice property, struct rdb_catalogue *out)
{
    uint8_t check[CHECK_BYTES];
    if (property.len < 2 + CHECK_BYTES)
        return ERR_CORRUPT;
    struct slice body = base_slice(property.ptr, property.len - CHECK_BYTES);
    check_of(body, check);
    if (memcmp(check, property.ptr + body.len, CHECK_BYTES) != 0 || body.ptr[0] != FORM ||
        body.ptr[1] > KIND_TOO_MANY)
        return ERR_CORRUPT;
    struct rdb_catalogue c = {.too_many = body.ptr[1] == KIND_TOO_MANY};
    c.list = base_slice_skip(body, 2);
    if (!varint_read(&c.list, &c.entries))
        return ERR_CORRUPT;
    *out = c;
    return ERR_OK;
}

enum err sto_rdb_catalogue_each(const struct rdb_catalogue *c, rdb_catalogue_visit *visit,
                                void *ctx)
{
    uint8_t id[LIM_TENANT_ID];
    size_t len = 0;
    struct slice in = c->list;
    enum err rc = ERR_OK;
    while (rc == ERR_OK && in.len > 0) {
        uint64_t shared, rest, entries;
        if (!varint_read(&in, &shared) || !varint_read(&in, &rest) || shared > len ||
            rest > in.len || rest > LIM_TENANT_ID - shared)
            return ERR_CORRUPT;
        len = (size_t)(shared + rest);
        memcpy(id + shared, in.ptr, (size_t)rest);
        in = base_slice_skip(in, (size_t)rest);
        if (!varint_read(&in, &entries))
            return ERR_CORRUPT;
        rc = visit(ctx, base_slice(id, len), entries);
    }
    return rc;
}

enum err sto_rdb_catalogue_read(const char *path, struct buf *out, uint64_t *out_bytes)
{
    return sto_rdb_table_property(path, RDB_CATALOGUE_PROPERTY, out, out_bytes);
}
