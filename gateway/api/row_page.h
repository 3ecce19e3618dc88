/*
 * gateway/api/row_page.h - rows as a JSON page that tells how to go on, or as lines.
 *
 * Does:     begin and end the answer of a read of many rows: {"rows":[...],"next_page_token":...},
 *           or NDJSON when the request accepts it; with what the read went through, if asked for.
 * Owns:     nothing; works on a row stream.
 * May use:  base/, storage/, gateway/api/.
 * Knows no: how the rows were asked for.
 * Threads:  the loop of the call.
 * Blocks:   no.
 * Fails by: ERR_INVALID for a token of another read, ERR_NO_MEMORY.
 * Limits:   LIM_PAGE_BYTES, LIM_PAGE_ROWS.
 * Promises: 1. A page without a token was the last one.
 */
#ifndef GATEWAY_API_ROW_PAGE_H
#define GATEWAY_API_ROW_PAGE_H

#include "gateway/api/row_answer.h"

/* True when the answer will be lines: then there are no tokens. */
bool gw_row_page_is_stream(const struct gw_call *call);
/* A stream of that form. */
struct gw_row_answer *gw_row_page_new(struct gw_call *call);

/* limit: as asked for; UINT64_MAX: not. Sets spec.row_limit. */
enum err gw_row_page_limit(struct gw_row_answer *s, uint64_t limit, struct errbuf *eb) MUST_CHECK;
/* Go on behind the last row of the page that gave token (ptr NULL: begin). ranges: those of
 * spec.rows, at least one. context: what the token is bound to, in the call's arena. */
enum err gw_row_page_continue(struct gw_row_answer *s, const struct gw_page_context *context,
                              struct slice token, struct sto_row_range *ranges,
                              struct errbuf *eb) MUST_CHECK;
/* Everything of spec is set. */
void gw_row_page_start(struct gw_row_answer *s, bool with_stats);

#endif
