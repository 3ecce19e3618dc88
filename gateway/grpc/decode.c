/*
 * gateway/grpc/decode.c - decodes untrusted protobuf messages.
 *
 * Mechanism: one walk over the bytes fills in messages in protobuf-c's layout, by protobuf-c's own
 * descriptors. protobuf_c_message_unpack is not used, because hostile bytes can abuse it: it
 * recurses without a bound, keeps copies of unknown fields and 32 bytes for every field of a
 * message while it reads the message, copies all earlier content when a message is repeated,
 * refuses to merge messages with an empty oneof, checks neither the wire type of a bool nor the
 * contents of text, and needs a second copy of every cell.
 *
 * Invariants:
 *   1. levels[0] is the whole message, levels[depth - 1] the one that `at` is in; `at` never passes
 *      the end of any of them, since an inner end is checked against the outer one.
 *   2. A list of n elements has memory for the smallest power of two that is not less than n: it
 *      moves when n is a power of two, and all its moves together cost at most twice its length.
 */
#include "gateway/grpc/decode.h"

#include <stdalign.h>

#include "base/text.h"

#include "base/banned.h"

#define VARINT_BYTES_MAX 10
#define TAG_NUMBER_SHIFT 3
#define TAG_WIRE_MASK    7

struct level {
    ProtobufCMessage *message;
    const uint8_t *end;
};

struct walk {
    const uint8_t *at;
    struct arena *arena;
    struct errbuf *eb;
    size_t fields; /* fields and elements of packed lists that were started */
    size_t depth;
    struct level levels[GW_PROTO_DEPTH];
};

/* A field as it is encoded. */
struct taken {
    uint32_t id;
    uint8_t wire;
    const ProtobufCFieldDescriptor *field; /* NULL: unknown */
    uint64_t number;
    struct slice bytes;
};

static struct level *top(struct walk *w)
{
    return &w->levels[w->depth - 1];
}

static size_t left(struct walk *w)
{
    return (size_t)(top(w)->end - w->at);
}

static enum err refuse(struct walk *w, const struct taken *t, const char *why)
{
    const char *type = top(w)->message->descriptor->name;
    if (t->field != NULL)
        return base_fail(w->eb, ERR_INVALID, "field %s of %s %s", t->field->name, type, why);
    return base_fail(w->eb, ERR_INVALID, "field %u of %s %s", (unsigned)t->id, type, why);
}

static enum err refuse_memory(struct walk *w, size_t bytes)
{
    size_t space = w->arena->max - w->arena->used;
    if (space < alignof(max_align_t) || bytes > space - alignof(max_align_t))
        return base_fail(w->eb, ERR_TOO_BIG, "the message takes more than %zu bytes in memory",
                         w->arena->max);
    return base_fail(w->eb, ERR_NO_MEMORY, "no memory for the message");
}

/* --- bytes --------------------------------------------------------------------------------------
 */

/* Reads a varint; false when [*at, end) does not start with one of at most 64 bits. */
static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    uint64_t value = 0;
    const uint8_t *from = *at;
    for (unsigned i = 0; i < VARINT_BYTES_MAX && from < end; i++) {
        uint8_t byte = *from++;
        if (i == VARINT_BYTES_MAX - 1 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7F) << 7 * i;
        if (byte < 0x80) {
            *at = from;
            *out = value;
            return true;
        }
    }
    return false;
}

/* Reads `width` bytes, little-endian, at most 8; the caller has checked that they exist. */
static uint64_t take_fixed(const uint8_t **at, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)(*at)[i] << 8 * i;
    *at += width;
    return value;
}

static enum err count_field(struct walk *w)
{
    if (w->fields++ < GW_PROTO_FIELDS)
        return ERR_OK;
    return base_fail(w->eb, ERR_TOO_BIG, "the message has more than %d fields", GW_PROTO_FIELDS);
}

static enum err take_tag(struct walk *w, struct taken *out)
{
    const char *type = top(w)->message->descriptor->name;
    uint64_t tag;
    if (!take_varint(&w->at, top(w)->end, &tag) || tag > UINT32_MAX)
        return base_fail(w->eb, ERR_INVALID, "a field's tag in %s is cut short or too long", type);
    *out = (struct taken){.id = (uint32_t)tag >> TAG_NUMBER_SHIFT, .wire = tag & TAG_WIRE_MASK};
    if (out->id == 0)
        return base_fail(w->eb, ERR_INVALID, "a field of %s has the number 0", type);
    out->field =
        protobuf_c_message_descriptor_get_field(top(w)->message->descriptor, (unsigned)out->id);
    return ERR_OK;
}

static enum err take_value(struct walk *w, struct taken *t)
{
    unsigned width = t->wire == PROTOBUF_C_WIRE_TYPE_32BIT ? 4 : 8;
    switch (t->wire) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        if (!take_varint(&w->at, top(w)->end, &t->number))
            return refuse(w, t, "is cut short or has more than 64 bits");
        return ERR_OK;
    case PROTOBUF_C_WIRE_TYPE_32BIT:
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        if (left(w) < width)
            return refuse(w, t, "is cut short");
        t->number = take_fixed(&w->at, width);
        return ERR_OK;
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        if (!take_varint(&w->at, top(w)->end, &t->number) || t->number > left(w))
            return refuse(w, t, "is longer than what it is in");
        t->bytes = base_slice(w->at, (size_t)t->number);
        w->at += t->bytes.len;
        return ERR_OK;
    default: /* groups, and undefined wire types */
        return refuse(w, t, "has a wire type that is not supported");
    }
}

/* --- values ------------------------------------------------------------------------------------
 */

static uint8_t wire_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return PROTOBUF_C_WIRE_TYPE_32BIT;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return PROTOBUF_C_WIRE_TYPE_64BIT;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_BOOL:
    case PROTOBUF_C_TYPE_ENUM:
        break;
    }
    return PROTOBUF_C_WIRE_TYPE_VARINT;
}

size_t gw_proto_value_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return sizeof(uint64_t);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
        return sizeof(char *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(ProtobufCMessage *);
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_ENUM:
        break;
    }
    return sizeof(uint32_t);
}

static void put_number(ProtobufCType type, void *member, uint64_t number)
{
    protobuf_c_boolean truth = number != 0;
    uint32_t low = (uint32_t)number; /* 32-bit numbers are truncated, as protobuf specifies */
    if (type == PROTOBUF_C_TYPE_SINT32)
        low = low >> 1 ^ (0 - (low & 1));
    if (type == PROTOBUF_C_TYPE_SINT64)
        number = number >> 1 ^ (0 - (number & 1));
    if (type == PROTOBUF_C_TYPE_BOOL)
        memcpy(member, &truth, sizeof truth);
    else if (gw_proto_value_size(type) == sizeof low)
        memcpy(member, &low, sizeof low);
    else
        memcpy(member, &number, sizeof number);
}

static enum err put_text(struct walk *w, const struct taken *t, char **member)
{
    if (!base_utf8_is_valid(t->bytes))
        return refuse(w, t, "is not valid UTF-8");
    /* Where absence can be represented, protobuf-c uses a pointer to its own empty string for
     * it. */
    bool has_presence = (t->field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 ||
                        t->field->label == PROTOBUF_C_LABEL_OPTIONAL;
    if (t->bytes.len == 0 && !has_presence) {
        *member = (char *)(uintptr_t)protobuf_c_empty_string; /* only read */
        return ERR_OK;
    }
    if (t->bytes.len > 0 && memchr(t->bytes.ptr, '\0', t->bytes.len) != NULL)
        return refuse(w, t, "holds a NUL character");
    char *text = base_arena_text(w->arena, t->bytes);
    if (text == NULL)
        return refuse_memory(w, t->bytes.len + 1);
    *member = text;
    return ERR_OK;
}

/* Continues inside the message at *member, which is created if it does not exist yet. */
static enum err enter(struct walk *w, const struct taken *t, ProtobufCMessage **member)
{
    const ProtobufCMessageDescriptor *type = t->field->descriptor;
    if (w->depth == GW_PROTO_DEPTH)
        return base_fail(w->eb, ERR_TOO_BIG, "messages are nested more than %d deep",
                         GW_PROTO_DEPTH);
    if (*member == NULL) {
        ProtobufCMessage *message = base_arena_alloc(w->arena, type->sizeof_message);
        if (message == NULL)
            return refuse_memory(w, type->sizeof_message);
        protobuf_c_message_init(type, message);
        *member = message;
    }
    w->at = t->bytes.ptr;
    w->levels[w->depth++] = (struct level){*member, t->bytes.ptr + t->bytes.len};
    return ERR_OK;
}

static enum err put(struct walk *w, const struct taken *t, void *member)
{
    ProtobufCBinaryData *data = member;
    switch (t->field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return enter(w, t, member);
    case PROTOBUF_C_TYPE_STRING:
        return put_text(w, t, member);
    case PROTOBUF_C_TYPE_BYTES:
        data->len = t->bytes.len;
        data->data = t->bytes.len == 0 ? NULL : (uint8_t *)(uintptr_t)t->bytes.ptr; /* only read */
        return ERR_OK;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_BOOL:
    case PROTOBUF_C_TYPE_ENUM:
        break;
    }
    put_number(t->field->type, member, t->number);
    return ERR_OK;
}

/* --- fields ------------------------------------------------------------------------------------
 */

static void *at_offset(ProtobufCMessage *message, unsigned offset)
{
    return (uint8_t *)message + offset;
}

static enum err put_single(struct walk *w, const struct taken *t)
{
    const ProtobufCFieldDescriptor *field = t->field;
    ProtobufCMessage *message = top(w)->message;
    void *member = at_offset(message, field->offset);
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        uint32_t *which = at_offset(message, field->quantifier_offset);
        if (*which != field->id) /* a member that was set before, if any, was of another type */
            memset(member, 0, gw_proto_value_size(field->type));
        *which = field->id;
    } else if (field->label == PROTOBUF_C_LABEL_OPTIONAL && field->quantifier_offset != 0) {
        *(protobuf_c_boolean *)at_offset(message, field->quantifier_offset) = true;
    }
    return put(w, t, member);
}

/* Appends a zeroed element to the list, which the caller fills in. */
static enum err add_element(struct walk *w, const ProtobufCFieldDescriptor *field, void **out)
{
    ProtobufCMessage *message = top(w)->message;
    size_t *count = at_offset(message, field->quantifier_offset);
    uint8_t **list = at_offset(message, field->offset);
    size_t size = gw_proto_value_size(field->type);
    if ((*count & (*count - 1)) == 0) { /* a power of two, or 0: full (invariant 2) */
        size_t room = *count == 0 ? 1 : *count * 2;
        uint8_t *larger = base_arena_alloc(w->arena, room * size);
        if (larger == NULL)
            return refuse_memory(w, room * size);
        if (*count > 0)
            memcpy(larger, *list, *count * size);
        *list = larger;
    }
    *out = memset(*list + *count * size, 0, size);
    (*count)++;
    return ERR_OK;
}

static enum err put_repeated(struct walk *w, const struct taken *t)
{
    void *element = NULL;
    enum err e = add_element(w, t->field, &element);
    return e == ERR_OK ? put(w, t, element) : e;
}

static enum err put_packed(struct walk *w, struct taken *t)
{
    uint8_t wire = wire_of(t->field->type);
    const uint8_t *at = t->bytes.ptr;
    const uint8_t *end = at + t->bytes.len;
    unsigned width = wire == PROTOBUF_C_WIRE_TYPE_32BIT ? 4 : 8;
    enum err e = ERR_OK;
    while (e == ERR_OK && at < end) {
        if (wire != PROTOBUF_C_WIRE_TYPE_VARINT && (size_t)(end - at) < width)
            return refuse(w, t, "is cut short");
        if (wire != PROTOBUF_C_WIRE_TYPE_VARINT)
            t->number = take_fixed(&at, width);
        else if (!take_varint(&at, end, &t->number))
            return refuse(w, t, "is cut short or has more than 64 bits");
        e = count_field(w);
        if (e == ERR_OK)
            e = put_repeated(w, t);
    }
    return e;
}

static enum err take_field(struct walk *w)
{
    struct taken t;
    enum err e = count_field(w);
    if (e == ERR_OK)
        e = take_tag(w, &t);
    if (e == ERR_OK)
        e = take_value(w, &t);
    if (e != ERR_OK || t.field == NULL)
        return e;
    bool is_list = t.field->label == PROTOBUF_C_LABEL_REPEATED;
    uint8_t wire = wire_of(t.field->type);
    if (t.wire == wire)
        return is_list ? put_repeated(w, &t) : put_single(w, &t);
    if (is_list && t.wire == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
        return put_packed(w, &t);
    return refuse(w, &t, "has the wire type of another type");
}

enum err gw_proto_decode(const ProtobufCMessageDescriptor *type, struct slice bytes,
                         struct arena *arena, ProtobufCMessage **out, struct errbuf *eb)
{
    struct walk w = {.at = bytes.ptr, .arena = arena, .eb = eb};
    ProtobufCMessage *message = base_arena_alloc(arena, type->sizeof_message);
    if (message == NULL)
        return refuse_memory(&w, type->sizeof_message);
    protobuf_c_message_init(type, message);
    w.levels[w.depth++] = (struct level){message, bytes.ptr + bytes.len};
    while (w.depth > 0) {
        if (w.at == top(&w)->end) {
            w.depth--;
            continue;
        }
        enum err e = take_field(&w);
        if (e != ERR_OK)
            return e;
    }
    *out = message;
    return ERR_OK;
}
