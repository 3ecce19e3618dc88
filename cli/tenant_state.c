/*
 * cli/tenant_state.c - the recorded progress of a tenant's move; see tenant_move.h.
 *
 *     {"format":"bigtent-tenant-move","version":1,"tenant":"..","from":"URL","to":"URL",
 *      "done":false,
 *      "tables":[{"id":"..","streaming":true,"copied":false,"after_b64":"..","token":".."},..],
 *      "keys":[{"id":"..","there":".."},..],"known_keys":["..",..]}
 */
#include "base/alloc.h"
#include "base/file.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/tenant_move.h"
#include "cli/transfer_manifest.h"

#include "base/banned.h"

#define FORMAT "bigtent-tenant-move"

static json_t *table_json(const struct cli_tenant_table *t)
{
    json_t *doc = json_pack("{s:s, s:b, s:b, s:s}", "id", t->id, "streaming", t->is_streaming,
                            "copied", t->is_copied, "token", t->token);
    if (doc != NULL && !cli_json_set_bytes(doc, "after", t->after)) {
        json_decref(doc);
        return NULL;
    }
    return doc;
}

static json_t *keys_json(const struct cli_tenant_move *m)
{
    json_t *keys = json_array();
    for (size_t i = 0; i < m->key_count; i++)
        (void)json_array_append_new(keys, json_pack("{s:s, s:s}", "id", m->keys[i].id, "there",
                                                    m->keys[i].there)); /* counted by the caller */
    return keys;
}

enum cli_exit cli_moving_save(const struct cli_tenant_move *m)
{
    struct errbuf eb = {0};
    struct buf text;
    json_t *tables = json_array();
    for (size_t i = 0; i < m->count; i++)
        (void)json_array_append_new(tables, table_json(&m->tables[i])); /* counted below */
    json_t *keys = keys_json(m);
    bool fits = json_array_size(tables) == m->count && json_array_size(keys) == m->key_count;
    json_t *doc = json_pack("{s:s, s:i, s:s, s:s, s:s, s:b, s:o, s:o, s:O*}", "format", FORMAT,
                            "version", 1, "tenant", m->tenant, "from", m->from.admin_config.url,
                            "to", m->to.admin_config.url, "done", m->is_done, "tables", tables,
                            "keys", keys, "known_keys", m->known_keys);
    base_buf_init(&text, CLI_MOVE_STATE_BYTES);
    fits = fits && doc != NULL && cli_json_append(&text, doc, 0);
    json_decref(doc);
    enum cli_exit e = CLI_OK;
    if (!fits)
        e = cli_fail(CLI_REFUSED, "the notes of progress do not fit");
    else if (base_file_replace(m->state_path, base_buf_slice(&text), 0600, &eb) != ERR_OK)
        e = cli_fail(CLI_REFUSED, "%s; --state FILE notes progress elsewhere", eb.text);
    base_buf_fini(&text);
    return e;
}

static bool is_text(const json_t *doc, const char *name, const char *wanted)
{
    const char *text = json_string_value(json_object_get(doc, name));
    return text != NULL && strcmp(text, wanted) == 0;
}

static bool take_text(const json_t *doc, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(doc, name));
    size_t len = text != NULL ? strlen(text) : size;
    if (len >= size)
        return false;
    memcpy(out, text, len + 1);
    return true;
}

static bool take_table(struct cli_tenant_table *t, const json_t *doc)
{
    struct buf holder;
    base_buf_init(&holder, LIM_ROW_KEY);
    t->after = cli_slice_copy(cli_json_bytes(doc, "after", "after_b64", &holder));
    base_buf_fini(&holder);
    t->is_streaming = json_is_true(json_object_get(doc, "streaming"));
    t->is_copied = json_is_true(json_object_get(doc, "copied"));
    return take_text(doc, "id", t->id, sizeof t->id) &&
           take_text(doc, "token", t->token, sizeof t->token) && t->after.len <= LIM_ROW_KEY;
}

/* Reads the keys; a state file from before keys were issued has none. */
static bool take_keys(struct cli_tenant_move *m, const json_t *doc)
{
    const json_t *keys = json_object_get(doc, "keys");
    size_t count = json_array_size(keys);
    json_t *known = json_object_get(doc, "known_keys");
    if (count > LIM_KEYS_PER_TENANT || (known != NULL && !json_is_array(known)))
        return false;
    m->keys = base_new_array(LIM_KEYS_PER_TENANT, sizeof *m->keys);
    while (m->key_count < count) {
        const json_t *key = json_array_get(keys, m->key_count);
        struct cli_tenant_key *to = &m->keys[m->key_count++];
        if (!take_text(key, "id", to->id, sizeof to->id) ||
            !take_text(key, "there", to->there, sizeof to->there))
            return false;
    }
    m->known_keys = json_incref(known);
    return true;
}

static bool take_notes(struct cli_tenant_move *m, const json_t *doc)
{
    const json_t *tables = json_object_get(doc, "tables");
    size_t count = json_array_size(tables);
    if (!json_is_array(tables) || count > LIM_TABLES)
        return false;
    m->tables = base_new_array(count > 0 ? count : 1, sizeof *m->tables);
    while (m->count < count) {
        size_t at = m->count++;
        if (!take_table(&m->tables[at], json_array_get(tables, at)))
            return false;
    }
    m->is_done = json_is_true(json_object_get(doc, "done"));
    return take_keys(m, doc);
}

enum cli_exit cli_moving_load(struct cli_tenant_move *m, bool *out_found)
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
        e = cli_fail(CLI_USAGE, "%s holds no notes of a tenant's move", m->state_path);
    else if (!is_text(doc, "tenant", m->tenant) ||
             !is_text(doc, "from", m->from.admin_config.url) ||
             !is_text(doc, "to", m->to.admin_config.url))
        e = cli_fail(CLI_USAGE, "%s is about another move", m->state_path);
    else if (!take_notes(m, doc))
        e = cli_fail(CLI_USAGE, "%s is damaged", m->state_path);
    json_decref(doc);
    base_buf_fini(&text);
    return e;
}
