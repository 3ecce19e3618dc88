/* cli/large_cell.c - see large_cell.h. */
#include "cli/large_cell.h"

#include <stdio.h>

#include "cli/bounds.h"
#include "cli/out.h"
#include "cli/wire.h"

#include "base/banned.h"

#define LIST_INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/ListInstances"
#define MUTATE_ROW     "/google.bigtable.v2.Bigtable/MutateRow"
#define ANSWER_BYTES   (64 * KIB)
#define NAMES_BYTES    (64 * KIB) /* of a row key, a family, a qualifier and a table */

/* Fields of google/bigtable/v2/ and admin/v2/. */
enum { LIST_PARENT = 1, MUTATE_TABLE = 1, MUTATE_KEY = 2, MUTATE_MUTATION = 3, MUTATION_SET = 1 };
enum { SET_FAMILY = 1, SET_QUALIFIER = 2, SET_TIME = 3, SET_VALUE = 4 };
enum {
    LIST_INSTANCE = CLI_WIRE_TAG(1, CLI_WIRE_BYTES),
    INSTANCE_NAME = CLI_WIRE_TAG(1, CLI_WIRE_BYTES),
};

static enum cli_exit take_instance(void *ctx, struct slice message)
{
    struct cli_large_cell *l = ctx;
    struct cli_wire_field instance;
    struct cli_wire_field name;
    if (!cli_wire_find(message, LIST_INSTANCE, &instance) ||
        !cli_wire_find(instance.bytes, INSTANCE_NAME, &name))
        return cli_fail(CLI_REFUSED, "the server sent something that is not an instance");
    (void)snprintf(l->instance, sizeof l->instance, "%.*s",
                   SLICE_ARGS(name.bytes)); /* a truncated name is not found */
    return CLI_OK;
}

static enum cli_exit take_nothing(void *ctx, struct slice message)
{
    (void)ctx; /* the status is enough */
    (void)message;
    return CLI_OK;
}

void cli_large_cell_init(struct cli_large_cell *l, struct cli_http *http,
                         bool (*goes_on)(void *ctx), void *ctx)
{
    memset(l, 0, sizeof *l);
    cli_call_init(&l->call, ANSWER_BYTES);
    l->call.http = http;
    l->call.what = "an answer";
    l->call.goes_on = goes_on;
    l->call.ctx = ctx;
    l->call.message_ctx = l;
}

void cli_large_cell_fini(struct cli_large_cell *l)
{
    cli_call_fini(&l->call);
    memset(l, 0, sizeof *l);
}

static enum cli_exit judge(const struct cli_answer *answer)
{
    switch (answer->grpc_status) {
    case CLI_CALL_DONE:
        return CLI_OK;
    case CLI_CALL_NONE:
    case CLI_CALL_DEADLINE:
    case CLI_CALL_ABORTED:
    case CLI_CALL_UNAVAILABLE:
        return CLI_UNREACHABLE;
    case CLI_CALL_EXHAUSTED:
        return cli_fail(CLI_UNREACHABLE, "%s; trying again", answer->grpc_message);
    default:
        return cli_fail(CLI_REFUSED, "%s (status %d)", answer->grpc_message, answer->grpc_status);
    }
}

static enum cli_exit run(struct cli_large_cell *l, const char *method, const struct buf *message)
{
    const struct cli_call_request request = {.method = method, .message = base_buf_slice(message)};
    if (message->error != ERR_OK)
        return cli_fail(CLI_CHECK_FAILED, "a cell does not fit into memory");
    enum cli_exit e = cli_call_run(&l->call, &request);
    return e == CLI_OK ? judge(&l->call.answer) : e;
}

static enum cli_exit find_instance(struct cli_large_cell *l, const char *tenant)
{
    struct buf message;
    char project[CLI_SERVICE_NAME];
    int n = snprintf(project, sizeof project, "projects/%s", tenant);
    INVARIANT(n > 0 && (size_t)n < sizeof project); /* an ID */
    if (strncmp(l->instance, project, (size_t)n) == 0 && l->instance[n] == '/')
        return CLI_OK;
    base_buf_init(&message, 2 * CLI_SERVICE_NAME);
    cli_wire_put_bytes(&message, LIST_PARENT, base_slice_text(project));
    l->instance[0] = '\0';
    l->call.on_message = take_instance;
    enum cli_exit e = run(l, LIST_INSTANCES, &message);
    base_buf_fini(&message);
    return e;
}

/* Appends the request. The value is the last field at every level,
 * so that it is copied only once. */
static void put_request(const struct cli_large_cell *l, const char *table,
                        const struct cli_cell *cell, struct buf *out)
{
    struct buf set;
    struct buf mutation;
    char name[CLI_SERVICE_NAME + LIM_TABLE_ID + 16];
    (void)snprintf(name, sizeof name, "%s/tables/%s", l->instance, table); /* IDs are bounded */
    base_buf_init(&set, NAMES_BYTES);
    base_buf_init(&mutation, NAMES_BYTES);
    cli_wire_put_bytes(&set, SET_FAMILY, cell->family);
    cli_wire_put_bytes(&set, SET_QUALIFIER, cell->qualifier);
    cli_wire_put_number(&set, SET_TIME, (uint64_t)cell->timestamp_us);
    cli_wire_put_head(&set, SET_VALUE, cell->value.len);
    cli_wire_put_head(&mutation, MUTATION_SET, set.len + cell->value.len);
    base_buf_append(&mutation, base_buf_slice(&set));
    cli_wire_put_bytes(out, MUTATE_TABLE, base_slice_text(name));
    cli_wire_put_bytes(out, MUTATE_KEY, cell->key);
    cli_wire_put_head(out, MUTATE_MUTATION, mutation.len + cell->value.len);
    base_buf_append(out, base_buf_slice(&mutation));
    base_buf_append(out, cell->value);
    base_buf_fini(&mutation);
    base_buf_fini(&set);
}

enum cli_exit cli_large_cell_write(struct cli_large_cell *l, const char *tenant, const char *table,
                                   const struct cli_cell *cell)
{
    struct buf message;
    enum cli_exit e = find_instance(l, tenant);
    if (e != CLI_OK)
        return e;
    base_buf_init(&message, CLI_CALL_REQUEST_BYTES);
    put_request(l, table, cell, &message);
    l->call.on_message = take_nothing;
    e = run(l, MUTATE_ROW, &message);
    base_buf_fini(&message);
    return e;
}
