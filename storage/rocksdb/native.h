/*
 * storage/rocksdb/native.h - the C++ objects inside RocksDB's C handles, for this directory's .cc
 * files.
 *
 * Does:     returns the rocksdb::Options, DB and ColumnFamilyHandle of a C handle.
 * Owns:     nothing.
 * May use:  RocksDB.
 * Knows no: which functions its callers need that rocksdb/c.h does not offer.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. No exception leaves a .cc file of this directory: its callers are C.
 */
#ifndef STORAGE_ROCKSDB_NATIVE_H
#define STORAGE_ROCKSDB_NATIVE_H

#include <rocksdb/c.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>

/* Each C handle is a struct of one member (RocksDB's db/c.cc): the object, or a pointer to it. */
static inline rocksdb::Options &sto_rdb_native_options(rocksdb_options_t *options)
{
    return *reinterpret_cast<rocksdb::Options *>(options);
}

static inline rocksdb::DB *sto_rdb_native_db(rocksdb_t *db)
{
    return *reinterpret_cast<rocksdb::DB **>(db);
}

static inline rocksdb::ColumnFamilyHandle *
sto_rdb_native_family(rocksdb_column_family_handle_t *family)
{
    return *reinterpret_cast<rocksdb::ColumnFamilyHandle **>(family);
}

#endif
