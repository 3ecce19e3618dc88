/* base/names.c - see names.h. */
#include "base/names.h"

#include "base/limits.h"

#include "base/banned.h"

/* In a key's name, an address or a line of the audit trail these would be mistaken for the
 * service. */
static const char *const RESERVED[] = {
    "admin", "all", "bigtent", "internal", "none", "operator", "ops", "root", "service", "system",
};

static bool is_id_byte(uint8_t c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c == '-' && !first);
}

enum err base_tenant_id_check(struct slice id, struct errbuf *eb)
{
    if (id.len < LIM_TENANT_ID_MIN || id.len > LIM_TENANT_ID)
        return base_fail(eb, ERR_INVALID, "tenant ID has %zu characters; it must have %d to %d",
                         id.len, LIM_TENANT_ID_MIN, LIM_TENANT_ID);
    for (size_t i = 0; i < id.len; i++)
        if (!is_id_byte(id.ptr[i], i == 0))
            return base_fail(eb, ERR_INVALID,
                             "tenant ID may hold a-z, 0-9 and '-', and must not begin with '-'; "
                             "character %zu is none of these",
                             i + 1);
    return ERR_OK;
}

bool base_tenant_id_is_reserved(struct slice id)
{
    for (size_t i = 0; i < sizeof RESERVED / sizeof RESERVED[0]; i++)
        if (base_slice_is(id, RESERVED[i]))
            return true;
    return false;
}

static bool is_name_byte(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

enum err base_table_id_check(struct slice id, struct errbuf *eb)
{
    if (id.len < 1 || id.len > LIM_TABLE_ID)
        return base_fail(eb, ERR_INVALID, "table ID has %zu characters; it must have 1 to %d",
                         id.len, LIM_TABLE_ID);
    for (size_t i = 0; i < id.len; i++)
        if (!is_name_byte(id.ptr[i]) || (i == 0 && (id.ptr[0] == '-' || id.ptr[0] == '.')))
            return base_fail(eb, ERR_INVALID,
                             "table ID may hold letters, digits, '_', '-' and '.', and must not "
                             "begin with '-' or '.'; character %zu is wrong",
                             i + 1);
    return ERR_OK;
}

enum err base_family_name_check(struct slice name, struct errbuf *eb)
{
    if (name.len < 1 || name.len > LIM_FAMILY_NAME)
        return base_fail(eb, ERR_INVALID, "family name has %zu characters; it must have 1 to %d",
                         name.len, LIM_FAMILY_NAME);
    for (size_t i = 0; i < name.len; i++)
        if (!is_name_byte(name.ptr[i]))
            return base_fail(eb, ERR_INVALID,
                             "family name may hold letters, digits, '_', '-' and '.'; character "
                             "%zu is wrong",
                             i + 1);
    return ERR_OK;
}
