/*
 * base/erasure_page.h - a certificate of erasure as a page for people: a customer, an auditor.
 *
 * Does:     checks the signature, then writes HTML: verdict, who, what, when, how much, how it was
 *           checked, what remains where and until when.
 * Owns:     nothing; output is appended to the caller's buf.
 * May use:  base/, OpenSSL.
 * Knows no: where certificates come from (tenancy/certificate.c makes them).
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID (no signed line), ERR_FORBIDDEN (signed by another key, or changed since),
 *           ERR_UNSUPPORTED (a line of another format), ERR_TOO_BIG.
 * Limits:   BASE_ERASURE_PAGE_MAX for a line of LIM_CERTIFICATE_BYTES.
 * Promises: 1. A line whose signature is not by this key gets no page.
 *           2. No byte of the line becomes markup; nothing is executed or loaded.
 *           3. A failed call adds nothing to the buf. 4. The same line makes the same page.
 * Form:     docs/operations.md lists the members. Formats 1 to 5 are rendered alike: members that
 * an older format lacks are omitted.
 */
#ifndef BASE_ERASURE_PAGE_H
#define BASE_ERASURE_PAGE_H

#include <openssl/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"

#define BASE_ERASURE_PAGE_MAX (16 * LIM_CERTIFICATE_BYTES) /* escaped, and with its markup */

/* Appends the page. line: without its line feed. */
enum err base_erasure_page(EVP_PKEY *key, struct slice line, struct buf *out,
                           struct errbuf *eb) MUST_CHECK;

#endif
