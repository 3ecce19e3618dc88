/*
 * tenancy/audit.h - the audit trail: who changed what, when, from where, and how it ended.
 *
 * Does:     write one record for every administrative action, in the same batch as the change it
 *           made, or alone when it was refused; chain each record to the one before it, of all and
 *           of its tenant; read the trail.
 * Owns:     the two chains' heads: overall in memory, each tenant's in the index of its records.
 * May use:  base/, storage/, tenancy/.
 * Knows no: HTTP, API keys beyond their ID.
 * Threads:  an action is its thread's (control, jobs) from begin to end; ten_audit_refused and
 *           reading from any.
 * Blocks:   all but ten_audit_refused and the setters: on the disk.
 * Fails by: engine errors; ERR_CORRUPT (a record that does not decode).
 * Limits:   LIM_AUDIT_TEXT of an action's target and detail; TEN_AUDIT_REFUSED_PER_S.
 * Promises: 1. A durable change made inside an action has its record in the same batch.
 *           2. Nothing here changes a record; one that is removed is old enough and the first of
 *              its chains, whose cuts (audit_cut.h) say where they begin then. A purged tenant's
 *              stay as long as others'.
 *           3. No row key, value or secret is in a record: targets are IDs of tenants, tables,
 *              families, views, keys, plans and jobs.
 *           4. Clocks do not order records; their number does.
 *           5. A record about a tenant says nothing of another one: its place among the tenant's
 *              records is hashed apart from its place in the trail (base/audit_record.h).
 *           6. What a record names goes with its tenant: target and detail of actions on what a
 *              person may have named are apart from the record, which holds their hash with a salt
 *              that goes, too. They are not kept once the tenant's purge has begun.
 * Stored:   "a/<number>" record; "b/<tenant>/<number among the tenant's>" its number and entry;
 *           "l/<tenant>/<the same>" its target, detail and salt, where they are apart; 16 hex
 *           digits each. Number 0 is the chain's cut, if it has one.
 */
#ifndef TENANCY_AUDIT_H
#define TENANCY_AUDIT_H

#include "base/audit_record.h"
#include "base/clock.h"
#include "tenancy/action.h"
#include "tenancy/registry.h"

/* Refusals are recorded so often for one key; what is above is counted, and the count recorded. */
#define TEN_AUDIT_REFUSED_PER_S 16

/* Begin an action; the next durable change of documents by this thread carries its record. Actions
 * do not nest. Everything is copied; what no record may hold is replaced. */
void ten_audit_begin(struct ten_registry *r, const struct ten_action *action);
/* End it. When it made no durable change, its record is written alone, with the outcome: "done" for
 * ERR_OK, base_err_name else. What that writing fails with is returned: an action that cannot be
 * recorded has failed. A tenant that there is not becomes the target. Not recorded: what succeeded
 * and changed nothing (ten_audit_set_unchanged); what was refused, more often than
 * TEN_AUDIT_REFUSED_PER_S for one key: it is counted. */
enum err ten_audit_end(struct ten_registry *r, enum err result, struct errbuf *eb) MUST_CHECK;

/* What is known only while it is done. Without an action, or once it is recorded: nothing. */
void ten_audit_set_tenant(struct slice id);
void ten_audit_set_target(struct slice id);
/* Of an action whose change says that something failed. */
void ten_audit_set_outcome(enum err outcome);
/* What was wanted is what there is: an action that succeeds like this has no record. */
void ten_audit_set_unchanged(void);
void ten_audit_set_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An action that was refused before it came to the control thread. Does not wait: the record
 * follows. outcome: the error's name. */
void ten_audit_refused(struct ten_registry *r, const struct ten_action *action,
                       const char *outcome);

/* The one way of tenancy/ and auth/ to change documents: sto_docs_commit, with the record of the
 * action under way. */
enum err ten_docs_commit(struct ten_registry *r, const struct sto_doc_change *changes, size_t count,
                         struct errbuf *eb) MUST_CHECK;

/* A record as it is read. Valid during the visit. Anything but ERR_OK ends the reading. */
typedef enum err ten_audit_visit(void *ctx, const struct base_audit_record *record);

/* Blocking. Deletes what the records of a tenant name, of which none is written any more, a batch
 * after the other. ERR_CANCELLED: the registry closes, and some of it is left. */
enum err ten_audit_forget_subjects(struct ten_registry *r, struct slice tenant,
                                   struct errbuf *eb) MUST_CHECK;

/* From number `from` on, at most `limit`, of all; or, with a tenant's ID, of its records, by the
 * number among them. */
enum err ten_audit_read(struct ten_registry *r, struct slice tenant, uint64_t from, size_t limit,
                        ten_audit_visit *visit, void *ctx, struct errbuf *eb) MUST_CHECK;
/* Control thread, blocking. Remove a batch of records that are old enough at that time. */
enum err ten_audit_expire(struct ten_registry *r, int64_t now_us, size_t *out_removed,
                          struct errbuf *eb) MUST_CHECK;
/* Control thread: the same from time to time. tick_ms: since the last. */
void ten_audit_tick(struct ten_registry *r, uint64_t tick_ms);
/* The newest record's number, hash and time; zeros and "" before the first. */
void ten_audit_head(struct ten_registry *r, struct base_audit_head *out,
                    char out_time[BASE_TIME_TEXT]);
/* The tenant's last record: its number among the tenant's, and its entry. */
enum err ten_audit_head_of(struct ten_registry *r, struct slice tenant, struct base_audit_head *out,
                           struct errbuf *eb) MUST_CHECK;

#endif
