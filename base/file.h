/*
 * base/file.h - small files that must survive a power cut.
 *
 * Does:     reads whole small files, replaces them atomically, makes and removes directories,
 *           locks.
 * Owns:     nothing; a lock is a descriptor that the caller closes.
 * May use:  base/.
 * Knows no: the contents of files.
 * Threads:  any; not for loop threads.
 * Blocks:   yes, on the disk.
 * Fails by: ERR_IO (detail names path and errno text), ERR_NOT_FOUND, ERR_TOO_BIG, ERR_LOCKED,
 *           ERR_EXISTS, ERR_STORAGE_FULL (no space, or no quota), ERR_OVERLOADED (no descriptor).
 * Limits:   the caller's max on reading.
 * Promises: 1. After base_file_replace returned ERR_OK, the new content survives a power cut.
 *              Before, a power cut leaves the old content or the new one, never a mixture.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <sys/types.h>

#include "base/buf.h"

/* Returns the err for the errno of a failed call on a file. */
enum err base_file_error(int error);
/* Reads a whole file. Initializes out with max: pass it zeroed, new or fini'd. Empty after a
 * failure. */
enum err base_file_read(const char *path, size_t max, struct buf *out,
                        struct errbuf *eb) MUST_CHECK;
/* Replaces a file: temp file, fsync, rename, fsync of the directory. mode is exact, whatever the
 * umask. */
enum err base_file_replace(const char *path, struct slice bytes, mode_t mode,
                           struct errbuf *eb) MUST_CHECK;
/* Creates a file in the same way; ERR_EXISTS if the file exists. */
enum err base_file_create(const char *path, struct slice bytes, mode_t mode,
                          struct errbuf *eb) MUST_CHECK;
/* Makes one directory level, durable on return; ERR_EXISTS if it exists. */
enum err base_dir_make(const char *path, mode_t mode, struct errbuf *eb) MUST_CHECK;
enum err base_dir_sync(const char *path, struct errbuf *eb) MUST_CHECK;
/* Removes a directory that holds files only, and the files; ERR_OK if it does not exist. */
enum err base_dir_remove(const char *path, struct errbuf *eb) MUST_CHECK;
/* Opens (creating) a file and flocks it exclusively without waiting; ERR_LOCKED if another process
 * holds the lock. */
enum err base_file_lock(const char *path, int *out_fd, struct errbuf *eb) MUST_CHECK;
/* Writes "dir/name" to out; ERR_TOO_BIG if longer than BASE_PATH_BYTES with its NUL. */
#define BASE_PATH_BYTES 1024
enum err base_path_join(char out[BASE_PATH_BYTES], const char *dir, const char *name,
                        struct errbuf *eb) MUST_CHECK;

#endif
