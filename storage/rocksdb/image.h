/*
 * storage/rocksdb/image.h - a database that nobody writes, read key by key.
 *
 * Does:     open an image (storage/rocksdb/checkpoint.h), or the same files laid out anew, without
 *           writing; count its keys, or the entries of its files; visit the stored keys of a table,
 *           and documents.
 * Owns:     its RocksDB handles, from open to close.
 * May use:  base/, storage/.
 * Knows no: backups, what the keys of a table mean.
 * Threads:  one at a time.
 * Blocks:   yes, on the disk; counting and visiting for as long as there is something.
 * Fails by: ERR_CORRUPT, ERR_IO, ERR_CANCELLED (counting), what visit returns.
 * Limits:   none.
 * Promises: 1. Nothing of what is read is changed; RocksDB writes its own LOG beside it.
 *           2. A table's keys are of the tenant of the scope, whatever the image holds.
 */
#ifndef STORAGE_ROCKSDB_IMAGE_H
#define STORAGE_ROCKSDB_IMAGE_H

#include "storage/engine.h"
#include "storage/range.h"

#define STO_IMAGE_FAMILIES 4

/* How many keys an image holds. */
struct sto_image_counts {
    uint64_t keys[STO_IMAGE_FAMILIES]; /* by family: sto_image_family_name */
    uint64_t documents;                /* of the documents, those with the prefix asked for */
};

const char *sto_image_family_name(size_t family);
/* The family that holds rows. */
#define STO_IMAGE_CELLS 1

/* Read every key of an image that nobody has open, each block's checksum checked. stop (NULL:
 * never) is asked every few thousand keys. */
enum err sto_rocksdb_image_count(const char *dir, struct slice doc_prefix, bool (*stop)(void *ctx),
                                 void *ctx, struct sto_image_counts *out,
                                 struct errbuf *eb) MUST_CHECK;

/* Reads all of one of its table files, past the page cache, each checksum compared. out: entries,
 * whatever hides them; ERR_CORRUPT also when the file says another number of itself. */
struct sto_table_count {
    bool (*stop)(void *ctx); /* NULL: never */
    void *ctx;
    _Atomic uint64_t *bytes; /* counted up as they are read; NULL: not */
};
enum err sto_rocksdb_table_count(const char *path, const struct sto_table_count *how, uint64_t *out,
                                 struct errbuf *eb) MUST_CHECK;

struct sto_image;

enum err sto_image_open(const char *dir, struct sto_image **out, struct errbuf *eb) MUST_CHECK;
/* Accepts NULL. */
void sto_image_close(struct sto_image *image);

/* The table files that it is made of, as it says itself: "000012.sst". */
typedef enum err sto_image_table_visit(void *ctx, const char *name, size_t family);
enum err sto_image_visit_tables(struct sto_image *image, sto_image_table_visit *visit,
                                void *ctx) MUST_CHECK;
/* Entries of a family that are in its logs alone. */
enum err sto_image_count_logged(struct sto_image *image, size_t family, uint64_t *out,
                                struct errbuf *eb) MUST_CHECK;

/* Valid during the visit; anything but ERR_OK ends it and is returned. */
typedef enum err sto_stored_visit(void *ctx, struct slice key, struct slice value);

/* Headers and cells of the table's rows, in order, as they are stored: sealed ones sealed. */
enum err sto_image_visit_rows(struct sto_image *image, const struct sto_table_scope *scope,
                              sto_stored_visit *visit, void *ctx, struct errbuf *eb) MUST_CHECK;
/* The same of stored keys in a range of the rows of one table of the tenant. */
enum err sto_image_visit_span(struct sto_image *image, struct slice tenant_id, struct sto_span rows,
                              sto_stored_visit *visit, void *ctx, struct errbuf *eb) MUST_CHECK;
/* Bodies of the documents whose keys begin so, by key. */
enum err sto_image_visit_docs(struct sto_image *image, struct slice key_prefix,
                              sto_stored_visit *visit, void *ctx, struct errbuf *eb) MUST_CHECK;

#endif
