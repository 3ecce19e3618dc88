/*
 * storage/rocksdb/patient_files.h - RocksDB's files, opened again while no descriptor is free.
 *
 * Does:     makes a file system that opens files as RocksDB's own does, and tries again while no
 *           descriptor is free (descriptors.h): RocksDB takes that for a failure of the disk.
 * Owns:     nothing.
 * May use:  storage/rocksdb/descriptors.h, RocksDB.
 * Knows no: which files those are.
 * Threads:  any.
 * Blocks:   what opens a file, for RDB_DESCRIPTOR_SECONDS at most.
 * Fails by: as RocksDB's.
 * Limits:   RDB_DESCRIPTOR_SECONDS.
 * Promises: 1. No open fails for lack of a descriptor before that.
 */
#ifndef STORAGE_ROCKSDB_PATIENT_FILES_H
#define STORAGE_ROCKSDB_PATIENT_FILES_H

#include <memory>

#include <rocksdb/file_system.h>

std::shared_ptr<rocksdb::FileSystem> sto_rdb_patient_files();

#endif
