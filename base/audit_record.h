/*
 * base/audit_record.h - the audit format shared by server and command line: the text of a record
 *                       of the audit trail, and how hashes make a chain of records.
 *
 * Does:     writes the two canonical texts of a record and hashes them; checks that a record
 *           follows the previous one.
 * Owns:     nothing; a record's slices are the caller's.
 * May use:  base/, OpenSSL's digests.
 * Knows no: where records are stored, or how they are transferred.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: a text that names the error of a record.
 * Limits:   LIM_AUDIT_TEXT of a target and of a detail.
 * Promises: 1. Two records with different fields have different texts: no value holds a line feed.
 *           2. A tenant's chain is checked from its own records alone. They reveal nothing about
 *              other tenants, not even the number of their records.
 *           3. A record whose actor is withheld, or whose subject is erased, can still be checked
 *              in all other fields: these values are replaced by salted hashes that reveal nothing,
 *              each with its own salt.
 * Form:     docs/operations.md, for those who check it with a program of their own.
 */
#ifndef BASE_AUDIT_RECORD_H
#define BASE_AUDIT_RECORD_H

#include "base/buf.h"
#include "base/slice.h"

#define BASE_AUDIT_HASH 32
#define BASE_AUDIT_SALT 16
/* Larger than any canonical text. */
#define BASE_AUDIT_TEXT_MAX 2048

struct base_audit_hash {
    uint8_t bytes[BASE_AUDIT_HASH];
};

/* The fields covered by a record's entry hash. */
enum base_audit_form {
    BASE_AUDIT_PLAIN = 1, /* all values themselves */
    BASE_AUDIT_ACTOR,     /* actor instead of key and address */
    BASE_AUDIT_SUBJECT,   /* also subject instead of target and detail */
};

/* Absent values are empty. The fields are in the order of the canonical text. */
struct base_audit_record {
    uint64_t number;        /* in the trail, from 1, without gaps; 0: withheld from a tenant */
    uint64_t tenant_number; /* among the records about its tenant, likewise; 0: about no tenant */
    struct slice tenant;
    struct slice time; /* RFC 3339, UTC, milliseconds */
    struct slice key;  /* ID of the API key */
    struct slice kind; /* of the key */
    struct slice address;
    enum base_audit_form form;
    bool is_withheld;              /* key, address and salt are withheld */
    uint8_t salt[BASE_AUDIT_SALT]; /* since _ACTOR: random, one per record */
    struct base_audit_hash actor;  /* SHA-256 of salt, key and address */
    struct slice action;
    struct slice target;
    struct slice detail;
    bool is_erased; /* target, detail and subject_salt were erased with the tenant */
    uint8_t subject_salt[BASE_AUDIT_SALT]; /* _SUBJECT: random, a salt of its own */
    struct base_audit_hash subject;        /* SHA-256 of subject_salt, target and detail */
    struct slice outcome;
    struct base_audit_hash tenant_before; /* entry of the tenant's previous record; first: zeros */
    struct base_audit_hash entry;         /* SHA-256 of all fields except number, before and hash */
    struct base_audit_hash before;        /* hash of record number - 1; of the first: zeros */
    struct base_audit_hash hash;          /* SHA-256 of number, before and entry */
};

/* Returns whether the value may be part of a record: UTF-8 without control characters. */
bool base_audit_value_is_fine(struct slice value);

/* Returns whether a tenant may see the key and address of an actor of this kind: of its own keys,
 * and of the server itself. Of operators and their services it sees only the kind. */
bool base_audit_kind_is_told(struct slice kind);

/* Returns whether target and detail of such an action on a tenant may be names chosen by a
 * customer, which are erased with the tenant. In other actions they come from the server or its
 * operators: IDs of jobs and keys, plans, quotas. */
bool base_audit_is_apart(struct slice action);

/* Computes actor, subject, entry and hash from the other fields. */
void base_audit_seal(struct base_audit_record *r);
struct base_audit_hash base_audit_actor(const struct base_audit_record *r);
struct base_audit_hash base_audit_subject(const struct base_audit_record *r);
struct base_audit_hash base_audit_entry(const struct base_audit_record *r);
struct base_audit_hash base_audit_chain_hash(const struct base_audit_record *r);

/* The end of a chain; zero before its first record. */
struct base_audit_head {
    uint64_t number;
    struct base_audit_hash hash;
};

/* Checks that the record follows head, and advances head. Returns NULL, or the error of the record.
 * If the actor of a BASE_AUDIT_PLAIN record is withheld, the entry cannot be checked: the next
 * record names it. */
const char *base_audit_follow(struct base_audit_head *head, const struct base_audit_record *r);
/* Checks the record's place among the records of its tenant in the same way. */
const char *base_audit_follow_tenant(struct base_audit_head *head,
                                     const struct base_audit_record *r);

#define BASE_AUDIT_HEX      (2 * BASE_AUDIT_HASH)
#define BASE_AUDIT_SALT_HEX (2 * BASE_AUDIT_SALT)
void base_audit_hex(const struct base_audit_hash *h, char out[BASE_AUDIT_HEX + 1]);
void base_audit_salt_hex(const uint8_t salt[BASE_AUDIT_SALT], char out[BASE_AUDIT_SALT_HEX + 1]);
/* Decode hexadecimal. ERR_INVALID for anything but 64, or 32, lower-case digits. */
enum err base_audit_unhex(struct slice text, struct base_audit_hash *out) MUST_CHECK;
enum err base_audit_salt_unhex(struct slice text, uint8_t out[BASE_AUDIT_SALT]) MUST_CHECK;

#endif
