/*
 * gateway/api/row_write.h - one change to one row, from a request to its answer.
 *
 * Does:     read what every such request may carry beside its body (If-Match, If-None-Match,
 *           Idempotency-Key, Idempotency-Start); have the body read, on the loop or the helper;
 *           check, submit, answer.
 * Owns:     nothing; it is the state of its call.
 * May use:  base/, storage/, gateway/.
 * Knows no: what bodies look like.
 * Threads:  the loop of the call; `read` on the helper when the body is large.
 * Blocks:   no.
 * Fails by: answering with a problem.
 * Limits:   LIM_IDEMPOTENCY_TOKEN_MIN, LIM_IDEMPOTENCY_TOKEN.
 * Promises: 1. A precondition that does not hold is ERR_PRECONDITION, and nothing happened.
 *           2. An answer to a repeated request says Idempotency-Replayed: true.
 */
#ifndef GATEWAY_API_ROW_WRITE_H
#define GATEWAY_API_ROW_WRITE_H

#include "gateway/api/json_out.h"
#include "gateway/api/rest.h"

struct gw_row_write {
    struct sto_mutate_op op;
    /* Turn gw_rest(call)->body into mutations of w->op. */
    enum err (*read)(struct gw_call *call, struct errbuf *eb);
    /* With the table as it is then; on the helper, if that is so. Both, or neither: NULL. */
    enum err (*prepare)(struct gw_call *call, struct errbuf *eb);
    bool (*prepares_long)(const struct gw_call *call);
    int64_t unit_us;  /* of the timestamps that read finds: time_unit.h */
    const char *list; /* the body's member that op.mutations were read from; NULL: they are cells */
    /* It was done. */
    void (*answer)(struct gw_call *call);
};

/* w is the beginning of the call's state; its functions are set. */
void gw_row_write_start(struct gw_call *call, struct gw_row_write *w);

/* {"timestamp":".."} */
void gw_row_write_answer_timestamp(struct gw_call *call, bool created);
/* "timestamp":"..", in an open object. */
void gw_row_write_put_timestamp(struct gw_call *call, struct gw_json *j);

#endif
