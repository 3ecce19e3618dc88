/*
 * tests/isolation/rpc_walk.c - all methods, asked by one caller, over TLS or in plaintext.
 */
#include "tests/isolation/rpc_walk.h"

#include <check.h>
#include <string.h>

#include "gateway/grpc/status.h"
#include "tests/isolation/answers.h"
#include "tests/isolation/neighbours_make.h"

#include "base/banned.h"

#define PATIENCE_MS (10000 * process_patience())

/* --- the connection ----------------------------------------------------------------------------
 */

static void open_client(struct rpc_walk *w)
{
    if (w->is_plain)
        grpc_open_plain(&w->client, &w->n->server);
    else
        grpc_open(&w->client, &w->n->server, w->key, 0);
    grpc_hurry(&w->client);
}

static void set_metadata(struct rpc_walk *w, const struct rpc *r, const struct names *foreign)
{
    static char params[2 * NAME_BYTES];
    const char *tenant = foreign->text[NAME_TENANT];
    w->client.more_count = 0;
    if ((r->ways & RPC_ODD) == 0)
        return;
    (void)snprintf(params, sizeof params, "table_name=projects%%2F%s%%2Finstances%%2Fmain", tenant);
    grpc_add_header(&w->client, "bigtent-tenant", tenant);
    grpc_add_header(&w->client, "x-goog-request-params", params);
    grpc_add_header(&w->client, "x-goog-user-project", tenant);
    grpc_add_header(&w->client, "x-forwarded-host", tenant);
    grpc_add_header(&w->client, "bigtent-priority", "high");
}

static const struct grpc_call *converse(struct rpc_walk *w, const struct rpc *r,
                                        const struct names *foreign, struct buf *out)
{
    struct arena arena;
    base_arena_init(&arena, MIB);
    if (w->client.count == GRPC_CALLS)
        grpc_forget(&w->client);
    set_metadata(w, r, foreign);
    const struct grpc_call *call =
        grpc_start(&w->client, rpc_path(r), rpc_message(r, &w->own, foreign, &arena), NULL);
    if (r->watches && grpc_run_until(&w->client, call, 1, PATIENCE_MS))
        grpc_cancel(&w->client, call);
    ck_assert_msg(grpc_run(&w->client, PATIENCE_MS), "%s does not end", rpc_name(r));
    base_buf_truncate(out, 0);
    answer_of_grpc(call, r->moves, out);
    const char *found = neighbours_secret(w->n, base_buf_slice(out));
    if (found == NULL)
        found = neighbours_secret(w->n, base_buf_slice(&call->body));
    ck_assert_msg(found == NULL, "DATA: %s: %s sees %s", rpc_name(r), w->what, found);
    base_arena_fini(&arena);
    return call;
}

/* Where the walk goes. */
static bool is_served(const struct rpc_walk *w, const struct gw_method *method)
{
    return method->request != NULL || (w->is_plain && method->plain_request != NULL);
}

static void expect_wall(const struct rpc_walk *w, const struct rpc *r, const struct grpc_call *call)
{
    if (!is_served(w, r->method) || r->method->access == GW_ACCESS_NONE)
        return;
    if (!w->is_known)
        ck_assert_msg(call->status == GW_STATUS_UNAUTHENTICATED, "%s: %s: status %d", rpc_name(r),
                      w->what, call->status);
    else if (w->may_none)
        ck_assert_msg(call->status == GW_STATUS_PERMISSION_DENIED, "%s: %s: status %d", rpc_name(r),
                      w->what, call->status);
    else if ((r->ways & RPC_PROJECT) != 0)
        ck_assert_msg(call->status == GW_STATUS_PERMISSION_DENIED ||
                          call->status == GW_STATUS_UNIMPLEMENTED ||
                          (w->has_left && call->status == GW_STATUS_NOT_FOUND),
                      "%s: %s: status %d: %s", rpc_name(r), w->what, call->status, call->message);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* --- instances at the emulator's listener ------------------------------------------------------
 */

#define INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
#define PROJECT   "projects/{tenant}"
#define MADE      PROJECT "/instances/made"

/* What is there again after a success. */
static const struct {
    const char *action;
    const char *method;
    const char *form;
} UNDO[] = {
    {"instance.create", INSTANCES "DeleteInstance", "name=" PROJECT "/instances/fresh"},
    {"instance.delete", INSTANCES "CreateInstance",
     "parent=" PROJECT ";instance_id=spare;clusters.key=main;clusters.value="},
    {"cluster.create", INSTANCES "DeleteCluster", "name=" MADE "/clusters/fresh"},
    {"cluster.delete", INSTANCES "CreateCluster", "parent=" MADE ";cluster_id=spare"},
    {"profile.create", INSTANCES "DeleteAppProfile", "name=" MADE "/appProfiles/fresh"},
    {"profile.delete", INSTANCES "CreateAppProfile",
     "parent=" MADE ";app_profile_id=spare;app_profile.multi_cluster_routing_use_any="},
};
#define UNDO_COUNT (sizeof UNDO / sizeof UNDO[0])

static void change_own(struct rpc_walk *w, const char *method, const char *form)
{
    const struct rpc r = {.method = gw_method_find(base_slice_text(method)), .form = form};
    struct arena arena;
    base_arena_init(&arena, MIB);
    if (w->client.count == GRPC_CALLS)
        grpc_forget(&w->client);
    w->client.more_count = 0;
    const struct grpc_call *call =
        grpc_ask(&w->client, method, rpc_message(&r, &w->own, &w->own, &arena));
    ck_assert_msg(call->status == GW_STATUS_OK, "%s: %s: %s", method, form, call->message);
    base_arena_fini(&arena);
}

static void undo(struct rpc_walk *w, const char *action)
{
    for (size_t i = 0; i < UNDO_COUNT; i++)
        if (strcmp(UNDO[i].action, action) == 0)
            change_own(w, UNDO[i].method, UNDO[i].form);
}

void rpc_walk_make_instances(struct rpc_walk *w)
{
    open_client(w);
    change_own(w, INSTANCES "CreateInstance",
               "parent=" PROJECT ";instance_id=made;clusters.key=main;clusters.value=");
    change_own(w, INSTANCES "CreateInstance",
               "parent=" PROJECT ";instance_id=fresh;clusters.key=main;clusters.value=");
    undo(w, "instance.create"); /* its tenant stays: later none is made */
    undo(w, "instance.delete");
    undo(w, "cluster.delete");
    undo(w, "profile.delete");
    grpc_close(&w->client);
}

/* What the same request must find the second time. */
static void renew(struct rpc_walk *w, const struct rpc *r, const struct grpc_call *call)
{
    enum gw_access access = r->method->access;
    bool changes = access != GW_ACCESS_NONE && access != GW_ACCESS_READ;
    if (!changes || call->status != GW_STATUS_OK)
        return;
    if (r->method->audit == NULL) {
        neighbours_renew_rows(w->n, w->renew);
        return;
    }
    const char *action = r->method->audit;
    if (r->method->request == NULL) {
        undo(w, action);
        return;
    }
    bool is_about_backups = begins(action, "backup.") || begins(action, "operation.");
    if (is_about_backups)
        neighbours_renew_backups(w->n, w->renew_key, &w->own);
    if (is_about_backups && strcmp(action, "backup.restore") != 0)
        return; /* no table is another */
    neighbours_renew(w->n, w->renew, r->ways != 0);
    neighbours_make_views(w->n, w->renew_key, &w->own);
}

/* --- walks -------------------------------------------------------------------------------------
 */

static bool try_own(struct rpc_walk *w, const struct rpc *r, struct buf out[3])
{
    const struct grpc_call *call = converse(w, r, &w->own, &out[0]);
    expect_wall(w, r, call);
    const char *found = neighbours_name(w->n, base_buf_slice(&out[0]));
    ck_assert_msg(found == NULL, "DATA: %s: %s is told of %s", rpc_name(r), w->what, found);
    bool is_good = call->status == GW_STATUS_OK || (r->watches && call->body.len > 0);
    renew(w, r, call);
    return is_good;
}

static bool try_others(struct rpc_walk *w, const struct rpc *r, struct buf out[3])
{
    const struct grpc_call *call = converse(w, r, &w->n->theirs, &out[0]);
    expect_wall(w, r, call);
    neighbours_look(w->n, &out[2]);
    neighbours_same(&w->before, &out[2], rpc_name(r));
    renew(w, r, call);
    call = converse(w, r, &w->nobodys, &out[1]);
    renew(w, r, call);
    names_exchange(&out[0], &w->n->theirs, &w->nobodys);
    names_exchange(&out[1], &w->n->theirs, &w->nobodys);
    const char *difference = answer_difference(&out[0], &out[1]);
    ck_assert_msg(difference == NULL, "DATA: %s: %s can tell theirs from nobody's: %s", rpc_name(r),
                  w->what, difference);
    return true;
}

typedef bool try_request(struct rpc_walk *w, const struct rpc *r, struct buf out[3]);

static void walk(struct rpc_walk *w, try_request *try, bool names_others)
{
    static struct rpc rpcs[RPCS_MAX];
    struct buf out[3];
    base_buf_init(&w->before, ANSWER_MAX);
    base_buf_init(&w->trails_before, ANSWER_MAX);
    for (size_t i = 0; i < 3; i++)
        base_buf_init(&out[i], ANSWER_MAX);
    open_client(w);
    neighbours_look_first(w->n, &w->before, &w->trails_before);
    for (size_t i = 0; i < gw_method_count; i++) {
        if (w->takes != NULL && !w->takes(&gw_methods[i]))
            continue;
        size_t count = rpcs_of(&gw_methods[i], rpcs);
        bool is_good = false;
        for (size_t k = 0; k < count; k++)
            if ((rpcs[k].ways != 0) == names_others)
                is_good |= try(w, &rpcs[k], out);
        neighbours_look_at_trails(w->n, &out[2]);
        neighbours_same(&w->trails_before, &out[2], rpc_path(&rpcs[0]));
        ck_assert_msg(is_good || !w->may_all || !is_served(w, &gw_methods[i]),
                      "%s was never answered with success: its request in tests/isolation/rpcs.c "
                      "tests nothing",
                      rpc_path(&rpcs[0]));
    }
    grpc_close(&w->client);
    for (size_t i = 0; i < 3; i++)
        base_buf_fini(&out[i]);
    base_buf_fini(&w->before);
    base_buf_fini(&w->trails_before);
}

void rpc_walk_own(struct rpc_walk *w)
{
    walk(w, try_own, false);
}

void rpc_walk_others(struct rpc_walk *w)
{
    walk(w, try_others, true);
}
