/*
 * tests/docs/tables.c - the tables of docs/bigtable-compatibility.md, from the code that they are
 * about.
 *
 *   tables methods|statuses|limits
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <google/rpc/status.pb-c.h>

#include "base/limits.h"
#include "gateway/grpc/chunk_sink.h"
#include "gateway/grpc/method.h"
#include "gateway/grpc/rpc.h"
#include "gateway/grpc/status.h"
#include "gateway/problem.h"

#include "base/banned.h"

static const char *const CODES[] = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};
#define CODE_COUNT (sizeof CODES / sizeof CODES[0])

/* --- methods -----------------------------------------------------------------------------------
 */

#define COMPLETE "complete"

static bool is_served(const struct gw_method *m)
{
    return m->request != NULL;
}

/* A doc line is "complete", "complete; but", or what there is. */
static void print_served(const struct gw_method *m)
{
    bool is_complete = strncmp(m->doc, COMPLETE, sizeof COMPLETE - 1) == 0;
    const char *note = is_complete ? m->doc + sizeof COMPLETE - 1 : m->doc;
    note += strspn(note, "; ");
    printf("| %s | %s | %s%s|\n", m->name, is_complete ? COMPLETE : "served", note,
           note[0] == '\0' ? "" : " ");
}

/* The methods of one service that have one reason, in one row. */
static void print_absent(const struct gw_method *first)
{
    printf("| %s", first->name);
    for (const struct gw_method *m = first + 1; m->service != NULL; m++)
        if (!is_served(m) && strcmp(m->service, first->service) == 0 &&
            strcmp(m->doc, first->doc) == 0)
            printf(", %s", m->name);
    enum err refusal = first->refusal != ERR_OK ? first->refusal : ERR_UNSUPPORTED;
    printf(" | %s%s | %s |\n", CODES[gw_status_code_of((int)refusal)],
           first->plain_request == NULL ? "" : "; complete at the emulator's listener", first->doc);
}

static bool is_first_of_reason(const struct gw_method *method)
{
    for (const struct gw_method *m = gw_methods; m != method; m++)
        if (!is_served(m) && strcmp(m->service, method->service) == 0 &&
            strcmp(m->doc, method->doc) == 0)
            return false;
    return true;
}

static void print_service(const char *service)
{
    printf("\n### %s\n\n| method | | |\n|---|---|---|\n", service);
    for (const struct gw_method *m = gw_methods; m->service != NULL; m++)
        if (strcmp(m->service, service) == 0 && is_served(m))
            print_served(m);
    for (const struct gw_method *m = gw_methods; m->service != NULL; m++)
        if (strcmp(m->service, service) == 0 && !is_served(m) && is_first_of_reason(m))
            print_absent(m);
}

static bool is_first_of_service(const struct gw_method *method)
{
    for (const struct gw_method *m = gw_methods; m != method; m++)
        if (strcmp(m->service, method->service) == 0)
            return false;
    return true;
}

static void print_methods(void)
{
    for (const struct gw_method *m = gw_methods; m->service != NULL; m++)
        if (is_first_of_service(m))
            print_service(m->service);
}

/* --- statuses ----------------------------------------------------------------------------------
 */

static const char *const REASONS[ERR_COUNT] = {
    [ERR_INVALID] = "the request is malformed, or says what cannot be",
    [ERR_TOO_BIG] = "over a limit; the message names it and its value",
    [ERR_NOT_FOUND] = "no such instance, table, family or operation",
    [ERR_EXISTS] = "it is there already",
    [ERR_CONFLICT] = "the state does not allow it: a cell that is no number, deletion protection, "
                     "a token of another request",
    [ERR_PRECONDITION] = "an etag that is not the stored one",
    [ERR_UNAUTHENTICATED] = "no API key, or one that is not valid",
    [ERR_FORBIDDEN] = "the key has not the scope, or is not that project's",
    [ERR_SUSPENDED] = "the tenant is suspended",
    [ERR_GONE] = "the tenant is being deleted, or was",
    [ERR_QUOTA] = "a quota of bytes, rows, tables or keys is full; deletes pass. With QuotaFailure",
    [ERR_RATE_LIMITED] = "faster than the tenant's rate; the delay says until when",
    [ERR_OVERLOADED] =
        "a queue of the server is full, or the tenant has far more than its share of "
        "a busy server",
    [ERR_STORAGE_FULL] = "the disk is full; deletes pass",
    [ERR_UNAVAILABLE] = "the server is stopping",
    [ERR_OUTCOME_UNKNOWN] = "a write failed while it was made durable: it may or may not be there",
    [ERR_CORRUPT] = "stored bytes are damaged",
    [ERR_IO] = "the disk failed",
    [ERR_NO_MEMORY] = "no memory for this request",
    [ERR_CANCELLED] = "the client went away",
    [ERR_LOCKED] = "something else holds it for the moment",
    [ERR_UNSUPPORTED] = "a method or an option that is not here; the message says why",
    [ERR_TIMEOUT] = "the deadline of the client passed",
    [ERR_HELD] = "a legal hold on the tenant forbids it",
};

/* Does the message that a client gets for it say when to come back? */
static bool has_retry_info(int problem)
{
    static const char WANTED[] = "type.googleapis.com/google.rpc.RetryInfo";
    struct buf bytes;
    bool found = false;
    base_buf_init(&bytes, GW_STATUS_DETAILS);
    gw_status_write(&bytes, problem, "", NULL);
    Rpc__Status *status = rpc__status__unpack(NULL, bytes.len, bytes.ptr);
    INVARIANT(status != NULL);
    for (size_t i = 0; i < status->n_details; i++)
        found = found || strcmp(status->details[i]->type_url, WANTED) == 0;
    rpc__status__free_unpacked(status, NULL);
    base_buf_fini(&bytes);
    return found;
}

static void print_statuses(void)
{
    size_t printed = 0;
    printf("\n| code | reason | RetryInfo | |\n|---|---|---|---|\n");
    for (size_t code = 1; code < CODE_COUNT; code++)
        for (int problem = ERR_OK + 1; problem < ERR_COUNT; problem++) {
            if (gw_status_code_of(problem) != (enum gw_status_code)code)
                continue;
            INVARIANT(REASONS[problem] != NULL);
            printf("| %s | `%s` |%s| %s |\n", CODES[code], gw_problem_get(problem)->code,
                   has_retry_info(problem) ? " yes " : " ", REASONS[problem]);
            printed++;
        }
    INVARIANT(printed == ERR_COUNT - 1);
}

/* --- limits ------------------------------------------------------------------------------------
 */

struct limit {
    const char *what;
    uint64_t value;
    const char *unit; /* "bytes" are shown in KiB or MiB when they are whole ones */
    const char *note;
};

static const struct limit LIMITS[] = {
    {"row key", LIM_ROW_KEY, "bytes", "at least one byte"},
    {"column family name", LIM_FAMILY_NAME, "characters", "`[-_.a-zA-Z0-9]`"},
    {"column qualifier", LIM_QUALIFIER, "bytes", "may be empty"},
    {"cell value", LIM_CELL_BYTES, "bytes", "a tenant may be given more, up to the next line"},
    {"cell value, hard", LIM_CELL_BYTES_HARD, "bytes", ""},
    {"row", LIM_ROW_BYTES, "bytes", "checked when it is written"},
    {"table name", LIM_TABLE_ID, "characters", ""},
    {"tables of a tenant", LIM_TABLES, "", ""},
    {"families of a table", LIM_FAMILIES, "", ""},
    {"mutations of a row in one request", LIM_MUTATIONS_PER_ROW, "",
     "of MutateRows in all its entries together"},
    {"rules of ReadModifyWriteRow", LIM_MODIFY_RULES, "", ""},
    {"permissions of TestIamPermissions", LIM_PERMISSIONS, "", ""},
    {"cells a predicate of CheckAndMutateRow looks at", LIM_CHECK_STEPS, "", ""},
    {"keys and ranges of a read", LIM_ROW_SET, "", ""},
    {"filter", LIM_FILTER_BYTES, "bytes", "as a serialized RowFilter"},
    {"filter, depth", LIM_FILTER_DEPTH, "", ""},
    {"copies of a cell that a filter makes", LIM_FILTER_COPIES, "",
     "interleaves in a chain multiply"},
    {"regular expressions of a filter", LIM_FILTER_REGEXES, "", "literal ones are free"},
    {"classes of Unicode in them", LIM_FILTER_CLASSES, "", "`\\pL`"},
    {"label", LIM_LABEL, "characters", "`[a-z0-9-]`"},
    {"garbage collection rule", LIM_GC_RULE_BYTES, "bytes", "as a serialized GcRule"},
    {"idempotency token, shortest", LIM_IDEMPOTENCY_TOKEN_MIN, "bytes", ""},
    {"idempotency token, longest", LIM_IDEMPOTENCY_TOKEN, "bytes", ""},
    {"request message", GW_RPC_MESSAGE_MAX, "bytes", "compressed or not, and inflated"},
    {"response message of several rows", GW_CHUNK_MESSAGE_BYTES, "bytes",
     "then it gets no further row"},
    {"row in an answer", GW_CHUNK_ROW_BYTES, "bytes", "with its names; what a filter leaves of it"},
    {"nesting of a request message", GW_PROTO_DEPTH, "", ""},
    {"streams at a time on a connection", LIM_STREAMS_PER_CONN, "", ""},
};

static void print_amount(const struct limit *l)
{
    bool is_bytes = strcmp(l->unit, "bytes") == 0;
    if (is_bytes && l->value % MIB == 0)
        printf("%" PRIu64 " MiB", l->value / MIB);
    else if (is_bytes && l->value % KIB == 0)
        printf("%" PRIu64 " KiB", l->value / KIB);
    else
        printf("%" PRIu64 "%s%s", l->value, l->unit[0] == '\0' ? "" : " ", l->unit);
}

static void print_limits(void)
{
    printf("\n| what | limit | |\n|---|---|---|\n");
    for (size_t i = 0; i < sizeof LIMITS / sizeof LIMITS[0]; i++) {
        printf("| %s | ", LIMITS[i].what);
        print_amount(&LIMITS[i]);
        printf(" | %s%s|\n", LIMITS[i].note, LIMITS[i].note[0] == '\0' ? "" : " ");
    }
}

int main(int argc, char **argv)
{
    const char *table = argc == 2 ? argv[1] : "";
    if (strcmp(table, "methods") == 0)
        print_methods();
    else if (strcmp(table, "statuses") == 0)
        print_statuses();
    else if (strcmp(table, "limits") == 0)
        print_limits();
    else {
        (void)fputs("usage: tables methods|statuses|limits\n", stderr);
        return 2;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
