/*
 * gateway/grpc/status.c - the result of a call as a gRPC status.
 *
 * Mechanism: gateway/problem.c determines whether a retry may help, and after how long; the table
 * here adds the code, and whether a failure means that nothing was done. RetryInfo is sent only if
 * both are true, since clients repeat every request that gets it, increments too.
 *
 * Space in heads and trailers is short (GW_RESPONSE_HEADER_BYTES): the code goes first, the details
 * next, because programs act on them, and the message, which the details contain too, is cut to the
 * remaining space. Details with an info are too long for this space, and have their own memory.
 */
#include "gateway/grpc/status.h"

#include <google/rpc/error_details.pb-c.h>
#include <google/rpc/status.pb-c.h>

#include "base/text.h"

#include "base/banned.h"

#define NS_PER_S      1000000000U
#define DOMAIN        "bigtent"
#define TYPE_PREFIX   "type.googleapis.com/"
#define STATUS_BYTES  (GW_STATUS_DETAILS + INFO_DETAIL)
#define BASE64_BYTES  ((STATUS_BYTES + 2) / 3 * 4)
#define ENCODED_BYTES (3 * ERRBUF_BYTES)
#define SMALL_DETAIL  96 /* ErrorInfo with the longest code; RetryInfo */
#define INFO_DETAIL   (GW_STATUS_INFO_VALUE + 2 * SMALL_DETAIL) /* ErrorInfo with an info */
#define UTF8_BYTES    4
#define DETAILS_COUNT 3

/* A retry hint of a few microseconds is useless: the retry would be refused again. */
#define RETRY_NS_MIN (100 * 1000000ULL)

struct meaning {
    uint8_t code;
    bool nothing_done; /* always, wherever the error comes from */
};

/* Choices that are not obvious from the names:
 * - TOO_BIG is not RESOURCE_EXHAUSTED, which some clients repeat unchanged.
 * - CONFLICT: a value that cannot be incremented, a token of another request, a state that does not
 *   allow it. A retry would be refused, too, so not ABORTED, which clients repeat.
 * - PRECONDITION: an etag that is not the stored one; ABORTED says to read again and decide.
 * - OUTCOME_UNKNOWN: after UNAVAILABLE clients repeat requests that may be repeated, and nothing
 *   else without RetryInfo.
 * - TIMEOUT, CANCELLED: the work may have been done before they were noticed. */
static const struct meaning MEANINGS[GW_PROBLEM_COUNT] = {
    [ERR_OK] = {GW_STATUS_INTERNAL, false},
    [ERR_INVALID] = {GW_STATUS_INVALID_ARGUMENT, true},
    [ERR_TOO_BIG] = {GW_STATUS_INVALID_ARGUMENT, true},
    [ERR_NOT_FOUND] = {GW_STATUS_NOT_FOUND, true},
    [ERR_EXISTS] = {GW_STATUS_ALREADY_EXISTS, true},
    [ERR_CONFLICT] = {GW_STATUS_FAILED_PRECONDITION, true},
    [ERR_PRECONDITION] = {GW_STATUS_ABORTED, true},
    [ERR_UNAUTHENTICATED] = {GW_STATUS_UNAUTHENTICATED, true},
    [ERR_FORBIDDEN] = {GW_STATUS_PERMISSION_DENIED, true},
    [ERR_SUSPENDED] = {GW_STATUS_PERMISSION_DENIED, true},
    [ERR_GONE] = {GW_STATUS_NOT_FOUND, true},
    [ERR_QUOTA] = {GW_STATUS_RESOURCE_EXHAUSTED, true},
    [ERR_RATE_LIMITED] = {GW_STATUS_RESOURCE_EXHAUSTED, true},
    [ERR_OVERLOADED] = {GW_STATUS_UNAVAILABLE, true},
    [ERR_STORAGE_FULL] = {GW_STATUS_RESOURCE_EXHAUSTED, true},
    [ERR_UNAVAILABLE] = {GW_STATUS_UNAVAILABLE, true},
    [ERR_OUTCOME_UNKNOWN] = {GW_STATUS_UNAVAILABLE, false},
    [ERR_CORRUPT] = {GW_STATUS_DATA_LOSS, false},
    [ERR_IO] = {GW_STATUS_INTERNAL, false},
    [ERR_NO_MEMORY] = {GW_STATUS_RESOURCE_EXHAUSTED, true},
    [ERR_CANCELLED] = {GW_STATUS_CANCELLED, false},
    [ERR_LOCKED] = {GW_STATUS_UNAVAILABLE, true},
    [ERR_UNSUPPORTED] = {GW_STATUS_UNIMPLEMENTED, true},
    [ERR_TIMEOUT] = {GW_STATUS_DEADLINE_EXCEEDED, false},
    [ERR_HELD] = {GW_STATUS_FAILED_PRECONDITION, true},
    [GW_PROBLEM_METHOD] = {GW_STATUS_UNIMPLEMENTED, true},
    [GW_PROBLEM_MEDIA_TYPE] = {GW_STATUS_INVALID_ARGUMENT, true},
    [GW_PROBLEM_TARGET] = {GW_STATUS_INVALID_ARGUMENT, true},
    [GW_PROBLEM_HEADERS] = {GW_STATUS_INVALID_ARGUMENT, true},
};

static struct meaning meaning_of(int problem)
{
    return MEANINGS[problem > 0 && problem < GW_PROBLEM_COUNT ? problem : ERR_OK];
}

enum gw_status_code gw_status_code_of(int problem)
{
    return (enum gw_status_code)meaning_of(problem).code;
}

/* Returns nanoseconds to wait; 0: no RetryInfo. */
static uint64_t retry_delay(int problem, uint64_t retry_ns)
{
    const struct gw_problem *p = gw_problem_get(problem);
    if (!p->retry || p->retry_after_s == 0 || !meaning_of(problem).nothing_done)
        return 0;
    if (retry_ns == 0)
        return (uint64_t)p->retry_after_s * NS_PER_S;
    return retry_ns > RETRY_NS_MIN ? retry_ns : RETRY_NS_MIN;
}

/* --- the message --------------------------------------------------------------------------------
 */

static size_t utf8_length(struct slice s)
{
    size_t longest = s.len < UTF8_BYTES ? s.len : UTF8_BYTES;
    for (size_t len = 1; len <= longest; len++)
        if (base_utf8_is_valid(base_slice(s.ptr, len)))
            return len;
    return 0;
}

/* Writes the detail, or the problem's title, as UTF-8 that ends with a whole character: an errbuf
 * may have been cut inside one, and clients cannot parse a Status that contains half of it. */
static void write_text(char out[ERRBUF_BYTES], int problem, const char *detail)
{
    bool has_detail = detail != NULL && detail[0] != '\0';
    struct slice rest = base_slice_text(has_detail ? detail : gw_problem_get(problem)->title);
    size_t len = 0;
    while (rest.len > 0) {
        size_t count = utf8_length(rest);
        if (len + (count == 0 ? 1 : count) > ERRBUF_BYTES - 1)
            break;
        memcpy(out + len, count == 0 ? (const uint8_t *)"?" : rest.ptr, count == 0 ? 1 : count);
        len += count == 0 ? 1 : count;
        rest = base_slice_skip(rest, count == 0 ? 1 : count);
    }
    out[len] = '\0';
}

/* Percent-encodes as much as fits into max bytes; returns how many bytes were written. A space at
 * either end would not survive HTTP. */
static size_t encode_message(const char *text, size_t max, char *out)
{
    static const char HEX[] = "0123456789ABCDEF";
    size_t len = 0;
    for (size_t i = 0; text[i] != '\0'; i++) {
        uint8_t byte = (uint8_t)text[i];
        bool is_outer_space = byte == ' ' && (i == 0 || text[i + 1] == '\0');
        bool is_plain = byte >= ' ' && byte <= '~' && byte != '%' && !is_outer_space;
        size_t count = is_plain ? 1 : 3;
        if (len + count > max)
            break;
        out[len] = is_plain ? (char)byte : '%';
        if (!is_plain) {
            out[len + 1] = HEX[byte >> 4];
            out[len + 2] = HEX[byte & 15];
        }
        len += count;
    }
    while (len > 0 && out[len - 1] == ' ') /* the text was cut after one */
        len--;
    return len;
}

/* --- google.rpc.Status --------------------------------------------------------------------------
 */

struct details {
    Google__Protobuf__Any all[DETAILS_COUNT];
    Google__Protobuf__Any *list[DETAILS_COUNT];
    size_t count;
    size_t used;
    uint8_t bytes[INFO_DETAIL + DETAILS_COUNT * SMALL_DETAIL + ERRBUF_BYTES];
};

static void add_detail(struct details *d, const char *type_url, const ProtobufCMessage *message)
{
    INVARIANT(d->count < DETAILS_COUNT);
    INVARIANT(protobuf_c_message_get_packed_size(message) <= sizeof d->bytes - d->used);
    Google__Protobuf__Any *next = &d->all[d->count];
    google__protobuf__any__init(next);
    next->type_url = (char *)(uintptr_t)type_url; /* only read */
    next->value.data = d->bytes + d->used;
    next->value.len = protobuf_c_message_pack(message, next->value.data);
    d->used += next->value.len;
    d->list[d->count++] = next;
}

/* Adds ErrorInfo; `given` is only read. */
static void add_error_info(struct details *d, int problem, const struct gw_status_info *given)
{
    Rpc__ErrorInfo info = RPC__ERROR_INFO__INIT;
    Rpc__ErrorInfo__MetadataEntry entry = RPC__ERROR_INFO__METADATA_ENTRY__INIT;
    Rpc__ErrorInfo__MetadataEntry *entries[1] = {&entry};
    info.reason = (char *)(uintptr_t)gw_problem_get(problem)->code;
    info.domain = (char *)(uintptr_t)DOMAIN;
    if (given != NULL) {
        info.reason = (char *)(uintptr_t)given->reason;
        info.domain = (char *)(uintptr_t)given->domain;
        entry.key = (char *)(uintptr_t)given->name;
        entry.value = (char *)(uintptr_t)given->value;
        info.metadata = entries;
        info.n_metadata = 1;
    }
    add_detail(d, TYPE_PREFIX "google.rpc.ErrorInfo", &info.base);
}

static void add_retry_info(struct details *d, uint64_t delay_ns)
{
    Google__Protobuf__Duration delay = GOOGLE__PROTOBUF__DURATION__INIT;
    delay.seconds = (int64_t)(delay_ns / NS_PER_S);
    delay.nanos = (int32_t)(delay_ns % NS_PER_S);
    Rpc__RetryInfo info = RPC__RETRY_INFO__INIT;
    info.retry_delay = &delay;
    add_detail(d, TYPE_PREFIX "google.rpc.RetryInfo", &info.base);
}

static void add_quota_failure(struct details *d, const char *subject, char *text)
{
    Rpc__QuotaFailure__Violation violation = RPC__QUOTA_FAILURE__VIOLATION__INIT;
    Rpc__QuotaFailure__Violation *list[1] = {&violation};
    violation.subject = (char *)(uintptr_t)subject; /* only read */
    violation.description = text;
    Rpc__QuotaFailure failure = RPC__QUOTA_FAILURE__INIT;
    failure.n_violations = 1;
    failure.violations = list;
    add_detail(d, TYPE_PREFIX "google.rpc.QuotaFailure", &failure.base);
}

static void write_status(struct buf *out, int problem, char *text,
                         const struct gw_problem_extra *extra, const struct gw_status_info *info)
{
    struct details d;
    d.count = 0;
    d.used = 0;
    uint64_t delay_ns = retry_delay(problem, extra == NULL ? 0 : extra->retry_ns);
    add_error_info(&d, problem, info);
    if (delay_ns != 0)
        add_retry_info(&d, delay_ns);
    if (problem == ERR_QUOTA)
        add_quota_failure(&d, "storage", text);
    else if (extra != NULL && extra->policy != NULL)
        add_quota_failure(&d, extra->policy, text);

    Rpc__Status status = RPC__STATUS__INIT;
    status.code = gw_status_code_of(problem);
    status.message = text;
    status.details = d.list;
    status.n_details = d.count;
    size_t bytes = rpc__status__get_packed_size(&status);
    /* Two texts and DETAILS_COUNT small messages, one of which may be an info. */
    INVARIANT(bytes <= (info == NULL ? GW_STATUS_DETAILS : STATUS_BYTES));
    if (base_buf_reserve(out, bytes) == ERR_OK)
        out->len += rpc__status__pack(&status, base_buf_end(out));
}

void gw_status_write(struct buf *out, int problem, const char *detail,
                     const struct gw_problem_extra *extra)
{
    char text[ERRBUF_BYTES];
    write_text(text, problem, detail);
    write_status(out, problem, text, extra, NULL);
}

/* --- heads and trailers -------------------------------------------------------------------------
 */

static size_t space_left(const struct gw_exchange *ex)
{
    return GW_RESPONSE_HEADER_BYTES - ex->response_header_used;
}

static void add(struct gw_exchange *ex, enum gw_status_place place, const char *name,
                struct slice value)
{
    if (strlen(name) + value.len > space_left(ex))
        return;
    if (place == GW_STATUS_IN_HEAD)
        gw_exchange_add_header(ex, name, value);
    else
        gw_exchange_add_trailer(ex, name, value);
}

static void add_take(struct gw_exchange *ex, enum gw_status_place place, const char *name,
                     struct buf *value)
{
    if (strlen(name) > space_left(ex))
        return;
    if (place == GW_STATUS_IN_HEAD)
        gw_exchange_add_header_take(ex, name, value);
    else
        gw_exchange_add_trailer_take(ex, name, value);
}

static void add_code(struct gw_exchange *ex, enum gw_status_place place, enum gw_status_code code)
{
    char digits[2] = {(char)('0' + code / 10), (char)('0' + code % 10)};
    size_t skip = code < 10 ? 1 : 0;
    add(ex, place, "grpc-status", base_slice(digits + skip, sizeof digits - skip));
}

static void add_details(struct gw_exchange *ex, enum gw_status_place place, int problem, char *text,
                        const struct gw_problem_extra *extra, const struct gw_status_info *info)
{
    static const char NAME[] = "grpc-status-details-bin";
    struct buf status, base64;
    base_buf_init(&status, STATUS_BYTES);
    base_buf_init(&base64, BASE64_BYTES);
    write_status(&status, problem, text, extra, info);
    if (status.error == ERR_OK && base_base64_encode(base_buf_slice(&status), &base64) == ERR_OK) {
        while (base64.len > 0 && base64.ptr[base64.len - 1] == '=') /* gRPC wants no padding */
            base64.len--;
        if (info == NULL)
            add(ex, place, NAME, base_buf_slice(&base64));
        else
            add_take(ex, place, NAME, &base64);
    } /* out of memory: sends only code and message */
    base_buf_fini(&base64);
    base_buf_fini(&status);
}

static void add_message(struct gw_exchange *ex, enum gw_status_place place, const char *text)
{
    static const char NAME[] = "grpc-message";
    char encoded[ENCODED_BYTES];
    size_t space = space_left(ex);
    if (space < sizeof NAME)
        return;
    size_t max = space - strlen(NAME);
    size_t len = encode_message(text, max < sizeof encoded ? max : sizeof encoded, encoded);
    add(ex, place, NAME, base_slice(encoded, len));
}

void gw_status_put(struct gw_exchange *ex, enum gw_status_place place, int problem,
                   const char *detail, const struct gw_problem_extra *extra,
                   const struct gw_status_info *info)
{
    char text[ERRBUF_BYTES];
    write_text(text, problem, detail);
    add_code(ex, place, gw_status_code_of(problem));
    add_details(ex, place, problem, text, extra, info);
    add_message(ex, place, text);
}

void gw_status_put_bare(struct gw_exchange *ex, enum gw_status_place place, int problem,
                        const char *detail)
{
    char text[ERRBUF_BYTES];
    write_text(text, problem, detail);
    add_code(ex, place, gw_status_code_of(problem));
    add_message(ex, place, text);
}

void gw_status_put_ok(struct gw_exchange *ex)
{
    add_code(ex, GW_STATUS_IN_TRAILERS, GW_STATUS_OK);
}
