/*
 * gateway/grpc/features.c - the features that a client declares.
 */
#include "gateway/grpc/features.h"

#include "base/text.h"
#include "gateway/grpc/decode.h"

#include "base/banned.h"

/* Removes padding: clients pad, but the decoder accepts only the canonical form, which has none. */
static struct slice without_padding(struct slice text)
{
    while (text.len > 0 && text.ptr[text.len - 1] == '=')
        text.len--;
    return text;
}

const Bt__FeatureFlags *gw_features_of(const struct gw_exchange *ex, struct arena *arena)
{
    struct slice text = without_padding(gw_exchange_header(ex, "bigtable-features", NULL));
    ProtobufCMessage *message = NULL;
    struct errbuf ignored; /* errors are not reported: see the header */
    struct buf bytes;
    if (text.len == 0)
        return NULL;
    base_buf_init(&bytes, text.len);
    enum err e = base_base64url_decode(text, &bytes);
    if (e == ERR_OK)
        e = gw_proto_decode(&bt__feature_flags__descriptor, base_buf_slice(&bytes), arena, &message,
                            &ignored);
    base_buf_fini(&bytes);
    return e == ERR_OK ? (const Bt__FeatureFlags *)message : NULL;
}
