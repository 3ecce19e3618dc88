/*
 * gateway/api/row_answer.h - rows as JSON: in one piece when they fit into one slice, streamed
 * otherwise.
 *
 * Does:     implements the format of a row stream for the JSON API.
 * Owns:     its sink, in the call's state, until the call is freed.
 * May use:  base/, storage/, gateway/.
 * Knows no: query parameters, page tokens: `finish` writes the end of the response.
 * Threads:  the loop of the call; the sink runs on readers in between.
 * Blocks:   no.
 * Fails by: a problem before the first byte, aborting the stream after it.
 * Limits:   bytes_max.
 * Promises: 1. A HEAD is answered after the first slice.
 */
#ifndef GATEWAY_API_ROW_ANSWER_H
#define GATEWAY_API_ROW_ANSWER_H

#include "gateway/api/rest.h"
#include "gateway/api/row_sink.h"
#include "gateway/row_stream.h"

struct gw_row_answer {
    struct gw_row_stream stream; /* first; the handler fills in op.spec before it starts */
    struct gw_row_sink sink;
    const char *content_type;
    size_t bytes_max;                   /* end after the row that exceeds it; 0: no limit */
    const struct gw_page_context *page; /* for gateway/api/row_page.c */
    bool with_stats;                    /* the same */
    void *user;                         /* the handler's */
    /* Writes the end of the response into call->out; cut: rows may be left. May be NULL. */
    enum err (*finish)(struct gw_call *call, bool cut, struct errbuf *eb);

    size_t bytes;        /* of rows, sent and not yet sent */
    bool head_is_enough; /* of a HEAD whose response has no known length */
};

/* Allocates the state of the call, zeroed, with its sink writing into call->out. */
struct gw_row_answer *gw_row_answer_new(struct gw_call *call, enum gw_row_framing framing,
                                        const char *content_type);
/* Sets the form of the rows. The flat form of a read without a filter reads one version of each
 * column: call this after spec.versions was set. */
void gw_row_answer_form(struct gw_row_answer *a, struct gw_row_form form, bool has_filter);

#endif
