/*
 * gateway/certs.h - a development certificate authority and a server certificate from it.
 *
 * Does:     creates an ECDSA P-256 CA and a server certificate for given names, as PEM files.
 * Owns:     nothing.
 * May use:  base/, OpenSSL.
 * Knows no: the data directory's other files.
 * Threads:  one.
 * Blocks:   yes, on the disk.
 * Fails by: ERR_INVALID (not a valid host name), ERR_EXISTS, ERR_IO.
 * Limits:   GW_CERT_HOSTS names.
 * Promises: 1. Private keys are written with mode 0600 and wiped from memory.
 *           2. The CA is valid for 10 years, the server certificate for 825 days, which every
 *              client accepts.
 */
#ifndef GATEWAY_CERTS_H
#define GATEWAY_CERTS_H

#include <stddef.h>

#include "base/err.h"

#define GW_CERT_HOSTS 32

/* Checks that host is a DNS name (perhaps with a leading "*.") or a numeric IP address. */
enum err gw_cert_host_check(const char *host, struct errbuf *eb) MUST_CHECK;

/* Writes ca.pem, ca.key, server.pem and server.key into dir, for localhost, 127.0.0.1, ::1 and
 * hosts. */
enum err gw_certs_make(const char *dir, const char *const *hosts, size_t host_count,
                       struct errbuf *eb) MUST_CHECK;

#endif
