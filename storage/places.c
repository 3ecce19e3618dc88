/*
 * storage/places.c - the rows of places.h, and the texts of remainders.
 */
#include "storage/places.h"

#include "base/err.h"

#include "base/banned.h"

/* --- remainders ------------------------------------------------------------------------------- */

static const struct sto_remainder_text REMAINDERS[STO_REMAINDERS] = {
    [STO_REMAINS_TENANT] = {"tenant record",
                            "its ID, state, quota and times, so that the ID is never given again",
                            "as long as the database exists"},
    [STO_REMAINS_KEYS] = {"API keys",
                          "ID and digest of each key, so that a request with one is told that the "
                          "tenant is gone; keys of services that act for others, too, as they are, "
                          "with the tenant's ID, their label and row prefix",
                          "until the key is revoked, or as long as the database exists"},
    [STO_REMAINS_JOB] = {"job record",
                         "the steps, counts and checks that this certificate is made from, who "
                         "requested the deletion, and the reason that was given",
                         "as long as the database exists"},
    [STO_REMAINS_AUDIT] =
        {"audit trail",
         "who did what and when, without rows or values, so that it can be "
         "accounted for. Records name jobs, plans and keys; the names of tables, "
         "column families, views and backups went, but for records that a program "
         "before 0.1.0 made",
         "after each record, or longer: a record goes after all older ones"},
    [STO_REMAINS_BILLS] = {"bills",
                           "what was used in each hour, as numbers, so that it can be charged for",
                           "after each hour"},
    [STO_REMAINS_CERTIFICATE] = {"certificates of erasure",
                                 "this certificate and its copy beside the backups, so that a "
                                 "restored backup does not bring the tenant back",
                                 "as long as the database or a backup exists"},
    [STO_REMAINS_BACKUPS] = {"list of backups",
                             "of each backup of this tenant alone: its ID, the name and the table "
                             "it was made of, and its note; of each backup named above: how many "
                             "bytes and rows it holds",
                             "until the backup is deleted"},
    [STO_REMAINS_ACCESS_LOG] = {"access log, where the server writes one",
                                "the tenant's ID and the IDs of its keys in a line for each "
                                "request, so that requests can be accounted for",
                                "until the server's operator deletes the file"},
    [STO_REMAINS_SERVER_LOG] = {"server log",
                                "the tenant's ID in events about its quota and its backups",
                                "until the server's operator deletes it"},
    [STO_REMAINS_MEMORY] =
        {"memory of the running server",
         "labels and row prefixes of its keys, and blocks of deleted files in the "
         "cache; no request is answered with them",
         "until the server is restarted"},
};

const struct sto_remainder_text *sto_remainder_text(enum sto_remainder remainder)
{
    INVARIANT(remainder > STO_REMAINS_NONE && remainder < STO_REMAINDERS);
    return &REMAINDERS[remainder];
}

/* Checks promise 2. */
#define IS_WHOLE(fate, remainder)                                                                  \
    ((STO_PLACE_##fate == STO_PLACE_REDUCED || STO_PLACE_##fate == STO_PLACE_KEPT) ==              \
     (STO_REMAINS_##remainder != STO_REMAINS_NONE))

/* --- documents -------------------------------------------------------------------------------- */

#define X(name, letter, writer, fate, remainder)                                                   \
    _Static_assert(IS_WHOLE(fate, remainder), #name ": what stays has a remainder");
STO_DOC_KINDS(X)
#undef X

static const struct sto_doc_place DOCS[] = {
#define X(name, letter, writer, fate, remainder)                                                   \
    {STO_DOC_##name, STO_PLACE_##writer, STO_PLACE_##fate, STO_REMAINS_##remainder},
    STO_DOC_KINDS(X)
#undef X
};

enum {
#define X(name, letter, writer, fate, remainder) NUMBER_##name,
    STO_DOC_KINDS(X)
#undef X
        NUMBERS
};

static const uint8_t PREFIXES[NUMBERS][2] = {
#define X(name, letter, writer, fate, remainder) {letter, '/'},
    STO_DOC_KINDS(X)
#undef X
};

static const uint8_t PREFIX_ENDS[NUMBERS][2] = {
#define X(name, letter, writer, fate, remainder) {letter, '/' + 1},
    STO_DOC_KINDS(X)
#undef X
};

/* Returns the number of a kind; NUMBERS: there is no such kind. Two kinds of one letter do not
 * compile. */
static size_t number_of(uint8_t letter)
{
    switch (letter) {
#define X(name, letter, writer, fate, remainder)                                                   \
    case letter:                                                                                   \
        return NUMBER_##name;
        STO_DOC_KINDS(X)
#undef X
    default:
        return NUMBERS;
    }
}

const struct sto_doc_place *sto_doc_place_at(size_t index)
{
    return index < NUMBERS ? &DOCS[index] : NULL;
}

const struct sto_doc_place *sto_doc_place_of(uint8_t letter)
{
    return sto_doc_place_at(number_of(letter));
}

struct slice sto_doc_prefix(enum sto_doc_kind kind)
{
    size_t number = number_of((uint8_t)kind);
    INVARIANT(number < NUMBERS);
    return base_slice(PREFIXES[number], sizeof PREFIXES[number]);
}

struct slice sto_doc_prefix_end(enum sto_doc_kind kind)
{
    size_t number = number_of((uint8_t)kind);
    INVARIANT(number < NUMBERS);
    return base_slice(PREFIX_ENDS[number], sizeof PREFIX_ENDS[number]);
}

/* --- column families -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum sto_place_fate fate;
} FAMILIES[] = {
#define X(id, name, fate) {name, STO_PLACE_##fate},
    STO_FAMILIES(X)
#undef X
};

const char *sto_family_erased_at(size_t index)
{
    for (size_t i = 0; i < sizeof FAMILIES / sizeof FAMILIES[0]; i++)
        if (FAMILIES[i].fate == STO_PLACE_ERASED && index-- == 0)
            return FAMILIES[i].name;
    return NULL;
}

/* --- everything else -------------------------------------------------------------------------- */

/* path, what it holds, at a purge, what remains */
#define OTHER_PLACES(X)                                                                            \
    X("db/", "the database: its tables and their copies, logs, MANIFEST and options", ERASED,      \
      NONE)                                                                                        \
    X("keystore/", "the tenant's data keys, wrapped", ERASED, NONE)                                \
    X("checkpoint/", "links to files of the database, never inside a purge", ERASED, NONE)         \
    X("erasures.ndjson", "certificates of erasure", KEPT, CERTIFICATE)                             \
    X("backups/", "backups, which the certificate lists, and their catalogue", KEPT, BACKUPS)      \
    X("FORMAT", "the format of the data directory", FREE, NONE)                                    \
    X("formats", "the formats that it had", FREE, NONE)                                            \
    X("LOCK", "empty", FREE, NONE)                                                                 \
    X("pepper", "a key of the digests of API keys", FREE, NONE)                                    \
    X("ca.pem", "the certificate authority", FREE, NONE)                                           \
    X("ca.key", "its key", FREE, NONE)                                                             \
    X("server.pem", "the server's certificate", FREE, NONE)                                        \
    X("server.key", "its key", FREE, NONE)                                                         \
    X("operator.key", "an operator's API key", FREE, NONE)                                         \
    X("certificate.key", "the key that signs certificates of erasure", FREE, NONE)                 \
    X("certificate.pub", "its public key", FREE, NONE)                                             \
    X("witness", "how far the logs are", FREE, NONE)                                               \
    X("scrub", "which table files were read again, and when", FREE, NONE)                          \
    X("ballast", "space that is given back when the disk is full", FREE, NONE)                     \
    X(NULL, "the access log, a file of its own", KEPT, ACCESS_LOG)                                 \
    X(NULL, "the server log, on standard error", KEPT, SERVER_LOG)                                 \
    X(NULL, "memory of the process", REDUCED, MEMORY)

#define X(path, what, fate, remainder)                                                             \
    _Static_assert(IS_WHOLE(fate, remainder), what ": what stays has a remainder");
OTHER_PLACES(X)
#undef X

static const struct sto_other_place OTHERS[] = {
#define X(path, what, fate, remainder) {path, what, STO_PLACE_##fate, STO_REMAINS_##remainder},
    OTHER_PLACES(X)
#undef X
};

const struct sto_other_place *sto_other_place_at(size_t index)
{
    return index < sizeof OTHERS / sizeof OTHERS[0] ? &OTHERS[index] : NULL;
}
