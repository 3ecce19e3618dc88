/*
 * tenancy/instance_doc.h - settings of an instance, made by clients of the emulator's listener.
 *
 * Does:     keeps one document for a keyless tenant ("e/<tenant>/instance"): the description of the
 *           tenant's instance, and of its clusters and application profiles.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: the document's contents: the gateway defines its bytes.
 * Threads:  the control thread.
 * Blocks:   on the disk.
 * Fails by: as said per function.
 * Limits:   LIM_INSTANCE_DOC.
 * Promises: 1. The document is erased with its tenant: a purge removes it, the purge's audit counts
 *              it.
 */
#ifndef TENANCY_INSTANCE_DOC_H
#define TENANCY_INSTANCE_DOC_H

#include "base/buf.h"
#include "tenancy/registry.h"

/* Appends the document to out; *out_version is the version that the next write must name.
 * ERR_NOT_FOUND: there is none. */
enum err ten_instance_doc_read(struct ten_registry *r, const struct ten_tenant *t, struct buf *out,
                               uint64_t *out_version, struct errbuf *eb) MUST_CHECK;
/* version 0: there must be none. ERR_CONFLICT, ERR_TOO_BIG, ERR_GONE, ERR_SUSPENDED. */
enum err ten_instance_doc_write(struct ten_registry *r, const struct ten_tenant *t,
                                struct slice body, uint64_t version, struct errbuf *eb) MUST_CHECK;

#endif
