/*
 * tests/isolation/neighbours_backups.c - backups of a tenant's table, as they are at the beginning.
 */
#include <check.h>
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/longrunning/operations.pb-c.h>
#include <stdio.h>
#include <string.h>

#include "gateway/grpc/status.h"
#include "tests/isolation/neighbours_make.h"

#include "base/banned.h"

#define TABLES     "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define OPERATIONS "/google.longrunning.Operations/"
#define INSTANCE   "projects/{tenant}/instances/main"
#define CLUSTER    INSTANCE "/clusters/main"
#define SECOND     "-2" /* of the two */

struct operations {
    struct grpc_client *client;
    const struct names *names;
    bool is_kept; /* the one in names, still */
};

/* Nothing waits or is under way. */
static bool have_ended(void *arg)
{
    struct operations *o = arg;
    const struct grpc_call *call =
        neighbours_ask(o->client, o->names, OPERATIONS "ListOperations",
                       &lro__list_operations_request__descriptor, "name=" INSTANCE);
    Lro__ListOperationsResponse *list = (Lro__ListOperationsResponse *)(void *)grpc_message_new(
        call, &lro__list_operations_response__descriptor, 0);
    bool all = true;
    o->is_kept = false;
    for (size_t i = 0; i < list->n_operations; i++) {
        const char *id = strrchr(list->operations[i]->name, '/') + 1;
        all = all && list->operations[i]->done;
        o->is_kept |= strcmp(id, o->names->text[NAME_OPERATION]) == 0;
    }
    lro__list_operations_response__free_unpacked(list, NULL);
    grpc_forget(o->client);
    return all;
}

/* Returns whether the operation in names is kept. */
static bool await_all(struct grpc_client *c, const struct names *names)
{
    struct operations o = {.client = c, .names = names};
    process_await(have_ended, &o, "the end of all operations");
    return o.is_kept;
}

static void delete_backup(struct grpc_client *c, const struct names *names, const char *id)
{
    char form[256];
    (void)snprintf(form, sizeof form, "name=" CLUSTER "/backups/%s", id);
    (void)neighbours_ask(c, names, TABLES "DeleteBackup", &bta__delete_backup_request__descriptor,
                         form);
}

/* Which of the two are there. others: what is to be done with others; NULL: nothing. */
static void look_for(struct grpc_client *c, const struct names *names, bool out[2],
                     void (*others)(struct grpc_client *c, const struct names *names,
                                    const char *id))
{
    char second[NAME_BYTES + sizeof SECOND];
    const struct grpc_call *call = neighbours_ask(
        c, names, TABLES "ListBackups", &bta__list_backups_request__descriptor, "parent=" CLUSTER);
    Bta__ListBackupsResponse *list = (Bta__ListBackupsResponse *)(void *)grpc_message_new(
        call, &bta__list_backups_response__descriptor, 0);
    (void)snprintf(second, sizeof second, "%s" SECOND, names->text[NAME_SAVED]);
    out[0] = out[1] = false;
    for (size_t i = 0; i < list->n_backups; i++) {
        const char *id = strrchr(list->backups[i]->name, '/') + 1;
        if (strcmp(id, names->text[NAME_SAVED]) == 0)
            out[0] = true;
        else if (strcmp(id, second) == 0)
            out[1] = true;
        else if (others != NULL)
            others(c, names, id);
        grpc_forget(c);
    }
    bta__list_backups_response__free_unpacked(list, NULL);
}

static void put_one(struct grpc_client *c, struct names *names, bool is_second)
{
    const struct grpc_call *call = neighbours_ask(
        c, names, TABLES "CreateBackup", &bta__create_backup_request__descriptor,
        is_second ? "parent=" CLUSTER ";backup_id={saved}" SECOND ";backup.source_table=" INSTANCE
                    "/tables/{table};backup.expire_time.seconds={next_week}"
                  : "parent=" CLUSTER ";backup_id={saved};backup.source_table=" INSTANCE
                    "/tables/{table};backup.expire_time.seconds={next_week}");
    Lro__Operation *o =
        (Lro__Operation *)(void *)grpc_message_new(call, &lro__operation__descriptor, 0);
    if (!is_second)
        name_set(names, NAME_OPERATION, strrchr(o->name, '/') + 1);
    lro__operation__free_unpacked(o, NULL);
    (void)await_all(c, names);
}

static void put_missing(struct grpc_client *c, struct names *names,
                        void (*others)(struct grpc_client *c, const struct names *names,
                                       const char *id))
{
    bool is_there[2];
    bool is_kept = await_all(c, names);
    look_for(c, names, is_there, others);
    if (is_there[0] && !is_kept)
        delete_backup(c, names, names->text[NAME_SAVED]);
    if (!is_there[0] || !is_kept)
        put_one(c, names, false);
    if (!is_there[1])
        put_one(c, names, true);
}

void neighbours_put_backups(struct grpc_client *c, struct names *names)
{
    put_missing(c, names, NULL);
}

void neighbours_renew_backups(struct neighbours *n, const char *key, struct names *names)
{
    static struct grpc_client c;
    grpc_open(&c, &n->server, key, 0);
    grpc_hurry(&c);
    put_missing(&c, names, delete_backup);
    grpc_close(&c);
}
