/*
 * gateway/grpc/mutation_proto.c - one message, one mutation.
 */
#include "gateway/grpc/mutation_proto.h"

#include "base/clock.h"
#include "gateway/cell_fields.h"
#include "gateway/grpc/decode.h"
#include "gateway/grpc/time_proto.h"

#include "base/banned.h"

#define US_PER_MS 1000

struct reader {
    const struct sto_schema *schema;
    struct arena *arena;
    const struct sto_family *family; /* of the mutation or rule being read */
    struct sto_mutation *out;
    struct errbuf *eb;
};

/* --- fields ----------------------------------------------------------------------------------- */

static enum err take_family(struct reader *r, const char *name)
{
    enum err e = gw_family_find(r->schema, base_slice_text(name), &r->family, r->eb);
    if (e == ERR_OK)
        r->out->family = r->family->number;
    return e;
}

static enum err take_column(struct reader *r, const char *family, ProtobufCBinaryData qualifier)
{
    r->out->qualifier = gw_proto_bytes(qualifier);
    return take_family(r, family);
}

/* Reads a column that is named by a Value. */
static enum err take_raw_column(struct reader *r, const char *family, const Bt__Value *qualifier)
{
    if (qualifier == NULL || qualifier->kind_case != BT__VALUE__KIND_RAW_VALUE)
        return base_fail(r->eb, ERR_INVALID, "column_qualifier must be a raw_value");
    return take_column(r, family, qualifier->raw_value);
}

static enum err take_raw_timestamp(struct reader *r, const Bt__Value *timestamp)
{
    if (timestamp == NULL || timestamp->kind_case != BT__VALUE__KIND_RAW_TIMESTAMP_MICROS)
        return base_fail(r->eb, ERR_INVALID, "timestamp must be a raw_timestamp_micros");
    r->out->timestamp_us = timestamp->raw_timestamp_micros;
    return ERR_OK;
}

static enum err take_typed(struct reader *r, struct slice bytes)
{
    r->out->value = bytes;
    return gw_input_check(r->family, false, r->eb);
}

/* Reads an input or a state. Raw bytes have the type of the family: sto_mutations_check checks
 * them, and whether a state is valid. */
static enum err take_input(struct reader *r, const Bt__Value *input)
{
    Bt__Value__KindCase kind = input == NULL ? BT__VALUE__KIND__NOT_SET : input->kind_case;
    if (kind == BT__VALUE__KIND_RAW_VALUE) {
        r->out->value = gw_proto_bytes(input->raw_value);
        return ERR_OK;
    }
    if (kind == BT__VALUE__KIND_BYTES_VALUE)
        return take_typed(r, gw_proto_bytes(input->bytes_value));
    if (kind == BT__VALUE__KIND_STRING_VALUE)
        return take_typed(r, base_slice_text(input->string_value));
    if (kind != BT__VALUE__KIND_INT_VALUE)
        return base_fail(
            r->eb, ERR_INVALID,
            "input must be an int_value, a bytes_value, a string_value or a raw_value");
    enum err e = gw_input_check(r->family, true, r->eb);
    return e == ERR_OK ? gw_integer_bytes(input->int_value, r->arena, &r->out->value, r->eb) : e;
}

/* --- mutations -------------------------------------------------------------------------------- */

static enum err read_set_cell(struct reader *r, const Bt__Mutation__SetCell *from)
{
    r->out->kind = STO_SET_CELL;
    r->out->value = gw_proto_bytes(from->value);
    r->out->timestamp_us = from->timestamp_micros;
    return take_column(r, from->family_name, from->column_qualifier);
}

static enum err read_add_to_cell(struct reader *r, const Bt__Mutation__AddToCell *from)
{
    r->out->kind = STO_ADD_TO_CELL;
    enum err e = take_raw_column(r, from->family_name, from->column_qualifier);
    if (e == ERR_OK)
        e = take_raw_timestamp(r, from->timestamp);
    return e == ERR_OK ? take_input(r, from->input) : e;
}

static enum err read_merge_to_cell(struct reader *r, const Bt__Mutation__MergeToCell *from)
{
    r->out->kind = STO_MERGE_TO_CELL;
    enum err e = take_raw_column(r, from->family_name, from->column_qualifier);
    if (e == ERR_OK)
        e = take_raw_timestamp(r, from->timestamp);
    return e == ERR_OK ? take_input(r, from->input) : e;
}

static enum err read_delete_from_column(struct reader *r,
                                        const Bt__Mutation__DeleteFromColumn *from)
{
    r->out->kind = STO_DELETE_FROM_COLUMN;
    if (from->time_range != NULL) {
        r->out->start_us = from->time_range->start_timestamp_micros;
        r->out->end_us = from->time_range->end_timestamp_micros;
    }
    return take_column(r, from->family_name, from->column_qualifier);
}

static enum err read_kind(struct reader *r, const Bt__Mutation *message)
{
    switch (message->mutation_case) {
    case BT__MUTATION__MUTATION_SET_CELL:
        return read_set_cell(r, message->set_cell);
    case BT__MUTATION__MUTATION_ADD_TO_CELL:
        return read_add_to_cell(r, message->add_to_cell);
    case BT__MUTATION__MUTATION_MERGE_TO_CELL:
        return read_merge_to_cell(r, message->merge_to_cell);
    case BT__MUTATION__MUTATION_DELETE_FROM_COLUMN:
        return read_delete_from_column(r, message->delete_from_column);
    case BT__MUTATION__MUTATION_DELETE_FROM_FAMILY:
        r->out->kind = STO_DELETE_FROM_FAMILY;
        return take_family(r, message->delete_from_family->family_name);
    case BT__MUTATION__MUTATION_DELETE_FROM_ROW:
        r->out->kind = STO_DELETE_FROM_ROW;
        return ERR_OK;
    case BT__MUTATION__MUTATION__NOT_SET:
    case _BT__MUTATION__MUTATION__CASE_IS_INT_SIZE:
        break;
    }
    return base_fail(r->eb, ERR_INVALID,
                     "it says nothing of what to change, or is of a kind not known here");
}

static enum err read_mutation(struct reader *r, const void *list, size_t index)
{
    Bt__Mutation *const *messages = list;
    const Bt__Mutation *message = messages[index];
    enum err e = read_kind(r, message);
    bool made_by_client =
        message->timestamp_origin == BT__MUTATION__TIMESTAMP_ORIGIN__CLIENT_AUTO_GENERATED;
    if (made_by_client && r->out->timestamp_us > 0)
        r->out->timestamp_us -= r->out->timestamp_us % US_PER_MS;
    return e;
}

/* --- rules ------------------------------------------------------------------------------------ */

static enum err read_rule(struct reader *r, const void *list, size_t index)
{
    Bt__ReadModifyWriteRule *const *messages = list;
    const Bt__ReadModifyWriteRule *message = messages[index];
    if (message->rule_case == BT__READ_MODIFY_WRITE_RULE__RULE_APPEND_VALUE) {
        r->out->kind = STO_APPEND;
        r->out->value = gw_proto_bytes(message->append_value);
    } else if (message->rule_case == BT__READ_MODIFY_WRITE_RULE__RULE_INCREMENT_AMOUNT) {
        r->out->kind = STO_INCREMENT;
        r->out->increment = message->increment_amount;
    } else {
        return base_fail(r->eb, ERR_INVALID, "give append_value or increment_amount");
    }
    return take_column(r, message->family_name, message->column_qualifier);
}

/* --- lists ------------------------------------------------------------------------------------ */

struct shape {
    const char *noun;
    size_t max;
    enum err (*read)(struct reader *r, const void *list, size_t index);
};

struct source {
    const struct sto_schema *schema;
    struct arena *arena;
    const void *list; /* of pointers to messages */
    size_t count;
};

static enum err read_list(const struct source *from, const struct shape *shape,
                          struct sto_mutation **out, struct errbuf *eb)
{
    if (from->count > shape->max)
        return base_fail(eb, ERR_TOO_BIG, "Too many %ss: %zu provided; limit %zu", shape->noun,
                         from->count, shape->max);
    struct sto_mutation *mutations =
        base_arena_zalloc(from->arena, (from->count + 1) * sizeof *mutations);
    if (mutations == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu %ss", from->count, shape->noun);
    for (size_t i = 0; i < from->count; i++) {
        struct errbuf why = {{0}};
        struct reader r = {
            .schema = from->schema, .arena = from->arena, .out = &mutations[i], .eb = &why};
        enum err e = shape->read(&r, from->list, i);
        if (e != ERR_OK)
            return base_fail(eb, e, "%s %zu: %s", shape->noun, i + 1, why.text);
    }
    *out = mutations;
    return ERR_OK;
}

enum err gw_mutations_from_proto(const struct sto_schema *schema, Bt__Mutation *const *messages,
                                 size_t count, struct arena *arena, struct sto_mutation **out,
                                 struct errbuf *eb)
{
    static const struct shape shape = {"mutation", LIM_MUTATIONS_PER_ROW, read_mutation};
    return read_list(&(struct source){schema, arena, messages, count}, &shape, out, eb);
}

enum err gw_rules_from_proto(const struct sto_schema *schema,
                             Bt__ReadModifyWriteRule *const *messages, size_t count,
                             struct arena *arena, struct sto_mutation **out, struct errbuf *eb)
{
    static const struct shape shape = {"rule", LIM_MODIFY_RULES, read_rule};
    return read_list(&(struct source){schema, arena, messages, count}, &shape, out, eb);
}

/* --- tokens ----------------------------------------------------------------------------------- */

enum err gw_idempotency_from_proto(const Bt__Idempotency *message, struct sto_idempotency *out,
                                   struct errbuf *eb)
{
    *out = (struct sto_idempotency){.token = SLICE_EMPTY};
    if (message == NULL)
        return ERR_OK;
    /* The engine refuses other lengths; it would treat an empty token as none. */
    if (message->token.len == 0)
        return base_fail(eb, ERR_INVALID, "the idempotency token is empty; it needs %d to %d bytes",
                         LIM_IDEMPOTENCY_TOKEN_MIN, LIM_IDEMPOTENCY_TOKEN);
    int64_t start_us = base_wall_us();
    const Google__Protobuf__Timestamp *start = message->start_time;
    if (start != NULL && !gw_time_from_proto(start, &start_us))
        return base_fail(eb, ERR_INVALID, "the idempotency start_time is out of range");
    *out = (struct sto_idempotency){.token = gw_proto_bytes(message->token), .start_us = start_us};
    return ERR_OK;
}

/* --- bytes to be stored ------------------------------------------------------------------------
 */

/* Returns the bytes of a value; an integer is stored in 64 bits. */
static uint64_t value_bytes(const Bt__Value *value)
{
    Bt__Value__KindCase kind = value == NULL ? BT__VALUE__KIND__NOT_SET : value->kind_case;
    if (kind == BT__VALUE__KIND_RAW_VALUE)
        return value->raw_value.len;
    if (kind == BT__VALUE__KIND_BYTES_VALUE)
        return value->bytes_value.len;
    if (kind == BT__VALUE__KIND_STRING_VALUE)
        return strlen(value->string_value);
    return kind == BT__VALUE__KIND_INT_VALUE ? sizeof value->int_value : 0;
}

static uint64_t mutation_bytes(const Bt__Mutation *message)
{
    switch (message->mutation_case) {
    case BT__MUTATION__MUTATION_SET_CELL:
        return message->set_cell->column_qualifier.len + message->set_cell->value.len;
    case BT__MUTATION__MUTATION_ADD_TO_CELL:
        return value_bytes(message->add_to_cell->column_qualifier) +
               value_bytes(message->add_to_cell->input);
    case BT__MUTATION__MUTATION_MERGE_TO_CELL:
        return value_bytes(message->merge_to_cell->column_qualifier) +
               value_bytes(message->merge_to_cell->input);
    case BT__MUTATION__MUTATION_DELETE_FROM_COLUMN:
        return message->delete_from_column->column_qualifier.len;
    case BT__MUTATION__MUTATION_DELETE_FROM_FAMILY:
    case BT__MUTATION__MUTATION_DELETE_FROM_ROW:
    case BT__MUTATION__MUTATION__NOT_SET:
    case _BT__MUTATION__MUTATION__CASE_IS_INT_SIZE:
        break;
    }
    return 0;
}

uint64_t gw_mutations_proto_bytes(Bt__Mutation *const *messages, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += mutation_bytes(messages[i]);
    return bytes;
}
