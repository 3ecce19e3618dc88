/*
 * cli/move_state.c - the recorded progress of a move; see move_in.h.
 *
 *     {"format":"bigtent-move-in","version":1,"map":"..","now":"..","sources":[{"sequence":"..",
 *      "after_b64":"..","done":false,"unfit":0,"rows":N,"cells":N,"bytes":N,"content":"..",
 *      "makes":false,"ruled":false},..],"service":"https://.."}
 *
 * map is the mapping file's hash: the state file of another mapping, or another service, is
 * refused. A table that a source "makes" has its rules when it is "ruled". Sources have the order
 * of the file. The state file remains when all is done: it records what was moved.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/json_text.h"
#include "cli/move_in.h"
#include "cli/out.h"
#include "cli/transfer_manifest.h"

#include "base/banned.h"

#define FORMAT "bigtent-move-in"
#define DIGITS 24

/* --- writing ----------------------------------------------------------------------------------
 */

/* Returns a number as text, because some readers' numbers have fewer than 64 bits. */
static json_t *number_text(uint64_t number)
{
    char text[DIGITS];
    (void)snprintf(text, sizeof text, "%" PRIu64, number); /* 20 digits */
    return json_string(text);
}

static json_t *base64_text(struct slice bytes)
{
    struct buf text;
    base_buf_init(&text, 2 * CLI_MOVE_KEY_BYTES);
    (void)base_base64_encode(bytes, &text); /* it fits: keys are bounded */
    json_t *string = json_stringn(text.len > 0 ? (const char *)text.ptr : "", text.len);
    base_buf_fini(&text);
    return string;
}

static json_t *move_json(const struct cli_move *v)
{
    char content[CLI_HASH_TEXT];
    if (!v->is_begun)
        return v->makes ? json_pack("{s:b}", "makes", true) : json_object();
    cli_hash_text(v->content.sum, content);
    return json_pack("{s:o, s:o, s:b, s:I, s:I, s:I, s:I, s:s, s:b, s:b}", "sequence",
                     number_text(v->sequence), "after_b64", base64_text(v->after), "done",
                     v->is_done, "unfit", (json_int_t)v->unfit, "rows", (json_int_t)v->content.rows,
                     "cells", (json_int_t)v->content.cells, "bytes", (json_int_t)v->content.bytes,
                     "content", content, "makes", v->makes, "ruled", v->is_ruled);
}

enum cli_exit cli_move_save_notes(struct cli_move_in *m)
{
    struct errbuf eb = {0};
    struct buf text;
    json_t *sources = json_array();
    for (size_t i = 0; i < m->map.count; i++)
        (void)json_array_append_new(sources, move_json(&m->moves[i])); /* checked as a whole */
    json_t *doc = json_pack("{s:s, s:i, s:s, s:o, s:o, s:s*}", "format", FORMAT, "version", 1,
                            "map", m->map.hash, "now", number_text((uint64_t)m->now_us), "sources",
                            sources, "service", m->service.url);
    base_buf_init(&text, CLI_MOVE_STATE_BYTES);
    bool fits =
        doc != NULL && json_array_size(sources) == m->map.count && cli_json_append(&text, doc, 0);
    json_decref(doc);
    enum cli_exit e = CLI_OK;
    if (!fits)
        e = cli_fail(CLI_REFUSED, "the notes of progress do not fit");
    else if (base_file_replace(m->state_path, base_buf_slice(&text), 0600, &eb) != ERR_OK)
        e = cli_fail(CLI_REFUSED, "%s; --state FILE notes progress elsewhere", eb.text);
    base_buf_fini(&text);
    m->noted_ns = base_monotonic_ns();
    return e;
}

/* --- reading ----------------------------------------------------------------------------------
 */

static bool take_number(const json_t *doc, const char *name, uint64_t *out)
{
    const json_t *number = json_object_get(doc, name);
    if (!json_is_integer(number) || json_integer_value(number) < 0)
        return false;
    *out = (uint64_t)json_integer_value(number);
    return true;
}

static bool take_number_text(const json_t *doc, const char *name, uint64_t *out)
{
    const char *text = json_string_value(json_object_get(doc, name));
    return text != NULL && base_parse_u64(base_slice_text(text), out) == ERR_OK;
}

static bool take_key(const json_t *doc, struct slice *out)
{
    struct buf bytes;
    const char *text = json_string_value(json_object_get(doc, "after_b64"));
    base_buf_init(&bytes, CLI_MOVE_KEY_BYTES);
    bool fits = text != NULL && base_base64_decode(base_slice_text(text), &bytes) == ERR_OK;
    if (fits)
        *out = cli_slice_copy(base_buf_slice(&bytes));
    base_buf_fini(&bytes);
    return fits;
}

static bool take_move(struct cli_move *v, const json_t *doc)
{
    const char *content = json_string_value(json_object_get(doc, "content"));
    v->makes = json_is_true(json_object_get(doc, "makes"));
    v->is_ruled = json_is_true(json_object_get(doc, "ruled"));
    if (json_is_object(doc) && json_object_get(doc, "sequence") == NULL)
        return true; /* the source had not started */
    v->is_begun = take_number_text(doc, "sequence", &v->sequence) && take_key(doc, &v->after) &&
                  take_number(doc, "unfit", &v->unfit) &&
                  take_number(doc, "rows", &v->content.rows) &&
                  take_number(doc, "cells", &v->content.cells) &&
                  take_number(doc, "bytes", &v->content.bytes) && content != NULL &&
                  cli_hash_parse(base_slice_text(content), v->content.sum);
    v->is_done = json_is_true(json_object_get(doc, "done"));
    return v->is_begun;
}

static bool is_text(const json_t *doc, const char *name, const char *wanted)
{
    const char *text = json_string_value(json_object_get(doc, name));
    return text != NULL && strcmp(text, wanted) == 0;
}

static bool take_notes(struct cli_move_in *m, const json_t *doc)
{
    uint64_t now = 0;
    const json_t *sources = json_object_get(doc, "sources");
    if (!take_number_text(doc, "now", &now) || now > INT64_MAX ||
        json_array_size(sources) != m->map.count)
        return false;
    m->now_us = (int64_t)now;
    for (size_t i = 0; i < m->map.count; i++)
        if (!take_move(&m->moves[i], json_array_get(sources, i)))
            return false;
    return true;
}

enum cli_exit cli_move_load_notes(struct cli_move_in *m, bool *out_found)
{
    struct errbuf eb = {0};
    struct buf text = {0};
    enum err read = base_file_read(m->state_path, CLI_MOVE_STATE_BYTES, &text, &eb);
    *out_found = read == ERR_OK;
    if (read == ERR_NOT_FOUND)
        return CLI_OK;
    if (read != ERR_OK)
        return cli_fail(CLI_CHECK_FAILED, "%s", eb.text);
    json_t *doc = cli_json_parse(base_buf_slice(&text));
    enum cli_exit e = CLI_OK;
    if (!is_text(doc, "format", FORMAT) || json_integer_value(json_object_get(doc, "version")) != 1)
        e = cli_fail(CLI_USAGE, "%s holds no notes of a move", m->state_path);
    else if (!is_text(doc, "map", m->map.hash))
        e = cli_fail(CLI_USAGE, "%s is about another mapping, or %s was changed since",
                     m->state_path, m->map_path);
    else if (m->service.url != NULL && !is_text(doc, "service", m->service.url))
        e = cli_fail(CLI_USAGE, "%s is about another service than %s", m->state_path,
                     m->service.url);
    else if (!take_notes(m, doc))
        e = cli_fail(CLI_USAGE, "%s is damaged", m->state_path);
    json_decref(doc);
    base_buf_fini(&text);
    return e;
}
