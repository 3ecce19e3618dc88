/*
 * gateway/grpc/time_proto.h - protobuf's Timestamp and Duration as microseconds.
 *
 * Does:     translates in both directions.
 * Owns:     nothing.
 * May use:  base/, protobuf-c.
 * Knows no: messages around them.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: false for values out of range; parts of a microsecond are cut off.
 * Limits:   those of int64.
 * Promises: 1. An accepted duration is not negative.
 */
#ifndef GATEWAY_GRPC_TIME_PROTO_H
#define GATEWAY_GRPC_TIME_PROTO_H

#include <google/protobuf/duration.pb-c.h>
#include <google/protobuf/timestamp.pb-c.h>
#include <stdbool.h>

static inline bool gw_seconds_to_us(int64_t seconds, int32_t nanos, int64_t *out_us)
{
    int64_t us = 0;
    if (nanos < 0 || nanos >= 1000000000 || __builtin_mul_overflow(seconds, 1000000, &us) ||
        __builtin_add_overflow(us, nanos / 1000, &us))
        return false;
    *out_us = us;
    return true;
}

static inline bool gw_time_from_proto(const Google__Protobuf__Timestamp *message, int64_t *out_us)
{
    return gw_seconds_to_us(message->seconds, message->nanos, out_us);
}

static inline bool gw_duration_from_proto(const Google__Protobuf__Duration *message,
                                          int64_t *out_us)
{
    return message->seconds >= 0 && gw_seconds_to_us(message->seconds, message->nanos, out_us);
}

/* Translates a time; us must not be negative. */
static inline void gw_time_to_proto(int64_t us, Google__Protobuf__Timestamp *out)
{
    google__protobuf__timestamp__init(out);
    out->seconds = us / 1000000;
    out->nanos = (int32_t)(us % 1000000) * 1000;
}

#endif
