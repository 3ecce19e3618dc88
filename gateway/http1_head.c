/*
 * gateway/http1_head.c - parses the head of an HTTP/1 request before its body has arrived.
 *
 * The gate has checked that lines end with CR LF, that there is one space on either side of the
 * target and a colon after each name, and that nothing is folded.
 */
#include "gateway/http1_head.h"

#include "base/text.h"

#include "base/banned.h"

static struct slice take_until(struct slice *rest, uint8_t end)
{
    const uint8_t *at = memchr(rest->ptr, end, rest->len);
    INVARIANT(at != NULL);
    struct slice part = base_slice(rest->ptr, (size_t)(at - rest->ptr));
    *rest = base_slice_skip(*rest, part.len + 1);
    return part;
}

/* Returns the next line, without the CR. */
static struct slice take_line(struct slice *rest)
{
    struct slice line = take_until(rest, '\n');
    INVARIANT(line.len > 0 && line.ptr[line.len - 1] == '\r');
    line.len--;
    return line;
}

static struct slice trimmed(struct slice text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = base_slice_skip(text, 1);
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

static void lower(uint8_t *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] >= 'A' && text[i] <= 'Z')
            text[i] |= 0x20;
}

static void take_length(struct gw_http1_head *head, struct slice value)
{
    uint64_t length = 0;
    enum err e = base_parse_u64(value, &length);
    INVARIANT(e == ERR_OK && length <= INT64_MAX);
    head->content_length = (int64_t)length;
}

static void take_field(struct gw_http1_head *head, struct slice name, struct slice value,
                       struct gw_header headers[LIM_HEADERS])
{
    if (base_slice_is(name, "host"))
        head->authority = value;
    else if (base_slice_is(name, "content-length"))
        take_length(head, value);
    else if (!base_slice_is(name, "transfer-encoding") && !base_slice_is(name, "expect")) {
        INVARIANT(head->header_count < LIM_HEADERS);
        headers[head->header_count++] = (struct gw_header){name, value};
    }
}

void gw_http1_head_split(uint8_t *bytes, size_t len, struct gw_http1_head *out,
                         struct gw_header headers[LIM_HEADERS])
{
    struct slice rest = base_slice(bytes, len);
    struct slice line = take_line(&rest);
    *out = (struct gw_http1_head){.content_length = -1};
    out->method = take_until(&line, ' ');
    out->target = take_until(&line, ' ');
    for (line = take_line(&rest); line.len > 0; line = take_line(&rest)) {
        struct slice value = line;
        struct slice name = take_until(&value, ':');
        lower(bytes + (name.ptr - bytes), name.len);
        take_field(out, name, trimmed(value), headers);
    }
}
