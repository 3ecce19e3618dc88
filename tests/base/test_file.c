/* tests/base/test_file.c - small files, directories, locks and paths. */
#define _GNU_SOURCE

#include "tests/base/temp_dir.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"

Suite *suite_base_file(void);

/* --- read ----------------------------------------------------------------------------------- */

START_TEST(read_gives_the_whole_file)
{
    uint64_t seed = 31;
    static uint8_t bytes[100000];
    fill_random(&seed, bytes, sizeof bytes);
    static const size_t LENGTHS[] = {0, 1, 16383, 16384, 16385, 100000};
    for (size_t i = 0; i < 6; i++) {
        ck_assert_int_eq(base_file_replace(path, base_slice(bytes, LENGTHS[i]), 0600, NULL),
                         ERR_OK);
        assert_content(path, base_slice(bytes, LENGTHS[i]));
    }
}
END_TEST

START_TEST(read_at_max_fits_and_above_is_too_big)
{
    static const size_t MAXES[] = {0, 1, 9, 16383, 16384, 20000};
    static uint8_t bytes[20001];
    for (size_t i = 0; i < 6; i++) {
        for (size_t more = 0; more < 2; more++) {
            struct slice content = base_slice(bytes, MAXES[i] + more);
            ck_assert_int_eq(base_file_replace(path, content, 0600, NULL), ERR_OK);
            struct buf b = {0};
            struct errbuf eb = {0};
            ck_assert_int_eq(base_file_read(path, MAXES[i], &b, &eb),
                             more == 0 ? ERR_OK : ERR_TOO_BIG);
            ck_assert_uint_eq(b.len, more == 0 ? MAXES[i] : 0);
            ck_assert_uint_eq(b.max, MAXES[i]);
            if (more != 0)
                assert_mentions(&eb, path);
            base_buf_fini(&b);
        }
    }
}
END_TEST

START_TEST(read_of_a_missing_file_is_not_found)
{
    struct buf b = {0};
    struct errbuf eb = {0};
    ck_assert_int_eq(base_file_read(path, 10, &b, &eb), ERR_NOT_FOUND);
    assert_mentions(&eb, path);
    assert_mentions(&eb, "No such file");
    ck_assert_int_eq(base_file_read(path, 10, &b, NULL), ERR_NOT_FOUND);
}
END_TEST

START_TEST(read_of_a_directory_is_an_io_error)
{
    struct buf b = {0};
    struct errbuf eb = {0};
    ck_assert_int_eq(base_file_read(dir, 10, &b, &eb), ERR_IO);
    assert_mentions(&eb, dir);
}
END_TEST

START_TEST(read_reports_a_failing_disk)
{
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("x"), 0600, NULL), ERR_OK);
    struct buf b = {0};
    struct errbuf eb = {0};
    int before = dup(0); /* the first that is free */
    close(before);
    /* Reads of 16 KiB only: the tools that measure coverage read smaller pieces at exit. */
    refuse_syscall_with(SYS_read, EIO, 2, 16 * 1024);
    ck_assert_int_eq(base_file_read(path, 1 << 20, &b, &eb), ERR_IO);
    assert_mentions(&eb, "Input/output error");
    ck_assert_int_eq(dup(0), before); /* the file was closed */
}
END_TEST

START_TEST(read_without_memory_says_so)
{
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("x"), 0600, NULL), ERR_OK);
    struct buf b = {0};
    base_alloc_fail_after(0);
    ck_assert_int_eq(base_file_read(path, 10, &b, NULL), ERR_NO_MEMORY);
    ck_assert_uint_eq(b.len, 0);
    ck_assert_int_eq(b.error, ERR_OK);
}
END_TEST

/* --- replace and create --------------------------------------------------------------------- */

START_TEST(replace_makes_and_replaces)
{
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("one"), 0600, NULL), ERR_OK);
    assert_content(path, SLICE_LIT("one"));
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("t\0o"), 0600, NULL), ERR_OK);
    assert_content(path, SLICE_LIT("t\0o"));
    ck_assert_int_eq(base_file_replace(path, SLICE_EMPTY, 0600, NULL), ERR_OK);
    assert_content(path, SLICE_EMPTY);
    ck_assert_int_eq(files_in_dir(), 1);
}
END_TEST

START_TEST(mode_is_exact_whatever_the_umask)
{
    umask(0777);
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("x"), 0644, NULL), ERR_OK);
    ck_assert_uint_eq(mode_of(path), 0644);
    umask(0);
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("x"), 0600, NULL), ERR_OK);
    ck_assert_uint_eq(mode_of(path), 0600);
}
END_TEST

START_TEST(names_without_a_directory_work)
{
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert_int_eq(base_file_replace("bare", SLICE_LIT("x"), 0600, NULL), ERR_OK);
    assert_content("bare", SLICE_LIT("x"));
    ck_assert_int_eq(base_file_create("bare2", SLICE_LIT("y"), 0600, NULL), ERR_OK);
    assert_content("bare2", SLICE_LIT("y"));
}
END_TEST

START_TEST(create_refuses_what_exists)
{
    struct errbuf eb = {0};
    ck_assert_int_eq(base_file_create(path, SLICE_LIT("first"), 0600, &eb), ERR_OK);
    ck_assert_uint_eq(mode_of(path), 0600);
    ck_assert_int_eq(base_file_create(path, SLICE_LIT("second"), 0600, &eb), ERR_EXISTS);
    assert_mentions(&eb, path);
    assert_content(path, SLICE_LIT("first"));
    ck_assert_int_eq(files_in_dir(), 1);
}
END_TEST

START_TEST(create_has_one_winner_among_many)
{
    enum { RACERS = 8 };
    int start[2];
    ck_assert_int_eq(pipe(start), 0);
    for (int i = 0; i < RACERS; i++) {
        if (fork() == 0) {
            char c;
            close(start[1]);
            ssize_t ignored = read(start[0], &c, 1); /* ends when all were made */
            (void)ignored;
            _exit((int)base_file_create(path, SLICE_LIT("whole"), 0600, NULL));
        }
    }
    close(start[1]);
    int winners = 0;
    for (int i = 0; i < RACERS; i++) {
        int status = 0;
        ck_assert_int_gt(wait(&status), 0);
        ck_assert(WEXITSTATUS(status) == ERR_OK || WEXITSTATUS(status) == ERR_EXISTS);
        winners += WEXITSTATUS(status) == ERR_OK;
    }
    ck_assert_int_eq(winners, 1);
    assert_content(path, SLICE_LIT("whole"));
    ck_assert_int_eq(files_in_dir(), 1);
}
END_TEST

START_TEST(missing_directory_is_not_found)
{
    struct errbuf eb = {0};
    snprintf(path, sizeof path, "%s/no/such", dir);
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("x"), 0600, &eb), ERR_NOT_FOUND);
    assert_mentions(&eb, path);
    ck_assert_int_eq(base_file_create(path, SLICE_LIT("x"), 0600, &eb), ERR_NOT_FOUND);
}
END_TEST

START_TEST(replacing_a_directory_is_an_io_error_and_leaves_nothing)
{
    struct errbuf eb = {0};
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("x"), 0600, &eb), ERR_IO);
    ck_assert_int_eq(files_in_dir(), 1);
}
END_TEST

START_TEST(endless_paths_are_too_big)
{
    char longer[BASE_PATH_BYTES + 10];
    memset(longer, 'x', sizeof longer);
    struct errbuf eb = {0};
    longer[BASE_PATH_BYTES] = '\0';
    ck_assert_int_eq(base_file_replace(longer, SLICE_LIT("x"), 0600, &eb), ERR_TOO_BIG);
    ck_assert_int_eq(base_file_create(longer, SLICE_LIT("x"), 0600, &eb), ERR_TOO_BIG);
    longer[BASE_PATH_BYTES - 1] = '\0'; /* ours is satisfied, the system's 255 per name is not */
    ck_assert_int_eq(base_file_replace(longer, SLICE_LIT("x"), 0600, &eb), ERR_TOO_BIG);
}
END_TEST

START_TEST(stale_temporary_file_is_no_obstacle)
{
    char stale[sizeof path + 48];
    for (int i = 0; i < 3; i++) {
        snprintf(stale, sizeof stale, "%s.%ld.%d.tmp", path, (long)getpid(), i);
        int fd = open(stale, O_CREAT | O_WRONLY, 0600);
        ck_assert_int_eq(write(fd, "stale", 5), 5);
        close(fd);
    }
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("new"), 0600, NULL), ERR_OK);
    assert_content(path, SLICE_LIT("new"));
    ck_assert_int_eq(files_in_dir(), 3); /* one of the four became the target */
}
END_TEST

/* --- directories, locks, paths -------------------------------------------------------------- */

START_TEST(dir_make_makes_one_level)
{
    struct errbuf eb = {0};
    umask(0777);
    ck_assert_int_eq(base_dir_make(path, 0750, &eb), ERR_OK);
    ck_assert_uint_eq(mode_of(path), 0750);
    ck_assert_int_eq(base_dir_make(path, 0750, &eb), ERR_EXISTS);
    assert_mentions(&eb, path);
    snprintf(path, sizeof path, "%s/two/levels", dir);
    ck_assert_int_eq(base_dir_make(path, 0750, &eb), ERR_NOT_FOUND);
}
END_TEST

START_TEST(dir_make_accepts_trailing_slashes)
{
    snprintf(path, sizeof path, "%s/sub//", dir);
    ck_assert_int_eq(base_dir_make(path, 0700, NULL), ERR_OK);
    ck_assert_uint_eq(mode_of(path), 0700);
}
END_TEST

START_TEST(dir_make_that_cannot_be_durable_makes_nothing)
{
    struct errbuf eb = {0};
    refuse_syscall(SYS_fsync, EIO);
    ck_assert_int_eq(base_dir_make(path, 0700, &eb), ERR_IO);
    ck_assert_int_eq(files_in_dir(), 0);
}
END_TEST

START_TEST(dir_remove_takes_files_and_no_directories)
{
    char inner[BASE_PATH_BYTES];
    struct errbuf eb = {{0}};
    (void)snprintf(path, sizeof path, "%s/going", dir);
    ck_assert_int_eq(base_dir_remove(path, &eb), ERR_OK); /* not there: fine */
    ck_assert_int_eq(base_dir_make(path, 0700, &eb), ERR_OK);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(inner, sizeof inner, "%s/%d", path, i);
        ck_assert_int_eq(base_file_create(inner, SLICE_LIT("x"), 0600, &eb), ERR_OK);
    }
    ck_assert_int_eq(base_dir_remove(path, &eb), ERR_OK);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(base_dir_make(path, 0700, &eb), ERR_OK);
    (void)snprintf(inner, sizeof inner, "%s/dir", path);
    ck_assert_int_eq(base_dir_make(inner, 0700, &eb), ERR_OK);
    ck_assert_int_eq(base_dir_remove(path, &eb), ERR_IO);
    ck_assert_int_eq(access(inner, F_OK), 0);
}
END_TEST

START_TEST(dir_sync_tells_what_is_no_directory)
{
    struct errbuf eb = {0};
    ck_assert_int_eq(base_dir_sync(dir, &eb), ERR_OK);
    ck_assert_int_eq(base_dir_sync(path, &eb), ERR_NOT_FOUND);
    write_old();
    ck_assert_int_eq(base_dir_sync(path, &eb), ERR_IO);
    assert_mentions(&eb, path);
}
END_TEST

START_TEST(lock_has_one_holder)
{
    int first = -1, second = 77;
    struct errbuf eb = {0};
    ck_assert_int_eq(base_file_lock(path, &first, &eb), ERR_OK);
    ck_assert_int_ge(first, 0);
    ck_assert_int_eq(base_file_lock(path, &second, &eb), ERR_LOCKED);
    ck_assert_int_eq(second, 77);
    assert_mentions(&eb, path);
    close(first);
    ck_assert_int_eq(base_file_lock(path, &second, &eb), ERR_OK);
    close(second);
}
END_TEST

START_TEST(lock_does_not_pass_to_programs_we_start)
{
    int fd = -1;
    ck_assert_int_eq(base_file_lock(path, &fd, NULL), ERR_OK);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
}
END_TEST

START_TEST(lock_reports_other_failures)
{
    int fd = 77;
    struct errbuf eb = {0};
    ck_assert_int_eq(base_file_lock(dir, &fd, &eb), ERR_IO);
    refuse_syscall(SYS_flock, ENOLCK);
    ck_assert_int_eq(base_file_lock(path, &fd, &eb), ERR_IO);
    assert_mentions(&eb, "No locks available");
    ck_assert_int_eq(fd, 77);
}
END_TEST

START_TEST(join_puts_one_slash_between)
{
    char out[BASE_PATH_BYTES];
    ck_assert_int_eq(base_path_join(out, "data", "LOCK", NULL), ERR_OK);
    ck_assert_str_eq(out, "data/LOCK");
    ck_assert_int_eq(base_path_join(out, "/", "data", NULL), ERR_OK);
    ck_assert_str_eq(out, "/data");
    ck_assert_int_eq(base_path_join(out, out, "keys", NULL), ERR_OK);
    ck_assert_str_eq(out, "/data/keys");
    ck_assert_int_eq(base_path_join(out, "", "here", NULL), ERR_OK);
    ck_assert_str_eq(out, "here");
}
END_TEST

START_TEST(join_is_bounded)
{
    char out[BASE_PATH_BYTES] = "untouched";
    char name[2 * BASE_PATH_BYTES];
    struct errbuf eb = {0};
    memset(name, 'n', sizeof name);
    name[BASE_PATH_BYTES - 3] = '\0'; /* "d/" and its NUL fill the rest */
    ck_assert_int_eq(base_path_join(out, "d", name, &eb), ERR_OK);
    ck_assert_uint_eq(strlen(out), BASE_PATH_BYTES - 1);
    ck_assert_int_eq(base_path_join(out, "dd", name, &eb), ERR_TOO_BIG);
    ck_assert_uint_eq(strlen(out), BASE_PATH_BYTES - 1);
    name[BASE_PATH_BYTES - 3] = 'n';
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(base_path_join(out, "d", name, &eb), ERR_TOO_BIG);
    ck_assert_int_eq(base_path_join(out, name, "d", &eb), ERR_TOO_BIG);
}
END_TEST

Suite *suite_base_file(void)
{
    Suite *suite = suite_create("base_file");
    TCase *reading = case_in_dir(suite, "read");
    tcase_add_test(reading, read_gives_the_whole_file);
    tcase_add_test(reading, read_at_max_fits_and_above_is_too_big);
    tcase_add_test(reading, read_of_a_missing_file_is_not_found);
    tcase_add_test(reading, read_of_a_directory_is_an_io_error);
    tcase_add_test(reading, read_reports_a_failing_disk);
    tcase_add_test(reading, read_without_memory_says_so);
    TCase *writing = case_in_dir(suite, "write");
    tcase_add_test(writing, replace_makes_and_replaces);
    tcase_add_test(writing, mode_is_exact_whatever_the_umask);
    tcase_add_test(writing, names_without_a_directory_work);
    tcase_add_test(writing, create_refuses_what_exists);
    tcase_add_test(writing, create_has_one_winner_among_many);
    tcase_add_test(writing, missing_directory_is_not_found);
    tcase_add_test(writing, replacing_a_directory_is_an_io_error_and_leaves_nothing);
    tcase_add_test(writing, endless_paths_are_too_big);
    tcase_add_test(writing, stale_temporary_file_is_no_obstacle);
    TCase *dirs = case_in_dir(suite, "directories");
    tcase_add_test(dirs, dir_make_makes_one_level);
    tcase_add_test(dirs, dir_make_accepts_trailing_slashes);
    tcase_add_test(dirs, dir_make_that_cannot_be_durable_makes_nothing);
    tcase_add_test(dirs, dir_remove_takes_files_and_no_directories);
    tcase_add_test(dirs, dir_sync_tells_what_is_no_directory);
    TCase *locks = case_in_dir(suite, "locks and paths");
    tcase_add_test(locks, lock_has_one_holder);
    tcase_add_test(locks, lock_does_not_pass_to_programs_we_start);
    tcase_add_test(locks, lock_reports_other_failures);
    tcase_add_test(locks, join_puts_one_slash_between);
    tcase_add_test(locks, join_is_bounded);
    return suite;
}
