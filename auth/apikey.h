/*
 * auth/apikey.h - the text of an API key.
 *
 * Does:     makes and parses "bt<t|s|o>_<id:12><secret:36><checksum:6>", Base62 throughout.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: which keys exist.
 * Threads:  any.
 * Blocks:   no (getrandom at creation).
 * Fails by: ERR_INVALID for anything that is not such a text; detected without any lookup.
 * Limits:   AUTH_KEY_TEXT characters.
 * Promises: 1. 36 random Base62 characters: 214 bits. 2. The checksum (CRC-32 of all characters
 *              before it) detects typing errors and scanner noise; it is not secret.
 */
#ifndef AUTH_APIKEY_H
#define AUTH_APIKEY_H

#include "base/err.h"
#include "base/slice.h"

enum auth_kind { AUTH_TENANT = 1, AUTH_SERVICE = 2, AUTH_OPERATOR = 3 };
const char *auth_kind_name(enum auth_kind k); /* "tenant", "service", "operator" */

#define AUTH_KEY_ID       12
#define AUTH_KEY_SECRET   36
#define AUTH_KEY_CHECKSUM 6
#define AUTH_KEY_TEXT     (4 + AUTH_KEY_ID + AUTH_KEY_SECRET + AUTH_KEY_CHECKSUM)

struct auth_key_parts {
    enum auth_kind kind;
    struct slice id;     /* points into the text */
    struct slice secret; /* points into the text */
};

/* Generates a random key; out holds AUTH_KEY_TEXT characters and a NUL. The caller must wipe it
 * after use. */
enum err auth_key_generate(enum auth_kind kind, char out[AUTH_KEY_TEXT + 1]) MUST_CHECK;
enum err auth_key_parse(struct slice text, struct auth_key_parts *out) MUST_CHECK;

#endif
