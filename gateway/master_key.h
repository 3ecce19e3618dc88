/*
 * gateway/master_key.h - reads the master key, which wraps the tenants' data keys.
 *
 * Does:     reads the key from a file, the environment variable BIGTENT_MASTER_KEY, or the output
 *           of a command (a key management service's client, say).
 * Owns:     nothing; the caller wipes the key.
 * May use:  base/, tenancy/keystore.h.
 * Knows no: purpose of the key.
 * Threads:  main.
 * Blocks:   until the command ends.
 * Fails by: ERR_INVALID (not a key; more than one source), ERR_NOT_FOUND, ERR_IO. No text holds a
 *           part of a key.
 * Limits:   TEN_MASTER_KEY bytes, as 64 hexadecimal digits; white space around them is ignored.
 * Promises: 1. The variable is removed from the environment: no child of the server sees it.
 */
#ifndef GATEWAY_MASTER_KEY_H
#define GATEWAY_MASTER_KEY_H

#include "base/err.h"
#include "tenancy/keystore.h"

#define GW_MASTER_KEY_VARIABLE "BIGTENT_MASTER_KEY"

struct gw_master_key_source {
    const char *file;    /* NULL: not from a file */
    const char *command; /* NULL: not from a command; run by /bin/sh -c */
};

/* Reads the key. *out_given false: no source was named, and the variable is not set. */
enum err gw_master_key_read(const struct gw_master_key_source *source, uint8_t out[TEN_MASTER_KEY],
                            bool *out_given, struct errbuf *eb) MUST_CHECK;

#endif
