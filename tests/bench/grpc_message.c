/*
 * tests/bench/grpc_message.c - a request is packed once; a row's key and value are written over.
 */
#define _GNU_SOURCE
#include "tests/bench/grpc_message.h"

#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/bigtable/v2/bigtable.pb-c.h>

#include "base/limits.h"
#include "gateway/grpc/frame.h"
#include "tests/bench/bench.h"

#include "base/banned.h"

#define VALUES     64
#define KEY_PREFIX "row-"
#define KEY_DIGITS 10
#define KEY_BYTES  (sizeof KEY_PREFIX - 1 + KEY_DIGITS)
#define BYTES_MAX  (16 * KIB)

static struct slice value_of(uint64_t row)
{
    static char values[VALUES][GRPC_VALUE_BYTES];
    for (size_t i = 0; values[0][0] == '\0' && i < VALUES; i++)
        bench_fill(values[VALUES - 1 - i], GRPC_VALUE_BYTES, VALUES - i);
    return base_slice(values[row % VALUES], GRPC_VALUE_BYTES);
}

static void put_digits(uint8_t *to, uint64_t n)
{
    for (size_t i = KEY_DIGITS; i > 0; i--, n /= 10)
        to[i - 1] = (uint8_t)('0' + n % 10);
}

static void key_of(uint8_t out[KEY_BYTES], uint64_t row)
{
    memcpy(out, KEY_PREFIX, sizeof KEY_PREFIX - 1);
    put_digits(out + sizeof KEY_PREFIX - 1, row);
}

static size_t place_of(const struct grpc_message *m, struct slice what)
{
    const uint8_t *at = memmem(m->bytes.ptr, m->bytes.len, what.ptr, what.len);
    if (at == NULL)
        bench_fail("a request lacks what it is about");
    return (size_t)(at - m->bytes.ptr);
}

static void pack(struct grpc_message *out, const ProtobufCMessage *message)
{
    size_t len = protobuf_c_message_get_packed_size(message);
    *out = (struct grpc_message){0};
    base_buf_init(&out->bytes, BYTES_MAX);
    size_t begin = gw_frame_begin(&out->bytes);
    if (base_buf_reserve(&out->bytes, len) != ERR_OK)
        bench_fail("a request is too large");
    out->bytes.len += protobuf_c_message_pack(message, base_buf_end(&out->bytes));
    gw_frame_end(&out->bytes, begin);
}

void grpc_message_fini(struct grpc_message *m)
{
    base_buf_fini(&m->bytes);
}

/* protobuf-c declares what it packs without const but only reads it. */
static char *text(const char *constant)
{
    return (char *)(uintptr_t)constant;
}

static ProtobufCBinaryData binary(struct slice bytes)
{
    return (ProtobufCBinaryData){bytes.len, (uint8_t *)(uintptr_t)bytes.ptr};
}

void grpc_create_table(struct grpc_message *out, const char *parent, const char *table_id)
{
    Bta__CreateTableRequest request = BTA__CREATE_TABLE_REQUEST__INIT;
    Bta__Table table = BTA__TABLE__INIT;
    Bta__ColumnFamily family = BTA__COLUMN_FAMILY__INIT;
    Bta__Table__ColumnFamiliesEntry entry = BTA__TABLE__COLUMN_FAMILIES_ENTRY__INIT;
    Bta__Table__ColumnFamiliesEntry *entries[] = {&entry};
    entry.key = text("f");
    entry.value = &family;
    table.column_families = entries;
    table.n_column_families = 1;
    request.parent = text(parent);
    request.table_id = text(table_id);
    request.table = &table;
    pack(out, &request.base);
}

void grpc_delete_table(struct grpc_message *out, const char *table)
{
    Bta__DeleteTableRequest request = BTA__DELETE_TABLE_REQUEST__INIT;
    request.name = text(table);
    pack(out, &request.base);
}

void grpc_scan(struct grpc_message *out, const char *table)
{
    Bt__ReadRowsRequest request = BT__READ_ROWS_REQUEST__INIT;
    request.table_name = text(table);
    pack(out, &request.base);
}

void grpc_read_row(struct grpc_message *out, const char *table)
{
    uint8_t key[KEY_BYTES];
    Bt__ReadRowsRequest request = BT__READ_ROWS_REQUEST__INIT;
    Bt__RowSet rows = BT__ROW_SET__INIT;
    key_of(key, 0);
    ProtobufCBinaryData keys[] = {binary(base_slice(key, sizeof key))};
    rows.row_keys = keys;
    rows.n_row_keys = 1;
    request.table_name = text(table);
    request.rows = &rows;
    request.rows_limit = 1;
    pack(out, &request.base);
    out->digits_at = place_of(out, base_slice(key, sizeof key)) + sizeof KEY_PREFIX - 1;
}

void grpc_mutate_row(struct grpc_message *out, const char *table)
{
    uint8_t key[KEY_BYTES];
    Bt__MutateRowRequest request = BT__MUTATE_ROW_REQUEST__INIT;
    Bt__Mutation__SetCell set = BT__MUTATION__SET_CELL__INIT;
    Bt__Mutation mutation = BT__MUTATION__INIT;
    Bt__Mutation *mutations[] = {&mutation};
    key_of(key, 0);
    set.family_name = text("f");
    set.column_qualifier = binary(SLICE_LIT("q"));
    set.timestamp_micros = 1000;
    set.value = binary(value_of(0));
    mutation.mutation_case = BT__MUTATION__MUTATION_SET_CELL;
    mutation.set_cell = &set;
    request.table_name = text(table);
    request.row_key = binary(base_slice(key, sizeof key));
    request.mutations = mutations;
    request.n_mutations = 1;
    pack(out, &request.base);
    out->digits_at = place_of(out, base_slice(key, sizeof key)) + sizeof KEY_PREFIX - 1;
    out->value_at = place_of(out, value_of(0));
}

void grpc_set_row(struct grpc_message *m, uint64_t n)
{
    if (m->digits_at != 0)
        put_digits(m->bytes.ptr + m->digits_at, n);
    if (m->value_at != 0)
        memcpy(m->bytes.ptr + m->value_at, value_of(n).ptr, GRPC_VALUE_BYTES);
}

/* --- what is answered ---------------------------------------------------------------------------
 */

struct rows_seen {
    uint64_t next; /* the row that has to come */
    uint64_t end;
    struct buf value;
};

static void see_chunk(struct rows_seen *seen, const Bt__ReadRowsResponse__CellChunk *chunk)
{
    uint8_t key[KEY_BYTES];
    key_of(key, seen->next);
    if (seen->value.len == 0 &&
        !base_slice_equal(base_slice(chunk->row_key.data, chunk->row_key.len),
                          base_slice(key, sizeof key)))
        bench_fail("row %llu is not there", (unsigned long long)seen->next);
    if (base_buf_append(&seen->value, base_slice(chunk->value.data, chunk->value.len)) != ERR_OK)
        bench_fail("row %llu is too large", (unsigned long long)seen->next);
    if (chunk->row_status_case != BT__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_COMMIT_ROW)
        return;
    if (!base_slice_equal(base_buf_slice(&seen->value), value_of(seen->next)))
        bench_fail("row %llu is not what was written", (unsigned long long)seen->next);
    base_buf_truncate(&seen->value, 0);
    seen->next++;
}

static void see_message(struct rows_seen *seen, struct slice message)
{
    Bt__ReadRowsResponse *response = bt__read_rows_response__unpack(NULL, message.len, message.ptr);
    if (response == NULL)
        bench_fail("an answer is no ReadRowsResponse");
    for (size_t i = 0; i < response->n_chunks; i++)
        see_chunk(seen, response->chunks[i]);
    bt__read_rows_response__free_unpacked(response, NULL);
}

void grpc_check_rows(struct slice frames, uint64_t first, uint64_t count)
{
    struct rows_seen seen = {.next = first, .end = first + count};
    base_buf_init(&seen.value, GRPC_VALUE_BYTES);
    while (frames.len >= GW_FRAME_HEAD) {
        size_t len = (size_t)frames.ptr[1] << 24 | (size_t)frames.ptr[2] << 16 |
                     (size_t)frames.ptr[3] << 8 | frames.ptr[4];
        frames = base_slice_skip(frames, GW_FRAME_HEAD);
        if (len > frames.len)
            bench_fail("an answer ends inside a message");
        see_message(&seen, base_slice(frames.ptr, len));
        frames = base_slice_skip(frames, len);
    }
    if (frames.len != 0 || seen.next != seen.end)
        bench_fail("%llu rows of %llu", (unsigned long long)(seen.next - first),
                   (unsigned long long)count);
    base_buf_fini(&seen.value);
}
