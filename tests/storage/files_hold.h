/*
 * tests/storage/files_hold.h - searches the bytes of all files for a text.
 *
 * Does:     read every file under a directory.
 * Owns:     nothing.
 * May use:  base/, check.
 * Knows no: the files' formats.
 * Threads:  one.
 * Blocks:   yes.
 * Fails by: ck_assert.
 * Limits:   files of 512 MiB.
 * Promises: 1. A text is found in any file that exists during the whole call.
 */
#ifndef TESTS_STORAGE_FILES_HOLD_H
#define TESTS_STORAGE_FILES_HOLD_H

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/limits.h"

/* Returns whether any file under the directory contains the text. */
__attribute__((unused)) static bool files_hold(const char *dir, const char *text)
{
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    bool found = false;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[600];
        (void)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (e->d_type == DT_DIR) {
            if (e->d_name[0] != '.')
                found = files_hold(path, text) || found;
            continue;
        }
        struct buf b;
        if (base_file_read(path, 512 * MIB, &b, NULL) == ERR_OK)
            found = found || (b.len > 0 && memmem(b.ptr, b.len, text, strlen(text)) != NULL);
        base_buf_fini(&b);
    }
    (void)closedir(d);
    return found;
}

#endif
