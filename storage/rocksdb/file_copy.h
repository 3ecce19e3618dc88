/*
 * storage/rocksdb/file_copy.h - copies a file that the disk may not return completely.
 *
 * Does:     copies a file; writes zeros where the disk returns an error, if the caller wants that.
 * Owns:     nothing after a call.
 * May use:  base/.
 * Knows no: the contents of the file.
 * Threads:  any that may block.
 * Blocks:   yes, on the disk.
 * Fails by: ERR_NOT_FOUND (there is no such file), ERR_EXISTS (the copy exists), ERR_STORAGE_FULL,
 *           ERR_IO.
 * Limits:   none.
 * Promises: 1. The copy is on disk when the call returns ERR_OK.
 */
#ifndef STORAGE_ROCKSDB_FILE_COPY_H
#define STORAGE_ROCKSDB_FILE_COPY_H

#include <sys/stat.h>

#include "base/file.h"

/* Copies a file. fills_gaps: unreadable bytes become zeros in the copy; else ERR_IO. */
enum err sto_file_copy(const char *from, const char *to, mode_t mode, bool fills_gaps,
                       uint64_t *out_bytes, struct errbuf *eb) MUST_CHECK;

/* Writes all of the bytes. path: for the error text. */
enum err sto_bytes_write(int fd, const char *path, const uint8_t *bytes, size_t len,
                         uint64_t offset, struct errbuf *eb) MUST_CHECK;

#endif
