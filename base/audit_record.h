/*
 * base/audit_record.h - what server and command line must agree on: the text of a record of the
 *                       audit trail, and how hashes make a chain of records.
 *
 * Does:     write the two canonical texts of a record and hash them; check that a record follows
 *           the one before it.
 * Owns:     nothing; a record's slices are the caller's.
 * May use:  base/, OpenSSL's digests.
 * Knows no: where records are kept, or how they travel.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: naming what is wrong with a record.
 * Limits:   LIM_AUDIT_TEXT of a target and of a detail.
 * Promises: 1. Two records with different fields have different texts: no value holds a line feed.
 *           2. A tenant's chain is checked from its own records alone, which tell nothing of
 *              others, not even how many there are.
 *           3. Of a record whose actor is withheld, or whose subject is erased, everything else is
 *              checked: in their places stand hashes with salts of their own, from which nothing
 *              can be guessed.
 * Form:     docs/operations.md, for those who check it with a program of their own.
 */
#ifndef BASE_AUDIT_RECORD_H
#define BASE_AUDIT_RECORD_H

#include "base/buf.h"
#include "base/slice.h"

#define BASE_AUDIT_HASH 32
#define BASE_AUDIT_SALT 16
/* Longer than any canonical text. */
#define BASE_AUDIT_TEXT_MAX 2048

struct base_audit_hash {
    uint8_t bytes[BASE_AUDIT_HASH];
};

/* What the entry of a record covers. */
enum base_audit_form {
    BASE_AUDIT_PLAIN = 1, /* all values themselves */
    BASE_AUDIT_ACTOR,     /* instead of key and address: actor */
    BASE_AUDIT_SUBJECT,   /* and instead of target and detail: subject */
};

/* Absent values are empty. The texts stand in the order in which the canonical text has them. */
struct base_audit_record {
    uint64_t number;        /* in the trail, from 1, without gaps; 0: not known to a tenant */
    uint64_t tenant_number; /* the same among those about its tenant; 0: about none */
    struct slice tenant;
    struct slice time; /* RFC 3339, UTC, milliseconds */
    struct slice key;  /* ID of the API key */
    struct slice kind; /* of the key */
    struct slice address;
    enum base_audit_form form;
    bool is_withheld;              /* key, address and salt are not told */
    uint8_t salt[BASE_AUDIT_SALT]; /* from _ACTOR on: random, the record's own */
    struct base_audit_hash actor;  /* SHA-256 of salt, key and address */
    struct slice action;
    struct slice target;
    struct slice detail;
    bool is_erased; /* target, detail and subject_salt went with the tenant */
    uint8_t subject_salt[BASE_AUDIT_SALT]; /* _SUBJECT: random, this one's own */
    struct base_audit_hash subject;        /* SHA-256 of subject_salt, target and detail */
    struct slice outcome;
    struct base_audit_hash tenant_before; /* entry of the tenant's previous record; first: zeros */
    struct base_audit_hash entry;         /* SHA-256 of everything but number, before and hash */
    struct base_audit_hash before;        /* hash of record number - 1; of the first: zeros */
    struct base_audit_hash hash;          /* SHA-256 of number, before and entry */
};

/* The value may stand in a record: UTF-8 without control characters. */
bool base_audit_value_is_fine(struct slice value);

/* Who acts with a key of this kind is told to the tenant it is about: its own keys, and the server
 * itself. Of operators and their services it sees the kind. */
bool base_audit_kind_is_told(struct slice kind);

/* Target and detail of such an action on a tenant may be what a customer named, and go with the
 * tenant. Those of the others the server or its operators make: IDs of jobs and keys, plans,
 * quotas. */
bool base_audit_is_apart(struct slice action);

/* Fill in actor, subject, entry and hash from the other fields. */
void base_audit_seal(struct base_audit_record *r);
struct base_audit_hash base_audit_actor(const struct base_audit_record *r);
struct base_audit_hash base_audit_subject(const struct base_audit_record *r);
struct base_audit_hash base_audit_entry(const struct base_audit_record *r);
struct base_audit_hash base_audit_chain_hash(const struct base_audit_record *r);

/* Where a chain is: zero before its first record. */
struct base_audit_head {
    uint64_t number;
    struct base_audit_hash hash;
};

/* NULL: the record follows head, which moves on; else what is wrong with it. Of one of the first
 * form whose actor is withheld, the entry cannot be checked: the next one names it. */
const char *base_audit_follow(struct base_audit_head *head, const struct base_audit_record *r);
/* The same for the record's place among its tenant's. */
const char *base_audit_follow_tenant(struct base_audit_head *head,
                                     const struct base_audit_record *r);

#define BASE_AUDIT_HEX      (2 * BASE_AUDIT_HASH)
#define BASE_AUDIT_SALT_HEX (2 * BASE_AUDIT_SALT)
void base_audit_hex(const struct base_audit_hash *h, char out[BASE_AUDIT_HEX + 1]);
void base_audit_salt_hex(const uint8_t salt[BASE_AUDIT_SALT], char out[BASE_AUDIT_SALT_HEX + 1]);
/* ERR_INVALID for anything but 64, and 32, lower-case digits. */
enum err base_audit_unhex(struct slice text, struct base_audit_hash *out) MUST_CHECK;
enum err base_audit_salt_unhex(struct slice text, uint8_t out[BASE_AUDIT_SALT]) MUST_CHECK;

#endif
