/*
 * storage/rocksdb/patient_files.h - RocksDB's file system, with retries while no descriptor is
 * free.
 *
 * Does:     creates a file system that opens files as RocksDB's own does, and retries while no
 *           descriptor is free (descriptors.h): RocksDB would treat that as a failure of the disk.
 * Owns:     nothing.
 * May use:  storage/rocksdb/descriptors.h, RocksDB.
 * Knows no: the purpose of the files.
 * Threads:  any.
 * Blocks:   calls that open a file, for at most RDB_DESCRIPTOR_SECONDS.
 * Fails by: as RocksDB's.
 * Limits:   RDB_DESCRIPTOR_SECONDS.
 * Promises: 1. No open fails for lack of a descriptor before RDB_DESCRIPTOR_SECONDS.
 */
#ifndef STORAGE_ROCKSDB_PATIENT_FILES_H
#define STORAGE_ROCKSDB_PATIENT_FILES_H

#include <memory>

#include <rocksdb/file_system.h>

std::shared_ptr<rocksdb::FileSystem> sto_rdb_patient_files();

#endif
