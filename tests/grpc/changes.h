/*
 * tests/grpc/changes.h - reads a table's change stream as strictly as the official clients.
 *
 * Does:     enable the change stream of the table of reads.h; call ReadChangeStream for a
 *           partition; follow the messages and write them as text.
 * Owns:     the request, and everything that reads.h owns.
 * May use:  tests/grpc/reads.h, libcheck.
 * Knows no: the tests.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   4,096 bytes of text.
 * Promises: 1. An answer that breaks a rule of change streams fails the test.
 */
#ifndef TESTS_GRPC_CHANGES_H
#define TESTS_GRPC_CHANGES_H

#include "base/clock.h"
#include "reads.h"

#include "base/banned.h"

#define BIGTABLE   "/google.bigtable.v2.Bigtable/"
#define READ       BIGTABLE "ReadChangeStream"
#define PARTITIONS BIGTABLE "GenerateInitialChangeStreamPartitions"
#define ADMIN      "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define DAY_S      86400

static Bt__ReadChangeStreamRequest ask;
static Bt__StreamPartition part;
static Google__Protobuf__Timestamp start_time, end_time;
static Google__Protobuf__Duration heartbeat;
static Bt__StreamContinuationTokens tokens;
static Bt__StreamContinuationToken token;
static Bt__StreamContinuationToken *token_list[2] = {&token, &token};
static char token_text[128];
static int64_t began_us;

UNUSED_FN static void set_time(Google__Protobuf__Timestamp *t, int64_t us)
{
    google__protobuf__timestamp__init(t);
    t->seconds = us / 1000000;
    t->nanos = (int32_t)(us % 1000000) * 1000;
}

UNUSED_FN static void stream_on(void)
{
    http_json(w.http, "PUT",
              "{'families':{'stats':{},'raw':{},'sum':{'type':'sum'}},"
              "'change_stream_retention':'86400s'}",
              "/v1/tables/devices");
    EXPECT_STATUS(w.http, 200);
    began_us = base_wall_us();
}

UNUSED_FN static void begin(void)
{
    set_up();
    stream_on();
    bt__read_change_stream_request__init(&ask);
    bt__stream_partition__init(&part);
    bt__stream_continuation_tokens__init(&tokens);
    bt__stream_continuation_token__init(&token);
    google__protobuf__duration__init(&heartbeat);
    ask.table_name = table;
    ask.partition = &part;
    part.row_range = &range;
    range.start_key_case = BT__ROW_RANGE__START_KEY_START_KEY_CLOSED;
    range.end_key_case = BT__ROW_RANGE__END_KEY_END_KEY_OPEN;
    ask.start_from_case = BT__READ_CHANGE_STREAM_REQUEST__START_FROM_START_TIME;
    ask.start_time = &start_time;
    set_time(&start_time, began_us);
}

UNUSED_FN static void use_token(const char *text)
{
    if (text != token_text)
        (void)snprintf(token_text, sizeof token_text, "%s", text);
    token.partition = &part;
    token.token = token_text;
    tokens.tokens = token_list;
    tokens.n_tokens = 1;
    ask.start_from_case = BT__READ_CHANGE_STREAM_REQUEST__START_FROM_CONTINUATION_TOKENS;
    ask.continuation_tokens = &tokens;
}

UNUSED_FN static void use_end_now(void)
{
    set_time(&end_time, base_wall_us());
    ask.end_time = &end_time;
}

UNUSED_FN static void use_heartbeat_ms(int ms)
{
    heartbeat.nanos = ms % 1000 * 1000000;
    heartbeat.seconds = ms / 1000;
    ask.heartbeat_duration = &heartbeat;
}

/* --- responses ---------------------------------------------------------------------------------
 */

UNUSED_FN static Bt__ReadChangeStreamResponse *response(const struct grpc_call *call, size_t n)
{
    struct slice bytes = grpc_message(call, n);
    if (bytes.ptr == NULL)
        return NULL;
    Bt__ReadChangeStreamResponse *m =
        bt__read_change_stream_response__unpack(NULL, bytes.len, bytes.ptr);
    ck_assert_ptr_nonnull(m);
    return m;
}

UNUSED_FN static void response_free(Bt__ReadChangeStreamResponse *m)
{
    bt__read_change_stream_response__free_unpacked(m, NULL);
}

/* Follows a stream as the official clients do, and writes its contents as text. */
struct follower {
    char text[4096];
    size_t len;
    bool in_change;
    int64_t value_bytes; /* bytes so far of the open chunked value, and its total length */
    int64_t value_size;
    int64_t last_commit_us;
    int64_t last_watermark_us;
    size_t changes;
    size_t heartbeats;
    size_t next; /* index of the next message */
    bool closed;
};

UNUSED_FN static void say(struct follower *f, const char *what, const char *family,
                          ProtobufCBinaryData q)
{
    f->len += (size_t)snprintf(f->text + f->len, sizeof f->text - f->len, "%s %s:%.*s", what,
                               family, (int)q.len, (const char *)q.data);
}

UNUSED_FN static void follow_set(struct follower *f,
                                 const Bt__ReadChangeStreamResponse__MutationChunk *c,
                                 bool is_first, bool is_last)
{
    const Bt__Mutation__SetCell *set = c->mutation->set_cell;
    if (c->chunk_info == NULL) {
        say(f, "set", set->family_name, set->column_qualifier);
        f->len += (size_t)snprintf(f->text + f->len, sizeof f->text - f->len, "@%lld=%.*s,",
                                   (long long)set->timestamp_micros, (int)set->value.len,
                                   (const char *)set->value.data);
        return;
    }
    if (c->chunk_info->chunked_value_offset == 0) {
        ck_assert_int_gt(c->chunk_info->chunked_value_size, 0);
        say(f, "big", set->family_name, set->column_qualifier);
        f->value_size = c->chunk_info->chunked_value_size;
        f->value_bytes = 0;
    } else {
        ck_assert(is_first);
    }
    ck_assert_int_eq(c->chunk_info->chunked_value_size, f->value_size);
    ck_assert_int_eq(c->chunk_info->chunked_value_offset, f->value_bytes);
    f->value_bytes += (int64_t)set->value.len;
    if (!c->chunk_info->last_chunk) {
        ck_assert(is_last);
        return;
    }
    ck_assert_int_eq(f->value_bytes, f->value_size);
    f->len += (size_t)snprintf(f->text + f->len, sizeof f->text - f->len, "=%lld bytes,",
                               (long long)f->value_size);
}

UNUSED_FN static void follow_chunk(struct follower *f,
                                   const Bt__ReadChangeStreamResponse__MutationChunk *c,
                                   bool is_first, bool is_last)
{
    const Bt__Mutation *m = c->mutation;
    static const ProtobufCBinaryData none;
    switch ((int)m->mutation_case) {
    case BT__MUTATION__MUTATION_SET_CELL:
        follow_set(f, c, is_first, is_last);
        return;
    case BT__MUTATION__MUTATION_DELETE_FROM_FAMILY:
        say(f, "-family", m->delete_from_family->family_name, none);
        break;
    case BT__MUTATION__MUTATION_DELETE_FROM_COLUMN:
        say(f, "-column", m->delete_from_column->family_name,
            m->delete_from_column->column_qualifier);
        if (m->delete_from_column->time_range != NULL)
            f->len += (size_t)snprintf(
                f->text + f->len, sizeof f->text - f->len, "[%lld,%lld)",
                (long long)m->delete_from_column->time_range->start_timestamp_micros,
                (long long)m->delete_from_column->time_range->end_timestamp_micros);
        break;
    case BT__MUTATION__MUTATION_ADD_TO_CELL:
        ck_assert_int_eq(m->add_to_cell->column_qualifier->kind_case, BT__VALUE__KIND_RAW_VALUE);
        ck_assert_int_eq(m->add_to_cell->timestamp->kind_case,
                         BT__VALUE__KIND_RAW_TIMESTAMP_MICROS);
        ck_assert_int_eq(m->add_to_cell->input->kind_case, BT__VALUE__KIND_INT_VALUE);
        say(f, "add", m->add_to_cell->family_name, m->add_to_cell->column_qualifier->raw_value);
        f->len += (size_t)snprintf(f->text + f->len, sizeof f->text - f->len, "+%lld",
                                   (long long)m->add_to_cell->input->int_value);
        break;
    default:
        ck_abort_msg("a mutation of a kind that clients do not take: %d", (int)m->mutation_case);
    }
    f->len += (size_t)snprintf(f->text + f->len, sizeof f->text - f->len, ",");
}

UNUSED_FN static int64_t us_of(const Google__Protobuf__Timestamp *t)
{
    ck_assert_ptr_nonnull(t);
    return t->seconds * 1000000 + t->nanos / 1000;
}

UNUSED_FN static void take_watermark(struct follower *f, const Google__Protobuf__Timestamp *t)
{
    ck_assert_int_ge(us_of(t), f->last_watermark_us);
    f->last_watermark_us = us_of(t);
}

UNUSED_FN static void follow_change(struct follower *f,
                                    const Bt__ReadChangeStreamResponse__DataChange *c)
{
    typedef Bt__ReadChangeStreamResponse__DataChange__Type type;
    ck_assert_uint_gt(c->n_chunks, 0);
    if (!f->in_change) {
        bool is_user = c->type == (type)BT__READ_CHANGE_STREAM_RESPONSE__DATA_CHANGE__TYPE__USER;
        ck_assert(is_user ||
                  c->type ==
                      (type)BT__READ_CHANGE_STREAM_RESPONSE__DATA_CHANGE__TYPE__GARBAGE_COLLECTION);
        ck_assert_str_eq(c->source_cluster_id, is_user ? "main" : "");
        ck_assert_uint_gt(c->row_key.len, 0);
        ck_assert_int_gt(us_of(c->commit_timestamp), f->last_commit_us);
        ck_assert_int_gt(us_of(c->commit_timestamp), f->last_watermark_us);
        f->last_commit_us = us_of(c->commit_timestamp);
        f->len += (size_t)snprintf(f->text + f->len, sizeof f->text - f->len,
                                   "%s%.*s:", is_user ? "" : "gc ", (int)c->row_key.len,
                                   (const char *)c->row_key.data);
    } else {
        ck_assert_int_eq((int)c->type,
                         (int)BT__READ_CHANGE_STREAM_RESPONSE__DATA_CHANGE__TYPE__CONTINUATION);
    }
    for (size_t i = 0; i < c->n_chunks; i++)
        follow_chunk(f, c->chunks[i], i == 0, i + 1 == c->n_chunks);
    f->in_change = !c->done;
    if (!c->done)
        return;
    ck_assert_str_ne(c->token, "");
    take_watermark(f, c->estimated_low_watermark);
    (void)snprintf(token_text, sizeof token_text, "%s", c->token);
    f->changes++;
    f->len += (size_t)snprintf(f->text + f->len, sizeof f->text - f->len, ";");
}

/* Handles all messages of the call that were not handled before. */
UNUSED_FN static void follow(struct follower *f, const struct grpc_call *call)
{
    Bt__ReadChangeStreamResponse *m;
    for (; (m = response(call, f->next)) != NULL; f->next++) {
        ck_assert(!f->closed);
        if (m->stream_record_case == BT__READ_CHANGE_STREAM_RESPONSE__STREAM_RECORD_DATA_CHANGE) {
            follow_change(f, m->data_change);
        } else if (m->stream_record_case ==
                   BT__READ_CHANGE_STREAM_RESPONSE__STREAM_RECORD_HEARTBEAT) {
            ck_assert(!f->in_change);
            take_watermark(f, m->heartbeat->estimated_low_watermark);
            ck_assert_ptr_nonnull(m->heartbeat->continuation_token->partition);
            (void)snprintf(token_text, sizeof token_text, "%s",
                           m->heartbeat->continuation_token->token);
            f->heartbeats++;
        } else {
            ck_assert(!f->in_change);
            ck_assert_ptr_nonnull(m->close_stream->status);
            ck_assert_int_eq(m->close_stream->status->code, 0);
            ck_assert_uint_eq(m->close_stream->n_new_partitions, 0);
            f->closed = true;
        }
        response_free(m);
    }
}

/* Expects these changes from the request's start up to now. */
UNUSED_FN static void expect_changes(const char *wanted)
{
    static struct follower f;
    memset(&f, 0, sizeof f);
    use_end_now();
    const struct grpc_call *call = grpc_ask(&client, READ, &ask.base);
    ck_assert_msg(call->status == GW_STATUS_OK, "status %d: %s", call->status, call->message);
    follow(&f, call);
    ck_assert(f.closed);
    ck_assert_str_eq(f.text, wanted);
}

UNUSED_FN static void expect_no(enum gw_status_code status, const char *word)
{
    const struct grpc_call *call = grpc_ask(&client, READ, &ask.base);
    ck_assert_msg(call->status == (int)status, "status %d: %s", call->status, call->message);
    ck_assert_msg(strstr(call->message, word) != NULL, "%s", call->message);
}

#endif
