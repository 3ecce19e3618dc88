/*
 * tests/grpc/test_authorized_views.c - managing the authorized views of a real server; whose they
 * are.
 */
#define _GNU_SOURCE /* memmem */
#include "views.h"

#include <google/longrunning/operations.pb-c.h>

#include "base/banned.h"

Suite *suite_grpc_authorized_views(void);

/* --- managing ----------------------------------------------------------------------------------
 */

static Bta__AuthorizedView *get_view(const char *name, Bta__AuthorizedView__ResponseView wanted)
{
    Bta__GetAuthorizedViewRequest ask_get = BTA__GET_AUTHORIZED_VIEW_REQUEST__INIT;
    ask_get.name = text(name);
    ask_get.view = wanted;
    ck_assert_msg(ask(ADMIN "GetAuthorizedView", &ask_get.base) == GW_STATUS_OK, "%s",
                  call->message);
    return (Bta__AuthorizedView *)(void *)grpc_message_new(call, &bta__authorized_view__descriptor,
                                                           0);
}

static void expect_whole(const Bta__AuthorizedView *v)
{
    ck_assert_str_eq(v->name, view_name);
    ck_assert_uint_eq(strlen(v->etag), 16);
    ck_assert_int_eq(v->authorized_view_case, BTA__AUTHORIZED_VIEW__AUTHORIZED_VIEW_SUBSET_VIEW);
    ck_assert_uint_eq(v->subset_view->n_row_prefixes, 1);
    ck_assert_uint_eq(v->subset_view->n_family_subsets, 2);
    ck_assert_str_eq(v->subset_view->family_subsets[0]->key, "raw");
    ck_assert_str_eq(v->subset_view->family_subsets[1]->key, "stats");
    ck_assert_uint_eq(v->subset_view->family_subsets[1]->value->n_qualifiers, 1);
    ck_assert_uint_eq(v->subset_view->family_subsets[1]->value->n_qualifier_prefixes, 1);
}

/* The response of the operation that the last call answered with. */
static Bta__AuthorizedView *view_of_operation(char name[NAME])
{
    Lro__Operation *o =
        (Lro__Operation *)(void *)grpc_message_new(call, &lro__operation__descriptor, 0);
    ck_assert(o->done && o->result_case == LRO__OPERATION__RESULT_RESPONSE);
    ck_assert_str_eq(o->response->type_url,
                     "type.googleapis.com/google.bigtable.admin.v2.AuthorizedView");
    (void)snprintf(name, NAME, "%s", o->name);
    Bta__AuthorizedView *v =
        bta__authorized_view__unpack(NULL, o->response->value.len, o->response->value.data);
    ck_assert_ptr_nonnull(v);
    lro__operation__free_unpacked(o, NULL);
    return v;
}

static int get_operation(const char *name)
{
    Lro__GetOperationRequest ask_get = LRO__GET_OPERATION_REQUEST__INIT;
    ask_get.name = text(name);
    return ask("/google.longrunning.Operations/GetOperation", &ask_get.base);
}

START_TEST(a_view_is_made_by_an_operation_that_can_be_asked_for_again)
{
    char name[NAME], again[NAME];
    begin_with_view();
    Bta__AuthorizedView *v = view_of_operation(name);
    expect_whole(v);
    bta__authorized_view__free_unpacked(v, NULL);
    ck_assert_ptr_nonnull(strstr(name, "/operations/create-view:devices:v"));
    ck_assert_int_eq(get_operation(name), GW_STATUS_OK);
    v = view_of_operation(again);
    expect_whole(v);
    ck_assert_str_eq(name, again);
    bta__authorized_view__free_unpacked(v, NULL);
}
END_TEST

START_TEST(operations_of_views_that_are_not_there_are_not_found)
{
    static const char *const ids[] = {"create-view:devices:w", "create-view:devices",
                                      "create-view:devices:v:x", "create-view::v",
                                      "update-table:devices:v"};
    char name[NAME];
    begin_with_view();
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        (void)snprintf(name, sizeof name, "operations/projects/%s/instances/main/operations/%s",
                       w.tenant, ids[i]);
        ck_assert_msg(get_operation(name) == GW_STATUS_NOT_FOUND, "%s", ids[i]);
    }
}
END_TEST

START_TEST(a_view_says_as_much_of_itself_as_is_asked_for)
{
    begin_with_view();
    Bta__AuthorizedView *v =
        get_view(view_name, BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__RESPONSE_VIEW_UNSPECIFIED);
    expect_whole(v);
    bta__authorized_view__free_unpacked(v, NULL);
    v = get_view(view_name, BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__BASIC);
    ck_assert_uint_eq(strlen(v->etag), 16);
    ck_assert_int_eq(v->authorized_view_case, BTA__AUTHORIZED_VIEW__AUTHORIZED_VIEW__NOT_SET);
    bta__authorized_view__free_unpacked(v, NULL);
    v = get_view(view_name, BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__NAME_ONLY);
    ck_assert_str_eq(v->name, view_name);
    ck_assert_str_eq(v->etag, "");
    bta__authorized_view__free_unpacked(v, NULL);
    v = get_view(view_name, BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__FULL);
    expect_whole(v);
    bta__authorized_view__free_unpacked(v, NULL);
}
END_TEST

START_TEST(views_that_make_no_sense_are_refused)
{
    struct subset s;
    char wrong[] = "nosuch";
    ck_assert_int_eq(create_view("v/w", subset_of(&s, "u")), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(create_view("", subset_of(&s, "u")), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(create_view("v", NULL), GW_STATUS_INVALID_ARGUMENT);
    (void)subset_of(&s, "u");
    s.view.authorized_view_case = BTA__AUTHORIZED_VIEW__AUTHORIZED_VIEW__NOT_SET;
    ck_assert_int_eq(create_view("v", &s.view), GW_STATUS_INVALID_ARGUMENT);
    (void)subset_of(&s, "u");
    s.entries[0].key = wrong;
    ck_assert_int_eq(create_view("v", &s.view), GW_STATUS_NOT_FOUND);
    ck_assert_int_eq(create_view("v", subset_of(&s, "u")), GW_STATUS_OK);
    ck_assert_int_eq(create_view("v", subset_of(&s, "u")), GW_STATUS_ALREADY_EXISTS);
    *strrchr(table, 's') = 'x'; /* device + x */
    ck_assert_int_eq(create_view("v", subset_of(&s, "u")), GW_STATUS_NOT_FOUND);
}
END_TEST

static Bta__ListAuthorizedViewsResponse *list_views(int32_t page_size, const char *token)
{
    Bta__ListAuthorizedViewsRequest ask_list = BTA__LIST_AUTHORIZED_VIEWS_REQUEST__INIT;
    ask_list.parent = table;
    ask_list.page_size = page_size;
    ask_list.page_token = text(token);
    ck_assert_msg(ask(ADMIN "ListAuthorizedViews", &ask_list.base) == GW_STATUS_OK, "%s",
                  call->message);
    return (Bta__ListAuthorizedViewsResponse *)(void *)grpc_message_new(
        call, &bta__list_authorized_views_response__descriptor, 0);
}

START_TEST(views_are_listed_in_pages)
{
    static const char *const ids[] = {"c", "a", "b"};
    struct subset s;
    Bta__ListAuthorizedViewsResponse *page = list_views(0, "");
    ck_assert_uint_eq(page->n_authorized_views, 0);
    bta__list_authorized_views_response__free_unpacked(page, NULL);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(create_view(ids[i], subset_of(&s, "u")), GW_STATUS_OK);
    page = list_views(2, "");
    ck_assert_uint_eq(page->n_authorized_views, 2);
    ck_assert_str_eq(strrchr(page->authorized_views[0]->name, '/'), "/a");
    ck_assert_str_eq(page->authorized_views[0]->etag, "");
    ck_assert_str_ne(page->next_page_token, "");
    Bta__ListAuthorizedViewsResponse *rest = list_views(2, page->next_page_token);
    ck_assert_uint_eq(rest->n_authorized_views, 1);
    ck_assert_str_eq(strrchr(rest->authorized_views[0]->name, '/'), "/c");
    ck_assert_str_eq(rest->next_page_token, "");
    bta__list_authorized_views_response__free_unpacked(rest, NULL);
    bta__list_authorized_views_response__free_unpacked(page, NULL);
    Bta__ListAuthorizedViewsRequest bad = BTA__LIST_AUTHORIZED_VIEWS_REQUEST__INIT;
    bad.parent = table;
    bad.page_size = -1;
    ck_assert_int_eq(ask(ADMIN "ListAuthorizedViews", &bad.base), GW_STATUS_INVALID_ARGUMENT);
}
END_TEST

static Bta__ListAuthorizedViewsResponse *list_whole_views(const char *token)
{
    Bta__ListAuthorizedViewsRequest ask_list = BTA__LIST_AUTHORIZED_VIEWS_REQUEST__INIT;
    ask_list.parent = table;
    ask_list.view = BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__FULL;
    ask_list.page_token = text(token);
    ck_assert_msg(ask(ADMIN "ListAuthorizedViews", &ask_list.base) == GW_STATUS_OK, "%s",
                  call->message);
    return (Bta__ListAuthorizedViewsResponse *)(void *)grpc_message_new(
        call, &bta__list_authorized_views_response__descriptor, 0);
}

/* Twelve times 30,000 bytes are more than GW_LIST_PAGE_BYTES; nobody asked for a page's size. */
START_TEST(a_page_of_large_views_is_bounded_by_bytes)
{
    enum { VIEWS = 12, QUALIFIER = 15000, LISTED_MAX = 10 };
    static uint8_t bytes[2][QUALIFIER];
    ProtobufCBinaryData qualifiers[2];
    struct subset s;
    char id[8], token[512] = "";
    size_t seen = 0;
    for (size_t i = 0; i < 2; i++) {
        memset(bytes[i], (int)('a' + i), QUALIFIER);
        qualifiers[i] = (ProtobufCBinaryData){QUALIFIER, bytes[i]};
    }
    (void)subset_of(&s, "u");
    s.columns[0].qualifiers = qualifiers;
    s.columns[0].n_qualifiers = 2;
    for (size_t i = 0; i < VIEWS; i++) {
        (void)snprintf(id, sizeof id, "v%02zu", i);
        ck_assert_msg(create_view(id, &s.view) == GW_STATUS_OK, "%s", call->message);
    }
    do {
        Bta__ListAuthorizedViewsResponse *page = list_whole_views(token);
        ck_assert_uint_gt(page->n_authorized_views, 0);
        ck_assert_uint_le(page->n_authorized_views, LISTED_MAX);
        for (size_t i = 0; i < page->n_authorized_views; i++) {
            (void)snprintf(id, sizeof id, "/v%02zu", seen++);
            ck_assert_str_eq(strrchr(page->authorized_views[i]->name, '/'), id);
        }
        (void)snprintf(token, sizeof token, "%s", page->next_page_token);
        bta__list_authorized_views_response__free_unpacked(page, NULL);
    } while (token[0] != '\0');
    ck_assert_uint_eq(seen, VIEWS);
}
END_TEST

static int update_view(Bta__AuthorizedView *view, const char *path)
{
    Bta__UpdateAuthorizedViewRequest ask_update = BTA__UPDATE_AUTHORIZED_VIEW_REQUEST__INIT;
    Google__Protobuf__FieldMask mask = GOOGLE__PROTOBUF__FIELD_MASK__INIT;
    char *paths[] = {text(path)};
    view->name = view_name;
    ask_update.authorized_view = view;
    mask.n_paths = 1;
    mask.paths = paths;
    if (path != NULL)
        ask_update.update_mask = &mask;
    return ask(ADMIN "UpdateAuthorizedView", &ask_update.base);
}

static int delete_view(const char *name, const char *etag)
{
    Bta__DeleteAuthorizedViewRequest ask_delete = BTA__DELETE_AUTHORIZED_VIEW_REQUEST__INIT;
    ask_delete.name = text(name);
    ask_delete.etag = text(etag);
    return ask(ADMIN "DeleteAuthorizedView", &ask_delete.base);
}

static void expect_stored(const char *prefix, bool protected)
{
    Bta__AuthorizedView *v = get_view(view_name, BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__FULL);
    ck_assert(base_slice_is(
        base_slice(v->subset_view->row_prefixes[0].data, v->subset_view->row_prefixes[0].len),
        prefix));
    ck_assert_int_eq(v->deletion_protection, protected);
    bta__authorized_view__free_unpacked(v, NULL);
}

START_TEST(updates_change_what_their_mask_names)
{
    struct subset s;
    char name[NAME];
    begin_with_view();
    (void)subset_of(&s, "w");
    s.view.deletion_protection = true;
    ck_assert_int_eq(update_view(&s.view, "deletion_protection"), GW_STATUS_OK);
    bta__authorized_view__free_unpacked(view_of_operation(name), NULL);
    ck_assert_ptr_nonnull(strstr(name, "/operations/update-view:devices:v"));
    expect_stored("u", true);
    s.view.deletion_protection = false;
    ck_assert_int_eq(update_view(&s.view, "subset_view"), GW_STATUS_OK);
    expect_stored("w", true);
    s.rows[0] = data_of("x");
    ck_assert_int_eq(update_view(&s.view, NULL), GW_STATUS_OK); /* what is set: not a false */
    expect_stored("x", true);
    ck_assert_int_eq(update_view(&s.view, "*"), GW_STATUS_OK);
    expect_stored("x", false);
    ck_assert_int_eq(update_view(&s.view, "name"), GW_STATUS_INVALID_ARGUMENT);
    s.view.etag = text("0000000000000000");
    ck_assert_int_eq(update_view(&s.view, "*"), GW_STATUS_ABORTED);
    s.view.etag = text("");
    s.view.authorized_view_case = BTA__AUTHORIZED_VIEW__AUTHORIZED_VIEW__NOT_SET;
    ck_assert_int_eq(update_view(&s.view, "subset_view"), GW_STATUS_INVALID_ARGUMENT);
    *strrchr(view_name, 'v') = 'x';
    ck_assert_int_eq(update_view(&s.view, "deletion_protection"), GW_STATUS_NOT_FOUND);
}
END_TEST

START_TEST(a_view_is_deleted_unless_it_is_protected_or_another)
{
    struct subset s;
    Bta__DeleteTableRequest of_table = BTA__DELETE_TABLE_REQUEST__INIT;
    begin_with_view();
    (void)subset_of(&s, "u");
    s.view.deletion_protection = true;
    of_table.name = table;
    ck_assert_int_eq(update_view(&s.view, "deletion_protection"), GW_STATUS_OK);
    ck_assert_int_eq(delete_view(view_name, ""), GW_STATUS_FAILED_PRECONDITION);
    ck_assert_int_eq(ask(ADMIN "DeleteTable", &of_table.base), GW_STATUS_FAILED_PRECONDITION);
    s.view.deletion_protection = false;
    ck_assert_int_eq(update_view(&s.view, "deletion_protection"), GW_STATUS_OK);
    ck_assert_int_eq(delete_view(view_name, "0000000000000000"), GW_STATUS_ABORTED);
    Bta__AuthorizedView *v = get_view(view_name, BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__BASIC);
    ck_assert_int_eq(delete_view(view_name, v->etag), GW_STATUS_OK);
    bta__authorized_view__free_unpacked(v, NULL);
    ck_assert_int_eq(delete_view(view_name, ""), GW_STATUS_NOT_FOUND);
    begin_with_view();
    ck_assert_int_eq(ask(ADMIN "DeleteTable", &of_table.base), GW_STATUS_OK);
    ck_assert_int_eq(delete_view(view_name, ""), GW_STATUS_NOT_FOUND);
}
END_TEST

/* --- whose views -------------------------------------------------------------------------------
 */

static struct server own;

static int read_through(const char *tenant, const char *view)
{
    char name[NAME];
    (void)snprintf(name, sizeof name, "projects/%s/instances/main/tables/devices/%s/%s", tenant,
                   "authorizedViews", view);
    request.table_name = text("");
    request.authorized_view_name = name;
    return ask(READ_ROWS, &request.base);
}

static void use(const struct world *as)
{
    grpc_close(&client);
    grpc_open(&client, &own, as->key, 0);
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/devices", as->tenant);
}

START_TEST(views_are_their_tenants_and_survive_a_restart)
{
    struct world acme, acme_eu;
    struct subset s;
    bt__read_rows_request__init(&request);
    server_create(&own);
    server_start(&own, NULL);
    world_init_on(&acme, &own, HTTP_2, "acme");
    world_init_on(&acme_eu, &own, HTTP_2, "acme-eu");
    tenant_put(acme.http, "devices", "u1", "stats", "q", "of acme");
    tenant_put(acme.http, "devices", "u1", "stats", "x", "outside");
    tenant_put(acme_eu.http, "devices", "u1", "stats", "q", "of acme-eu");
    grpc_open(&client, &own, acme.key, 0);
    (void)snprintf(table, sizeof table, "projects/acme/instances/main/tables/devices");
    ck_assert_int_eq(create_view("v", subset_of(&s, "u")), GW_STATUS_OK);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(read_through("acme", "v"), GW_STATUS_OK);
        ck_assert_ptr_nonnull(memmem(call->body.ptr, call->body.len, "of acme", 7));
        ck_assert_ptr_null(memmem(call->body.ptr, call->body.len, "of acme-eu", 10));
        ck_assert_ptr_null(memmem(call->body.ptr, call->body.len, "outside", 7));
        use(&acme_eu);
        ck_assert_int_eq(read_through("acme-eu", "v"), GW_STATUS_NOT_FOUND);
        int there = read_through("acme", "v");
        int nowhere = read_through("acme", "nosuch");
        ck_assert_int_eq(there, nowhere);
        ck_assert(there == GW_STATUS_PERMISSION_DENIED || there == GW_STATUS_NOT_FOUND);
        ck_assert_int_eq(delete_view("projects/acme/instances/main/tables/devices/"
                                     "authorizedViews/v",
                                     ""),
                         there);
        server_stop(&own);
        server_start(&own, NULL);
        use(&acme);
    }
    grpc_close(&client);
    world_fini(&acme);
    world_fini(&acme_eu);
    server_stop(&own);
    server_remove(&own);
}
END_TEST

Suite *suite_grpc_authorized_views(void)
{
    Suite *s = suite_create("grpc_authorized_views");
    TCase *tc = add_case(s, "managing");
    tcase_add_test(tc, a_view_is_made_by_an_operation_that_can_be_asked_for_again);
    tcase_add_test(tc, operations_of_views_that_are_not_there_are_not_found);
    tcase_add_test(tc, a_view_says_as_much_of_itself_as_is_asked_for);
    tcase_add_test(tc, views_that_make_no_sense_are_refused);
    tcase_add_test(tc, views_are_listed_in_pages);
    tcase_add_test(tc, a_page_of_large_views_is_bounded_by_bytes);
    tcase_add_test(tc, updates_change_what_their_mask_names);
    tcase_add_test(tc, a_view_is_deleted_unless_it_is_protected_or_another);
    world_end(tc);
    tc = tcase_create("tenants");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, views_are_their_tenants_and_survive_a_restart);
    suite_add_tcase(s, tc);
    return s;
}
