/*
 * gateway/api/row_page.h - rows as a JSON page with a token for the next page, or as lines.
 *
 * Does:     starts and ends the response to a read of many rows:
 *           {"rows":[...],"next_page_token":...}, or NDJSON when the request accepts it; with
 *           counts of what the read scanned, if requested.
 * Owns:     nothing; works on a row stream.
 * May use:  base/, storage/, gateway/api/.
 * Knows no: syntax of the request.
 * Threads:  the loop of the call.
 * Blocks:   no.
 * Fails by: ERR_INVALID for a token of another read, ERR_NO_MEMORY.
 * Limits:   LIM_PAGE_BYTES, LIM_PAGE_ROWS.
 * Promises: 1. A page without a token was the last one.
 */
#ifndef GATEWAY_API_ROW_PAGE_H
#define GATEWAY_API_ROW_PAGE_H

#include "gateway/api/row_answer.h"

/* Returns whether the response will be lines: then there are no tokens. */
bool gw_row_page_is_stream(const struct gw_call *call);
/* Allocates a stream of that form. */
struct gw_row_answer *gw_row_page_new(struct gw_call *call);

/* Sets spec.row_limit. limit: as requested; UINT64_MAX: none was requested. */
enum err gw_row_page_limit(struct gw_row_answer *s, uint64_t limit, struct errbuf *eb) MUST_CHECK;
/* Continues after the last row of the page that returned token (ptr NULL: starts). ranges: those of
 * spec.rows, at least one. context: what the token is bound to, in the call's arena. */
enum err gw_row_page_continue(struct gw_row_answer *s, const struct gw_page_context *context,
                              struct slice token, struct sto_row_range *ranges,
                              struct errbuf *eb) MUST_CHECK;
/* Starts the read; everything of spec must be set. */
void gw_row_page_start(struct gw_row_answer *s, bool with_stats);

#endif
