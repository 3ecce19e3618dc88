/*
 * tests/isolation/test_erased.c - whatever anybody named or wrote of a tenant, through any route or
 * method, at the emulator's listener as well, is nowhere when the tenant is erased, but for what
 * its certificate names.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "tests/isolation/erased.h"
#include "tests/storage/log_maker.h"

#include "base/banned.h"

static struct erased x;

static void leave(void)
{
    http_json(x.op, "POST",
              "{'confirm':'" ERASED_TENANT "','reason':'zq-leave for good','deep':true}",
              "/v1/admin/tenants/" ERASED_TENANT ":offboard");
    EXPECT_STATUS(x.op, 202);
    char job[WORLD_ID];
    (void)snprintf(job, sizeof job, "%s", http_string(x.op, "/job"));
    admin_await_job(x.op, job);
    http_get(x.op, "/v1/admin/tenants/" ERASED_TENANT "/certificate");
    EXPECT_STATUS(x.op, 200);
    ck_assert_uint_eq(http_count(x.op, "/exceptions"), STO_REMAINDERS - 1);
}

/* The tenants of the emulator's listener, under whatever IDs. */
static void leave_plain(void)
{
    size_t i, left = 0;
    json_t *tenant;
    http_get(x.op, "/v1/admin/tenants");
    EXPECT_STATUS(x.op, 200);
    json_t *tenants = json_incref(http_at(x.op, "/tenants"));
    json_array_foreach(tenants, i, tenant)
    {
        if (!json_is_true(json_object_get(tenant, "keyless")))
            continue;
        admin_offboard(x.op, json_string_value(json_object_get(tenant, "id")));
        left++;
    }
    json_decref(tenants);
    ck_assert_uint_eq(left, ERASED_PLAINS);
}

static bool is_stored(void *mark)
{
    return erased_is_somewhere(&x, mark);
}

/* Only what was there can be seen to be gone: each mark is in some file before. */
static void expect_all_marks(void)
{
    for (size_t i = 0; i < ERASED_MARK_COUNT; i++)
        process_await(is_stored, (void *)(uintptr_t)ERASED_MARKS[i].text, ERASED_MARKS[i].text);
}

START_TEST(no_file_holds_what_was_named_or_written)
{
    erased_begin(&x);
    erased_tell_story(&x);
    expect_all_marks();
    erased_walk_all(&x);
    erased_check_fields(&x);
    leave();
    leave_plain();
    server_stop(&x.server);
    const char *found = erased_find(&x);
    ck_assert_msg(found == NULL, "DATA: %s", found);
    erased_end(&x);
}
END_TEST

/* In the file as it is, no mark stands in one piece. */
START_TEST(a_mark_that_a_log_cuts_is_found)
{
    static const char *const NAMES[] = {"000012.log", "MANIFEST-000012"};
    static uint8_t record[2 * MAKER_BLOCK];
    const char *mark = ERASED_MARKS[0].text;
    struct buf file;
    char path[PROCESS_PATH + 40];
    int keeper = process_temp_dir(x.server.data);
    (void)snprintf(path, sizeof path, "%s/db", x.server.data);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/db/%s", x.server.data, NAMES[_i]);
    memset(record, 'x', sizeof record);
    memcpy(record + MAKER_BLOCK - MAKER_HEAD - 3, mark, strlen(mark));
    base_buf_init(&file, 4 * sizeof record);
    maker_record(&file, base_slice(record, sizeof record));
    ck_assert_ptr_null(memmem(file.ptr, file.len, mark, strlen(mark)));
    ck_assert(!erased_is_somewhere(&x, mark));
    ck_assert_int_eq(base_file_replace(path, base_buf_slice(&file), 0600, NULL), ERR_OK);
    ck_assert(erased_is_somewhere(&x, mark));
    ck_assert(!erased_is_somewhere(&x, ERASED_MARKS[1].text));
    base_buf_fini(&file);
    process_temp_dir_remove(x.server.data, keeper);
}
END_TEST

Suite *suite_isolation_erased(void);
Suite *suite_isolation_erased(void)
{
    Suite *s = suite_create("isolation_erased");
    TCase *tc = tcase_create("erased");
    tcase_set_timeout(tc, 1200);
    tcase_add_test(tc, no_file_holds_what_was_named_or_written);
    tcase_add_loop_test(tc, a_mark_that_a_log_cuts_is_found, 0, 2);
    suite_add_tcase(s, tc);
    return s;
}
