/*
 * auth/key.h - the memory of one API key.
 *
 * Does:     makes a key from a request or a stored document, in one allocation; wipes and frees it.
 * Owns:     nothing beyond the key itself.
 * May use:  base/, tenancy/, auth/.
 * Knows no: which keys exist, where they are stored.
 * Threads:  the control thread.
 * Blocks:   no.
 * Fails by: ERR_INVALID, naming the error in the list or the limits.
 * Limits:   LIM_TENANTS_PER_KEY, LIM_OPS_PER_S, LIM_BYTES_PER_S.
 * Promises: 1. A key without a label, a prefix and a list takes its structure's size plus one byte.
 */
#ifndef AUTH_KEY_H
#define AUTH_KEY_H

#include "auth/keyring.h"

/* Returns a copy of *made, followed by its label, its prefix and a list of `allowed_count` (0:
 * none). */
struct auth_key *auth_key_new(const struct auth_key *made, size_t allowed_count);
/* Returns the list, to be filled and then sorted. */
struct ten_tenant **auth_key_list_of(struct auth_key *key);
/* Sorts the list by ID; ERR_INVALID for a duplicate. */
enum err auth_key_list_sort(struct auth_key *key, struct errbuf *eb) MUST_CHECK;
void auth_key_free(void *key);

enum err auth_limits_check(const struct auth_limits *limits, enum auth_kind kind,
                           struct errbuf *eb) MUST_CHECK;
/* Makes the key's rates, with one ref for the key; NULL if there are no limits. */
struct ten_key_rates *auth_rates_new(const struct auth_limits *limits);

#endif
