/*
 * gateway/init.h - creates a new data directory, ready to serve.
 *
 * Does:     creates the directory, the pepper, development certificates, an empty database and the
 *           first operator key.
 * Owns:     nothing afterwards.
 * May use:  base/, storage/, tenancy/, auth/, migrations/, gateway/.
 * Knows no: command lines.
 * Threads:  main.
 * Blocks:   yes.
 * Fails by: ERR_EXISTS (the directory is a data directory already, or another program's),
 *           ERR_INVALID (host name), ERR_IO.
 * Limits:   GW_CERT_HOSTS.
 * Promises: 1. FORMAT is written last: an interrupted init leaves a directory that no server
 *              accepts.
 *           2. Secrets are files of mode 0600.
 */
#ifndef GATEWAY_INIT_H
#define GATEWAY_INIT_H

#include <stddef.h>

#include "base/err.h"

enum err gw_init(const char *dir, const char *const *hosts, size_t host_count,
                 struct errbuf *eb) MUST_CHECK;

#endif
