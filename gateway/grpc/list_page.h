/*
 * gateway/grpc/list_page.h - pages of lists that are sorted by ID.
 *
 * Does:     make a page token of the last ID given, and take one apart again.
 * Owns:     nothing; what is made lies in the call's arena.
 * May use:  base/, gateway/.
 * Knows no: what is listed, beyond the context that its token is bound to.
 * Threads:  the loop of the call.
 * Blocks:   no.
 * Fails by: ERR_INVALID for a token of another list, ERR_NO_MEMORY.
 * Limits:   GW_LIST_PAGE_BYTES of a page, which its maker heeds.
 * Promises: 1. A token opens only in the context that it was made in.
 */
#ifndef GATEWAY_GRPC_LIST_PAGE_H
#define GATEWAY_GRPC_LIST_PAGE_H

#include "gateway/call.h"
#include "gateway/page_token.h"

/* Of memory, and what one entry more takes: a page is made on a loop. */
#define GW_LIST_PAGE_BYTES (256 * KIB)

/* *out_last: the page begins behind it; empty: at the first. token "": the first page. */
enum err gw_list_page_open(struct gw_call *call, const struct gw_page_context *context,
                           const char *token, struct slice *out_last, struct errbuf *eb) MUST_CHECK;
enum err gw_list_page_end(struct gw_call *call, const struct gw_page_context *context,
                          struct slice last, char **out_token, struct errbuf *eb) MUST_CHECK;

#endif
