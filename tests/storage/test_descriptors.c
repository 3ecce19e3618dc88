/*
 * tests/storage/test_descriptors.c - how long a file waits for a descriptor.
 */
#include <check.h>
#include <errno.h>

#include "storage/rocksdb/descriptors.h"
#include "tests/support/wall.h"

#include "base/banned.h"

#define NS_PER_S UINT64_C(1000000000)

START_TEST(an_open_is_tried_again_for_so_long_and_counted_once)
{
    uint64_t since_ns = 0;
    uint64_t before = sto_rdb_descriptors_missed();
    wall_hold_monotonic();
    ck_assert(sto_rdb_descriptor_await(&since_ns));
    wall_advance_ns(RDB_DESCRIPTOR_SECONDS * NS_PER_S);
    ck_assert(sto_rdb_descriptor_await(&since_ns));
    wall_advance_ns(1);
    ck_assert(!sto_rdb_descriptor_await(&since_ns));
    ck_assert_uint_eq(sto_rdb_descriptors_missed(), before + 1);
    wall_release_monotonic();
}
END_TEST

START_TEST(only_a_lack_of_descriptors_is_waited_out)
{
    ck_assert(sto_rdb_descriptors_lack(EMFILE));
    ck_assert(sto_rdb_descriptors_lack(ENFILE));
    ck_assert(!sto_rdb_descriptors_lack(EIO));
    ck_assert(!sto_rdb_descriptors_lack(ENOSPC));
    ck_assert(!sto_rdb_descriptors_lack(ENOENT));
}
END_TEST

Suite *suite_storage_descriptors(void);
Suite *suite_storage_descriptors(void)
{
    Suite *s = suite_create("storage_descriptors");
    TCase *c = tcase_create("waiting");
    suite_add_tcase(s, c);
    tcase_add_test(c, an_open_is_tried_again_for_so_long_and_counted_once);
    tcase_add_test(c, only_a_lack_of_descriptors_is_waited_out);
    return s;
}
