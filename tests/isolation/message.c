/*
 * tests/isolation/message.c - protobuf messages of any type, made of a line of text.
 */
#include "tests/isolation/message.h"

#include <check.h>
#include <string.h>

#include "base/text.h"

#include "base/banned.h"

static void *take(struct arena *arena, size_t bytes)
{
    void *ptr = base_arena_zalloc(arena, bytes);
    ck_assert_ptr_nonnull(ptr);
    return ptr;
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessage *message,
                                                  struct slice name)
{
    char text[64];
    ck_assert_uint_lt(name.len, sizeof text);
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, text);
    ck_assert_msg(field != NULL, "%s has no field %s", message->descriptor->name, text);
    return field;
}

static void note_presence(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    uint8_t *quantifier = (uint8_t *)message + field->quantifier_offset;
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
        memcpy(quantifier, &field->id, sizeof(uint32_t));
    else if (field->label == PROTOBUF_C_LABEL_OPTIONAL && field->quantifier_offset != 0)
        memcpy(quantifier, &(protobuf_c_boolean){1}, sizeof(protobuf_c_boolean));
}

/* Where the value goes: the field, or the one element of a list. */
static void *member_of(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                       struct arena *arena)
{
    uint8_t *at = (uint8_t *)message + field->offset;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        note_presence(message, field);
        return at;
    }
    size_t one = 1;
    void *list;
    memcpy(&list, at, sizeof list);
    if (list == NULL) {
        list = take(arena, sizeof(ProtobufCBinaryData));
        memcpy(at, &list, sizeof list);
        memcpy((uint8_t *)message + field->quantifier_offset, &one, sizeof one);
    }
    return list;
}

static ProtobufCMessage *enter(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                               struct arena *arena)
{
    uint32_t which = 0;
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
        memcpy(&which, (uint8_t *)message + field->quantifier_offset, sizeof which);
    bool is_other = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 && which != field->id;
    ProtobufCMessage **member = member_of(message, field, arena);
    ck_assert_int_eq(field->type, PROTOBUF_C_TYPE_MESSAGE);
    if (*member == NULL || is_other) {
        const ProtobufCMessageDescriptor *type = field->descriptor;
        *member = take(arena, type->sizeof_message);
        protobuf_c_message_init(type, *member);
    }
    return *member;
}

static void put_number(const ProtobufCFieldDescriptor *field, void *member, struct slice value)
{
    int64_t number = 0;
    ck_assert_msg(base_parse_i64(value, &number) == ERR_OK, "%s=%.*s", field->name,
                  SLICE_ARGS(value));
    bool is_long = field->type == PROTOBUF_C_TYPE_INT64 || field->type == PROTOBUF_C_TYPE_UINT64 ||
                   field->type == PROTOBUF_C_TYPE_SINT64;
    if (is_long)
        memcpy(member, &number, sizeof number);
    else
        memcpy(member, &(int32_t){(int32_t)number}, sizeof(int32_t));
}

static void put(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                struct slice value, struct arena *arena)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        ck_assert_uint_eq(value.len, 0);
        (void)enter(message, field, arena); /* it is there, and empty */
        return;
    }
    void *member = member_of(message, field, arena);
    char *text = base_arena_text(arena, value);
    ck_assert_ptr_nonnull(text);
    if (field->type == PROTOBUF_C_TYPE_STRING)
        memcpy(member, &text, sizeof text);
    else if (field->type == PROTOBUF_C_TYPE_BYTES)
        *(ProtobufCBinaryData *)member = (ProtobufCBinaryData){value.len, (uint8_t *)text};
    else
        put_number(field, member, value);
}

static void assign(ProtobufCMessage *message, struct slice line, struct arena *arena)
{
    const uint8_t *equals = memchr(line.ptr, '=', line.len);
    ck_assert_msg(equals != NULL, "no value: %.*s", SLICE_ARGS(line));
    struct slice path = base_slice(line.ptr, (size_t)(equals - line.ptr));
    struct slice value = base_slice_skip(line, path.len + 1);
    for (;;) {
        const uint8_t *dot = memchr(path.ptr, '.', path.len);
        struct slice name = base_slice(path.ptr, dot == NULL ? path.len : (size_t)(dot - path.ptr));
        const ProtobufCFieldDescriptor *field = find_field(message, name);
        if (dot == NULL) {
            put(message, field, value, arena);
            return;
        }
        message = enter(message, field, arena);
        path = base_slice_skip(path, name.len + 1);
    }
}

static struct slice take_line(struct slice *rest)
{
    const uint8_t *end = rest->len == 0 ? NULL : memchr(rest->ptr, ';', rest->len);
    struct slice line = base_slice(rest->ptr, end == NULL ? rest->len : (size_t)(end - rest->ptr));
    *rest = base_slice_skip(*rest, end == NULL ? line.len : line.len + 1);
    return line;
}

ProtobufCMessage *message_make(const ProtobufCMessageDescriptor *type, const char *text,
                               struct arena *arena)
{
    ProtobufCMessage *message = take(arena, type->sizeof_message);
    struct slice rest = base_slice_text(text);
    protobuf_c_message_init(type, message);
    while (rest.len > 0)
        assign(message, take_line(&rest), arena);
    return message;
}

bool message_names(const char *text, const char *field)
{
    struct slice rest = base_slice_text(text);
    size_t len = strlen(field);
    while (rest.len > 0) {
        struct slice line = take_line(&rest);
        if (base_slice_starts_with(line, base_slice(field, len)) &&
            (line.ptr[len] == '=' || line.ptr[len] == '.'))
            return true;
    }
    return false;
}
