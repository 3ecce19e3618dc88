/*
 * tests/api/test_row_forms.c - how cells are shown: integers as numbers, the flat form, base64.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define T   "/v1/tables/things"
#define ROW T "/rows/"

static void begin(int version)
{
    world_init(&w, (enum http_version)version);
    http_json(w.http, "PUT",
              "{'families':{'n':{'type':'int64'},'s':{},'hits':{'type':'sum'},"
              "'who':{'type':'hll'}}}",
              T);
    EXPECT_STATUS(w.http, 201);
}

static void put(const char *key, const char *body)
{
    http_json(w.http, "PUT", body, ROW "%s", key);
    ck_assert_msg(w.http->status == 200 || w.http->status == 201, "%s", http_text(w.http));
}

/* --- integers -----------------------------------------------------------------------------------
 */

static const struct {
    const char *written;
    const char *shown;
} NUMBERS[] = {
    {"0", "'number':0,'value_b64':'AAAAAAAAAAA='"},
    {"127", "'number':127,'value_b64':'AAAAAAAAAH8='"},
    {"128", "'number':128,'value_b64':'AAAAAAAAAIA='"},
    {"-1", "'number':-1,'value_b64':'//////////8='"},
    {"9007199254740993", "'number':9007199254740993,'value_b64':'ACAAAAAAAAE='"},
    {"9223372036854775807", "'number':9223372036854775807,'value_b64':'f/////////8='"},
    {"-9223372036854775808", "'number':-9223372036854775808,'value_b64':'gAAAAAAAAAA='"},
    {"{'number':5}", "'number':5,'value_b64':'AAAAAAAAAAU='"},
    {"{'number':5,'value_b64':'AAAAAAAAAAY='}", "'number':6,'value_b64':'AAAAAAAAAAY='"},
    {"'12345678'", "'number':3544952156018063160,'value_b64':'MTIzNDU2Nzg='"},
    {"'5'", "'value_b64':'NQ=='"},
    {"''", "'value_b64':''"},
    {"{'value_b64':'AAAAAAAAAAAA'}", "'value_b64':'AAAAAAAAAAAA'"},
};

START_TEST(integers_are_numbers_whatever_their_value)
{
    begin(_i);
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++) {
        char body[256], wanted[256];
        (void)snprintf(body, sizeof body, "{'n':{'q':%s}}", NUMBERS[i].written);
        put("k", body);
        http_get(w.http, ROW "k");
        EXPECT_STATUS(w.http, 200);
        (void)snprintf(wanted, sizeof wanted, "{'key':'k','cells':{'n':{'q':[{%s,'timestamp':'",
                       NUMBERS[i].shown);
        struct slice text = quoted(wanted);
        ck_assert_msg(strncmp(http_text(w.http), (const char *)text.ptr, text.len) == 0,
                      "%s, not %.*s", http_text(w.http), SLICE_ARGS(text));
    }
}
END_TEST

START_TEST(a_modification_answers_with_the_number)
{
    begin(_i);
    for (int i = 1; i <= 200; i += 100) {
        http_json(w.http, "POST", "{'rules':[{'family':'n','qualifier':'q','increment':100}]}",
                  ROW "k:modify");
        EXPECT_STATUS(w.http, 200);
        ck_assert_int_eq(http_number(w.http, "/cells/n/q/0/number"), i + 99);
    }
    http_json(w.http, "POST", "{'rules':[{'family':'n','qualifier':'q','append':'x'}]}",
              ROW "k:modify");
    EXPECT_STATUS(w.http, 200);
    ck_assert_ptr_null(http_at(w.http, "/cells/n/q/0/number"));
    ck_assert_str_eq(http_string(w.http, "/cells/n/q/0/value_b64"), "AAAAAAAAAMh4");
}
END_TEST

START_TEST(every_way_of_writing_takes_numbers)
{
    begin(_i);
    http_json(w.http, "POST",
              "{'mutations':[{'set_cell':{'family':'n','qualifier':'a','number':-5}},"
              "{'set_cell':{'family':'n','qualifier':'b','value_b64':'AAAAAAAAAAc='}}]}",
              ROW "k:mutate");
    EXPECT_STATUS(w.http, 201);
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST",
               quoted("{'key':'k','cells':{'n':{'c':8,'d':[9,{'number':10,'timestamp':'1000'}]},"
                      "'$binary':[{'family':'n','qualifier_b64':'/w==','number':11}]}}\n"),
               T ":write");
    EXPECT_STATUS(w.http, 200);
    ck_assert_msg(strstr(http_text(w.http), "\"ok\":1") != NULL, "%s", http_text(w.http));
    http_get(w.http, ROW "k?form=flat");
    EXPECT_JSON(w.http,
                "{'key':'k','cells':{'n':{'a':-5,'b':7,'c':8,'d':9},'$binary':[{'family':'n',"
                "'qualifier_b64':'/w==','number':11,'value_b64':'AAAAAAAAAAs='}]}}");
}
END_TEST

static const char *const BAD_CELLS[] = {
    "{'s':{'q':5}}",
    "{'s':{'q':{'number':5}}}",
    "{'n':{'q':5.5}}",
    "{'n':{'q':9223372036854775808}}",
    "{'n':{'q':{'number':'5'}}}",
    "{'n':{'q':{'estimate':5}}}",
    "{'n':{'q':{'input':5}}}",
    "{'n':{'q':true}}",
};

START_TEST(what_is_no_integer_is_refused)
{
    begin(_i);
    for (size_t i = 0; i < sizeof BAD_CELLS / sizeof BAD_CELLS[0]; i++) {
        http_json(w.http, "PUT", BAD_CELLS[i], ROW "k");
        EXPECT_PROBLEM_OF(w.http, BAD_CELLS[i], 400, "invalid");
    }
    static const char *const cells[] = {"'family':'s','number':5", "'family':'n','number':'5'",
                                        "'family':'n','number':5,'value':'x'"};
    for (size_t i = 0; i < 3; i++) {
        char body[256];
        (void)snprintf(body, sizeof body, "{'mutations':[{'set_cell':{'qualifier':'q',%s}}]}",
                       cells[i]);
        http_json(w.http, "POST", body, ROW "k:mutate");
        EXPECT_PROBLEM_OF(w.http, body, 400, "invalid");
    }
}
END_TEST

START_TEST(a_new_type_shows_what_is_there)
{
    begin(_i);
    put("k", "{'s':{'q':{'value_b64':'AAAAAAAAAAU=','timestamp':'1000'}}}");
    http_json(w.http, "POST", "{'update':{'s':{'type':'int64'}}}", T ":families");
    EXPECT_STATUS(w.http, 200);
    http_get(w.http, ROW "k");
    EXPECT_JSON(w.http, "{'key':'k','cells':{'s':{'q':[{'number':5,'value_b64':'AAAAAAAAAAU=',"
                        "'timestamp':'1000'}]}}}");
    http_json(w.http, "POST", "{'update':{'s':{'type':'none'}}}", T ":families");
    http_get(w.http, ROW "k");
    ck_assert_ptr_null(http_at(w.http, "/cells/s/q/0/number"));
}
END_TEST

/* --- forms --------------------------------------------------------------------------------------
 */

#define FLAT                                                                                       \
    "{'key':'a','cells':{'n':{'i':5},'s':{'b':{'value_b64':'/w=='},'t':'new','u':'\\n'},"          \
    "'hits':{'h':7},'who':{'w':1},'$binary':[{'family':'s','qualifier_b64':'/w==',"                \
    "'value':'new'}]}}"

/* Row a has all kinds of cells, two versions of some; row b one cell. */
static void fill(void)
{
    put("a", "{'n':{'i':[{'number':5,'timestamp':'2000'},{'number':4,'timestamp':'1000'}]},"
             "'s':{'t':[{'value':'new','timestamp':'2000'},{'value':'old','timestamp':'1000'}],"
             "'u':'\\n','b':{'value_b64':'/w=='}},'hits':{'h':7},'who':{'w':'one'},"
             "'$binary':[{'family':'s','qualifier_b64':'/w==','value':'new','timestamp':'2000'},"
             "{'family':'s','qualifier_b64':'/w==','value':'old','timestamp':'1000'}]}");
    put("b", "{'s':{'t':{'value':'x','timestamp':'1000'}}}");
}

START_TEST(the_flat_form_is_the_newest_value_of_each_column)
{
    begin(_i);
    fill();
    http_get(w.http, ROW "a?form=flat");
    EXPECT_JSON(w.http, FLAT);
    http_get(w.http, T "/rows?form=flat&prefix=a&versions=2");
    EXPECT_JSON(w.http, "{'rows':[" FLAT "]}");
    http_json(w.http, "POST", "{'keys':['a'],'form':'flat'}", T ":read");
    EXPECT_JSON(w.http, "{'rows':[" FLAT "]}");
    http_get(w.http, ROW "a?form=flat&family=s&until=2000");
    EXPECT_JSON(w.http, "{'key':'a','cells':{'s':{'t':'old'},'$binary':[{'family':'s',"
                        "'qualifier_b64':'/w==','value':'old'}]}}");
    /* Of what the filter leaves, also when it gives a cell twice. */
    http_json(w.http, "POST",
              "{'keys':['a'],'form':'flat','filter':{'chain':[{'family_name_regex':'s'},"
              "{'value_regex':'old'},{'interleave':[{'pass_all':true},{'pass_all':true}]}]}}",
              T ":read");
    EXPECT_JSON(w.http, "{'rows':[{'key':'a','cells':{'s':{'t':'old'},'$binary':[{'family':'s',"
                        "'qualifier_b64':'/w==','value':'old'}]}}]}");
    http_get(w.http, ROW "a?form=full&values=text&family=s&column=t");
    EXPECT_JSON(w.http, "{'key':'a','cells':{'s':{'t':[{'value':'new','timestamp':'2000'},"
                        "{'value':'old','timestamp':'1000'}]}}}");
}
END_TEST

START_TEST(base64_is_of_every_value)
{
    begin(_i);
    fill();
    http_get(w.http, ROW "a?values=base64&family=s&column=t");
    EXPECT_JSON(w.http, "{'key':'a','cells':{'s':{'t':[{'value_b64':'bmV3','timestamp':'2000'},"
                        "{'value_b64':'b2xk','timestamp':'1000'}]}}}");
    http_get(w.http, ROW "a?values=base64&family=n&versions=1");
    EXPECT_JSON(w.http, "{'key':'a','cells':{'n':{'i':[{'value_b64':'AAAAAAAAAAU=',"
                        "'timestamp':'2000'}]}}}");
    http_get(w.http, ROW "a?values=base64&family=hits");
    EXPECT_JSON(w.http, "{'key':'a','cells':{'hits':{'h':[{'value_b64':'AAAAAAAAAAc=',"
                        "'timestamp':'0'}]}}}");
    http_json(w.http, "POST", "{'keys':['b'],'form':'flat','values':'base64'}", T ":read");
    EXPECT_JSON(w.http, "{'rows':[{'key':'b','cells':{'s':{'t':{'value_b64':'eA=='}}}}]}");
}
END_TEST

START_TEST(flat_rows_can_be_written_again)
{
    begin(_i);
    fill();
    http_get(w.http, ROW "a?form=flat&family=n");
    char row[256];
    (void)snprintf(row, sizeof row, "%s", http_text(w.http));
    char *cells = strstr(row, "\"cells\":");
    ck_assert_ptr_nonnull(cells);
    cells += 8;
    cells[strlen(cells) - 1] = '\0';
    http_bytes(w.http, "PUT", base_slice_text(cells), ROW "c");
    EXPECT_STATUS(w.http, 201);
    http_get(w.http, ROW "c?form=flat");
    EXPECT_JSON(w.http, "{'key':'c','cells':{'n':{'i':5}}}");
}
END_TEST

START_TEST(a_page_goes_on_in_another_form)
{
    begin(_i);
    fill();
    http_get(w.http, T "/rows?limit=1");
    EXPECT_STATUS(w.http, 200);
    char token[1024];
    (void)snprintf(token, sizeof token, "%s", http_string(w.http, "/next_page_token"));
    http_get(w.http, T "/rows?limit=1&form=flat&values=text&page_token=%s", token);
    EXPECT_JSON(w.http, "{'rows':[{'key':'b','cells':{'s':{'t':'x'}}}]}");
}
END_TEST

START_TEST(other_forms_are_refused)
{
    static const char *const queries[] = {"form=round", "form=", "values=hex", "values=BASE64"};
    begin(_i);
    for (size_t i = 0; i < 4; i++) {
        http_get(w.http, ROW "a?%s", queries[i]);
        EXPECT_PROBLEM_OF(w.http, queries[i], 400, "invalid");
        http_get(w.http, T "/rows?%s", queries[i]);
        EXPECT_PROBLEM_OF(w.http, queries[i], 400, "invalid");
    }
    http_json(w.http, "POST", "{'form':'round'}", T ":read");
    EXPECT_PROBLEM(w.http, 400, "invalid");
    ck_assert_str_eq(http_string(w.http, "/detail"), "\"form\" must be \"full\" or \"flat\"");
    http_json(w.http, "POST", "{'values':7}", T ":read");
    EXPECT_PROBLEM(w.http, 400, "invalid");
}
END_TEST

Suite *suite_api_row_forms(void);
Suite *suite_api_row_forms(void)
{
    Suite *s = suite_create("api_row_forms");
    TCase *tc = tcase_create("row forms");
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, integers_are_numbers_whatever_their_value, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_modification_answers_with_the_number, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, every_way_of_writing_takes_numbers, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, what_is_no_integer_is_refused, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_new_type_shows_what_is_there, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, the_flat_form_is_the_newest_value_of_each_column, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, base64_is_of_every_value, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, flat_rows_can_be_written_again, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_page_goes_on_in_another_form, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, other_forms_are_refused, 0, HTTP_VERSIONS);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}
