/*
 * auth/scopes.c - the list of scope names; its order is the order of the stored bits.
 */
#include "auth/scopes.h"

#include "base/banned.h"

static const char *const NAMES[] = {
    "data.read", "data.write", "table.admin", "admin.read", "admin.write",
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
