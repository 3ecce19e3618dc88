/*
 * gateway/grpc/descriptors.h - an index of the files of a FileDescriptorSet.
 *
 * Does:     finds files by their name or by a symbol in them, together with their imports.
 * Owns:     the index; the set's bytes are borrowed.
 * May use:  base/.
 * Knows no: gRPC, list of services.
 * Threads:  any, once built.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT (the bytes are no such set), ERR_TOO_BIG, ERR_NO_MEMORY.
 * Limits:   GW_DESCRIPTOR_FILES.
 * Promises: 1. Symbols are messages, enums, services and methods, by their full names.
 *           2. Imports of a file are complete, including imports of imports.
 */
#ifndef GATEWAY_GRPC_DESCRIPTORS_H
#define GATEWAY_GRPC_DESCRIPTORS_H

#include "base/err.h"
#include "base/slice.h"

#define GW_DESCRIPTOR_FILES 64

struct gw_descriptors;

struct gw_descriptor_file {
    struct slice name;
    struct slice bytes; /* a serialized FileDescriptorProto */
    uint64_t needs;     /* bit n: file n, by gw_descriptors_file; includes the file itself */
};

/* Builds the index. Files of the set must come after the files that they import. */
enum err gw_descriptors_new(struct slice set, struct gw_descriptors **out,
                            struct errbuf *eb) MUST_CHECK;
void gw_descriptors_free(struct gw_descriptors *d);

size_t gw_descriptors_count(const struct gw_descriptors *d);
const struct gw_descriptor_file *gw_descriptors_file(const struct gw_descriptors *d, size_t n);
/* Returns the file of that name; NULL: there is none. */
const struct gw_descriptor_file *gw_descriptors_by_name(const struct gw_descriptors *d,
                                                        struct slice name);
/* Returns the file with that symbol, like "google.bigtable.v2.RowFilter.Chain"; NULL: there is
 * none. */
const struct gw_descriptor_file *gw_descriptors_by_symbol(const struct gw_descriptors *d,
                                                          struct slice symbol);

#endif
