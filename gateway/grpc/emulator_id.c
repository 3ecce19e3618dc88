/*
 * gateway/grpc/emulator_id.c - digests, in hexadecimal digits.
 *
 * Names of resources are separated by '/', so no project and no instance contains one: the input
 * of an instance's digest, PROJECT/INSTANCE, belongs to no other pair.
 */
#include "gateway/grpc/emulator_id.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/sealed_line.h"

#include "base/banned.h"

#define PREFIX          "emu-"
#define PROJECT_DIGITS  16
#define INSTANCE_DIGITS 32
#define ID_LEN          (sizeof PREFIX - 1 + PROJECT_DIGITS + 1 + INSTANCE_DIGITS)

_Static_assert(ID_LEN <= LIM_TENANT_ID, "it is a tenant's ID");

static bool is_digits(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.ptr[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
            return false;
    }
    return true;
}

static bool is_made(struct slice id)
{
    const size_t dash = sizeof PREFIX - 1 + PROJECT_DIGITS;
    return id.len == ID_LEN && base_slice_starts_with(id, SLICE_LIT(PREFIX)) &&
           id.ptr[dash] == '-' &&
           is_digits(base_slice(id.ptr + sizeof PREFIX - 1, PROJECT_DIGITS)) &&
           is_digits(base_slice(id.ptr + dash + 1, INSTANCE_DIGITS));
}

bool gw_emulator_is_tenant_id(struct slice project)
{
    return base_tenant_id_check(project, NULL) == ERR_OK && !base_tenant_id_is_reserved(project) &&
           !is_made(project);
}

void gw_emulator_id_make(struct slice project, struct slice instance, char out[LIM_TENANT_ID + 1])
{
    char of_project[BASE_AUDIT_HEX + 1], of_instance[BASE_AUDIT_HEX + 1];
    struct buf both;
    base_buf_init(&both, project.len + instance.len + 1);
    (void)base_buf_append(&both, project); /* latches, like the next two */
    (void)base_buf_append_byte(&both, '/');
    (void)base_buf_append(&both, instance);
    INVARIANT(both.error == ERR_OK);
    struct base_audit_hash hash = base_line_hash(project);
    base_audit_hex(&hash, of_project);
    hash = base_line_hash(base_buf_slice(&both));
    base_audit_hex(&hash, of_instance);
    base_buf_fini(&both);
    (void)snprintf(out, LIM_TENANT_ID + 1, PREFIX "%.*s-%.*s", PROJECT_DIGITS, of_project,
                   INSTANCE_DIGITS, of_instance);
}

struct slice gw_emulator_id_prefix(const char *id)
{
    return base_slice(id, sizeof PREFIX + PROJECT_DIGITS);
}
