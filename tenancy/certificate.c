/*
 * tenancy/certificate.c - facts of a job as JSON, then signed.
 *
 * The signature covers the text without "signature"; jansson writes names sorted, so the text with
 * the signature differs in that one member only.
 */
#include "tenancy/certificate.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/sealed_line.h"
#include "base/text.h"
#include "storage/places.h"
#include "tenancy/metering.h"

#include "base/banned.h"

#define US_PER_S 1e6
#define FORM     (JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6))

/* A member that cannot be created (no memory) is left out; the check of the finished line detects
 * it. */
static void put(json_t *object, const char *name, json_t *value_take)
{
    (void)json_object_set_new(object, name, value_take);
}

static void put_text(json_t *object, const char *name, const char *text)
{
    put(object, name, json_string(text));
}

static void put_u64(json_t *object, const char *name, uint64_t number)
{
    put(object, name, json_integer((json_int_t)number));
}

static json_t *time_of(int64_t us)
{
    char text[BASE_TIME_TEXT];
    if (us == 0)
        return json_null();
    base_time_format(us, text);
    return json_string(text);
}

/* --- actions ---------------------------------------------------------------------------------- */

static json_t *steps_of(const struct ten_job *job)
{
    json_t *steps = json_array();
    int64_t start_us = job->requested_us;
    for (uint32_t i = 0; i + 1 < TEN_JOB_STEPS; i++) {
        json_t *step = json_object();
        int64_t end_us = job->step_done_us[i];
        put_text(step, "name", ten_job_step_name(i));
        put(step, "started", time_of(start_us));
        put(step, "finished", time_of(end_us));
        put(step, "seconds", json_real((double)(end_us - start_us) / US_PER_S));
        (void)json_array_append_new(steps, step);
        start_us = end_us;
    }
    return steps;
}

/* All column families that hold a tenant's keys hold them in the same range. */
static json_t *ranges_of(const struct ten_certificate *c)
{
    const char *family;
    json_t *ranges = json_array();
    struct buf hex;
    base_buf_init(&hex, 4 * LIM_TENANT_ID);
    for (size_t i = 0; (family = sto_family_erased_at(i)) != NULL; i++) {
        json_t *range = json_object();
        put_text(range, "family", family);
        (void)base_hex_encode(c->range_begin, &hex); /* fits */
        put(range, "begin", json_stringn((const char *)hex.ptr, hex.len));
        base_buf_truncate(&hex, 0);
        (void)base_hex_encode(c->range_end, &hex);
        put(range, "end", json_stringn((const char *)hex.ptr, hex.len));
        base_buf_truncate(&hex, 0);
        (void)json_array_append_new(ranges, range);
    }
    base_buf_fini(&hex);
    return ranges;
}

/* --- findings --------------------------------------------------------------------------------- */

struct check {
    const char *name;
    const char *layer;
    uint64_t before;
    uint64_t after;
    bool passed;
};

static struct check gone(const char *name, const char *layer, uint64_t before, uint64_t after)
{
    return (struct check){name, layer, before, after, after == 0};
}

/* Copies are not changed: each must have an expiry, or be unreadable without the key. Copies that
 * remain existed at the start, whether they were counted or not (by an older program). */
static struct check end_known(const struct ten_certificate *c)
{
    uint64_t before = c->job->copies_before;
    struct check check = {"copies", "copies", before, c->copy_count, true};
    if (before < c->copy_count)
        check.before = c->copy_count;
    for (size_t i = 0; i < c->copy_count && c->job->key_destroyed_us == 0; i++)
        check.passed = check.passed && c->copies[i].expires_us != 0;
    return check;
}

static json_t *checks_of(const struct ten_certificate *c)
{
    const struct ten_job *job = c->job;
    const struct sto_audit *before = &job->audit_before;
    const struct sto_audit *after = &job->audit_after;
    const struct sto_search *was = &job->search_before;
    const struct sto_search *is = &job->search_after;
    const struct check checks[] = {
        gone("visible_rows", "api", job->usage_before.rows, job->visible_after),
        gone("physical_keys", "engine", before->physical_keys, after->physical_keys),
        gone("live_files_inside", "engine", before->live_files_inside, after->live_files_inside),
        gone("documents", "engine", before->counters, after->counters),
        gone("older_snapshots", "engine", before->snapshots,
             sto_audit_snapshots_of(after, job->deleted_at)),
        gone("keys_in_files", "files", was->keys, is->keys),
        gone("notes_in_logs", "files", was->notes, is->notes),
        gone("obsolete_files", "files", was->obsolete, is->obsolete),
        end_known(c),
    };
    json_t *array = json_array();
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        json_t *check = json_object();
        put_text(check, "name", checks[i].name);
        put_text(check, "layer", checks[i].layer);
        put_u64(check, "before", checks[i].before);
        put_u64(check, "after", checks[i].after);
        put(check, "passed", json_boolean(checks[i].passed));
        (void)json_array_append_new(array, check);
    }
    return array;
}

static json_t *search_of(const struct sto_search *s)
{
    json_t *search = json_object();
    put_u64(search, "files", s->files);
    put_u64(search, "bytes", s->bytes);
    put_u64(search, "listed_files", s->listed_files);
    put_u64(search, "listed_bytes", s->listed_bytes);
    put(search, "deep", json_boolean(s->deep));
    put_u64(search, "scrubbed_files", s->scrubbed_files);
    if (s->scrubbed_oldest_us != 0)
        put(search, "scrubbed_oldest", time_of(s->scrubbed_oldest_us));
    put_u64(search, "outside_keys", s->outside);
    return search;
}

static json_t *usage_of(const struct sto_usage *usage)
{
    json_t *counts = json_object();
    put_u64(counts, "rows", usage->rows);
    put_u64(counts, "cells", usage->cells);
    put_u64(counts, "stored_bytes", usage->bytes);
    return counts;
}

static json_t *sequence_of(const struct ten_job *job)
{
    json_t *sequence = json_object();
    put_u64(sequence, "before", job->audit_before.sequence);
    put_u64(sequence, "deleted", job->deleted_at);
    put_u64(sequence, "after", job->audit_after.sequence);
    return sequence;
}

static json_t *pair(uint64_t before, uint64_t after)
{
    json_t *object = json_object();
    put_u64(object, "before", before);
    put_u64(object, "after", after);
    return object;
}

/* Objects of any tenant that might still hold erased data. obsolete_files states that no file is
 * held; old versions and obsolete tables after the purge come from compactions for other
 * tenants. */
static json_t *holders_of(const struct ten_job *job)
{
    const struct sto_audit *before = &job->audit_before;
    const struct sto_audit *after = &job->audit_after;
    json_t *object = json_object();
    put(object, "snapshots", pair(before->snapshots, after->snapshots));
    put(object, "old_versions", pair(before->old_versions, after->old_versions));
    put(object, "obsolete_bytes", pair(before->obsolete_bytes, after->obsolete_bytes));
    return object;
}

/* The reason of a hold is in no record, because reasons may name people. */
static json_t *holds_of(const struct ten_job *job)
{
    json_t *holds = json_array();
    for (size_t i = 0; i < job->hold_count; i++) {
        const struct ten_hold_event *event = &job->holds[i];
        json_t *hold = json_object();
        put_text(hold, "action", event->is_release ? "release" : "hold");
        put_text(hold, "at", event->time);
        put(hold, "by", event->by[0] == '\0' ? json_null() : json_string(event->by));
        put_u64(hold, "record", event->record);
        (void)json_array_append_new(holds, hold);
    }
    return holds;
}

/* --- remainders ------------------------------------------------------------------------------- */

static json_t *copies_of(const struct ten_certificate *c)
{
    json_t *copies = json_array();
    for (size_t i = 0; i < c->copy_count; i++) {
        json_t *copy = json_object();
        put_text(copy, "id", c->copies[i].id);
        put(copy, "created", time_of(c->copies[i].created_us));
        put(copy, "expires", time_of(c->copies[i].expires_us));
        (void)json_array_append_new(copies, copy);
    }
    return copies;
}

/* Returns how many days after it was written a remainder is kept; 0: not limited to a number of
 * days. */
static uint64_t days_of(const struct ten_certificate *c, enum sto_remainder remainder)
{
    if (remainder == STO_REMAINS_AUDIT)
        return c->audit_days;
    return remainder == STO_REMAINS_BILLS ? TEN_METERING_KEPT_H / 24 : 0;
}

static void put_until(json_t *exception, uint64_t days, const char *until)
{
    struct buf text;
    base_buf_init(&text, 256);
    enum err rc = days == 0 ? base_buf_append_text(&text, until)
                            : base_buf_printf(&text, "%" PRIu64 " days %s", days, until);
    if (rc == ERR_OK)
        put(exception, "until", json_stringn((const char *)text.ptr, text.len));
    base_buf_fini(&text);
}

/* Lists each remainder that some place has, in order. */
static json_t *exceptions_of(const struct ten_certificate *c)
{
    json_t *exceptions = json_array();
    for (int i = STO_REMAINS_NONE + 1; i < STO_REMAINDERS; i++) {
        const struct sto_remainder_text *text = sto_remainder_text((enum sto_remainder)i);
        json_t *exception = json_object();
        put_text(exception, "kept", text->kept);
        put_text(exception, "why", text->why);
        put_until(exception, days_of(c, (enum sto_remainder)i), text->until);
        (void)json_array_append_new(exceptions, exception);
    }
    return exceptions;
}

/* --- the line --------------------------------------------------------------------------------- */

static int take_json(const char *bytes, size_t len, void *ctx)
{
    return base_buf_append(ctx, base_slice(bytes, len)) == ERR_OK ? 0 : -1;
}

static enum err append_json(const json_t *object, struct buf *out)
{
    if (json_dump_callback(object, take_json, out, FORM) == 0)
        return ERR_OK;
    return out->error != ERR_OK ? out->error : ERR_NO_MEMORY;
}

static enum err put_base64(json_t *object, const char *name, struct slice bytes)
{
    struct buf text;
    base_buf_init(&text, 128);
    enum err rc = base_base64_encode(bytes, &text);
    if (rc == ERR_OK)
        put(object, name, json_stringn((const char *)text.ptr, text.len));
    base_buf_fini(&text);
    return rc;
}

enum err ten_certificate_seal_take(json_t *object, EVP_PKEY *key, struct buf *out,
                                   struct errbuf *eb)
{
    uint8_t signature[BASE_SEAL_SIGNATURE];
    uint8_t public_key[BASE_SEAL_KEY];
    struct buf unsealed;
    base_buf_init(&unsealed, TEN_CERTIFICATE_MAX);
    enum err rc = base_seal_public_bytes(key, public_key, eb);
    if (rc == ERR_OK)
        rc = put_base64(object, "public_key", base_slice(public_key, sizeof public_key));
    if (rc == ERR_OK)
        rc = append_json(object, &unsealed);
    if (rc == ERR_OK)
        rc = base_seal_sign(key, base_buf_slice(&unsealed), signature, eb);
    if (rc == ERR_OK)
        rc = put_base64(object, "signature", base_slice(signature, sizeof signature));
    size_t begin = out->len;
    if (rc == ERR_OK)
        rc = append_json(object, out);
    json_decref(object);
    base_buf_fini(&unsealed);
    if (rc == ERR_OK && out->len - begin > TEN_CERTIFICATE_MAX)
        rc = ERR_TOO_BIG;
    if (rc == ERR_OK) /* checks that nothing is missing, and that the line verifies */
        rc = base_seal_check(key, base_slice_skip(base_buf_slice(out), begin), eb);
    return rc == ERR_OK
               ? rc
               : base_fail(eb, rc, "the certificate cannot be written: %s", base_err_name(rc));
}

static json_t *begin_line(const char *event, const char *tenant, const char *job,
                          const char *previous, int64_t purged_us)
{
    json_t *object = json_object();
    json_t *software = json_object();
    put_text(software, "bigtent", BIGTENT_VERSION);
    put(object, "software", software);
    put_text(object, "format", TEN_CERTIFICATE_FORMAT);
    put_text(object, "event", event);
    put_text(object, "tenant", tenant);
    put_text(object, "job", job);
    put_text(object, "previous", previous);
    put(object, "purged", time_of(purged_us));
    return object;
}

/* Returns JSON null for a tenant that was not encrypted. */
static json_t *key_destruction_of(const struct ten_job *job)
{
    if (job->key_destroyed_us == 0)
        return json_null();
    json_t *object = json_object();
    put(object, "destroyed", time_of(job->key_destroyed_us));
    put_u64(object, "versions", job->key_versions);
    return object;
}

/* The job's findings are lost. */
static enum err write_bare(const struct ten_certificate *c, EVP_PKEY *key, struct buf *out,
                           struct errbuf *eb)
{
    json_t *object = begin_line("purged", c->tenant, c->job_id, c->previous, c->purged_us);
    put(object, "reissued", time_of(c->reissued_us));
    put(object, "copies", copies_of(c));
    return ten_certificate_seal_take(object, key, out, eb);
}

enum err ten_certificate_write(const struct ten_certificate *c, EVP_PKEY *key, struct buf *out,
                               struct errbuf *eb)
{
    const struct ten_job *job = c->job;
    if (job == NULL)
        return write_bare(c, key, out, eb);
    json_t *object = begin_line("purged", job->tenant, job->id, c->previous, c->purged_us);
    if (c->reissued_us != 0)
        put(object, "reissued", time_of(c->reissued_us));
    json_t *canaries = json_object();
    put_text(json_object_get(object, "software"), "rocksdb", job->search_after.engine);
    put(object, "requested", time_of(job->requested_us));
    put_text(object, "requested_by", job->requested_by);
    put(object, "reason", job->reason[0] == '\0' ? json_null() : json_string(job->reason));
    put(object, "effective", time_of(job->requested_us));
    put(object, "counts", usage_of(&job->usage_before));
    put(object, "ranges", ranges_of(c));
    put(object, "sequence", sequence_of(job));
    put(object, "steps", steps_of(job));
    put(object, "checks", checks_of(c));
    put(object, "holders", holders_of(job));
    put(object, "holds", holds_of(job));
    put(object, "searched_before", search_of(&job->search_before));
    put(object, "searched_after", search_of(&job->search_after));
    put_u64(canaries, "planted", job->canaries);
    put_u64(canaries, "found_before", job->search_before.canaries);
    put_u64(canaries, "found_after", job->search_after.canaries);
    put(object, "canaries", canaries);
    put(object, "copies", copies_of(c));
    put(object, "exceptions", exceptions_of(c));
    put(object, "key_destruction", key_destruction_of(job));
    return ten_certificate_seal_take(object, key, out, eb);
}

enum err ten_certificate_write_expired(const struct ten_erasure *erasure, const char *previous,
                                       int64_t expired_us, EVP_PKEY *key, struct buf *out,
                                       struct errbuf *eb)
{
    json_t *object =
        begin_line("expired", erasure->tenant, erasure->job, previous, erasure->purged_us);
    put(object, "expired", time_of(expired_us));
    put(object, "copies", json_array());
    return ten_certificate_seal_take(object, key, out, eb);
}
