/*
 * tests/grpc/test_backup_proto.c - backups as messages; names and times that requests may give.
 */
#include <check.h>

#include "gateway/grpc/backup_proto.h"

#include "base/banned.h"

Suite *suite_grpc_backup_proto(void);

#define HOUR_US  3600000000LL
#define NOW_US   1795168800000000LL
#define INSTANCE "projects/acme/instances/main"

static struct arena arena;
static struct errbuf eb;
static struct gw_resource own;

static void setup(void)
{
    base_arena_init(&arena, MIB);
    own = (struct gw_resource){
        .kind = GW_RESOURCE_INSTANCE, .project = SLICE_LIT("acme"), .instance = SLICE_LIT("main")};
}

static void teardown(void)
{
    base_arena_fini(&arena);
}

static Bta__Backup *to_proto(const struct mig_tenant_backup *backup)
{
    Bta__Backup *message = NULL;
    ck_assert_int_eq(gw_backup_to_proto(backup, &own, &arena, &message, &eb), ERR_OK);
    return message;
}

START_TEST(a_ready_backup_tells_all_of_itself)
{
    const struct mig_tenant_backup backup = {
        .scope = {.tenant = "acme", .table = "devices", .name = "daily", .source = "first"},
        .is_ready = true,
        .started_us = NOW_US,
        .finished_us = NOW_US + 1500000,
        .expires_us = NOW_US + 7 * HOUR_US,
        .bytes = 12345};
    const Bta__Backup *b = to_proto(&backup);
    ck_assert_str_eq(b->name, INSTANCE "/clusters/main/backups/daily");
    ck_assert_str_eq(b->source_table, INSTANCE "/tables/devices");
    ck_assert_str_eq(b->source_backup, INSTANCE "/clusters/main/backups/first");
    ck_assert_int_eq(b->start_time->seconds, NOW_US / 1000000);
    ck_assert_int_eq(b->end_time->nanos, 500000000);
    ck_assert_int_eq(b->expire_time->seconds, NOW_US / 1000000 + 7 * 3600L);
    ck_assert_int_eq(b->size_bytes, 12345);
    ck_assert_int_eq(b->state, BTA__BACKUP__STATE__READY);
    ck_assert_int_eq(b->backup_type, BTA__BACKUP__BACKUP_TYPE__STANDARD);
    ck_assert_ptr_nonnull(b->encryption_info); /* Go's client looks into it unasked */
}
END_TEST

START_TEST(a_backup_in_the_making_has_all_its_times)
{
    const struct mig_tenant_backup backup = {.scope = {.table = "devices", .name = "daily"}};
    const Bta__Backup *b = to_proto(&backup);
    ck_assert_int_eq(b->state, BTA__BACKUP__STATE__CREATING);
    ck_assert_str_eq(b->source_backup, "");
    ck_assert_ptr_nonnull(b->start_time);
    ck_assert_int_eq(b->end_time->seconds, 0);
    ck_assert_int_eq(b->expire_time->seconds, 253402300799LL); /* never: the end of all times */
}
END_TEST

START_TEST(no_memory_is_said)
{
    const struct mig_tenant_backup backup = {.scope = {.table = "devices", .name = "daily"}};
    Bta__Backup *message = NULL;
    struct arena none;
    base_arena_init(&none, 64);
    ck_assert_int_eq(gw_backup_to_proto(&backup, &own, &none, &message, &eb), ERR_NO_MEMORY);
    ck_assert_ptr_null(message);
    base_arena_fini(&none);
}
END_TEST

static enum err expiry(int64_t us, int64_t now_us, int64_t *out)
{
    Google__Protobuf__Timestamp t = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    t.seconds = us / 1000000;
    t.nanos = (int32_t)(us % 1000000) * 1000;
    return gw_backup_expiry_from_proto(&t, NOW_US, now_us, out, &eb);
}

START_TEST(a_backup_is_kept_for_six_hours_to_ninety_days_by_clocks_that_differ)
{
    const int64_t clocks = 5 * HOUR_US / 60;
    const int64_t least = NOW_US + 6 * HOUR_US - clocks;
    const int64_t most = NOW_US + 90 * 24 * HOUR_US + clocks;
    int64_t us = 0;
    ck_assert_int_eq(expiry(least - 1, NOW_US, &us), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "differ by 5 minutes"));
    ck_assert_int_eq(expiry(least, NOW_US, &us), ERR_OK);
    ck_assert_int_eq(us, least);
    ck_assert_int_eq(expiry(most, NOW_US, &us), ERR_OK);
    ck_assert_int_eq(us, most);
    ck_assert_int_eq(expiry(most + 1, NOW_US, &us), ERR_INVALID);
    ck_assert_int_eq(expiry(-1, NOW_US, &us), ERR_INVALID);
    ck_assert_int_eq(gw_backup_expiry_from_proto(NULL, NOW_US, NOW_US, &us, &eb), ERR_INVALID);
}
END_TEST

START_TEST(a_backup_does_not_expire_in_the_past)
{
    const int64_t wanted = NOW_US + 7 * HOUR_US;
    int64_t us = 0;
    ck_assert_int_eq(expiry(wanted, wanted - 1, &us), ERR_OK);
    ck_assert_int_eq(expiry(wanted, wanted, &us), ERR_INVALID);
}
END_TEST

static enum err backup_of(const char *name, struct slice *out)
{
    return gw_backup_name_of(name, GW_RESOURCE_BACKUP, "backup", &own, out, &eb);
}

START_TEST(names_are_of_the_same_instance)
{
    struct slice id = SLICE_EMPTY;
    ck_assert_int_eq(backup_of(INSTANCE "/clusters/main/backups/daily", &id), ERR_OK);
    ck_assert(base_slice_is(id, "daily"));
    ck_assert_int_eq(backup_of("projects/acme/instances/-/clusters/main/backups/b", &id), ERR_OK);
    ck_assert_int_eq(backup_of("projects/acme/instances/bigtent/clusters/main/backups/b", &id),
                     ERR_OK);
    ck_assert_int_eq(backup_of(INSTANCE "/clusters/other/backups/b", &id), ERR_NOT_FOUND);
    ck_assert_int_eq(backup_of("projects/beta/instances/main/clusters/main/backups/b", &id),
                     ERR_UNSUPPORTED);
    ck_assert_int_eq(backup_of("projects/acme/instances/two/clusters/main/backups/b", &id),
                     ERR_UNSUPPORTED);
    ck_assert_int_eq(backup_of(INSTANCE "/backups/b", &id), ERR_INVALID);
    ck_assert_int_eq(backup_of(INSTANCE "/clusters/main/backups/", &id), ERR_INVALID);
    ck_assert_int_eq(backup_of("", &id), ERR_INVALID);
    ck_assert_int_eq(gw_backup_name_of(INSTANCE "/tables/devices", GW_RESOURCE_TABLE,
                                       "source_table", &own, &id, &eb),
                     ERR_OK);
    ck_assert(base_slice_is(id, "devices"));
}
END_TEST

Suite *suite_grpc_backup_proto(void)
{
    Suite *s = suite_create("grpc_backup_proto");
    TCase *tc = tcase_create("messages");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_ready_backup_tells_all_of_itself);
    tcase_add_test(tc, a_backup_in_the_making_has_all_its_times);
    tcase_add_test(tc, no_memory_is_said);
    tcase_add_test(tc, a_backup_is_kept_for_six_hours_to_ninety_days_by_clocks_that_differ);
    tcase_add_test(tc, a_backup_does_not_expire_in_the_past);
    tcase_add_test(tc, names_are_of_the_same_instance);
    suite_add_tcase(s, tc);
    return s;
}
