/*
 * tenancy/instance_doc.h - what a client of the emulator's listener said of an instance.
 *
 * Does:     keep one document for a keyless tenant ("e/<tenant>/instance"): the description of the
 *           instance that the tenant is there, of its clusters and application profiles.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: what the document says: its bytes are the gateway's.
 * Threads:  the control thread.
 * Blocks:   on the disk.
 * Fails by: as said per function.
 * Limits:   LIM_INSTANCE_DOC.
 * Promises: 1. The document leaves with its tenant: a purge removes it, its audit counts it.
 */
#ifndef TENANCY_INSTANCE_DOC_H
#define TENANCY_INSTANCE_DOC_H

#include "base/buf.h"
#include "tenancy/registry.h"

/* Appended to out; *out_version is what the next write expects. ERR_NOT_FOUND: there is none. */
enum err ten_instance_doc_read(struct ten_registry *r, const struct ten_tenant *t, struct buf *out,
                               uint64_t *out_version, struct errbuf *eb) MUST_CHECK;
/* version 0: there must be none. ERR_CONFLICT, ERR_TOO_BIG, ERR_GONE, ERR_SUSPENDED. */
enum err ten_instance_doc_write(struct ten_registry *r, const struct ten_tenant *t,
                                struct slice body, uint64_t version, struct errbuf *eb) MUST_CHECK;

#endif
