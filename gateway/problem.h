/*
 * gateway/problem.h - every refusal of the HTTP edge, in one table.
 *
 * Does:     maps enum err, and the few refusals only HTTP has, to status, code, title and whether a
 *           retry may help; sends them as application/problem+json (RFC 9457).
 * Owns:     nothing.
 * May use:  base/, gateway/exchange.h, gateway/api/json_out.h.
 * Knows no: routes, tenants.
 * Threads:  the loop of the exchange; the table from any.
 * Blocks:   no.
 * Fails by: does not fail; an unknown number is answered as 500.
 * Limits:   ERRBUF_BYTES of detail.
 * Promises: 1. Every enum err but ERR_OK has an entry whose code is base_err_name's.
 *           2. 429 and 503 carry Retry-After, 401 WWW-Authenticate, 405 Allow.
 */
#ifndef GATEWAY_PROBLEM_H
#define GATEWAY_PROBLEM_H

#include "base/buf.h"
#include "base/err.h"
#include "gateway/exchange.h"

/* Refusals that exist only in HTTP; numbered after enum err. */
enum gw_problem_http {
    GW_PROBLEM_METHOD = ERR_COUNT, /* 405 */
    GW_PROBLEM_MEDIA_TYPE,         /* 415 */
    GW_PROBLEM_TARGET,             /* 414 */
    GW_PROBLEM_HEADERS,            /* 431 */
    GW_PROBLEM_COUNT
};

struct gw_problem {
    const char *code;
    const char *title;
    uint16_t status;
    uint16_t retry_after_s; /* default of Retry-After; 0: the header is not sent */
    bool retry;             /* the same request may succeed later */
};

/* Returns the entry of a problem: an enum err or one of the above. */
const struct gw_problem *gw_problem_get(int problem);

struct gw_problem_extra {
    uint64_t retry_ns;  /* when known; rounded up to whole seconds */
    const char *allow;  /* for 405 */
    const char *policy; /* for 429: the name of the policy that refused */
};

/* Writes only the body. detail and extra may be NULL. */
void gw_problem_write(struct buf *out, int problem, const char *detail,
                      const struct gw_problem_extra *extra);
/* Answers the exchange with a problem; extra may be NULL. Only before gw_exchange_start. */
void gw_problem_send(struct gw_exchange *ex, int problem, const char *detail,
                     const struct gw_problem_extra *extra);

#endif
