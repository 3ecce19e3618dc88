/*
 * auth/scopes.c - the list of scope names; its order is the order of the stored bits.
 */
#include "auth/scopes.h"

#include "base/banned.h"

static const char *const NAMES[] = {
    "data.read", "data.write", "table.admin", "admin.read", "admin.write", "ops.read",
};

#define NAME_COUNT (sizeof NAMES / sizeof NAMES[0])

const char *auth_scope_name(unsigned i)
{
    return i < NAME_COUNT ? NAMES[i] : NULL;
}

enum err auth_scope_parse(struct slice name, uint64_t *out_bit)
{
    for (unsigned i = 0; i < NAME_COUNT; i++)
        if (base_slice_is(name, NAMES[i])) {
            *out_bit = 1ull << i;
            return ERR_OK;
        }
    return ERR_INVALID;
}

void auth_scopes_text(uint64_t scopes, char out[AUTH_SCOPES_TEXT])
{
    size_t used = 0;
    for (unsigned i = 0; i < NAME_COUNT; i++) {
        size_t len = strlen(NAMES[i]);
        if ((scopes >> i & 1) == 0 || used + 1 + len >= AUTH_SCOPES_TEXT)
            continue;
        if (used > 0)
            out[used++] = ',';
        memcpy(out + used, NAMES[i], len);
        used += len;
    }
    out[used] = '\0';
}
