/*
 * storage/places.h - the places where bytes of a tenant may be, and what a purge does with each.
 *
 * Does:     list column families, kinds of documents, files and memory in one table each. The
 *           purge, its audit and its search take from them what they delete, compact and count; the
 *           certificate takes from them what it names as an exception.
 * Owns:     nothing; constants.
 * May use:  base/.
 * Knows no: what documents hold, who writes them.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Every document's key begins with the letter of a row here and '/': the engine takes
 *              no other. 2. A row of which something stays names a remainder, any other row names
 *              none; each remainder has a reason and an end.
 */
#ifndef STORAGE_PLACES_H
#define STORAGE_PLACES_H

#include "base/slice.h"

/* What a purge does with the tenant's bytes in a place. */
enum sto_place_fate {
    STO_PLACE_ERASED = 1, /* nothing stays */
    STO_PLACE_REDUCED,    /* what a person named goes, also from old versions in files */
    STO_PLACE_KEPT,       /* all of it stays */
    STO_PLACE_FREE,       /* there never are any */
};

/* What stays of a tenant, as certificates name it. */
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
    const char *until; /* "N days " stands before it where the place has a period in days */
};

/* remainder: not STO_REMAINS_NONE. */
const struct sto_remainder_text *sto_remainder_text(enum sto_remainder remainder);

/* --- documents and counters, column family meta ----------------------------------------------- */

/* Who writes and deletes a kind: the engine by itself, or the rooms above as documents. */
enum sto_place_writer { STO_PLACE_ENGINE = 1, STO_PLACE_ROOMS };

/* Erased kinds are keyed "<letter>/<tenant>/...". Letters are stored: a kind that is gone keeps
 * its own.
 *    name             letter  writer  at a purge  what stays */
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

/* A kind is its letter. */
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

/* In the order of their letters; NULL: there is no such place. */
const struct sto_doc_place *sto_doc_place_at(size_t index);
/* NULL: no document and no counter begins with that byte. */
const struct sto_doc_place *sto_doc_place_of(uint8_t letter);
/* "<letter>/". */
struct slice sto_doc_prefix(enum sto_doc_kind kind);
/* Behind the prefixes of all keys of the kind. */
struct slice sto_doc_prefix_end(enum sto_doc_kind kind);

/* --- column families -------------------------------------------------------------------------- */

/* In the engine's order. Erased ones hold a tenant's keys in the range of storage/range.h; those of
 * meta are above. */
#define STO_FAMILIES(X)                                                                            \
    X(DEFAULT, "default", FREE)                                                                    \
    X(CELLS, "cells", ERASED)                                                                      \
    X(META, "meta", FREE)                                                                          \
    X(CHANGES, "changes", ERASED)

/* Names of the erased ones; NULL: there is none. */
const char *sto_family_erased_at(size_t index);

/* --- everything else -------------------------------------------------------------------------- */

/* Files of the data directory, files outside of it, and memory of the process. */
struct sto_other_place {
    const char *path; /* in the data directory; NULL: elsewhere. A final '/': all below */
    const char *what;
    enum sto_place_fate fate;
    enum sto_remainder remainder;
};

/* NULL: there is no such place. */
const struct sto_other_place *sto_other_place_at(size_t index);

#endif
