#include "tests/support/every_proto.h"

#include "base/err.h"

#include "base/banned.h"

#define FIELDS (4 * EVERY_TYPES)

static ProtobufCFieldDescriptor fields[FIELDS];
static ProtobufCIntRange ranges[] = {{EVERY_SINGLE, 0},
                                     {EVERY_LIST, EVERY_TYPES},
                                     {EVERY_PACKED, 2 * EVERY_TYPES},
                                     {EVERY_ONEOF, 3 * EVERY_TYPES},
                                     {0, FIELDS}};
static ProtobufCMessageDescriptor type;

static void init(ProtobufCMessage *message)
{
    memset(message, 0, sizeof(struct every));
    message->descriptor = &type;
}

static bool is_packable(int t)
{
    return t != PROTOBUF_C_TYPE_STRING && t != PROTOBUF_C_TYPE_BYTES &&
           t != PROTOBUF_C_TYPE_MESSAGE;
}

static void describe(size_t at, enum every_kind kind, int t, ProtobufCLabel label, size_t offset,
                     size_t quantifier, uint32_t flags)
{
    fields[at] = (ProtobufCFieldDescriptor){
        .name = "of_every",
        .id = (uint32_t)kind + (uint32_t)t,
        .label = label,
        .type = (ProtobufCType)t,
        .offset = (unsigned)offset,
        .quantifier_offset = (unsigned)quantifier,
        .descriptor = t == PROTOBUF_C_TYPE_MESSAGE ? &type : NULL,
        .flags = flags,
    };
}

static void describe_type(int t)
{
    size_t value = (size_t)t * sizeof(union every_value);
    size_t count = (size_t)t * sizeof(size_t);
    bool has = t != PROTOBUF_C_TYPE_STRING && t != PROTOBUF_C_TYPE_MESSAGE;
    size_t at = (size_t)t;
    describe(at, EVERY_SINGLE, t, PROTOBUF_C_LABEL_OPTIONAL, offsetof(struct every, single) + value,
             has ? offsetof(struct every, has) + (size_t)t * sizeof(protobuf_c_boolean) : 0, 0);
    describe(EVERY_TYPES + at, EVERY_LIST, t, PROTOBUF_C_LABEL_REPEATED,
             offsetof(struct every, list) + value, offsetof(struct every, list_count) + count, 0);
    describe(2 * EVERY_TYPES + at, EVERY_PACKED, t, PROTOBUF_C_LABEL_REPEATED,
             offsetof(struct every, packed) + value, offsetof(struct every, packed_count) + count,
             is_packable(t) ? PROTOBUF_C_FIELD_FLAG_PACKED : 0);
    describe(3 * EVERY_TYPES + at, EVERY_ONEOF, t, PROTOBUF_C_LABEL_NONE,
             offsetof(struct every, oneof), offsetof(struct every, which),
             PROTOBUF_C_FIELD_FLAG_ONEOF);
}

const ProtobufCMessageDescriptor *every_type(void)
{
    for (int t = 0; t < EVERY_TYPES; t++)
        describe_type(t);
    type = (ProtobufCMessageDescriptor){
        .magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
        .name = "tests.Every",
        .sizeof_message = sizeof(struct every),
        .n_fields = FIELDS,
        .fields = fields,
        .n_field_ranges = sizeof ranges / sizeof ranges[0] - 1,
        .field_ranges = ranges,
        .message_init = init,
    };
    return &type;
}

/* --- random messages ------------------------------------------------------------------------ */

static void *take(struct arena *arena, size_t bytes)
{
    void *ptr = base_arena_zalloc(arena, bytes);
    INVARIANT(ptr != NULL);
    return ptr;
}

/* Returns a number; the lengths of its varint are evenly distributed. */
static uint64_t any_number(struct random *r)
{
    return random_next(r) >> random_below(r, 64);
}

static char *any_text(struct arena *arena, struct random *r)
{
    static const char *const PARTS[] = {"a", "projects/p", "\xc3\xa9", "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80"};
    char *text = take(arena, 64);
    size_t len = 0;
    for (uint32_t parts = random_below(r, 6); parts > 0; parts--) {
        const char *part = PARTS[random_below(r, sizeof PARTS / sizeof PARTS[0])];
        memcpy(text + len, part, strlen(part));
        len += strlen(part);
    }
    return text;
}

static void fill(ProtobufCMessage *message, struct arena *arena, struct random *r, int depth);

static void put_any(const ProtobufCFieldDescriptor *field, void *member, struct arena *arena,
                    struct random *r, int depth)
{
    uint64_t number = any_number(r);
    union every_value value = {.u64 = number};
    size_t size = sizeof value.u64;
    if (field->type == PROTOBUF_C_TYPE_BOOL) {
        value.boolean = (protobuf_c_boolean)(number & 1);
        size = sizeof value.boolean;
    } else if (field->type == PROTOBUF_C_TYPE_STRING) {
        value.text = any_text(arena, r);
    } else if (field->type == PROTOBUF_C_TYPE_BYTES) {
        value.bytes.len = random_below(r, 40);
        value.bytes.data = value.bytes.len == 0 ? NULL : take(arena, value.bytes.len);
        for (size_t i = 0; i < value.bytes.len; i++)
            value.bytes.data[i] = (uint8_t)random_next(r);
        size = sizeof value.bytes;
    } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessageDescriptor *inner = field->descriptor;
        value.message = take(arena, inner->sizeof_message);
        protobuf_c_message_init(inner, value.message);
        fill(value.message, arena, r, depth + 1);
    } else if (field->type != PROTOBUF_C_TYPE_INT64 && field->type != PROTOBUF_C_TYPE_SINT64 &&
               field->type != PROTOBUF_C_TYPE_SFIXED64 && field->type != PROTOBUF_C_TYPE_UINT64 &&
               field->type != PROTOBUF_C_TYPE_FIXED64 && field->type != PROTOBUF_C_TYPE_DOUBLE) {
        value.u32 = (uint32_t)number;
        size = sizeof value.u32;
    }
    memcpy(member, &value, size);
}

static size_t element_size(ProtobufCType t)
{
    if (t == PROTOBUF_C_TYPE_BYTES)
        return sizeof(ProtobufCBinaryData);
    bool is_small = t == PROTOBUF_C_TYPE_INT32 || t == PROTOBUF_C_TYPE_SINT32 ||
                    t == PROTOBUF_C_TYPE_SFIXED32 || t == PROTOBUF_C_TYPE_UINT32 ||
                    t == PROTOBUF_C_TYPE_FIXED32 || t == PROTOBUF_C_TYPE_FLOAT ||
                    t == PROTOBUF_C_TYPE_ENUM || t == PROTOBUF_C_TYPE_BOOL;
    return is_small ? sizeof(uint32_t) : sizeof(uint64_t);
}

static void fill_field(const ProtobufCFieldDescriptor *field, ProtobufCMessage *message,
                       struct arena *arena, struct random *r, int depth)
{
    uint8_t *at = (uint8_t *)message;
    void *member = at + field->offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t size = element_size(field->type);
        size_t count = random_below(r, 5);
        uint8_t *list = take(arena, count * size);
        for (size_t i = 0; i < count; i++)
            put_any(field, list + i * size, arena, r, depth);
        memcpy(member, &list, sizeof list);
        memcpy(at + field->quantifier_offset, &count, sizeof count);
        return;
    }
    put_any(field, member, arena, r, depth);
    protobuf_c_boolean has = 1;
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
        memcpy(at + field->quantifier_offset, &field->id, sizeof field->id);
    else if (field->quantifier_offset != 0)
        memcpy(at + field->quantifier_offset, &has, sizeof has);
}

static void fill(ProtobufCMessage *message, struct arena *arena, struct random *r, int depth)
{
    const ProtobufCMessageDescriptor *d = message->descriptor;
    for (unsigned i = 0; i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &d->fields[i];
        if (field->type == PROTOBUF_C_TYPE_MESSAGE && depth == EVERY_DEPTH)
            continue;
        if (random_below(r, d->n_fields > 10 ? 8 : 2) == 0)
            fill_field(field, message, arena, r, depth);
    }
}

ProtobufCMessage *every_random(const ProtobufCMessageDescriptor *of, struct arena *arena,
                               struct random *random)
{
    ProtobufCMessage *message = take(arena, of->sizeof_message);
    protobuf_c_message_init(of, message);
    fill(message, arena, random, 1);
    return message;
}

void every_pack(const ProtobufCMessage *message, struct buf *out)
{
    size_t len = protobuf_c_message_get_packed_size(message);
    INVARIANT(base_buf_reserve(out, len) == ERR_OK);
    if (len > 0)
        INVARIANT(protobuf_c_message_pack(message, base_buf_end(out)) == len);
    out->len += len;
}
