/*
 * gateway/api/precondition.c - If-Match and If-None-Match.
 */
#include "gateway/api/precondition.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"

#include "base/banned.h"

#define NO_SUCH_VERSION UINT64_MAX

/* Returns whether quoted is an entity tag: visible characters without the quote, and bytes from
 * 0x80 on. */
static bool is_tag(struct slice quoted)
{
    if (quoted.len < 2 || quoted.ptr[0] != '"' || quoted.ptr[quoted.len - 1] != '"')
        return false;
    for (size_t i = 1; i + 1 < quoted.len; i++)
        if (quoted.ptr[i] <= 0x20 || quoted.ptr[i] == '"' || quoted.ptr[i] == 0x7f)
            return false;
    return true;
}

static enum err match_parse(struct slice text, struct ten_expect *out, struct errbuf *eb)
{
    if (base_slice_is(text, "*")) {
        out->present = true;
        return ERR_OK;
    }
    bool is_weak = base_slice_starts_with(text, SLICE_LIT("W/"));
    struct slice tag = is_weak ? base_slice_skip(text, 2) : text;
    if (!is_tag(tag))
        return base_fail(eb, ERR_INVALID,
                         "\"if-match\" must be * or one ETag as the server gave it, such as "
                         "\"3\" with the quotes");
    uint64_t version = 0;
    bool is_version =
        !is_weak && base_parse_u64(base_slice(tag.ptr + 1, tag.len - 2), &version) == ERR_OK;
    out->revision = is_version && version != 0 ? version : NO_SUCH_VERSION;
    return ERR_OK;
}

enum err gw_precondition_parse(const struct gw_exchange *ex, struct ten_expect *out,
                               struct errbuf *eb)
{
    size_t match_count = 0;
    size_t none_count = 0;
    struct slice match = gw_exchange_header(ex, "if-match", &match_count);
    struct slice none = gw_exchange_header(ex, "if-none-match", &none_count);
    *out = (struct ten_expect){0};
    if (match_count + none_count == 0)
        return ERR_OK;
    if (match_count + none_count > 1)
        return base_fail(eb, ERR_INVALID,
                         "give one of \"if-match\" and \"if-none-match\", and it once");
    if (match_count == 1)
        return match_parse(match, out, eb);
    if (!base_slice_is(none, "*"))
        return base_fail(eb, ERR_INVALID, "\"if-none-match\" must be * here");
    out->absent = true;
    return ERR_OK;
}

void gw_etag_add(struct gw_exchange *ex, uint64_t version)
{
    char text[32];
    int len = snprintf(text, sizeof text, "\"%" PRIu64 "\"", version);
    gw_exchange_add_header(ex, "etag", base_slice(text, (size_t)len));
}
