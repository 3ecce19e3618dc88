/*
 * tests/tenancy/test_offboard_keys.c - the keys of a tenant that leaves are destroyed, and told of,
 * wherever its purge was killed.
 */
#include "tests/tenancy/departure.h"

#include <jansson.h>
#include <sys/wait.h>

#include "base/file.h"
#include "tenancy/certificate.h"
#include "tenancy/keystore.h"

#include "base/banned.h"

#define TENANT "altostrat"

static void open_with_keys(void)
{
    static const uint8_t MASTER[TEN_MASTER_KEY] = {7};
    char path[300];
    (void)snprintf(path, sizeof path, "%s/" TEN_KEYSTORE_DIR, tent.dir);
    ck_assert_int_eq(ten_keystore_open(path, MASTER, &tent.keystore, &tent.eb), ERR_OK);
    tent_open(&tent);
}

static void close_with_keys(void)
{
    tent_close(&tent);
    ten_keystore_close(tent.keystore);
    tent.keystore = NULL;
}

static void make_sealed(struct tent *t, void *ctx)
{
    struct ten_tenant *tenant = NULL;
    const struct ten_tenant_wanted wanted = {.encrypted = true};
    enum err *rc = ctx;
    *rc = ten_tenant_create(t->registry, SLICE_LIT(TENANT), &wanted, &tenant, &t->eb);
    if (*rc == ERR_OK)
        *rc = ten_tenant_rotate_key(t->registry, tenant, &t->eb);
}

/* In a child: a tenant of two keys leaves, and dies behind their end. */
static void leave_and_die(void)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char id[TEN_JOB_ID + 1];
        struct ten_job job;
        enum err rc = ERR_OK;
        open_with_keys();
        tent_control(&tent, make_sealed, &rc);
        if (rc != ERR_OK)
            _exit(1);
        tent_table(&tent, tent_find(&tent, TENANT), "devices");
        tent_write(&tent, tent_find(&tent, TENANT), "devices", "row", "a very secret value");
        ten_offboard_test_die_after(TEN_DIE_BEHIND_KEYS);
        if (tent_offboard(&tent, tent_find(&tent, TENANT), id) == ERR_OK)
            tent_await_job(&tent, id, &job);
        _exit(1);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 137, "status %d", status);
}

static void check_certificate(void)
{
    struct buf line;
    base_buf_init(&line, TEN_CERTIFICATE_MAX);
    ck_assert_int_eq(ten_certificates_find(ten_registry_certificates(tent.registry),
                                           SLICE_LIT(TENANT), false, &line, &tent.eb),
                     ERR_OK);
    json_t *o = json_loadb((const char *)line.ptr, line.len, 0, NULL);
    const json_t *destruction = json_object_get(o, "key_destruction");
    ck_assert_int_eq(json_integer_value(json_object_get(destruction, "versions")), 2);
    ck_assert(json_is_string(json_object_get(destruction, "destroyed")));
    json_decref(o);
    base_buf_fini(&line);
}

/* Behind the unlinking, and between the overwriting and that. */
START_TEST(killed_behind_the_end_of_its_keys_they_are_counted)
{
    char path[300], id[TEN_JOB_ID + 1];
    struct ten_job job;
    tent_make(&tent);
    leave_and_die();
    (void)snprintf(path, sizeof path, "%s/" TEN_KEYSTORE_DIR "/" TENANT, tent.dir);
    ck_assert_int_ne(access(path, F_OK), 0);
    if (_i == 1)
        ck_assert_int_eq(base_file_create(path, SLICE_LIT("noise"), 0600, &tent.eb), ERR_OK);
    open_with_keys();
    (void)snprintf(id, sizeof id, "%.16s", ten_tenant_details(tent_find(&tent, TENANT))->job);
    tent_await_job(&tent, id, &job);
    ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
    ck_assert_uint_eq(job.key_versions, 2);
    ck_assert_int_gt(job.key_destroyed_us, 0);
    ck_assert_int_ne(access(path, F_OK), 0);
    check_certificate();
    close_with_keys();
    tent_remove(&tent);
}
END_TEST

static void make_one(struct tent *t, void *ctx)
{
    struct ten_tenant *tenant = NULL;
    const struct ten_tenant_wanted wanted = {.encrypted = true};
    *(enum err *)ctx = ten_tenant_create(t->registry, SLICE_LIT(TENANT), &wanted, &tenant, &t->eb);
}

/* Noise in the place of the keys of one that stays is damage. */
START_TEST(damaged_keys_of_one_that_stays_stop_the_start)
{
    char path[300];
    enum err rc = ERR_OK;
    tent_make(&tent);
    open_with_keys();
    tent_control(&tent, make_one, &rc);
    ck_assert_int_eq(rc, ERR_OK);
    tent_close(&tent);
    (void)snprintf(path, sizeof path, "%s/" TEN_KEYSTORE_DIR "/" TENANT, tent.dir);
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("noise"), 0600, &tent.eb), ERR_OK);
    ck_assert_int_eq(tent_open_engine(&tent), ERR_OK);
    ck_assert_int_eq(tent_open_registry(&tent), ERR_CORRUPT);
    tent_close_engine(&tent);
    ten_keystore_close(tent.keystore);
    tent.keystore = NULL;
    tent_remove(&tent);
}
END_TEST

Suite *suite_tenancy_offboard_keys(void);
Suite *suite_tenancy_offboard_keys(void)
{
    Suite *s = suite_create("tenancy_offboard_keys");
    TCase *c = tcase_create("keys");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, killed_behind_the_end_of_its_keys_they_are_counted, 0, 2);
    tcase_add_test(c, damaged_keys_of_one_that_stays_stop_the_start);
    suite_add_tcase(s, c);
    return s;
}
