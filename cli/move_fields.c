/* cli/move_fields.c - reads the fields of a source one by one; see move_map.h. */
#include "base/names.h"
#include "base/text.h"
#include "cli/apply_values.h"
#include "cli/move_map.h"

#include "base/banned.h"

#define PATH_BYTES      512
#define SEPARATOR_BYTES 64
#define CF_BYTES        256
#define TIMESTAMP_STEP  1000

static const char *const PART_NAMES[CLI_MOVE_PARTS] = {"row", "qualifier", "timestamp"};

static void set_text(json_t *doc, const char *name, const struct cli_yaml_node *n)
{
    json_object_set_new(doc, name, json_stringn((const char *)n->text.ptr, n->text.len));
}

/* Returns whether the path's text stays below the directory; links there are not checked. */
static bool is_below(struct slice path)
{
    const char *text = (const char *)path.ptr;
    if (path.len == 0 || text[0] == '/')
        return false;
    while (text != NULL) {
        size_t len = strcspn(text, "/");
        if (len == 2 && text[0] == '.' && text[1] == '.')
            return false;
        text = strchr(text, '/');
        text = text != NULL ? text + 1 : NULL;
    }
    return true;
}

static void read_database(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                          const char *name)
{
    cli_apply_text(r, n, doc, name, PATH_BYTES);
    if (json_object_get(doc, name) != NULL && !is_below(n->text))
        cli_apply_wrong(r, n, "%s must be a path below the directory of the databases", name);
}

/* Returns whether the name has the form projects/P/instances/I/tables/T. */
static bool is_table_name(const char *name)
{
    static const char *const words[] = {"projects/", "/instances/", "/tables/"};
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-_.:";
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strncmp(name, words[i], strlen(words[i])) != 0)
            return false;
        name += strlen(words[i]);
        size_t len = strspn(name, allowed);
        if (len == 0)
            return false;
        name += len;
    }
    return *name == '\0';
}

static void read_from_table(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                            const char *name)
{
    cli_apply_text(r, n, doc, name, CLI_SERVICE_NAME);
    const char *text = json_string_value(json_object_get(doc, name));
    if (text != NULL && !is_table_name(text))
        cli_apply_wrong(r, n, "%s must be projects/P/instances/I/tables/T, not \"%.100s\"", name,
                        text);
}

static void read_column_family(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                               json_t *doc, const char *name)
{
    cli_apply_text(r, n, doc, name, CF_BYTES);
}

static void read_name(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                      const char *name, enum err (*check)(struct slice, struct errbuf *))
{
    struct errbuf eb = {0};
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    if (check(n->text, &eb) != ERR_OK)
        cli_apply_wrong(r, n, "%s \"%.64s\": %s", name, text, eb.text);
    else
        set_text(doc, name, n);
}

static void read_tenant(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name)
{
    read_name(r, n, doc, name, base_tenant_id_check);
}

static void read_table(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                       const char *name)
{
    read_name(r, n, doc, name, base_table_id_check);
}

static void read_family(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name)
{
    read_name(r, n, doc, name, base_family_name_check);
}

static bool is_family(struct cli_apply_reader *r, const struct cli_yaml_node *n)
{
    struct errbuf eb = {0};
    if (!cli_apply_expect(r, n, CLI_YAML_SCALAR, "a family"))
        return false;
    if (base_family_name_check(n->text, &eb) == ERR_OK)
        return true;
    cli_apply_wrong(r, n, "%s", eb.text);
    return false;
}

/* Reads {foreign name: target name, ..}. */
static void read_renames(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                         const char *name)
{
    json_t *names = json_object();
    json_t *taken = json_object();
    if (cli_apply_expect(r, n, CLI_YAML_MAP, name))
        for (const struct cli_yaml_node *m = n->first; m != NULL; m = m->next->next) {
            const char *from = (const char *)m->text.ptr;
            const char *to = (const char *)m->next->text.ptr;
            if (!is_family(r, m) || !is_family(r, m->next))
                continue;
            if (json_object_getn(taken, to, m->next->text.len) != NULL)
                cli_apply_wrong(r, m->next, "two families would become %.*s",
                                SLICE_ARGS(m->next->text));
            json_object_setn_new(taken, to, m->next->text.len, json_true());
            json_object_setn_new(names, from, m->text.len, json_stringn(to, m->next->text.len));
        }
    json_object_set_new(doc, CLI_MOVE_RENAMED_TO, taken);
    json_object_set_new(doc, name, names);
}

static void read_bytes(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                       const char *name, size_t max)
{
    if (n->kind != CLI_YAML_SCALAR || cli_yaml_is_null(n))
        cli_apply_wrong(r, n, "%s must be text, in quotes; other bytes go into %s_b64", name, name);
    else if (n->text.len > max)
        cli_apply_wrong(r, n, "%s has %zu bytes; the limit is %zu", name, n->text.len, max);
    else
        set_text(doc, name, n);
}

/* Reads a field in base64, whose name ends in _b64. */
static void read_base64(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name, size_t max)
{
    struct buf bytes;
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    base_buf_init(&bytes, max);
    if (base_base64_decode(n->text, &bytes) != ERR_OK)
        cli_apply_wrong(r, n, "%s must be base64 of at most %zu bytes", name, max);
    else
        set_text(doc, name, n);
    base_buf_fini(&bytes);
}

static void read_prefix(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name)
{
    read_bytes(r, n, doc, name, LIM_ROW_KEY);
}

static void read_prefix_b64(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                            const char *name)
{
    read_base64(r, n, doc, name, LIM_ROW_KEY);
}

static void read_qualifier(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                           const char *name)
{
    read_bytes(r, n, doc, name, LIM_QUALIFIER);
}

static void read_qualifier_b64(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                               json_t *doc, const char *name)
{
    read_base64(r, n, doc, name, LIM_QUALIFIER);
}

static void read_separator(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                           const char *name)
{
    read_bytes(r, n, doc, name, SEPARATOR_BYTES);
}

static void read_separator_b64(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                               json_t *doc, const char *name)
{
    read_base64(r, n, doc, name, SEPARATOR_BYTES);
}

static int part_of(struct slice word)
{
    for (int i = 0; i < CLI_MOVE_PARTS; i++)
        if (base_slice_is(word, PART_NAMES[i]))
            return i;
    return -1;
}

static void read_key(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                     const char *name)
{
    bool seen[CLI_MOVE_PARTS] = {false};
    if (!cli_apply_expect(r, n, CLI_YAML_LIST, name))
        return;
    json_t *list = json_array();
    for (const struct cli_yaml_node *m = n->first; m != NULL; m = m->next) {
        int part = m->kind == CLI_YAML_SCALAR ? part_of(m->text) : -1;
        if (part < 0)
            cli_apply_wrong(r, m, "a part of the key is row, qualifier or timestamp");
        else if (seen[part])
            cli_apply_wrong(r, m, "the key has the part %s twice", PART_NAMES[part]);
        else
            json_array_append_new(list, json_integer(part));
        if (part >= 0)
            seen[part] = true;
    }
    if (n->first == NULL || n->first->kind != CLI_YAML_SCALAR || part_of(n->first->text) != 0)
        cli_apply_wrong(r, n, "the first part of the key must be row");
    json_object_set_new(doc, name, list);
}

static void read_timestamp(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                           const char *name)
{
    int64_t number = -1;
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL || strcmp(text, "now") == 0)
        return; /* which is also the default */
    if (base_parse_i64(n->text, &number) != ERR_OK || number < 0 || number % TIMESTAMP_STEP != 0 ||
        number > INT64_MAX - TIMESTAMP_STEP)
        cli_apply_wrong(r, n,
                        "%s must be now, or whole milliseconds as microseconds since 1970, such as "
                        "1700000000000000; not \"%.64s\"",
                        name, text);
    else
        json_object_set_new(doc, name, json_integer(number));
}

static void read_unit(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                      const char *name)
{
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    json_int_t us = strcmp(text, "us") == 0   ? 1
                    : strcmp(text, "ms") == 0 ? 1000
                    : strcmp(text, "s") == 0  ? 1000000
                                              : 0;
    if (us == 0)
        cli_apply_wrong(r, n, "%s must be us, ms or s, not \"%.64s\"", name, text);
    else
        json_object_set_new(doc, name, json_integer(us));
}

static void read_unfit(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                       const char *name)
{
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    if (strcmp(text, "stop") != 0 && strcmp(text, "skip") != 0)
        cli_apply_wrong(r, n, "%s must be stop or skip, not \"%.64s\"", name, text);
    json_object_set_new(doc, name, json_boolean(strcmp(text, "skip") == 0));
}

void cli_move_read_fields(struct cli_apply_reader *r, const struct cli_yaml_node *source,
                          json_t *doc)
{
    static const struct cli_apply_field fields[] = {
        {"database", read_database},
        {"from_table", read_from_table},
        {"families", read_renames},
        {"strip_prefix", read_prefix},
        {"strip_prefix_b64", read_prefix_b64},
        {"column_family", read_column_family},
        {"tenant", read_tenant},
        {"table", read_table},
        {"family", read_family},
        {"row_prefix", read_prefix},
        {"row_prefix_b64", read_prefix_b64},
        {"qualifier", read_qualifier},
        {"qualifier_b64", read_qualifier_b64},
        {"key", read_key},
        {"separator", read_separator},
        {"separator_b64", read_separator_b64},
        {"timestamp", read_timestamp},
        {"timestamp_unit", read_unit},
        {"unfit", read_unfit},
        {NULL, NULL},
    };
    cli_apply_read_map(r, source, fields, doc);
}
