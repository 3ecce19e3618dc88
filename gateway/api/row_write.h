/*
 * gateway/api/row_write.h - one change to one row, from a request to its response.
 *
 * Does:     reads the headers that every such request may carry (If-Match, If-None-Match,
 *           Idempotency-Key, Idempotency-Start); has the body parsed, on the loop or the helper;
 *           checks, submits, answers.
 * Owns:     nothing; it is the state of its call.
 * May use:  base/, storage/, gateway/.
 * Knows no: format of bodies.
 * Threads:  the loop of the call; `read` on the helper when the body is large.
 * Blocks:   no.
 * Fails by: answering with a problem.
 * Limits:   LIM_IDEMPOTENCY_TOKEN_MIN, LIM_IDEMPOTENCY_TOKEN.
 * Promises: 1. A precondition that does not hold is ERR_PRECONDITION, and nothing happened.
 *           2. A response to a repeated request says Idempotency-Replayed: true.
 */
#ifndef GATEWAY_API_ROW_WRITE_H
#define GATEWAY_API_ROW_WRITE_H

#include "gateway/api/json_out.h"
#include "gateway/api/rest.h"

struct gw_row_write {
    struct sto_mutate_op op;
    /* Turns gw_rest(call)->body into mutations of w->op. */
    enum err (*read)(struct gw_call *call, struct errbuf *eb);
    /* Called after read, with the current table; runs on the helper if prepares_long says so. Both,
     * or neither: NULL. */
    enum err (*prepare)(struct gw_call *call, struct errbuf *eb);
    bool (*prepares_long)(const struct gw_call *call);
    int64_t unit_us;  /* of the timestamps that read finds: time_unit.h */
    const char *list; /* the body's member that op.mutations were read from; NULL: they are cells */
    /* Answers a write that was done. */
    void (*answer)(struct gw_call *call);
};

/* Starts the write. w is the first member of the call's state; its functions are set. */
void gw_row_write_start(struct gw_call *call, struct gw_row_write *w);

/* Answers with {"timestamp":".."}. */
void gw_row_write_answer_timestamp(struct gw_call *call, bool created);
/* Writes "timestamp":"..", in an open object. */
void gw_row_write_put_timestamp(struct gw_call *call, struct gw_json *j);

#endif
