/*
 * tests/grpc/test_reflection.c - reflection of a real server, and the index behind it.
 */
#include <check.h>
#include <grpc/reflection/v1/reflection.pb-c.h>
#include <stdio.h>

#include "gateway/grpc/descriptor_set.h"
#include "gateway/grpc/descriptors.h"
#include "gateway/grpc/status.h"
#include "tests/support/grpc_client.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define QUESTION(name) REFL__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##name
#define FILE_BY_NAME   QUESTION(FILE_BY_FILENAME)
#define FILE_BY_SYMBOL QUESTION(FILE_CONTAINING_SYMBOL)
#define SERVICES       QUESTION(LIST_SERVICES)
#define NUMBERS        QUESTION(ALL_EXTENSION_NUMBERS_OF_TYPE)

static const char *const PATHS[] = {
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};

static struct grpc_client client;
static struct grpc_call *call;
static size_t answers;

static void set_up(void)
{
    grpc_open(&client, world_server(), NULL, 0);
    answers = 0;
}

static void tear_down(void)
{
    grpc_close(&client);
}

static void begin(int version)
{
    call = grpc_begin(&client, PATHS[version], NULL);
}

/* text: of any of the questions, which are all texts. */
static void put(Refl__ServerReflectionRequest__MessageRequestCase what, const char *text)
{
    Refl__ServerReflectionRequest request = REFL__SERVER_REFLECTION_REQUEST__INIT;
    request.host = (char *)(uintptr_t) "here";
    request.message_request_case = what;
    request.file_by_filename = (char *)(uintptr_t)text;
    grpc_put(&client, call, &request.base);
}

static Refl__ServerReflectionResponse *answer_new(void)
{
    while (grpc_message_count(call) <= answers) {
        size_t before = call->body.len;
        grpc_await_bytes(&client, call, before + 1);
    }
    Refl__ServerReflectionResponse *answer =
        (Refl__ServerReflectionResponse *)(void *)grpc_message_new(
            call, &refl__server_reflection_response__descriptor, answers++);
    ck_assert_str_eq(answer->valid_host, "here");
    ck_assert_ptr_nonnull(answer->original_request);
    ck_assert_str_eq(answer->original_request->host, "here");
    return answer;
}

static void answer_free(Refl__ServerReflectionResponse *answer)
{
    refl__server_reflection_response__free_unpacked(answer, NULL);
}

static void finish(void)
{
    grpc_finish(&client, call);
    grpc_await(&client);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    ck_assert_uint_eq(grpc_message_count(call), answers);
}

static void expect_error(enum gw_status_code code)
{
    Refl__ServerReflectionResponse *answer = answer_new();
    ck_assert_int_eq((int)answer->message_response_case,
                     REFL__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE);
    ck_assert_int_eq(answer->error_response->error_code, (int)code);
    ck_assert_str_ne(answer->error_response->error_message, "");
    answer_free(answer);
}

/* The name of a serialized FileDescriptorProto is its first field. */
static struct slice name_of(ProtobufCBinaryData file)
{
    ck_assert_uint_ge(file.len, 2);
    ck_assert_uint_eq(file.data[0], 0x0a);
    ck_assert_uint_lt(file.data[1], 0x80);
    return base_slice(file.data + 2, file.data[1]);
}

/* The last of the files is the one that was asked for. */
static void expect_file(const char *name, size_t count_min, size_t count_max)
{
    Refl__ServerReflectionResponse *answer = answer_new();
    ck_assert_int_eq((int)answer->message_response_case,
                     REFL__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE);
    const Refl__FileDescriptorResponse *list = answer->file_descriptor_response;
    ck_assert_uint_ge(list->n_file_descriptor_proto, count_min);
    ck_assert_uint_le(list->n_file_descriptor_proto, count_max);
    ProtobufCBinaryData last = list->file_descriptor_proto[list->n_file_descriptor_proto - 1];
    ck_assert_msg(base_slice_is(name_of(last), name), "%.*s", SLICE_ARGS(name_of(last)));
    answer_free(answer);
}

/* --- a stream ----------------------------------------------------------------------------------
 */

START_TEST(services_are_those_of_the_server)
{
    static const char *const wanted[] = {"google.bigtable.v2.Bigtable",
                                         "google.bigtable.admin.v2.BigtableTableAdmin",
                                         "google.bigtable.admin.v2.BigtableInstanceAdmin",
                                         "google.longrunning.Operations",
                                         "grpc.health.v1.Health",
                                         "grpc.reflection.v1.ServerReflection",
                                         "grpc.reflection.v1alpha.ServerReflection"};
    begin(_i);
    put(SERVICES, "");
    Refl__ServerReflectionResponse *answer = answer_new();
    ck_assert_int_eq((int)answer->message_response_case,
                     REFL__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE);
    const Refl__ListServiceResponse *list = answer->list_services_response;
    ck_assert_uint_eq(list->n_service, sizeof wanted / sizeof wanted[0]);
    for (size_t i = 0; i < list->n_service; i++)
        ck_assert_str_eq(list->service[i]->name, wanted[i]);
    answer_free(answer);
    finish();
}
END_TEST

START_TEST(files_are_found_by_name_and_come_with_imports_once)
{
    begin(_i);
    put(FILE_BY_NAME, "google/bigtable/v2/bigtable.proto");
    expect_file("google/bigtable/v2/bigtable.proto", 5, 20);
    put(FILE_BY_NAME, "google/bigtable/v2/bigtable.proto");
    expect_file("google/bigtable/v2/bigtable.proto", 1, 1);
    put(FILE_BY_NAME, "google/bigtable/v2/data.proto");
    expect_file("google/bigtable/v2/data.proto", 1, 1);
    finish();
}
END_TEST

START_TEST(symbols_are_found_at_every_depth)
{
    static const char *const symbols[][2] = {
        {"google.bigtable.v2.Bigtable", "google/bigtable/v2/bigtable.proto"},
        {"google.bigtable.v2.Bigtable.ReadRows", "google/bigtable/v2/bigtable.proto"},
        {"google.bigtable.v2.ReadRowsResponse.CellChunk", "google/bigtable/v2/bigtable.proto"},
        {"google.bigtable.v2.RowFilter.Chain", "google/bigtable/v2/data.proto"},
        {"google.bigtable.v2.ReadRowsRequest.RequestStatsView",
         "google/bigtable/v2/bigtable.proto"},
        {"grpc.health.v1.HealthCheckResponse.ServingStatus", "grpc/health/v1/health.proto"},
        {"google.protobuf.Any", "google/protobuf/any.proto"}};
    begin(0);
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        put(FILE_BY_SYMBOL, symbols[i][0]);
        expect_file(symbols[i][1], 1, 20);
    }
    finish();
}
END_TEST

START_TEST(what_is_not_there_is_an_answer_and_the_stream_goes_on)
{
    begin(_i);
    put(FILE_BY_NAME, "google/bigtable/v2/nothing.proto");
    expect_error(GW_STATUS_NOT_FOUND);
    put(FILE_BY_SYMBOL, "google.bigtable.v2.Bigtable.ReadRow");
    expect_error(GW_STATUS_NOT_FOUND);
    put(FILE_BY_SYMBOL, "google.bigtable.v2");
    expect_error(GW_STATUS_NOT_FOUND);
    put(FILE_BY_SYMBOL, "");
    expect_error(GW_STATUS_NOT_FOUND);
    put(NUMBERS, "google.bigtable.v2.RowFilter");
    expect_error(GW_STATUS_UNIMPLEMENTED);
    put(REFL__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST__NOT_SET, "");
    expect_error(GW_STATUS_INVALID_ARGUMENT);
    put(FILE_BY_NAME, "grpc/health/v1/health.proto");
    expect_file("grpc/health/v1/health.proto", 1, 20);
    finish();
}
END_TEST

START_TEST(a_stream_without_a_message_ends_well)
{
    begin(0);
    finish();
}
END_TEST

START_TEST(a_stream_that_ends_within_a_message_is_refused)
{
    begin(0);
    grpc_put_bytes(&client, call, base_slice("\0\0\0\0\5abc", 8));
    grpc_finish(&client, call);
    grpc_await(&client);
    ck_assert_int_eq(call->status, GW_STATUS_INVALID_ARGUMENT);
}
END_TEST

/* Answers are a thousand times as long as questions: they must not pile up. */
START_TEST(questions_wait_until_answers_are_read)
{
    static struct grpc_client slow;
    size_t count = 3000;
    grpc_open(&slow, world_server(), NULL, 65535);
    call = grpc_begin(&slow, PATHS[0], NULL);
    Refl__ServerReflectionRequest request = REFL__SERVER_REFLECTION_REQUEST__INIT;
    request.message_request_case = FILE_BY_NAME;
    request.file_by_filename = (char *)(uintptr_t) "google/bigtable/v2/data.proto";
    uint64_t before = server_rss_kib(world_server());
    for (size_t i = 0; i < count; i++)
        grpc_put(&slow, call, &request.base);
    grpc_finish(&slow, call);
    raw_await_unread(&slow.tls, 32 * KIB);
    process_sleep_ms(300); /* answers must not pile up */
    int64_t grown = (int64_t)(server_rss_kib(world_server()) - before);
    ck_assert_msg(process_sanitized() || grown < 6 * 1024, "%lld KiB of answers wait",
                  (long long)grown);
    grpc_hurry(&slow);
    grpc_await(&slow);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    ck_assert_uint_eq(grpc_message_count(call), count);
    ck_assert_uint_gt(call->body.len, 10 * MIB);
    grpc_close(&slow);
}
END_TEST

START_TEST(questions_are_short)
{
    static char name[17 * KIB];
    memset(name, 'x', sizeof name - 1);
    begin(0);
    put(FILE_BY_NAME, name);
    grpc_await(&client);
    ck_assert_int_eq(call->status, GW_STATUS_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(call->message, "16384"));
}
END_TEST

/* --- the index ---------------------------------------------------------------------------------
 */

START_TEST(imports_stand_before_their_files_and_are_complete)
{
    struct gw_descriptors *d;
    struct errbuf eb = {{0}};
    ck_assert_int_eq(
        gw_descriptors_new(base_slice(gw_descriptor_set, gw_descriptor_set_bytes), &d, &eb),
        ERR_OK);
    const struct gw_descriptor_file *file =
        gw_descriptors_by_name(d, SLICE_LIT("google/bigtable/v2/bigtable.proto"));
    const struct gw_descriptor_file *any =
        gw_descriptors_by_name(d, SLICE_LIT("google/protobuf/duration.proto"));
    size_t file_at = GW_DESCRIPTOR_FILES;
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(any);
    for (size_t i = 0; i < gw_descriptors_count(d); i++) {
        if (gw_descriptors_file(d, i) == file)
            file_at = i;
        if (gw_descriptors_file(d, i) == any) /* imported by request_stats.proto */
            ck_assert_uint_ne(file->needs & UINT64_C(1) << i, 0);
    }
    ck_assert_uint_lt(file_at, gw_descriptors_count(d));
    ck_assert_uint_eq(file->needs >> file_at, 1);
    gw_descriptors_free(d);
}
END_TEST

START_TEST(damaged_sets_are_refused_or_read_wherever_they_are_cut)
{
    struct slice set = base_slice(gw_descriptor_set, gw_descriptor_set_bytes);
    size_t refused = 0, cuts = 0;
    for (size_t len = 0; len < set.len; len += 97, cuts++) {
        struct gw_descriptors *d = NULL;
        struct errbuf eb = {{0}};
        enum err e = gw_descriptors_new(base_slice(set.ptr, len), &d, &eb);
        ck_assert(e == ERR_OK || e == ERR_CORRUPT);
        refused += e == ERR_CORRUPT;
        gw_descriptors_free(d);
    }
    ck_assert_uint_gt(refused, cuts - GW_DESCRIPTOR_FILES);
}
END_TEST

Suite *suite_grpc_reflection(void);
Suite *suite_grpc_reflection(void)
{
    Suite *s = suite_create("grpc_reflection");
    TCase *tc = tcase_create("index");
    tcase_add_test(tc, imports_stand_before_their_files_and_are_complete);
    tcase_add_test(tc, damaged_sets_are_refused_or_read_wherever_they_are_cut);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(s, tc);
    tc = tcase_create("reflection");
    world_begin(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(s, tc);
    tcase_add_loop_test(tc, services_are_those_of_the_server, 0, 2);
    tcase_add_loop_test(tc, files_are_found_by_name_and_come_with_imports_once, 0, 2);
    tcase_add_test(tc, symbols_are_found_at_every_depth);
    tcase_add_loop_test(tc, what_is_not_there_is_an_answer_and_the_stream_goes_on, 0, 2);
    tcase_add_test(tc, a_stream_without_a_message_ends_well);
    tcase_add_test(tc, a_stream_that_ends_within_a_message_is_refused);
    tcase_add_test(tc, questions_wait_until_answers_are_read);
    tcase_add_test(tc, questions_are_short);
    world_end(tc);
    return s;
}
