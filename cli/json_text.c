/* cli/json_text.c - see json_text.h. */
#include "cli/json_text.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/bounds.h"
#include "cli/out.h"
#include "cli/text.h"

#include "base/banned.h"

#define INDENT      2
#define PATH_LENGTH 64

void cli_json_init(void)
{
    json_set_alloc_funcs(base_try_alloc, base_free);
}

json_t *cli_json_parse(struct slice text)
{
    return json_loadb((const char *)text.ptr, text.len, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
}

json_t *cli_json_parse_once(struct slice text)
{
    return json_loadb((const char *)text.ptr, text.len,
                      JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
}

static int dump_into(const char *bytes, size_t len, void *user)
{
    return base_buf_append(user, base_slice(bytes, len)) == ERR_OK ? 0 : -1;
}

bool cli_json_append(struct buf *out, const json_t *value, size_t flags)
{
    return json_dump_callback(value, dump_into, out,
                              flags | (flags == 0 ? JSON_COMPACT : 0) | JSON_ENCODE_ANY) == 0;
}

/* Prints a value. deeper: the number of spaces before every line but the first. */
static void print_value(const json_t *value, unsigned deeper)
{
    bool terminal = cli_out_is_terminal();
    struct buf text;
    struct buf safe;
    base_buf_init(&text, CLI_TEXT_BYTES);
    base_buf_init(&safe, CLI_TEXT_BYTES);
    bool fits = cli_json_append(&text, value, terminal ? JSON_INDENT(INDENT) : 0);
    INVARIANT(fits);
    struct slice rest = base_buf_slice(&text);
    if (terminal) {
        cli_text_json_safe(&safe, rest);
        rest = base_buf_slice(&safe);
    }
    while (rest.len > 0) {
        /* Line feeds inside strings are escaped, so each one here is layout. */
        const uint8_t *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end != NULL ? (size_t)(end - rest.ptr) + 1 : rest.len;
        cli_out_bytes(base_slice(rest.ptr, len));
        if (end != NULL)
            cli_out_printf("%*s", (int)deeper, "");
        rest = base_slice_skip(rest, len);
    }
    base_buf_fini(&text);
    base_buf_fini(&safe);
}

void cli_json_print(const json_t *value)
{
    if (value == NULL)
        return;
    print_value(value, 0);
    cli_out_text("\n");
}

void cli_json_list_begin(const char *name)
{
    if (cli_out_is_terminal())
        cli_out_printf("{\n%*s\"%s\": [", INDENT, "", name);
    else
        cli_out_printf("{\"%s\":[", name);
}

void cli_json_list_element(const json_t *element, bool is_first)
{
    cli_out_text(is_first ? "" : ",");
    if (cli_out_is_terminal())
        cli_out_printf("\n%*s", 2 * INDENT, "");
    print_value(element, 2 * INDENT);
}

void cli_json_list_end(bool was_empty)
{
    if (!cli_out_is_terminal())
        cli_out_text("]}\n");
    else if (was_empty)
        cli_out_text("]\n}\n");
    else
        cli_out_printf("\n%*s]\n}\n", INDENT, "");
}

/* Returns the bytes as a JSON text, NULL when they do not fit; out_name: name or name_b64. */
static json_t *bytes_text(const char *name, struct slice bytes, char out_name[PATH_LENGTH])
{
    struct buf text;
    bool is_text = base_utf8_is_valid(bytes);
    (void)snprintf(out_name, PATH_LENGTH, "%s%s", name, is_text ? "" : "_b64"); /* short literals */
    if (is_text)
        return json_stringn(bytes.len > 0 ? (const char *)bytes.ptr : "", bytes.len);
    base_buf_init(&text, CLI_REQUEST_BYTES);
    json_t *value = NULL;
    if (base_base64_encode(bytes, &text) == ERR_OK)
        value = json_stringn((const char *)text.ptr, text.len);
    base_buf_fini(&text);
    return value;
}

bool cli_json_set_bytes(json_t *object, const char *name, struct slice bytes)
{
    char member[PATH_LENGTH];
    json_t *value = bytes_text(name, bytes, member);
    return json_object_set_new(object, member, value) == 0;
}

bool cli_json_append_bytes(json_t *object, const char *name, struct slice bytes)
{
    char member[PATH_LENGTH];
    json_t *value = bytes_text(name, bytes, member);
    json_t *list = json_object_get(object, member);
    if (list == NULL) {
        list = json_array();
        (void)json_object_set_new(object, member, list); /* the append below reports a failure */
    }
    return json_array_append_new(list, value) == 0;
}

struct slice cli_json_bytes(const json_t *object, const char *name, const char *name_b64,
                            struct buf *holder)
{
    const json_t *text = json_object_get(object, name);
    if (json_is_string(text))
        return base_slice(json_string_value(text), json_string_length(text));
    const json_t *coded = json_object_get(object, name_b64);
    base_buf_truncate(holder, 0);
    if (!json_is_string(coded) ||
        base_base64_decode(base_slice(json_string_value(coded), json_string_length(coded)),
                           holder) != ERR_OK)
        return SLICE_EMPTY;
    return base_buf_slice(holder);
}

json_t *cli_json_at(const json_t *root, const char *path)
{
    json_t *value = NULL;
    while (root != NULL) {
        size_t len = strcspn(path, ".");
        char name[PATH_LENGTH];
        INVARIANT(len < sizeof name);
        memcpy(name, path, len);
        name[len] = '\0';
        value = json_object_get(root, name);
        if (path[len] == '\0')
            return value;
        path += len + 1;
        root = value;
    }
    return NULL;
}

const char *cli_json_text_at(const json_t *root, const char *path)
{
    const char *text = json_string_value(cli_json_at(root, path));
    return text != NULL ? text : "";
}

void cli_json_etag(const json_t *doc, char out[CLI_ETAG_BYTES])
{
    long long version = json_integer_value(json_object_get(doc, "version"));
    (void)snprintf(out, CLI_ETAG_BYTES, "\"%lld\"", version); /* fits */
}
