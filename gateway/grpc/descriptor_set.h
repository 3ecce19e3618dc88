/*
 * gateway/grpc/descriptor_set.h - the .proto files of this server, as reflection tells them.
 *
 * Does:     name the serialized google.protobuf.FileDescriptorSet made from gateway/grpc/proto/ at
 *           build time (embed.sh), imported files first.
 * Owns:     nothing; static data.
 * May use:  nothing.
 * Knows no: messages.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Every file comes behind those it imports.
 */
#ifndef GATEWAY_GRPC_DESCRIPTOR_SET_H
#define GATEWAY_GRPC_DESCRIPTOR_SET_H

#include <stddef.h>
#include <stdint.h>

extern const uint8_t gw_descriptor_set[];
extern const size_t gw_descriptor_set_bytes;

#endif
