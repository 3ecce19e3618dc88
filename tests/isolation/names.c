/*
 * tests/isolation/names.c - everything a request can name, three times.
 */
#define _GNU_SOURCE
#include "tests/isolation/names.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

static const char *const WORDS[NAME_COUNT] = {
    [NAME_TENANT] = "tenant",
    [NAME_TABLE] = "table",
    [NAME_VIEW] = "view",
    [NAME_KEY] = "key",
    [NAME_FAMILY] = "family",
    [NAME_QUALIFIER] = "qualifier",
    [NAME_VALUE] = "value",
    [NAME_PLAN] = "plan",
    [NAME_LABEL] = "label",
    [NAME_KEYID] = "keyid",
    [NAME_JOB] = "job",
    [NAME_BACKUP] = "backup",
    [NAME_SAVED] = "saved",
    [NAME_OPERATION] = "operation",
    [NAME_PAGE] = "page",
    [NAME_LIST_PAGE] = "list_page",
    [NAME_VIEW_PAGE] = "view_page",
    [NAME_SAVED_PAGE] = "saved_page",
    [NAME_WORK_PAGE] = "work_page",
    [NAME_CONSISTENCY] = "consistency",
    [NAME_CHANGE] = "change",
    [NAME_IDEMPOTENCY] = "idempotency",
};

const char *name_word(enum name n)
{
    return WORDS[n];
}

void name_set(struct names *names, enum name n, const char *text)
{
    ck_assert_uint_lt(strlen(text), NAME_BYTES);
    (void)snprintf(names->text[n], NAME_BYTES, "%s", text);
}

/* Behind the middle of a token is its last key, before it the mac: one letter of it makes it
 * another's. The end of base64 may have bits that no byte has. */
void name_spoil(const struct names *from, enum name n, struct names *out)
{
    name_set(out, n, from->text[n]);
    size_t len = strlen(out->text[n]);
    ck_assert_msg(len > 0, "the neighbour has no %s", WORDS[n]);
    char *at = &out->text[n][len / 2];
    *at = *at == 'e' ? 'f' : 'e';
}

static const char *next_week(void)
{
    static char text[24];
    (void)snprintf(text, sizeof text, "%lld",
                   (long long)(base_wall_us() / 1000000 + 7 * 24 * 60 * 60));
    return text;
}

static const char *find_word(const struct names *in, const char *word, size_t len)
{
    if (len == 2 && memcmp(word, "id", 2) == 0)
        return in->text[NAME_TENANT];
    if (len == strlen("next_week") && memcmp(word, "next_week", len) == 0)
        return next_week();
    for (size_t n = 0; n < NAME_COUNT; n++)
        if (strlen(WORDS[n]) == len && memcmp(WORDS[n], word, len) == 0)
            return in->text[n];
    ck_abort_msg("{%.*s} is no name that tests/isolation/names.h knows", (int)len, word);
}

void names_expand(const char *form, const struct names *in, struct buf *out)
{
    while (*form != '\0') {
        size_t len = strspn(form + 1, "abcdefghijklmnopqrstuvwxyz_");
        bool is_name = *form == '{' && len > 0 && form[1 + len] == '}';
        if (is_name)
            ck_assert_int_eq(base_buf_append_text(out, find_word(in, form + 1, len)), ERR_OK);
        else
            ck_assert_int_eq(base_buf_append_byte(out, (uint8_t)*form), ERR_OK);
        form += is_name ? len + 2 : 1;
    }
}

void names_exchange(struct buf *text, const struct names *from, const struct names *to)
{
    for (size_t n = 0; n < NAME_COUNT; n++) {
        size_t len = strlen(from->text[n]);
        uint8_t *at = text->ptr;
        ck_assert_uint_eq(len, strlen(to->text[n]));
        while (len > 0 && at != NULL) {
            at = memmem(at, (size_t)(base_buf_end(text) - at), from->text[n], len);
            if (at != NULL)
                memcpy(at, to->text[n], len);
        }
    }
}

bool names_find(struct slice where, const char *what)
{
    return where.len > 0 && memmem(where.ptr, where.len, what, strlen(what)) != NULL;
}
