/* cli/row_numbers.c - see row_numbers.h. */
#include "cli/row_numbers.h"

#include <string.h>

#include "base/text.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/target.h"

#include "base/banned.h"

#define HTTP_FORBIDDEN 403

/* Texts to replace in a body: counted first, replaced when the table is known. */
struct numbers {
    const json_t *families; /* NULL: not known yet */
    size_t count;
};

/* Counts, or replaces by the number `as`, the text `name` of holder, of a cell in that family. */
static void look(struct numbers *n, json_t *holder, const char *name, const char *as,
                 const char *family)
{
    const json_t *text = json_object_get(holder, name);
    int64_t number = 0;
    if (family == NULL || !json_is_string(text) ||
        base_parse_i64(base_slice(json_string_value(text), json_string_length(text)), &number) !=
            ERR_OK)
        return;
    n->count++;
    const char *type =
        json_string_value(json_object_get(json_object_get(n->families, family), "type"));
    if (type == NULL || strcmp(type, "int64") != 0)
        return;
    int rc = json_object_set_new(holder, as, json_integer(number));
    if (rc == 0 && strcmp(name, as) != 0)
        rc = json_object_del(holder, name);
    INVARIANT(rc == 0); /* the object exists, and the name is valid: it was a member's */
}

/* Checks {"family":{"qualifier":"5"}}, and "$binary", a list of cells. */
static void look_at_row(struct numbers *n, json_t *body)
{
    const char *family, *qualifier;
    json_t *columns, *cell;
    void *next;
    size_t i;
    json_object_foreach(body, family, columns)
        json_object_foreach_safe(columns, next, qualifier, cell)
            look(n, columns, qualifier, qualifier, family);
    json_array_foreach(json_object_get(body, "$binary"), i, cell)
        look(n, cell, "value", "number", json_string_value(json_object_get(cell, "family")));
}

/* Checks [{"set_cell":{"family":"f","qualifier":"q","value":"5"}}]. */
static void look_at_mutations(struct numbers *n, const json_t *list)
{
    json_t *mutation;
    size_t i;
    json_array_foreach(list, i, mutation)
    {
        json_t *cell = json_object_get(mutation, "set_cell");
        look(n, cell, "value", "number", json_string_value(json_object_get(cell, "family")));
    }
}

static void look_at(struct numbers *n, json_t *body)
{
    static const char *const LISTS[] = {"mutations", "then", "else"};
    bool is_list = false;
    for (size_t i = 0; i < sizeof LISTS / sizeof LISTS[0]; i++) {
        const json_t *list = json_object_get(body, LISTS[i]);
        is_list = is_list || json_is_array(list);
        look_at_mutations(n, list);
    }
    if (!is_list)
        look_at_row(n, body);
}

/* Requests the table; NULL with CLI_OK: the key may not read it, which is reported. */
static enum cli_exit table_get(struct cli *cli, const char *table, json_t **out)
{
    struct buf target;
    struct cli_answer answer;
    cli_target1(&target, "/v1/tables/{}", table);
    struct cli_request request = {
        .method = "GET", .target = &target, .repeatable = true, .one_status = HTTP_FORBIDDEN};
    enum cli_exit e = cli_http_run(cli->http, &request, &answer);
    if (e == CLI_OK && answer.status == HTTP_FORBIDDEN)
        cli_say("the key may not read the table: digits are written as text, in families of type "
                "int64, too");
    else if (e == CLI_OK)
        *out = cli_json_parse(base_buf_slice(&answer.body));
    if (e == CLI_OK && *out == NULL && answer.status != HTTP_FORBIDDEN)
        e = cli_fail(CLI_REFUSED, "the server's description of the table is no JSON");
    base_buf_fini(&answer.body);
    base_buf_fini(&target);
    return e;
}

enum cli_exit cli_row_numbers(struct cli *cli, const char *table, json_t *body)
{
    struct numbers n = {.families = NULL};
    json_t *found = NULL;
    look_at(&n, body);
    enum cli_exit e = n.count == 0 ? CLI_OK : table_get(cli, table, &found);
    n.families = json_object_get(found, "families");
    if (n.families != NULL)
        look_at(&n, body);
    json_decref(found);
    return e;
}
