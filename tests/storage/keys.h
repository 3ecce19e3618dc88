/*
 * tests/storage/keys.h - data keys of the fixture's tenants, the same after every reopen.
 *
 * Does:     create them.
 * Owns:     nothing.
 * May use:  base/, storage/, check.
 * Knows no: the tests.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ck_assert.
 * Limits:   none.
 * Promises: 1. Two tenants, and two versions, have different keys.
 */
#ifndef TESTS_STORAGE_KEYS_H
#define TESTS_STORAGE_KEYS_H

#include <check.h>
#include <unistd.h>

#include "storage/cipher.h"

static void fix_key(size_t tenant, uint32_t version, uint8_t out[STO_CIPHER_KEY])
{
    memset(out, 0x40 + (int)tenant, STO_CIPHER_KEY);
    out[0] = (uint8_t)version;
}

static struct sto_cipher *fix_cipher(size_t tenant)
{
    uint8_t key[STO_CIPHER_KEY];
    struct sto_cipher *cipher = sto_cipher_new((uint32_t)getpid());
    fix_key(tenant, 1, key);
    ck_assert_int_eq(sto_cipher_add(cipher, key), ERR_OK);
    return cipher;
}

#endif
