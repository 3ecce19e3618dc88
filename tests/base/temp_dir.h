/*
 * tests/base/temp_dir.h - a directory of its own for every test of files, and looks into it.
 */
#ifndef TESTS_BASE_TEMP_DIR_H
#define TESTS_BASE_TEMP_DIR_H

#include "tests/base/check_base.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "tests/support/process.h"

static char root[PROCESS_PATH];
static char dir[PROCESS_PATH + 8];
static char path[PROCESS_PATH + 64];
static int root_keeper;

/* Once per group, outside the tests' processes: a test that was refused unlink leaves nothing. */
static inline void make_root(void)
{
    root_keeper = process_temp_dir(root);
}

static inline void remove_root(void)
{
    process_temp_dir_remove(root, root_keeper);
}

static inline void make_dir(void)
{
    snprintf(dir, sizeof dir, "%s/XXXXXX", root);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/target", dir);
}

static inline int files_in_dir(void)
{
    int count = 0;
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

static inline void assert_content(const char *file, struct slice want)
{
    struct buf b = {0};
    struct errbuf eb = {0};
    ck_assert_int_eq(base_file_read(file, 1 << 20, &b, &eb), ERR_OK);
    assert_slice(base_buf_slice(&b), want);
    base_buf_fini(&b);
}

static inline unsigned mode_of(const char *file)
{
    struct stat st;
    ck_assert_int_eq(stat(file, &st), 0);
    return st.st_mode & 07777;
}

static inline void assert_mentions(const struct errbuf *eb, const char *word)
{
    if (strstr(eb->text, word) == NULL)
        ck_abort_msg("\"%s\" is not in: %s", word, eb->text);
}

static inline void write_old(void)
{
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("old"), 0600, NULL), ERR_OK);
}

/* A group of tests, each with `dir` to itself and `path` in it, which does not exist. */
static inline TCase *case_in_dir(Suite *suite, const char *name)
{
    TCase *tc = tcase_create(name);
    tcase_add_unchecked_fixture(tc, make_root, remove_root);
    tcase_add_checked_fixture(tc, make_dir, NULL);
    suite_add_tcase(suite, tc);
    return tc;
}

#endif
