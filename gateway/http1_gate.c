/*
 * One byte, one step: a table of byte classes and a state per position in the grammar. Runs of
 * bytes that cannot change the state (targets, header values, body data) are skipped in a tight
 * loop.
 *
 *   METHOD -> TARGET -> VERSION -> MINOR -> LINE_CR -> LINE_LF -> FIELD
 *   FIELD  -> NAME -> OWS -> VALUE -> VALUE_LF -> FIELD ...
 *   FIELD  -> HEAD_LF -> DONE | BODY | CHUNK_SIZE
 *   CHUNK_SIZE -> CHUNK_SIZE_LF -> CHUNK_DATA -> CHUNK_CR -> CHUNK_LF -> CHUNK_SIZE ...
 *   CHUNK_SIZE_LF (size 0) -> LAST_CR -> LAST_LF -> DONE
 */
#include "gateway/http1_gate.h"

#include "base/limits.h"

#include "base/banned.h"

enum {
    METHOD,
    TARGET,
    VERSION,
    MINOR,
    LINE_CR,
    LINE_LF,
    FIELD,
    NAME,
    OWS,
    VALUE,
    VALUE_LF,
    HEAD_LF,
    BODY,
    CHUNK_SIZE,
    CHUNK_SIZE_LF,
    CHUNK_DATA,
    CHUNK_CR,
    CHUNK_LF,
    LAST_CR,
    LAST_LF,
    DONE,
    REFUSED
};

enum special { ORDINARY, HOST, CONTENT_LENGTH, TRANSFER_ENCODING, EXPECT, AUTHORIZATION, UPGRADE };

#define METHOD_BYTES_MAX 32
#define CHUNK_DIGITS_MAX 8
#define SATURATED        255

static bool is_token(uint8_t c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return true;
    static const char marks[] = "!#$%&'*+-.^_`|~";
    return memchr(marks, c, sizeof marks - 1) != NULL;
}

static bool is_target(uint8_t c)
{
    return c > 0x20 && c < 0x7f && c != '#';
}

static bool is_value(uint8_t c)
{
    return c == '\t' || (c >= 0x20 && c != 0x7f);
}

/* Returns whether c may be in a Host: a registered name or an address with an optional port; no
 * userinfo, no path. */
static bool is_host(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == '~' || c == ':' || c == '[' || c == ']' || c == '%';
}

bool gw_http1_is_authority(struct slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_host(text.ptr[i]))
            return false;
    return text.len > 0;
}

void gw_http1_gate_init(struct gw_http1_gate *g)
{
    *g = (struct gw_http1_gate){.state = METHOD};
}

static void refuse(struct gw_http1_gate *g, int status, const char *detail)
{
    g->state = REFUSED;
    g->status = status;
    g->detail = detail;
}

static void step_to(struct gw_http1_gate *g, bool allowed, uint8_t state, const char *otherwise)
{
    if (allowed)
        g->state = state;
    else
        refuse(g, 400, otherwise);
}

static char lower(uint8_t c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static void remember(char *text, uint8_t *len, uint8_t c)
{
    if (*len < GW_GATE_VALUE_BYTES)
        text[(*len)++] = lower(c);
    else
        *len = SATURATED;
}

static bool remembered(const char *text, uint8_t len, const char *word)
{
    return len != SATURATED && base_slice_is(base_slice(text, len), word);
}

/* --- request line ------------------------------------------------------------------------------
 */

static void on_method(struct gw_http1_gate *g, uint8_t c)
{
    if (c == ' ' && g->method_bytes > 0)
        g->state = TARGET;
    else if (!is_token(c))
        refuse(g, 400, "the request line must begin with a method");
    else if (++g->method_bytes > METHOD_BYTES_MAX)
        refuse(g, 400, "the method is too long");
}

static void on_target(struct gw_http1_gate *g, uint8_t c)
{
    if (g->target_bytes == 0 && c != '/')
        refuse(g, 400, "the request target must begin with '/'");
    else if (c == ' ')
        g->state = VERSION;
    else if (c == '#')
        refuse(g, 400, "the request target has a #, which is written %23");
    else if (!is_target(c))
        refuse(g, 400, "the request target has a byte that must be percent-encoded");
    else if (++g->target_bytes > LIM_TARGET_BYTES)
        refuse(g, 414, "the request target is longer than 24576 bytes");
}

static void on_version(struct gw_http1_gate *g, uint8_t c)
{
    static const char expected[] = "HTTP/1.";
    if (c != (uint8_t)expected[g->matched])
        refuse(g, 400, "the protocol version must be HTTP/1.1 or HTTP/1.0");
    else if (++g->matched == sizeof(expected) - 1)
        g->state = MINOR;
}

static void on_minor(struct gw_http1_gate *g, uint8_t c)
{
    g->minor_version = c == '1';
    step_to(g, c == '0' || c == '1', LINE_CR, "the protocol version must be HTTP/1.1 or HTTP/1.0");
}

/* --- headers -----------------------------------------------------------------------------------
 */

static uint8_t which_special(const struct gw_http1_gate *g)
{
    static const struct {
        const char *name;
        uint8_t special;
    } table[] = {
        {"host", HOST},
        {"content-length", CONTENT_LENGTH},
        {"transfer-encoding", TRANSFER_ENCODING},
        {"expect", EXPECT},
        {"authorization", AUTHORIZATION},
        {"upgrade", UPGRADE},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (remembered(g->name, g->name_len, table[i].name))
            return table[i].special;
    return ORDINARY;
}

static void on_field(struct gw_http1_gate *g, uint8_t c)
{
    if (c == '\r') {
        g->state = HEAD_LF;
    } else if (c == ' ' || c == '\t') {
        refuse(g, 400, "header lines must not be folded");
    } else if (!is_token(c)) {
        refuse(g, 400, "a header name has a byte that is not allowed");
    } else if (++g->header_count > LIM_HEADERS) {
        refuse(g, 431, "the request has more than 64 header fields");
    } else {
        g->name_len = 0;
        g->value_len = 0;
        remember(g->name, &g->name_len, c);
        g->state = NAME;
    }
}

static void on_name(struct gw_http1_gate *g, uint8_t c)
{
    if (c == ':') {
        g->special = which_special(g);
        g->state = OWS;
    } else if (!is_token(c)) {
        refuse(g, 400, "a header name has a byte that is not allowed");
    } else {
        remember(g->name, &g->name_len, c);
    }
}

/* Accepts a digit of Content-Length and refuses any other byte. */
static void on_length_digit(struct gw_http1_gate *g, uint8_t c)
{
    if (c < '0' || c > '9')
        refuse(g, 400, "Content-Length must be a decimal number");
    else if (g->body_bytes <= LIM_BODY_BYTES)
        g->body_bytes = g->body_bytes * 10 + (uint64_t)(c - '0');
}

static void on_value(struct gw_http1_gate *g, uint8_t c)
{
    if (c == '\r') {
        g->state = VALUE_LF;
        return;
    }
    if (!is_value(c)) {
        refuse(g, 400, "a header value has a control character");
        return;
    }
    if (g->special == ORDINARY || g->special == AUTHORIZATION)
        return;
    if (c == ' ' || c == '\t') {
        g->matched = 1; /* white space: allowed only if nothing but white space follows */
        return;
    }
    if (g->matched != 0) {
        refuse(g, 400, "a framing header has more than one value");
        return;
    }
    if (g->special == HOST && !is_host(c))
        refuse(g, 400, "the Host header has a byte that is not allowed");
    else if (g->special == CONTENT_LENGTH)
        on_length_digit(g, c);
    remember(g->value, &g->value_len, c);
}

static void on_ows(struct gw_http1_gate *g, uint8_t c)
{
    if (c == ' ' || c == '\t')
        return;
    g->state = VALUE;
    g->matched = 0;
    if (g->special == CONTENT_LENGTH) {
        if (g->has_length)
            refuse(g, 400, "Content-Length must come once");
        g->has_length = true;
        g->body_bytes = 0;
    }
    if (g->state == VALUE)
        on_value(g, c);
}

static void header_done(struct gw_http1_gate *g)
{
    g->state = FIELD;
    switch ((enum special)g->special) {
    case ORDINARY:
        break;
    case HOST:
        if (g->value_len == 0)
            refuse(g, 400, "the Host header is empty");
        else if (++g->hosts > 1)
            refuse(g, 400, "the Host header must come once");
        break;
    case CONTENT_LENGTH:
        if (g->value_len == 0 || (g->value_len > 1 && g->value[0] == '0'))
            refuse(g, 400, "Content-Length must be a decimal number");
        break;
    case TRANSFER_ENCODING:
        if (g->has_chunked)
            refuse(g, 400, "Transfer-Encoding must come once");
        else if (!remembered(g->value, g->value_len, "chunked"))
            refuse(g, 400, "the only Transfer-Encoding is chunked");
        g->has_chunked = true;
        break;
    case EXPECT:
        if (!remembered(g->value, g->value_len, "100-continue") || g->minor_version == 0)
            refuse(g, 400, "the only expectation is 100-continue, in HTTP/1.1");
        break;
    case AUTHORIZATION:
        if (++g->authorizations > 1)
            refuse(g, 400, "the Authorization header must come once");
        break;
    case UPGRADE:
        refuse(g, 400, "protocol upgrades are not offered; use ALPN for HTTP/2");
        break;
    }
}

static void head_done(struct gw_http1_gate *g)
{
    if (g->minor_version == 1 && g->hosts == 0) {
        refuse(g, 400, "HTTP/1.1 needs a Host header");
    } else if (g->has_chunked && g->has_length) {
        refuse(g, 400, "Content-Length and Transfer-Encoding exclude each other");
    } else if (g->has_chunked && g->minor_version == 0) {
        refuse(g, 400, "Transfer-Encoding needs HTTP/1.1");
    } else if (g->body_bytes > LIM_BODY_BYTES) {
        refuse(g, 413, "the body is larger than 16777216 bytes");
    } else {
        g->head_done = true;
        g->matched = 0;
        g->body_left = g->body_bytes;
        g->state = g->has_chunked ? CHUNK_SIZE : g->body_left > 0 ? BODY : DONE;
        if (g->has_chunked)
            g->body_bytes = 0;
    }
}

static void on_head(struct gw_http1_gate *g, uint8_t c)
{
    if (++g->head_bytes > LIM_HEAD_BYTES) {
        refuse(g, 431, "the request head is longer than 32768 bytes");
        return;
    }
    switch (g->state) {
    case METHOD:
        on_method(g, c);
        break;
    case TARGET:
        on_target(g, c);
        break;
    case VERSION:
        on_version(g, c);
        break;
    case MINOR:
        on_minor(g, c);
        break;
    case LINE_CR:
        step_to(g, c == '\r', LINE_LF, "the request line must end with CR LF");
        break;
    case LINE_LF:
        step_to(g, c == '\n', FIELD, "the request line must end with CR LF");
        break;
    case FIELD:
        on_field(g, c);
        break;
    case NAME:
        on_name(g, c);
        break;
    case OWS:
        on_ows(g, c);
        break;
    case VALUE:
        on_value(g, c);
        break;
    case VALUE_LF:
        if (c == '\n')
            header_done(g);
        else
            refuse(g, 400, "header lines must end with CR LF");
        break;
    default:
        if (c == '\n')
            head_done(g);
        else
            refuse(g, 400, "the request head must end with CR LF");
    }
}

/* --- chunked body ------------------------------------------------------------------------------
 */

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static void on_chunk_size(struct gw_http1_gate *g, uint8_t c)
{
    int digit = hex_digit(c);
    if (digit >= 0 && g->matched < CHUNK_DIGITS_MAX) {
        g->matched++;
        g->body_left = g->body_left * 16 + (uint64_t)digit;
    } else if (c == '\r' && g->matched > 0) {
        g->matched = 0;
        g->state = CHUNK_SIZE_LF;
    } else {
        refuse(g, 400, "a chunk size must be 1 to 8 hexadecimal digits and CR LF");
    }
}

static void chunk_begins(struct gw_http1_gate *g)
{
    g->body_bytes += g->body_left;
    if (g->body_bytes > LIM_BODY_BYTES)
        refuse(g, 413, "the body is larger than 16777216 bytes");
    else
        g->state = g->body_left > 0 ? CHUNK_DATA : LAST_CR;
}

static void on_chunk(struct gw_http1_gate *g, uint8_t c)
{
    switch (g->state) {
    case CHUNK_SIZE:
        on_chunk_size(g, c);
        break;
    case CHUNK_SIZE_LF:
        if (c == '\n')
            chunk_begins(g);
        else
            refuse(g, 400, "a chunk size must be 1 to 8 hexadecimal digits and CR LF");
        break;
    case CHUNK_CR:
        step_to(g, c == '\r', CHUNK_LF, "chunk data must be followed by CR LF");
        break;
    case CHUNK_LF:
        step_to(g, c == '\n', CHUNK_SIZE, "chunk data must be followed by CR LF");
        break;
    case LAST_CR:
        step_to(g, c == '\r', LAST_LF, "trailers are not accepted");
        break;
    default:
        step_to(g, c == '\n', DONE, "the chunked body must end with CR LF");
    }
}

/* --- the loop ----------------------------------------------------------------------------------
 */

/* Returns how many of the next bytes cannot change the state; they need no step of their own. */
static size_t run_length(struct gw_http1_gate *g, const uint8_t *at, size_t n)
{
    size_t i = 0;
    if (g->state == BODY || g->state == CHUNK_DATA)
        return g->body_left < n ? (size_t)g->body_left : n;
    if (g->state == VALUE && (g->special == ORDINARY || g->special == AUTHORIZATION)) {
        size_t most = LIM_HEAD_BYTES - g->head_bytes;
        while (i < n && i < most && is_value(at[i]))
            i++;
        g->head_bytes += (uint32_t)i;
    } else if (g->state == TARGET && g->target_bytes > 0) {
        size_t most = LIM_TARGET_BYTES - g->target_bytes;
        while (i < n && i < most && is_target(at[i]))
            i++;
        g->head_bytes += (uint32_t)i;
        g->target_bytes += (uint32_t)i;
    }
    return i;
}

enum gw_gate_verdict gw_http1_gate_feed(struct gw_http1_gate *g, struct slice in, size_t *out_taken)
{
    size_t at = 0;
    while (at < in.len && g->state < DONE) {
        size_t run = run_length(g, in.ptr + at, in.len - at);
        at += run;
        if (g->state == BODY || g->state == CHUNK_DATA) {
            g->body_left -= run;
            if (g->body_left == 0)
                g->state = g->state == BODY ? DONE : CHUNK_CR;
            continue;
        }
        if (at == in.len)
            break;
        if (g->state < BODY)
            on_head(g, in.ptr[at]);
        else
            on_chunk(g, in.ptr[at]);
        if (g->state != REFUSED)
            at++;
    }
    *out_taken = at;
    if (g->state == REFUSED)
        return GW_GATE_REFUSED;
    return g->state == DONE ? GW_GATE_COMPLETE : GW_GATE_MORE;
}
