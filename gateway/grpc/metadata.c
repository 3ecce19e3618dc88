/*
 * gateway/grpc/metadata.c - parses the headers of a gRPC request.
 */
#include "gateway/grpc/metadata.h"

#include "base/names.h"

#include "base/banned.h"

#define TIMEOUT_DIGITS 8

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

/* Skips the word, which is in lower case, if *rest starts with it in any case. */
static bool skip_word(struct slice *rest, const char *word)
{
    size_t len = strlen(word);
    if (rest->len < len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (lower(rest->ptr[i]) != (uint8_t)word[i])
            return false;
    *rest = base_slice_skip(*rest, len);
    return true;
}

static struct slice trim(struct slice s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = base_slice_skip(s, 1);
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

bool gw_metadata_is_grpc(const struct gw_exchange *ex)
{
    size_t count = 0;
    struct slice rest = trim(gw_exchange_header(ex, "content-type", &count));
    if (count != 1 || !skip_word(&rest, "application/grpc"))
        return false;
    (void)skip_word(&rest, "+proto"); /* means the same */
    rest = trim(rest);
    return rest.len == 0 || rest.ptr[0] == ';';
}

/* --- headers that must come once -----------------------------------------------------------------
 */

/* Finds a header that must come once. ptr NULL: absent. */
static enum err find_once(const struct gw_exchange *ex, const char *name, struct slice *out,
                          struct errbuf *eb)
{
    size_t count = 0;
    struct slice value = gw_exchange_header(ex, name, &count);
    if (count > 1)
        return base_fail(eb, ERR_INVALID, "header %s came %zu times", name, count);
    *out = count > 0 && value.len == 0 ? SLICE_LIT("") : value;
    return ERR_OK;
}

static uint64_t ns_of_unit(uint8_t unit)
{
    static const struct {
        char unit;
        uint64_t ns;
    } UNITS[] = {{'H', 3600000000000U}, {'M', 60000000000U}, {'S', 1000000000U},
                 {'m', 1000000U},       {'u', 1000U},        {'n', 1U}};
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++)
        if (UNITS[i].unit == unit)
            return UNITS[i].ns;
    return 0;
}

static enum err read_timeout(const struct gw_exchange *ex, uint64_t *out, struct errbuf *eb)
{
    struct slice text;
    enum err e = find_once(ex, "grpc-timeout", &text, eb);
    if (e != ERR_OK || text.ptr == NULL)
        return e;
    uint64_t amount = 0;
    size_t digits = text.len > 0 ? text.len - 1 : 0;
    bool is_good = digits >= 1 && digits <= TIMEOUT_DIGITS;
    for (size_t i = 0; is_good && i < digits; i++) {
        is_good = text.ptr[i] >= '0' && text.ptr[i] <= '9';
        amount = amount * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    uint64_t unit_ns = is_good ? ns_of_unit(text.ptr[digits]) : 0;
    if (unit_ns == 0)
        return base_fail(eb, ERR_INVALID,
                         "header grpc-timeout must be 1 to %d digits and one of H M S m u n",
                         TIMEOUT_DIGITS);
    if (amount == 0) /* clients whose deadline has passed send 0 */
        *out = 1;
    else
        *out = amount > INT64_MAX / unit_ns ? INT64_MAX : amount * unit_ns;
    return ERR_OK;
}

static enum err read_encoding(const struct gw_exchange *ex, enum gw_encoding *out,
                              struct errbuf *eb)
{
    struct slice text;
    enum err e = find_once(ex, "grpc-encoding", &text, eb);
    if (e != ERR_OK)
        return e;
    if (text.ptr == NULL || base_slice_is(text, "identity"))
        *out = GW_ENCODING_IDENTITY;
    else if (base_slice_is(text, "gzip"))
        *out = GW_ENCODING_GZIP;
    else
        return base_fail(eb, ERR_UNSUPPORTED,
                         "header grpc-encoding asks for what is not known; known are identity and "
                         "gzip");
    return ERR_OK;
}

/* --- the header that is a list -------------------------------------------------------------------
 */

static bool list_has_gzip(struct slice list)
{
    while (list.len > 0) {
        const uint8_t *comma = memchr(list.ptr, ',', list.len);
        size_t len = comma == NULL ? list.len : (size_t)(comma - list.ptr);
        if (base_slice_is(trim(base_slice(list.ptr, len)), "gzip"))
            return true;
        list = base_slice_skip(list, comma == NULL ? len : len + 1);
    }
    return false;
}

static bool takes_gzip(const struct gw_exchange *ex)
{
    for (size_t i = 0; i < ex->header_count; i++)
        if (base_slice_is(ex->headers[i].name, "grpc-accept-encoding") &&
            list_has_gzip(ex->headers[i].value))
            return true;
    return false;
}

enum err gw_metadata_read(const struct gw_exchange *ex, struct gw_metadata *out, struct errbuf *eb)
{
    struct gw_metadata m = {0};
    enum err e = read_timeout(ex, &m.timeout_ns, eb);
    if (e == ERR_OK)
        e = read_encoding(ex, &m.encoding, eb);
    if (e != ERR_OK)
        return e;
    bool wants_gzip = m.encoding == GW_ENCODING_GZIP && takes_gzip(ex);
    m.reply = wants_gzip ? GW_ENCODING_GZIP : GW_ENCODING_IDENTITY;
    *out = m;
    return ERR_OK;
}

/* --- the tenant that a call is about -----------------------------------------------------------
 */

/* Skips a slash, plain or escaped as clients do. */
static bool skip_slash(struct slice *rest)
{
    return skip_word(rest, "/") || skip_word(rest, "%2f");
}

static size_t id_length(struct slice text)
{
    size_t len = 0;
    while (len < text.len && text.ptr[len] != '/' && text.ptr[len] != '%' && text.ptr[len] != '&')
        len++;
    return len;
}

/* Returns the project of projects/ID, where ID ends with the name or with a slash. */
static struct slice project_of(struct slice name)
{
    struct slice rest = name;
    if (!skip_word(&rest, "projects") || !skip_slash(&rest))
        return SLICE_EMPTY;
    struct slice id = base_slice(rest.ptr, id_length(rest));
    rest = base_slice_skip(rest, id.len);
    bool is_whole = rest.len == 0 || rest.ptr[0] == '&' || skip_slash(&rest);
    return is_whole && base_tenant_id_check(id, NULL) == ERR_OK ? id : SLICE_EMPTY;
}

struct slice gw_metadata_project(const struct gw_exchange *ex)
{
    size_t count = 0;
    struct slice params = gw_exchange_header(ex, "x-goog-request-params", &count);
    struct slice project = SLICE_EMPTY;
    while (count == 1 && params.len > 0 && project.len == 0) {
        const uint8_t *equals = memchr(params.ptr, '=', params.len);
        if (equals == NULL)
            break;
        params = base_slice_skip(params, (size_t)(equals - params.ptr) + 1);
        project = project_of(params);
    }
    return project;
}
