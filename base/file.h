/*
 * base/file.h - small files that must survive a power cut.
 *
 * Does:     read whole small files, replace them atomically, make and remove directories, lock.
 * Owns:     nothing; a lock is a descriptor the caller closes.
 * May use:  base/.
 * Knows no: what the files hold.
 * Threads:  any; not for loop threads.
 * Blocks:   yes, on the disk.
 * Fails by: ERR_IO (detail names path and errno text), ERR_NOT_FOUND, ERR_TOO_BIG, ERR_LOCKED,
 *           ERR_EXISTS, ERR_STORAGE_FULL (no space, or no quota), ERR_OVERLOADED (no descriptor).
 * Limits:   the caller's max on reading.
 * Promises: 1. After base_file_replace returned ERR_OK, the new content is there after a power
 *              cut; before, the old content or the new one, never a mixture.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <sys/types.h>

#include "base/buf.h"

/* What the errno of a failed call on a file means. */
enum err base_file_error(int error);
/* out is made here with max: pass it zeroed, new or fini'd. Empty after a failure. */
enum err base_file_read(const char *path, size_t max, struct buf *out,
                        struct errbuf *eb) MUST_CHECK;
/* temp file, fsync, rename, fsync of the directory. mode is exact, whatever the umask. */
enum err base_file_replace(const char *path, struct slice bytes, mode_t mode,
                           struct errbuf *eb) MUST_CHECK;
/* Like replace but ERR_EXISTS when the file is there. */
enum err base_file_create(const char *path, struct slice bytes, mode_t mode,
                          struct errbuf *eb) MUST_CHECK;
/* One directory level, durable on return; ERR_EXISTS when it is there. */
enum err base_dir_make(const char *path, mode_t mode, struct errbuf *eb) MUST_CHECK;
enum err base_dir_sync(const char *path, struct errbuf *eb) MUST_CHECK;
/* Remove a directory that holds files only, and them; ERR_OK when it is not there. */
enum err base_dir_remove(const char *path, struct errbuf *eb) MUST_CHECK;
/* Open (creating) and flock exclusively without waiting; ERR_LOCKED when another holds it. */
enum err base_file_lock(const char *path, int *out_fd, struct errbuf *eb) MUST_CHECK;
/* "dir/name" into out; ERR_TOO_BIG when longer than BASE_PATH_BYTES with its NUL. */
#define BASE_PATH_BYTES 1024
enum err base_path_join(char out[BASE_PATH_BYTES], const char *dir, const char *name,
                        struct errbuf *eb) MUST_CHECK;

#endif
