/*
 * storage/rocksdb/image.h - reads a database that nothing writes to, key by key.
 *
 * Does:     opens an image (storage/rocksdb/checkpoint.h), or the same files in another layout,
 *           without writing; counts its keys, or the entries of its files; visits the stored keys
 *           of a table, and documents.
 * Owns:     its RocksDB handles, from open to close.
 * May use:  base/, storage/.
 * Knows no: backups, the meaning of a table's keys.
 * Threads:  one at a time.
 * Blocks:   yes, on the disk; counting and visiting for as long as data is left.
 * Fails by: ERR_CORRUPT, ERR_IO, ERR_CANCELLED (counting), errors that visit returns.
 * Limits:   none.
 * Promises: 1. No file that is read is changed; RocksDB writes its own LOG beside them.
 *           2. A table's keys are of the tenant of the scope, whatever the image holds.
 */
#ifndef STORAGE_ROCKSDB_IMAGE_H
#define STORAGE_ROCKSDB_IMAGE_H

#include "storage/engine.h"
#include "storage/range.h"

#define STO_IMAGE_FAMILIES 4

/* Number of keys in an image. */
struct sto_image_counts {
    uint64_t keys[STO_IMAGE_FAMILIES]; /* by family: sto_image_family_name */
    uint64_t documents;                /* documents whose keys have the requested prefix */
};

const char *sto_image_family_name(size_t family);
/* The family that holds rows. */
#define STO_IMAGE_CELLS 1

/* Reads every key of an image that is not open, and checks each block's checksum. stop (NULL:
 * never) is called every few thousand keys. */
enum err sto_rocksdb_image_count(const char *dir, struct slice doc_prefix, bool (*stop)(void *ctx),
                                 void *ctx, struct sto_image_counts *out,
                                 struct errbuf *eb) MUST_CHECK;

/* Reads a whole table file, past the page cache, and compares each checksum. out: number of
 * entries, hidden ones included. ERR_CORRUPT also if the file's own count differs. */
struct sto_table_count {
    bool (*stop)(void *ctx); /* NULL: never */
    void *ctx;
    _Atomic uint64_t *bytes; /* increased as bytes are read; NULL: not counted */
};
enum err sto_rocksdb_table_count(const char *path, const struct sto_table_count *how, uint64_t *out,
                                 struct errbuf *eb) MUST_CHECK;

struct sto_image;

enum err sto_image_open(const char *dir, struct sto_image **out, struct errbuf *eb) MUST_CHECK;
/* Accepts NULL. */
void sto_image_close(struct sto_image *image);

/* Visits the image's table files, as its MANIFEST lists them: "000012.sst". */
typedef enum err sto_image_table_visit(void *ctx, const char *name, size_t family);
enum err sto_image_visit_tables(struct sto_image *image, sto_image_table_visit *visit,
                                void *ctx) MUST_CHECK;
/* Counts entries of a family that are only in the image's logs. */
enum err sto_image_count_logged(struct sto_image *image, size_t family, uint64_t *out,
                                struct errbuf *eb) MUST_CHECK;

/* key and value are valid during the visit; any result but ERR_OK ends it and is returned. */
typedef enum err sto_stored_visit(void *ctx, struct slice key, struct slice value);

/* Visits headers and cells of the table's rows, in order, as they are stored: encrypted ones
 * encrypted. */
enum err sto_image_visit_rows(struct sto_image *image, const struct sto_table_scope *scope,
                              sto_stored_visit *visit, void *ctx, struct errbuf *eb) MUST_CHECK;
/* Visits stored keys in a range of the rows of one table of the tenant. */
enum err sto_image_visit_span(struct sto_image *image, struct slice tenant_id, struct sto_span rows,
                              sto_stored_visit *visit, void *ctx, struct errbuf *eb) MUST_CHECK;
/* Visits bodies of the documents whose keys have the prefix, by key. */
enum err sto_image_visit_docs(struct sto_image *image, struct slice key_prefix,
                              sto_stored_visit *visit, void *ctx, struct errbuf *eb) MUST_CHECK;

#endif
