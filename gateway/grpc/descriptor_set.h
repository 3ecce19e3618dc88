/*
 * gateway/grpc/descriptor_set.h - this server's .proto files, for reflection.
 *
 * Does:     declares the serialized google.protobuf.FileDescriptorSet built from
 *           gateway/grpc/proto/ at build time (embed.sh), imported files first.
 * Owns:     nothing; static data.
 * May use:  nothing.
 * Knows no: messages.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Every file comes after the files that it imports.
 */
#ifndef GATEWAY_GRPC_DESCRIPTOR_SET_H
#define GATEWAY_GRPC_DESCRIPTOR_SET_H

#include <stddef.h>
#include <stdint.h>

extern const uint8_t gw_descriptor_set[];
extern const size_t gw_descriptor_set_bytes;

#endif
