/*
 * tests/support/grpc_status.c - details of a call's status.
 */
#include <check.h>
#include <string.h>

#include "base/text.h"
#include "tests/support/grpc_client.h"

#include "base/banned.h"

/* Decodes base64; the server may omit the padding, which the codec requires. */
static enum err decode_padded(const char *text, struct buf *out)
{
    struct buf padded;
    base_buf_init(&padded, strlen(text) + 4);
    (void)base_buf_append_text(&padded, text); /* latches */
    while (padded.len % 4 != 0 && padded.error == ERR_OK)
        (void)base_buf_append_byte(&padded, '='); /* latches */
    enum err e = base_base64_decode(base_buf_slice(&padded), out);
    base_buf_fini(&padded);
    return e;
}

Rpc__Status *grpc_status_new(const struct grpc_call *call)
{
    struct buf bytes;
    base_buf_init(&bytes, sizeof call->details);
    ck_assert_int_eq(decode_padded(call->details, &bytes), ERR_OK);
    Rpc__Status *status = rpc__status__unpack(NULL, bytes.len, bytes.ptr);
    base_buf_fini(&bytes);
    ck_assert_ptr_nonnull(status);
    return status;
}

const ProtobufCBinaryData *grpc_detail(const Rpc__Status *status, const char *name)
{
    for (size_t i = 0; i < status->n_details; i++) {
        const char *type = strrchr(status->details[i]->type_url, '.');
        if (type != NULL && strcmp(type + 1, name) == 0)
            return &status->details[i]->value;
    }
    return NULL;
}

Rpc__ErrorInfo *grpc_error_info_new(const struct grpc_call *call)
{
    Rpc__Status *status = grpc_status_new(call);
    const ProtobufCBinaryData *bytes = grpc_detail(status, "ErrorInfo");
    ck_assert_ptr_nonnull(bytes);
    Rpc__ErrorInfo *info = rpc__error_info__unpack(NULL, bytes->len, bytes->data);
    ck_assert_ptr_nonnull(info);
    rpc__status__free_unpacked(status, NULL);
    return info;
}

void grpc_large_row_key(const struct grpc_call *call, struct buf *out)
{
    Rpc__ErrorInfo *info = grpc_error_info_new(call);
    ck_assert_str_eq(info->reason, "LargeRowReadError");
    ck_assert_str_eq(info->domain, "bigtable.googleapis.com");
    ck_assert_uint_eq(info->n_metadata, 1);
    ck_assert_str_eq(info->metadata[0]->key, "rowKeyBase64Encoded");
    struct slice base64 = base_slice_text(info->metadata[0]->value);
    ck_assert_uint_eq(base64.len % 4, 0); /* padded */
    ck_assert_int_eq(base_base64_decode(base64, out), ERR_OK);
    rpc__error_info__free_unpacked(info, NULL);
}
