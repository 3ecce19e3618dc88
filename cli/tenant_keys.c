/*
 * cli/tenant_keys.c - keys of a moving tenant; see tenant_move.h.
 *
 * A server stores only hashes of keys, so keys cannot be copied: a new key with the same scopes,
 * label, limits and row prefix is created at the destination, and written to a file with the old
 * key's ID as name.
 *
 *     record  the old key's ID, and the destination's existing keys
 *     create  by the server, which returns the secret once
 *     write   DIR/ID.key, mode 0600, durable
 *     record  the new key's ID
 *
 * 1. A run that was interrupted between the two records created at most one key without a file: the
 *    key that was not recorded as existing and has the same properties. It is revoked, and another
 *    key is created.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/tenant_move.h"

#include "base/banned.h"

#define TENANT_KEYS "/v1/admin/tenants/{}/keys"

/* --- lists ------------------------------------------------------------------------------------
 */

static enum cli_exit list_keys(struct cli_http *http, const char *pattern, const char *tenant,
                               json_t **out)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, pattern, tenant);
    enum cli_exit e = cli_http_get(http, &target, &doc);
    *out = json_incref(json_object_get(doc, "keys"));
    json_decref(doc);
    if (e == CLI_OK && !json_is_array(*out))
        e = cli_fail(CLI_REFUSED, "the server's list of keys is none");
    return e;
}

enum cli_exit cli_moving_list_keys(struct cli_tenant_move *m, json_t **out)
{
    return list_keys(m->from.admin, TENANT_KEYS, m->tenant, out);
}

static bool has_text(const json_t *list, const char *wanted)
{
    size_t i = 0;
    const json_t *item = NULL;
    json_array_foreach(list, i, item)
    {
        const char *text = json_string_value(item);
        if (text != NULL && strcmp(text, wanted) == 0)
            return true;
    }
    return false;
}

enum cli_exit cli_moving_list_service_keys(struct cli_tenant_move *m, json_t **out)
{
    json_t *all = NULL;
    size_t i = 0;
    json_t *key = NULL;
    enum cli_exit e = list_keys(m->from.admin, "/v1/admin/keys", NULL, &all);
    *out = json_array();
    json_array_foreach(all, i, key)
    {
        if (has_text(json_object_get(key, "tenants"), m->tenant))
            (void)json_array_append(*out, key); /* only shown */
    }
    json_decref(all);
    return e;
}

/* --- one key ----------------------------------------------------------------------------------
 */

/* Compares row prefixes; an earlier server's keys have none. */
static bool is_same_reach(const json_t *a, const json_t *b, const char *name)
{
    const json_t *left = json_object_get(a, name);
    const json_t *right = json_object_get(b, name);
    return json_is_string(left) || json_is_string(right) ? json_equal(left, right) : true;
}

static bool looks_like(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "scopes"), json_object_get(b, "scopes")) &&
           json_equal(json_object_get(a, "label"), json_object_get(b, "label")) &&
           is_same_reach(a, b, "row_prefix") && is_same_reach(a, b, "row_prefix_b64");
}

static enum cli_exit path_of(const struct cli_tenant_move *m, const char *id,
                             char out[BASE_PATH_BYTES])
{
    char name[CLI_KEY_ID + 8];
    struct errbuf eb = {0};
    for (const char *c = id; *c != '\0'; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
            return cli_fail(CLI_REFUSED, "the server named a key \"%s\"", id);
    (void)snprintf(name, sizeof name, "%s.key", id); /* fits */
    if (base_path_join(out, m->keys_dir, name, &eb) != ERR_OK)
        return cli_fail(CLI_USAGE, "%s", eb.text);
    return CLI_OK;
}

static enum cli_exit write_key(const struct cli_tenant_move *m, const char *id, const json_t *made)
{
    char path[BASE_PATH_BYTES];
    char text[CLI_KEY_BYTES];
    struct errbuf eb = {0};
    enum cli_exit e = path_of(m, id, path);
    int n = snprintf(text, sizeof text, "%s\n", cli_json_text_at(made, "key"));
    if (e == CLI_OK && (n <= 1 || (size_t)n >= sizeof text))
        e = cli_fail(CLI_REFUSED, "the server made a key and told none");
    if (e == CLI_OK && base_file_replace(path, base_slice(text, (size_t)n), 0600, &eb) != ERR_OK)
        e = cli_fail(CLI_REFUSED, "%s", eb.text);
    explicit_bzero(text, sizeof text);
    return e;
}

/* Records the ID of a key that is being created, and the destination's existing keys. */
static enum cli_exit note_begin(struct cli_tenant_move *m, const json_t *there)
{
    size_t i = 0;
    json_t *key = NULL;
    json_decref(m->known_keys);
    m->known_keys = json_array();
    json_array_foreach(there, i, key)
    {
        if (json_array_append(m->known_keys, json_object_get(key, "id")) != 0)
            return cli_fail(CLI_REFUSED, "out of memory for the notes");
    }
    return cli_moving_save(m);
}

static enum cli_exit make_key(struct cli_tenant_move *m, struct cli_tenant_key *noted,
                              const json_t *key)
{
    struct buf target;
    json_t *made = NULL;
    cli_target1(&target, TENANT_KEYS, m->tenant);
    enum cli_exit e = cli_http_send(
        m->to.admin, "POST", &target,
        json_pack("{s:O*, s:O*, s:O*, s:O*, s:O*}", "scopes", json_object_get(key, "scopes"),
                  "label", json_object_get(key, "label"), "limits", json_object_get(key, "limits"),
                  "row_prefix", json_object_get(key, "row_prefix"), "row_prefix_b64",
                  json_object_get(key, "row_prefix_b64")),
        false, &made);
    if (e == CLI_OK)
        e = write_key(m, noted->id, made);
    const char *id = cli_json_text_at(made, "id");
    if (e == CLI_OK && strlen(id) >= sizeof noted->there)
        e = cli_fail(CLI_REFUSED, "the server named a key \"%s\"", id);
    if (e == CLI_OK) {
        memcpy(noted->there, id, strlen(id) + 1);
        json_decref(m->known_keys);
        m->known_keys = NULL;
        e = cli_moving_save(m);
    }
    json_decref(made);
    return e;
}

/* Revokes a key that an interrupted run created, but did not record. */
static enum cli_exit revoke_lost(struct cli_tenant_move *m, const json_t *there, const json_t *like)
{
    size_t i = 0;
    const json_t *key = NULL;
    enum cli_exit e = CLI_OK;
    json_array_foreach(there, i, key)
    {
        struct buf target;
        json_t *doc = NULL;
        const char *id = cli_json_text_at(key, "id");
        if (e != CLI_OK || has_text(m->known_keys, id) || !looks_like(key, like))
            continue;
        cli_target2(&target, TENANT_KEYS "/{}", m->tenant, id);
        e = cli_http_send(m->to.admin, "DELETE", &target, NULL, true, &doc);
        json_decref(doc);
    }
    return e;
}

static struct cli_tenant_key *find_noted(struct cli_tenant_move *m, const char *id)
{
    for (size_t i = 0; i < m->key_count; i++)
        if (strcmp(m->keys[i].id, id) == 0)
            return &m->keys[i];
    return NULL;
}

static enum cli_exit begin_key(struct cli_tenant_move *m, const char *id,
                               struct cli_tenant_key **out)
{
    char path[BASE_PATH_BYTES];
    struct stat st;
    if (m->key_count == LIM_KEYS_PER_TENANT || strlen(id) >= sizeof m->keys[0].id)
        return cli_fail(CLI_REFUSED, "the server's list of keys is none");
    enum cli_exit e = path_of(m, id, path);
    if (e == CLI_OK && lstat(path, &st) == 0)
        e = cli_fail(CLI_USAGE, "%s is there already", path);
    if (e != CLI_OK)
        return e;
    if (m->keys == NULL)
        m->keys = base_new_array(LIM_KEYS_PER_TENANT, sizeof *m->keys);
    *out = &m->keys[m->key_count++];
    memcpy((*out)->id, id, strlen(id) + 1);
    (*out)->there[0] = '\0';
    return CLI_OK;
}

static enum cli_exit issue(struct cli_tenant_move *m, const json_t *key)
{
    json_t *there = NULL;
    const char *id = cli_json_text_at(key, "id");
    struct cli_tenant_key *noted = find_noted(m, id);
    bool was_cut = noted != NULL && noted->there[0] == '\0';
    if (noted != NULL && !was_cut)
        return CLI_OK;
    enum cli_exit e = list_keys(m->to.admin, TENANT_KEYS, m->tenant, &there);
    if (e == CLI_OK && was_cut)
        e = revoke_lost(m, there, key);
    else if (e == CLI_OK)
        e = begin_key(m, id, &noted);
    if (e == CLI_OK && !was_cut)
        e = note_begin(m, there);
    json_decref(there);
    return e == CLI_OK ? make_key(m, noted, key) : e;
}

enum cli_exit cli_moving_issue_keys(struct cli_tenant_move *m)
{
    json_t *keys = NULL;
    size_t i = 0;
    const json_t *key = NULL;
    if (mkdir(m->keys_dir, 0700) != 0 && errno != EEXIST)
        return cli_fail(CLI_USAGE, "cannot make %s: %s", m->keys_dir, strerror(errno));
    enum cli_exit e = cli_moving_list_keys(m, &keys);
    json_array_foreach(keys, i, key) e = e == CLI_OK ? issue(m, key) : e;
    json_decref(keys);
    return e == CLI_OK ? e
                       : cli_fail(e, "--resume --issue-keys %s goes on with the keys", m->keys_dir);
}
