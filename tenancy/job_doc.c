/*
 * tenancy/job_doc.c - fields by tag; steps, usage and audits are records inside the record.
 *
 * 1. Tags are stored: append only. Steps are stored by number, so a program with more steps reads
 *    the jobs of one with fewer.
 */
#include "tenancy/job_doc.h"

#include <errno.h>
#include <sys/random.h>

#include "base/record.h"

#include "base/banned.h"

enum {
    TAG_TENANT = 1,
    TAG_REQUESTED_BY = 2,
    TAG_STATE = 3,
    TAG_STEPS_DONE = 4,
    TAG_REQUESTED = 5,
    TAG_FINISHED = 6,
    TAG_ERROR = 7,
    TAG_STEP_TIMES = 8, /* record of tag step + 1: microseconds */
    TAG_USAGE_BEFORE = 9,
    TAG_AUDIT_BEFORE = 10,
    TAG_AUDIT_AFTER = 11,
    TAG_DELETE_AT = 12,
    TAG_REASON = 13,
    TAG_KEY_DESTROYED = 14,
    TAG_KEY_VERSIONS = 15,
    TAG_SEARCH_BEFORE = 20,
    TAG_SEARCH_AFTER = 21,
    TAG_ENGINE = 22, /* version of the engine that was searched */
    TAG_VISIBLE_AFTER = 23,
    TAG_CANARIES = 24,
    TAG_DELETED_AT = 25,
    TAG_COPIES_BEFORE = 26,
    TAG_DEEP = 27,
};

#define NUMBERS_MAX 16

const char *ten_job_step_name(uint32_t step)
{
    if (step < STO_PURGE_STEP_COUNT)
        return sto_purge_step_name((enum sto_purge_step)step);
    static const char *const NAMES[] = {"audit", "files", "certificate"};
    return step < TEN_JOB_STEPS ? NAMES[step - STO_PURGE_STEP_COUNT] : "unknown";
}

const char *ten_job_state_name(enum ten_job_state s)
{
    switch (s) {
    case TEN_JOB_RUNNING:
        return "running";
    case TEN_JOB_DONE:
        return "done";
    case TEN_JOB_FAILED:
        return "failed";
    case TEN_JOB_WAITING:
        return "waiting";
    case TEN_JOB_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}

/* --- a fixed set of numbers as a record: tag i + 1 holds numbers[i], 0 is left out ------------ */

static void put_numbers(struct buf *out, uint32_t tag, const uint64_t *numbers, size_t count)
{
    struct buf inner;
    base_buf_init(&inner, 256);
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != 0)
            (void)base_record_put_u64(&inner, (uint32_t)i + 1, numbers[i]); /* 16 * 13 bytes fit */
    if (inner.len > 0)
        (void)base_record_put_bytes(out, tag, base_buf_slice(&inner)); /* errors latch in out */
    base_buf_fini(&inner);
}

static enum err take_one(void *ctx, const struct base_field *f)
{
    uint64_t *numbers = ctx;
    uint64_t number;
    enum err rc = base_field_number(f, &number);
    if (rc == ERR_OK && f->tag <= NUMBERS_MAX)
        numbers[f->tag - 1] = number;
    return rc;
}

static enum err take_numbers(const struct base_field *f, uint64_t numbers[NUMBERS_MAX])
{
    return f->is_number ? ERR_CORRUPT : base_record_visit(f->bytes, take_one, numbers);
}

static void put_audit(struct buf *out, uint32_t tag, const struct sto_audit *a)
{
    const uint64_t numbers[] = {a->physical_keys,   a->live_files_inside, a->live_files_spanning,
                                a->counters,        a->sequence,          a->snapshots,
                                a->oldest_snapshot, a->old_versions,      a->obsolete_bytes};
    put_numbers(out, tag, numbers, sizeof numbers / sizeof numbers[0]);
}

static enum err take_audit(const struct base_field *f, struct sto_audit *out)
{
    uint64_t n[NUMBERS_MAX] = {0};
    enum err rc = take_numbers(f, n);
    *out = (struct sto_audit){.physical_keys = n[0],
                              .live_files_inside = n[1],
                              .live_files_spanning = n[2],
                              .counters = n[3],
                              .sequence = n[4],
                              .snapshots = n[5],
                              .oldest_snapshot = n[6],
                              .old_versions = n[7],
                              .obsolete_bytes = n[8]};
    return rc;
}

static enum err take_usage(const struct base_field *f, struct sto_usage *out)
{
    uint64_t n[NUMBERS_MAX] = {0};
    enum err rc = take_numbers(f, n);
    *out = (struct sto_usage){.bytes = n[0], .rows = n[1], .cells = n[2]};
    return rc;
}

static void put_search(struct buf *out, uint32_t tag, const struct sto_search *s)
{
    const uint64_t numbers[] = {s->files,    s->bytes,          s->keys,
                                s->canaries, s->notes,          s->outside,
                                s->obsolete, s->listed_files,   s->listed_bytes,
                                s->deep,     s->scrubbed_files, (uint64_t)s->scrubbed_oldest_us};
    put_numbers(out, tag, numbers, sizeof numbers / sizeof numbers[0]);
}

/* Does not set the engine's version, which is a field of its own. */
static enum err take_search(const struct base_field *f, struct sto_search *out)
{
    uint64_t n[NUMBERS_MAX] = {0};
    enum err rc = take_numbers(f, n);
    out->files = n[0];
    out->bytes = n[1];
    out->keys = n[2];
    out->canaries = n[3];
    out->notes = n[4];
    out->outside = n[5];
    out->obsolete = n[6];
    out->listed_files = n[7];
    out->listed_bytes = n[8];
    out->deep = n[9] != 0;
    out->scrubbed_files = n[10];
    out->scrubbed_oldest_us = (int64_t)n[11];
    return rc;
}

static enum err take_times(const struct base_field *f, int64_t times[TEN_JOB_STEPS])
{
    _Static_assert(TEN_JOB_STEPS <= NUMBERS_MAX, "step times must fit");
    uint64_t n[NUMBERS_MAX] = {0};
    enum err rc = take_numbers(f, n);
    for (size_t i = 0; i < TEN_JOB_STEPS; i++)
        times[i] = (int64_t)n[i];
    return rc;
}

/* --- the document ----------------------------------------------------------------------------- */

enum err ten_job_encode(const struct ten_job *j, struct buf *out)
{
    /* errors latch in out */
    (void)base_record_put_bytes(out, TAG_TENANT, base_slice_text(j->tenant));
    (void)base_record_put_bytes(out, TAG_REQUESTED_BY, base_slice_text(j->requested_by));
    (void)base_record_put_u64(out, TAG_STATE, j->state);
    (void)base_record_put_u64(out, TAG_STEPS_DONE, j->steps_done);
    (void)base_record_put_u64(out, TAG_REQUESTED, (uint64_t)j->requested_us);
    (void)base_record_put_u64(out, TAG_FINISHED, (uint64_t)j->finished_us);
    (void)base_record_put_bytes(out, TAG_ERROR, base_slice_text(j->error));
    uint64_t times[TEN_JOB_STEPS];
    for (size_t i = 0; i < TEN_JOB_STEPS; i++)
        times[i] = (uint64_t)j->step_done_us[i];
    put_numbers(out, TAG_STEP_TIMES, times, TEN_JOB_STEPS);
    const uint64_t usage[] = {j->usage_before.bytes, j->usage_before.rows, j->usage_before.cells};
    put_numbers(out, TAG_USAGE_BEFORE, usage, 3);
    put_audit(out, TAG_AUDIT_BEFORE, &j->audit_before);
    put_audit(out, TAG_AUDIT_AFTER, &j->audit_after);
    if (j->delete_at_us != 0)
        (void)base_record_put_u64(out, TAG_DELETE_AT, (uint64_t)j->delete_at_us);
    if (j->reason[0] != '\0')
        (void)base_record_put_bytes(out, TAG_REASON, base_slice_text(j->reason));
    if (j->key_destroyed_us != 0)
        (void)base_record_put_u64(out, TAG_KEY_DESTROYED, (uint64_t)j->key_destroyed_us);
    if (j->key_versions != 0) /* stored before they are destroyed */
        (void)base_record_put_u64(out, TAG_KEY_VERSIONS, j->key_versions);
    put_search(out, TAG_SEARCH_BEFORE, &j->search_before);
    put_search(out, TAG_SEARCH_AFTER, &j->search_after);
    (void)base_record_put_bytes(out, TAG_ENGINE, base_slice_text(j->search_after.engine));
    (void)base_record_put_u64(out, TAG_VISIBLE_AFTER, j->visible_after);
    (void)base_record_put_u64(out, TAG_CANARIES, j->canaries);
    if (j->deleted_at != 0)
        (void)base_record_put_u64(out, TAG_DELETED_AT, j->deleted_at);
    if (j->copies_before != 0)
        (void)base_record_put_u64(out, TAG_COPIES_BEFORE, j->copies_before);
    if (j->deep)
        (void)base_record_put_u64(out, TAG_DEEP, 1);
    return out->error;
}

static enum err take_number(const struct base_field *f, struct ten_job *j)
{
    if (!f->is_number)
        return ERR_CORRUPT;
    if (f->tag == TAG_STATE) {
        if (f->number < TEN_JOB_RUNNING || f->number > TEN_JOB_CANCELLED)
            return ERR_CORRUPT;
        j->state = (enum ten_job_state)f->number;
    } else if (f->tag == TAG_STEPS_DONE) {
        if (f->number > TEN_JOB_STEPS)
            return ERR_CORRUPT;
        j->steps_done = (uint32_t)f->number;
    } else if (f->tag == TAG_REQUESTED) {
        j->requested_us = (int64_t)f->number;
    } else if (f->tag == TAG_KEY_DESTROYED) {
        j->key_destroyed_us = (int64_t)f->number;
    } else if (f->tag == TAG_KEY_VERSIONS) {
        if (f->number > STO_CIPHER_VERSIONS)
            return ERR_CORRUPT;
        j->key_versions = (uint32_t)f->number;
    } else if (f->tag == TAG_DEEP) {
        j->deep = f->number != 0;
    } else {
        j->finished_us = (int64_t)f->number;
    }
    return ERR_OK;
}

static enum err take_field(void *ctx, const struct base_field *f)
{
    struct ten_job *j = ctx;
    switch (f->tag) {
    case TAG_TENANT:
        return base_field_text(f, j->tenant, sizeof j->tenant);
    case TAG_REQUESTED_BY:
        return base_field_text(f, j->requested_by, sizeof j->requested_by);
    case TAG_ERROR:
        return base_field_text(f, j->error, sizeof j->error);
    case TAG_REASON:
        return base_field_text(f, j->reason, sizeof j->reason);
    case TAG_DELETE_AT:
        return base_field_time(f, &j->delete_at_us);
    case TAG_STATE:
    case TAG_STEPS_DONE:
    case TAG_REQUESTED:
    case TAG_FINISHED:
    case TAG_KEY_DESTROYED:
    case TAG_KEY_VERSIONS:
    case TAG_DEEP:
        return take_number(f, j);
    case TAG_STEP_TIMES:
        return take_times(f, j->step_done_us);
    case TAG_USAGE_BEFORE:
        return take_usage(f, &j->usage_before);
    case TAG_AUDIT_BEFORE:
        return take_audit(f, &j->audit_before);
    case TAG_AUDIT_AFTER:
        return take_audit(f, &j->audit_after);
    case TAG_SEARCH_BEFORE:
        return take_search(f, &j->search_before);
    case TAG_SEARCH_AFTER:
        return take_search(f, &j->search_after);
    case TAG_ENGINE:
        return base_field_text(f, j->search_after.engine, sizeof j->search_after.engine);
    case TAG_VISIBLE_AFTER:
        return base_field_number(f, &j->visible_after);
    case TAG_CANARIES:
        return base_field_number(f, &j->canaries);
    case TAG_DELETED_AT:
        return base_field_number(f, &j->deleted_at);
    case TAG_COPIES_BEFORE:
        return base_field_number(f, &j->copies_before);
    default:
        return ERR_OK; /* from a newer program */
    }
}

enum err ten_job_decode(struct slice id, struct slice body, struct ten_job *out)
{
    struct ten_job j = {0};
    uint64_t wall_ms;
    if (ten_job_id_parse(id, &wall_ms) != ERR_OK)
        return ERR_CORRUPT;
    memcpy(j.id, id.ptr, id.len);
    enum err rc = base_record_visit(body, take_field, &j);
    if (rc != ERR_OK)
        return rc;
    if (j.state == 0 || j.tenant[0] == '\0')
        return ERR_CORRUPT;
    *out = j;
    return ERR_OK;
}

/* --- IDs -------------------------------------------------------------------------------------- */

static const char DIGITS[] = "0123456789abcdefghjkmnpqrstvwxyz"; /* ascending: sorts as numbers */

#define TIME_DIGITS 10

static void put_base32(uint64_t number, char *out, size_t digits)
{
    for (size_t i = digits; i-- > 0; number >>= 5)
        out[i] = DIGITS[number & 31];
}

void ten_job_id_make(uint64_t wall_ms, char out[TEN_JOB_ID + 1])
{
    uint32_t chance;
    ssize_t n;
    do {
        n = getrandom(&chance, sizeof chance, 0);
    } while (n < 0 && errno == EINTR);
    INVARIANT(n == (ssize_t)sizeof chance);
    put_base32(wall_ms, out, TIME_DIGITS);
    put_base32(chance, out + TIME_DIGITS, TEN_JOB_ID - TIME_DIGITS);
    out[TEN_JOB_ID] = '\0';
}

enum err ten_job_id_parse(struct slice id, uint64_t *out_wall_ms)
{
    if (id.len != TEN_JOB_ID)
        return ERR_INVALID;
    uint64_t wall_ms = 0;
    for (size_t i = 0; i < id.len; i++) {
        const char *digit = id.ptr[i] == '\0' ? NULL : strchr(DIGITS, id.ptr[i]);
        if (digit == NULL)
            return ERR_INVALID;
        if (i < TIME_DIGITS)
            wall_ms = wall_ms << 5 | (uint64_t)(digit - DIGITS);
    }
    *out_wall_ms = wall_ms;
    return ERR_OK;
}
