/* tests/base/test_file_faults.c - the old file or the new one, also when the system refuses. */
#define _GNU_SOURCE

#include "tests/base/temp_dir.h"

#include <fcntl.h>
#include <sys/resource.h>

/* What rename(3) and link(2) call: newer ports of Linux (arm64) have no calls of these names. */
#ifdef SYS_rename
#define RENAME SYS_rename
#define LINK   SYS_link
#else
#define RENAME SYS_renameat
#define LINK   SYS_linkat
#endif

Suite *suite_base_file_faults(void);

/* The old content survives, nothing is left beside it, and the reason is told. */
static void assert_refused(const char *reason)
{
    struct errbuf eb = {0};
    uint8_t big[8192] = {0};
    ck_assert_int_eq(base_file_replace(path, base_slice(big, sizeof big), 0600, &eb), ERR_IO);
    assert_mentions(&eb, path);
    assert_mentions(&eb, reason);
    assert_content(path, SLICE_LIT("old"));
    ck_assert_int_eq(files_in_dir(), 1);
}

START_TEST(full_disk_keeps_the_old_content)
{
    write_old();
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 4096;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_refused("File too large");
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
END_TEST

START_TEST(failing_fsync_keeps_the_old_content)
{
    write_old();
    refuse_syscall(SYS_fsync, EIO);
    assert_refused("Input/output error");
}
END_TEST

START_TEST(failing_rename_keeps_the_old_content)
{
    write_old();
    refuse_syscall(RENAME, EIO);
    assert_refused("Input/output error");
}
END_TEST

START_TEST(failing_chmod_keeps_the_old_content)
{
    write_old();
    refuse_syscall(SYS_fchmod, EPERM);
    assert_refused("Operation not permitted");
}
END_TEST

START_TEST(failing_directory_fsync_is_reported)
{
    write_old();
    refuse_syscall_with(SYS_openat, EIO, 2, O_DIRECTORY);
    struct errbuf eb = {0};
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("new"), 0600, &eb), ERR_IO);
    assert_mentions(&eb, "directory");
    assert_content(path, SLICE_LIT("new")); /* the old or the new, never a mixture */
    snprintf(path, sizeof path, "%s/another", dir);
    ck_assert_int_eq(base_file_create(path, SLICE_LIT("new"), 0600, &eb), ERR_IO);
}
END_TEST

START_TEST(failing_link_makes_nothing)
{
    refuse_syscall(LINK, EIO);
    struct errbuf eb = {0};
    ck_assert_int_eq(base_file_create(path, SLICE_LIT("x"), 0600, &eb), ERR_IO);
    ck_assert_int_eq(files_in_dir(), 0);
}
END_TEST

START_TEST(a_lack_of_descriptors_is_no_failure_of_the_disk)
{
    write_old();
    struct errbuf eb = {0};
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("new"), 0600, &eb), ERR_OVERLOADED);
    assert_mentions(&eb, "Too many open files");
    limit.rlim_cur = before;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_content(path, SLICE_LIT("old"));
    ck_assert_int_eq(base_file_error(ENFILE), ERR_OVERLOADED);
}
END_TEST

Suite *suite_base_file_faults(void)
{
    Suite *suite = suite_create("base_file_faults");
    TCase *faults = case_in_dir(suite, "faults");
    tcase_add_test(faults, full_disk_keeps_the_old_content);
    tcase_add_test(faults, failing_fsync_keeps_the_old_content);
    tcase_add_test(faults, failing_rename_keeps_the_old_content);
    tcase_add_test(faults, failing_chmod_keeps_the_old_content);
    tcase_add_test(faults, failing_directory_fsync_is_reported);
    tcase_add_test(faults, failing_link_makes_nothing);
    tcase_add_test(faults, a_lack_of_descriptors_is_no_failure_of_the_disk);
    return suite;
}
