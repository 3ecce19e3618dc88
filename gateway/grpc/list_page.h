/*
 * gateway/grpc/list_page.h - pages of lists that are sorted by ID.
 *
 * Does:     makes a page token from the last ID on a page, and parses it again.
 * Owns:     nothing; results are in the call's arena.
 * May use:  base/, gateway/.
 * Knows no: listed objects, except the context that its token is bound to.
 * Threads:  the loop of the call.
 * Blocks:   no.
 * Fails by: ERR_INVALID for a token of another list, ERR_NO_MEMORY.
 * Limits:   GW_LIST_PAGE_BYTES per page; the code that builds the page respects it.
 * Promises: 1. A token is valid only in the context that it was made in.
 */
#ifndef GATEWAY_GRPC_LIST_PAGE_H
#define GATEWAY_GRPC_LIST_PAGE_H

#include "gateway/call.h"
#include "gateway/page_token.h"

/* Memory of a page, which its last entry may exceed: a page is built on a loop. */
#define GW_LIST_PAGE_BYTES (256 * KIB)

/* Parses a token. *out_last: the page starts after it; empty: at the first entry. token "": the
 * first page. */
enum err gw_list_page_open(struct gw_call *call, const struct gw_page_context *context,
                           const char *token, struct slice *out_last, struct errbuf *eb) MUST_CHECK;
enum err gw_list_page_end(struct gw_call *call, const struct gw_page_context *context,
                          struct slice last, char **out_token, struct errbuf *eb) MUST_CHECK;

#endif
