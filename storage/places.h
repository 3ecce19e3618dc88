/*
 * storage/places.h - the places where bytes of a tenant may be, and what a purge does with each.
 *
 * Does:     lists column families, kinds of documents, files and memory in one table each. The
 *           tables determine what the purge, its audit and its search delete, compact and count,
 *           and what the certificate names as an exception.
 * Owns:     nothing; constants.
 * May use:  base/.
 * Knows no: the contents of documents, the code that writes them.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Every document's key begins with the letter of a row here and '/': the engine
 *              accepts no other.
 *           2. A row whose bytes remain after a purge, wholly or in part, names a remainder; any
 *              other row names none. Each remainder has a reason and an end.
 */
#ifndef STORAGE_PLACES_H
#define STORAGE_PLACES_H

#include "base/slice.h"

/* Effect of a purge on the tenant's bytes in a place. */
enum sto_place_fate {
    STO_PLACE_ERASED = 1, /* nothing remains */
    STO_PLACE_REDUCED,    /* names and texts written by people are removed, also from old versions
                           * in files */
    STO_PLACE_KEPT,       /* everything remains */
    STO_PLACE_FREE,       /* never holds bytes of a tenant */
};

/* Remainders of a purged tenant, as certificates name them. */
enum sto_remainder {
    STO_REMAINS_NONE,
    STO_REMAINS_TENANT,
    STO_REMAINS_KEYS,
    STO_REMAINS_JOB,
    STO_REMAINS_AUDIT,
    STO_REMAINS_BILLS,
    STO_REMAINS_CERTIFICATE,
    STO_REMAINS_BACKUPS,
    STO_REMAINS_ACCESS_LOG,
    STO_REMAINS_SERVER_LOG,
    STO_REMAINS_MEMORY,
    STO_REMAINDERS
};

struct sto_remainder_text {
    const char *kept;
    const char *why;
    const char *until; /* preceded by "N days " if the place has a period in days */
};

/* Returns the text of a remainder, which must not be STO_REMAINS_NONE. */
const struct sto_remainder_text *sto_remainder_text(enum sto_remainder remainder);

/* --- documents and counters, column family meta ----------------------------------------------- */

/* Writer of a kind: the engine by itself, or the directories above storage/, as documents. */
enum sto_place_writer { STO_PLACE_ENGINE = 1, STO_PLACE_ROOMS };

/*
 * Erased kinds are keyed "<letter>/<tenant>/...". Letters are stored: the letter of a kind that no
 * longer exists is never reused.
 *    name             letter  writer  at a purge  what remains
 */
#define STO_DOC_KINDS(X)                                                                           \
    X(AUDIT, 'a', ROOMS, KEPT, AUDIT)                                                              \
    X(AUDIT_INDEX, 'b', ROOMS, KEPT, AUDIT)                                                        \
    X(CHANGES_REMOVED, 'c', ENGINE, ERASED, NONE)                                                  \
    X(RECLAIM, 'd', ENGINE, ERASED, NONE)                                                          \
    X(INSTANCE, 'e', ROOMS, ERASED, NONE)                                                          \
    X(TOKEN, 'i', ENGINE, ERASED, NONE)                                                            \
    X(JOB, 'j', ROOMS, KEPT, JOB)                                                                  \
    X(API_KEY, 'k', ROOMS, REDUCED, KEYS)                                                          \
    X(AUDIT_SUBJECT, 'l', ROOMS, ERASED, NONE)                                                     \
    X(BILL, 'm', ROOMS, KEPT, BILLS)                                                               \
    X(BILL_BASE, 'n', ROOMS, FREE, NONE)                                                           \
    X(OPERATION, 'o', ROOMS, ERASED, NONE)                                                         \
    X(PLAN, 'p', ROOMS, FREE, NONE)                                                                \
    X(LOST, 'q', ENGINE, ERASED, NONE)                                                             \
    X(RECLAIM_OLD, 'r', ENGINE, ERASED, NONE) /* written by earlier programs */                    \
    X(SCHEMA, 's', ROOMS, ERASED, NONE)                                                            \
    X(TENANT, 't', ROOMS, REDUCED, TENANT)                                                         \
    X(COUNTERS, 'u', ENGINE, ERASED, NONE)                                                         \
    X(VIEW, 'v', ROOMS, ERASED, NONE)                                                              \
    X(SWEEP, 'w', ROOMS, ERASED, NONE)

/* The value of a kind is its letter. */
enum sto_doc_kind {
#define X(name, letter, writer, fate, remainder) STO_DOC_##name = letter,
    STO_DOC_KINDS(X)
#undef X
};

struct sto_doc_place {
    enum sto_doc_kind kind;
    enum sto_place_writer writer;
    enum sto_place_fate fate;
    enum sto_remainder remainder;
};

/* Returns the places in the order of their letters; NULL: there is no such place. */
const struct sto_doc_place *sto_doc_place_at(size_t index);
/* Returns the place of a letter; NULL: no document and no counter begins with that byte. */
const struct sto_doc_place *sto_doc_place_of(uint8_t letter);
/* Returns "<letter>/". */
struct slice sto_doc_prefix(enum sto_doc_kind kind);
/* Returns the first key after all keys of the kind. */
struct slice sto_doc_prefix_end(enum sto_doc_kind kind);

/* --- column families -------------------------------------------------------------------------- */

/* In the engine's order. Erased families hold a tenant's keys in the range of storage/range.h; the
 * keys of meta are listed above. */
#define STO_FAMILIES(X)                                                                            \
    X(DEFAULT, "default", FREE)                                                                    \
    X(CELLS, "cells", ERASED)                                                                      \
    X(META, "meta", FREE)                                                                          \
    X(CHANGES, "changes", ERASED)

/* Returns the names of the erased families; NULL: there is no such family. */
const char *sto_family_erased_at(size_t index);

/* --- everything else -------------------------------------------------------------------------- */

/* Files of the data directory, files outside of it, and memory of the process. */
struct sto_other_place {
    const char *path; /* in the data directory; NULL: elsewhere. A final '/' includes everything
                       * below */
    const char *what;
    enum sto_place_fate fate;
    enum sto_remainder remainder;
};

/* Returns NULL if there is no such place. */
const struct sto_other_place *sto_other_place_at(size_t index);

#endif
