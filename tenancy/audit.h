/*
 * tenancy/audit.h - the audit trail: who changed what, when, from where, and with which result.
 *
 * Does:     writes one record for every administrative action, in the same batch as its change, or
 *           alone when the action was refused; chains each record to the previous one of the trail
 *           and to the previous one of its tenant; reads the trail.
 * Owns:     the heads of the chains: the trail's in memory, each tenant's in the index of its
 *           records.
 * May use:  base/, storage/, tenancy/.
 * Knows no: HTTP, API keys beyond their ID.
 * Threads:  an action belongs to its thread (control, jobs) from begin to end; ten_audit_refused
 *           and reading from any.
 * Blocks:   all but ten_audit_refused and the setters: on the disk.
 * Fails by: engine errors; ERR_CORRUPT (a record that does not decode).
 * Limits:   LIM_AUDIT_TEXT of an action's target and detail; TEN_AUDIT_REFUSED_PER_S.
 * Promises: 1. A durable change made inside an action has its record in the same batch.
 *           2. Nothing here changes a record. A removed record is old enough and the first of its
 *              chains, whose cuts (audit_cut.h) then say where they start. A purged tenant's
 *              records are kept as long as other tenants'.
 *           3. No row key, value or secret is in a record: targets are IDs of tenants, tables,
 *              families, views, keys, plans and jobs.
 *           4. Clocks do not order records; their numbers do.
 *           5. A record about a tenant reveals nothing of another tenant: its place among the
 *              tenant's records is hashed separately from its place in the trail
 *              (base/audit_record.h).
 *           6. Names in a record are erased with its tenant: target and detail of actions on
 *              objects that a person may have named are stored outside the record. The record holds
 *              their hash with a salt, which is erased too. They are not stored once the tenant's
 *              purge has started.
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

/* Refusals recorded per key and second; further ones are counted, and the count is recorded. */
#define TEN_AUDIT_REFUSED_PER_S 16

/* Starts an action; the next durable change of documents by this thread carries its record. Actions
 * do not nest. Copies everything; replaces characters that no record may hold. */
void ten_audit_begin(struct ten_registry *r, const struct ten_action *action);
/* Finishes the action. If it made no durable change, writes its record alone, with the outcome:
 * "done" for ERR_OK, otherwise base_err_name. Returns the error of that write: an action that
 * cannot be recorded has failed. If the tenant does not exist, its ID becomes the target. Not
 * recorded: actions that succeeded without a change (ten_audit_set_unchanged), and refusals beyond
 * TEN_AUDIT_REFUSED_PER_S for one key, which are counted. */
enum err ten_audit_end(struct ten_registry *r, enum err result, struct errbuf *eb) MUST_CHECK;

/* Set facts that are known only during the action. They do nothing without an action, or after it
 * was recorded. */
void ten_audit_set_tenant(struct slice id);
void ten_audit_set_target(struct slice id);
/* Sets the outcome of an action whose change records a failure. */
void ten_audit_set_outcome(enum err outcome);
/* Marks that the requested state already exists: if the action succeeds, it gets no record. */
void ten_audit_set_unchanged(void);
void ten_audit_set_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Records an action that was refused before it reached the control thread. Does not wait: the
 * record is written later. outcome: the error's name. */
void ten_audit_refused(struct ten_registry *r, const struct ten_action *action,
                       const char *outcome);

/* The only way for tenancy/ and auth/ to change documents: commits them with sto_docs_commit,
 * together with the record of the action in progress. */
enum err ten_docs_commit(struct ten_registry *r, const struct sto_doc_change *changes, size_t count,
                         struct errbuf *eb) MUST_CHECK;

/* Receives a record; valid during the call. Any result but ERR_OK stops the reading. */
typedef enum err ten_audit_visit(void *ctx, const struct base_audit_record *record);

/* Blocking. Deletes the separate subjects of a tenant's records, batch by batch, after the point
 * where no new ones are written. ERR_CANCELLED: the registry closes, and some are left. */
enum err ten_audit_forget_subjects(struct ten_registry *r, struct slice tenant,
                                   struct errbuf *eb) MUST_CHECK;

/* Reads at most `limit` records from number `from` on: of the whole trail or, if `tenant` is not
 * empty, of the tenant's records by their number among them. */
enum err ten_audit_read(struct ten_registry *r, struct slice tenant, uint64_t from, size_t limit,
                        ten_audit_visit *visit, void *ctx, struct errbuf *eb) MUST_CHECK;
/* Control thread, blocking. Removes a batch of the records that are old enough at now_us. */
enum err ten_audit_expire(struct ten_registry *r, int64_t now_us, size_t *out_removed,
                          struct errbuf *eb) MUST_CHECK;
/* Control thread: the same, at intervals. tick_ms: since the previous tick. */
void ten_audit_tick(struct ten_registry *r, uint64_t tick_ms);
/* Returns the newest record's number, hash and time; zeros and "" before the first. */
void ten_audit_head(struct ten_registry *r, struct base_audit_head *out,
                    char out_time[BASE_TIME_TEXT]);
/* Returns the number of the tenant's last record among the tenant's, and its entry. */
enum err ten_audit_head_of(struct ten_registry *r, struct slice tenant, struct base_audit_head *out,
                           struct errbuf *eb) MUST_CHECK;

#endif
