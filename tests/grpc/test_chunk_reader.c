/*
 * tests/grpc/test_chunk_reader.c - the strict reader of CellChunks refuses every mistake.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/chunk_reader.h"

#include "base/banned.h"

static struct chunk_reader reader;
static struct buf expected;

static void set_up(void)
{
    base_buf_init(&expected, CHUNK_ROWS_MAX);
    chunk_reader_init(&reader);
}

static void tear_down(void)
{
    chunk_reader_fini(&reader);
    base_buf_fini(&expected);
}

#define CHUNKS_MAX 4

struct mistake {
    const char *error;
    const char *chunks[CHUNKS_MAX]; /* of one message: see add_word */
};

/* Chunks as words: k=KEY f=FAMILY q=QUALIFIER(may be empty) t=N v=VALUE s=SIZE l=LABEL R C. */
static void add_word(Bt__ReadRowsResponse__CellChunk *c, char *word)
{
    char *text = word + 2;
    ProtobufCBinaryData data = {.data = (uint8_t *)text};
    static char *labels[1];
    data.len = word[1] == '=' ? strlen(text) : 0;
    if (word[0] == 'k')
        c->row_key = data;
    else if (word[0] == 'f')
        c->family_name->value = text;
    else if (word[0] == 'q')
        c->qualifier->value = data;
    else if (word[0] == 't')
        c->timestamp_micros = text[0] - '0';
    else if (word[0] == 'v')
        c->value = data;
    else if (word[0] == 's')
        c->value_size = text[0] - '0';
    else if (word[0] == 'l') {
        labels[0] = text;
        c->labels = labels;
        c->n_labels = 1;
    } else if (word[0] == 'R') {
        c->row_status_case = BT__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_RESET_ROW;
        c->reset_row = true;
    } else if (word[0] == 'C') {
        c->row_status_case = BT__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_COMMIT_ROW;
        c->commit_row = true;
    }
}

struct worded {
    char text[128];
    Google__Protobuf__StringValue family;
    Google__Protobuf__BytesValue qualifier;
    Bt__ReadRowsResponse__CellChunk chunk;
};

static Bt__ReadRowsResponse__CellChunk *chunk_of(struct worded *w, const char *words)
{
    static const Google__Protobuf__StringValue no_family = GOOGLE__PROTOBUF__STRING_VALUE__INIT;
    static const Google__Protobuf__BytesValue no_qualifier = GOOGLE__PROTOBUF__BYTES_VALUE__INIT;
    static const Bt__ReadRowsResponse__CellChunk nothing = BT__READ_ROWS_RESPONSE__CELL_CHUNK__INIT;
    w->family = no_family;
    w->qualifier = no_qualifier;
    w->chunk = nothing;
    (void)snprintf(w->text, sizeof w->text, "%s", words);
    if (strstr(words, "f=") != NULL)
        w->chunk.family_name = &w->family;
    if (strstr(words, "q=") != NULL)
        w->chunk.qualifier = &w->qualifier;
    char *rest = w->text;
    for (char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " "))
        add_word(&w->chunk, word);
    return &w->chunk;
}

static void read_message(const char *const words[CHUNKS_MAX])
{
    struct worded worded[CHUNKS_MAX];
    Bt__ReadRowsResponse__CellChunk *chunks[CHUNKS_MAX];
    Bt__ReadRowsResponse m = BT__READ_ROWS_RESPONSE__INIT;
    uint8_t bytes[512];
    m.chunks = chunks;
    for (; m.n_chunks < CHUNKS_MAX && words[m.n_chunks] != NULL; m.n_chunks++)
        chunks[m.n_chunks] = chunk_of(&worded[m.n_chunks], words[m.n_chunks]);
    size_t len = bt__read_rows_response__pack(&m, bytes);
    chunk_reader_message(&reader, base_slice(bytes, len));
}

static const struct mistake MISTAKES[] = {
    {.error = "a message ends inside a row", .chunks = {"k=a f=f q=q t=1 v=x"}},
    {.error = "the first chunk of a row has no key", .chunks = {"f=f q=q t=1 v=x C"}},
    {.error = "the first chunk of a row has no key",
     .chunks = {"k=a f=f q=q v=x C", "f=f q=q v=x C"}},
    {.error = "the first chunk of a row has no key", .chunks = {"k=a f=f q=q v=x C", "C"}},
    {.error = "the first chunk of a row has no column", .chunks = {"k=a v=x C"}},
    {.error = "the first chunk of a row has no column", .chunks = {"k=a q=q v=x C"}},
    {.error = "the first chunk of a row has no column", .chunks = {"k=a f=f v=x C"}},
    {.error = "a new family has no qualifier", .chunks = {"k=a f=f q=q v=x", "f=g v=x C"}},
    {.error = "a family that did not change", .chunks = {"k=a f=f q=q v=x", "f=f q=r v=x C"}},
    {.error = "a qualifier that did not change", .chunks = {"k=a f=f q=q v=x", "q=q t=1 v=x C"}},
    {.error = "row keys are out of order", .chunks = {"k=a f=f q=q v=x C", "k=a f=f q=q v=x C"}},
    {.error = "row keys are out of order", .chunks = {"k=b f=f q=q v=x C", "k=a f=f q=q v=x C"}},
    {.error = "a row key inside a row", .chunks = {"k=a f=f q=q v=x", "k=b f=f q=q v=x C"}},
    {.error = "a row key inside a row", .chunks = {"k=a f=f q=q v=x", "k=a f=f q=q v=x C"}},
    {.error = "commit_row inside a cell", .chunks = {"k=a f=f q=q v=x s=3 C"}},
    {.error = "value_size on the last chunk of a cell", .chunks = {"k=a f=f q=q v=x s=1"}},
    {.error = "a first chunk of a cell without a part of it", .chunks = {"k=a f=f q=q s=1"}},
    {.error = "the chunks of a cell are not as long as it was said",
     .chunks = {"k=a f=f q=q v=x s=3", "v=x C"}},
    {.error = "value_size changes inside a cell", .chunks = {"k=a f=f q=q v=x s=3", "v=x s=4"}},
    {.error = "a later chunk of a cell without a value", .chunks = {"k=a f=f q=q v=x s=3", "C"}},
    {.error = "a later chunk of a cell with more than a value",
     .chunks = {"k=a f=f q=q v=x s=3", "t=1 v=xx C"}},
    {.error = "a later chunk of a cell with more than a value",
     .chunks = {"k=a f=f q=q v=x s=3", "l=l v=xx C"}},
    {.error = "a later chunk of a cell with more than a value",
     .chunks = {"k=a f=f q=q v=x s=3", "q=r v=xx C"}},
    {.error = "reset_row outside a row", .chunks = {"k=a f=f q=q v=x C", "R"}},
    {.error = "reset_row with something else", .chunks = {"k=a f=f q=q v=x", "v=x R"}},
    {.error = "reset_row with something else", .chunks = {"k=a f=f q=q v=x", "k=a R"}},
    {.error = "the first chunk of a row has no key",
     .chunks = {"k=a f=f q=q v=x", "R", "f=f q=q v=x C"}},
    {.error = "row keys are out of order",
     .chunks = {"k=a f=f q=q v=x C", "k=b f=f q=q v=x", "R", "k=a f=f q=q v=x C"}},
    {.error = "a message ends inside a row", .chunks = {"k=a f=f q=q v=x s=3"}},
};

START_TEST(the_reader_refuses_every_mistake)
{
    const struct mistake *m = &MISTAKES[_i];
    read_message(m->chunks);
    (void)chunk_reader_end(&reader);
    ck_assert_ptr_nonnull(reader.error);
    ck_assert_str_eq(reader.error, m->error);
}
END_TEST

/* As clients see it: that is why the sink never sends one. */
START_TEST(a_bare_commit_is_one_more_cell)
{
    read_message((const char *const[CHUNKS_MAX]){"k=a f=f q=q t=1 v=x", "C"});
    ck_assert_ptr_null(chunk_reader_end(&reader));
    chunk_rows_begin(&expected, SLICE_LIT("a"));
    chunk_rows_cell(&expected, SLICE_LIT("f"), SLICE_LIT("q"), 1, SLICE_LIT("x"), SLICE_EMPTY);
    chunk_rows_cell(&expected, SLICE_LIT("f"), SLICE_LIT("q"), 0, SLICE_EMPTY, SLICE_EMPTY);
    ck_assert(base_slice_equal(base_buf_slice(&reader.rows), base_buf_slice(&expected)));
}
END_TEST

Suite *suite_grpc_chunk_reader(void);
Suite *suite_grpc_chunk_reader(void);
Suite *suite_grpc_chunk_reader(void)
{
    Suite *s = suite_create("grpc_chunk_reader");
    TCase *tc = tcase_create("rules");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, the_reader_refuses_every_mistake, 0,
                        (int)(sizeof MISTAKES / sizeof MISTAKES[0]));
    tcase_add_test(tc, a_bare_commit_is_one_more_cell);
    suite_add_tcase(s, tc);
    return s;
}
