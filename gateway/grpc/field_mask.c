/*
 * gateway/grpc/field_mask.c - follows the names of a path, then copies the member.
 */
#include "gateway/grpc/field_mask.h"

#include "gateway/grpc/decode.h"

#include "base/banned.h"

#define NAME_BYTES 64

/* Returns the field that a path starts with; NULL: the message has none. */
static const ProtobufCFieldDescriptor *field_of(const ProtobufCMessage *message, const char *path)
{
    char name[NAME_BYTES];
    size_t len = strcspn(path, ".");
    if (len >= sizeof name)
        return NULL;
    memcpy(name, path, len);
    name[len] = '\0';
    return protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name);
}

static bool is_oneof(const ProtobufCFieldDescriptor *field)
{
    return (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
}

static uint32_t case_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    uint32_t value;
    memcpy(&value, (const char *)message + field->quantifier_offset, sizeof value);
    return value;
}

static void case_set(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                     uint32_t value)
{
    memcpy((char *)message + field->quantifier_offset, &value, sizeof value);
}

static void member_copy(ProtobufCMessage *to, const ProtobufCMessage *from,
                        const ProtobufCFieldDescriptor *field)
{
    bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
    size_t bytes = is_list ? sizeof(void *) : gw_proto_value_size(field->type);
    if (is_oneof(field) && case_of(from, field) != field->id) {
        if (case_of(to, field) == field->id)
            case_set(to, field, 0);
        return;
    }
    memcpy((char *)to + field->offset, (const char *)from + field->offset, bytes);
    if (is_oneof(field))
        case_set(to, field, field->id);
    else if (is_list)
        memcpy((char *)to + field->quantifier_offset, (const char *)from + field->quantifier_offset,
               sizeof(size_t));
}

/* Returns the message in that field; NULL: it is absent. */
static ProtobufCMessage *inner_of(const ProtobufCMessage *message,
                                  const ProtobufCFieldDescriptor *field)
{
    ProtobufCMessage *inner;
    if (is_oneof(field) && case_of(message, field) != field->id)
        return NULL;
    memcpy(&inner, (const char *)message + field->offset, sizeof inner);
    return inner;
}

static enum err path_apply(const char *path, ProtobufCMessage *to, const ProtobufCMessage *from,
                           struct arena *arena, struct errbuf *eb)
{
    for (const char *at = path;;) {
        const ProtobufCFieldDescriptor *field = field_of(to, at);
        size_t len = strcspn(at, ".");
        bool is_last = at[len] == '\0';
        bool has_fields = field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE &&
                          field->label != PROTOBUF_C_LABEL_REPEATED;
        if (field == NULL || (!is_last && !has_fields))
            return base_fail(eb, ERR_INVALID, "update_mask: there is no field \"%s\"", path);
        if (is_last) {
            member_copy(to, from, field);
            return ERR_OK;
        }
        ProtobufCMessage *to_inner = inner_of(to, field), *from_inner = inner_of(from, field);
        if (to_inner == NULL)
            to_inner = gw_proto_new(arena, field->descriptor);
        if (from_inner == NULL)
            from_inner = gw_proto_new(arena, field->descriptor);
        if (to_inner == NULL || from_inner == NULL)
            return base_fail(eb, ERR_NO_MEMORY, "out of memory for what update_mask names");
        memcpy((char *)to + field->offset, &to_inner, sizeof(ProtobufCMessage *));
        if (is_oneof(field))
            case_set(to, field, field->id);
        to = to_inner;
        from = from_inner;
        at += len + 1;
    }
}

static bool is_allowed(const char *const *allowed, const char *path)
{
    size_t len = strcspn(path, ".");
    for (; *allowed != NULL; allowed++)
        if (strlen(*allowed) == len && memcmp(*allowed, path, len) == 0)
            return true;
    return false;
}

enum err gw_mask_apply(const Google__Protobuf__FieldMask *mask, const char *const *allowed,
                       ProtobufCMessage *to, const ProtobufCMessage *from, struct arena *arena,
                       struct errbuf *eb)
{
    enum err e = ERR_OK;
    if (mask == NULL || mask->n_paths == 0)
        return base_fail(eb, ERR_INVALID, "update_mask must name what is to be changed");
    for (size_t i = 0; e == ERR_OK && i < mask->n_paths; i++)
        e = is_allowed(allowed, mask->paths[i])
                ? path_apply(mask->paths[i], to, from, arena, eb)
                : base_fail(eb, ERR_INVALID, "update_mask: \"%.64s\" cannot be changed",
                            mask->paths[i]);
    return e;
}

enum err gw_mask_apply_all(const char *const *allowed, ProtobufCMessage *to,
                           const ProtobufCMessage *from, struct arena *arena, struct errbuf *eb)
{
    enum err e = ERR_OK;
    for (; e == ERR_OK && *allowed != NULL; allowed++)
        e = path_apply(*allowed, to, from, arena, eb);
    return e;
}
