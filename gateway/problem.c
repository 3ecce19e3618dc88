/*
 * gateway/problem.c - every refusal of the HTTP edge, in one table.
 */
#include "gateway/problem.h"

#include "gateway/api/json_out.h"

#include "base/banned.h"

#define TYPE_PREFIX "https://bigtent.dev/problems/"
/* Problem types from a public registry (draft-ietf-httpapi-ratelimit-headers-10). */
#define TYPE_REGISTERED   "https://iana.org/assignments/http-problem-types#"
#define PROBLEM_MAX_BYTES (8 * KIB) /* a detail of ERRBUF_BYTES, every byte escaped, fits */
#define NS_PER_S          1000000000U

static const struct gw_problem PROBLEMS[GW_PROBLEM_COUNT] = {
    [ERR_OK] = {"internal", "Internal error", 500, 0, false},
    [ERR_INVALID] = {"invalid", "Invalid request", 400, 0, false},
    [ERR_TOO_BIG] = {"too_big", "Payload too large", 413, 0, false},
    [ERR_NOT_FOUND] = {"not_found", "Not found", 404, 0, false},
    [ERR_EXISTS] = {"exists", "Already exists", 409, 0, false},
    [ERR_CONFLICT] = {"conflict", "Conflict", 409, 0, false},
    [ERR_PRECONDITION] = {"precondition", "Precondition failed", 412, 0, false},
    [ERR_UNAUTHENTICATED] = {"unauthenticated", "Authentication required", 401, 0, false},
    [ERR_FORBIDDEN] = {"forbidden", "Forbidden", 403, 0, false},
    [ERR_SUSPENDED] = {"suspended", "Tenant suspended", 403, 0, false},
    [ERR_GONE] = {"gone", "Gone", 410, 0, false},
    [ERR_QUOTA] = {"quota", "Quota exceeded", 403, 0, false},
    [ERR_RATE_LIMITED] = {"rate_limited", "Too many requests", 429, 1, true},
    [ERR_OVERLOADED] = {"overloaded", "Overloaded", 503, 1, true},
    [ERR_STORAGE_FULL] = {"storage_full", "Storage full", 507, 0, true},
    [ERR_UNAVAILABLE] = {"unavailable", "Unavailable", 503, 2, true},
    [ERR_OUTCOME_UNKNOWN] = {"outcome_unknown", "Outcome unknown", 500, 0, true},
    [ERR_CORRUPT] = {"corrupt", "Stored data is damaged", 500, 0, false},
    [ERR_IO] = {"io", "Storage input/output error", 500, 0, false},
    [ERR_NO_MEMORY] = {"no_memory", "Out of memory", 503, 1, true},
    [ERR_CANCELLED] = {"cancelled", "Cancelled", 503, 1, true},
    [ERR_LOCKED] = {"locked", "Locked", 503, 2, true},
    [ERR_UNSUPPORTED] = {"unsupported", "Not supported", 501, 0, false},
    [ERR_TIMEOUT] = {"timeout", "Deadline passed", 503, 1, true},
    [ERR_HELD] = {"held", "Under legal hold", 409, 0, false},
    [GW_PROBLEM_METHOD] = {"method_not_allowed", "Method not allowed", 405, 0, false},
    [GW_PROBLEM_MEDIA_TYPE] = {"unsupported_media_type", "Unsupported media type", 415, 0, false},
    [GW_PROBLEM_TARGET] = {"too_big", "Request target too long", 414, 0, false},
    [GW_PROBLEM_HEADERS] = {"too_big", "Request headers too large", 431, 0, false},
};

const struct gw_problem *gw_problem_get(int problem)
{
    bool is_known = problem > 0 && problem < GW_PROBLEM_COUNT && PROBLEMS[problem].code != NULL;
    return &PROBLEMS[is_known ? problem : ERR_OK];
}

static void write_type(struct buf *out, int problem)
{
    /* errors latch in out */
    if (problem == ERR_RATE_LIMITED)
        (void)base_buf_append(out, SLICE_LIT("\"" TYPE_REGISTERED "quota-exceeded\""));
    else if (problem == ERR_OVERLOADED)
        (void)base_buf_append(out, SLICE_LIT("\"" TYPE_REGISTERED "temporary-reduced-capacity\""));
    else
        (void)base_buf_printf(out, "\"" TYPE_PREFIX "%s\"", gw_problem_get(problem)->code);
}

void gw_problem_write(struct buf *out, int problem, const char *detail,
                      const struct gw_problem_extra *extra)
{
    const struct gw_problem *p = gw_problem_get(problem);
    struct gw_json j = gw_json_start(out);
    gw_json_open(&j, '{');
    gw_json_name(&j, "type");
    write_type(out, problem);
    j.comma = true;
    gw_json_name_text(&j, "title", p->title);
    gw_json_name_u64(&j, "status", p->status);
    gw_json_name_text(&j, "code", p->code);
    bool has_detail = detail != NULL && detail[0] != '\0';
    gw_json_name_text(&j, "detail", has_detail ? detail : p->title);
    gw_json_name(&j, "retry");
    gw_json_bool(&j, p->retry);
    if (extra != NULL && extra->policy != NULL) {
        gw_json_name(&j, "violated-policies");
        gw_json_open(&j, '[');
        gw_json_text(&j, base_slice_text(extra->policy));
        gw_json_close(&j, ']');
    }
    gw_json_close(&j, '}');
}

static void add_retry_after(struct gw_exchange *ex, const struct gw_problem *p, uint64_t retry_ns)
{
    uint64_t seconds = retry_ns / NS_PER_S + (retry_ns % NS_PER_S != 0);
    if (seconds == 0)
        seconds = p->retry_after_s;
    uint8_t digits[20];
    size_t count = gw_json_digits(digits, seconds);
    gw_exchange_add_header(ex, "retry-after", base_slice(digits, count));
}

void gw_problem_send(struct gw_exchange *ex, int problem, const char *detail,
                     const struct gw_problem_extra *extra)
{
    const struct gw_problem *p = gw_problem_get(problem);
    struct buf body;
    base_buf_init(&body, PROBLEM_MAX_BYTES);
    gw_problem_write(&body, problem, detail, extra);
    if (body.error != ERR_OK) /* out of memory: sends the status alone */
        base_buf_truncate(&body, 0);

    gw_exchange_add_header(ex, "content-type", SLICE_LIT("application/problem+json"));
    gw_exchange_add_header(ex, "cache-control", SLICE_LIT("no-store"));
    if (p->status == 401)
        gw_exchange_add_header(ex, "www-authenticate", SLICE_LIT("Bearer realm=\"bigtent\""));
    if (p->status == 405 && extra != NULL && extra->allow != NULL)
        gw_exchange_add_header(ex, "allow", base_slice_text(extra->allow));
    if (p->retry_after_s != 0)
        add_retry_after(ex, p, extra == NULL ? 0 : extra->retry_ns);
    gw_exchange_start(ex, p->status, (int64_t)body.len);
    gw_exchange_send_take(ex, &body, true);
    base_buf_fini(&body);
}
