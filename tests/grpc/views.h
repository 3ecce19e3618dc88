/*
 * tests/grpc/views.h - a view of a world's table, and calls that manage it.
 *
 * Does:     build the view's message and create the view.
 * Owns:     nothing beyond tests/grpc/reads.h.
 * May use:  tests/, libcheck.
 * Knows no: the tests.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. A message built in a structure points into it: the structure must not move.
 */
#ifndef TESTS_GRPC_VIEWS_H
#define TESTS_GRPC_VIEWS_H

#include "reads.h"

#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "tests/grpc/writes.h"

#include "base/banned.h"

#define ADMIN "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define NAME  (WORLD_ID + 128)

static char view_name[NAME];
static struct grpc_call *call;

/* The requested subset: rows of "u", stats:q and stats:p..., all of raw. */
struct subset {
    Bta__AuthorizedView view;
    Bta__AuthorizedView__SubsetView subset;
    Bta__AuthorizedView__SubsetView__FamilySubsetsEntry entries[2];
    Bta__AuthorizedView__SubsetView__FamilySubsetsEntry *entry_list[2];
    Bta__AuthorizedView__FamilySubsets columns[2];
    ProtobufCBinaryData rows[1];
    ProtobufCBinaryData qualifiers[1];
    ProtobufCBinaryData prefixes[2][1];
};

UNUSED_FN static Bta__AuthorizedView *subset_of(struct subset *s, const char *row_prefix)
{
    static char stats[] = "stats";
    static char raw[] = "raw";
    static const char *const prefixes[] = {"p", ""};
    bta__authorized_view__init(&s->view);
    bta__authorized_view__subset_view__init(&s->subset);
    s->view.authorized_view_case = BTA__AUTHORIZED_VIEW__AUTHORIZED_VIEW_SUBSET_VIEW;
    s->view.subset_view = &s->subset;
    s->rows[0] = data_of(row_prefix);
    s->subset.row_prefixes = s->rows;
    s->subset.n_row_prefixes = 1;
    for (size_t i = 0; i < 2; i++) {
        bta__authorized_view__subset_view__family_subsets_entry__init(&s->entries[i]);
        bta__authorized_view__family_subsets__init(&s->columns[i]);
        s->entries[i].key = i == 0 ? stats : raw;
        s->entries[i].value = &s->columns[i];
        s->entry_list[i] = &s->entries[i];
        s->prefixes[i][0] = data_of(prefixes[i]);
        s->columns[i].qualifier_prefixes = s->prefixes[i];
        s->columns[i].n_qualifier_prefixes = 1;
    }
    s->qualifiers[0] = data_of("q");
    s->columns[0].qualifiers = s->qualifiers;
    s->columns[0].n_qualifiers = 1;
    s->subset.family_subsets = s->entry_list;
    s->subset.n_family_subsets = 2;
    return &s->view;
}

/* Calls a method and returns its grpc-status; `call` becomes this call. */
UNUSED_FN static int ask(const char *method, const ProtobufCMessage *message)
{
    call = grpc_ask(&client, method, message);
    return call->status;
}

static char *text(const char *s)
{
    return (char *)(uintptr_t)s;
}

UNUSED_FN static int create_view(const char *id, Bta__AuthorizedView *view)
{
    Bta__CreateAuthorizedViewRequest ask_create = BTA__CREATE_AUTHORIZED_VIEW_REQUEST__INIT;
    ask_create.parent = table;
    ask_create.authorized_view_id = text(id);
    ask_create.authorized_view = view;
    (void)snprintf(view_name, sizeof view_name, "%s/authorizedViews/%s", table, id);
    return ask(ADMIN "CreateAuthorizedView", &ask_create.base);
}

UNUSED_FN static void begin_with_view(void)
{
    struct subset s;
    ck_assert_int_eq(create_view("v", subset_of(&s, "u")), GW_STATUS_OK);
}

#endif
