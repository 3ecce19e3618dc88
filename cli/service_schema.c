/*
 * cli/service_schema.c - families of a foreign table; see service.h.
 *
 * A rule is a tree; a stack holds the lists that are being read.
 */
#include <inttypes.h>

#include "base/names.h"
#include "cli/bounds.h"
#include "cli/out.h"
#include "cli/service.h"
#include "cli/transfer_scan.h"
#include "cli/wire.h"

#include "base/banned.h"

#define NUMBER(field) CLI_WIRE_TAG(field, CLI_WIRE_NUMBER)
#define BYTES(field)  CLI_WIRE_TAG(field, CLI_WIRE_BYTES)

#define METHOD       "/google.bigtable.admin.v2.BigtableTableAdmin/GetTable"
#define SCHEMA_VIEW  2
#define NANOS        1000000000
#define NANOS_PER_US 1000
#define FAMILIES     1000 /* a table with more is refused */

/* Fields of google/bigtable/admin/v2/. */
enum { ASK_NAME = 1, ASK_VIEW = 2 };
enum { TABLE_FAMILY = BYTES(3), ENTRY_NAME = BYTES(1), ENTRY_FAMILY = BYTES(2) };
enum { FAMILY_RULE = BYTES(1), FAMILY_TYPE = BYTES(3) };
enum { RULE_VERSIONS = NUMBER(1), RULE_AGE = BYTES(2), RULE_ALL = BYTES(3), RULE_ANY = BYTES(4) };
enum { LIST_RULE = BYTES(1), AGE_SECONDS = NUMBER(1), AGE_NANOS = NUMBER(2) };
enum { TYPE_BYTES = BYTES(1), TYPE_STRING = BYTES(2), TYPE_INT64 = BYTES(5) };
enum { INT64_ENCODING = BYTES(1), ENCODING_ORDERED = BYTES(2) };
enum { TYPE_AGGREGATE = BYTES(6), AGGREGATE_SUM = BYTES(4), AGGREGATE_HLL = BYTES(5) };
enum { AGGREGATE_MAX = BYTES(6), AGGREGATE_MIN = BYTES(7) };

/* --- rules ------------------------------------------------------------------------------------
 */

struct walk {
    struct slice left[LIM_FILTER_DEPTH]; /* of the list's message */
    json_t *lists[LIM_FILTER_DEPTH];     /* borrowed */
    size_t depth;
};

static json_t *age_text(struct slice duration)
{
    struct cli_wire_field seconds;
    struct cli_wire_field nanos;
    if (!cli_wire_find(duration, AGE_SECONDS, &seconds) ||
        !cli_wire_find(duration, AGE_NANOS, &nanos) || seconds.number > INT64_MAX / NANOS ||
        nanos.number >= NANOS)
        return NULL;
    if (nanos.number == 0)
        return json_sprintf("%" PRIu64 "s", seconds.number);
    return json_sprintf("%" PRIu64 ".%06" PRIu64 "s", seconds.number, nanos.number / NANOS_PER_US);
}

static bool open_list(struct walk *w, struct slice message, json_t *rule, const char *name)
{
    if (w->depth == LIM_FILTER_DEPTH)
        return false;
    w->left[w->depth] = message;
    w->lists[w->depth] = json_array();
    return json_object_set_new(rule, name, w->lists[w->depth++]) == 0;
}

/* Reads a rule without its members, which are read later. */
static bool put_rule(struct walk *w, struct slice message, json_t *rule)
{
    struct cli_wire_field f;
    while (message.len > 0) {
        if (!cli_wire_next(&message, &f) || json_object_size(rule) > 0)
            return false;
        if (f.tag == RULE_VERSIONS && f.number > 0 && f.number <= INT32_MAX)
            (void)json_object_set_new(rule, "max_versions", json_integer((json_int_t)f.number));
        else if (f.tag == RULE_AGE && json_object_set_new(rule, "max_age", age_text(f.bytes)) != 0)
            return false;
        else if (f.tag == RULE_ALL && !open_list(w, f.bytes, rule, "intersection"))
            return false;
        else if (f.tag == RULE_ANY && !open_list(w, f.bytes, rule, "union"))
            return false;
    }
    return true;
}

static bool put_rules(struct slice message, json_t *rule)
{
    struct walk w = {.depth = 0};
    struct cli_wire_field f;
    bool is_good = put_rule(&w, message, rule);
    while (is_good && w.depth > 0) {
        if (w.left[w.depth - 1].len == 0) {
            w.depth--;
            continue;
        }
        is_good = cli_wire_next(&w.left[w.depth - 1], &f);
        if (!is_good || f.tag != LIST_RULE)
            continue;
        json_t *member = json_object();
        is_good = json_array_append_new(w.lists[w.depth - 1], member) == 0 &&
                  put_rule(&w, f.bytes, member);
    }
    return is_good;
}

/* --- families ---------------------------------------------------------------------------------
 */

static const char *aggregate_of(struct slice aggregate)
{
    static const struct {
        uint64_t tag;
        const char *name;
    } kinds[] = {{AGGREGATE_SUM, "sum"},
                 {AGGREGATE_HLL, "hll"},
                 {AGGREGATE_MAX, "max"},
                 {AGGREGATE_MIN, "min"}};
    struct cli_wire_field f;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (cli_wire_find(aggregate, kinds[i].tag, &f) && f.bytes.ptr != NULL)
            return kinds[i].name;
    return NULL;
}

/* Returns whether integers have the ordered encoding, which Bigtent's tables do not support. */
static bool is_ordered_code(struct slice int64)
{
    struct cli_wire_field f;
    return cli_wire_find(int64, INT64_ENCODING, &f) &&
           cli_wire_find(f.bytes, ENCODING_ORDERED, &f) && f.bytes.ptr != NULL;
}

/* Returns the type of plain values; NULL for types that Bigtent's tables do not support,
 * which does not change cells. */
static const char *value_type_of(struct slice type)
{
    static const struct {
        uint64_t tag;
        const char *name;
    } kinds[] = {{TYPE_BYTES, "bytes"}, {TYPE_STRING, "string"}, {TYPE_INT64, "int64"}};
    struct cli_wire_field f;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (cli_wire_find(type, kinds[i].tag, &f) && f.bytes.ptr != NULL)
            return kinds[i].tag == TYPE_INT64 && is_ordered_code(f.bytes) ? NULL : kinds[i].name;
    return NULL;
}

static bool put_type(struct slice message, json_t *family)
{
    struct cli_wire_field f;
    if (!cli_wire_find(message, TYPE_AGGREGATE, &f))
        return false;
    bool is_aggregate = f.bytes.ptr != NULL;
    const char *name = is_aggregate ? aggregate_of(f.bytes) : value_type_of(message);
    if (name != NULL)
        (void)json_object_set_new(family, "type", json_string(name)); /* both exist */
    return !is_aggregate || name != NULL;
}

static json_t *family_of(struct slice message)
{
    struct cli_wire_field rule;
    struct cli_wire_field type;
    json_t *family = json_object();
    json_t *gc = json_object();
    bool is_good = cli_wire_find(message, FAMILY_RULE, &rule) &&
                   cli_wire_find(message, FAMILY_TYPE, &type) && put_rules(rule.bytes, gc) &&
                   put_type(type.bytes, family);
    if (is_good && json_object_size(gc) > 0)
        (void)json_object_set(family, "gc", gc);
    json_decref(gc);
    if (is_good)
        return family;
    json_decref(family);
    return NULL;
}

static bool put_family(struct slice entry, json_t *families, struct errbuf *why)
{
    struct cli_wire_field name;
    struct cli_wire_field body;
    if (!cli_wire_find(entry, ENTRY_NAME, &name) || !cli_wire_find(entry, ENTRY_FAMILY, &body))
        return base_fail(why, ERR_INVALID, "it is no table") == ERR_OK;
    if (base_family_name_check(name.bytes, why) != ERR_OK)
        return false;
    json_t *family = family_of(body.bytes);
    if (family == NULL)
        return base_fail(why, ERR_INVALID, "the family %.*s has a rule or a type that cannot be",
                         SLICE_ARGS(name.bytes)) == ERR_OK;
    return json_object_setn_new(families, (const char *)name.bytes.ptr, name.bytes.len, family) ==
           0;
}

json_t *cli_service_families(struct slice message, struct errbuf *why)
{
    struct cli_wire_field f;
    json_t *families = json_object();
    bool is_good = true;
    while (message.len > 0 && is_good) {
        is_good = cli_wire_next(&message, &f);
        if (!is_good)
            (void)base_fail(why, ERR_INVALID, "it is no table"); /* is_good reports it */
        else if (f.tag == TABLE_FAMILY)
            is_good = json_object_size(families) < FAMILIES && put_family(f.bytes, families, why);
    }
    if (is_good)
        return families;
    json_decref(families);
    return NULL;
}

/* --- the call ---------------------------------------------------------------------------------
 */

struct asking {
    struct cli_call call;
    json_t *families;
    const char *table;
};

static enum cli_exit take_table(void *ctx, struct slice message)
{
    struct asking *a = ctx;
    struct errbuf why = {0};
    json_decref(a->families);
    a->families = cli_service_families(message, &why);
    if (a->families != NULL)
        return CLI_OK;
    return cli_fail(CLI_REFUSED, "what the service says of %s is nothing a table here can have: %s",
                    a->table, why.text);
}

static enum cli_exit ask_once(struct asking *a, const struct cli_config *config)
{
    struct buf message;
    struct buf resource;
    base_buf_init(&message, 2 * CLI_SERVICE_NAME);
    base_buf_init(&resource, 4 * CLI_SERVICE_NAME);
    cli_wire_put_bytes(&message, ASK_NAME, base_slice_text(a->table));
    cli_wire_put_number(&message, ASK_VIEW, SCHEMA_VIEW);
    cli_service_resource("name", a->table, &resource);
    const struct cli_call_request request = {
        .method = METHOD,
        .resource = (const char *)resource.ptr,
        .message = base_buf_slice(&message),
        .timeout_ms = CLI_SERVICE_WAIT_MS,
    };
    enum cli_exit e = cli_call_run(&a->call, &request);
    const struct cli_answer *answer = &a->call.answer;
    base_buf_fini(&resource);
    base_buf_fini(&message);
    if (e != CLI_OK || (answer->grpc_status == CLI_CALL_DONE && a->families != NULL))
        return e;
    if (answer->grpc_status != CLI_CALL_DENIED && answer->grpc_status != CLI_CALL_UNIMPLEMENTED)
        return cli_service_judge(config, answer, a->table);
    cli_say("%s does not say which families %s has (status %d)", config->url, a->table,
            answer->grpc_status);
    return CLI_OK;
}

static enum cli_exit insist(struct asking *a, const struct cli_config *config)
{
    const atomic_bool never = false;
    for (unsigned tries = 1;; tries++) {
        enum cli_exit e = ask_once(a, config);
        if (e != CLI_UNREACHABLE || tries == CLI_TRANSFER_TRIES)
            return e;
        if (!cli_transfer_wait(&never, tries))
            return CLI_INTERRUPTED;
    }
}

enum cli_exit cli_service_schema(const struct cli_service *service, const char *table, json_t **out)
{
    struct asking a = {.table = table};
    struct cli_config config;
    *out = NULL;
    cli_call_init(&a.call, CLI_SERVICE_SCHEMA);
    a.call.what = "a table";
    a.call.on_message = take_table;
    a.call.message_ctx = &a;
    enum cli_exit e = cli_service_config(service, true, &config);
    if (e == CLI_OK)
        e = cli_http_open(&config, &a.call.http);
    if (e == CLI_OK)
        e = insist(&a, &config);
    cli_http_close(a.call.http);
    cli_call_fini(&a.call);
    cli_service_config_fini(&config);
    if (e == CLI_OK)
        *out = a.families;
    else
        json_decref(a.families);
    return e;
}
