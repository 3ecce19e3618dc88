/*
 * gateway/grpc/status.h - the result of a call as a gRPC status.
 *
 * Does:     maps enum err to status codes; adds grpc-status, grpc-message and
 *           grpc-status-details-bin to heads and trailers; builds google.rpc.Status messages.
 * Owns:     nothing.
 * May use:  base/, gateway/exchange.h, gateway/problem.h.
 * Knows no: methods, tenants.
 * Threads:  any; with an exchange, its loop.
 * Blocks:   no.
 * Fails by: does not fail; details that do not fit are left out.
 * Limits:   ERRBUF_BYTES of message, GW_STATUS_DETAILS of details, GW_STATUS_INFO_VALUE besides.
 * Promises: 1. Messages are percent-encoded as the gRPC specification says.
 *           2. RetryInfo is present exactly where a retry may help and nothing was done; a full
 *              quota comes with QuotaFailure and without RetryInfo, a rate with both.
 *           3. ErrorInfo carries base_err_name as its reason, in the domain "bigtent", unless the
 *              caller passes an info. There is one ErrorInfo: clients read the first.
 */
#ifndef GATEWAY_GRPC_STATUS_H
#define GATEWAY_GRPC_STATUS_H

#include "base/buf.h"
#include "base/err.h"
#include "gateway/exchange.h"
#include "gateway/problem.h"

#define GW_STATUS_DETAILS 1024 /* bytes of google.rpc.Status, before base64 */
/* A row key in base64. The whole status then still fits into the 8 KiB of heads and trailers that
 * Java's and C's clients accept. */
#define GW_STATUS_INFO_VALUE ((LIM_ROW_KEY + 2) / 3 * 4)

enum gw_status_code {
    GW_STATUS_OK = 0,
    GW_STATUS_CANCELLED = 1,
    GW_STATUS_UNKNOWN = 2,
    GW_STATUS_INVALID_ARGUMENT = 3,
    GW_STATUS_DEADLINE_EXCEEDED = 4,
    GW_STATUS_NOT_FOUND = 5,
    GW_STATUS_ALREADY_EXISTS = 6,
    GW_STATUS_PERMISSION_DENIED = 7,
    GW_STATUS_RESOURCE_EXHAUSTED = 8,
    GW_STATUS_FAILED_PRECONDITION = 9,
    GW_STATUS_ABORTED = 10,
    GW_STATUS_OUT_OF_RANGE = 11,
    GW_STATUS_UNIMPLEMENTED = 12,
    GW_STATUS_INTERNAL = 13,
    GW_STATUS_UNAVAILABLE = 14,
    GW_STATUS_DATA_LOSS = 15,
    GW_STATUS_UNAUTHENTICATED = 16,
};

/* Returns the code of a problem: an enum err or an enum gw_problem_http. */
enum gw_status_code gw_status_code_of(int problem);

enum gw_status_place { GW_STATUS_IN_HEAD, GW_STATUS_IN_TRAILERS };

/* Content of ErrorInfo for a failure that clients know by a name of its own. */
struct gw_status_info {
    const char *reason;
    const char *domain;
    const char *name;  /* of its only metadata entry */
    const char *value; /* at most GW_STATUS_INFO_VALUE */
};

/* Adds the status of a failure to head or trailers; extra and info may be NULL. */
void gw_status_put(struct gw_exchange *ex, enum gw_status_place place, int problem,
                   const char *detail, const struct gw_problem_extra *extra,
                   const struct gw_status_info *info);
/* Adds only code and message, without details. */
void gw_status_put_bare(struct gw_exchange *ex, enum gw_status_place place, int problem,
                        const char *detail);
/* Adds grpc-status: 0, as a trailer. */
void gw_status_put_ok(struct gw_exchange *ex);

/* Appends a google.rpc.Status as protobuf to out; detail and extra may be NULL. Errors latch in
 * out. */
void gw_status_write(struct buf *out, int problem, const char *detail,
                     const struct gw_problem_extra *extra);

#endif
