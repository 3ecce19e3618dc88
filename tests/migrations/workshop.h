/*
 * tests/migrations/workshop.h - a vault with a service that does what tenants ask.
 *
 * Does:     open the service, ask on the control thread, wait for operations.
 * Owns:     the service.
 * May use:  base/, storage/, tenancy/, migrations/, tests/migrations/vault.h, libcheck.
 * Knows no: HTTP.
 * Threads:  the test's main thread.
 * Blocks:   yes.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: none.
 */
#ifndef TESTS_MIGRATIONS_WORKSHOP_H
#define TESTS_MIGRATIONS_WORKSHOP_H

#include "tests/migrations/vault.h"

#include "migrations/tenant_backup.h"
#include "tenancy/keystore.h"
#include "tests/support/process.h"

static struct mig_service *service;
/* Called on the service's thread at the end of each operation; NULL: nobody. Set before opening. */
static void (*shop_ended)(const struct mig_operation *op);

VAULT_FN void shop_open_service(void)
{
    const struct mig_service_options o = {
        .backups = backups, .registry = tent.registry, .ended = shop_ended};
    enum err rc = mig_service_open(&o, &service, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
}

VAULT_FN void shop_close(void)
{
    mig_service_close(service);
    service = NULL;
    vault_close();
}

VAULT_FN void shop_open(void)
{
    vault_open();
    shop_open_service();
}

/* A service whose time passes faster: it scans for backups of tenants that left after 50 ms
 * instead of 5 s, and an operation that has to wait is tried again as soon. */
VAULT_FN void shop_setup(void)
{
    ck_assert_int_eq(setenv("BIGTENT_TEST_BACKUP_HURRY", "100", 1), 0);
    mig_backup_test_part_bytes(2 * KIB, 2 * KIB);
    vault_make();
    shop_open();
}

VAULT_FN void shop_teardown(void)
{
    mig_service_close(service);
    service = NULL;
    vault_teardown();
    ten_keystore_close(tent.keystore); /* of a test that has one */
}

enum shop_asking {
    SHOP_CREATE,
    SHOP_CREATE_BY_OPERATOR,
    SHOP_COPY,
    SHOP_RESTORE,
    SHOP_TABLE,
    SHOP_ALL,
    SHOP_EXPIRY,
    SHOP_DELETE,
    SHOP_CANCEL,
    SHOP_FORGET
};

struct shop_ask {
    enum shop_asking what;
    const char *tenant;
    const char *name;  /* or an ID */
    const char *table; /* or the new name */
    const char *target;
    int64_t expires_us;
    char id[MIG_BACKUP_ID + 1];
    enum err rc;
};

VAULT_FN void shop_do(struct tent *t, void *ctx)
{
    struct shop_ask *a = ctx;
    struct ten_tenant *tenant = tent_find(t, a->tenant);
    struct slice name = base_slice_text(a->name);
    struct slice table = base_slice_text(a->table == NULL ? "" : a->table);
    struct slice target = base_slice_text(a->target == NULL ? "" : a->target);
    const struct mig_tenant_backup_wanted wanted = {.name = name,
                                                    .table = table,
                                                    .note = SLICE_LIT("n"),
                                                    .expires_us = a->expires_us,
                                                    .by_operator =
                                                        a->what == SHOP_CREATE_BY_OPERATOR};
    memset(&eb, 0, sizeof eb);
    switch (a->what) {
    case SHOP_CREATE:
    case SHOP_CREATE_BY_OPERATOR:
        a->rc = mig_tenant_backup_create(service, tenant, &wanted, a->id, &eb);
        break;
    case SHOP_COPY:
        a->rc = mig_tenant_backup_copy(service, tenant, name, table, a->expires_us, a->id, &eb);
        break;
    case SHOP_RESTORE:
        a->rc = mig_tenant_backup_restore(service, tenant, name, table, a->id, &eb);
        break;
    case SHOP_TABLE:
        a->rc = mig_tenant_restore_table(service, tenant, name, table, target, a->id, &eb);
        break;
    case SHOP_ALL:
        a->rc = mig_tenant_restore_all(service, tenant, name, a->id, &eb);
        break;
    case SHOP_EXPIRY:
        a->rc = mig_tenant_backup_set_expiry(service, tenant, name, a->expires_us, &eb);
        break;
    case SHOP_DELETE:
        a->rc = mig_tenant_backup_delete(service, tenant, name, &eb);
        break;
    case SHOP_CANCEL:
        a->rc = mig_operation_cancel(service, tenant, name, &eb);
        break;
    case SHOP_FORGET:
        a->rc = mig_operation_forget(service, tenant, name, &eb);
        break;
    }
}

VAULT_FN enum err shop_try(struct shop_ask *a)
{
    tent_control(&tent, shop_do, a);
    return a->rc;
}

struct shop_awaited {
    const char *tenant;
    const char *id;
    struct mig_operation op;
};

static bool shop_has_ended(void *arg)
{
    struct shop_awaited *a = arg;
    enum err rc =
        mig_operation_get(service, base_slice_text(a->tenant), base_slice_text(a->id), &a->op, &eb);
    ck_assert_msg(rc == ERR_OK, "operation: %s", eb.text);
    return a->op.state != MIG_OP_WAITING && a->op.state != MIG_OP_RUNNING;
}

VAULT_FN struct mig_operation shop_await(const char *tenant, const char *id)
{
    struct shop_awaited a = {.tenant = tenant, .id = id};
    process_await(shop_has_ended, &a, "the end of an operation");
    return a.op;
}

/* Asked for and done; its ID goes to out_id when that is not NULL. */
VAULT_FN void shop_done(struct shop_ask a, char out_id[MIG_BACKUP_ID + 1])
{
    enum err rc = shop_try(&a);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    struct mig_operation op = shop_await(a.tenant, a.id);
    ck_assert_msg(op.state == MIG_OP_DONE, "%s: %s", mig_op_state_name(op.state), op.error);
    if (out_id != NULL)
        memcpy(out_id, a.id, sizeof a.id);
}

VAULT_FN struct mig_operation shop_fails(struct shop_ask a, enum err expected)
{
    enum err rc = shop_try(&a);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    struct mig_operation op = shop_await(a.tenant, a.id);
    ck_assert_int_eq(op.result, expected);
    ck_assert_int_ne(op.state, MIG_OP_DONE);
    return op;
}

#endif
